"""pHost: handlers on plain records, and the properties given by its paper and its authors' simulator, on both engines.

Theory (Gao et al., CoNEXT 2015): at most one token per packet time of the receiver's link. A token unused for 1.5
packet times is lost. A lone long message gets 1460 / 1500 of the link; a short one takes the one-way delay.
"""

import pytest

import rdmacc
from rdmacc import preset
from rdmacc.faults import Loss, ScriptedLoss
from rdmacc.interface import ACK, CREDIT, DATA_CLASS, NAK, NEVER, REQUEST, make_bits, set_bit
from rdmacc.protocols.phost import PHost, next_psn
from rdmacc.units import ns, us
from tests.support import Sender, check_finished, make_message, transmission

PHOST = preset("phost-2015")["phost"]
YAPS = preset("phost-yaps", "10Gbps")["phost"]
T_PS = 1_200_000
"""A packet time at 10 Gb/s."""


def run(engine, work, scheme=PHOST, rate="10Gbps", delay="200ns", hosts=5, **options):
    fabric = rdmacc.star(hosts, rate, delay)
    return rdmacc.simulate(fabric, work, scheme, engine=engine, trace=True, progress=False, **options)


def sent(result, kind, node):
    """Return the trace's rows of packets of a kind that a node sent."""
    rows = result.packet_trace
    return rows[(rows["what"] == "sent") & (rows["kind"] == kind) & (rows["node"] == node)]


def packets(count):
    """Return the size of a message of `packets` full packets."""
    return f"{1460 * count}B"


def sender_of(count, **changes):
    return Sender(count, recovery=PHost, **({"free_packets": 8, "window_packets": 8} | changes))


@pytest.mark.parametrize(
    ("count", "rule", "free"),
    [(5, "paper", 5), (9, "paper", 8), (90, "paper", 8), (5, "simulator", 5), (8, "simulator", 8), (9, "simulator", 0)],
)
def test_free_tokens(count, rule, free):
    sender = sender_of(count, free_rule=rule)
    assert (sender.request.kind, sender.request.psn) == (REQUEST, count)
    assert sender.burst() == list(range(free))


@pytest.mark.parametrize(("count", "priority"), [(8, DATA_CLASS), (9, DATA_CLASS + 1)])
def test_short_messages_have_the_higher_class(count, priority):
    sender = sender_of(count)
    sender.burst()
    assert {packet.priority for packet in sender.sent} == {priority}
    assert PHost().classes == {DATA_CLASS, DATA_CLASS + 1}


def test_a_token_names_its_packet():
    sender = sender_of(20, free_rule="simulator")
    for psn, number in ((0, 0), (1, 1), (7, 5)):
        sender.hear(CREDIT, psn, us(1), token_number=number)
    assert sender.burst() == [0, 1, 7]
    assert [packet.token_number for packet in sender.sent] == [0, 1, 5]
    assert sender.transfer.expiry_timer_ps == NEVER


def test_a_token_is_lost_after_one_and_a_half_packet_times():
    sender = sender_of(20, free_rule="simulator")
    sender.hear(CREDIT, 0, us(1), token_number=0)
    sender.hear(CREDIT, 1, us(2), token_number=1)
    until_ps = us(1) + 1_800_000
    assert sender.transfer.expiry_timer_ps == until_ps + 1
    sender.expire(until_ps, "expiry")
    assert sender.qp.credits == 2
    sender.expire(until_ps + 1, "expiry")
    assert (sender.qp.credits, sender.transfer.expired_tokens, sender.message.next_psn) == (1, 1, 1)
    assert sender.transfer.expiry_timer_ps == us(2) + 1_800_001


def test_free_tokens_live_for_their_packets_and_one_and_a_half():
    sender = sender_of(8)
    assert sender.transfer.expiry_timer_ps == 9.5 * T_PS + 1
    sender.expire(int(9.5 * T_PS) + 1, "expiry")
    assert (sender.burst(), sender.transfer.expired_tokens) == ([], 8)


