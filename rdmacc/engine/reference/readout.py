"""Reads the counters of the reference engine off its objects."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine import outcome
from rdmacc.engine.records import TOTALS
from rdmacc.engine.reference.core import Core
from rdmacc.engine.reference.hosts import Host
from rdmacc.engine.reference.ports import Port
from rdmacc.engine.reference.probes import Samples
from rdmacc.engine.reference.switches import Switch
from rdmacc.handlers.hooks import transfer_fields
from rdmacc.interface import DATA_CLASS, KIND_NAMES, NUM_CLASSES


def outcome_of(
    net: Core, nodes: Sequence[Host | Switch], ports: Sequence[Port], events: int, samples: Sequence[Samples]
) -> outcome.RunOutcome:
    now = int(net.env.now)
    of_ports = {name: _column(ports, name) for name in outcome.PORT_COUNTERS}
    is_paused = _column(ports, "paused") != 0
    of_ports["paused_ps"] += np.where(is_paused, now - _column(ports, "paused_since_ps"), 0)
    packets = [packet for port in ports for queue in (*port.queues, port.flight) for packet in queue]
    counted = vars(net) | {f"{name}s": count for name, count in zip(KIND_NAMES, net.reply_counts)}
    counted |= {"events": events, "live_packets": len(packets)}
    return outcome.RunOutcome(
        messages={name: _column(net.messages, name) for name in outcome.MESSAGE_COUNTERS},
        computation={name: _column(net.computation, name) for name in outcome.COMPUTATION_COUNTERS},
        ports=of_ports,
        hosts={
            name: np.array([getattr(node, name) if isinstance(node, Host) else 0 for node in nodes])
            for name in outcome.HOST_COUNTERS
        },
        buffer_peak_bytes=np.array([node.peak_bytes if isinstance(node, Switch) else 0 for node in nodes]),
        totals={
            **{name: counted[name] for name in TOTALS},
            "in_flight_bytes": sum(packet.payload_bytes for packet in packets),
        },
        samples=[
            (np.array([t for t, _ in pairs], dtype=np.int64), np.array([v for _, v in pairs], dtype=np.float64))
            for pairs in samples
        ],
        now_ps=now,
        transfers={
            (part, field.name): _column((getattr(m, f"transfer{part}") for m in net.messages), field.name, field.code)
            for part, field in transfer_fields(net.scheme.components)
        },
        traces=[] if net.trace is None else [net.trace.rows()],
    )


def pfc_state_of(nodes: Sequence[Host | Switch]) -> outcome.PfcState:
    state = outcome.PfcState({}, defaultdict(lambda: defaultdict(int)))
    for node in nodes:
        if not isinstance(node, Switch):
            continue
        for account in (account for accounts in node.accounts.values() for account in accounts):
            before = node.ports[account.port].reverse
            if account.pause_sent and before.paused & 1 << account.cls:
                if all(packet.priority != account.cls for packet in before.flight):
                    state.ingress[account.port, account.cls] = account.ingress_bytes, account.headroom_used
        for port in node.ports.values():
            for cls in (one for one in range(DATA_CLASS, NUM_CLASSES) if port.paused & 1 << one):
                for packet in port.queues[cls]:
                    state.held[port.number, cls][packet.ingress.port, packet.ingress.cls] += packet.wire_bytes
    return state


def _column(things: Iterable[Any], name: str, code: str = "i8") -> npt.NDArray[Any]:
    return np.array([getattr(thing, name) for thing in things], dtype=code)
