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
from rdmacc.rules.addressing import request_class, write_data
from rdmacc.rules.pacing import arm_pace, expire_pace, may_send, next_start_ps, wait_for_turn
from rdmacc.rules.progress import has_unsent, packets_left, sends_in_order
from rdmacc.state import IDLE, NUM_CLASSES, PACING, READY

__all__ = ["NicPort", "QueuePair"]


class QueuePair(state.QueuePair, QueuePairUse):
    """A queue pair: its unacknowledged messages first in, first out, and the NIC that serves it."""

    __slots__ = ("nic", "pending", "reply_nic")

    pace_timer_armed: int

    def __init__(self) -> None:
        super().__init__()
        self.pending: deque[Message] = deque()
        self.nic: Any = None
        self.reply_nic: Any = None

    def sendable_message(self) -> Message | None:
        """Return the first message with a packet to send, if window and credits allow one."""
        return self.unsent_message() if may_send(self) else None

    def unsent_message(self) -> Message | None:
        """Return the first message with a packet to send."""
        for message in self.pending:
            if has_unsent(message):
                return message
        return None

    def next_start_ps(self, now: int) -> int:
        """Return when the pacing rate lets the next packet start."""
        return int(next_start_ps(self, self.nic._net.tick_ps, now))

    def remaining_packets(self) -> int:
        """Return how many packets the message that is served next has left to send."""
        message = self.sendable_message()
        return NEVER if message is None else packets_left(message)

    def pace(self, now: int) -> None:
        """Serve the pacing timer: its event may be early or stale, since deadlines move."""
        if expire_pace(self, now):
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
        write_data(net.plan.scheme, packet, qp, message)
        packet.sent_ps = now if not net.has_clocks else self.node.clock(now)
        if not sends_in_order(message, psn):
            note_out_of_order(net, message, psn)
        qp.inflight_bytes += packet.payload_bytes
        qp.credits -= 1
        net.sent_bytes += packet.payload_bytes
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
            self.join_queue(request, request_class(request, message), now)  # the caller sees to its turn

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
        state = wait_for_turn(qp, start_ps, self.busy_until_ps, now)
        if state == READY:
            assert message is not None
            self.waiting |= 1 << message.priority
            self.join(self.lines[message.priority], qp)
            return True
        if state == PACING and arm_pace(qp):
            push(self._net.env, start_ps, self._net.rank("pace", qp.number), qp.pace)
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
