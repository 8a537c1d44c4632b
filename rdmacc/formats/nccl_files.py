"""Files from NCCL and its users: nccl-tests' tables, the log of ``NCCL_DEBUG=INFO``, and a CSV of collectives.

Formats: nccl-tests a0b82b2, src/common.cu; NCCL 5067397c, src/init.cc, src/graph/rings.cc, src/enqueue.cc.
"""

import re
from dataclasses import dataclass

import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.formats.files import File, described, hosts_of, line_of, read_text, whole
from rdmacc.formats.operations import Operation, schedule_of
from rdmacc.units import size_bytes, time_ps
from rdmacc.workload.frame import Hosts
from rdmacc.workload.nccl import OPERATIONS, Nccl, Ready, expand
from rdmacc.workload.schedule import Schedule

_NUMBER = r"(\d{1,18}(?:\.\d+)?)"
_ROW = re.compile(
    rf"(?:^|:)\s*(\d{{1,18}})\s+\d+\s+\S+\s+\S+\s+(?:-?\d+\s+)?{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+(?:\d+|N/A)"
)
_NAMES = {
    "AllReduce": "all-reduce", "ReduceScatter": "reduce-scatter", "AllGather": "all-gather", "Broadcast": "broadcast",
    "AlltoAll": "all-to-all",
}  # fmt: skip
_PER_RANK = ("reduce-scatter", "all-gather", "all-to-all")
"""Operations whose count is that of one block; the larger buffer has a block for each rank."""
_TYPE_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)  # indexed by ncclDataType_t
_CALL = re.compile(r"NCCL INFO (\w+): opCount ([0-9a-f]+) .*?count (\d+) datatype (\d+) .*?comm (\S+) \[nranks=(\d+)\]")
_RANK = re.compile(r"rank (\d+) nranks (\d+) cudaDev")
_RING = re.compile(r"NCCL INFO Channel (\d+)/\d+ :((?:\s+\d+)+)\s*$")
_LINK = re.compile(
    r"NCCL INFO Channel (\d+)(?:/\d+)? : (\d+)\[\w+\] -> (\d+)\[\w+\](?: \[(?:send|receive)\])? via (\S+)"
)
_TREE = re.compile(r"\[(\d+)\] (?:-?\d+/){2}-?\d+->(\d+)->(-?\d+)")


@typed
def from_nccl_tests(path: File) -> pd.DataFrame:
    """Return a table printed by nccl-tests, to compare with `Result.collectives`.

    Its columns are `size_bytes, time_us, algbw_gbytes, busbw_gbytes`, out of place.

    Parameters
    ----------
    path : path
        The output; other lines and MPI's line prefixes are ignored.
    """
    rows = [match.groups() for line in read_text(path).splitlines() if "#" not in line and (match := _ROW.search(line))]
    if not rows:
        raise ConfigError("file", str(path), "the output of a program of nccl-tests, with a table")
    frame = pd.DataFrame(rows, columns=["size_bytes", "time_us", "algbw_gbytes", "busbw_gbytes"])
    return frame.astype({name: "int64" if name == "size_bytes" else "float64" for name in frame})


@dataclass(frozen=True, eq=False)
class NcclLog:
    """The content of an NCCL log.

    Attributes
    ----------
    settings : Nccl
        GPUs per node, and channels.
    ranks : int
        Ranks of the largest communicator.
    rings : DataFrame
        `channel, ranks`: the ring of each channel of that communicator, as a tuple.
    trees : DataFrame
        `channel, rank, parent`; -1 for a root. The second tree of a pair has its own channel.
    connections : DataFrame
        `channel, src, dst, via`.
    calls : DataFrame
        `process, operation, size_bytes, ranks`, in order; only with ``NCCL_DEBUG_SUBSYS=COLL``. The size is that of a
        rank's larger buffer.
    """

    settings: Nccl
    ranks: int
    rings: pd.DataFrame
    trees: pd.DataFrame
    connections: pd.DataFrame
    calls: pd.DataFrame

    @typed
    @described
    def workload(self, hosts: Hosts | None = None, nccl: Nccl | None = None) -> pd.DataFrame:
        """Return the collectives of the first process that logs any, one after the other; those of 0 bytes do nothing.

        Parameters
        ----------
        nccl : Nccl, optional
            How collectives run; default: `settings`.

        Raises
        ------
        ConfigError
            If there is no call, or a call among only some ranks, which the log does not name.
        """
        calls = self.calls[self.calls["process"] == self.calls["process"].iloc[0]] if len(self.calls) else self.calls
        if not len(calls):
            raise ConfigError("calls", "none", "some: set NCCL_DEBUG_SUBSYS=INIT,GRAPH,COLL")
        if (calls["ranks"] < self.ranks).any():
            few = int(calls["ranks"].min())
            raise ConfigError("calls", f"one among {few} of {self.ranks} ranks", "among all: a log names no members")
        names = hosts_of("the log", self.ranks, hosts)
        schedule = Schedule()
        ready: Ready = [[] for _ in range(self.ranks)]
        for call in calls[calls["size_bytes"] > 0].to_dict("records"):
            ready = expand(schedule, call["operation"], names, call["size_bytes"], ready, nccl or self.settings)
        return schedule.frame()


