"""The memory of a queue of events, which a row of the kernel's globals describes (`rdmacc.engine.compiled.events`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.events import FAR_BITS, GRAIN_BITS, NODE_BYTES
from rdmacc.engine.compiled.heap import EVENT_BYTES, HEAP_PADDING
from rdmacc.engine.compiled.memory import zeroed
from rdmacc.engine.plan import Plan
from rdmacc.records import NEVER

_EVENTS_A_STEP = 32
"""Packets per wheel step if every link were busy; most links are idle most of the time."""

_NEAR_BITS = 6, 16
"""The near wheel has at least 2**6 and at most 2**16 buckets."""

_MOST_STEPS_BITS = 6
"""In windows it is for 2**6 steps at most."""


class EventQueue:
    """Memory for events, which grows; `crossing_room` rows are beyond those that the kernel counts with."""

    def __init__(self, rows: npt.NDArray[np.void], plan: Plan, crossing_room: int = 0) -> None:
        self._rows, self._row, self._plan, self.crossing_room = rows, rows[0], plan, crossing_room
        self._capacity = 0
        self._wheels: list[npt.NDArray[Any]] = []
        self.heap = self._nodes = np.zeros((0, 2), np.int64)

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
        """Allocate more rows, at least as many as before, and copy what there is."""
        self._capacity = capacity = max(capacity, self._capacity)
        count = capacity + self.crossing_room
        heap = zeroed((count + HEAP_PADDING + 4) * EVENT_BYTES).view(np.int64).reshape(-1, 2)
        heap[:] = NEVER
        heap[: len(self.heap)] = self.heap
        nodes = zeroed(count * NODE_BYTES).view(np.int64).reshape(count, -1)
        if len(self._nodes):
            nodes[: len(self._nodes)] = self._nodes
        self.heap, self._nodes = heap, nodes
        self._point()

    def _point(self) -> None:
        self._row["heap"] = self.heap.ctypes.data + HEAP_PADDING * EVENT_BYTES
        self._row["nodes"], self._row["event_capacity"] = self._nodes.ctypes.data, self._capacity

    def rewind(self) -> None:
        """Forget all events: the row is as at the start, but for the memory, which may have grown."""
        self.heap[:] = NEVER
        for heads, marks in zip(self._wheels[::2], self._wheels[1::2], strict=True):
            heads[:], marks[:] = -1, 0
        self._point()

    def double(self) -> None:
        """Allocate twice as many rows, and what one event may need."""
        self.grow(2 * int(self._row["event_capacity"]) + int(self._row["reserve_events"]))

    def empty_heap(self) -> None:
        """Forget the current step's events."""
        self.heap[HEAP_PADDING : HEAP_PADDING + int(self._row["heap_length"])] = NEVER
        self._row["heap_length"] = 0

    def pending(self) -> npt.NDArray[np.int64]:
        """Return time and rank of what is pending, in no order."""
        near = self.heap[HEAP_PADDING : HEAP_PADDING + int(self._row["heap_length"])]
        later = self._nodes[: int(self._row["node_used"]), :2]
        return np.concatenate([near, later[later[:, 0] < NEVER]])

    def lay(self, kernel: Any, events: npt.NDArray[np.int64], step: int, *window: int) -> None:
        """Schedule these events, of this step and later, in place of all that are pending, in windows or by time."""
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
