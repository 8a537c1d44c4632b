"""A host's NIC: which queue pair sends next, and when."""

from __future__ import annotations

from bisect import bisect_right, insort
from functools import partial
from typing import TYPE_CHECKING

from rdmacc.engine.reference.core import Core, Message, Packet, QueuePair
from rdmacc.engine.reference.ports import Port
from rdmacc.engine.trace import QUEUED, RELEASED
from rdmacc.interface import IDLE, NEVER, NONE, NUM_CLASSES, PACING, READY, REQUEST
from rdmacc.rules import *

if TYPE_CHECKING:
    from rdmacc.engine.reference.hosts import Host


def unsent_message(qp: QueuePair) -> Message | None:
    """Return the first message of a queue pair with a packet to send."""
    for message in qp.pending:
        if message.next_psn < message.granted_psn:
            return message
    return None


def _next_message(qp: QueuePair) -> Message | None:
    """Return the message that a queue pair sends next, None if it has nothing to send or must not."""
    return unsent_message(qp) if may_send(qp) else None


def _remaining_packets(qp: QueuePair) -> int:
    """Return how many packets are left of the message that a queue pair sends next."""
    message = _next_message(qp)
    return NEVER if message is None else message.packets - message.next_psn


class NicPort(Port):
    """A host's port: replies wait in queues; a data packet is made only when its queue pair's turn comes.

    Queue pairs that may send wait in one line per class and take turns by number: the next is the first in line after
    the one served last. So a queue pair that has just sent does not overtake one that has just joined.
    """

    __slots__ = ("_full_bytes", "_marks", "host", "lines")

    host: Host

    def __init__(self, net: Core, number: int) -> None:
        super().__init__(net, number)
        self._full_bytes = net.scheme.wire_bytes
        self._marks = net.scheme.marks_at_nic
        self.lines: list[list[int]] = [[] for _ in range(NUM_CLASSES)]  # numbers of queue pairs, ascending

    # Whose turn it is

    def schedule(self, qp: QueuePair, now: int) -> None:
        """Send from a queue pair, or queue it for its turn, its pacing time or whatever it lacks."""
        if self.join_line(qp, now) and not self.is_wake_pending:
            self.kick(now)

    def join_line(self, qp: QueuePair, now: int) -> bool:
        """Like `schedule`, but do not wake the port; return whether the queue pair joined the line."""
        if self.net.explains:
            self.note_stop(qp, now)
        if qp.state == READY:
            return False
        message = _next_message(qp)
        start_ps = NEVER if message is None else next_start_ps(self.env, qp, now)
        if start_ps <= now and message is not None and self.is_idle(now):
            self.peak_queue_bytes = max(self.peak_queue_bytes, self._full_bytes)  # as if it had been in line
            qp.state, qp.pace_timer_ps = IDLE, NEVER
            self._serve(qp, message, now)
            if self.waiting and not self.is_wake_pending:
                self.wake_at_end()
            return False
        state = wait_for_turn(qp, start_ps, self.busy_until_ps, now)
        if state == PACING and arm_pace(qp):
            self.env.call(start_ps, PACE + qp.number, partial(self._pace, qp))
        if state != READY or message is None:
            return False
        self.waiting |= 1 << message.priority
        self.join(self.lines[message.priority], qp)
        return True

    def _pace(self, qp: QueuePair, now: int) -> None:
        """Serve the event of a pacing time, which may have moved since the event was scheduled."""
        if expire_pace(qp, now):
            self.schedule(qp, now)

    def join(self, line: list[int], qp: QueuePair) -> None:
        """Append a queue pair to a line, where it counts as one full packet."""
        insort(line, qp.number)
        self.queue_bytes += self._full_bytes
        self.peak_queue_bytes = max(self.peak_queue_bytes, self.queue_bytes)

    def take_turn(self, cls: int) -> QueuePair:
        """Remove the queue pair whose turn it is from a line: the next one, or the one with the fewest packets left."""
        line, qps = self.lines[cls], self.net.qps
        at = bisect_right(line, self.served)
        if self.net.scheme.nic_order == "srpt":
            at = min(range(len(line)), key=lambda place: _remaining_packets(qps[line[place]]))
        qp = qps[line.pop(at if at < len(line) else 0)]
        if not self.has_work(cls):
            self.waiting ^= 1 << cls
        self.queue_bytes -= self._full_bytes
        qp.state = IDLE
        return qp

    def has_work(self, cls: int) -> bool:
        """Return whether a packet or a queue pair waits in a class."""
        return bool(self.queues[cls] or self.lines[cls])

    def note_stop(self, qp: QueuePair, now: int) -> None:
        """Note in the trace what keeps a queue pair from sending, if that has changed."""
        start_ps = next_start_ps(self.env, qp, now)
        stop = what_stops(qp, unsent_message(qp) is not None, start_ps, self.busy_until_ps, now)
        if stop != qp.stopped_by and self.net.trace is not None:
            qp.stopped_by = stop
            self.net.trace.add_stop(now, self.number, qp.number, stop, qp.first_message.number)

    # Sending

    def send_next(self, now: int) -> None:
        """Send a waiting packet, or the next one of the queue pair whose turn it is."""
        while (cls := self.next_class(now)) >= 0:
            if self.queues[cls]:
                self.transmit(self.take(cls), now)
                break
            qp = self.take_turn(cls)
            message = _next_message(qp)
            if message is not None and next_start_ps(self.env, qp, now) <= now:
                self._serve(qp, message, now)
                break
            self.join_line(qp, now)  # its rate or window has changed since it queued
        # A credit that must wait for tokens has an event of its own.
        if self.waiting & ~self.paused and not self.is_wake_pending and self.busy_until_ps > now:
            self.wake_at_end()

    def _serve(self, qp: QueuePair, message: Message, now: int) -> None:
        """Send the next packet of a queue pair and put the queue pair in line again; the caller wakes the port."""
        self.served = qp.number
        self.send_data(qp, message, now)
        self.join_line(qp, now)

    def send_data(self, qp: QueuePair, message: Message, now: int) -> None:
        """Make the message's next packet and put it on the link."""
        net, psn = self.net, message.next_psn
        packet = net.new_packet()
        write_data(net.scheme, packet, qp, message)
        if net.explains and net.trace is not None and (paced_ps := next_start_ps(self.env, qp, now)) < now:
            net.trace.add(paced_ps, RELEASED, self.number, packet)
        packet.sent_ps = self.host.clock(now)
        if not sends_in_order(message, psn):
            self._note_out_of_order(message, psn)
        qp.inflight_bytes += packet.payload_bytes
        qp.credits -= 1
        qp.contenders = self.queue_bytes // self._full_bytes
        net.sent_bytes += packet.payload_bytes
        request = net.new_request()
        if net.on_send is not None:
            net.on_send(qp, message, packet, request, now)
        if self._marks:
            self._mark(packet, now)
        qp.last_start_ps = now
        qp.last_wire_bytes = packet.wire_bytes
        self.transmit(packet, now)
        if request is not None and self._address(request, qp, message, now):
            self.join_queue(request, request_class(request, message), now)  # the caller sees to its turn

    def _note_out_of_order(self, message: Message, psn: int) -> None:
        """Count a retransmission; note skipped packets, whose first transmission is still to come."""
        skipped = self.net.skipped[message.number]
        if psn > message.highest_psn:
            skipped.update(range(message.highest_psn, psn))
            message.highest_psn = psn + 1
        elif psn in skipped:
            skipped.remove(psn)
        else:
            message.retransmissions += 1

    def _mark(self, packet: Packet, now: int) -> None:
        """Run the switch features that mark at the NIC."""
        if self.net.on_enqueue is not None:
            self.net.on_enqueue(self, packet, now)
        if self.net.on_dequeue is not None:
            self.net.on_dequeue(self, packet, now)
        if packet.ce:
            self.marked_packets += 1

    # Requests

    def send_request(self, request: Packet | None, qp: QueuePair, message: Message, now: int) -> None:
        """Send what a sender's handlers filled in to the queue pair's receiver, if they did."""
        if request is not None and self._address(request, qp, message, now):
            self.enqueue(request, request.priority, now)

    def _address(self, request: Packet, qp: QueuePair, message: Message, now: int) -> bool:
        """Address a request to the receiver; return False if no handler filled it in."""
        if request.kind == NONE:
            return False
        address_request(self.net.scheme, request, qp, message)
        request.sent_ps = self.host.clock(now)
        self.net.reply_counts[REQUEST] += 1
        if self.net.explains and self.net.trace is not None:
            self.net.trace.add(now, QUEUED, self.number, request)
        return True

    # Changes of rate, window and credits

    def heed_rate(self, qp: QueuePair, now: int) -> None:
        """React to an ACK that has changed a queue pair's rate; here `schedule`, called next, does that."""

    def heed_timer(self, qp: QueuePair, before: tuple[float, int, int], now: int) -> None:
        """React to a sender's timer, which may have changed rate, window and credits from `before`."""
        self.schedule(qp, now)


