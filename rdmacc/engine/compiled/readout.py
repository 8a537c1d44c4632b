"""Reads the counters of the compiled engine back from its tables."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rdmacc.engine.outcome import (
    COMPUTATION_COUNTERS,
    HOST_COUNTERS,
    MESSAGE_COUNTERS,
    PORT_COUNTERS,
    PfcState,
    RunOutcome,
)
from rdmacc.engine.records import TOTALS
from rdmacc.state import DATA_CLASS, NUM_CLASSES

if TYPE_CHECKING:
    from rdmacc.engine.compiled.engine import CompiledEngine


def outcome_of(engine: CompiledEngine) -> RunOutcome:
    """Return the counters so far."""
    ports, packets, is_host = engine.ports, engine.packet_rows.rows, engine.plan.fabric.is_host
    counters = {name: ports[name].astype(np.int64) for name in PORT_COUNTERS}
    counters["paused_ps"] += np.where(ports["paused"] != 0, engine.now - ports["paused_since_ps"], 0)
    heads = np.concatenate([engine.queues["head"].ravel(), ports["flight_head"]])
    payload = packets["payload_bytes"]
    in_flight = sum(int(payload[n]) for head in heads[heads >= 0] for n in _chain(packets, int(head)))
    samples = engine.pool.samples
    return RunOutcome(
        messages={name: engine.messages[name].astype(np.int64) for name in MESSAGE_COUNTERS},
        computation={name: engine.computation[name].astype(np.int64) for name in COMPUTATION_COUNTERS},
        ports=counters,
        hosts={name: np.where(is_host, engine.hosts[name], 0) for name in HOST_COUNTERS},
        buffer_peak_bytes=np.where(is_host, 0, engine.switches["peak_bytes"]),
        totals={name: int(engine.globals[name]) for name in TOTALS} | {"in_flight_bytes": in_flight},
        samples=[
            (samples["time_ps"][samples["watch"] == i].copy(), samples["value"][samples["watch"] == i].copy())
            for i in range(len(engine.plan.watches))
        ],
        now_ps=engine.now,
        transfers=engine.transfers(),
        traces=engine.pool.traces if engine.plan.has_trace else [],
        order=engine.order,
        threads=engine.pool.account,
        balance=engine.pool.balance,
        visits=int(engine.globals["visits"]),
    )


def pfc_state_of(engine: CompiledEngine) -> PfcState:
    """Return who waits on whom."""
    state = PfcState({}, defaultdict(lambda: defaultdict(int)))
    queues = engine.queues.reshape(-1, NUM_CLASSES)
    ports, packets = engine.ports, engine.packet_rows.rows
    for port in range(len(ports)):
        reverse = int(ports["reverse"][port])
        for cls in range(DATA_CLASS, NUM_CLASSES):
            account = engine.ingresses[port, cls]
            if account["pause_sent"] and ports["paused"][reverse] & 1 << cls:
                under_way = _chain(packets, int(ports["flight_head"][reverse]))
                if all(packets["priority"][n] != cls for n in under_way):
                    state.ingress[port, cls] = int(account["ingress_bytes"]), int(account["headroom_used"])
            if not ports["is_nic"][port]:
                for number in _chain(packets, int(queues["head"][port, cls])):
                    ingress = divmod(int(packets["ingress"][number]), NUM_CLASSES)
                    state.held[port, cls][ingress] += int(packets["wire_bytes"][number])
    return state


def _chain(packets: Any, head: int) -> list[int]:
    """Return the numbers of the packets in a queue or on a link."""
    numbers = []
    while head >= 0:
        numbers.append(head)
        head = int(packets["next"][head])
    return numbers
