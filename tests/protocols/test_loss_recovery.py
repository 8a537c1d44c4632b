"""The go-back-N family: handlers on plain records, and the papers' worked examples in the simulator, to the picosecond.

Paper: Improved Go-Back-N (IGBN), sections II-A and III, figures 4 and 5. The scenarios lose chosen packets of a
twelve-packet message between two hosts on a 40 Gb/s switch; the consequences are worked out by hand.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import Loss
from rdmacc.faults import ScriptedLoss
from rdmacc.interface import ACK, NAK, NEVER, NONE
from rdmacc.models.go_back_n import GoBackNGoodput
from rdmacc.protocols.check_epsn import CheckEpsn
from rdmacc.protocols.go_back_0 import GoBack0
from rdmacc.protocols.go_back_n import TIMEOUT_REASONS, GoBackN, bytes_before
from rdmacc.protocols.improved_go_back_n import ImprovedGoBackN
from rdmacc.protocols.irn import Irn
from rdmacc.protocols.ndp import Ndp
from rdmacc.protocols.new_reno import NewReno
from rdmacc.protocols.send_twice import SendTwice
from rdmacc.units import ms, us
from tests.support import Receiver, Sender, transmission

FAMILY = {
    "go-back-0": GoBack0,
    "go-back-n": GoBackN,
    "send-twice": SendTwice,
    "check-epsn": CheckEpsn,
    "improved-go-back-n": ImprovedGoBackN,
}


def test_go_back_0_starts_over_on_both_sides():
    receiver, sender = Receiver(8, GoBack0), Sender(8, recovery=GoBack0)
    for psn in range(3):
        assert receiver.take(sender.send()) == (True, ACK, psn + 1)
        sender.hear(ACK, psn + 1)
    sender.send()  # packet 3 is lost
    assert receiver.take(sender.send()) == (False, NAK, 0)
    assert receiver.message.received_packets == 0
    sender.hear(NAK, 0)
    assert (sender.window, sender.qp.inflight_bytes) == ((0, 0), 0)
    assert [receiver.take(sender.send())[2] for _ in range(8)] == list(range(1, 9))


def test_go_back_0_sends_one_nak_per_gap():
    receiver = Receiver(8, GoBack0)
    receiver.take(0)
    assert [receiver.take(psn)[1] for psn in (2, 3, 4)] == [NAK, NONE, NONE]
    assert [receiver.take(psn)[1] for psn in (0, 1, 3, 4)] == [ACK, ACK, NAK, NONE]  # another gap: at once
    assert receiver.take(5, us(500))[1] == NAK  # packet 0 was lost again: not until the interval is over


def test_go_back_0_ignores_acks_from_before():
    sender = Sender(8, recovery=GoBack0)
    for _ in range(6):
        sender.send()
    sender.expire()
    assert sender.window == (0, 0)
    sender.hear(ACK, 4)  # from the first pass: the receiver may have started over since
    assert sender.window == (0, 0)
    sender.hear(ACK, 8)
    assert sender.window == (8, 8)


def test_go_back_0_accepts_a_pass_restarted_by_the_timer_from_the_start():
    receiver = Receiver(4, GoBack0)
    assert [receiver.take(psn)[0] for psn in (0, 1, 2, 0, 1, 2, 3)] == [True] * 7
    assert receiver.take(0) == (False, ACK, 4)  # complete, so it is a duplicate


@pytest.mark.parametrize("recovery", [SendTwice, ImprovedGoBackN])
def test_the_last_packet_is_sent_twice(recovery):
    sender = Sender(4, last=10, recovery=recovery)
    assert [sender.send() for _ in range(5)] == [0, 1, 2, 3, 3]
    assert (sender.window, sender.qp.inflight_bytes) == ((0, 4), 3010)
    assert not sender.can_send


@pytest.mark.parametrize("recovery", [SendTwice, ImprovedGoBackN])
def test_the_last_packet_is_sent_twice_in_every_pass(recovery):
    sender = Sender(4, recovery=recovery)
    for _ in range(5):
        sender.send()
    sender.hear(NAK, 2)
    assert [sender.send() for _ in range(3)] == [2, 3, 3]
    sender.hear(NAK, 2)
    sender.send()
    sender.send()  # the first copy of the last packet has left, then the sender goes back
    sender.hear(NAK, 2)
    assert [sender.send() for _ in range(3)] == [2, 3, 3]
    sender.hear(ACK, 4)
    assert sender.qp.inflight_bytes == 0


@pytest.mark.parametrize("recovery", [CheckEpsn, ImprovedGoBackN])
def test_the_last_packet_arms_the_timer_for_the_rest_of_the_interval(recovery):
    receiver = Receiver(6, recovery)
    receiver.take(0)
    assert receiver.take(2, us(100))[1] == NAK
    assert receiver.transfer.check_timer_ps == NEVER
    assert receiver.take(5, us(130))[1] == NONE
    assert receiver.transfer.check_timer_ps == us(600)  # 470 us are left of 500
    assert receiver.check(us(600)) == (NAK, 1)
    assert receiver.transfer.check_timer_ps == us(1100)  # it starts again
    assert receiver.take(2, us(700))[1] == NONE  # and holds NAKs back


def test_the_interval_starts_with_the_last_packet_if_it_is_the_first_out_of_order():
    receiver = Receiver(6, CheckEpsn)
    assert receiver.take(5, us(100))[1] == NAK
    assert receiver.transfer.check_timer_ps == us(600)


def test_expected_packets_restart_the_timer_and_completion_ends_it():
    receiver = Receiver(6, CheckEpsn)
    receiver.take(0)
    receiver.take(5, us(100))
    receiver.take(1, us(300))
    assert receiver.transfer.check_timer_ps == us(800)
    receiver.take(2, us(310))
    assert receiver.check(us(810)) == (NAK, 3)  # it requests the packet expected at that time
    for psn in (3, 4, 5):
        receiver.take(psn, us(900))
    assert receiver.transfer.check_timer_ps == NEVER
    assert receiver.check(us(2000)) == (NONE, 0)


@pytest.mark.parametrize("name", FAMILY)
@given(
    steps=st.lists(
        st.one_of(
            st.just(("send", 0)), st.tuples(st.sampled_from(["ack", "nak"]), st.integers(0, 10)), st.just(("expire", 0))
        ),
        max_size=60,
    ),
    last=st.integers(1, 1000),
)
def test_bytes_in_flight_are_those_between_una_and_next(name, steps, last):
    """0 <= una <= next <= packets always holds, and the queue pair's bytes in flight match."""
    sender = Sender(10, last, FAMILY[name])
    message = sender.message
    for now, (what, psn) in enumerate(steps):
        before = message.una_psn
        if what == "send" and sender.can_send:
            sender.send(now)
        elif what == "expire" and sender.transfer.retransmit_timer_ps < NEVER:
            sender.expire(now)
        elif what in ("ack", "nak"):
            sender.hear(ACK if what == "ack" else NAK, min(psn, message.highest_psn), now)
        assert 0 <= message.una_psn <= message.next_psn <= message.packets
        assert before <= message.una_psn or name == "go-back-0"
        in_flight = bytes_before(message, message.next_psn) - bytes_before(message, message.una_psn)
        assert sender.qp.inflight_bytes == in_flight
        if what in ("ack", "nak") and name == "go-back-n":
            is_armed = sender.transfer.retransmit_timer_ps < NEVER
            assert is_armed == (message.una_psn < message.next_psn)