class ScanningNicPort(NicPort):
    """A port as in HPCC's ns-3 simulator: one timer, and a scan over one line of all queue pairs with packets left.

    Whenever something happens at the host (a transmission ends, an ACK arrives, a message starts, the timer expires),
    the NIC looks for a packet. Waiting replies come first. Then comes the first queue pair after the one served last
    that has packets left, room in its window, and a pacing time that has come (qbb-net-device.cc, GetNextQindex and
    DequeueAndTransmit). If there is none and no timer is pending, a timer is set for the earliest pacing time of all
    queue pairs with packets left, whatever their windows, unless that time has passed. The order of simultaneous events
    depends on this, to the nanosecond (`Scheme.has_scanning_nics`).
    """

    __slots__ = ("line",)

    def __init__(self, net: Core, number: int) -> None:
        super().__init__(net, number)
        self.line: list[int] = []

    def schedule(self, qp: QueuePair, now: int) -> None:
        """Put a queue pair with packets left in the line; look for a packet to send."""
        if self.net.explains:
            self.note_stop(qp, now)
        if qp.state != READY and unsent_message(qp) is not None:
            qp.state = READY
            self.join(self.line, qp)
        self.resume_work(now)

    def resume_work(self, now: int) -> None:
        """Send if the transmitter is free; otherwise when it is."""
        if self._may_have_work() and not self.is_wake_pending:
            self.kick(now)

    def _may_have_work(self) -> bool:
        """Return whether anything waits that PFC has not stopped, or a queue pair has packets left."""
        return bool(self.line or self.waiting & ~self.paused)

    def _leave(self, qp: QueuePair) -> None:
        """Take a queue pair without packets left out of the line."""
        qp.state = IDLE
        self.line.remove(qp.number)
        self.queue_bytes -= self._full_bytes

    def send_next(self, now: int) -> None:
        """Send a waiting packet, or the next one of the queue pair whose turn it is."""
        cls = self.next_class(now)
        if cls >= 0:
            self.transmit(self.take(cls), now)
        else:
            qp = self._turn(now)
            message = unsent_message(qp) if qp is not None else None
            if qp is None or message is None:
                self._set_timer(now)
                return
            self.served = qp.number
            self.send_data(qp, message, now)
            if self.net.explains:
                self.note_stop(qp, now)
            if unsent_message(qp) is None:
                self._leave(qp)
        if self._may_have_work() and not self.is_wake_pending:
            self.wake_at_end()

    def _turn(self, now: int) -> QueuePair | None:
        """Return the queue pair that may send and whose turn it is, None for none."""
        after = bisect_right(self.line, self.served)
        chosen, fewest = None, NEVER
        for number in self.line[after:] + self.line[:after]:
            qp = self.net.qps[number]
            message = unsent_message(qp)
            if message is None:
                self._leave(qp)
            elif not self.paused & 1 << message.priority and may_send(qp) and next_start_ps(self.env, qp, now) <= now:
                if self.net.scheme.nic_order == "round-robin":
                    return qp
                left = message.packets - message.next_psn
                if left < fewest:
                    chosen, fewest = qp, left
        return chosen

    def _set_timer(self, now: int) -> None:
        """Scan again at the earliest pacing time, unless a timer is pending."""
        if self.timer_ps == NEVER:
            qps = (self.net.qps[number] for number in self.line)
            starts_ps = (next_start_ps(self.env, qp, now) for qp in qps if qp.credits > 0)
            start_ps = min(starts_ps, default=NEVER)
            if now < start_ps < NEVER:
                self._push_timer(start_ps)

    def _push_timer(self, at_ps: int) -> None:
        self.env.call(at_ps, PACE + self.number, self._expire)
        self.timer_ps, self.timer_order = at_ps, self.env.order

    def _expire(self, now: int) -> None:
        """Serve the timer, unless a later one has replaced it."""
        if self.env.order_now == self.timer_order and self.timer_ps == now:
            self.timer_ps = NEVER
            self.resume_work(now)

    def heed_rate(self, qp: QueuePair, now: int) -> None:
        """Bring the timer forward if an ACK has (rdma-hw.cc, ChangeRate)."""
        start_ps = next_start_ps(self.env, qp, now)
        if start_ps < self.timer_ps < NEVER:
            self._push_timer(max(start_ps, now))

    def heed_timer(self, qp: QueuePair, before: tuple[float, int, int], now: int) -> None:
        """React to changes by a sender's timer; nothing else makes the NIC scan."""
        rate_bps, *room = before
        if qp.rate_bps != rate_bps:
            self.heed_rate(qp, now)
        if [qp.window_bytes, qp.credits] != room:
            self.schedule(qp, now)
