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

from rdmacc.engine.additions import Pair
from rdmacc.engine.compiled.tables.layout import QP
from rdmacc.engine.compiled.tables.memory import Cells, mapped
from rdmacc.engine.plan import Plan
from rdmacc.records import NEVER
from rdmacc.state import IDLE

BLOCK = 512  # rows of a block: rows are multiples of 8 bytes, so that blocks are whole pages

_OWN = "number", "chance_key", "reply_chance_key", "place", "first_message"
_ALIKE = (
    "src", "dst", "nic", "reply_nic", "line_bps", "rate_bps", "peer_line_bps", "payload_bytes", "wire_bytes",
    "base_rtt_ps", "base_delay_ps", "remaining", "paths",
)  # fmt: skip
"""What is written of a queue pair that is added: its own, and what all between the same hosts and ports have."""

_FREE_BLOCKS = 64  # fewest rows worth releasing

Numbers = npt.NDArray[np.int64]


class QueuePairs:
    """The table of queue pairs: its memory, which rows have been filled, and the numbers of those in use."""

    def __init__(self, plan: Plan, default: bytes, places: npt.NDArray[np.int32], spare: int = 0) -> None:
        self.row_bytes = len(default)
        size = -(-max(plan.n_qps + spare, 1) // BLOCK) * BLOCK * self.row_bytes
        self._map, self.raw = mapped(size, "MADV_NOHUGEPAGE")
        self._own: Cells | None = None
        self._alike: dict[Any, npt.NDArray[np.uint8]] = {}
        self._plan, self._default, self._places = plan, np.frombuffer(default, np.uint8), places
        self._first_message: npt.NDArray[np.int64] | None = None  # its own number where each has one message
        if plan.n_qps < plan.n_messages:
            self._first_message = np.unique(plan.qp, return_index=True)[1]
        self.is_open = np.zeros(plan.n_qps + spare, np.bool_)
        self.blocks: Numbers = np.zeros(0, np.int64)

    @property
    def address(self) -> int:
        return int(self.raw.ctypes.data)

    def open(self, wanted: Numbers) -> Numbers:
        """Fill the rows that are wanted and not yet filled; return their numbers."""
        numbers = np.unique(wanted[~self.is_open[wanted]])
        self.is_open[numbers] = True
        self.fill(self.raw, numbers, numbers)
        self.blocks = np.union1d(self.blocks, numbers // BLOCK)
        return numbers

    def clone(self) -> QueuePairs:
        """Return a copy, of the blocks in use."""
        twin = copy(self)
        twin._map, twin.raw = mapped(len(self.raw), "MADV_NOHUGEPAGE")
        for block in self.blocks.tolist():
            twin.block(block)[:] = self.block(block)
        twin.is_open, twin.blocks, twin._own = self.is_open.copy(), self.blocks.copy(), None
        return twin

    def tables(self) -> list[npt.NDArray[Any]]:
        """Return what a run changes."""
        return [self.raw[: len(self.is_open) * self.row_bytes], self.is_open]

    def rewind(self, plan: Plan) -> None:
        """Be as at the start, once the tables are, for a plan that may differ by its seed."""
        self._plan = plan
        self.blocks = np.arange(int(self.is_open.any()) * -(-len(self.is_open) // BLOCK))
        self.take_keys(plan)

    def take_keys(self, plan: Plan) -> None:
        """Go on by a plan's keys of chance."""
        rows = _rows(self.raw, self.row_bytes)
        for block in self.blocks.tolist():
            here = slice(block * BLOCK, min((block + 1) * BLOCK, plan.n_qps))
            is_open = self.is_open[here]
            rows["chance_key"][here][is_open] = plan.qp_chance_key[here][is_open]
            rows["reply_chance_key"][here][is_open] = plan.qp_reply_chance_key[here][is_open]

    def add(self, pair: Pair, place: int, message: int) -> None:
        """Fill the row of a queue pair that the plan does not know, for its first message."""
        number = pair.number
        at, alike = number * self.row_bytes, pair[1:7] + pair[9:]
        if self._own is None:
            self._own = Cells(self.raw, QP, self.row_bytes, _OWN)
        if alike not in self._alike:
            self._alike[alike] = self._row_like(pair)
        self.raw[at : at + self.row_bytes] = self._alike[alike]
        self._own.write(number, number, pair.chance_key, pair.reply_chance_key, place, message)
        self.is_open[number] = True
        if not len(self.blocks) or self.blocks[-1] < number // BLOCK:
            self.blocks = np.append(self.blocks, number // BLOCK)

    def _row_like(self, pair: Pair) -> npt.NDArray[np.uint8]:
        rates, scheme, row = self._plan.fabric.port_rate_bps, self._plan.scheme, self._default.copy()
        line_bps = float(rates[pair.port])
        Cells(row, QP, self.row_bytes, _ALIKE).write(
            0, pair.src, pair.dst, pair.port, pair.reply_port, line_bps, line_bps, float(rates[pair.reply_port]),
            scheme.payload_bytes, scheme.wire_bytes, pair.base_rtt_ps, pair.base_delay_ps, pair.remaining, pair.paths,
        )  # fmt: skip
        return row

    def block(self, number: int) -> npt.NDArray[np.uint8]:
        return self.raw[number * BLOCK * self.row_bytes : (number + 1) * BLOCK * self.row_bytes]

    def fill(self, raw: npt.NDArray[np.uint8], rows: Numbers, numbers: Numbers) -> None:
        """Write queue pairs into rows of some memory, as they are at the start."""
        plan, fabric = self._plan, self._plan.fabric
        raw[: len(raw) // self.row_bytes * self.row_bytes].reshape(-1, self.row_bytes)[rows] = self._default
        qps = _rows(raw, self.row_bytes)
        sent_from, answered_from = plan.qp_port[numbers], plan.reply_port[numbers]
        for name, values in (
            ("number", numbers),
            ("src", plan.qp_src[numbers]),
            ("dst", plan.qp_dst[numbers]),
            ("nic", sent_from),
            ("reply_nic", answered_from),
            ("line_bps", fabric.port_rate_bps[sent_from]),
            ("rate_bps", fabric.port_rate_bps[sent_from]),
            ("peer_line_bps", fabric.port_rate_bps[answered_from]),
            ("payload_bytes", plan.scheme.payload_bytes),
            ("wire_bytes", plan.scheme.wire_bytes),
            ("base_rtt_ps", plan.qp_base_rtt_ps[numbers]),
            ("base_delay_ps", plan.qp_base_delay_ps[numbers]),
            ("remaining", plan.qp_messages[numbers]),
            ("paths", plan.qp_paths[numbers]),
            ("chance_key", plan.qp_chance_key[numbers]),
            ("reply_chance_key", plan.qp_reply_chance_key[numbers]),
            ("place", self._places[numbers]),
            ("first_message", numbers if self._first_message is None else self._first_message[numbers]),
        ):
            qps[name][rows] = values

    def release(self, in_use: npt.NDArray[np.int32], receiver_timers: list[int]) -> None:
        """Give back the blocks of which nothing more is read.

        That is when every queue pair is closed and in no line, no row of a packet names it, and no timer of its
        receiver is pending. A sender's timers are cancelled when it closes; their events, when they come, find another
        time than theirs in the empty row.
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
        self.blocks = np.array(left, np.int64)


def _rows(raw: npt.NDArray[np.uint8], row_bytes: int) -> Any:
    return np.ndarray(len(raw) // row_bytes, QP, raw, strides=(row_bytes,))
