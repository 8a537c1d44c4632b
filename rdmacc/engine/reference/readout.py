"""Reads the counters of the reference engine off its objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.outcome import (
    COMPUTATION_COUNTERS,
    HOST_COUNTERS,
    MESSAGE_COUNTERS,
    PORT_COUNTERS,
    Outcome,
    PfcState,
)
from rdmacc.handlers.hooks import transfer_fields
from rdmacc.state import ACK, ADVERT, CNP, CREDIT, DATA_CLASS, NAK, NUM_CLASSES, REQUEST

__all__ = ["outcome_of", "pfc_state_of"]


def outcome_of(net: Any) -> Outcome:
    """Return the counters so far."""
    ports = {name: _column(net.ports, name) for name in PORT_COUNTERS}
    is_paused = _column(net.ports, "paused") != 0
    ports["paused_ps"] += np.where(is_paused, net.now - _column(net.ports, "paused_since_ps"), 0)
    nodes = list(zip(net.nodes, net.plan.fabric.is_host, strict=True))
    waiting = (packet for port in net.ports for queue in (*port.queues, port.flight) for packet in queue)
    return Outcome(
        messages={name: _column(net.messages, name) for name in MESSAGE_COUNTERS},
        computation={name: _column(net.computation, name) for name in COMPUTATION_COUNTERS},
        ports=ports,
        hosts={
            name: np.array([getattr(node, name) if is_host else 0 for node, is_host in nodes]) for name in HOST_COUNTERS
        },
        buffer_peak_bytes=np.array([0 if is_host else node.peak_bytes for node, is_host in nodes]),
        totals={
            "events": net.events,
            "sent_bytes": net.sent_bytes,
            "accepted_bytes": net.accepted_bytes,
            "discarded_bytes": net.discarded_bytes,
            "dropped_bytes": net.dropped_bytes,
            "trimmed_bytes": net.trimmed_bytes,
            "in_flight_bytes": sum(packet.payload_bytes for packet in waiting),
            "live_packets": net.live_packets,
            "marked_arrivals": net.marked_arrivals,
            "acks": net.reply_counts[ACK],
            "naks": net.reply_counts[NAK],
            "cnps": net.reply_counts[CNP],
            "credits": net.reply_counts[CREDIT],
            "adverts": net.reply_counts[ADVERT],
            "requests": net.reply_counts[REQUEST],
        },
        samples=[
            (np.array([t for t, _ in pairs], dtype=np.int64), np.array([v for _, v in pairs], dtype=np.float64))
            for pairs in net.samples
        ],
        now_ps=net.now,
        transfers={
            (part, field.name): _column((getattr(m, f"transfer{part}") for m in net.messages), field.name, field.code)
            for part, field in transfer_fields(net.plan.scheme.components)
        },
        trace=None if net.trace is None else net.trace.rows(),
    )


def pfc_state_of(net: Any) -> PfcState:
    """Return who waits on whom."""
    state = PfcState({}, defaultdict(lambda: defaultdict(int)))
    fabric = net.plan.fabric
    for port in net.ports:
        for cls in range(DATA_CLASS, NUM_CLASSES):
            account = port.ingress[cls]
            if account.pause_sent and port.reverse.paused & 1 << cls:
                if all(packet.priority != cls for packet in port.reverse.flight):
                    state.ingress[port.number, cls] = account.ingress_bytes, account.headroom_used
            if not fabric.is_host[fabric.port_node[port.number]]:
                for packet in port.queues[cls]:
                    state.held[port.number, cls][packet.ingress.in_port.number, packet.ingress.cls] += packet.wire_bytes
    return state


def _column(things: Iterable[Any], name: str, code: str = "i8") -> npt.NDArray[Any]:
    return np.array([getattr(thing, name) for thing in things], dtype=code)
