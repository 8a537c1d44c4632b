"""The kernel's growing tables: logs, packets and events.

Memory is zeroed, aligned to cache lines, and in large pages where a table is large. The system allocates memory on the
first write to each page, which costs as much as twenty events; a page of 2 MiB costs that once and needs one TLB entry.
"""

from __future__ import annotations

import mmap
import weakref
from collections import deque
from collections.abc import Callable
from copy import copy
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.kernel.events import EVENT_BYTES, FAR_BITS, GRAIN_BITS, HEAP_PADDING, NODE_BYTES
from rdmacc.engine.compiled.tables.layout import CACHE_LINE
from rdmacc.engine.plan import Plan
from rdmacc.interface import NEVER


def in_python(numbers: Any) -> Any:
    """Return a view through which Python reads and writes single numbers five times as fast as through NumPy."""
    return memoryview(numbers)


def reader(dtype: np.dtype[np.void], *names: str) -> Callable[[Any, int], tuple[Any, ...]]:
    """Return a function that reads fields of a row, in the order of their offsets, in a tenth of NumPy's time."""
    fields: Any = dtype.fields
    code, end = "", 0
    for kind, offset, *_ in (fields[name] for name in names):
        code, end = f"{code}{offset - end}x{kind.char}", offset + kind.itemsize
    return Struct(code).unpack_from


class Log:
    """A growing table of samples or trace rows; the kernel's globals hold its address and length."""

    def __init__(self, row: Any, name: str, dtype: np.dtype[np.void], capacity: int) -> None:
        self._row, self._name = row, name
        self._rows = np.zeros(0, dtype)
        self.grow(capacity)

    def grow(self, capacity: int) -> None:
        """Grow the table, keeping its rows."""
        fresh = zeroed(capacity * self._rows.dtype.itemsize).view(self._rows.dtype)
        fresh[: len(self.taken)] = self.taken
        self._rows = fresh
        self._row[f"{self._name}s"], self._row[f"{self._name}_capacity"] = fresh.ctypes.data, capacity

    def double(self) -> None:
        """Double the table, with room for at least one more event."""
        self.grow(2 * len(self._rows) + int(self._row["n_watches"]) + int(self._row["reserve_events"]))

    def take_back(self, taken: npt.NDArray[np.void]) -> None:
        """Restore rows that were saved from another table."""
        self.grow(max(len(self._rows), 2 * len(taken)))
        self._rows[: len(taken)] = taken
        self._row[f"{self._name}_count"] = len(taken)

    def clone(self, row: Any) -> Log:
        """Return a copy for a copy of the globals."""
        twin = copy(self)
        twin._row = row
        twin.grow(len(self._rows))
        return twin

    @property
    def taken(self) -> npt.NDArray[np.void]:
        """The rows so far, which are final; each node's are in the order of time."""
        return self._rows[: int(self._row[f"{self._name}_count"])]


_LARGE_PAGE_BYTES = 2**21
_LARGE_BYTES = 2**20  # smaller tables share pages that the process already has


def mapped(count: int, advice: str) -> tuple[mmap.mmap, npt.NDArray[np.uint8]]:
    """Map zeroed memory, and return the mapping and its bytes; unwritten pages take no space."""
    private: Any = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        memory = mmap.mmap(-1, count, **private)
    except OSError as error:  # as NumPy says it
        raise MemoryError(f"cannot allocate {count:,} bytes for a table") from error
    if hasattr(mmap, advice):
        memory.madvise(getattr(mmap, advice))
    return memory, np.frombuffer(memory, np.uint8)


def zeroed(count: int) -> npt.NDArray[np.uint8]:
    """Return zeroed bytes, aligned to a cache line."""
    if count < _LARGE_BYTES:
        return _aligned(np.zeros(count + CACHE_LINE, np.uint8))
    return mapped(_in_pages(count), "MADV_HUGEPAGE")[1][:count]


_KEPT_BYTES = 2**24
_dropped: deque[mmap.mmap] = deque(maxlen=8)
"""Memory of tables that nothing uses any more, `_KEPT_BYTES` of each at most. The next copy of a simulation takes it,
as zeroing new pages takes half the time of a copy.
"""


