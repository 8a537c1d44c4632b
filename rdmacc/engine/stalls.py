"""Simulations that make no progress: livelocks, retries for something that never comes, PFC deadlocks; and why.

A scheme may retry forever. So quiet time is counted in rounds: a round lasts until every event that was pending at its
start has run, and at least one slice. A round in which a packet moves counts as a retry. A scheme gives a message up
after at most `retry_limit` retries; so once there have been more, and the quiet exceeds 100 base RTTs, more retries
cannot help. Where losses are random, the limit grows with the expected number of tries per round trip.

A switch reconsiders a pause whenever a packet of that ingress leaves. So a paused ingress queue is stuck if none of its
packets can leave, or if it would stay above the resume threshold after all that can leave have left. The search for
deadlocks starts with every paused queue marked as stuck and unmarks those that could resume, until nothing changes.
Whatever is still marked can never move again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from rdmacc.engine.outcome import Engine, PfcState
from rdmacc.engine.plan import Plan
from rdmacc.errors import LivelockError, microseconds
from rdmacc.handlers.hooks import limits_of, slots_of
from rdmacc.interface import DATA_CLASS, NUM_CLASSES
from rdmacc.interface.component import OWNERS, TIMERS, WORDS
from rdmacc.rules.admission import IngressAccount, SharedBuffer
from rdmacc.rules.pfc import may_resume
from rdmacc.rules.ranks import class_and_number
from rdmacc.switch.buffer import Pfc
from rdmacc.topology.fabric import Fabric
from rdmacc.units import time_ps

_EXPLAINED = 3  # most messages to explain; the rest mostly wait for the same reason

_NAMED = 2  # most cut ports to list


def explain_stall(engine: Engine, fabric: Fabric, numbers: list[int], since_ps: int, retries: int) -> str:
    reasons = []
    if retries:
        noun = "retry" if retries == 1 else "retries"
        reasons.append(f"nothing new for {microseconds(engine.now - since_ps)} in spite of {retries} {noun}")
    started = [number for number in numbers if engine.read("message", number, "is_open")]
    plan = engine.plan
    for number in started[:_EXPLAINED]:
        src, dst = fabric.names[plan.src[number]], fabric.names[plan.dst[number]]
        what = "; ".join(_waits(engine, fabric, number))
        reasons.append(f"message {plan.workload.index[number]} from {src} to {dst}: {what}")
    if len(started) > _EXPLAINED:
        reasons.append(f"{len(started) - _EXPLAINED} more under way")
    if waiting := len(numbers) - len(started):
        reasons.append(f"{waiting} {'waits' if waiting == 1 else 'wait'} for others to end")
    return ". ".join([*reasons, *_pauses(engine, fabric)])


def _waits(engine: Engine, fabric: Fabric, number: int) -> Iterator[str]:
    """Yield the reasons why a message has not ended, those of the network first."""
    yield from _cuts(engine, fabric, number)
    plan, qp = engine.plan, int(engine.plan.qp[number])
    packets = int(plan.packets[number])
    names = "next_psn", "granted_psn", "una_psn", "received_packets"
    sent, granted, acknowledged, received = (int(engine.read("message", number, name)) for name in names)
    yield f"{received:,} of {packets:,} packets have arrived, {acknowledged:,} are acknowledged"
    if engine.read("port", int(plan.qp_port[qp]), "is_down"):
        return
    stops = _stopped_by(engine, qp)
    window = int(engine.read("qp", qp, "window_bytes"))
    if stops:
        yield stops
    elif sent >= packets:
        yield "all are sent: it waits for ACKs"
    elif sent >= granted:
        yield f"it may send {granted:,}: it waits for a grant"
    elif engine.read("qp", qp, "credits") <= 0:
        yield f"it has no credit for packet {sent:,}"
    elif engine.read("qp", qp, "inflight_bytes") >= window:
        yield f"its window of {window:,} B is full: it waits for ACKs"
    else:
        yield f"packet {sent:,} is next"


def _cuts(engine: Engine, fabric: Fabric, number: int) -> Iterator[str]:
    """Yield where no packet of a message, or no answer, gets through."""
    plan = engine.plan
    is_down = np.isin(np.arange(fabric.n_ports), list(fabric.down_ports))
    ways = ((plan.dst, plan.qp_port), (plan.src, plan.reply_port))
    for back, (end, ports) in enumerate(ways):
        dst, port = int(end[number]), int(ports[plan.qp[number]])
        lost, what = (plan.loss_control, "packets back are") if back else (plan.loss_data, "data is")
        steps = plan.paths.first[2 * number + back : 2 * number + back + 2] if len(plan.paths.ports) else (0, 0)
        own = plan.paths.ports[steps[0] : steps[1]]
        for is_cut, every, some in (
            (is_down, f"no route {'back ' * back}to", ""),
            (lost >= 1.0, f"all {what} lost on the way to", f"{what} lost on some ways to"),
        ):
            if len(own):
                cut = own[is_cut[own]].tolist()
                is_open = not cut
            else:
                cut, is_open = _cut_at(fabric, port, dst, is_cut)
            text = some if is_open else every
            if text and (cut or not is_open):
                names = ", ".join(fabric.port_name(place) for place in cut[:_NAMED])
                yield f"{text} {fabric.names[dst]}" + (f" ({names})" if names else "")
                break


def _cut_at(fabric: Fabric, first: int, dst: int, is_cut: npt.NDArray[np.bool_]) -> tuple[list[int], bool]:
    """Return the ports at which paths between two hosts are cut, and whether any path is intact."""
    todo, seen, cut, is_open = [first], {first}, [], False
    while todo:
        port = todo.pop()
        if is_cut[port]:
            cut.append(port)
            continue
        node = int(fabric.port_peer[port])
        is_open |= node == dst
        found = set() if node == dst else set(fabric.candidates(node, dst)) - seen
        seen |= found
        todo.extend(sorted(found, reverse=True))
    return cut, is_open


def _pauses(engine: Engine, fabric: Fabric) -> Iterator[str]:
    for port in range(fabric.n_ports):
        paused = int(engine.read("port", port, "paused"))
        if paused:
            classes = ", ".join(str(cls) for cls in range(DATA_CLASS, NUM_CLASSES) if paused >> cls & 1)
            since_ps = engine.now - int(engine.read("port", port, "paused_since_ps"))
            yield f"PFC has stopped class {classes} of {fabric.port_name(port)} for {microseconds(since_ps)}"


def _stopped_by(engine: Engine, qp: int) -> str:
    """Return which component has stopped a queue pair by its rate or window; empty if none has."""
    scheme = engine.plan.scheme
    for limit, owners in limits_of(scheme.components).items():
        for component in owners:
            value = engine.sender_value(qp, component, limit)
            if not value > 0.0:
                return f"{type(scheme.components[component]).__name__}.Sender.{limit} of queue pair {qp} is {value:g}"
    return ""


_PATIENCE = 100_000
_LOOKED_AT = 1_000


class Livelock:
    """Notices when an engine does not get beyond an instant, which has some events for each message, port and host."""

    def __init__(self, plan: Plan) -> None:
        self._limit = _PATIENCE + 20 * (len(plan.waits_for) + plan.fabric.n_ports + plan.fabric.n_nodes)
        self._time_ps, self._events = -1, 0

    def look(self, engine: Engine) -> None:
        """Raise LivelockError if too many events have run since time last advanced; call it now and then."""
        if engine.now != self._time_ps:
            self._time_ps, self._events = engine.now, engine.events
        elif engine.events - self._events > self._limit:
            seen: Counter[tuple[str, int]] = Counter()
            for _ in range(_LOOKED_AT):
                upcoming = engine.peek()
                if upcoming is None or upcoming[0] != self._time_ps:
                    return
                seen[class_and_number(engine.plan.scheme, upcoming[1])] += 1
                engine.step()
            raise LivelockError(_named(engine.plan, *seen.most_common(1)[0][0]), self._time_ps)


def _named(plan: Plan, name: str, number: int) -> str:
    kind = name.removesuffix("_timer").capitalize()
    if kind not in TIMERS:
        return f"an event of kind '{name}' of number {number}"
    owner = WORDS[OWNERS[kind]]
    slots = slots_of(plan.scheme.components, kind)
    slot: Any = slots[number % len(slots)]
    component = type(plan.scheme.components[slot.component]).__name__
    handler = f"{component}.{slot.field.handler_name}"
    return (
        f"{component}.{kind}.{slot.field.name} of {owner} {number // len(slots)}: "
        f"{handler} must not set it to a time that is not after `now`"
    )


_LEAST_RETRIES = 100
_MARGIN = 1.25  # factor on the retries after which a scheme gives up, since a round may not hold exactly one

_LEAST_RTTS = 100

_STILL_PS = time_ps("10s")  # if no packet moves for this long beyond the longest computation, only idle timers are left


class Progress:
    """Watches whether a simulation makes progress; `retries` counts rounds since `since_ps` in which packets moved."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        starts_ps = np.append(plan.start_ps, plan.computation.start_ps)
        self._last_start_ps = int(starts_ps.max(initial=0)) + plan.scheme.start_delay_ps
        self._least_ps = _LEAST_RTTS * plan.port_base_rtt_ps
        limits = [getattr(part, "retry_limit", 0) for part in plan.scheme.components]
        self._most_retries = _MARGIN * max(_LEAST_RETRIES, *limits) * _tries(plan)
        waits = (plan.computation.duration_ps, () if plan.dependents is None else plan.dependents.delay_ps)
        self._still_ps = _STILL_PS + sum(int(np.max(times, initial=0)) for times in waits)
        self._done = (-1, -1)
        self._acknowledged = 0
        self.since_ps = self.retries = 0
        self._moved = self._moved_ps = 0
        self._round_end_ps = self._round_moved = 0

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the plan, which whoever restores this has."""
        return vars(self) | {"_plan": None}

    def expect(self, start_ps: int) -> None:
        self._last_start_ps = max(self._last_start_ps, start_ps + self._plan.scheme.start_delay_ps)

    def has_ended(self, engine: Engine) -> bool:
        now, done = engine.now, (engine.accepted_bytes, engine.unfinished)
        if done != self._done or now <= self._last_start_ps:
            self._done = done
            self._begin(engine)
            return False
        acknowledged, moved = engine.acknowledged_packets, engine.moved_packets
        if acknowledged > self._acknowledged:
            self._acknowledged = acknowledged
            self._begin(engine)
            return False
        if moved != self._moved:
            self._moved, self._moved_ps = moved, now
        if now - self._moved_ps >= self._still_ps:
            return True
        if now > self._round_end_ps:
            self.retries += moved != self._round_moved
            self._round_moved, self._round_end_ps = moved, engine.last_event_ps()
        return self.retries > self._most_retries and now - self.since_ps >= self._least_ps

    def _begin(self, engine: Engine) -> None:
        """Restart the count at the current time."""
        self.since_ps = self._moved_ps = engine.now
        self.retries = self._round_end_ps = 0


def _tries(plan: Plan) -> float:
    """Return the expected number of tries for a packet and its answer in a network with random losses."""
    losses = np.maximum(plan.loss_data, plan.loss_control)
    worst = float(losses[losses < 1.0].max(initial=0.0))
    if worst == 0.0:
        return 1.0
    hops = int(plan.fabric.hops().max()) + 2
    return float((1.0 - worst) ** -min(2.0 * hops, 1e3))


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
