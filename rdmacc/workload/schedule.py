"""Build a schedule of messages and computations, row by row or in blocks, with dependencies.

A simulation takes a schedule, or the recipe for one, in place of its frame, which is made on request. A row takes about
50 bytes in a schedule, and ten times as many in a frame.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.workload.columns import Int64s, split_ids
from rdmacc.workload.frame import Host, as_objects, from_columns

COLLECTIVE_COLUMNS = ("collective", "operation", "ranks", "buffer_bytes")
"""Columns of rows in a collective: its number, its operation, its number of ranks, and the size S of its buffer."""

Rows = Int64s
"""Numbers of rows."""

Int32s = npt.NDArray[np.int32]
_EDGE = np.int32, np.int32, np.int64


@dataclass(frozen=True, eq=False)
class Recipe:
    """A schedule that is made on demand and not kept, such as a collective of a million rows."""

    make: Callable[[], "Schedule"]

    def frame(self) -> pd.DataFrame:
        return self.make().frame()


class Schedule:
    """Rows of a workload, numbered in the order in which they are added; `frame` returns them, `simulate` takes it.

    >>> step = Schedule()
    >>> sent = step.send("h0", "h1", 64_000)
    >>> done = step.compute("h1", 4_000_000)
    >>> step.wait(done, sent)
    >>> step.frame()["after"].tolist()
    [(), (0,)]
    """

    def __init__(self) -> None:
        self._places: dict[Host, int] = {}
        self._ends: tuple[list[Int32s], list[Int32s]] = [], []
        self._numbers: dict[str, list[npt.NDArray[np.int64]]] = {
            name: [] for name in ("size_bytes", "duration_ps", "start_ps", "collective", "queue_pair")
        }
        self._edges: list[list[npt.NDArray[Any]]] = []
        self.collectives: list[tuple[str, int, int]] = []
        """Operation, ranks and buffer of each collective, by number."""
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def collective(self, operation: str, ranks: int, buffer_bytes: int) -> int:
        """Return the number of a new collective, for `send` and `compute`."""
        self.collectives.append((operation, ranks, buffer_bytes))
        return len(self.collectives) - 1

    def send(
        self,
        src: Host | Sequence[Host],
        dst: Host | Sequence[Host],
        size: int | Int64s,
        start_ps: int | Int64s = 0,
        collective: int = -1,
        queue_pair: int | Int64s = -1,
    ) -> Rows:
        return self.add(src, dst, size, -1, start_ps, collective, queue_pair)

    def compute(
        self, host: Host | Sequence[Host], duration_ps: int | Int64s, start_ps: int | Int64s = 0, collective: int = -1
    ) -> Rows:
        return self.add(host, host, 0, duration_ps, start_ps, collective, -1)

    def wait(self, rows: Any, wanted: Any, delay_ps: int | Int64s = 0) -> None:
        parts = np.broadcast_arrays(rows, wanted, delay_ps)
        if parts[0].size:
            self._edges.append([part.astype(kind).ravel() for part, kind in zip(parts, _EDGE, strict=True)])

    def waits(self) -> tuple[Int32s, Int32s, Int64s]:
        """Return the waiting rows, in order, the rows that they wait for, and the longest delay of each pair."""
        parts = zip(*self._edges, strict=True) if self._edges else ([], [], [])
        waiting, wanted, delay_ps = (
            np.concatenate([np.zeros(0, kind), *part]) for part, kind in zip(parts, _EDGE, strict=True)
        )
        order = np.lexsort((delay_ps, wanted, waiting))
        waiting, wanted, delay_ps = waiting[order], wanted[order], delay_ps[order]
        is_last = np.ones(len(waiting), np.bool_)
        is_last[:-1] = (waiting[1:] != waiting[:-1]) | (wanted[1:] != wanted[:-1])
        return waiting[is_last], wanted[is_last], delay_ps[is_last]

    def column(self, name: str) -> Int64s:
        """Return numbers of all rows: `size_bytes`, `duration_ps`, `start_ps`, `collective` or `queue_pair`."""
        return np.concatenate([np.zeros(0, np.int64), *self._numbers[name]])

    def ends(self) -> tuple[list[Host], Int32s, Int32s]:
        """Return names of hosts, and the places among them of all rows' senders and receivers."""
        src, dst = (np.concatenate([np.zeros(0, np.int32), *parts]) for parts in self._ends)
        return list(self._places), src, dst

    def frame(self) -> pd.DataFrame:
        if not self.count:
            raise ConfigError("schedule", "empty", "at least one row")
        numbers = {name: self.column(name) for name in self._numbers}
        waiting, wanted, delay_ps = self.waits()
        names, *ends = self.ends()
        src, dst = (as_objects(names)[places] for places in ends)
        after = self._split(waiting, wanted)
        frame = from_columns(src, dst, numbers["size_bytes"], numbers["start_ps"], after=after)
        if delay_ps.any():
            shared: dict[Any, Any] = {}  # few of a million tuples differ
            delays = map(shared.setdefault, *[self._split(waiting, delay_ps)] * 2)
            frame["delay_ps"] = np.fromiter(delays, dtype=object, count=self.count)
        for name in ("duration_ps", "queue_pair"):
            if (numbers[name] >= 0).any():
                frame[name] = pd.arrays.IntegerArray(np.maximum(numbers[name], 0), numbers[name] < 0)
        if self.collectives:
            number = numbers["collective"]
            known = [np.array(part, dtype=object)[number] for part in zip(*self.collectives, strict=True)]
            none = number < 0
            frame["collective"] = pd.arrays.IntegerArray(np.maximum(number, 0), none)
            frame["operation"] = np.where(none, np.array([None], dtype=object), known[0])
            for name, values in zip(COLLECTIVE_COLUMNS[2:], known[1:], strict=True):
                frame[name] = pd.arrays.IntegerArray(values.astype(np.int64), none)
        return frame

    def _split(self, waiting: Int32s, values: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
        """Return a column of tuples: consecutive values of equal `waiting`."""
        rows, first = np.unique(waiting, return_index=True)
        return split_ids(values.tolist(), rows, np.diff(first, append=len(waiting)), self.count)

    def _place(self, name: Host) -> int:
        return self._places.setdefault(name, len(self._places))

    def add(
        self,
        src: Any,
        dst: Any,
        size: int | Int64s,
        duration_ps: int | Int64s,
        start_ps: int | Int64s = 0,
        collective: int = -1,
        queue_pair: int | Int64s = -1,
    ) -> Rows:
        """Return new rows, messages where `duration_ps` is -1."""
        ends = [part if isinstance(part, np.ndarray) else None for part in (src, dst)]
        given = [size, duration_ps, start_ps, collective, queue_pair]
        lengths = [len(part) for part in (*ends, *given) if isinstance(part, np.ndarray)]
        count = max(lengths, default=1)
        for part, kept, value in zip(ends, self._ends, (src, dst), strict=True):
            if part is None:
                kept.append(np.broadcast_to(np.int32(self._place(value)), count))
            else:
                kept.append(np.fromiter(map(self._place, part), np.int32, count))
        for (name, kept_numbers), value in zip(self._numbers.items(), given, strict=True):
            try:
                kept_numbers.append(np.broadcast_to(np.asarray(value, np.int64), count))
            except OverflowError:
                raise ConfigError(name, max(np.ravel(value)), "less than 2**63") from None
        rows = np.arange(self.count, self.count + count)
        self.count += count
        return rows


Workload: TypeAlias = pd.DataFrame | Schedule | Recipe
"""What can be simulated."""
