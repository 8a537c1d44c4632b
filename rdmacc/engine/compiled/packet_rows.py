"""Rows of packets: one table, of which each thread has a part of rows never used, and its own list of free ones.

Packets may end at another thread than they begin at. A thread that runs short takes free rows from the others if they
have many, else another part of the table. Rows take no memory before their first use, when the kernel initialises
them. So the table has many from the start: to copy it into a larger one takes as long as a million events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.memory import zeroed

_PART = 2**19
"""Rows in a thread's part, at most: those that it does not use take no memory, and to run short stops all threads."""

Globals = npt.NDArray[np.void]


class PacketRows:
    """The table of packets."""

    def __init__(self, owner: Globals, dtype: np.dtype[np.void], row_bytes: int, capacity: int) -> None:
        self._takers = [owner]
        self._dtype, self._row_bytes = dtype, row_bytes
        self._raw = np.zeros(0, np.uint8)
        self._grow(capacity)
        self._dealt = capacity
        owner["packet_capacity"] = capacity

    @property
    def capacity(self) -> int:
        """Rows of the table."""
        return len(self._raw) // self._row_bytes

    @property
    def rows(self) -> Any:
        """The packets, headers included: the memory as it is now."""
        return np.ndarray(self.capacity, self._dtype, self._raw, strides=(self._row_bytes,))

    @property
    def queue_pairs(self) -> npt.NDArray[np.int32]:
        """The queue pairs of all packets; -1 where a row is free, 0 where it has never been used."""
        queue_pairs: npt.NDArray[np.int32] = self.rows["qp"][: self._used]
        return queue_pairs

    @property
    def _used(self) -> int:
        """No row from this one on has ever been used."""
        return max(int(taker[0]["packet_count"]) for taker in self._takers)

    def rewind(self) -> None:
        """Take all packets back; the only thread's row is as at the start, but for the memory, which may have grown."""
        self._dealt, row = self.capacity, self._takers[0][0]
        row["packets"], row["packet_capacity"] = self._raw.ctypes.data, self.capacity

    @property
    def used_bytes(self) -> npt.NDArray[np.uint8]:
        """The rows that have been used, as they are."""
        return self._raw[: self._used * self._row_bytes]

    def take_back(self, used: npt.NDArray[np.uint8]) -> None:
        """Put in rows that had been used elsewhere; all belong to the first thread."""
        row, count = self._takers[0][0], len(used) // self._row_bytes
        if count > self.capacity:
            self._grow(count + int(row["reserve_packets"]))
        self._raw[: len(used)] = used
        row["packet_count"] = count
        row["packet_capacity"] = self._dealt = self.capacity

    def join(self, taker: Globals) -> None:
        """Give rows to another thread; the first one keeps only part of those that it has never used."""
        first, row = self._takers[0][0], taker[0]
        if len(self._takers) == 1:
            first["packet_capacity"] = self._dealt = int(first["packet_count"])
        row["free_head"] = row["notice_packet"] = -1
        self._takers.append(taker)

    def provide(self, kernel: Any, taker: Globals, more: int = 0) -> None:
        """Give a thread rows for its next event and `more` beyond it, while no thread is at work."""
        row, others = taker[0], [one for one in self._takers if one is not taker]
        wanted = more + int(row["reserve_packets"])
        live = sum(int(one[0]["live_packets"]) for one in self._takers)
        halves = [int(one[0]["free_count"]) // 2 for one in others]
        if sum(halves) >= wanted + max(_PART, live) // 2:
            for one, half in zip(others, halves, strict=True):
                if half:
                    kernel.move_packets(one.ctypes.data, taker.ctypes.data, half)
            return
        if self._dealt + wanted > self.capacity:
            self._grow(2 * self.capacity + wanted)
        count = self.capacity - self._dealt
        if others:
            count = max(wanted, min(_PART, self.capacity // (2 * len(self._takers)), count))
        if row["packet_capacity"] < self._dealt:  # what is left of its part is lost
            row["packet_count"] = row["packet_capacity"] = self._dealt
        row["packet_capacity"] += count
        self._dealt += count

    def _grow(self, capacity: int) -> None:
        """Allocate more rows, and copy those that have been used."""
        fresh = zeroed(capacity * self._row_bytes)
        used = self._used * self._row_bytes
        fresh[:used] = self._raw[:used]
        self._raw = fresh
        for taker in self._takers:
            taker["packets"] = fresh.ctypes.data
