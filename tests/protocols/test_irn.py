"""IRN: both bitmaps and the recovery on plain records, then its published properties in the simulator.

Theory (Mittal et al., SIGCOMM 2018): a single loss costs one retransmission and, while there is more to send, no time;
the last packet costs RTO_low; a cap of 120 KB over a round trip of 24 us is 40 Gb/s, over 48 us half of it; random loss
p leaves 1 - p of the goodput, except that lost retransmissions wait for RTO_high.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import Loss
from rdmacc.faults import ScriptedLoss
from rdmacc.interface import ACK, NAK, NEVER
from rdmacc.protocols.go_back_n import bytes_before
from rdmacc.protocols.irn import Irn, has_bit
from rdmacc.units import us
from tests.support import ACK_WIRE, WIRE, Receiver, Sender, check_conservation, check_finished, transmission


def test_packets_out_of_order_are_kept_and_reported():
    receiver = Receiver(6, Irn)
    assert receiver.take(0) == (True, ACK, 1)
    for psn in (2, 4):
        assert receiver.take(psn) == (True, NAK, 1)
        assert receiver.reply.sack_psn == psn
    assert receiver.message.received_packets == 3
    assert receiver.take(1) == (True, ACK, 3)  # over its value
    assert receiver.take(3) == (True, ACK, 5)
    assert receiver.take(5) == (True, ACK, 6)


@given(st.permutations(range(40)), st.lists(st.integers(0, 39), max_size=20))
def test_any_order_is_put_together(order, again):
    receiver, seen = Receiver(40, Irn), set()
    for psn in [*again, *order]:
        accepted, _, expected = receiver.take(psn)
        assert accepted == (psn not in seen)
        seen.add(psn)
        assert receiver.message.received_packets == len(seen)
        assert expected == next(n for n in range(41) if n not in seen)


def test_at_most_the_cap_is_in_flight():
    sender = Sender(10, recovery=Irn, bdp_cap_packets=4)
    assert [sender.send() for _ in range(4)] == [0, 1, 2, 3]
    assert not sender.can_send
    sender.hear(ACK, 2)
    assert [sender.send() for _ in range(2)] == [4, 5]
    assert not sender.can_send
    sender.hear(NAK, 2, sack_psn=4)  # packets known to have arrived still lie between the oldest and the newest
    assert [sender.send() for _ in range(2)] == [2, 3]
    assert not sender.can_send


def test_only_missing_packets_are_sent_again():
    sender = Sender(20, recovery=Irn)
    for _ in range(8):
        sender.send()
    sender.hear(NAK, 1, sack_psn=2)
    assert sender.send() == 1
    sender.hear(NAK, 1, sack_psn=5)
    assert [sender.send() for _ in range(3)] == [3, 4, 8]
    sender.hear(NAK, 1, sack_psn=6)
    assert sender.send() == 9
    assert sender.message.retransmissions == 3
    assert sender.qp.inflight_bytes == 9000
    assert [psn for psn in range(1, 8) if has_bit(sender.transfer.sacked, psn)] == [2, 5, 6]


def test_recovery_ends_when_earlier_packets_are_acknowledged():
    sender = Sender(20, recovery=Irn)
    for _ in range(4):
        sender.send()
    sender.hear(NAK, 0, sack_psn=2)
    assert sender.send() == 0
    sender.hear(ACK, 3)
    assert sender.transfer.in_recovery == 1
    sender.send()
    sender.hear(ACK, 4)
    assert sender.transfer.in_recovery == 0
    sender.send()
    sender.hear(NAK, 4, sack_psn=5)  # another loss, another recovery
    assert sender.send() == 4


def test_a_repeated_packet_is_repeated_again_by_the_timer_alone():
    sender = Sender(20, recovery=Irn)
    for _ in range(6):
        sender.send()
    sender.hear(NAK, 0, sack_psn=1)
    assert sender.send() == 0
    for psn in (2, 3, 4):
        sender.hear(NAK, 0, sack_psn=psn)
    assert sender.message.next_psn == 6
    sender.expire()  # the short timeout, set when only packet 0 was in flight
    sender.expire()
    assert [sender.send() for _ in range(3)] == [0, 5, 6]  # everything not known to have arrived
    assert sender.message.timeouts == 1


def test_the_short_timeout_is_for_few_packets():
    sender = Sender(20, recovery=Irn)
    sender.send(us(1))
    assert sender.transfer.retransmit_timer_ps == us(101)
    for _ in range(3):
        sender.send(us(2))
    sender.expire(us(101))  # now there are more packets, so it waits for the long timeout
    assert (sender.transfer.retransmit_timer_ps, sender.message.timeouts) == (us(321), 0)
    sender.hear(ACK, 3, us(150))
    assert sender.transfer.retransmit_timer_ps == us(250)
    sender.hear(ACK, 4, us(151))
    assert sender.transfer.retransmit_timer_ps == NEVER


@given(
    st.lists(
        st.one_of(
            st.just(("send", 0, 0)),
            st.tuples(st.just("ack"), st.integers(0, 12), st.just(0)),
            st.tuples(st.just("nak"), st.integers(0, 12), st.integers(1, 12)),
            st.just(("expire", 0, 0)),
        ),
        max_size=80,
    )
)
def test_bytes_in_flight_exclude_packets_acknowledged_or_chosen_again(steps):
    sender = Sender(12, 300, Irn, bdp_cap_packets=5)
    message, transfer = sender.message, sender.transfer
    for now, (what, psn, sack) in enumerate(steps):
        if what == "send" and sender.can_send:
            assert not has_bit(transfer.sacked, sender.send(now))
        elif what == "expire" and transfer.retransmit_timer_ps < NEVER:
            sender.expire(now)
        elif what in ("ack", "nak"):
            psn = min(psn, message.highest_psn)
            fields = {"sack_psn": min(sack, message.highest_psn)} if sack else {}
            sender.hear(ACK if what == "ack" else NAK, psn, now, **fields)
        if message.failed:
            return
        assert message.una_psn <= message.next_psn <= transfer.new_psn == message.highest_psn
        assert transfer.new_psn - message.una_psn <= 5
        in_flight = bytes_before(message, transfer.new_psn) - bytes_before(message, message.una_psn)
        if message.next_psn < transfer.new_psn:
            in_flight -= bytes_before(message, message.next_psn + 1) - bytes_before(message, message.next_psn)
        assert sender.qp.inflight_bytes == in_flight


RATE, DELAY = 40e9, us(1)
T, T_ACK = transmission(WIRE, RATE), transmission(ACK_WIRE, RATE)
ONE_WAY, BACK = 2 * (T + DELAY), 2 * (T_ACK + DELAY)


def simulate(engine, packets, faults=(), delay=DELAY, seed=0, **changes):
    work = rdmacc.messages([("h0", "h1", packets * 1000)])
    scheme = rdmacc.preset("irn-2018")["irn"].replace(**changes)
    graph = rdmacc.star(2, rate=RATE, delay=delay)
    return rdmacc.simulate(graph, work, scheme, engine=engine, faults=list(faults), seed=seed)


def test_one_loss_costs_one_retransmission(engine):
    """It costs one packet time, since there is more to send in the meantime."""
    result = simulate(engine, 200, [ScriptedLoss(message=0, psn=50)])
    check_finished(result)
    assert result.flows["retransmissions"][0] == 1
    assert result.flows["fct_ps"][0] == result.flows["ideal_fct_ps"][0] + T
    assert result.counters.naks == 2 * (DELAY * 2 + T + T_ACK) // T + 1  # a round trip of packets out of order


def test_the_last_packet_costs_the_short_timeout(engine):
    result = simulate(engine, 20, [ScriptedLoss(message=0, psn=19)])
    last_ack = 18 * T + ONE_WAY + BACK
    assert result.flows["fct_ps"][0] == last_ack + us(100) + ONE_WAY
    assert (result.flows["timeouts"][0], result.flows["retransmissions"][0]) == (1, 1)


@pytest.mark.parametrize(("rtt_us", "gbps"), [(24, 40), (48, 20)])
def test_the_cap_limits_the_rate(engine, rtt_us, gbps):
    """120 packets per round trip; by hand for packets with headers."""
    delay = (us(rtt_us) - 2 * T - 2 * T_ACK) // 4
    packets = 4000
    result = simulate(engine, packets, delay=delay)
    rate = (packets - 120) * WIRE * 8e12 / (result.flows["fct_ps"][0] - us(rtt_us))
    assert rate == pytest.approx(min(RATE, 120 * WIRE * 8e12 / us(rtt_us)), rel=0.02)
    assert rate == pytest.approx(gbps * 1e9, rel=0.06)  # the paper's number, without headers


@pytest.mark.parametrize("loss", [1e-3, 1e-2])
def test_random_loss_costs_lost_packets_and_timeouts(engine, loss):
    packets = 20_000
    result = simulate(engine, packets, [Loss(data=loss, links=(("h0", "s0"),))], seed=3)
    check_conservation(result)
    flow = result.flows.iloc[0]
    assert flow["status"] == "finished"
    lost = int(result.counters.lost_packets)
    assert abs(lost - packets * loss) < 4 * (packets * loss) ** 0.5
    if loss == 1e-3:
        assert flow["timeouts"] == 0
        assert flow["ideal_fct_ps"] / flow["fct_ps"] == pytest.approx(1 - loss, abs=0.002)
    else:
        waiting = flow["fct_ps"] - flow["ideal_fct_ps"] - lost * T
        assert waiting / us(320) == pytest.approx(flow["timeouts"], rel=0.3)
        assert flow["timeouts"] == pytest.approx(lost * loss, abs=4 * (lost * loss) ** 0.5)
