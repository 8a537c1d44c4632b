"""The workload on a network, in numbers: the part of a plan that no scheme and no seed changes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.caching.lifetimes import Kept, content_of, frozen
from rdmacc.errors import ConfigError
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.ways import has_equal_ways
from rdmacc.workload.checks import Columns, check_acyclic, checked
from rdmacc.workload.columns import queue_pair_labels
from rdmacc.workload.frame import computation
from rdmacc.workload.paths import NO_PATHS, PATH_COLUMNS, Paths, paths_of
from rdmacc.workload.schedule import COLLECTIVE_COLUMNS, Recipe, Schedule, Workload

Ints: TypeAlias = npt.NDArray[np.int64]
Int32s: TypeAlias = npt.NDArray[np.int32]

_MASKED: Any = pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray


@dataclass(frozen=True, eq=False)
class Computation:
    """Rows of the workload that send nothing but take time on a host. Row c of C has number M + c, after M messages.

    Rows of a host compute side by side unless they wait for each other.
    """

    host: npt.NDArray[np.int32]
    """By node number."""
    start_ps: Ints
    """Earliest start."""
    duration_ps: Ints

    def __len__(self) -> int:
        return len(self.host)


class Rows:
    """A workload's rows by their labels; a schedule's frame, and messages apart, are made when asked for."""

    def __init__(
        self,
        given: Workload,
        computes: npt.NDArray[np.bool_],
        collectives: tuple[Ints, pd.DataFrame] | None = None,
    ) -> None:
        self.given, self.computes, self._collectives = given, computes, collectives

    @cached_property
    def whole(self) -> pd.DataFrame:
        return self.given if isinstance(self.given, pd.DataFrame) else self.given.frame()

    @cached_property
    def messages(self) -> pd.DataFrame:
        return self.whole[~self.computes] if self.computes.any() else self.whole

    @cached_property
    def computation(self) -> pd.DataFrame:
        return self.whole[self.computes]

    def collectives(self) -> tuple[Ints, pd.DataFrame]:
        """Return which collective each row belongs to, -1 for none, and the labels of all, by their numbers."""
        if self._collectives is not None:
            return self._collectives
        if "collective" not in self.whole:
            return np.full(len(self.whole), -1), pd.DataFrame(columns=COLLECTIVE_COLUMNS)
        number = self.whole["collective"]
        known = self.whole.loc[~number.duplicated() & number.notna(), list(COLLECTIVE_COLUMNS)]
        return pd.factorize(number, sort=True)[0].astype(np.int64), known.sort_values("collective")

    @property
    def options(self) -> pd.DataFrame:
        """The messages, if some compute without the columns that all workloads have."""
        if not isinstance(self.given, pd.DataFrame):
            return pd.DataFrame(index=pd.RangeIndex(int(np.count_nonzero(~self.computes))))
        if not self.computes.any():
            return self.whole
        return self.whole[[name for name in _OPTIONS if name in self.whole]][~self.computes]


@dataclass(frozen=True, eq=False)
class Dependents:
    """What waits for each message and each row of computation.

    What waits for number i are the entries `first[i]` to `first[i + 1]` of `rows`; it may start `delay_ps` after i is
    complete.
    """

    first: Int32s
    rows: Int32s
    delay_ps: Ints

    def of(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield what waits for a number, and its delay; nothing for a message that was sent later."""
        if number + 1 >= len(self.first):
            return iter(())
        low, high = int(self.first[number]), int(self.first[number + 1])
        return iter(zip(self.rows[low:high].tolist(), self.delay_ps[low:high].tolist(), strict=True))


def dependencies(frame: pd.DataFrame, computes: npt.NDArray[np.bool_]) -> tuple[Ints, Dependents | None]:
    """Return how many others each number waits for, and its dependents; None if nothing waits or computes."""
    after = frame["after"].to_numpy()
    counts = np.fromiter(map(len, after), np.int64, len(frame))
    total = int(counts.sum())
    wanted = np.fromiter(chain.from_iterable(after), np.int32, total)
    delay_ps = np.zeros(total, np.int64)
    if "delay_ps" in frame:
        delay_ps = np.fromiter(chain.from_iterable(frame["delay_ps"].to_numpy()), np.int64, total)
    return _waits(computes, np.repeat(np.arange(len(frame), dtype=np.int32), counts), wanted, delay_ps)


def _waits(
    computes: npt.NDArray[np.bool_], waiting: Int32s, wanted: Int32s, delay_ps: Ints
) -> tuple[Ints, Dependents | None]:
    """Return the same, given the pairs of a waiting row and one that it waits for."""
    count = len(computes)
    if not len(waiting) and not computes.any():
        return np.zeros(count, np.int64), None
    numbers = np.empty(count, np.int32)
    numbers[np.argsort(computes, kind="stable")] = np.arange(count)
    waiting, wanted = numbers[waiting], numbers[wanted]
    order = np.lexsort((waiting, wanted))
    first = np.cumsum(np.bincount(wanted + 1, minlength=count + 1)).astype(np.int32)
    return np.bincount(waiting, minlength=count), Dependents(first, waiting[order], delay_ps[order])


