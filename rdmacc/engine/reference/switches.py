"""Switches: where a packet goes, whether the buffer has room for it, and when a neighbour must pause."""

from __future__ import annotations

from rdmacc.engine.records import Routing
from rdmacc.engine.reference.core import Core, Ingress, Packet
from rdmacc.engine.reference.ports import Port
from rdmacc.engine.trace import TRIMMED
from rdmacc.interface import DATA_CLASS, NEVER, NUM_CLASSES
from rdmacc.interface.state import ACCEPT, DATA, DEFLECT, DROP, PAUSE, RESUME, RETURN, TRIM, TRIM_TAIL
from rdmacc.rules import *
from rdmacc.switch.buffer import Pfc
from rdmacc.switch.queueing import ROUTINGS


class SwitchPort(Port):
    """An output of a switch."""

    __slots__ = ("switch",)

    switch: Switch

    def depart(self, packet: Packet, now: int) -> None:
        """Run the on_dequeue hooks of a data packet; give its bytes back to the buffer."""
        net = self.net
        if net.on_dequeue is not None and not self.switch.is_nic:
            was_marked = packet.ce
            net.on_dequeue(self, packet, now)
            if packet.ce and not was_marked:
                self.marked_packets += 1
        self.switch.release(packet, now)

    def give_back(self, packet: Packet, now: int) -> None:
        """Return a departing data packet's bytes to the buffer."""
        self.switch.release(packet, now)

    def take_last(self, cls: int) -> Packet:
        """Remove the last packet of a data class's queue."""
        packet = self.queues[cls].pop()
        if not self.has_work(cls):
            self.waiting ^= 1 << cls
        self.queue_bytes -= packet.wire_bytes
        return packet

    def restore(self, now: int) -> None:
        """Bring the link back up and repeat the pauses that still hold, since the neighbour has forgotten them."""
        super().restore(now)
        for account in self.switch.accounts[self.number]:
            if account.pause_sent:
                self.send_frame(PAUSE, account.cls, now)


