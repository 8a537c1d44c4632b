"""Aeolus on Homa and on ExpressPass: a burst's deliveries and retransmissions; scheduled packets are not dropped.

Theory (Hu et al., SIGCOMM 2020): unscheduled packets never make a queue longer than K. Each loss costs one extra
scheduled packet. A lone message needs no round trip for credit; one whose burst is lost needs one.
"""

import pytest

import rdmacc
from rdmacc.faults import ScriptedLoss
from rdmacc.interface import DATA_CLASS
from tests.protocols.test_homa import PACKET_PS, RTT, SHORT, STAR, rows_of
from tests.protocols.test_homa import run as run_homa
from tests.support import WIRE, check_finished, transmission

DELAY_PS = 250_000
CONTROL_PS = 64 * 800


def aeolus(**changes):
    return rdmacc.scheme("homa-aeolus", **(SHORT | changes))


def run(work, engine, scheme=None, **options):
    return run_homa(work, engine, scheme or aeolus(), **options)


@pytest.mark.parametrize("packets", [1, 5, RTT])
def test_a_burst_needs_no_credit_and_one_round_trip_if_lost(engine, packets):
    """Serialization and delay, without a grant. With K = 0 every packet is dropped; once the probe's answer and the
    grant are back, all are sent again.
    """
    alone = run([("h1", "h0", f"{packets}kB")], engine)
    alone_ps = (packets + 1) * PACKET_PS + 2 * DELAY_PS
    assert alone.flows["fct_ps"].tolist() == [alone_ps]
    # An ACK for each packet, and one for the probe, which finds the message complete.
    assert (alone.counters.credits, alone.counters.acks, alone.counters.requests) == (0, packets + 1, 1)
    lost = run([("h1", "h0", f"{packets}kB")], engine, aeolus(threshold_bytes=0))
    probe_ps = packets * PACKET_PS + 2 * CONTROL_PS + 2 * DELAY_PS
    grant_ps = 3 * CONTROL_PS + 2 * DELAY_PS  # behind the answer
    assert lost.flows["fct_ps"].tolist() == [probe_ps + grant_ps + alone_ps]
    assert (lost.counters.timeouts, lost.counters.retransmissions) == (0, packets)
    check_finished(alone)
    check_finished(lost)


def check_drops(result):
    """Assert that only unscheduled packets are dropped, each at the cost of one packet, and return the drops."""
    check_finished(result)
    trace = result.packet_trace
    dropped = trace[(trace["kind"] == "data") & (trace["what"] == "dropped")]
    assert (dropped["psn"] < RTT).all()
    assert not dropped.duplicated(["message", "psn"]).any()
    assert (result.counters.timeouts, result.counters.retransmissions) == (0, len(dropped))
    return dropped


