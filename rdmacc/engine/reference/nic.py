"""A host's NIC: which queue pair sends next, and when."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from typing import Any

from rdmacc import state
from rdmacc.engine.records import QueuePairUse
from rdmacc.engine.reference.events import push
from rdmacc.engine.reference.messages import Message, note_out_of_order
from rdmacc.engine.reference.ports import FIRST_CLASS, Port
from rdmacc.engine.reference.senders import address_request
from rdmacc.records import NEVER
from rdmacc.state import DATA, DATA_CLASS, IDLE, NUM_CLASSES, PACING, READY
from rdmacc.units import cut_ps, whole_ps

__all__ = ["NicPort", "QueuePair"]


class QueuePair(state.QueuePair, QueuePairUse):
    """A queue pair: its unacknowledged messages first in, first out, and the NIC that serves it."""

    __slots__ = ("_gap_bps", "_gap_bytes", "_gap_ps", "nic", "pending", "reply_nic")

    pace_timer_armed: int

    def __init__(self) -> None:
        super().__init__()
        self.pending: deque[Message] = deque()
        self.nic: Any = None
        self.reply_nic: Any = None
        self._gap_bytes, self._gap_bps, self._gap_ps = 0, 0.0, 0  # time from start to start, for a size and a rate

    def sendable_message(self) -> Message | None:
        """Return the first message with a packet to send, if window and credits allow one."""
        if self.inflight_bytes < self.window_bytes and self.credits > 0:  # `may_send`, `unsent_message`
            for message in self.pending:
                if message.next_psn < message.granted_psn:
                    return message
        return None

    def may_send(self) -> bool:
        """Tell whether window and credits allow a packet."""
        return bool(self.inflight_bytes < self.window_bytes and self.credits > 0)

    def unsent_message(self) -> Message | None:
        """Return the first message with a packet to send."""
        for message in self.pending:
            if message.next_psn < message.granted_psn:
                return message
        return None

    def next_start_ps(self, now: int) -> int:
        """Return when the pacing rate lets the next packet start."""
        wire_bytes, rate_bps = self.last_wire_bytes, self.rate_bps
        if wire_bytes != self._gap_bytes or rate_bps != self._gap_bps:
            if wire_bytes == 0:
                return now
            if rate_bps <= 0.0:
                return NEVER
            tick_ps = self.nic._net.tick_ps
            if tick_ps:
                self._gap_ps = cut_ps(wire_bytes, rate_bps, tick_ps)
            else:  # in the kernel's order: another one rounds to another picosecond now and then
                self._gap_ps = whole_ps(wire_bytes * 8e12 / rate_bps)
            self._gap_bytes, self._gap_bps = wire_bytes, rate_bps
        return self.last_start_ps + self._gap_ps

    def remaining_packets(self) -> int:
        """Return how many packets the message that is served next has left to send."""
        message = self.sendable_message()
        return NEVER if message is None else message.packets - message.next_psn

    def pace(self, now: int) -> None:
        """Serve the pacing timer: its event may be early or stale, since deadlines move."""
        if now != self.pace_timer_armed:
            return
        self.pace_timer_armed = NEVER
        if self.pace_timer_ps < NEVER:
            self.state = IDLE
            self.nic.schedule(self, now)


class NicPort(Port):
    """A host's port: replies wait in queues, data packets are made when a queue pair's turn comes.

    Queue pairs that may send wait, in one line for each class, and go round robin: the next is the first that waits
    after the one served last, by number, so that one that has just sent does not get ahead of one that has just come.
    """

    __slots__ = ("lines",)

    def __init__(self, net: Any, number: int) -> None:
        super().__init__(net, number)
        self.lines: list[list[int]] = [[] for _ in range(NUM_CLASSES)]  # numbers of queue pairs, ascending

    def send_next(self, now: int) -> None:
        """Send a waiting packet, or the next one of the queue pair whose turn it is."""
        net = self._net
        while (cls := FIRST_CLASS[self.waiting & ~self.paused] if net.is_strict else self.next_class(now)) >= 0:
            line = self.lines[cls]
            if self.queues[cls]:
                self.send_queued(cls, now)
                break
            qp = net.qps[line.pop() if len(line) == 1 else self.take_turn(line)]
            if not line:
                self.waiting ^= 1 << cls
            self.queue_bytes -= net.wire_bytes
            qp.state = IDLE
            message = qp.sendable_message()
            if message is None or qp.next_start_ps(now) > now:  # its rate or window has changed since it queued
                self.schedule(qp, now)
                continue
            self.serve(qp, message, now)
            break
        # A credit that must wait for tokens has an event of its own.
        if self.waiting & ~self.paused and not self.is_wake_pending and self.busy_until_ps > now:
            self.wake_at_end()

    def serve(self, qp: Any, message: Any, now: int) -> None:
        """Send the next packet of a queue pair, and see to the one after it; the caller sees to the wake."""
        self.served = qp.number
        self.send_data(qp, message, now)
        self.join_line(qp, now)

    def send_queued(self, cls: int, now: int) -> None:
        """Send the first packet of a class's queue."""
        packet = self.take(cls)
        if not self.queues[cls] and not self.lines[cls]:
            self.waiting ^= 1 << cls
        self.transmit(packet, now)

    def take_turn(self, line: list[int]) -> int:
        """Take the queue pair out of the line whose turn it is: the next one, or with the fewest packets to send."""
        at = bisect_right(line, self.served)
        if not self._net.is_round_robin:
            at = min(range(len(line)), key=lambda i: self._net.qps[line[i]].remaining_packets())
        return line.pop(at if at < len(line) else 0)

    def send_data(self, qp: Any, message: Any, now: int) -> None:
        """Make the message's next packet and put it on the link."""
        net = self._net
        psn = message.next_psn
        packet = net.new_packet()
        packet.kind = DATA
        packet.priority = message.priority
        packet.message = message.number
        packet.qp = qp.number
        packet.dst = qp.dst
        packet.psn = psn
        payload = net.payload_bytes
        if psn == message.packets - 1:
            payload = message.size_bytes - psn * payload
        packet.payload_bytes = payload
        packet.wire_bytes = max(payload + net.header_bytes, net.least_wire_bytes)
        packet.sent_ps = now if not net.has_clocks else self.node.clock(now)
        message.next_psn = psn + 1
        if psn == message.highest_psn:
            message.highest_psn = psn + 1
        else:
            note_out_of_order(net, message, psn)
        qp.inflight_bytes += payload
        qp.credits -= 1
        net.sent_bytes += payload
        request = net.new_packet() if net.has_requests else None
        if net.on_send is not None:
            net.on_send(qp, message, packet, request, now)
        if net.marks_at_nic:
            if net.on_enqueue is not None:
                net.on_enqueue(self, packet, now)
            if net.on_dequeue is not None:
                net.on_dequeue(self, packet, now)
            if packet.ce:
                self.marked_packets += 1
        qp.last_start_ps = now
        qp.last_wire_bytes = packet.wire_bytes
        self.transmit(packet, now)
        if request is not None and address_request(net, request, qp, message, now):
            cls = request.priority
            # One of a data class waits with its message, whatever its class there; the caller sees to its turn.
            self.join_queue(request, cls if cls < DATA_CLASS else message.priority, now)

    def schedule(self, qp: Any, now: int) -> None:
        """Put a queue pair in line, or wait for its pacing time, or for what it lacks; then wake the port."""
        if self.join_line(qp, now) and not self.is_wake_pending:
            self.kick(now)

    def join_line(self, qp: Any, now: int) -> bool:
        """As `schedule`, without waking the port; return whether the queue pair joined the line."""
        if qp.state == READY:
            return False
        message = qp.sendable_message()
        start_ps = NEVER if message is None else qp.next_start_ps(now)
        if start_ps >= NEVER:
            qp.state = IDLE
            qp.pace_timer_ps = NEVER
        elif start_ps <= now and self.is_idle(now):
            qp.state = IDLE
            qp.pace_timer_ps = NEVER
            if self._net.wire_bytes > self.peak_queue_bytes:  # as if it had been in line
                self.peak_queue_bytes = self._net.wire_bytes
            self.serve(qp, message, now)
            if self.waiting and not self.is_wake_pending:
                self.wake_at_end()
        elif start_ps <= now or start_ps <= self.busy_until_ps:
            qp.state = READY
            qp.pace_timer_ps = NEVER
            cls = message.priority
            self.waiting |= 1 << cls
            self.join(self.lines[cls], qp)
            return True
        else:
            qp.state = PACING
            qp.pace_timer_ps = start_ps
            if start_ps < qp.pace_timer_armed:
                qp.pace_timer_armed = start_ps
                push(self._net.env, start_ps, self._net.rank("pace", qp.number), qp.pace)
        return False

    def is_idle(self, now: int) -> bool:
        """Tell whether what comes now may be sent at once."""
        if self._is_plain and not (self.waiting or self.paused or self.is_wake_pending or self.is_down):
            return self.busy_until_ps <= now
        return False

    def join(self, line: list[int], qp: Any) -> None:
        """Put a queue pair in a line."""
        insort(line, qp.number)
        self.queue_bytes += self._net.wire_bytes
        if self.queue_bytes > self.peak_queue_bytes:
            self.peak_queue_bytes = self.queue_bytes

    def ready_classes(self) -> int:
        """Return a bit for each class in which a queue pair waits."""
        return sum(1 << cls for cls, line in enumerate(self.lines) if line)

    def advance(self, qp: Any, now: int) -> None:
        """Heed that an ACK has changed a queue pair's rate; `schedule` does so, which follows."""

    def after_timer(self, qp: Any, before: tuple[float, int, int], now: int) -> None:
        """Heed that a sender's timer may have changed rate, window and credits from what they were before."""
        self.schedule(qp, now)
