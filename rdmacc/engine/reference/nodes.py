"""Nodes: switches with their shared buffer and PFC, hosts with their queue pairs and messages."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from rdmacc import state
from rdmacc.chance import hash63
from rdmacc.engine.reference.ports import NicPort, Port
from rdmacc.engine.trace import TRIMMED
from rdmacc.records import NEVER
from rdmacc.state import (
    ACCEPT,
    CNP,
    DATA,
    DATA_CLASS,
    DEFLECT,
    DROP,
    IDLE,
    MAC,
    NONE,
    PAUSE,
    REQUEST,
    RESUME,
    TRIM,
    TRIM_TAIL,
)  # fmt: skip
from rdmacc.switch.buffer import PFC_FRAME_BYTES, Pfc
from rdmacc.units import whole_ps

if TYPE_CHECKING:
    from rdmacc.engine.reference.network import Network

__all__ = ["Host", "Message", "QueuePair", "Switch"]


class Switch:
    """A switch: routes packets, shares its buffer among them, and pauses its neighbours or drops."""

    __slots__ = (
        "_deflections",
        "_net",
        "_next_hops",
        "_spray_count",
        "_spray_counts",
        "alpha",
        "is_lossless",
        "limit_bytes",
        "number",
        "peak_bytes",
        "reserve_bytes",
        "salt",
        "shared_bytes",
        "shared_used",
        "used_bytes",
        "xon_offset_bytes",
    )

    def __init__(self, net: Network, number: int) -> None:
        self._net = net
        self.number = number
        policy = net.plan.scheme.buffer
        self.is_lossless = isinstance(policy, Pfc)
        self.alpha = policy.alpha
        self.reserve_bytes = policy.reserve_bytes if isinstance(policy, Pfc) else 0
        self.xon_offset_bytes = policy.xon_offset_bytes if isinstance(policy, Pfc) else 0
        self.limit_bytes = 0 if isinstance(policy, Pfc) else policy.limit_bytes
        self.shared_bytes = int(net.plan.shared_bytes[number])
        self.shared_used = 0  # bytes taken from the shared pool
        self.used_bytes = 0  # all data bytes in the switch
        self.peak_bytes = 0
        self.salt = int(net.plan.ecmp_salt[number])
        self._next_hops: dict[int, Port] = {}
        self._spray_count = 0
        self._spray_counts: dict[int, int] = {}
        self._deflections = 0

    def receive(self, packet: Any, in_port: Port, now: int) -> None:
        """Queue a packet at its next hop, or obey a PFC frame."""
        if packet.kind >= PAUSE:
            in_port.pause_or_resume(packet, now)
            self._net.recycle(packet)
            return
        net = self._net
        key = packet.message * 2 + (packet.kind != DATA and packet.kind != REQUEST)
        port = self._next_hops.get(key)
        if port is None:
            port = self.next_hop(packet.dst, key)
            if port is None:  # a link has failed and no path is left
                in_port.reverse.lost_packets += 1
                net.discard(packet, in_port.reverse, now)
                return
            if net.keeps_paths:
                self._next_hops[key] = port
        in_class = packet.priority
        if net.on_route is not None and packet.kind == DATA:
            port = self.reroute(packet, in_port, port, now)
        if packet.priority >= DATA_CLASS:
            if net.on_enqueue is not None:
                was_marked = packet.ce
                net.on_enqueue(port, packet, now)
                if packet.ce and not was_marked:
                    port.marked_packets += 1
                if packet.verdict == DROP:
                    port.dropped_packets += 1
                    net.discard(packet, port, now)
                    return
                if packet.verdict == TRIM:
                    self.trim(packet, port, now)
                elif packet.verdict == TRIM_TAIL:
                    self.trim_tail(packet, port, now)
        if packet.priority >= DATA_CLASS:
            packet.in_port, packet.in_class = in_port, in_class
            if not self.admit(packet, in_port, port, now):
                net.discard(packet, port, now)
                return
        port.enqueue(packet, now)

    def next_hop(self, dst: int, key: int) -> Port | None:
        """Return the port towards a host: the only one, or one chosen for the message or for this packet."""
        net, plan = self._net, self._net.plan
        choices = net.fabric.candidates(self.number, dst)
        count = len(choices)
        if count <= 1:
            return net.ports[choices[0]] if choices else None
        routing = plan.scheme.routing
        if routing == "ecmp":
            chosen = hash63(self.salt, key) % count
        elif routing == "symmetric":  # the same at equal distance, there and back, and another one at each tier
            distance = int(plan.distance[net.fabric.route_row[self.number], net.fabric.attach[dst]])
            chosen = hash63(plan.symmetric_salt, (key >> 1) * 64 + distance) % count
        elif routing == "spray-random":
            chosen = hash63(self.salt, self._spray_count) % count
            self._spray_count += 1
        else:
            column = int(net.fabric.attach[dst])
            turn = self._spray_counts.get(column, 0)
            chosen = (hash63(self.salt, column) + turn) % count
            self._spray_counts[column] = turn + 1
        return net.ports[choices[chosen]]

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
            others = [p for p in net.fabric_ports(self.number) if p is not port and p is not in_port and not p.is_down]
            if others:
                drawn = others[hash63(self.salt, (1 << 40) + self._deflections) % len(others)]
                self._deflections += 1
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
        packet.payload_bytes = 0
        packet.wire_bytes = net.queueing.trimmed_bytes
        packet.priority = net.queueing.trimmed_priority
        packet.is_trimmed = 1
        packet.verdict = ACCEPT
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
        port.enqueue(tail, now)

    def admit(self, packet: Any, in_port: Port, port: Port, now: int) -> bool:
        """Account a data packet to the buffer; return whether it fits (Choudhury and Hahne's threshold).

        PFC counts it in the class in which it came, whatever its class here: only that one's pause keeps more away.
        """
        wire = packet.wire_bytes
        if not self.is_lossless:
            queued = port.queue_bytes + wire
            free = self.shared_bytes - self.used_bytes
            if queued > self.alpha * free or wire > free or (self.limit_bytes and queued > self.limit_bytes):
                port.dropped_packets += 1
                return False
        else:
            cls = packet.in_class
            reserve = self.reserve_bytes
            after = in_port.ingress_bytes[cls] + wire
            from_shared = min(wire, max(0, after - reserve))
            free = self.shared_bytes - self.shared_used
            if after - reserve > self.alpha * free or from_shared > free:
                if in_port.headroom_used[cls] + wire > in_port.headroom_bytes:
                    in_port.reverse.violations += 1
                    return False
                in_port.headroom_used[cls] += wire
            else:
                in_port.ingress_bytes[cls] = after
                self.shared_used += from_shared
            if not in_port.pause_sent & 1 << cls:
                taken = max(0, in_port.ingress_bytes[cls] - reserve)
                threshold = self.alpha * (self.shared_bytes - self.shared_used)
                if in_port.headroom_used[cls] > 0 or taken >= threshold:
                    in_port.pause_sent |= 1 << cls
                    self.send_pfc(in_port, PAUSE, cls, now)
        self.used_bytes += wire
        if self.used_bytes > self.peak_bytes:
            self.peak_bytes = self.used_bytes
        return True

    def release(self, packet: Any, now: int) -> None:
        """Give a departing packet's bytes back: headroom first, then shared, then reserve; resume if it is time."""
        wire = packet.wire_bytes
        self.used_bytes -= wire
        if self.is_lossless:
            in_port, cls, reserve = packet.in_port, packet.in_class, self.reserve_bytes
            from_headroom = min(in_port.headroom_used[cls], wire)
            before = in_port.ingress_bytes[cls]
            from_shared = min(wire - from_headroom, max(0, before - reserve))
            in_port.headroom_used[cls] -= from_headroom
            in_port.ingress_bytes[cls] = before - (wire - from_headroom)
            self.shared_used -= from_shared
            if in_port.pause_sent & 1 << cls and in_port.headroom_used[cls] == 0:
                taken = max(0, in_port.ingress_bytes[cls] - reserve)
                threshold = self.alpha * (self.shared_bytes - self.shared_used)
                if taken == 0 or taken + self.xon_offset_bytes <= threshold:
                    in_port.pause_sent ^= 1 << cls
                    self.send_pfc(in_port, RESUME, cls, now)

    def send_pfc(self, port: Port, kind: int, cls: int, now: int) -> None:
        """Send a PFC frame to the neighbour behind a port, ahead of everything else."""
        frame = self._net.new_packet()
        frame.kind = kind
        frame.psn = cls
        frame.wire_bytes = PFC_FRAME_BYTES
        frame.priority = MAC
        frame.payload_bytes = 0
        port.enqueue(frame, now)


class Message(state.Message):
    """A message, both sides."""

    __slots__ = ("is_delayed", "is_incoming", "is_open", "queue_pair")

    queue_pair: Any
    is_delayed: bool
    is_incoming: bool
    is_open: bool


class QueuePair(state.QueuePair):
    """A queue pair: its unacknowledged messages first in, first out, and the NIC that serves it."""

    __slots__ = ("nic", "pending", "remaining", "reply_nic")

    pace_timer_armed: int

    def __init__(self) -> None:
        super().__init__()
        self.pending: deque[Message] = deque()
        self.nic: Any = None
        self.reply_nic: Any = None
        self.remaining = 0

    def sendable_message(self) -> Message | None:
        """Return the first message with a packet to send, if window and credits allow one."""
        if self.inflight_bytes >= self.window_bytes or self.credits <= 0:
            return None
        for message in self.pending:
            if message.next_psn < message.granted_psn:
                return message
        return None

    def next_start_ps(self, now: int) -> int:
        """Return when the pacing rate lets the next packet start."""
        if self.last_wire_bytes == 0:
            return now
        if self.rate_bps <= 0.0:
            return NEVER
        return self.last_start_ps + whole_ps(self.last_wire_bytes * 8e12 / self.rate_bps, self.nic._net.tick_ps)

    def remaining_packets(self) -> int:
        """Return how many packets the message that is served next has left to send."""
        message = self.sendable_message()
        return NEVER if message is None else message.packets - message.next_psn

    def pace(self, _: Any) -> None:
        """Serve the pacing timer: its event may be early or stale, since deadlines move."""
        now = self.nic._net.env._now
        if now != self.pace_timer_armed:
            return
        self.pace_timer_armed = NEVER
        if self.pace_timer_ps < NEVER:
            self.state = IDLE
            self.nic.schedule(self, now)


class Host(state.Host):
    """A host: hands what arrives to the scheme's handlers and sends what they reply."""

    __slots__ = ("_net", "clock_count", "incoming", "nics")

    def __init__(self, net: Network, number: int) -> None:
        super().__init__()
        self._net = net
        self.node = number
        self.nics: list[NicPort] = []
        self.incoming: dict[int, Message] = {}
        self.clock_count = 0

    def receive(self, packet: Any, in_port: Port, now: int) -> None:
        """Take a packet from the link."""
        net, kind = self._net, packet.kind
        if kind >= PAUSE:
            in_port.pause_or_resume(packet, now)
            net.recycle(packet)
            return
        self.rx_wire_bytes += packet.wire_bytes
        self.rx_packets += 1
        self.clock_ps = now if not net.has_clocks else net.clock(self, now)
        message = net.messages[packet.message]
        if kind in (DATA, REQUEST):
            self.on_arrival(packet, message, now)
        else:
            qp = net.qps[packet.qp]
            handler = net.reply_handlers[kind]
            if handler is not None and not qp.closed:  # a closed queue pair has no use for late replies
                handler(qp, message, packet, now)
                net.after_sender(qp, message, now)
        net.recycle(packet)

    def on_arrival(self, packet: Any, message: Message, now: int) -> None:
        """Run the receiver's handlers on a packet of a sender and send what they filled in."""
        net, qp = self._net, message.queue_pair
        reply, notice = net.new_packet(), net.spare_packet()
        if net.on_candidate is not None and not message.is_incoming and message.delivered_ps < 0:
            message.is_incoming = True
            self.incoming[message.number] = message
        if packet.kind == DATA:
            if packet.ce:
                net.marked_arrivals += 1
            if net.on_data is not None:
                net.on_data(self, qp, message, packet, reply, notice, now)
            if packet.accepted:
                net.accepted_bytes += packet.payload_bytes
                if message.received_packets == message.packets and message.delivered_ps < 0:
                    message.delivered_ps = now
                    if message.is_incoming:
                        message.is_incoming = False
                        del self.incoming[message.number]
                    net.on_delivered(message, now)
            else:
                net.discarded_bytes += packet.payload_bytes
        elif net.on_request is not None:
            net.on_request(self, qp, message, packet, reply, notice, now)
        self.send(reply, qp, message, now)
        if notice.kind != NONE:
            self.send(net.take_spare(), qp, message, now)
        if self.announce:
            self.announce = 0
            self.announce_group(message, now)
        if self.pick:
            self.pick_messages(now)

    def pick_messages(self, now: int) -> None:
        """Serve the incoming message with the lowest key, as long as handlers ask for it."""
        net = self._net
        while self.pick:
            self.pick = 0
            best: Message | None = None
            for message in self.incoming.values():
                message.key = NEVER
                net.on_candidate(self, message.queue_pair, message, now)
                if message.key < NEVER:
                    if best is None or (message.key, message.number) < (best.key, best.number):
                        best = message
            if best is None:
                return
            reply = net.new_packet()
            if net.on_pick is not None:
                net.on_pick(self, best.queue_pair, best, reply, now)
            self.send(reply, best.queue_pair, best, now)

    def announce_group(self, message: Message, now: int) -> None:
        """Tell the handlers of every message of the group to this host, then let them tell the senders."""
        net = self._net
        if net.on_announce is not None:
            for number in net.group_members(message.group, self.node):
                member = net.messages[number]
                net.on_announce(self, member.queue_pair, member, now)
        if net.on_advertise is not None:
            for number in net.qps_to(self.node):
                qp = net.qps[number]
                reply = net.new_packet()
                first = net.messages[net.first_message[number]]
                net.on_advertise(self, qp, first, reply, now)
                self.send(reply, qp, first, now)

    def send(self, reply: Any, qp: QueuePair, message: Message, now: int) -> None:
        """Send a reply to the queue pair's sender, if a handler filled it in."""
        net = self._net
        if reply.kind == NONE:
            net.recycle(reply)
            return
        reply.message = message.number
        reply.qp = qp.number
        reply.dst = qp.src
        reply.payload_bytes = 0
        if reply.wire_bytes == 0:
            reply.wire_bytes = net.cnp_bytes if reply.kind == CNP else net.ack_bytes
        reply.sent_ps = now if not net.has_clocks else net.clock(self, now)
        net.reply_counts[reply.kind] += 1
        qp.reply_nic.enqueue(reply, now)