def test_at_most_sixteen_tokens_are_kept():
    sender = sender_of(90, free_rule="simulator")
    for psn in range(20):
        sender.hear(CREDIT, psn, us(1), token_number=psn)
    assert sender.burst() == list(range(16))
    assert sender.transfer.expired_tokens == 4


def test_one_ack_ends_the_message_and_a_nak_does_not():
    sender = sender_of(20)
    sender.hear(NAK, 7, us(1))
    assert sender.message.una_psn == 0
    sender.hear(ACK, 20, us(2))
    assert sender.message.una_psn == 20


def test_tokens_name_missing_packets_in_a_circle():
    message, transfer = make_message(6), PHost.Transfer()
    transfer.held = make_bits(6)
    for psn in (0, 2, 3):
        set_bit(transfer.held, psn)
    order = []
    for _ in range(5):
        transfer.last_psn = next_psn(message, transfer)
        order.append(transfer.last_psn)
    assert order == [1, 4, 5, 1, 4]


@pytest.mark.parametrize(("rate", "t_ps"), [("10Gbps", 1_200_000), ("40Gbps", 300_000), ("100Gbps", 120_000)])
def test_one_token_per_packet_time(engine, rate, t_ps):
    """40 Gb/s: 3.333 million tokens a second; three senders share them."""
    work = rdmacc.incast(["h1", "h2", "h3"], "h0", packets(200))
    result = run(engine, work, PHOST.replace(window_packets=200), rate)
    times = sent(result, "credit", "h0")["time_ps"].to_numpy()
    gaps = times[1:] - times[:-1]
    assert min(gaps[5:]) >= t_ps - transmission(40, rdmacc.units.rate_bps(rate))
    assert (times[100] - times[20]) == pytest.approx(80 * t_ps, abs=t_ps // 50)
    check_finished(result)


@pytest.mark.parametrize("rule", ["paper", "simulator"])
def test_a_lone_long_message_takes_the_whole_link(engine, rule):
    """1460 / 1500 of 40 Gb/s, 38.93 Gb/s, from the first packet on; a token for each of 2,000 packets but free ones."""
    scheme = PHOST.replace(free_rule=rule, window_packets=16)
    result = run(engine, rdmacc.messages([("h1", "h0", packets(2000))]), scheme, "40Gbps")
    rows = result.packet_trace
    come = rows[(rows["what"] == "arrived") & (rows["kind"] == "data") & (rows["peer"] == "h0")]["time_ps"].to_numpy()
    goodput_bps = 1460 * 8e12 * 1500 / (come[1800] - come[300])
    assert goodput_bps == pytest.approx(40e9 * 1460 / 1500, rel=1e-4)
    assert result.counters.credits == 2000 - (8 if rule == "paper" else 0)
    assert result.counters.retransmissions == 0
    check_finished(result)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_a_short_message_takes_the_one_way_delay(engine, count):
    """The announcement, then the packets, without a round trip for tokens."""
    result = run(engine, rdmacc.messages([("h1", "h0", packets(count))]))
    expected = transmission(40, 10e9) + 2 * ns(200) + (count + 1) * T_PS
    assert result.flows["fct_ps"].tolist() == [expected]
    assert result.counters.credits == 0
    assert (result.counters.acks, result.counters.requests) == (1, 1)


def test_free_packets_take_the_receivers_packet_times(engine):
    """No token for eight free packet times, minus a round trip (6 packet times with links of 1 us)."""
    for delay_ps, holds, slots in ((ns(200), True, 8), (ns(200), False, 8), (us(1), True, 8), (us(1), False, 5)):
        scheme = PHOST.replace(window_packets=40, holds_slots=holds)
        work = rdmacc.messages([("h1", "h0", packets(40))])
        result = run(engine, work, scheme, delay=f"{delay_ps}ps")
        heard_ps = 2 * (transmission(40, 10e9) + delay_ps)
        assert sent(result, "credit", "h0")["time_ps"].min() == heard_ps + slots * T_PS


def test_the_message_with_fewest_packets_left_goes_first(engine):
    """A 20-packet message arrives while a 300-packet one has tokens: it gets every token until it needs no more."""
    work = rdmacc.messages([("h1", "h0", packets(300), "0us"), ("h2", "h0", packets(20), "100us")])
    result = run(engine, work, PHOST.replace(window_packets=40))
    rows = sent(result, "credit", "h0")
    short = rows[rows["message"] == 1]
    assert len(short) == 12
    between = rows[(rows["time_ps"] >= short["time_ps"].min()) & (rows["time_ps"] <= short["time_ps"].max())]
    assert set(between["message"]) == {1}
    check_finished(result)


def test_tokens_are_limited_by_the_window(engine):
    """With a round trip of 40 us, the window of 8 is the packets per round trip."""
    work = rdmacc.messages([("h1", "h0", packets(200))])
    result = run(engine, work, PHOST.replace(window_timeout_packets=100.0), delay="10us")
    times = sent(result, "credit", "h0")["time_ps"].to_numpy()
    round_ps = 4 * us(10) + 2 * (transmission(40, 10e9) + T_PS)
    assert all(((times >= t) & (times < t + round_ps - 1)).sum() <= 8 for t in times[:100])


def test_a_window_of_lost_tokens_is_given_up_after_25_packet_times(engine):
    """When nothing arrives any more, the simulator sends one token every 25 packet times; the paper's rule pauses."""
    work = rdmacc.messages([("h1", "h0", packets(60))])
    faults = [Loss(data=1.0, links=(("h1", "s0"),))]
    result = run(engine, work, YAPS, faults=faults, until="200us")
    times = sent(result, "credit", "h0")["time_ps"].to_numpy()
    gaps = times[1:] - times[:-1]
    assert set(gaps[:7]) == {1_200_000}
    assert set(gaps[7:]) == {25 * T_PS}
    pausing = run(engine, work, PHOST.replace(free_rule="simulator"), faults=faults, until="200us")
    times = sent(pausing, "credit", "h0")["time_ps"].to_numpy()
    rtt_ps = 4 * ns(200) + 2 * (transmission(1500, 10e9) + transmission(40, 10e9))
    assert times[8] - times[7] == 25 * T_PS + 3 * rtt_ps
    assert pausing.transfers["downgrades"].tolist()[0] >= 2


def test_a_missing_packet_gets_a_token_nine_packet_times_after_the_last_one(engine):
    work = rdmacc.messages([("h1", "h0", packets(20))])
    faults = [ScriptedLoss(message=0, psn=12)]
    result = run(engine, work, PHOST.replace(window_packets=20), faults=faults)
    rows = sent(result, "credit", "h0")
    assert rows["psn"].tolist() == [*range(8, 20), 12]
    times = rows["time_ps"].tolist()
    assert times[-1] - times[-2] == 9 * T_PS
    check_finished(result)


@pytest.mark.parametrize(("scheme", "wait_ps"), [(PHOST, (8 + 9) * T_PS), (YAPS, 8 * us(2.4))])
def test_a_lost_free_packet(engine, scheme, wait_ps):
    work = rdmacc.messages([("h1", "h0", packets(8))])
    result = run(engine, work, scheme, faults=[ScriptedLoss(message=0, psn=3)])
    heard_ps = 2 * (transmission(40, 10e9) + ns(200))
    rows = sent(result, "credit", "h0")
    assert rows["psn"].tolist() == [3]
    assert rows["time_ps"].tolist() == [heard_ps + wait_ps]


def test_in_yaps_a_closed_window_opens_at_its_timeout(engine):
    """Data that opens the window does not end the wait: eight tokens, then none for 25 packet times."""
    work = rdmacc.messages([("h1", "h0", packets(64))])
    result = run(engine, work, YAPS, delay="3us")
    times = sent(result, "credit", "h0")["time_ps"].to_numpy()
    gaps = times[1:] - times[:-1]
    assert set(gaps.tolist()) == {1_200_000, 25 * T_PS, 9 * T_PS}  # the last: after the last packet's token
    assert (gaps == 25 * T_PS).nonzero()[0].tolist()[0] >= 7
    woken = run(engine, work, YAPS.replace(wakes_on_data=True), delay="3us")
    assert woken.flows["fct_ps"].max() < 0.8 * result.flows["fct_ps"].max()