@pytest.mark.parametrize(("senders", "packets"), [(4, RTT), (9, RTT), (9, 40)])
def test_simultaneous_bursts_fill_the_queue_to_k(engine, senders, packets):
    """N simultaneous bursts deliver K plus what the link drains; each loss costs one packet."""
    work = rdmacc.incast([f"h{i}" for i in range(1, senders + 1)], "h0", f"{packets}kB")
    result = run(work, engine)
    dropped = check_drops(result)
    lost = dropped.groupby("message")["psn"].count().reindex(range(senders), fill_value=0)
    trace = result.packet_trace
    sent = trace[(trace["kind"] == "data") & (trace["what"] == "sent") & (trace["node"] != "s0")]
    assert (sent.groupby("message")["psn"].count() == packets + lost).all()
    assert senders * RTT - len(dropped) == pytest.approx(RTT + 6000 // WIRE, abs=2)
    first = rdmacc.simulate(STAR, work, aeolus(), engine=engine, until=f"{RTT * PACKET_PS + 2 * DELAY_PS} ps")
    assert first.counters.peak_queue_bytes <= 6000


def test_the_probe_stays_behind_the_burst(engine):
    result = run([("h1", "h0", "100kB")], engine, aeolus(cutoffs="10kB"))
    probe = rows_of(result, "request", "arrived", "h0")
    data = rows_of(result, "data", "arrived", "h0").set_index("psn")
    assert (probe["priority"] == DATA_CLASS + 1).all()
    assert probe["time_ps"].tolist() == [data["time_ps"][RTT - 1] + transmission(64, 10e9)]
    assert set(data["priority"]) == {DATA_CLASS + 1, DATA_CLASS + 7}


def test_grants_send_lost_packets_before_new_ones(engine):
    """Packets 3 and 5 of the burst are lost: the grants after the probe's answer send them, then new packets."""
    faults = [ScriptedLoss(message=0, psn=psn) for psn in (3, 5)]
    result = run([("h1", "h0", "60kB")], engine, faults=faults)
    check_finished(result)
    assert result.counters.timeouts == 0
    order = rows_of(result, "data", "sent", "h1")["psn"].tolist()
    again = [i for i in range(RTT, len(order)) if order[i] in (3, 5)]
    assert again[1] == again[0] + 1
    assert [order[i] for i in again] == [3, 5]
    assert sorted(order) == sorted([*range(60), 3, 5])
    assert again[1] < 40


def test_packets_of_unknown_fate_go_last(engine):
    """Neither ACKs nor the probe's answer come back: the remaining grants send packets of unknown fate."""
    faults = [ScriptedLoss(message=0, psn=3)]
    faults += [ScriptedLoss(message=0, psn=0, nth=n, kind="ack") for n in range(1, RTT + 1)]
    result = run([("h1", "h0", "30kB")], engine, faults=faults)
    check_finished(result)
    order = rows_of(result, "data", "sent", "h1")["psn"].tolist()
    assert order[:30] == list(range(30))
    assert order[30] == 0
    assert 3 in order[30:]
    assert result.counters.timeouts == 0


def test_gaps_reveal_losses_if_packets_stay_in_order(engine):
    faults = [ScriptedLoss(message=0, psn=1), ScriptedLoss(message=0, psn=None, nth=1, kind="request")]
    work, schemes = [("h1", "h0", "30kB")], (aeolus(infers_from_gaps=infers) for infers in (False, True))
    slow, quick = (run(work, engine, scheme, faults=faults) for scheme in schemes)
    for result in (slow, quick):
        check_finished(result)
        order = rows_of(result, "data", "sent", "h1")["psn"].tolist()
        assert order.count(1) == 2
    early = rows_of(quick, "data", "sent", "h1")["psn"].tolist()
    assert early.index(1, RTT - 1) < 20
    assert early != rows_of(slow, "data", "sent", "h1")["psn"].tolist()


FULL = 1538


def credited(**changes):
    return rdmacc.scheme("expresspass-aeolus", **({"rtt_bytes": 1460 * RTT} | changes))


@pytest.mark.parametrize("packets", [1, RTT])
def test_expresspass_a_lone_short_message_does_not_wait_for_credit(engine, packets):
    """The time of the request, serialization and delay. Credits that arrive before the ACKs repeat some packets."""
    result = run([("h1", "h0", 1460 * packets)], engine, credited())
    check_finished(result)
    assert result.flows["fct_ps"].tolist() == [(84 + FULL * (packets + 1)) * 800 + 2 * DELAY_PS]
    assert (result.counters.timeouts, result.counters.dropped_packets) == (0, 0)
    assert result.counters.retransmissions <= 2


@pytest.mark.parametrize("packets", [1, RTT, 40])
def test_expresspass_credits_resend_a_lost_burst(engine, packets):
    """With K = 0 every packet is dropped: as many extra scheduled packets, one per credit, and no timeout."""
    result = run([("h1", "h0", 1460 * packets)], engine, credited(threshold_bytes=0, scaled_packets=0))
    check_finished(result)
    assert result.counters.retransmissions == min(packets, RTT)
    assert result.counters.timeouts == 0
    assert result.flows["fct_ps"].iloc[0] < (packets + RTT + 8) * 2 * FULL * 800


@pytest.mark.parametrize(
    ("packets", "kind", "lost"),
    [(1, "ack", (1, 2)), (RTT + 10, "data", (RTT + 10,)), (RTT + 10, "data", range(3, RTT + 11))],
    ids=["all answers", "last packet", "all but two packets"],
)
def test_expresspass_a_sender_that_hears_nothing_asks_once(engine, packets, kind, lost):
    """The receiver then names the missing packets, or says that there are none."""
    faults = [ScriptedLoss(message=0, psn=None, nth=nth, kind=kind) for nth in lost]
    result = run([("h1", "h0", 1460 * packets)], engine, credited(), faults=faults)
    check_finished(result)
    assert result.counters.timeouts == 1


def test_expresspass_an_incast_drops_unscheduled_packets_only(engine):
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", 40 * 1460)
    assert len(check_drops(run(work, engine, credited()))) > 40
