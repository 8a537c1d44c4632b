"""New Reno: the sender's reaction to each ACK, then losses in the simulator, with times computed by hand.

Theory: RFC 5681, 6582, 3042 and 6298. Bytes in flight are those sent and not acknowledged, minus one packet per
duplicate ACK, which is equivalent to inflating the window.
"""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc.faults import Loss, ScriptedLoss
from rdmacc.interface import ACK, DATA, NAK, NEVER
from rdmacc.protocols.line_rate import LineRate
from rdmacc.protocols.new_reno import NewReno
from rdmacc.units import ms, us
from tests.support import (
    ACK_WIRE,
    WIRE,
    Sender,
    check_conservation,
    check_finished,
    make_message,
    make_transfer,
    packet_with,
    transmission,
)


class Side(Sender):
    """A sender that counts its packets in flight and can hear several ACKs at once."""

    def __init__(self, packets=100, sends=0, **changes):
        self.now = 0
        super().__init__(packets, recovery=NewReno, **changes)
        self.send(sends)

    @property
    def in_flight(self):
        return self.qp.inflight_bytes // 1000

    def send(self, count=1):
        for _ in range(count):
            super().send(self.now)

    def ack(self, psn, count=1, rtt=us(10)):
        """Hear ACKs; return the last one's meaning for control."""
        return [self.hear(ACK, psn, self.now, stamp_ps=self.now - rtt).kind for _ in range(count)][-1]


def test_duplicates_count_as_packets_that_have_left():
    """Limited transmit: each of the first two releases one more packet."""
    side = Side(sends=10)
    assert side.ack(3) == ACK
    assert side.in_flight == 7
    assert [side.ack(3), side.ack(3)] == [ACK, ACK]
    assert side.in_flight == 5
    side.ack(4)  # they were only reordered
    assert side.in_flight == 6


def test_the_third_duplicate_sends_the_packet_again_whatever_the_window():
    side = Side(sends=10)
    side.ack(3)
    assert side.ack(3, 3) == NAK
    assert (side.message.next_psn, side.in_flight) == (3, 0)
    side.send()
    assert side.sent[-1].psn == 3
    assert side.message.next_psn == 10  # and goes on as before
    assert side.in_flight == 4  # 10 - 3, less three duplicates
    side.send()
    assert side.sent[-1].psn == 10


def test_a_full_ack_ends_recovery():
    side = Side(sends=10)
    side.ack(3, 1 + 6)
    side.send(1 + 3)  # the lost packet, and three new ones
    side.ack(10)
    assert not side.transfer.recovering
    assert side.in_flight == 3
    assert side.ack(10, 3) == NAK  # the next loss is a new one


def test_a_partial_ack_sends_the_next_hole_again():
    """Two losses in one window: 3 and 6."""
    side = Side(sends=10)
    side.ack(3, 1 + 5)
    side.send()
    before = side.in_flight
    side.ack(6)
    assert side.transfer.recovering
    side.send()
    assert side.sent[-1].psn == 6
    assert side.in_flight == before - 1  # 7 in sequence space to 4, five duplicates less three acknowledged plus one
    side.ack(10)
    assert not side.transfer.recovering
    assert side.in_flight == 0


def test_only_the_first_partial_ack_restarts_the_timer():
    side = Side(sends=10)
    side.now = us(10)
    side.ack(1, 1 + 5)
    side.send()
    for i, expected in ((1, us(20)), (2, us(20)), (3, us(20))):
        side.now = us(10 + 10 * i)
        side.ack(1 + i)
        side.send()
        assert side.transfer.retransmit_timer_ps == expected + ms(10)


def test_a_timeout_goes_back_and_doubles():
    side = Side(sends=10)
    side.ack(2)
    assert side.transfer.retransmit_timer_ps == ms(10)
    for k in range(1, 4):
        side.expire()
        assert (side.message.next_psn, side.in_flight) == (2, 0)
        assert (side.message.timeouts, side.transfer.timeout_ps) == (k, ms(10) * 2**k)
        side.send()
        assert side.transfer.retransmit_timer_ps == ms(10) * 2**k
    side.ack(3)
    assert (side.transfer.timeout_ps, side.transfer.retries) == (ms(10), 0)


def test_duplicates_of_packets_resent_after_a_timeout_mean_nothing():
    """RFC 6582: only ACKs above `recover` start a fast retransmit."""
    side = Side(sends=10)
    side.expire()
    side.send(3)
    assert side.ack(10, 1 + 5) == ACK
    assert side.message.next_psn == 10
    side.send(4)
    side.ack(11)
    assert side.ack(11, 3) == NAK


def test_an_ack_may_overtake_the_retransmission():
    side = Side(sends=10)
    side.ack(0, 3)
    assert side.message.next_psn == 0  # it waits for its turn
    side.ack(10)
    assert (side.message.next_psn, side.in_flight, side.transfer.resume_psn) == (10, 0, -1)
    assert side.transfer.retransmit_timer_ps == NEVER