LATEST_PS = 10**18
"""Latest start of a message, which keeps sums of times below NEVER."""
_MANY = 1000
"""From this many messages on, storing one number for equal values saves enough memory to check for it."""
_OPTIONS = (*PATH_COLUMNS, "priority", "in_turn")
_FEW = 4096
"""Up to this many rows, a workload's numbers are kept for the next run; comparing more takes too long."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Work:
    """A workload on a network in numbers. M messages; times in ps."""

    fabric: Fabric
    rows: Rows
    computation: Computation
    src: Int32s
    dst: Int32s
    size_bytes: Ints
    start_ps: Ints
    group: Int32s
    group_size: Int32s
    """Messages of the same group to the same host, itself included; 1 for messages without a group."""
    weight: npt.NDArray[np.float64]
    labels: Ints
    """The queue pair between its hosts that each message names, -1 for none; empty if no message does."""
    waits_for: Int32s
    """How many messages and rows of computation each message waits for and, after the messages, each row."""
    dependents: Dependents | None
    """What waits for each message and row; None if nothing waits or computes."""
    paths: Paths
    """Of the messages that have one of their own; no steps where none has."""
    kept: Kept = field(default_factory=Kept)
    """Results computed from this, for reuse."""

    @property
    def workload(self) -> pd.DataFrame:
        """The messages, by their labels."""
        return self.rows.messages

    @property
    def n_messages(self) -> int:
        """Number of messages."""
        return len(self.src)

    @property
    def is_drawn(self) -> bool:
        """Whether the seed may choose between paths of messages that differ in length, rate or first port."""
        return bool(len(self.paths.ports)) or self.fabric.kept.get(_has_choices, lambda: _has_choices(self.fabric))


def _has_choices(fabric: Fabric) -> bool:
    is_single = (np.diff(fabric.node_first_port)[fabric.hosts] == 1).all()
    return not is_single or not has_equal_ways(fabric)


def work_on(fabric: Fabric, workload: Any) -> Work:
    """Return a workload on a network: the same object as before if both have the same content."""
    content = _content_of(workload) if type(workload) is pd.DataFrame and len(workload) <= _FEW else None
    return fabric.kept.get(content, lambda: frozen(_work_on(fabric, workload)))


def _content_of(frame: pd.DataFrame) -> Any:
    """Return a key of a frame's content, by block: five times as fast as through pandas' values and types."""
    manager: Any = frame._mgr
    axes, types, parts = (frame.columns, frame.index), [], []
    for block in manager.blocks:
        parts.append((block.mgr_locs.as_array.tolist(), _listed(block.values)))
        types.append(block.values.dtype)
    labels = [(one.tolist() if one.nlevels > 1 else _listed(one.array), list(one.names)) for one in axes]
    content = content_of(parts, labels, frame.attrs)
    return content and (content, *types, *(one.dtype for one in axes))


def _listed(values: Any) -> Any:
    """Return a key of an array's values."""
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.dtype != np.object_:
        return values.tobytes()
    if isinstance(values, _MASKED):
        return values._data.tobytes(), values._mask.tobytes()
    return values.__arrow_array__().to_pylist() if isinstance(values, pd.arrays.ArrowStringArray) else values.tolist()


def _work_on(fabric: Fabric, workload: Any) -> Work:
    if isinstance(workload, Schedule | Recipe):
        return _scheduled_work(fabric, workload) or _work_on(fabric, workload.frame())
    frame, columns = checked(workload, fabric)
    if columns is not None:
        return _plain_work(fabric, frame, columns)
    computes = computation(frame)
    rows = Rows(frame, computes)
    waits_for, dependents = dependencies(frame, computes)
    computing = _NOTHING
    if computes.any():
        computing, frame = _computation(frame[computes], fabric), frame[~computes]
    paths = paths_of(frame, fabric)
    number = fabric.index.__getitem__
    src, dst = (np.fromiter(map(number, frame[end].to_numpy()), np.int64, len(frame)) for end in ("src", "dst"))
    start_ps = _starts(frame["start_ps"].to_numpy(np.int64))
    group, group_size = _groups(frame["group"].array, dst, fabric.n_nodes)
    return Work(
        fabric=fabric, rows=rows, computation=computing, src=narrow(src), dst=narrow(dst),
        size_bytes=frame["size_bytes"].to_numpy(np.int64), start_ps=start_ps, group=alike(narrow(group)),
        group_size=alike(narrow(group_size)), weight=alike(frame["weight"].to_numpy(np.float64)),
        labels=queue_pair_labels(frame), waits_for=alike(narrow(waits_for)), dependents=dependents, paths=paths,
    )  # fmt: skip


_NOTHING = Computation(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))


