"""Transmission clocked by grants: packets sent for a grant, losses, and retransmissions."""

from rdmacc.protocols.grant_clock import GrantClock
from rdmacc.records import NEVER
from rdmacc.state import CREDIT, Packet, QueuePair
from tests.support import call, make_message, make_transfer


class Sender:
    """A sender as an engine drives it: one message of packets of 1000 bytes."""

    def __init__(self, packets=10, unscheduled=4, **changes):
        self.params = GrantClock(unscheduled_packets=unscheduled, base_rtt_ps=1_000_000, **changes)
        self.message, self.transfer, self.qp = make_message(packets), make_transfer(GrantClock, packets), QueuePair()
        self._call("on_open")

    def _call(self, handler, packet=None, now=0):
        call(
            getattr(self.params, handler), params=self.params, qp=self.qp, message=self.message,
            transfer=self.transfer, packet=packet, now=now,
        )  # fmt: skip

    def send(self, now=0):
        """Send all that may go; return the packets' numbers."""
        sent = []
        while self.qp.credits > 0 and self.message.next_psn < self.message.packets:
            packet = Packet()
            packet.psn = self.message.next_psn
            self.message.next_psn += 1
            self.message.highest_psn = max(self.message.highest_psn, self.message.next_psn)
            self.qp.credits -= 1
            self.qp.inflight_bytes += 1000
            self._call("on_send", packet, now)
            sent.append(packet.psn)
        return sent

    def grant(self, psn, now=0):
        packet = Packet()
        packet.kind, packet.psn = CREDIT, psn
        self._call("on_credit", packet, now)
        return self.send(now)

    def expire(self):
        now, self.transfer.loss_timer_ps = self.transfer.loss_timer_ps, NEVER
        self._call("on_loss_timer", now=now)
        return self.send(now)


def test_one_packet_for_each_grant_in_any_order():
    sender = Sender()
    assert sender.send() == [0, 1, 2, 3]
    assert [sender.grant(psn) for psn in (2, 0, 3, 1)] == [[4], [5], [6], [7]]
    assert sender.message.una_psn == 4
    assert sender.transfer.in_flight == 4
    assert sender.qp.inflight_bytes == 4000


def test_a_lost_packet_takes_the_next_grant_and_leaves_one_fewer_in_flight():
    sender = Sender()
    sender.send()
    assert [sender.grant(psn, now=1_000_000) for psn in (1, 2, 3)] == [[4], [5], [6]]
    assert sender.transfer.loss_timer_ps == 3_000_000  # set with the first packet, which has no grant
    assert sender.expire() == []
    assert (sender.transfer.in_flight, sender.transfer.lost_packets) == (3, 1)
    assert sender.grant(4) == [0]
    assert sender.grant(5) == [7]


def test_the_timer_is_for_what_was_in_flight_when_it_was_set():
    """Once all of these are granted it is set for the others; packets sent since do not count as lost."""
    sender = Sender()
    sender.send()
    assert sender.grant(0, now=500_000) == [4]
    assert sender.transfer.timed_psn == 4  # the first timer was for packet 0 alone
    assert sender.transfer.loss_timer_ps == 3_500_000
    sender.expire()
    assert sender.transfer.lost_packets == 3
    assert sender.transfer.in_flight == 1


def test_with_nothing_in_flight_one_packet_goes_without_a_grant():
    sender = Sender()
    sender.send()
    assert sender.expire() == []  # the first timer was for packet 0 alone
    assert sender.expire() == [0]
    assert sender.transfer.in_flight == 1
    assert sender.transfer.lost_packets == 3


def test_without_grants_a_message_fails_after_its_recoveries():
    """Three base RTTs apart; a grant begins the count again."""
    sender = Sender(retry_limit=3)
    sender.send()
    sender.expire()
    sender.expire()
    sender.grant(0, now=9_000_000)
    sender.transfer.loss_timer_ps = 12_000_000
    times = []
    while not sender.message.failed:
        times.append(sender.transfer.loss_timer_ps)
        sender.expire()
    assert times == [12_000_000, 15_000_000, 18_000_000, 21_000_000]
    assert sender.qp.inflight_bytes == 0
    assert sender.transfer.retries == 4


def test_a_late_grant_is_not_a_loss():
    sender = Sender()
    sender.send()
    sender.expire()
    assert sender.grant(0) == [4]
    assert sender.transfer.lost_packets == 0
    assert sender.transfer.in_flight == 4


def test_grants_that_find_nothing_to_send_are_gone():
    sender = Sender(packets=4)
    sender.send()
    for psn in (1, 2, 3):
        assert sender.grant(psn) == []
    assert sender.qp.credits == 0
    assert sender.expire() == [0]
    sender.grant(0)
    assert sender.message.una_psn == 4
    assert sender.qp.inflight_bytes == 0


def test_the_first_burst_is_a_bdp():
    """40 Gb/s for 10 us are 33.3 packets of 1.5 KB: the one that begins within the round trip counts."""
    qp = QueuePair()
    qp.line_bps = 40e9
    GrantClock.on_open(GrantClock(base_rtt_ps="10us"), qp)
    assert qp.credits == 34