def test_the_timeout_follows_the_rtt():
    """RFC 6298: R and R / 2 first; then 1/8 and 1/4 of the difference. The minimum applies while it is larger."""
    side = Side(sends=10, min_timeout_ps="1us", max_timeout_ps="1ms")
    side.now = us(100)
    side.ack(1, rtt=us(10))
    assert side.transfer.timeout_ps == us(10) + 4 * us(5)
    side.ack(2, rtt=us(18))
    assert side.transfer.timeout_ps == us(11) + 4 * (us(5) + us(3) // 4)
    side.ack(3, rtt=us(90_000))
    assert side.transfer.timeout_ps == ms(1)


def test_bytes_of_another_message_stay_counted():
    """Two messages of one queue pair: packets to be sent again take up the window, then give it back."""
    side = Side()
    side.qp.inflight_bytes = 5000
    side.send(10)
    side.ack(0, 3)
    assert side.qp.inflight_bytes == 0
    side.send()
    assert side.qp.inflight_bytes == 5000 + 7000
    side.ack(10)
    assert side.qp.inflight_bytes == 5000


@given(order=st.permutations(range(12)), twice=st.lists(st.integers(0, 11), max_size=5), first=st.integers(0, 3000))
def test_packets_in_any_order_are_accepted_once(order, twice, first):
    """The ACK requests the first missing packet, wherever the message stands."""
    message, transfer = make_message(first + 12), make_transfer(NewReno, first + 12)
    transfer.expected_psn, missing = first, set(range(12))
    for offset in [*order, *twice]:
        packet, reply = packet_with(NewReno.Header), packet_with(NewReno.Header)
        packet.psn, packet.kind, packet.stamp_ps = first + offset, DATA, 77
        NewReno.on_data(message, transfer, packet, reply)
        assert packet.accepted == (offset in missing)
        missing.discard(offset)
        assert reply.psn == first + min(missing, default=12)
        assert (reply.kind, reply.stamp_ps) == (ACK, 77)
    assert message.received_packets == 12


@pytest.mark.parametrize(("rtt_us", "timeout_us"), [(60, 10_000), (20_000, 60_000)])
def test_the_first_timeout_is_at_least_three_base_rtts(rtt_us, timeout_us):
    qp, transfer = SimpleNamespace(base_rtt_ps=us(rtt_us)), NewReno.Transfer()
    NewReno.on_start(NewReno(), qp, transfer)
    assert transfer.timeout_ps == us(timeout_us)


RATE, DELAY = 100e9, us(1)
T, T_ACK = transmission(WIRE, RATE), transmission(ACK_WIRE, RATE)
ONE_WAY, BACK = 2 * (T + DELAY), 2 * (T_ACK + DELAY)


def run(engine, packets, *, lost=(), times=1, control=LineRate(), faults=(), **changes):
    """Send a message from h0 to h1, and lose the first copies of some packets."""
    scheme = rdmacc.Scheme(name="new-reno", recovery=NewReno(**changes), control=control, buffer=rdmacc.DropTail())
    faults = [
        ScriptedLoss(message=0, psn=psn, nth=nth + 1, kind="data") for psn in lost for nth in range(times)
    ] + list(faults)
    work = rdmacc.messages([("h0", "h1", packets * 1000)])
    result = rdmacc.simulate(rdmacc.star(2), work, scheme, engine=engine, faults=faults)
    check_conservation(result)
    return result


def test_a_lost_tail_waits_for_the_timer(engine):
    """Two packets after it are too few; the timer runs from the last ACK of new data."""
    result = run(engine, 10, lost=[7])
    last_progress = 6 * T + ONE_WAY + BACK
    assert result.flows["fct_ps"][0] == last_progress + ms(10) + ONE_WAY
    assert result.counters.timeouts == 1


def test_losses_of_one_window_take_a_round_trip_each(engine):
    """New Reno: one hole per partial ACK."""
    lost = [10, 12, 14, 16]
    result = run(engine, 40, lost=lost)
    check_finished(result)
    assert result.flows["retransmissions"][0] == len(lost)
    first_again = 13 * T + 2 * T + ONE_WAY + BACK  # duplicates by 11, 13 and 15; the NIC sends all of 40 by then
    assert result.flows["fct_ps"][0] == first_again + 3 * (ONE_WAY + BACK) + ONE_WAY
    assert result.counters.timeouts == 0


def test_back_off_until_the_link_is_given_up(engine):
    """Nothing arrives: timeouts of 1, 2, 4 and 8 ms, then the message fails."""
    result = run(engine, 1, faults=[Loss(data=1.0)], min_timeout_ps="1ms", retry_limit=3)
    assert result.flows["status"][0] == "failed"
    assert result.now_ps == ms(1 + 2 + 4 + 8)
