"""Build a schedule of messages and computations, row by row or in blocks, with dependencies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import Host, nothing_after

COLLECTIVE_COLUMNS = ("collective", "operation", "ranks", "buffer_bytes")
"""Columns of rows in a collective: its number, its operation, its number of ranks, and the size S of its buffer."""

Rows = Int64s
"""Numbers of rows."""


class Schedule:
    """Rows of a workload, numbered in the order in which they are added; `frame` returns them.

    >>> step = Schedule()
    >>> sent = step.send("h0", "h1", 64_000)
    >>> done = step.compute("h1", 4_000_000)
    >>> step.wait(done, sent)
    >>> step.frame()["after"].tolist()
    [(), (0,)]
    """

    def __init__(self) -> None:
        self._src: list[Any] = []
        self._dst: list[Any] = []
        self._numbers: dict[str, list[npt.NDArray[np.int64]]] = {
            name: [] for name in ("size_bytes", "duration_ps", "start_ps", "collective", "queue_pair")
        }
        self._edges: list[tuple[Int64s, Int64s, Int64s]] = []
        self._collectives: list[tuple[str, int, int]] = []
        self.count = 0

    def collective(self, operation: str, ranks: int, buffer_bytes: int) -> int:
        """Return the number of a new collective, for `send` and `compute`."""
        self._collectives.append((operation, ranks, buffer_bytes))
        return len(self._collectives) - 1

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
        parts = [np.asarray(part, np.int64) for part in (rows, wanted, delay_ps)]
        shape = np.broadcast(*parts).shape
        if 0 not in shape:
            one, other, delay = (np.full(shape, part).ravel() for part in parts)
            self._edges.append((one, other, delay))

    def edges(self) -> tuple[Int64s, Int64s, Int64s]:
        """Return the waiting rows, the rows that they wait for, and the delays."""
        if not self._edges:
            return tuple(np.zeros(0, np.int64) for _ in range(3))  # type: ignore[return-value]
        waiting, wanted, delay_ps = (np.concatenate(parts) for parts in zip(*self._edges, strict=True))
        return waiting, wanted, delay_ps

    def frame(self) -> pd.DataFrame:
        if not self.count:
            raise ConfigError("schedule", "empty", "at least one row")
        numbers = {name: np.concatenate(parts) for name, parts in self._numbers.items()}
        waiting, wanted, delay_ps = self.edges()
        order = np.lexsort((delay_ps, wanted, waiting))
        waiting, wanted, delay_ps = waiting[order], wanted[order], delay_ps[order]
        is_last = np.ones(len(waiting), np.bool_)  # for duplicate pairs, the longest delay applies
        is_last[:-1] = (waiting[1:] != waiting[:-1]) | (wanted[1:] != wanted[:-1])
        waiting, wanted, delay_ps = waiting[is_last], wanted[is_last], delay_ps[is_last]
        frame = pd.DataFrame(
            {
                "src": pd.Series(np.concatenate(self._src), dtype=object),
                "dst": pd.Series(np.concatenate(self._dst), dtype=object),
                "size_bytes": numbers["size_bytes"],
                "start_ps": numbers["start_ps"],
                "group": pd.array([pd.NA] * self.count, dtype="Int64"),
                "after": self._split(waiting, wanted),
                "weight": np.ones(self.count),
            },
            index=pd.RangeIndex(self.count, name="message"),
        )
        if delay_ps.any():
            shared: dict[Any, Any] = {}  # few of a million tuples differ
            delays = map(shared.setdefault, *[self._split(waiting, delay_ps)] * 2)
            frame["delay_ps"] = np.fromiter(delays, dtype=object, count=self.count)
        for name in ("duration_ps", "queue_pair"):
            if (numbers[name] >= 0).any():
                frame[name] = pd.arrays.IntegerArray(np.maximum(numbers[name], 0), numbers[name] < 0)
        if self._collectives:
            number = numbers["collective"]
            known = [np.array(part, dtype=object)[number] for part in zip(*self._collectives, strict=True)]
            none = number < 0
            frame["collective"] = pd.arrays.IntegerArray(np.maximum(number, 0), none)
            frame["operation"] = np.where(none, np.array([None], dtype=object), known[0])
            for name, values in zip(COLLECTIVE_COLUMNS[2:], known[1:], strict=True):
                frame[name] = pd.arrays.IntegerArray(values.astype(np.int64), none)
        return frame

    def _split(self, waiting: Int64s, values: Int64s) -> npt.NDArray[np.object_]:
        """Return a column of tuples: consecutive values of equal `waiting`."""
        column = nothing_after(self.count)
        rows, first = np.unique(waiting, return_index=True)
        ends = np.append(first, len(waiting))[1:].tolist()
        listed = values.tolist()
        for row, low, high in zip(rows.tolist(), first.tolist(), ends, strict=True):
            column[row] = tuple(listed[low:high])
        return column

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
        for part, kept, value in zip(ends, (self._src, self._dst), (src, dst), strict=True):
            if part is None:
                part = np.empty(count, dtype=object)
                part[:] = [value] * count
            kept.append(part)
        for name, value in zip(
            ("size_bytes", "duration_ps", "start_ps", "collective", "queue_pair"), given, strict=True
        ):
            self._numbers[name].append(np.full(count, value, np.int64))
        rows = np.arange(self.count, self.count + count)
        self.count += count
        return rows
