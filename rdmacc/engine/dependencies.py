"""Dependencies between messages and computation on hosts, as numbers for both engines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Computation:
    """Rows of the workload that send nothing but take time on a host. Row c of C has number M + c, after M messages.

    Rows of a host compute side by side unless they wait for each other.
    """

    frame: pd.DataFrame
    """Those rows of the workload."""
    host: npt.NDArray[np.int32]
    """By node number."""
    start_ps: Ints
    """Earliest start."""
    duration_ps: Ints

    def __len__(self) -> int:
        return len(self.host)


@dataclass(frozen=True, eq=False)
class Dependents:
    """What waits for each message and each row of computation.

    What waits for number i are the entries `first[i]` to `first[i + 1]` of `rows`; it may start `delay_ps` after i is
    complete.
    """

    first: Ints
    rows: npt.NDArray[np.int32]
    delay_ps: Ints

    def of(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield what waits for a number, and its delay; nothing for a message that was sent later."""
        if number + 1 >= len(self.first):
            return iter(())
        low, high = int(self.first[number]), int(self.first[number + 1])
        return iter(zip(self.rows[low:high].tolist(), self.delay_ps[low:high].tolist(), strict=True))


def dependencies(frame: pd.DataFrame, computes: npt.NDArray[np.bool_]) -> tuple[Ints, Dependents | None]:
    """Return how many others each number waits for, and its dependents; None if nothing waits or computes."""
    numbers = np.empty(len(frame), np.int64)
    numbers[~computes] = np.arange(np.count_nonzero(~computes))
    numbers[computes] = np.arange(np.count_nonzero(~computes), len(frame))
    after = frame["after"].to_numpy()
    counts = np.fromiter(map(len, after), np.int64, len(frame))
    waits_for = np.empty_like(counts)
    waits_for[numbers] = counts
    if not counts.any() and not computes.any():
        return waits_for, None
    total = int(counts.sum())
    wanted = numbers[np.fromiter(chain.from_iterable(after), np.int64, total)]
    waiting = np.repeat(numbers, counts)
    delay_ps = np.zeros(total, np.int64)
    if "delay_ps" in frame:
        delay_ps = np.fromiter(chain.from_iterable(frame["delay_ps"].to_numpy()), np.int64, total)
    order = np.lexsort((waiting, wanted))
    first = np.concatenate(([0], np.cumsum(np.bincount(wanted, minlength=len(frame)))))
    return waits_for, Dependents(first, waiting[order].astype(np.int32), delay_ps[order])