@pytest.mark.parametrize("name", FAMILY)
@given(arrivals=st.lists(st.integers(0, 5), max_size=40))
def test_a_complete_message_is_delivered_once(name, arrivals):
    """Whatever arrives, in any order, the receiver holds a prefix; once complete, it stays complete."""
    receiver = Receiver(6, FAMILY[name])
    was_complete = False
    for now, psn in enumerate(arrivals):
        accepted, kind, cumulative = receiver.take(psn, now)
        held = receiver.message.received_packets
        assert 0 <= held <= 6
        assert not (was_complete and (accepted or held < 6))
        assert kind == NONE or cumulative == held
        was_complete = held == 6


@pytest.mark.parametrize("limit", [0, 2])
@pytest.mark.parametrize("recovery", [*FAMILY.values(), Irn, NewReno, Ndp])
def test_the_message_fails_after_a_number_of_consecutive_timeouts(recovery, limit):
    sender = Sender(3, recovery=recovery, retry_limit=limit)
    for _ in range(limit + 1):
        assert not sender.message.failed
        sender.send()
        sender.expire(sender.transfer.retransmit_timer_ps)
    assert sender.message.failed
    assert sender.qp.inflight_bytes == 0


def test_the_literal_interval_is_between_any_two_naks():
    receiver = Receiver(8, nak_per_packet=False)
    assert receiver.take(1, us(1))[1] == NAK
    receiver.take(0, us(2))
    receiver.take(1, us(2))
    assert receiver.take(3, us(3))[1] == NONE  # another packet, but too early
    assert receiver.take(4, us(501))[1] == NAK


