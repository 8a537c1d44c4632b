"""Read GOAL, the Group Operation Assembly Language of LogGOPSim and ATLAHS, in its text form as a workload.

=================  ================================================================================================
``calc``           computation on the rank's host. Those of one ``cpu`` run one at a time, in the order of their lines
                   where no ``requires`` orders them
``send``           a message; operations that require it wait for its last ACK, or only for its start (`send_done`)
``recv``           complete when the message and everything that it requires have arrived
=================  ================================================================================================

Overheads and gaps (LogGOPSim's L, o, g, G) are ignored, because the network replaces them. Sends and receives take no
cpu time. The k-th send and the k-th receive of the same ranks and tag match, provided that each waits, directly or
not, for everything that the previous one waits for. Otherwise matching would depend on time, which is an error, as are
wildcards and several NICs.
"""

import re
from collections.abc import Iterator

import pandas as pd

from rdmacc.caching import uncollected
from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.formats.files import File, described, hosts_of, line_of, read_text, whole
from rdmacc.formats.operations import Operation, schedule_of
from rdmacc.units import time_ps
from rdmacc.workload.frame import Hosts

_NAME = r"([A-Za-z][A-Za-z0-9_]*)"
_STATEMENT = re.compile(
    rf"(?:{_NAME}\s*:\s*)?(?:calc\s+(\S+)|(send|recv)\s+(\d+)\s*b\s+(to|from)\s+(\S+))"
    rf"(?:\s+tag\s+(\S+))?(?:\s+cpu\s+(\S+))?(?:\s+nic\s+(\S+))?|{_NAME}\s+(i?requires)\s+{_NAME}"
)
_COMMENT = re.compile(r"^[ \t]*//[^\n]*|/\*.*?(?:\*/|\Z)", re.M | re.S)
_LONGEST_PS = 10**18
_ALLOWED = "calc, send ... to, recv ... from or requires, as GOAL has them, alone on its line"
_WAYS = {"send": "to", "recv": "from"}
_KEYWORDS = frozenset(
    {*_WAYS, *_WAYS.values(), "calc", "rank", "tag", "cpu", "nic", "requires", "irequires", "num_ranks"}
)
_WILDCARDS = ("-1", str(2**32 - 1))


@typed
@described
def from_goal(
    path: File, hosts: Hosts | None = None, unit: str = "ns", send_done: str = "acknowledged"
) -> pd.DataFrame:
    r"""Return the workload in a GOAL file.

    It has one row per send and calc, and one of zero duration for each receive with requirements.

    Parameters
    ----------
    unit : str
        Unit of ``calc``, which the file lacks; nanoseconds by convention.
    send_done : str
        When operations that require a send may start: once it is "acknowledged", or at its "start", like small messages
        in LogGOPSim.

    Raises
    ------
    ConfigError
        For invalid GOAL, with file and line, and for features that rdmacc lacks: wildcards, several NICs, sends and
        receives whose sizes differ or whose matching depends on time.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"
    >>> _ = Path("pair.goal").write_text(text)
    >>> from_goal("pair.goal")[["src", "dst", "size_bytes"]].to_numpy().tolist()
    [['h0', 'h1', 8]]
    """
    if send_done not in ("acknowledged", "start"):
        raise ConfigError("send_done", send_done, '"acknowledged" or "start"')
    with uncollected():
        ranks, operations = _read(path, time_ps(f"1{unit}", field="unit"))
        return schedule_of(operations, hosts_of(path, ranks, hosts), sends_at_once=send_done == "start").frame()


def _read(path: File, unit_ps: int) -> tuple[int, list[Operation]]:
    operations: list[Operation] = []
    ranks = rank = -1
    labels: dict[str, int] = {}
    is_open = False
    for number, text in _lines(path):
        if is_open and text != "}":
            if not (found := _STATEMENT.fullmatch(text)):
                raise line_of(path, number)("statement", text, _ALLOWED)
            label, *what, one, verb, other = found.groups()
            if verb is not None:
                if one not in labels or other not in labels:
                    unknown = other if one in labels else one
                    raise line_of(path, number)("label", unknown, "defined above, in the same rank")
                own = operations[labels[one]]
                (own.after if verb == "requires" else own.starts_after).append(labels[other])
                continue
            if label in _KEYWORDS:
                raise line_of(path, number)("label", label, "must not be a keyword")
            if label is not None:
                labels.setdefault(label, len(operations))
            operations.append(_operation(what, text, rank, ranks, unit_ps, path, number))
        elif is_open:
            is_open = False
        elif ranks < 0:
            found = re.fullmatch(r"num_ranks\s+(\S+)", text)
            if not found:
                raise line_of(path, number)("statement", text, "num_ranks N: the first line")
            ranks = whole(line_of(path, number), "num_ranks", found[1], 1, 2**31 - 1)
        else:
            found = re.fullmatch(r"rank\s+(\S+)\s*\{", text)
            if not found or found[1] != str(rank + 1):
                raise line_of(path, number)("statement", text, f"rank {rank + 1} {{")
            rank, labels, is_open = rank + 1, {}, True
    if is_open or rank != ranks - 1:
        raise ConfigError(
            "num_ranks", ranks, f"followed by that many complete ranks, not {rank + 1 - is_open}", str(path)
        )
    return ranks, operations


def _lines(path: File) -> Iterator[tuple[int, str]]:
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), read_text(path))
    for number, line in enumerate(text.split("\n"), 1):
        if statement := line.strip():
            yield number, statement


def _operation(
    what: list[str | None], text: str, rank: int, ranks: int, unit_ps: int, path: File, line: int
) -> Operation:
    calc, kind, size, way, peer, tag, cpu, nic = what
    error = line_of(path, line)
    if (calc and tag) or (kind and _WAYS[kind] != way):
        raise error("statement", text, _ALLOWED)
    if peer in _WILDCARDS or tag in _WILDCARDS:
        name, value = ("peer", peer) if peer in _WILDCARDS else ("tag", tag)
        raise error(name, value, "one number: which operation a wildcard matches depends on time")
    if nic not in (None, "0"):
        raise error("nic", nic, "0: a host chooses its link by hash, not by the workload")
    processor = whole(error, "cpu", cpu, 0, 255) if cpu else 0
    if calc:
        time_ps = unit_ps * whole(error, "calc", calc, 0, _LONGEST_PS // unit_ps)
        return Operation("calc", rank, path, line, time_ps, cpu=processor)
    to, amount = whole(error, "peer", peer or "", 0, ranks - 1), whole(error, "size", size or "", 0, 2**62)
    return Operation(str(kind), rank, path, line, amount or 1, to, whole(error, "tag", tag, 0, 2**32 - 1) if tag else 0)
