"""Rows of queue pairs: filled shortly before a message starts, released once nothing reads them any more.

There may be a million of them, but only a few thousand in use at a time. So their table is mapped memory, which takes
space only where it has been written, and blocks of finished rows are unmapped again. Numbers and addresses never
change.
"""

from __future__ import annotations

import mmap
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.tables.layout import QP
from rdmacc.engine.compiled.tables.memory import mapped
from rdmacc.engine.plan import Plan
from rdmacc.engine.sent import Pair
from rdmacc.interface import IDLE, NEVER

BLOCK = 512  # rows of a block: rows are multiples of 8 bytes, so that blocks are whole pages

_FREE_BLOCKS = 64  # fewest rows worth releasing

Numbers = npt.NDArray[np.int64]


class QueuePairs:
    """The table of queue pairs: memory, which rows are filled, and which blocks are in use."""

    def __init__(self, plan: Plan, default: bytes, places: npt.NDArray[np.int32], spare: int = 0) -> None:
        self.row_bytes = len(default)
        size = -(-max(plan.n_qps + spare, 1) // BLOCK) * BLOCK * self.row_bytes
        self._map, self.raw = mapped(size, "MADV_NOHUGEPAGE")
        self._alike: dict[Any, tuple[int, npt.NDArray[np.uint8]]] = {}
        self._plan, self._default, self._places = plan, np.frombuffer(default, np.uint8), places
        self._first_message: npt.NDArray[np.int64] | None = None  # its own number where each has one message
        if plan.n_qps < plan.n_messages:
            self._first_message = np.unique(plan.qp, return_index=True)[1]
        self.is_open = np.zeros(plan.n_qps + spare, np.bool_)
        self.blocks: Numbers = np.zeros(0, np.int64)
        self._last_block = -1  # to which a queue pair has been added

    @property
    def address(self) -> int:
        return int(self.raw.ctypes.data)

    def open(self, wanted: Numbers) -> Numbers:
        """Fill those of the given rows that are not filled yet; return their numbers."""
        numbers = np.unique(wanted[~self.is_open[wanted]])
        self.is_open[numbers] = True
        self.fill(self.raw, numbers, numbers)
        self.blocks = np.union1d(self.blocks, numbers // BLOCK)
        return numbers

    def clone(self) -> QueuePairs:
        """Return a copy of the blocks in use."""
        twin = copy(self)
        twin._map, twin.raw = mapped(len(self.raw), "MADV_NOHUGEPAGE")
        for block in self.blocks.tolist():
            twin.block(block)[:] = self.block(block)
        twin.is_open, twin.blocks = self.is_open.copy(), self.blocks.copy()
        return twin

    def tables(self) -> list[npt.NDArray[Any]]:
        """Return what a run changes."""
        return [self.raw[: len(self.is_open) * self.row_bytes], self.is_open]

    def rewind(self, plan: Plan) -> None:
        """Return to the start, after the other tables, for a plan that may have another seed."""
        self._plan = plan
        self.blocks, self._last_block = np.arange(int(self.is_open.any()) * -(-len(self.is_open) // BLOCK)), -1
        self.take_keys(plan)

    def take_keys(self, plan: Plan) -> None:
        """Replace the keys of chance by those of another plan."""
        rows = _rows(self.raw, self.row_bytes)
        for block in self.blocks.tolist():
            here = slice(block * BLOCK, min((block + 1) * BLOCK, plan.n_qps))
            is_open = self.is_open[here]
            rows["chance_key"][here][is_open] = plan.qp_chance_key[here][is_open]
            rows["reply_chance_key"][here][is_open] = plan.qp_reply_chance_key[here][is_open]

    def add(self, number: int, way: tuple[Any, ...]) -> int:
        """Note a queue pair that the plan does not know; return the address of a row like those of its way."""
        self.is_open[number] = True
        if number // BLOCK != self._last_block:
            self._last_block = number // BLOCK
            self.blocks = np.union1d(self.blocks, [self._last_block])
        alike = self._alike.get(way)
        if alike is None:
            raw = self._default.copy()
            for name, value in zip(Pair._fields[-len(way) :], way, strict=True):
                _rows(raw, self.row_bytes)[name] = value
            alike = self._alike[way] = int(raw.ctypes.data), raw
        return alike[0]

    def block(self, number: int) -> npt.NDArray[np.uint8]:
        return self.raw[number * BLOCK * self.row_bytes : (number + 1) * BLOCK * self.row_bytes]

    def fill(self, raw: npt.NDArray[np.uint8], rows: Numbers, numbers: Numbers) -> None:
        """Write queue pairs' initial rows into memory."""
        raw[: len(raw) // self.row_bytes * self.row_bytes].reshape(-1, self.row_bytes)[rows] = self._default
        qps, pairs = _rows(raw, self.row_bytes), Pair.columns(self._plan, numbers)
        for name, values in zip(Pair._fields, pairs, strict=True):
            qps[name][rows] = values
        qps["place"][rows] = self._places[numbers]
        qps["first_message"][rows] = numbers if self._first_message is None else self._first_message[numbers]

    def release(self, in_use: npt.NDArray[np.int32], receiver_timers: list[int]) -> None:
        """Unmap the blocks that nothing will read again.

        Each of their queue pairs is closed and in no line, no packet's row names it, and no timer of its receiver is
        pending. A sender's timers are cancelled when it closes: their events find another deadline in the zeroed row.
        """
        if len(self.blocks) <= _FREE_BLOCKS:
            return
        is_kept = np.zeros(len(self.raw) // self.row_bytes // BLOCK, np.bool_)
        is_kept[in_use[in_use >= 0] // BLOCK] = True
        left = []
        qps = _rows(self.raw, self.row_bytes)
        times = [np.ndarray(len(qps), np.int64, self.raw, offset, (self.row_bytes,)) for offset in receiver_timers]
        for block in self.blocks.tolist():
            rows = slice(block * BLOCK, (block + 1) * BLOCK)
            is_done = not is_kept[block] and (qps["closed"][rows] == 1).all() and (qps["state"][rows] == IDLE).all()
            if is_done and all((armed[rows] == NEVER).all() for armed in times):
                if hasattr(mmap, "MADV_DONTNEED"):
                    self._map.madvise(mmap.MADV_DONTNEED, block * BLOCK * self.row_bytes, BLOCK * self.row_bytes)
            else:
                left.append(block)
        self.blocks, self._last_block = np.array(left, np.int64), -1


def _rows(raw: npt.NDArray[np.uint8], row_bytes: int) -> Any:
    return np.ndarray(len(raw) // row_bytes, QP, raw, strides=(row_bytes,))
