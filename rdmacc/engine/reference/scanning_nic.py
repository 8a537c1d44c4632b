"""A NIC as in HPCC's ns-3 simulator: one timer for all queue pairs, and a scan over them.

Whenever something happens at the host (a transmission ends, an ACK arrives, a message starts, the timer expires), the
NIC looks for a packet. Waiting replies come first. Then comes the first queue pair after the one served last that has
packets left, room in its window, and a pacing time that has come (qbb-net-device.cc, GetNextQindex and
DequeueAndTransmit). If there is none and no timer is pending, a timer is set for the earliest pacing time of all queue
pairs with packets left, whatever their windows, unless that time has passed. The order of simultaneous events depends
on this, to the nanosecond (`Scheme.has_scanning_nics`).
"""

from bisect import bisect_right

from rdmacc.engine.reference.core import Core
from rdmacc.engine.reference.nic import NicPort, unsent_message
from rdmacc.engine.reference.traffic import QueuePair
from rdmacc.records import NEVER
from rdmacc.rules.pacing import may_send, next_start_ps
from rdmacc.rules.ranks import PACE
from rdmacc.state import IDLE, READY


class ScanningNicPort(NicPort):
    """A host's port that scans one line of all queue pairs with packets left."""

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
