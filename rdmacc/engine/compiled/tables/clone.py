"""A copy of an engine at one instant: what a run changes is copied byte for byte, and addresses in it are moved; the
rest, such as routes, is shared.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.tables.memory import in_python, unset, zeroed
from rdmacc.engine.compiled.threads import ThreadPool
from rdmacc.engine.plan import Plan

if TYPE_CHECKING:
    from rdmacc.engine.compiled.engine import CompiledEngine

_TABLES = {
    "message": "messages", "host": "hosts", "port": "ports", "switch": "switches", "places": "places", "lines": "",
    "skipped": "skipped", "skipped_first": "skipped_first", "spray_counts": "spray_counts", "flowlets": "flowlets",
    "scripts": "scripts",
}  # fmt: skip
"""The tables that a run changes, and the globals' fields with their addresses."""


def clone_of(engine: CompiledEngine, plan: Plan) -> CompiledEngine:
    """Return an independent copy, on a plan of the messages so far."""
    engine.windows.leave()
    engine.pool.gather()
    twin = copy(engine)
    twin.plan, twin._memory, twin._start, twin._added = plan, dict(engine._memory), [], None
    twin.take_rows(engine.rows.copy())
    row, moves = twin.globals, _Moves()
    used = {"message": len(engine.memory("message")), "skipped": engine.used_words}
    for name, field in _TABLES.items():
        twin._memory[name] = moves.copied(engine._memory[name], used.get(name))
        if field:
            row[field] = twin._memory[name].ctypes.data
    for name in ("backlogs", "ingresses", "computation", "watches"):
        table = moves.copied(getattr(engine, name))
        setattr(twin, name, table)
        row[name] = table.ctypes.data
    twin.queue_pairs, twin.packet_rows = engine.queue_pairs.clone(), engine.packet_rows.clone(twin.rows)
    twin._memory["qp"], row["qps"] = twin.queue_pairs.raw, twin.queue_pairs.address
    moves.note(engine.queue_pairs.raw, twin.queue_pairs.raw)
    twin.queue = engine.queue.clone(twin.rows)
    twin.samples, twin.trace = engine.samples.clone(row), engine.trace.clone(row)
    if engine.pool.has_several:
        twin.samples.take_back(engine.pool.samples)
        twin.trace.take_back(np.concatenate(engine.pool.traces))
    if engine.trail is not None:
        twin.take_params(engine._memory["params"].copy())
    twin.view_nodes(len(engine.ports))
    twin.ports["line"] += np.where(twin.ports["line_depth"] > 1, moves.by(engine._memory["lines"]), 0)
    twin.watches["address"] = list(map(moves.moved, twin.watches["address"].tolist()))
    twin.bits = []
    for component, field_, memory in engine.bits:
        fresh = twin._memory[f"bits {component} {field_.name}"] = moves.copied(memory, engine.used_words)
        twin.transfer_column(component, field_)[:] += moves.by(memory)
        twin.bits.append((component, field_, fresh))
    twin.used_places, twin._incoming = in_python(np.array(engine.used_places)), engine._incoming.copy()
    twin.awaited = set(engine.awaited)
    twin.pool, twin.windows = ThreadPool(twin, engine.pool.asked), engine.windows.clone(twin)
    twin.be_ready()
    return twin


class _Moves:
    """Maps addresses in the original's tables to the copies."""

    def __init__(self) -> None:
        self._moves: list[tuple[int, int, int]] = []

    def copied(self, table: npt.NDArray[Any], used: int | None = None) -> npt.NDArray[Any]:
        """Return a copy of a table; entries from `used` on are 0."""
        made = unset if used in (None, len(table)) else zeroed
        fresh = made(table.nbytes).view(table.dtype).reshape(table.shape)
        fresh[:used] = table[:used]
        self.note(table, fresh)
        return fresh

    def note(self, table: npt.NDArray[Any], fresh: npt.NDArray[Any]) -> None:
        first = int(table.ctypes.data)
        self._moves.append((first, first + table.nbytes, int(fresh.ctypes.data) - first))

    def by(self, table: npt.NDArray[Any]) -> int:
        """Return how far a table has moved."""
        return self.moved(int(table.ctypes.data)) - int(table.ctypes.data)

    def moved(self, address: int) -> int:
        return next((address + by for first, end, by in self._moves if first <= address < end), address)
