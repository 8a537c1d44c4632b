"""A NIC as ns-3's HPCC simulator has it: one timer for all queue pairs, and a look at each in turn.

Whenever something happens at the host - a transmission ends, an ACK arrives, a message starts, the timer expires - the
NIC looks for a packet: a reply that waits, else the first queue pair, after the one served last, that has packets left,
room in its window and a pacing time that has come (qbb-net-device.cc, GetNextQindex and DequeueAndTransmit). If there
is none and no timer is pending, one is set for the earliest pacing time of those with packets left, window or not;
none if that time has passed. What is simultaneous depends on it, to the nanosecond; schemes with a tick use it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from rdmacc.engine.ranks import ORDER_SHIFT
from rdmacc.engine.reference.events import push
from rdmacc.engine.reference.nic import NicPort
from rdmacc.engine.reference.ports import FIRST_CLASS
from rdmacc.records import NEVER
from rdmacc.rules.pacing import may_send
from rdmacc.rules.progress import packets_left
from rdmacc.state import IDLE, READY

__all__ = ["ScanningNicPort"]


class ScanningNicPort(NicPort):
    """A host's port that looks through its queue pairs; all with packets left are in one line."""

    __slots__ = ("line",)

    def __init__(self, net: Any, number: int) -> None:
        super().__init__(net, number)
        self.line: list[int] = []

    def schedule(self, qp: Any, now: int) -> None:
        """Put a queue pair with packets left in the line; look for a packet to send."""
        if qp.state != READY and qp.unsent_message() is not None:
            qp.state = READY
            self.join(self.line, qp)
        self.look(now)

    def look(self, now: int) -> None:
        """Send if the transmitter is free, else when it is."""
        if (self.line or self.waiting & ~self.paused) and not self.is_wake_pending:
            self.kick(now)

    def resume_work(self, now: int) -> None:
        """Send what waited for the link."""
        self.look(now)

    def leave(self, qp: Any) -> None:
        """Take a queue pair without packets left out of the line."""
        qp.state = IDLE
        self.line.remove(qp.number)
        self.queue_bytes -= self._net.wire_bytes

    def send_next(self, now: int) -> None:
        """Send a waiting packet, or the next one of the queue pair whose turn it is."""
        cls = FIRST_CLASS[self.waiting & ~self.paused] if self._net.is_strict else self.next_class(now)
        if cls >= 0:
            self.send_queued(cls, now)
        else:
            qp = self.turn(now)
            if qp is None:
                self.set_timer(now)
                return
            self.served = qp.number
            self.send_data(qp, qp.unsent_message(), now)
            if qp.unsent_message() is None:
                self.leave(qp)
        if (self.line or self.waiting & ~self.paused) and not self.is_wake_pending:
            self.wake_at_end()

    def turn(self, now: int) -> Any:
        """Return the queue pair that may send and whose turn it is, None for none."""
        qps = self._net.qps
        after = bisect_right(self.line, self.served)
        chosen, fewest = None, NEVER
        for number in self.line[after:] + self.line[:after]:
            qp = qps[number]
            message = qp.unsent_message()
            if message is None:
                self.leave(qp)
            elif not self.paused & 1 << message.priority and may_send(qp) and qp.next_start_ps(now) <= now:
                if self._net.is_round_robin:
                    return qp
                if packets_left(message) < fewest:
                    chosen, fewest = qp, packets_left(message)
        return chosen

    def set_timer(self, now: int) -> None:
        """Look again when the earliest pacing time has come, unless a timer is pending."""
        if self.timer_ps == NEVER:
            qps = (self._net.qps[number] for number in self.line)
            start_ps = min((qp.next_start_ps(now) for qp in qps if qp.credits > 0), default=NEVER)
            if now < start_ps < NEVER:
                self.push_timer(start_ps)

    def push_timer(self, at_ps: int) -> None:
        """Set the timer."""
        net = self._net
        rank = net.rank("pace", self.number)
        self.timer_ps, self.timer_order = at_ps, rank >> ORDER_SHIFT
        push(net.env, at_ps, rank, self.expire)

    def expire(self, now: int) -> None:
        """Serve the timer, unless another one has taken its place."""
        if self._net.order_now == self.timer_order and self.timer_ps == now:
            self.timer_ps = NEVER
            self.look(now)

    def advance(self, qp: Any, now: int) -> None:
        """Bring the timer forward if an ACK has (rdma-hw.cc, ChangeRate)."""
        start_ps = qp.next_start_ps(now)
        if start_ps < self.timer_ps < NEVER:
            self.push_timer(max(start_ps, now))

    def after_timer(self, qp: Any, before: tuple[float, int, int], now: int) -> None:
        """Heed what a sender's timer has changed; nothing else makes the NIC look."""
        rate_bps, *room = before
        if qp.rate_bps != rate_bps:
            self.advance(qp, now)
        if [qp.window_bytes, qp.credits] != room:
            self.schedule(qp, now)