def _plain_work(fabric: Fabric, frame: pd.DataFrame, columns: Columns) -> Work:
    """Return a workload of messages that wait for nothing, from its columns."""
    dst, rows = columns["dst"], Rows(frame, np.zeros(len(frame), np.bool_))
    group, group_size = _groups(columns["group"], dst, fabric.n_nodes)
    return Work(
        fabric=fabric, rows=rows, computation=_NOTHING, src=narrow(columns["src"]), dst=narrow(dst),
        size_bytes=columns["size_bytes"], start_ps=_starts(columns["start_ps"]), group=alike(narrow(group)),
        group_size=alike(narrow(group_size)), weight=alike(columns["weight"]), labels=np.zeros(0, np.int64),
        waits_for=alike(np.zeros(len(frame), np.int32)), dependents=None, paths=NO_PATHS,
    )  # fmt: skip


def _collectives_of(schedule: Schedule) -> tuple[Ints, pd.DataFrame]:
    column = schedule.column("collective")
    numbers = np.unique(column)
    rows = [(number, *schedule.collectives[number]) for number in numbers.tolist() if number >= 0]
    which = np.searchsorted(numbers, column) - (len(numbers) - len(rows))
    return alike(which), pd.DataFrame(rows, columns=COLLECTIVE_COLUMNS)


def _scheduled_work(fabric: Fabric, given: Schedule | Recipe) -> Work | None:
    """Return a schedule's work without building its frame; None if a check would change or reject anything."""
    schedule = given.make() if isinstance(given, Recipe) else given
    count, size, start_ps = len(schedule), schedule.column("size_bytes"), schedule.column("start_ps")
    duration_ps = schedule.column("duration_ps")
    computes = duration_ps >= 0
    names, *places = schedule.ends()
    nodes = np.fromiter(map(fabric.index.get, names, repeat(-1)), np.int32, len(names))
    src, dst = (nodes[end] for end in places)
    (waiting, wanted, delay_ps), queue_pair = schedule.waits(), schedule.column("queue_pair")
    check_acyclic(waiting, wanted, pd.RangeIndex(count))
    good = (src >= 0) & (dst >= 0) & ((src == dst) == computes) & (computes | (size > 0)) & (start_ps >= 0)
    good &= fabric.is_host[src] & fabric.is_host[dst] & (duration_ps <= LATEST_PS) & (queue_pair < 2**31)
    sends = ~computes
    ends = src[sends], dst[sends]
    if not count or not good.all() or not fabric.reachable_many(*ends).all() or delay_ps.min(initial=0) < 0:
        return None
    waits_for, dependents = _waits(computes, waiting, wanted, delay_ps)
    labels, n_messages = queue_pair[sends], len(ends[0])
    return Work(
        fabric=fabric, rows=Rows(given, computes, _collectives_of(schedule)), src=ends[0], dst=ends[1],
        size_bytes=size[sends],
        computation=Computation(src[computes], _starts(start_ps[computes]), duration_ps[computes]),
        start_ps=_starts(start_ps[sends]),
        group=alike(np.full(n_messages, -1, np.int32)), group_size=alike(np.ones(n_messages, np.int32)),
        weight=alike(np.ones(n_messages)), labels=labels if (labels >= 0).any() else np.zeros(0, np.int64),
        waits_for=alike(narrow(waits_for)), dependents=dependents, paths=NO_PATHS,
    )  # fmt: skip


def _starts(start_ps: Ints) -> Ints:
    if start_ps.max(initial=0) > LATEST_PS:
        raise ConfigError("start_ps", int(start_ps.max()), f"at most 10**18 ps, {LATEST_PS // 86_400 // 10**12} days")
    return alike(start_ps)


def narrow(numbers: npt.NDArray[Any]) -> Int32s:
    """Return counts and indices as 32-bit integers, as in the records, which halves their memory."""
    return numbers.astype(np.int32)


def alike(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values as one broadcast number if all are equal, as weights and groups of many mostly are."""
    if len(values) < _MANY or (values != values[:1]).any():
        return values
    return np.broadcast_to(values[:1].copy(), values.shape)


def _groups(numbers: Any, dst: Ints, n_nodes: int) -> tuple[Ints, Ints]:
    """Return each message's group (0, 1, ...; -1 for none), and how many messages of the group its receiver gets."""
    size = np.ones(len(numbers), np.int64)
    if numbers.isna().all():
        return np.full(len(numbers), -1), size
    group = pd.factorize(numbers, sort=True)[0].astype(np.int64)
    has_group = group >= 0
    _, which, counts = np.unique(group[has_group] * n_nodes + dst[has_group], return_inverse=True, return_counts=True)
    size[has_group] = counts[which]
    return group, size


def _computation(frame: pd.DataFrame, fabric: Fabric) -> Computation:
    """Return the rows of computation in numbers."""
    host = np.fromiter(map(fabric.index.__getitem__, frame["src"]), np.int32, len(frame))
    start_ps = frame["start_ps"].to_numpy(np.int64)
    duration_ps = frame["duration_ps"].to_numpy(np.int64)
    for name, times in (("start_ps", start_ps), ("duration_ps", duration_ps)):
        if times.max() > LATEST_PS:
            raise ConfigError(name, int(times.max()), f"at most 10**18 ps, {LATEST_PS // 86_400 // 10**12} days")
    return Computation(host, start_ps, duration_ps)
