"""Switches: where a packet goes, whether the buffer has room for it, and when a neighbour must pause."""

from __future__ import annotations

from typing import Any

from rdmacc.engine.records import Routing
from rdmacc.engine.reference.ports import Ingress, Port
from rdmacc.engine.trace import TRIMMED
from rdmacc.records import NEVER
from rdmacc.rules.admission import (
    SharedBuffer,
    admit_lossless,
    admit_lossy,
    fits_queue,
    release_lossless,
    release_lossy,
)
from rdmacc.rules.pfc import may_resume, must_pause, write_frame
from rdmacc.rules.routing import (
    ADAPTIVE,
    SPRAY_ROUND_ROBIN,
    SYMMETRIC,
    cut_payload,
    draw_deflection,
    first_in_scan,
    flowlet_place,
    is_deflection_port,
    route_key,
    wait_ps,
    way_by_distance,
    way_by_packet,
    way_in_turn,
)
from rdmacc.state import ACCEPT, DATA, DATA_CLASS, DEFLECT, DROP, PAUSE, RESUME, RETURN, TRIM, TRIM_TAIL
from rdmacc.switch.buffer import Pfc

__all__ = ["Switch"]


class Switch(Routing, SharedBuffer):
    """A switch: routes packets, shares its buffer among them, and pauses its neighbours or drops."""

    __slots__ = ("_flowlets", "_net", "_next_hops", "_spray_counts", "is_lossless", "number", "policy")

    def __init__(self, net: Any, number: int) -> None:
        super().__init__()
        self._net = net
        self.number = number
        self.policy = net.plan.scheme.buffer
        self.is_lossless = isinstance(self.policy, Pfc)
        self.shared_bytes = int(net.plan.shared_bytes[number])
        self.salt = int(net.plan.ecmp_salt[number])
        self.is_nic = int(net.plan.fabric.is_nic[number])
        self._next_hops: dict[int, Port] = {}
        self._spray_counts: dict[int, int] = {}
        self._flowlets: dict[int, tuple[int, int]] = {}

    def receive(self, packet: Any, in_port: Port, now: int) -> None:
        """Queue a packet at its next hop, or obey a PFC frame."""
        net, kind = self._net, packet.kind
        if kind >= PAUSE:
            in_port.pause_or_resume(packet, now)
            net.recycle(packet)
            return
        key = route_key(packet)
        port = self._next_hops.get(key)
        if port is None:
            port = self.next_hop(packet, key)
            if port is None:  # a link has failed and no path is left
                in_port.reverse.lost_packets += 1
                net.discard(packet, in_port.reverse, now)
                return
            if net.keeps_paths:
                self._next_hops[key] = port
        in_class = packet.priority  # features may change it
        if net.on_route is not None and kind == DATA and not self.is_nic:
            port = self.reroute(packet, in_port, port, now)
        if port.is_down:  # routes do not know yet
            port.lost_packets += 1
            net.discard(packet, port, now)
            return
        if packet.priority >= DATA_CLASS and net.on_enqueue is not None and not self.is_nic:
            was_marked = packet.ce
            net.on_enqueue(port, packet, now)
            if packet.ce and not was_marked:
                port.marked_packets += 1
            verdict = packet.verdict
            if verdict == DROP:
                port.dropped_packets += 1
                net.discard(packet, port, now)
                return
            if verdict == TRIM:
                self.trim(packet, port, now)
            elif verdict == TRIM_TAIL:
                self.trim_tail(packet, port, now)
        if net.returns_headers and packet.is_trimmed:
            port = self.turn_back(packet, port)
        if packet.priority >= DATA_CLASS:
            packet.ingress = in_port.ingress[in_class]
            if not self.admit(packet, port, now):
                net.discard(packet, port, now)
                return
        port.enqueue(packet, packet.priority, now)

    def next_hop(self, packet: Any, key: int) -> Port | None:
        """Return the port towards a host: of the message's own path, the only one, or one chosen for it."""
        net, plan, dst = self._net, self._net.plan, packet.dst
        given = net.path_ports.get((key, self.number), -1) if net.path_ports else -1
        if given >= 0 and not net.ports[given].is_down:
            return net.ports[given]
        choices = net.fabric.candidates(self.number, dst)
        count = len(choices)
        if count <= 1:
            return net.ports[choices[0]] if choices else None
        if len(plan.hash_as):
            key = 2 * int(plan.hash_as[key >> 1]) + (key & 1)
        if net.routing == SYMMETRIC:
            distance = int(plan.distance[net.fabric.route_row[self.number], net.fabric.attach[dst]])
            chosen = way_by_distance(plan.symmetric_salt, key, distance, count)
        elif net.routing == ADAPTIVE:
            chosen = self.adapt([net.ports[number] for number in choices], key)
        elif net.routing == SPRAY_ROUND_ROBIN:
            column = int(net.fabric.attach[dst])
            turn = self._spray_counts.get(column, 0)
            chosen = way_in_turn(self, column, turn, count)
            self._spray_counts[column] = turn + 1
        else:
            chosen = way_by_packet(net.routing, self, packet, key, count)
        port = net.ports[choices[chosen]]
        if port.is_down and self.is_nic:
            turns = [net.ports[choices[(chosen + turn) % count]] for turn in range(count)]
            return next((other for other in turns if not other.is_down), port)
        return port

    def adapt(self, ports: list[Port], key: int) -> int:
        """Return which port has the shortest queue, or the last packet's of the message if that is not long ago."""
        now, gap_ps = self._net.now, self._net.plan.scheme.flowlet_gap_ps
        place = flowlet_place(key)
        if gap_ps:
            last_ps, chosen = self._flowlets.get(place, (-NEVER, 0))
            if now - last_ps < gap_ps:
                self._flowlets[place] = now, chosen
                return chosen % len(ports)
        first = first_in_scan(self, len(ports))
        turns = [(first + turn) % len(ports) for turn in range(len(ports))]
        best = min(turns, key=lambda chosen: wait_ps(ports[chosen]))
        if gap_ps:
            self._flowlets[place] = now, best
        return best

    def forget_routes(self) -> None:
        """Choose anew for every message: the network has changed."""
        self._next_hops.clear()

    def reroute(self, packet: Any, in_port: Port, port: Port, now: int) -> Port:
        """Let switch features send a data packet another way than its route; return its port."""
        net = self._net
        message = net.messages[packet.message]
        packet.route, packet.verdict = -1, ACCEPT
        net.on_route(self, port, message, packet, now)
        if packet.verdict == DEFLECT:
            packet.verdict = ACCEPT
            first, last = net.fabric.node_first_port[self.number : self.number + 2]
            others = [p for p in net.ports[first:last] if is_deflection_port(p, port.number, in_port.number)]
            if others:
                drawn = others[draw_deflection(self, len(others))]
                port.deflected_packets += 1
                if net.on_deflect is not None:
                    net.on_deflect(self, drawn, message, packet, now)
                return drawn
        elif packet.route >= 0:
            return net.ports[packet.route]
        return port

    def trim(self, packet: Any, port: Port, now: int) -> None:
        """Cut a packet's payload off."""
        net = self._net
        net.trimmed_bytes += packet.payload_bytes
        cut_payload(packet, net.queueing.trimmed_bytes, net.queueing.trimmed_priority)
        port.trimmed_packets += 1
        if net.trace is not None:
            net.trace.add(now, TRIMMED, port.number, packet)

    def trim_tail(self, packet: Any, port: Port, now: int) -> None:
        """Cut the payload of the last packet of the queue off in place of this packet's."""
        queue = port.queues[packet.priority]
        if not queue:
            self.trim(packet, port, now)
            return
        packet.verdict = ACCEPT
        tail = queue.pop()
        if not queue:
            port.waiting ^= 1 << tail.priority
        port.queue_bytes -= tail.wire_bytes
        self.release(tail, now)
        self.trim(tail, port, now)
        if self._net.queueing.returns_headers:
            port = self.turn_back(tail, port)
        port.enqueue(tail, tail.priority, now)

    def turn_back(self, packet: Any, port: Port) -> Port:
        """Send a trimmed packet that does not fit into its queue back to its sender, once; return the port to take."""
        limit = self._net.limits[packet.priority] if packet.priority < DATA_CLASS else 0
        if packet.kind == DATA and limit:
            if not fits_queue(port.waiting_bytes[packet.priority], packet.wire_bytes, limit):
                packet.kind = RETURN
                packet.dst = self._net.messages[packet.message].src
                return self.next_hop(packet, packet.message * 2 + 1) or port
        return port

    def admit(self, packet: Any, port: Port, now: int) -> bool:
        """Account a data packet to the buffer; pause the neighbour if it is time; return whether the packet fits."""
        if not self.is_lossless:
            if self.is_nic or admit_lossy(self.policy, self, port.queue_bytes, packet.wire_bytes):
                return True
            port.dropped_packets += 1
            return False
        policy, account = self.policy, packet.ingress
        if not admit_lossless(policy, self, account, packet.wire_bytes):
            account.in_port.reverse.violations += 1
            return False
        if not account.pause_sent and must_pause(policy, self, account):
            account.pause_sent = 1
            self.send_pfc(account, PAUSE, now)
        return True

    def release(self, packet: Any, now: int) -> None:
        """Give a departing packet's bytes back to the buffer; resume a neighbour if it is time."""
        if not self.is_lossless:
            if not self.is_nic:
                release_lossy(self, packet.wire_bytes)
            return
        policy, account = self.policy, packet.ingress
        release_lossless(policy, self, account, packet.wire_bytes)
        if account.pause_sent and may_resume(policy, self, account):
            account.pause_sent = 0
            self.send_pfc(account, RESUME, now)

    def send_pfc(self, account: Ingress, kind: int, now: int) -> None:
        """Send a PFC frame to the neighbour that an ingress account counts, ahead of everything else."""
        if account.in_port.is_down:
            return
        frame = self._net.new_packet()
        write_frame(self.policy, frame, kind, account.cls)
        account.in_port.enqueue(frame, frame.priority, now)
