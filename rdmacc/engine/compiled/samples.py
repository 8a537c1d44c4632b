"""What probes record: rows that grow, one table for each thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.layout import SAMPLE


class Samples:
    """A table of samples, of which a row of the kernel's globals says where it is and how many it holds.

    Parameters
    ----------
    row : record
        The row of globals.
    capacity : int
        Rows at the start.
    """

    def __init__(self, row: Any, capacity: int) -> None:
        self._row = row
        self._rows = np.zeros(0, SAMPLE)
        self.grow(capacity)

    def grow(self, capacity: int) -> None:
        """Allocate more rows, and copy what there is."""
        fresh = np.zeros(capacity, SAMPLE)
        fresh[: len(self._rows)] = self._rows
        self._rows = fresh
        self._row["samples"], self._row["sample_capacity"] = fresh.ctypes.data, capacity

    def double(self) -> None:
        """Allocate twice as many rows, and what one event may need."""
        self.grow(2 * len(self._rows) + int(self._row["n_watches"]))

    def take_back(self, taken: npt.NDArray[np.void]) -> None:
        """Put in samples that were taken elsewhere."""
        self.grow(max(len(self._rows), 2 * len(taken)))
        self._rows[: len(taken)] = taken
        self._row["sample_count"] = len(taken)

    @property
    def taken(self) -> npt.NDArray[np.void]:
        """The samples so far: each probe's in the order of time."""
        return self._rows[: int(self._row["sample_count"])]