@typed
def from_nccl_log(path: File) -> NcclLog:
    """Read the log of ``NCCL_DEBUG=INFO``: rings, trees, connections, and the calls if they are logged.

    Parameters
    ----------
    path : path
        The log of one process or of several.

    Raises
    ------
    ConfigError
        If no line describes a communicator, a ring or a call, or a ring lacks a rank or has one twice.
    """
    rings: dict[int, tuple[int, ...]] = {}
    trees, connections, calls = {}, {}, []
    machine: dict[int, str] = {}
    members: dict[str, int] = {}  # of the communicator that a process makes
    ranks = 0
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if "NCCL INFO" not in line:
            continue
        process = line.split("NCCL INFO")[0].strip()
        if match := _RANK.search(line):
            machine[int(match[1])], members[process] = process.split(":")[0], int(match[2])
            ranks = max(ranks, members[process])
        elif match := _RING.search(line):
            ring = tuple(map(int, match[2].split()))
            if set(ring) != set(range(members.get(process, len(ring)))) or len(set(ring)) < len(ring):
                raise line_of(path, number)("ring", match[2].strip(), "each rank of its communicator, once")
            if len(ring) >= len(rings.get(int(match[1]), ())):
                rings[int(match[1])] = ring
        elif match := _LINK.search(line):
            connections[int(match[1]), int(match[2]), int(match[3])] = match[4]
        elif "NCCL INFO Trees" in line:
            trees.update({(int(one[0]), int(one[1])): int(one[2]) for one in _TREE.findall(line)})
        elif (match := _CALL.search(line)) and match[1] in _NAMES:
            error, operation = line_of(path, number), _NAMES[match[1]]
            count = whole(error, "nranks", match[6], 1, 10**6)
            code = whole(error, "datatype", match[4], 0, len(_TYPE_BYTES) - 1)
            elements = whole(error, "count", match[3], 0, 2**39)
            size = elements * _TYPE_BYTES[code] * (count if operation in _PER_RANK else 1)
            calls.append((process, operation, size, count))
            ranks = max(ranks, count)
    ranks = max([ranks, *map(len, rings.values())])
    if not ranks:
        raise ConfigError("file", str(path), "a log of NCCL_DEBUG=INFO, with lines of rings or communicators")
    rings = {channel: ring for channel, ring in rings.items() if len(ring) == ranks}
    width = max(pd.Series(list(machine.values()), dtype=object).value_counts().max() if machine else 1, 1)
    node = int(width) if ranks % width == 0 else 1
    return NcclLog(
        Nccl(hosts_per_node=node, channels=len(rings)),
        ranks,
        pd.DataFrame(sorted(rings.items()), columns=["channel", "ranks"]),
        pd.DataFrame([(*key, up) for key, up in sorted(trees.items())], columns=["channel", "rank", "parent"]),
        pd.DataFrame(
            [(*key, via) for key, via in sorted(connections.items())], columns=["channel", "src", "dst", "via"]
        ),
        pd.DataFrame(calls, columns=["process", "operation", "size_bytes", "ranks"]),
    )


@typed
@described
def from_collectives(path: File, hosts: Hosts | None = None, nccl: Nccl | None = None) -> pd.DataFrame:
    """Return the workload in a CSV of collectives: ``rank,op,size,start``, a row for each call of a rank.

    A rank's calls run in the order of its rows, each not before its start. The n-th calls of all ranks are one
    collective.

    Parameters
    ----------
    path : path
        The file. `op` is one of `rdmacc.workload.nccl.OPERATIONS`; size and start have units, such as "25MB" and "3ms".
    """
    lines = [(number, text.split(",")) for number, text in enumerate(read_text(path).splitlines(), 1) if text.strip()]
    head = [name.strip() for name in lines[0][1]] if lines else []
    if head != ["rank", "op", "size", "start"]:
        raise ConfigError("header", ",".join(head), "rank,op,size,start", where=str(path))
    rows = []
    for number, words in lines[1:]:
        error = line_of(path, number)
        if len(words) != 4:
            raise error("row", len(words), "of 4 values")
        rank, operation, size, start = (word.strip() for word in words)
        if operation not in OPERATIONS:
            raise unknown("op", operation, OPERATIONS, where=f"{path}, line {number}")
        try:
            sizes, starts = size_bytes(size, field="size"), time_ps(start, field="start")
        except ConfigError as wrong:
            raise error(wrong.field, wrong.value, wrong.allowed) from None
        if sizes < 1:
            raise error("size", size, "at least 1 byte")
        rows.append((number, whole(error, "rank", rank, 0, 10**6), OPERATIONS.index(operation), sizes, starts))
    count = 1 + max((row[1] for row in rows), default=-1)
    if count < 2:
        raise ConfigError("ranks", count, "at least 2", where=str(path))
    operations: list[Operation] = []
    last: dict[int, int] = {}
    for number, one, tag, total, start_ps in rows:
        operations.append(Operation("calc", one, path, number, start_ps))
        before = [len(operations) - 1, *([last[one]] if one in last else [])]
        last[one] = len(operations)
        operations.append(
            Operation("collective", one, path, number, total, tag=tag, after=before, group=tuple(range(count)))
        )
    return schedule_of(operations, hosts_of(path, count, hosts), OPERATIONS, nccl).frame()
