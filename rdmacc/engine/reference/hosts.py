"""Hosts: hand what arrives to the scheme's handlers and send what they reply."""

from rdmacc.engine.records import Clock
from rdmacc.engine.reference.core import Core, Message, Packet, QueuePair
from rdmacc.engine.reference.messages import after_sender, count_down, note_end
from rdmacc.engine.reference.nic import NicPort
from rdmacc.engine.reference.ports import Port
from rdmacc.engine.trace import QUEUED
from rdmacc.interface import DATA, NEVER, NONE, PAUSE, REQUEST, state
from rdmacc.rules import *


class Host(state.Host, Clock):
    """A host. The components' records are attributes of it: `endpoint0`, ..."""

    __slots__ = ("_group_members", "_has_clock", "_incoming", "_net", "_qps_here", "nics")

    def __init__(self, net: Core, number: int) -> None:
        super().__init__()
        plan = net.plan
        self._net = net
        self.node = number
        self.base_rtt_ps = int(plan.host_base_rtt_ps[number])
        self.clock_offset_ps, self.clock_key = int(plan.clock_offset_ps[number]), int(plan.clock_key[number])
        self._has_clock = plan.has_clocks  # others show the simulation's time
        self.nics: list[NicPort] = []
        self._incoming: dict[int, Message] = {}
        self._group_members: dict[int, list[Message]] = {}
        self._qps_here: list[QueuePair] = []

    def add(self, port: NicPort) -> NicPort:
        port.host = self
        self.nics.append(port)
        self.line_bps = self.nics[0].rate_bps
        return port

    def expect(self, qp: QueuePair) -> None:
        """Register a queue pair whose receiver this host is."""
        self._qps_here.append(qp)

    def expect_message(self, message: Message) -> None:
        """Register a message of a group that this host receives."""
        self._group_members.setdefault(message.group, []).append(message)

    def clock(self, now: int) -> int:
        return int(read_clock(self, self._net.plan.clock_jitter_ps, now)) if self._has_clock else now

    def receive(self, packet: Packet, in_port: Port, now: int) -> None:
        if packet.kind >= PAUSE:
            in_port.pause_or_resume(packet, now)
            return
        self.rx_wire_bytes += packet.wire_bytes
        self.rx_packets += 1
        self.clock_ps = self.clock(now)
        message = self._net.messages[packet.message]
        if packet.kind in (DATA, REQUEST):
            self._hear_sender(packet, message, now)
        else:
            self._hear_receiver(packet, message, now)

    # As the sender of a message

    def _hear_receiver(self, packet: Packet, message: Message, now: int) -> None:
        """Run the sender's handlers on a reply; send their request and whatever the queue pair may now send."""
        net, qp = self._net, message.queue_pair
        hook = net.reply_hooks[packet.kind]
        if hook is None or qp.closed:  # a closed queue pair has no use for late replies
            return
        rate_bps = qp.rate_bps
        request = net.new_request()
        hook(qp, message, packet, request, now)
        if qp.rate_bps != rate_bps:
            qp.nic.heed_rate(qp, now)
        qp.nic.send_request(request, qp, message, now)
        after_sender(net, qp, message, now)

    # As its receiver

    def _hear_sender(self, packet: Packet, message: Message, now: int) -> None:
        """Run the receiver's handlers on a packet of a sender and send what they filled in."""
        net, qp = self._net, message.queue_pair
        reply, notice = net.new_packet(), net.new_packet()
        if net.on_candidate is not None and not message.is_incoming and message.delivered_ps < 0:
            message.is_incoming = 1
            self._incoming[message.number] = message
        if packet.kind == DATA:
            net.marked_arrivals += packet.ce != 0
            if net.on_data is not None:
                net.on_data(self, qp, message, packet, reply, notice, now)
            self._account(packet, message, now)
        elif net.on_request is not None:
            net.on_request(self, qp, message, packet, reply, notice, now)
        self.send(reply, qp, message, now)
        self.send(notice, qp, message, now)
        if self.announce:
            self.announce = 0
            self._announce_group(message, now)
        if self.pick:
            self.pick_messages(now)

    def _account(self, packet: Packet, message: Message, now: int) -> None:
        """Count a data packet's payload; note if its message is complete."""
        net = self._net
        if not packet.accepted:
            net.discarded_bytes += packet.payload_bytes
            return
        net.accepted_bytes += packet.payload_bytes
        if is_delivered(message, now):
            if message.is_incoming:
                message.is_incoming = 0
                del self._incoming[message.number]
            note_end(net, message)
            count_down(net, message, now, is_acked=False)

    def pick_messages(self, now: int) -> None:
        """Serve the incoming messages with the lowest keys, as many as handlers ask for."""
        net = self._net
        for message in self._incoming.values():
            message.key = NEVER
            if net.on_candidate is not None:
                net.on_candidate(self, message.queue_pair, message, now)
        candidates = [message for message in self._incoming.values() if message.key < NEVER]
        for message in sorted(candidates, key=lambda message: (message.key, message.number)):
            if self.pick <= 0:
                break
            self.pick -= 1
            reply = net.new_packet()
            if net.on_pick is not None:
                net.on_pick(self, message.queue_pair, message, reply, now)
            self.send(reply, message.queue_pair, message, now)
        self.pick = 0

    def _announce_group(self, message: Message, now: int) -> None:
        """Call the handlers of every message of the group to this host, which then tell the senders."""
        net = self._net
        if net.on_announce is not None:
            for member in self._group_members.get(message.group, ()):
                net.on_announce(self, member.queue_pair, member, now)
        if net.on_advertise is not None:
            for qp in self._qps_here:
                reply = net.new_packet()
                net.on_advertise(self, qp, qp.first_message, reply, now)
                self.send(reply, qp, qp.first_message, now)

    def send(self, reply: Packet, qp: QueuePair, message: Message, now: int) -> None:
        """Send a reply to the queue pair's sender, if a handler filled it in."""
        net = self._net
        if reply.kind == NONE:
            return
        address_reply(net.scheme, reply, qp, message)
        reply.sent_ps = self.clock(now)
        net.reply_counts[reply.kind] += 1
        if net.explains and net.trace is not None:
            net.trace.add(now, QUEUED, qp.reply_nic.number, reply)
        qp.reply_nic.enqueue(reply, reply_class(net.scheme, reply), now)