def unset(count: int) -> npt.NDArray[np.uint8]:
    """Return bytes of any value, aligned to a cache line."""
    if count < _LARGE_BYTES:
        return _aligned(np.empty(count + CACHE_LINE, np.uint8))
    size = _in_pages(count)
    try:
        memory = next(one for one in tuple(_dropped) if len(one) == size)
        _dropped.remove(memory)
        raw = np.frombuffer(memory, np.uint8)
    except (StopIteration, ValueError):  # there is none, or another thread has taken it
        memory, raw = mapped(size, "MADV_HUGEPAGE")
    if hasattr(mmap, "MADV_DONTNEED"):
        weakref.finalize(raw, _drop, memory).atexit = False
    return raw[:count]


def _drop(memory: mmap.mmap) -> None:
    if len(memory) > _KEPT_BYTES:
        memory.madvise(mmap.MADV_DONTNEED, _KEPT_BYTES, len(memory) - _KEPT_BYTES)
    _dropped.append(memory)


def _in_pages(count: int) -> int:
    return -(-count // _LARGE_PAGE_BYTES) * _LARGE_PAGE_BYTES


def _aligned(raw: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    shift = -raw.ctypes.data % CACHE_LINE
    return raw[shift : shift + len(raw) - CACHE_LINE]


def filled(row: bytes, count: int, spare: int = 0) -> npt.NDArray[np.uint8]:
    """Return copies of a row, and zeroed memory for more."""
    raw = zeroed(len(row) * (count + spare))
    raw.reshape(-1, len(row))[:count] = np.frombuffer(row, np.uint8)
    return raw


_PART = 2**19
"""Most rows in a thread's part: unused rows take no memory, while running out stops all threads."""

Globals = npt.NDArray[np.void]


class PacketRows:
    """The table of packets: each thread has a part of the unused rows, and its own free list.

    A packet may be freed by another thread than the one that made it. A thread that runs out takes free rows from the
    others if they have many, otherwise another part of the table. The kernel initialises a row on first use, and unused
    rows take no memory. So the table is large from the start: copying it takes as long as a million events.
    """

    def __init__(self, owner: Globals, dtype: np.dtype[np.void], row_bytes: int, capacity: int) -> None:
        self._takers = [owner]
        self._dtype, self._row_bytes = dtype, row_bytes
        self._raw, self.has_grown = np.zeros(0, np.uint8), False
        self._grow(capacity)
        self._dealt = capacity
        owner["packet_capacity"] = capacity

    @property
    def capacity(self) -> int:
        return len(self._raw) // self._row_bytes

    @property
    def rows(self) -> Any:
        """A view of the packet table, headers included."""
        return np.ndarray(self.capacity, self._dtype, self._raw, strides=(self._row_bytes,))

    @property
    def queue_pairs(self) -> npt.NDArray[np.int32]:
        """The queue pairs of all packets; -1 where a row is free, 0 where it has never been used."""
        queue_pairs: npt.NDArray[np.int32] = self.rows["qp"][: self._used]
        return queue_pairs

    @property
    def _used(self) -> int:
        """The first row that has never been used."""
        return max(int(taker[0]["packet_count"]) for taker in self._takers)

    @property
    def live(self) -> int:
        return sum(int(taker[0]["live_packets"]) for taker in self._takers)

    def rewind(self) -> None:
        """Free all packets; only the memory may differ from the start, as it may have grown. Single-threaded."""
        self._dealt, row = self.capacity, self._takers[0][0]
        row["packets"], row["packet_capacity"] = self._raw.ctypes.data, self.capacity

    @property
    def used_bytes(self) -> npt.NDArray[np.uint8]:
        return self._raw[: self._used * self._row_bytes]

    def take_back(self, used: npt.NDArray[np.uint8]) -> None:
        """Restore rows that were saved from another table; the first thread gets all."""
        row, count = self._takers[0][0], len(used) // self._row_bytes
        if count > self.capacity:
            self._grow(count + int(row["reserve_packets"]))
        self._raw[: len(used)] = used
        row["packet_count"] = count
        row["packet_capacity"] = self._dealt = self.capacity

    def clone(self, taker: Globals) -> PacketRows:
        """Return a copy for a copy of the globals, which has all packets."""
        twin = copy(self)
        twin._takers, twin._raw = [taker], unset(len(self._raw))
        taker[0]["packets"] = twin._raw.ctypes.data
        twin.take_back(self.used_bytes)
        return twin

    def join(self, taker: Globals) -> None:
        """Give another thread its part of the rows that the first has never used."""
        first, row = self._takers[0][0], taker[0]
        if len(self._takers) == 1:
            first["packet_capacity"] = self._dealt = int(first["packet_count"])
        row["free_head"] = row["notice_packet"] = -1
        self._takers.append(taker)

    def provide(self, kernel: Any, taker: Globals, more: int = 0) -> None:
        """Give a thread rows for its next event and `more` beyond that, while no thread runs."""
        row, others = taker[0], [one for one in self._takers if one is not taker]
        wanted = more + int(row["reserve_packets"])
        halves = [int(one[0]["free_count"]) // 2 for one in others]
        if sum(halves) >= wanted + max(_PART, self.live) // 2:
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
        fresh = zeroed(capacity * self._row_bytes)
        used = self._used * self._row_bytes
        fresh[:used] = self._raw[:used]
        self._raw, self.has_grown = fresh, True
        for taker in self._takers:
            taker["packets"] = fresh.ctypes.data


_EVENTS_A_STEP = 32  # packets per wheel step if every link were busy; most links are idle most of the time

_NEAR_BITS = 6, 16  # the near wheel has at least 2**6 and at most 2**16 buckets

_MOST_STEPS_BITS = 6  # in windows it is for 2**6 steps at most


class EventQueue:
    """The event queue's memory, which grows; `crossing_room` rows are hidden from the kernel's capacity."""

    def __init__(self, rows: npt.NDArray[np.void], plan: Plan, crossing_room: int = 0) -> None:
        self._rows, self._row, self._plan, self.crossing_room = rows, rows[0], plan, crossing_room
        self._capacity, self.has_grown = 0, False
        self._wheels: list[npt.NDArray[Any]] = []
        self.heap = self._nodes = np.zeros((0, 2), np.int64)

    @property
    def first_ps(self) -> int:
        """Time of the first event in the order of time."""
        return self._view[HEAP_PADDING, 0]

    def set_wheels(self, window_shift: int = 0, window_factor: int = 1) -> None:
        """Allocate the wheels: a few events fall in a step, and what is sent now arrives once round the near wheel.

        In windows a step is one of them, of `2**window_shift / window_factor` grains, and has a bucket for each node.
        """
        fabric, wire_bytes, row = self._plan.fabric, self._plan.scheme.wire_bytes, self._row
        packets_per_ps = float(fabric.port_rate_bps.sum()) / (8e12 * wire_bytes)
        shift = window_shift or max(0, int(np.log2(_EVENTS_A_STEP / packets_per_ps)))
        longest_ps = int((wire_bytes * fabric.port_byte_ps + fabric.port_delay_ps).max())
        near_shift = min(max((longest_ps >> shift).bit_length(), _NEAR_BITS[0]), _NEAR_BITS[1])
        node_bits = 0
        if window_shift:
            node_bits = max(1, (fabric.n_nodes - 1).bit_length())
            steps = 1 + (longest_ps >> GRAIN_BITS) * window_factor // 2**shift
            near_shift = max(_NEAR_BITS[0], node_bits + min((steps + 1).bit_length(), _MOST_STEPS_BITS))
        self._wheels = []
        for name, bits in (("near", near_shift), ("far", FAR_BITS)):
            heads, marks = np.full(1 << bits, -1, np.int32), np.zeros(1 << (bits - 6), np.int64)
            row[f"{name}_wheel"], row[f"{name}_bits"] = heads.ctypes.data, marks.ctypes.data
            self._wheels += [heads, marks]
        for field, value in (
            ("wheel_shift", shift), ("near_shift", near_shift), ("near_mask", (1 << near_shift) - 1),
            ("far_first", NEVER), ("beyond_first", NEVER), ("beyond_head", -1), ("node_free", -1),
            ("node_bits", node_bits), ("window_factor", window_factor),
        ):  # fmt: skip
            row[field] = value

    def grow(self, capacity: int) -> None:
        """At least double the rows, keeping the events."""
        self._capacity = capacity = max(capacity, self._capacity)
        count = capacity + self.crossing_room
        heap = zeroed((count + HEAP_PADDING + 4) * EVENT_BYTES).view(np.int64).reshape(-1, 2)
        heap[:] = NEVER
        heap[: len(self.heap)] = self.heap
        nodes = zeroed(count * NODE_BYTES).view(np.int64).reshape(count, -1)
        if len(self._nodes):
            nodes[: len(self._nodes)] = self._nodes
        self.heap, self._nodes, self.has_grown = heap, nodes, True
        self._point()

    def _point(self) -> None:
        self._view: Any = in_python(self.heap)
        self._row["heap"] = self.heap.ctypes.data + HEAP_PADDING * EVENT_BYTES
        self._row["nodes"], self._row["event_capacity"] = self._nodes.ctypes.data, self._capacity

    def clone(self, rows: npt.NDArray[np.void]) -> EventQueue:
        """Return a copy for a copy of the globals."""
        twin, used = copy(self), int(self._row["node_used"])
        twin._rows, twin._row, twin._wheels = rows, rows[0], [table.copy() for table in self._wheels]
        twin.heap, twin._nodes = (
            unset(table.nbytes).view(np.int64).reshape(table.shape) for table in (self.heap, self._nodes)
        )
        twin.heap[:], twin._nodes[:used] = self.heap, self._nodes[:used]
        for field, table in zip(("near_wheel", "near_bits", "far_wheel", "far_bits"), twin._wheels, strict=True):
            twin._row[field] = table.ctypes.data
        twin._point()
        return twin

    def tables(self) -> list[npt.NDArray[Any]]:
        """Return the arrays that a run changes in place."""
        return [self.heap, self._nodes[: int(self._row["node_used"])], *self._wheels]

    def rewind(self) -> None:
        """Remove all events; the memory may have grown since the start."""
        self.heap[:] = NEVER
        for heads, marks in zip(self._wheels[::2], self._wheels[1::2], strict=True):
            heads[:], marks[:] = -1, 0
        self._point()

    def double(self) -> None:
        self.grow(2 * int(self._row["event_capacity"]) + int(self._row["reserve_events"]))

    def empty_heap(self) -> None:
        self.heap[HEAP_PADDING : HEAP_PADDING + int(self._row["heap_length"])] = NEVER
        self._row["heap_length"] = 0

    def pending(self) -> npt.NDArray[np.int64]:
        """Return times and ranks of the pending events, unordered."""
        near = self.heap[HEAP_PADDING : HEAP_PADDING + int(self._row["heap_length"])]
        later = self._nodes[: int(self._row["node_used"]), :2]
        return np.concatenate([near, later[later[:, 0] < NEVER]])

    def lay(self, kernel: Any, events: npt.NDArray[np.int64], step: int, *window: int) -> None:
        """Replace all pending events by these, which are of this step or later."""
        row = self._row
        room = int(row["event_capacity"]) - int(row["reserve_events"])
        self.heap[:] = NEVER
        row["heap_length"] = row["wheel_count"] = row["node_used"] = 0
        self.set_wheels(*window)
        if len(events) > room:
            self.grow(2 * int(row["event_capacity"]) + len(events))
        row["wheel_now"] = (step << int(row["node_bits"])) - 1 if window else 0
        row["window"] = row["agreed_step"] = -1
        events = np.ascontiguousarray(events)
        kernel.push_events(self._rows.ctypes.data, events.ctypes.data, len(events))