class Switch(Routing, SharedBuffer):
    """A switch: routes packets, shares its buffer among them, and pauses its neighbours or drops.

    The components' records are attributes of it: `chip0`, ...
    """

    __slots__ = (
        "_choices", "_flowlets", "_is_lossless", "_kept_ways", "_net", "_policy", "_turns", "accounts", "number",
        "ports",
    )  # fmt: skip

    def __init__(self, net: Core, number: int) -> None:
        super().__init__()
        plan = net.plan
        self._net = net
        self.number = number
        self.shared_bytes = int(plan.shared_bytes[number])
        self.salt = int(plan.ecmp_salt[number])
        self.is_nic = int(plan.fabric.is_nic[number])
        self.ports: dict[int, SwitchPort] = {}  # by number, as in the plan
        self.accounts: dict[int, list[Ingress]] = {}  # packets in the switch, by input port and class
        self._policy = net.scheme.buffer
        self._is_lossless = isinstance(self._policy, Pfc)
        self._kept_ways: dict[int, SwitchPort] = {}
        self._choices: dict[int, list[SwitchPort]] = {}  # by host, the ports that lead there
        self._turns: dict[int, int] = {}
        self._flowlets: dict[int, tuple[int, int]] = {}

    def add(self, port: SwitchPort) -> SwitchPort:
        """Add a port and return it; its headroom covers the incoming link."""
        port.switch = self
        self.ports[port.number] = port
        headroom_bytes = int(self._net.plan.headroom_bytes[self._net.fabric.port_reverse[port.number]])
        self.accounts[port.number] = [Ingress(port.number, cls, headroom_bytes) for cls in range(NUM_CLASSES)]
        return port

    # A packet passes

    def receive(self, packet: Packet, in_port: Port, now: int) -> None:
        """Queue a packet at its next hop, or obey a PFC frame."""
        net = self._net
        if packet.kind >= PAUSE:
            in_port.pause_or_resume(packet, now)
            return
        port = self._way(packet)
        if port is None:  # a link has failed and no path is left
            in_port.reverse.lost_packets += 1
            net.discard(packet, in_port.reverse.number, now)
            return
        packet.ingress = self.accounts[in_port.number][packet.priority]  # features may change its class
        if net.on_route is not None and packet.kind == DATA and not self.is_nic:
            port = self._reroute(packet, in_port, port, now)
        if port.is_down:  # routes do not know yet
            port.lost_packets += 1
            net.discard(packet, port.number, now)
            return
        if packet.priority >= DATA_CLASS and not self._passes_features(packet, port, now):
            return
        if packet.is_trimmed and net.scheme.queueing.returns_headers:
            port = self._turn_back(packet, port)
        if packet.priority >= DATA_CLASS and not self._admit(packet, port, now):
            net.discard(packet, port.number, now)
            return
        if net.explains and net.trace is not None:
            net.trace.watch(packet.message, port.number)
        port.enqueue(packet, packet.priority, now)

    def _passes_features(self, packet: Packet, port: SwitchPort, now: int) -> bool:
        """Run the on_enqueue hooks of a data packet; return whether it goes on, trimmed or whole."""
        net = self._net
        if net.on_enqueue is None or self.is_nic:
            return True
        was_marked = packet.ce
        net.on_enqueue(port, packet, now)
        if packet.ce and not was_marked:
            port.marked_packets += 1
        if packet.verdict == DROP:
            port.dropped_packets += 1
            net.discard(packet, port.number, now)
            return False
        if packet.verdict == TRIM:
            self._trim(packet, port, now)
        elif packet.verdict == TRIM_TAIL:
            self._trim_tail(packet, port, now)
        return True

    # Routing

    def _way(self, packet: Packet) -> SwitchPort | None:
        """Return the port towards a packet's host; where routing keeps paths, the same for the whole message."""
        key = route_key(packet)
        port = self._kept_ways.get(key)
        if port is None:
            port = self._next_hop(packet, key)
            if port is not None and self._net.scheme.routing in ("ecmp", "symmetric"):
                self._kept_ways[key] = port
        return port

    def _next_hop(self, packet: Packet, key: int) -> SwitchPort | None:
        """Return the port towards a host: on the message's own path, the only one, or a chosen one."""
        net, plan = self._net, self._net.plan
        own = self.ports.get(net.own_ways.get((key, self.number), -1))
        if own is not None and not own.is_down:
            return own
        choices = self._choices.get(packet.dst)
        if choices is None:
            choices = [self.ports[number] for number in net.fabric.candidates(self.number, packet.dst)]
            self._choices[packet.dst] = choices
        if len(choices) <= 1:
            return choices[0] if choices else None
        if len(plan.hash_as):
            key = 2 * int(plan.hash_as[key >> 1]) + (key & 1)
        chosen = self._choose(packet, key, choices)
        if self.is_nic:  # knows which of its links are down
            turns = choices[chosen:] + choices[:chosen]
            return next((port for port in turns if not port.is_down), choices[chosen])
        return choices[chosen]

    def _choose(self, packet: Packet, key: int, choices: list[SwitchPort]) -> int:
        """Return the index of the port that a packet takes."""
        plan, fabric, count = self._net.plan, self._net.fabric, len(choices)
        routing, column = ROUTINGS.index(plan.scheme.routing), int(fabric.attach[packet.dst])
        if routing == ADAPTIVE:
            return self._adapt(choices, key)
        if routing == SYMMETRIC:
            distance = int(plan.distance[fabric.route_row[self.number], column])
            return int(way_by_distance(plan.symmetric_salt, key, distance, count))
        if routing == SPRAY_ROUND_ROBIN:
            turn = self._turns.get(column, 0)
            self._turns[column] = turn + 1
            return int(way_in_turn(self, column, turn, count))
        return int(way_by_packet(routing, self, packet, key, count))

    def _adapt(self, choices: list[SwitchPort], key: int) -> int:
        """Return the port with the shortest queue, or the message's previous port if its last packet was recent."""
        now, gap_ps = int(self._net.env.now), self._net.scheme.flowlet_gap_ps
        place = flowlet_place(key)
        last_ps, chosen = self._flowlets.get(place, (-NEVER, 0))
        if not gap_ps or now - last_ps >= gap_ps:
            first = first_in_scan(self, len(choices))
            turns = [(first + turn) % len(choices) for turn in range(len(choices))]
            chosen = min(turns, key=lambda turn: wait_ps(choices[turn]))
        self._flowlets[place] = now, chosen
        return chosen % len(choices)

    def forget_routes(self) -> None:
        """Forget where ports lead, and those chosen for messages: the network has changed."""
        self._kept_ways.clear()
        self._choices.clear()

    def _reroute(self, packet: Packet, in_port: Port, port: SwitchPort, now: int) -> SwitchPort:
        """Run the on_route hooks of a data packet, which may change its route; return its port."""
        net = self._net
        message = net.messages[packet.message]
        packet.route, packet.verdict = -1, ACCEPT
        assert net.on_route is not None
        net.on_route(self, port, message, packet, now)
        if packet.verdict != DEFLECT:
            return self.ports[packet.route] if packet.route >= 0 else port
        packet.verdict = ACCEPT
        others = [other for other in self.ports.values() if is_deflection_port(other, port.number, in_port.number)]
        if not others:
            return port
        drawn = others[draw_deflection(self, len(others))]
        port.deflected_packets += 1
        if net.on_deflect is not None:
            net.on_deflect(self, drawn, message, packet, now)
        return drawn

    # Trimming

    def _trim(self, packet: Packet, port: SwitchPort, now: int) -> None:
        """Cut a packet's payload off."""
        net, queueing = self._net, self._net.scheme.queueing
        net.trimmed_bytes += packet.payload_bytes
        cut_payload(packet, queueing.trimmed_bytes, queueing.trimmed_priority)
        port.trimmed_packets += 1
        if net.trace is not None:
            net.trace.add(now, TRIMMED, port.number, packet)

    def _trim_tail(self, packet: Packet, port: SwitchPort, now: int) -> None:
        """Trim the last packet of the queue instead of this one."""
        if not port.queues[packet.priority]:
            self._trim(packet, port, now)
            return
        packet.verdict = ACCEPT
        tail = port.take_last(packet.priority)
        self.release(tail, now)
        self._trim(tail, port, now)
        if self._net.scheme.queueing.returns_headers:
            port = self._turn_back(tail, port)
        port.enqueue(tail, tail.priority, now)

    def _turn_back(self, packet: Packet, port: SwitchPort) -> SwitchPort:
        """Return a trimmed packet to its sender if its queue is full, at most once; return the port to take."""
        limit = queue_limit_bytes(self._net.scheme.queueing, packet.priority)
        if packet.kind != DATA or not limit:
            return port
        if fits_queue(port.waiting_bytes[packet.priority], packet.wire_bytes, limit):
            return port
        packet.kind = RETURN
        packet.dst = self._net.messages[packet.message].src
        return self._next_hop(packet, route_key(packet)) or port

    # The buffer

    def _admit(self, packet: Packet, port: SwitchPort, now: int) -> bool:
        """Account a data packet to the buffer, pausing the neighbour if necessary; return whether the packet fits."""
        policy, wire_bytes = self._policy, packet.wire_bytes
        if not self._is_lossless:
            if self.is_nic or admit_lossy(policy, self, port.queue_bytes, wire_bytes):
                return True
            port.dropped_packets += 1
            return False
        account = packet.ingress
        if not admit_lossless(policy, self, account, wire_bytes):
            self.ports[account.port].reverse.violations += 1
            return False
        if not account.pause_sent and must_pause(policy, self, account):
            account.pause_sent = 1
            self.ports[account.port].send_frame(PAUSE, account.cls, now)
        return True

    def release(self, packet: Packet, now: int) -> None:
        """Return a departing packet's bytes to the buffer, resuming a neighbour if possible."""
        policy = self._policy
        if not self._is_lossless:
            if not self.is_nic:
                release_lossy(self, packet.wire_bytes)
            return
        account = packet.ingress
        release_lossless(policy, self, account, packet.wire_bytes)
        if account.pause_sent and may_resume(policy, self, account):
            account.pause_sent = 0
            self.ports[account.port].send_frame(RESUME, account.cls, now)