PACKETS = 12
LAST = PACKETS - 1
RATE, DELAY = 40e9, us(1)
T, T_ACK = transmission(1072, RATE), transmission(64, RATE)
ONE_WAY, BACK = 2 * (T + DELAY), 2 * (T_ACK + DELAY)
CLEAN = LAST * T + ONE_WAY
"""When the last packet is delivered without a loss."""
TIMEOUT, INTERVAL = ms(100), us(500)

CASES = {
    "timeouts_last_packet": [ScriptedLoss(message=0, psn=LAST)],
    "timeouts_last_ack": [ScriptedLoss(message=0, psn=PACKETS, kind="ack")],
    "timeouts_nak": [ScriptedLoss(message=0, psn=3), ScriptedLoss(message=0, psn=3, kind="nak")],
    "timeouts_twice": [ScriptedLoss(message=0, psn=3, nth=1), ScriptedLoss(message=0, psn=3, nth=2)],
}
"""Figure 4 (a) to (d)."""


def simulate(engine, name, faults, **changes):
    work = rdmacc.messages([("h0", "h1", PACKETS * 1024)])
    scheme = rdmacc.scheme(name, **changes)
    return rdmacc.simulate(rdmacc.topology.igbn_pair(), work, scheme, engine=engine, faults=faults)


def reasons(result):
    """Return the timeouts of message 0, by reason, without those that did not happen."""
    row = result.transfers.iloc[0]
    assert sum(row[name] for name in TIMEOUT_REASONS) == result.flows["timeouts"][0]
    return {name: int(row[name]) for name in TIMEOUT_REASONS if row[name]}


OF_PACKET_0 = {
    "timeouts_nak": [ScriptedLoss(message=0, psn=3), ScriptedLoss(message=0, psn=0, kind="nak")],
    "timeouts_twice": [ScriptedLoss(message=0, psn=3), ScriptedLoss(message=0, psn=0, nth=2)],
}
"""The same for go-back-0: its NAKs are for packet 0, so that is the packet to lose twice."""


@pytest.mark.parametrize(
    ("name", "cured"),
    [
        ("go-back-n", set()),
        ("go-back-0", set()),
        ("send-twice", {"timeouts_last_packet", "timeouts_last_ack"}),
        ("check-epsn", {"timeouts_nak", "timeouts_twice"}),
        ("improved-go-back-n", set(CASES)),
    ],
)
@pytest.mark.parametrize("reason", CASES)
def test_what_each_change_cures(engine, name, cured, reason):
    """Figure 4: with plain go-back-N only the timer ends the message."""
    result = simulate(engine, name, (CASES | OF_PACKET_0 if name == "go-back-0" else CASES)[reason])
    assert (result.flows["status"] == "finished").all()
    acked_ps = result.flows["fct_acked_ps"][0]
    if reason in cured:
        assert (reasons(result), acked_ps < 2 * INTERVAL) == ({}, True)
    else:
        assert (reasons(result), acked_ps > TIMEOUT) == ({reason: 1}, True)


