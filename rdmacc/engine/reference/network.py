"""The reference engine: builds the objects of a plan and runs them on a SimPy environment."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any

import numpy as np

from rdmacc.bits import make_bits
from rdmacc.component import HOOKS
from rdmacc.engine.garbage import uncollected
from rdmacc.engine.livelock import Standstill
from rdmacc.engine.outcome import Outcome, PfcState
from rdmacc.engine.plan import Plan
from rdmacc.engine.ranks import LAST_ORDER, ORDER_MASK, ORDER_SHIFT, RANKS, TICK_RANKS
from rdmacc.engine.records import Transit
from rdmacc.engine.reference.binding import Binding
from rdmacc.engine.reference.classes import class_with
from rdmacc.engine.reference.events import SIMPY_PRIORITY, Environment
from rdmacc.engine.reference.hosts import Host
from rdmacc.engine.reference.messages import Computation, Message, schedule_computation, schedule_next_start
from rdmacc.engine.reference.nic import NicPort, QueuePair
from rdmacc.engine.reference.ports import SwitchPort
from rdmacc.engine.reference.probes import watch
from rdmacc.engine.reference.readout import outcome_of, pfc_state_of
from rdmacc.engine.reference.scanning_nic import ScanningNicPort
from rdmacc.engine.reference.switches import Switch
from rdmacc.engine.reference.timers import arm
from rdmacc.engine.trace import DROPPED, Trace
from rdmacc.errors import HandlerError, RdmaccError
from rdmacc.handlers.checked import Trail, explain
from rdmacc.handlers.hooks import bits_of, has_requests, limits_of
from rdmacc.records import NEVER, record_dtype
from rdmacc.rules.admission import queue_limit_bytes
from rdmacc.state import (
    ACK,
    ADVERT,
    CNP,
    CREDIT,
    DATA_CLASS,
    KIND_NAMES,
    NAK,
    NONE,
    PAUSE,
    RESUME,
    RETURN,
    Packet,
)  # fmt: skip
from rdmacc.switch.queueing import ROUTINGS
from rdmacc.topology.fabric import Fabric

__all__ = ["Network"]

_LOOKS = (1 << 14) - 1
"""After so many events, less one, it is looked whether time moves on."""


class _Packet(Packet, Transit):
    """A packet, and the account of the buffer that it is in."""

    __slots__ = ("ingress",)


class Network:
    """A scenario as objects. `env` is the SimPy environment: attach processes of your own to it.

    The other modules of this package know it as `net`, and do not import it.

    Attributes
    ----------
    env : simpy.Environment
        Time is in ps.
    ports, qps, messages : list
        By number, as in the plan.
    nodes : list
        Switches and hosts, by node number.
    binding : Binding
        The scheme's handlers; `binding.source` shows how they are called.
    """

    name = "simpy"

    # The scheme's hooks, None where no component takes part (see `Binding`).
    on_start: Any
    on_send: Any
    on_data: Any
    on_request: Any
    on_announce: Any
    on_advertise: Any
    on_candidate: Any
    on_pick: Any
    on_route: Any
    on_deflect: Any
    on_enqueue: Any
    on_dequeue: Any

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.fabric = plan.fabric  # with the routes of now: links may fail
        self.env = Environment(initial_time=0)
        scheme = plan.scheme
        self.queueing = scheme.queueing
        self.returns_headers = scheme.queueing.returns_headers
        self.limits = [queue_limit_bytes(scheme.queueing, cls) for cls in range(DATA_CLASS)]
        self.is_strict = not (scheme.queueing.wrr_ratio or scheme.queueing.lanes or scheme.queueing.credit_fraction)
        self.is_round_robin = scheme.nic_order == "round-robin"
        self.keeps_paths = scheme.routing in ("ecmp", "symmetric")
        self.start_delay_ps, self.tick_ps = scheme.start_delay_ps, scheme.tick_ps
        self.ranks = TICK_RANKS if self.tick_ps else RANKS
        self.order = 0  # with a tick: what has been scheduled so far
        self.order_now = LAST_ORDER  # with a tick: order of the event under way
        self.has_clocks = plan.has_clocks
        self.trace = Trace() if plan.has_trace else None
        self.scripts = {script.key: 0 for script in plan.scripts}
        self._lost = {(*script.key, script.nth) for script in plan.scripts}
        self.trimmed_bytes = 0
        self.trail = Trail() if plan.is_checked else None
        if self.trail is not None:
            self.trail.n_ports, self.trail.n_messages = plan.fabric.n_ports, plan.n_messages
        self.binding = Binding(scheme, partial(arm, self), self.trail, plan.fabric.port_node)
        for name in HOOKS:
            setattr(self, name, self.binding.hooks[name])
        self.has_requests = has_requests(scheme.components)
        self.reply_handlers = [None] * len(KIND_NAMES)
        for kind, name in ((ACK, "on_ack"), (NAK, "on_ack"), (CNP, "on_cnp"), (CREDIT, "on_credit")):
            self.reply_handlers[kind] = self.binding.hooks[name]
        self.reply_handlers[ADVERT] = self.binding.hooks["on_advert"]
        self.reply_handlers[RETURN] = self.binding.hooks["on_return"]
        self.timers = self.binding.timers
        self.wire_bytes, self.payload_bytes = scheme.wire_bytes, scheme.payload_bytes
        self.ack_priority = scheme.ack_priority
        self.routing = ROUTINGS.index(scheme.routing)
        self.path_ports = _path_ports(plan)
        self.marks_at_nic = scheme.marks_at_nic
        self.sent_bytes = self.accepted_bytes = self.discarded_bytes = self.dropped_bytes = 0
        self.marked_arrivals = 0
        # By message: packets that were not sent though later ones were.
        self.skipped: defaultdict[int, set[int]] = defaultdict(set)
        self.reply_counts = [0] * len(KIND_NAMES)
        self.events = 0
        self.unfinished = len(plan.waits_for)
        self.failed = 0
        self.samples: list[list[tuple[int, float]]] = [[] for _ in plan.watches]
        self._make_classes()
        try:
            self._make_nodes()
            self._make_flows()
        except Exception as error:
            explained = self._explained(error)
            if explained is error:
                raise
            raise explained from error
        self._on_change = watch(self)

    # Building

    def _make_classes(self) -> None:
        """Make the scheme's own classes: the engine's records with the components' records attached."""
        parts = self.plan.scheme.components
        headers = [record for part in parts if (record := part.record("Header")) is not None]
        header_fields = record_dtype(*headers).names or () if headers else ()
        defaults = {
            field.name: [field.default] * field.length if field.length else field.default
            for record in headers
            for field in record.fields
        }
        self._header_defaults = [(name, defaults[name]) for name in header_fields if name in defaults]
        self._packet_class = class_with(_Packet, tuple(header_fields))
        self._made_packets = 0
        self._pool: list[Any] = []
        self._spare: Any = None
        self.recycle = self._pool.append  # takes back a packet that nothing refers to any more
        self._attached = {
            owner: self.binding.record_slots(owner) for owner in ("qp", "message", "host", "port", "switch")
        }

    def _with_records(self, base: type, owner: str) -> type:
        return class_with(base, tuple(name for name, _ in self._attached[owner]))

    def _attach(self, thing: Any, owner: str) -> Any:
        for name, record in self._attached[owner]:
            setattr(thing, name, record())
        return thing

    def is_scripted_loss(self, packet: Any) -> bool:
        """Count a transmission that a script names; return whether it is one to lose."""
        is_lost = False
        for psn in (packet.psn, -1):
            key = packet.message, packet.kind, psn
            if key in self.scripts:
                self.scripts[key] += 1
                is_lost |= (*key, self.scripts[key]) in self._lost
        return is_lost

    def set_link(self, ports: Sequence[int], is_up: bool) -> None:
        """Take both directions of a link down, or bring them back."""
        for number in ports:
            port = self.ports[number]
            if is_up:
                port.restore(self.now)
            else:
                port.fail(self.now)
        for number in ports:
            if is_up:
                self.ports[number].resume_work(self.now)

    def set_rate(self, ports: Sequence[int], rate_bps: float) -> None:
        """Set the rate of ports' links for what they send from now on."""
        for number in ports:
            self.ports[number].set_rate(rate_bps)

    def storm(self, ports: Sequence[int], is_over: bool) -> None:
        """Let hosts' ports send PAUSE for all data classes, or RESUME."""
        for number in ports:
            self.ports[number].storm(RESUME if is_over else PAUSE, self.now)

    def set_routes(self, fabric: Fabric) -> None:
        """Route by another fabric, of the same numbering."""
        self.fabric = fabric
        for node in self.nodes:
            if isinstance(node, Switch):
                node.forget_routes()

    def _make_nodes(self) -> None:
        fabric, plan = self.plan.fabric, self.plan
        nic = ScanningNicPort if self.tick_ps else NicPort
        switch_port, nic_port = self._with_records(SwitchPort, "port"), self._with_records(nic, "port")
        host_class, switch_class = self._with_records(Host, "host"), self._with_records(Switch, "switch")
        self.nodes: list[Any] = [
            self._attach(host_class(self, node), "host")
            if fabric.is_host[node]
            else self._attach(switch_class(self, node), "switch")
            for node in range(fabric.n_nodes)
        ]
        self.ports: list[Any] = []
        for number in range(fabric.n_ports):
            node = int(fabric.port_node[number])
            port = self._attach((nic_port if fabric.is_host[node] else switch_port)(self, number), "port")
            port.node = self.nodes[node]
            self.ports.append(port)
            if fabric.is_host[node]:
                port.node.nics.append(port)
        for port in self.ports:
            port.reverse = self.ports[fabric.port_reverse[port.number]]
            port.receive = self.nodes[fabric.port_peer[port.number]].receive
            if self.binding.hooks["on_port"] is not None:
                self.binding.hooks["on_port"](port)
        for node in fabric.hosts:
            host = self.nodes[node]
            host.line_bps = host.nics[0].rate_bps
            host.base_rtt_ps = int(plan.host_base_rtt_ps[node])
            host.clock_offset_ps, host.clock_key = int(plan.clock_offset_ps[node]), int(plan.clock_key[node])

    def _make_flows(self) -> None:
        plan = self.plan
        qp_class, message_class = self._with_records(QueuePair, "qp"), self._with_records(Message, "message")
        self.qps: list[Any] = []
        for number in range(plan.n_qps):
            qp = self._attach(qp_class(), "qp")
            qp.number, qp.src, qp.dst = number, int(plan.qp_src[number]), int(plan.qp_dst[number])
            qp.nic, qp.reply_nic = self.ports[plan.qp_port[number]], self.ports[plan.reply_port[number]]
            qp.line_bps = qp.rate_bps = qp.nic.rate_bps
            qp.peer_line_bps = qp.reply_nic.rate_bps
            qp.base_rtt_ps, qp.base_delay_ps = int(plan.qp_base_rtt_ps[number]), int(plan.qp_base_delay_ps[number])
            qp.remaining = int(plan.qp_messages[number])
            qp.paths = int(plan.qp_paths[number])
            qp.chance_key, qp.reply_chance_key = int(plan.qp_chance_key[number]), int(plan.qp_reply_chance_key[number])
            if self.binding.hooks["on_open"] is not None:
                self.binding.hooks["on_open"](qp)
            self.qps.append(qp)
        self.messages: list[Any] = []
        columns = ("qp", "src", "dst", "group", "group_size", "packets", "size_bytes", "start_ps")
        values = [getattr(plan, name).tolist() for name in columns]
        bits = bits_of(plan.scheme.components)
        for number, row in enumerate(zip(*values, strict=True)):
            message = self._attach(message_class(), "message")
            message.number = number
            for name, value in zip(columns, row, strict=True):
                setattr(message, name, value)
            message.payload_bytes = self.payload_bytes
            for component, field in bits:
                setattr(getattr(message, f"transfer{component}"), field.name, make_bits(message.packets))
            message.granted_psn = message.packets
            message.weight = float(plan.weight[number])
            message.queue_pair = self.qps[message.qp]
            message.waits_for = int(plan.waits_for[number])
            message.priority = int(plan.priority[number])
            self.messages.append(message)
        self.first_message = {int(qp): number for number, qp in reversed(list(enumerate(plan.qp)))}
        self._members: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number in np.flatnonzero(plan.group >= 0).tolist():
            self._members[int(plan.group[number]), int(plan.dst[number])].append(number)
        self._qps_to: dict[int, list[int]] = defaultdict(list)
        for number, dst in enumerate(plan.qp_dst.tolist()):
            self._qps_to[dst].append(number)
        order = np.lexsort((np.arange(plan.n_messages), plan.start_ps))
        self.starts = [number for number in reversed(order.tolist()) if plan.waits_for[number] == 0]
        schedule_next_start(self)
        self.computation: list[Any] = []
        computing = plan.computation
        for host, start_ps, duration_ps in zip(computing.host, computing.start_ps, computing.duration_ps, strict=True):
            task = Computation()
            task.number, task.src = plan.n_messages + len(self.computation), int(host)
            task.start_ps, task.duration_ps = int(start_ps), int(duration_ps)
            task.waits_for = int(plan.waits_for[task.number])
            if task.waits_for == 0:
                schedule_computation(self, task)
            self.computation.append(task)

    def waiting(self, number: int) -> Any:
        """Return the message or the row of computation that has a number."""
        count = len(self.messages)
        return self.messages[number] if number < count else self.computation[number - count]

    # Packets

    def new_packet(self) -> Any:
        """Return a packet whose reply fields and header are at their defaults."""
        if self._pool:
            packet = self._pool.pop()
            packet.ce = packet.accepted = packet.verdict = packet.kind = packet.is_trimmed = NONE
            packet.wire_bytes = packet.psn = packet.path = 0
        else:
            packet = self._packet_class()
            self._made_packets += 1
        packet.priority = self.ack_priority
        for name, value in self._header_defaults:
            setattr(packet, name, list(value) if isinstance(value, list) else value)
        return packet

    def spare_packet(self) -> Any:
        """Return a packet like `new_packet`'s that need not be given back unless it is taken."""
        if self._spare is None:
            self._spare = self.new_packet()
        return self._spare

    def take_spare(self) -> Any:
        """Take the spare packet into use."""
        packet, self._spare = self._spare, None
        return packet

    @property
    def live_packets(self) -> int:
        """Packets in use."""
        return self._made_packets - len(self._pool) - (self._spare is not None)

    def next_order(self) -> int:
        """With a tick: count what is scheduled, since simultaneous events go by it."""
        self.order = (self.order + 1) & ORDER_MASK
        return self.order

    def rank(self, name: str, number: int) -> int:
        """Return the rank of an event that is scheduled now."""
        rank = self.ranks[name] + number
        return rank + (self.next_order() << ORDER_SHIFT) if self.tick_ps else rank

    def discard(self, packet: Any, port: Any, now: int) -> None:
        """Drop a packet at a port, or on the link behind it."""
        if self.trace is not None:
            self.trace.add(now, DROPPED, port.number, packet)
        self.dropped_bytes += packet.payload_bytes
        self.recycle(packet)

    def group_members(self, group: int, dst: int) -> list[int]:
        """Return the messages of a group that go to a host."""
        return self._members[group, dst]

    def qps_to(self, dst: int) -> list[int]:
        """Return the queue pairs that lead to a host."""
        return self._qps_to[dst]

    # Running

    @property
    def now(self) -> int:
        """Simulated time, ps."""
        return int(self.env._now)

    def next_event_ps(self) -> int:
        """Time of the next event that is not a probe's; NEVER if none is pending."""
        return min((event[0] for event in self.env._queue if event[1] < self.ranks["probe"]), default=NEVER)

    def last_event_ps(self) -> int:
        """Time of the last event so far that is not a probe's; now if none is pending."""
        return max((event[0] for event in self.env._queue if event[1] < self.ranks["probe"]), default=self.now)

    @property
    def acknowledged_packets(self) -> int:
        """Packets below the oldest one that is not acknowledged, of all messages."""
        return sum(message.una_psn for message in self.messages)

    @property
    def moved_packets(self) -> int:
        """Packets that ports have put on their links."""
        return sum(port.tx_data_packets + port.tx_control_packets for port in self.ports)

    def peek(self) -> tuple[int, int] | None:
        """Return time and rank of the next event, None if there is none."""
        return (int(self.env._queue[0][0]), int(self.env._queue[0][1])) if self.env._queue else None

    def step(self) -> None:
        """Process one event."""
        self.events += 1
        self.order_now = self.env._queue[0][1] >> ORDER_SHIFT
        self.env.step()

    @uncollected()  # the engine makes no cycles, and the collector would look at every record of the network
    def round_up(self, time_ps: int) -> int:
        """Return the time: this engine can stop anywhere."""
        return time_ps

    def run(self, until_ps: int) -> None:
        """Process every event before `until_ps`, or until the last message is finished."""
        env = self.env
        queue = env._queue
        has_ticks = bool(self.tick_ps)
        before = self.events
        watched = self._on_change
        count = 0
        standstill = Standstill(self.plan)
        try:
            while queue and self.unfinished:
                event = heappop(queue)
                now, rank, _, function = event
                if now >= until_ps:
                    heappush(queue, event)
                    break
                if has_ticks:
                    self.order_now = rank >> ORDER_SHIFT
                if rank > SIMPY_PRIORITY:  # as in `Environment.step`
                    env._now = now
                    function(now)
                else:
                    heappush(queue, event)
                    env.step()
                count += 1
                if not count & _LOOKS:
                    self.events = before + count
                    standstill.look(self)
                    count = self.events - before
                if watched:
                    self._note_changes(watched)
        except Exception as error:
            explained = self._explained(error)
            if explained is error:
                raise
            raise explained from error
        finally:
            self.events = before + count
        if self.unfinished and until_ps < NEVER:
            env._now = until_ps

    def _explained(self, error: Exception) -> Exception:
        """Return a handler's exception as an error that names the handler; another one as it is."""
        if isinstance(error, RdmaccError):
            return error
        found = explain(self.plan.scheme.components, error, self.now) or self._without_rate()
        if self.trail is None or self.binding.checks is None or (found is None and self.trail.test < 0):
            return found or error
        trail = {field.name: getattr(self.trail, field.name) for field in Trail.fields}
        return self.binding.checks.explain(trail, error, self.now)

    def _without_rate(self) -> HandlerError | None:
        """Return the error for a rate that is no number, which the engine cannot compute with."""
        for component in limits_of(self.plan.scheme.components)["rate_bps"]:
            name = type(self.plan.scheme.components[component]).__name__
            for qp in self.qps:
                value = self.sender_value(qp.number, component, "rate_bps")
                if not math.isfinite(value):
                    reason = f"sender.rate_bps = {value}: must be a finite number"
                    return HandlerError(name, reason, None, self.now, f"queue pair {qp.number}")
        return None

    def _note_changes(self, watched: list[tuple[Any, str, list[tuple[int, float]]]]) -> None:
        """Sample what has changed."""
        now = self.env._now
        for record, name, samples in watched:
            value = float(getattr(record, name))
            if not samples or samples[-1][1] != value:
                samples.append((now, value))

    def outcome(self) -> Outcome:
        """Return the counters so far."""
        return outcome_of(self)

    def sender_value(self, qp: int, component: int, field: str) -> float:
        """Return a number that a component's sender record has for a queue pair."""
        return float(getattr(getattr(self.qps[qp], f"sender{component}"), field))

    def read(self, kind: str, number: int, field: str) -> float:
        """Return a field of a "message", of a "port", or of the queue pair ("qp") of a message that has started."""
        return getattr({"message": self.messages, "port": self.ports, "qp": self.qps}[kind][number], field)

    def longest_pause_ps(self) -> int:
        """For how long the port that PFC has stopped longest has been stopped."""
        return max((self.now - port.paused_since_ps for port in self.ports if port.paused), default=0)

    def pfc_state(self) -> PfcState:
        """Return who waits on whom."""
        return pfc_state_of(self)


def _path_ports(plan: Plan) -> dict[tuple[int, int], int]:
    """Return the port by which a message's packets leave a node, where the workload says so.

    Keys are (key of the message and its direction, node); see `Switch.receive`.
    """
    first, nodes, ports = (column.tolist() for column in plan.paths)
    steps = ((key, step) for key in range(len(first) - 1) for step in range(first[key], first[key + 1]))
    return {(key, nodes[step]): ports[step] for key, step in steps}
