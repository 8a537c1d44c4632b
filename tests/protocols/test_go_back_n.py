"""Go-back-N: receiver and sender on plain records, and losses at known places in the simulator, to the picosecond.

Theory: InfiniBand's reliable connection (cumulative ACKs, a NAK for a gap, everything from the gap on sent again), with
the NAK interval of the public ns-3 receiver and a timeout. One loss costs one round trip of packets. n packets with an
ACK request every k get n / k ACKs and one for the last. Loss p and W packets per round trip leave (1 - p) / (1 + p (W -
1)) of the goodput.

The preset `roce-htsim` against csg-htsim's results.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import probes
from rdmacc.experiments import experiment
from rdmacc.experiments.validation.references import is_exact, theirs
from rdmacc.interface import ACK, NAK, NEVER, NONE
from rdmacc.units import ms, us
from tests.support import (
    ACK_WIRE,
    WIRE,
    Receiver,
    Sender,
    check_finished,
    dropping,
    samples,
    transmission,
)  # fmt: skip


@pytest.mark.parametrize(("packets", "every", "acks"), [(4096, 256, 16), (4097, 256, 17), (100, 256, 1), (10, 3, 4)])
def test_acks_at_the_milestones_and_at_the_last_packet(packets, every, acks):
    receiver = Receiver(packets, ack_every_packets=every)
    replies = [receiver.take(psn) for psn in range(packets)]
    assert all(accepted for accepted, _, _ in replies)
    assert sum(kind == ACK for _, kind, _ in replies) == acks
    assert replies[-1] == (True, ACK, packets)
    assert all(psn % every == 0 or psn == packets for _, kind, psn in replies if kind == ACK)


def test_a_gap_is_reported_once_per_expected_packet():
    receiver = Receiver()
    assert receiver.take(0) == (True, ACK, 1)
    assert receiver.take(2) == (False, NAK, 1)
    assert [receiver.take(psn) for psn in range(3, 8)] == [(False, NONE, 1)] * 5
    assert receiver.take(1) == (True, ACK, 2)
    assert receiver.take(3) == (False, NAK, 2)  # another gap: reported at once, whatever the interval


def test_a_gap_is_reported_again_after_the_interval():
    receiver = Receiver(nak_interval_ps="500us")
    times = [0, us(499), us(500), us(700), us(999), us(1000)]
    kinds = [receiver.take(5, now)[1] for now in times]
    assert kinds == [NAK, NONE, NAK, NONE, NONE, NAK]


def test_duplicates_are_not_accepted_but_acknowledged_again():
    receiver = Receiver(4)
    for psn in range(4):
        receiver.take(psn)
    assert [receiver.take(psn) for psn in range(4)] == [(False, ACK, 4)] * 4
    receiver = Receiver(4, ack_every_packets=2)
    for psn in range(4):
        receiver.take(psn)
    assert [receiver.take(psn)[1] for psn in range(4)] == [NONE, ACK, NONE, ACK]


@given(st.lists(st.integers(0, 9), max_size=60))
def test_whatever_arrives_is_accepted_in_order(arrivals):
    receiver, expected = Receiver(10), 0
    for now, psn in enumerate(arrivals):
        accepted, kind, cumulative = receiver.take(psn, now)
        assert accepted == (psn == expected)
        expected += accepted
        assert receiver.message.received_packets == expected
        if kind != NONE:
            assert cumulative == expected
        if kind == NAK:
            assert psn > expected


@pytest.mark.parametrize(
    ("sent", "replies", "windows"),
    [
        (5, [(ACK, 3), (ACK, 2), (ACK, 5)], [(3, 5), (3, 5), (5, 5)]),  # cumulative: an old one changes nothing
        (8, [(NAK, 3)], [(3, 3)]),  # everything below has arrived; everything from there on is sent again
        (8, [(NAK, 2), (ACK, 6)], [(2, 2), (6, 6)]),  # caused by the first copies: the sender moves on
        (4, [(ACK, 1), "timeout"], [(1, 4), (1, 1)]),
    ],
)
def test_replies_move_the_window(sent, replies, windows):
    sender = Sender()
    for _ in range(sent):
        sender.send()
    for reply, window in zip(replies, windows, strict=True):
        if reply == "timeout":
            sender.expire()
        else:
            sender.hear(*reply)
        assert (sender.window, sender.qp.inflight_bytes) == (window, 1000 * (window[1] - window[0]))


def test_every_reply_restarts_the_timer():
    sender = Sender(timeout_ps="1ms")
    sender.send(us(1))
    assert sender.transfer.retransmit_timer_ps == us(1) + ms(1)
    sender.send(us(2))
    assert sender.transfer.retransmit_timer_ps == us(1) + ms(1)  # sending more does not
    sender.hear(ACK, 1, us(5))
    assert sender.transfer.retransmit_timer_ps == us(5) + ms(1)
    sender.hear(ACK, 2, us(6))
    assert sender.transfer.retransmit_timer_ps == NEVER  # nothing is outstanding


def test_progress_resets_the_count_of_timeouts_and_a_reply_without_it_does_not():
    sender = Sender(retry_limit=1)
    for psn in range(1, 9):
        sender.send()
        sender.expire()
        sender.send()
        sender.hear(ACK, psn)
    assert (sender.message.failed, sender.message.timeouts) == (0, 8)
    for _ in range(2):
        sender.send()
        sender.hear(NAK, 8)
        sender.send()
        sender.expire()
    assert sender.message.failed == 1


RATE, DELAY = 40e9, us(1)
T, T_ACK = transmission(WIRE, RATE), transmission(ACK_WIRE, RATE)
ONE_WAY, BACK = 2 * (T + DELAY), 2 * (T_ACK + DELAY)


def simulate(engine, packets, scheme, **options):
    work = rdmacc.messages([("h0", "h1", packets * 1000)])
    return rdmacc.simulate(rdmacc.star(2, rate=RATE, delay=DELAY), work, scheme, engine=engine, **options)


@pytest.mark.parametrize("lost", [0, 7, 50])
def test_one_loss_by_hand(engine, lost):
    """Packet p + 1 reveals the loss. Until the NAK is back the sender keeps sending: C RTT packets in vain."""
    packets = 200
    result = simulate(engine, packets, dropping(lost))
    check_finished(result)
    nak_back = (lost + 1) * T + ONE_WAY + BACK
    sent = math.ceil(nak_back / T)  # packets that started before the NAK came
    assert result.flows["retransmissions"][0] == sent - lost
    assert (result.counters.naks, result.counters.timeouts) == (1, 0)
    resumed = max(nak_back, sent * T)
    assert result.flows["fct_ps"][0] == resumed + (packets - lost - 1) * T + ONE_WAY
    # 40 Gb/s, a round trip of 4 us and 1 kB packets: about 20.
    assert 18 <= sent - lost <= 25


def test_a_lost_retransmission_waits_for_the_nak_interval(engine):
    """The packet is lost twice: the first packet after the interval triggers the second NAK."""
    interval = us(50)
    probe = probes.field("flow", 0, "received_packets")
    result = simulate(engine, 1000, dropping(10, times=2, nak_interval_ps=interval), probes=[probe])
    check_finished(result)
    assert (result.counters.naks, result.counters.timeouts) == (2, 0)
    first_nak = 11 * T + ONE_WAY
    accepted = next(at for at, value in samples(result, "received_packets 0") if value == 11.0)
    rtt = ONE_WAY + BACK
    assert first_nak + interval + rtt <= accepted <= first_nak + interval + rtt + 2 * T


@pytest.mark.parametrize("case", ["8 x 1 MB", "32 x 200 kB", "32 x 1 MB"])
def test_incasts_on_a_star_end_at_the_same_time(case):
    name = f"roce-9000, star, {case}"
    rows = theirs("htsim")
    point = next(one for one in experiment("validation.htsim").points() if one.name == name)
    result = point.scenario.run()
    last_ps = result.flows["fct_acked_ps"].nlargest(1).reset_index(drop=True)
    wanted_ps = rows.loc[rows["point"] == name, "fct_ps"].nlargest(1).reset_index(drop=True)
    assert is_exact(last_ps, wanted_ps, "htsim").all()
    assert result.counters.pfc_violations == result.counters.retransmissions == 0
    assert result.counters.pfc_pauses > 0
