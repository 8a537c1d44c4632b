"""Hosts: hand what arrives to the scheme's handlers and send what they reply."""

from __future__ import annotations

from typing import Any

from rdmacc import state
from rdmacc.engine.records import Clock
from rdmacc.engine.reference.messages import Message, after_sender, count_down
from rdmacc.engine.reference.nic import NicPort, QueuePair
from rdmacc.engine.reference.ports import Port
from rdmacc.engine.reference.senders import FROM_SENDER, send_request
from rdmacc.records import NEVER
from rdmacc.rules.addressing import address_reply, reply_class
from rdmacc.rules.links import read_clock
from rdmacc.rules.progress import is_delivered
from rdmacc.state import DATA, NONE, PAUSE

__all__ = ["Host"]


class Host(state.Host, Clock):
    """A host: hands what arrives to the scheme's handlers and sends what they reply."""

    __slots__ = ("_net", "incoming", "nics")

    def __init__(self, net: Any, number: int) -> None:
        super().__init__()
        self._net = net
        self.node = number
        self.nics: list[NicPort] = []
        self.incoming: dict[int, Message] = {}

    def receive(self, packet: Any, in_port: Port, now: int) -> None:
        """Take a packet from the link."""
        net, kind = self._net, packet.kind
        if kind >= PAUSE:
            in_port.pause_or_resume(packet, now)
            net.recycle(packet)
            return
        self.rx_wire_bytes += packet.wire_bytes
        self.rx_packets += 1
        self.clock_ps = now if not net.has_clocks else self.clock(now)
        message = net.messages[packet.message]
        if kind in FROM_SENDER:
            self.on_arrival(packet, message, now)
        else:
            qp = message.queue_pair
            handler = net.reply_handlers[kind]
            if handler is not None and not qp.closed:  # a closed queue pair has no use for late replies
                rate_bps = qp.rate_bps
                request = net.new_packet() if net.has_requests else None
                handler(qp, message, packet, request, now)
                if qp.rate_bps != rate_bps:
                    qp.nic.advance(qp, now)
                if request is not None:
                    send_request(net, request, qp, message, now)
                after_sender(net, qp, message, now)
        net.recycle(packet)

    def clock(self, now: int) -> int:
        """Read the host's clock."""
        return read_clock(self, self._net.plan.clock_jitter_ps, now)

    def on_arrival(self, packet: Any, message: Message, now: int) -> None:
        """Run the receiver's handlers on a packet of a sender and send what they filled in."""
        net, qp = self._net, message.queue_pair
        reply, notice = net.new_packet(), net.spare_packet()
        if net.on_candidate is not None and not message.is_incoming and message.delivered_ps < 0:
            message.is_incoming = 1
            self.incoming[message.number] = message
        if packet.kind == DATA:
            if packet.ce:
                net.marked_arrivals += 1
            if net.on_data is not None:
                net.on_data(self, qp, message, packet, reply, notice, now)
            if packet.accepted:
                net.accepted_bytes += packet.payload_bytes
                if is_delivered(message, now):
                    if message.is_incoming:
                        message.is_incoming = 0
                        del self.incoming[message.number]
                    count_down(net, message, now, is_acked=False)
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
        """Serve the incoming messages with the lowest keys, as many as handlers ask for."""
        net = self._net
        for message in self.incoming.values():
            message.key = NEVER
            net.on_candidate(self, message.queue_pair, message, now)
        candidates = [message for message in self.incoming.values() if message.key < NEVER]
        for message in sorted(candidates, key=lambda message: (message.key, message.number)):
            if self.pick <= 0:
                break
            self.pick -= 1
            reply = net.new_packet()
            if net.on_pick is not None:
                net.on_pick(self, message.queue_pair, message, reply, now)
            self.send(reply, message.queue_pair, message, now)
        self.pick = 0

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
        address_reply(net.plan.scheme, reply, qp, message)
        reply.sent_ps = now if not net.has_clocks else self.clock(now)
        net.reply_counts[reply.kind] += 1
        qp.reply_nic.enqueue(reply, reply_class(net.plan.scheme, reply), now)
