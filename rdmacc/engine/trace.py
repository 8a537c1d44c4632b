"""The trace: what happened to every packet, where and when; off by default.

Both engines write the same rows, in the order of events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.interface import KIND_NAMES, PAUSE

if TYPE_CHECKING:
    from rdmacc.engine.plan import Plan
    from rdmacc.topology.fabric import Fabric

SENT, ARRIVED, DROPPED, TRIMMED, QUEUED, RELEASED, STOPPED = range(7)
"""A packet's first bit enters a link; its last bit leaves the link; the packet is lost at a port or on its link; it
loses its payload. Only for explanations (`rdmacc.results.explain`): a host makes a packet that is not data; the pacing
rate let the data packet go, before now, that is sent next; something else stops a queue pair from now on (`psn` is its
number, `kind` one of the codes in `rdmacc.rules.pacing`). Without ``trace=True``, arrivals at switches have no rows."""

WHAT_NAMES = ("sent", "arrived", "dropped", "trimmed")

ROW = np.dtype(
    [
        ("time_ps", "i8"), ("port", "i4"), ("message", "i4"), ("psn", "i4"), ("wire_bytes", "i4"),
        ("what", "i1"), ("kind", "i1"), ("priority", "i1"), ("ce", "i1"),
    ],
    align=True,
)  # fmt: skip
"""One event of one packet."""


class Trace:
    """Rows, collected one by one: all, or what explains all messages or some.

    Explanations do without arrivals at switches, PFC's frames apart, and, if they are of some messages only, without
    what ports send at which none of these queue.
    """

    def __init__(self, plan: Plan) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._only = frozenset(np.flatnonzero(plan.explained).tolist()) if plan.is_partial else None
        self._watched = set(plan.qp_port[plan.qp[plan.explained]].tolist()) if plan.is_partial else set()
        is_host = plan.fabric.is_host[plan.fabric.port_peer]
        self._silent = frozenset(() if plan.is_whole else np.flatnonzero(~is_host).tolist())

    def watch(self, message: int, port: int) -> None:
        """Record what a port sends from now on, if a message to explain queues there."""
        if self._only is not None and message in self._only:
            self._watched.add(port)

    def add(self, time_ps: int, what: int, port: int, packet: Any) -> None:
        if what == ARRIVED and port in self._silent and packet.kind < PAUSE:
            return
        message = packet.message if packet.kind < PAUSE else -1
        if self._only is not None and message >= 0 and message not in self._only:
            if what != SENT or port not in self._watched:
                return
        self._rows.append(
            (time_ps, port, message, packet.psn, packet.wire_bytes, what, packet.kind, packet.priority, packet.ce)
        )

    def add_stop(self, time_ps: int, port: int, qp: int, stop: int, message: int) -> None:
        """Record what stops a queue pair from now on; `message` is one of its messages."""
        if self._only is not None and message not in self._only:
            return
        self._rows.append((time_ps, port, -1, qp, 0, STOPPED, stop, 0, 0))

    def rows(self) -> npt.NDArray[np.void]:
        return np.array(self._rows, dtype=ROW)


def trace_frame(rows: npt.NDArray[np.void], fabric: Fabric) -> pd.DataFrame:
    rows = rows[rows["what"] <= TRIMMED]
    ports = rows["port"]
    columns: dict[str, npt.NDArray[Any]] = {
        "time_ps": rows["time_ps"],
        "what": np.array(WHAT_NAMES)[rows["what"]],
        "node": fabric.names_of(fabric.port_node[ports]),
        "peer": fabric.names_of(fabric.port_peer[ports]),
        "kind": np.array(KIND_NAMES)[rows["kind"]],
        "message": rows["message"],
        "psn": rows["psn"],
        "wire_bytes": rows["wire_bytes"],
        "priority": rows["priority"],
        "ce": rows["ce"] != 0,
    }
    return pd.DataFrame(columns)
