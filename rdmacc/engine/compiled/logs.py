"""What probes and traces record: rows that grow, a table of each for each thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.memory import zeroed


class Log:
    """A table of samples or of the trace, whose place and length are in a row of the kernel's globals."""

    def __init__(self, row: Any, name: str, dtype: np.dtype[np.void], capacity: int) -> None:
        self._row, self._name = row, name
        self._rows = np.zeros(0, dtype)
        self.grow(capacity)

    def grow(self, capacity: int) -> None:
        """Allocate more rows, and copy what there is."""
        fresh = zeroed(capacity * self._rows.dtype.itemsize).view(self._rows.dtype)
        fresh[: len(self.taken)] = self.taken
        self._rows = fresh
        self._row[f"{self._name}s"], self._row[f"{self._name}_capacity"] = fresh.ctypes.data, capacity

    def double(self) -> None:
        """Allocate twice as many rows, and what one event may need."""
        self.grow(2 * len(self._rows) + int(self._row["n_watches"]) + int(self._row["reserve_events"]))

    def take_back(self, taken: npt.NDArray[np.void]) -> None:
        """Put in rows that were taken elsewhere."""
        self.grow(max(len(self._rows), 2 * len(taken)))
        self._rows[: len(taken)] = taken
        self._row[f"{self._name}_count"] = len(taken)

    @property
    def taken(self) -> npt.NDArray[np.void]:
        """The rows so far, which do not change any more: those of each node in the order of time."""
        return self._rows[: int(self._row[f"{self._name}_count"])]
