"""The search for PFC deadlocks: cycles of ports that wait for each other.

A switch reconsiders a pause whenever a packet of that ingress leaves. So a paused ingress queue is stuck if none of its
packets can leave, or if it would stay above the resume threshold after all that can leave have left. The search starts
with every paused queue marked as stuck and unmarks those that could resume, until nothing changes.
Whatever is still marked can never move again.
"""

from __future__ import annotations

from collections import defaultdict

import networkx as nx

from rdmacc.engine.outcome import PfcState
from rdmacc.engine.plan import Plan
from rdmacc.rules.admission import IngressAccount, SharedBuffer
from rdmacc.rules.pfc import may_resume
from rdmacc.switch.buffer import Pfc

Queue = tuple[int, int]


def find_deadlock(plan: Plan, state: PfcState) -> list[str]:
    """Return the names of the ports in a cycle, in order; empty if there is no deadlock."""
    policy, fabric = plan.scheme.buffer, plan.fabric
    if not isinstance(policy, Pfc):
        return []
    stuck = set(state.ingress)  # ingress queues (port of the switch, class) whose neighbour stays paused
    while True:
        stays: dict[Queue, int] = defaultdict(int)  # bytes of an ingress queue that cannot leave
        for (out_port, cls), by_ingress in state.held.items():
            if (int(fabric.port_reverse[out_port]), cls) in stuck:
                for queue, held in by_ingress.items():
                    stays[queue] += held
        used: dict[int, int] = defaultdict(int)  # of each switch's shared pool
        for (in_port, _), held in stays.items():
            used[int(fabric.port_node[in_port])] += max(0, held - policy.reserve_bytes)
        released = set()
        for queue in stuck:
            node = int(fabric.port_node[queue[0]])
            buffer, account = SharedBuffer(), IngressAccount()
            buffer.shared_bytes, buffer.shared_used = int(plan.shared_bytes[node]), used[node]
            account.ingress_bytes = stays[queue]
            can_move = sum(state.ingress[queue]) > stays[queue]
            if stays[queue] == 0 or (can_move and may_resume(policy, buffer, account)):
                released.add(queue)
        if not released:
            break
        stuck -= released
    return _cycle(plan, state, stuck)


def _cycle(plan: Plan, state: PfcState, stuck: set[Queue]) -> list[str]:
    """Name one cycle: a paused port waits for each port that holds what came from it."""
    fabric = plan.fabric
    waits: nx.DiGraph[Queue] = nx.DiGraph()
    for (out_port, cls), by_ingress in state.held.items():
        if (int(fabric.port_reverse[out_port]), cls) in stuck:
            for in_port, in_class in by_ingress:
                if (in_port, in_class) in stuck:
                    waits.add_edge((int(fabric.port_reverse[in_port]), in_class), (out_port, cls))
    try:
        return [fabric.port_name(edge[0][0]) for edge in nx.find_cycle(waits)]
    except nx.NetworkXNoCycle:
        return []