def test_a_lost_last_packet_costs_nothing_if_sent_twice(engine):
    result = simulate(engine, "send-twice", CASES["timeouts_last_packet"])
    assert result.flows["fct_ps"][0] == CLEAN + T
    result = simulate(engine, "send-twice", CASES["timeouts_last_ack"])
    assert result.flows["fct_acked_ps"][0] == CLEAN + T + BACK


@pytest.mark.parametrize("reason", ["timeouts_nak", "timeouts_twice"])
def test_check_epsn_sends_a_nak_when_the_interval_is_over(engine, reason):
    """Figure 5: the first packet beyond the gap is NAKed at once, the next NAK goes out an interval later."""
    result = simulate(engine, "check-epsn", CASES[reason])
    first_nak = 4 * T + ONE_WAY
    assert result.counters.naks == 2
    assert result.flows["fct_ps"][0] == first_nak + INTERVAL + BACK + (LAST - 3) * T + ONE_WAY


def test_the_literal_interval_leaves_the_receiver_silent(engine):
    """A second gap within the interval is never reported, so the timer fires for none of the paper's reasons."""
    lost = [ScriptedLoss(message=0, psn=3), ScriptedLoss(message=0, psn=5, nth=2)]
    result = simulate(engine, "go-back-n", lost, nak_per_packet=False)
    assert result.counters.naks == 1
    assert reasons(result) == {"timeouts_unasked": 1}
    assert reasons(simulate(engine, "go-back-n", lost)) == {}
    assert reasons(simulate(engine, "check-epsn", lost, nak_per_packet=False)) == {}


def test_a_timer_that_waits_for_the_last_packet(engine):
    """In this reading, after a lost NAK the message's timer runs from the last packet; in the other, from the first."""
    lost = CASES["timeouts_nak"]
    usual = simulate(engine, "go-back-n", lost, timer_after_last=False).flows["fct_acked_ps"][0]
    late = simulate(engine, "go-back-n", lost, timer_after_last=True).flows["fct_acked_ps"][0]
    assert late - usual == LAST * T


def run_messages(engine, name, loss, count, size, **changes):
    """Return the goodput of consecutive messages, relative to the lossless case, and the result."""
    work = rdmacc.messages([("h0", "h1", size, 0, None, (i - 1,) if i else ()) for i in range(count)])
    faults = [Loss(data=loss, control=loss, links=(("h0", "s0"), ("h1", "s0")))]
    scheme = rdmacc.scheme(name, **changes)
    result = rdmacc.simulate(rdmacc.topology.igbn_pair(), work, scheme, engine=engine, seed=1, faults=faults)
    alone = int(result.flows["ideal_fct_ps"][0]) + BACK
    end = int((result.flows["start_ps"] + result.flows["fct_acked_ps"]).max())
    return count * alone / end, result


@pytest.mark.parametrize(
    ("name", "variant"),
    [("go-back-n", "GBN"), ("send-twice", "ST"), ("check-epsn", "CE"), ("improved-go-back-n", "IGBN")],
)
@pytest.mark.parametrize(("loss", "timeout"), [(1e-3, "500us"), (1e-2, "10ms")])
def test_the_closed_form_of_goodput_when_compiled(name, variant, loss, timeout):
    """The model against 150 messages, only on the compiled engine: SimPy would take minutes.

    Only where timeouts are many or short: otherwise a handful of long ones would decide the run.
    """
    goodput, _ = run_messages("compiled", name, loss, 150, "4MiB", timeout_ps=timeout)
    table = GoBackNGoodput(timeout_ps=timeout).evaluate([loss])
    expected = float(table[table["variant"] == variant]["goodput"].iloc[0])
    assert goodput == pytest.approx(expected, abs=0.05)
