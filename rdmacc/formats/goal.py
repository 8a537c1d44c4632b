"""Read GOAL, the Group Operation Assembly Language of LogGOPSim and ATLAHS, in its text form as a workload.

=================  ================================================================================================
``calc``           computation on the rank's host. Those of one ``cpu`` run one at a time: where no ``requires``
                   orders them, by their lines
``send``           a message; what requires it waits until it is acknowledged, or only for its start (`send_done`)
``recv``           complete when the message and everything that it requires have arrived
=================  ================================================================================================

Overheads and gaps (LogGOPSim's L, o, g, G) are ignored, because the network replaces them. Sends and receives take no
cpu time. The k-th send and the k-th receive of the same ranks and tag match. They start in this order if each waits,
directly or not, for all that the one before it waits for; if not, the simulator would decide by time, so they are an
error, as are wildcards and several NICs.
"""

import re
from collections.abc import Iterator

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.formats.files import File, hosts_of, line_of, read_text, whole
from rdmacc.formats.operations import Operation, schedule_of
from rdmacc.lifetimes import uncollected
from rdmacc.typed import typed
from rdmacc.units import time_ps
from rdmacc.workload.choice import Hosts

_LABEL = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s*:\s*(.*)")
_OPERATION = re.compile(
    r"(?:calc\s+(?P<calc>\S+)|(?P<kind>send|recv)\s+(?P<size>\d+)\s*b\s+(?P<way>to|from)\s+(?P<peer>\S+))"
    r"(?:\s+tag\s+(?P<tag>\S+))?(?:\s+cpu\s+(?P<cpu>\S+))?(?:\s+nic\s+(?P<nic>\S+))?"
)
_LONGEST_PS = 10**18
_PLAIN = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9_]*):\s*)?(?:calc\s+([0-9]{1,9})|(send|recv)\s+([0-9]{1,9})b\s+(to|from)\s+([0-9]{1,9})"
    r"(?:\s+tag\s+([0-9]{1,9}))?)|([A-Za-z][A-Za-z0-9_]*)\s+(i?requires)\s+([A-Za-z][A-Za-z0-9_]*)"
)
"""The most common statements; the others, and mistakes, get a closer look."""
_WAYS = {"send": "to", "recv": "from"}
_KEYWORDS = {
    "calc",
    "send",
    "recv",
    "rank",
    "to",
    "from",
    "tag",
    "cpu",
    "nic",
    "requires",
    "irequires",
    "num_ranks",
}


@typed
def from_goal(
    path: File, hosts: Hosts | None = None, unit: str = "ns", send_done: str = "acknowledged"
) -> pd.DataFrame:
    r"""Return the workload in a GOAL file.

    Parameters
    ----------
    path : path
        The file, in text form.
    hosts : sequence, optional
        The host of each rank; default: h0, h1, ...
    unit : str
        Unit of ``calc``, which the file lacks; nanoseconds by convention.
    send_done : str
        When operations that require a send may start: once it is "acknowledged", or at its "start", like small messages
        in LogGOPSim.

    Returns
    -------
    DataFrame
        One row per send and calc, and one of zero duration for each receive with requirements.

    Raises
    ------
    ConfigError
        For invalid GOAL, with file and line, and for features that rdmacc lacks: wildcards, several NICs, sends and
        receives whose matching depends on time.

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
        if is_open and (found := _PLAIN.fullmatch(text)):
            label, calc, kind, size, way, peer, tag, one, verb, other = found.groups()
            if verb is not None:
                if one not in labels or other not in labels:
                    unknown = other if one in labels else one
                    raise line_of(path, number)("label", unknown, "defined above, in the same rank")
                own = operations[labels[one]]
                (own.after if verb == "requires" else own.starts_after).append(labels[other])
                continue
            if label is not None and label not in labels:
                if label in _KEYWORDS:
                    raise line_of(path, number)("label", label, "must not be a keyword")
                labels[label] = len(operations)
            if calc is not None and int(calc) <= _LONGEST_PS // unit_ps:
                operations.append(Operation("calc", rank, path, number, int(calc) * unit_ps, cpu=0))
            elif kind is not None and _WAYS[kind] == way and int(peer) < ranks:
                operations.append(Operation(kind, rank, path, number, int(size) or 1, int(peer), int(tag or 0)))
            else:
                operations.append(
                    _operation(text.partition(":")[2].strip() if label else text, rank, ranks, unit_ps, path, number)
                )
        elif is_open and text != "}":
            found = _LABEL.fullmatch(text)
            if found:
                if found[1] in _KEYWORDS:
                    raise line_of(path, number)("label", found[1], "must not be a keyword")
                labels.setdefault(found[1], len(operations))
            operations.append(_operation(found[2] if found else text, rank, ranks, unit_ps, path, number))
        elif is_open:
            is_open = False
            if rank == ranks - 1:
                break
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
    is_comment = False
    for number, line in enumerate(read_text(path).split("\n"), 1):
        text = line.strip()
        if not is_comment and "/" not in text:
            if text:
                yield number, text
            continue
        while text and (is_comment or text[0] == "/"):
            if is_comment:
                _, end, text = text.partition("*/")
                is_comment = not end
            elif text.startswith("/*"):
                is_comment, text = True, text[2:]
            else:
                break
            text = text.strip()
        if text and not is_comment and not text.startswith("//"):
            yield number, text


def _operation(text: str, rank: int, ranks: int, unit_ps: int, path: File, line: int) -> Operation:
    error = line_of(path, line)
    found = _OPERATION.fullmatch(text)
    if not found or (found["kind"] == "send") != (found["way"] == "to") or (found["calc"] and found["tag"]):
        raise error(
            "statement", text, "calc, send ... to, recv ... from or requires, as GOAL has them, alone on its line"
        )
    tag, cpu, nic = found["tag"] or "0", found["cpu"] or "0", found["nic"] or "0"
    for name, value in (("peer", found["peer"]), ("tag", tag)):
        if value in ("-1", str(2**32 - 1)):
            raise error(name, value, "one number: which operation a wildcard matches depends on time")
    if nic != "0":
        raise error("nic", nic, "0: a host chooses its link by hash, not by the workload")
    processor = whole(error, "cpu", cpu, 0, 255)
    if found["calc"]:
        time_ps = unit_ps * whole(error, "calc", found["calc"], 0, _LONGEST_PS // unit_ps)
        return Operation("calc", rank, path, line, time_ps, cpu=processor)
    peer = whole(error, "peer", found["peer"], 0, ranks - 1)
    size = whole(error, "size", found["size"], 0, 2**62)
    return Operation(found["kind"], rank, path, line, max(size, 1), peer, whole(error, "tag", tag, 0, 2**32 - 1))
