"""ExpressPass: its feedback on plain records, and its published properties in the simulator, on both engines.

The preset `expresspass-2017` against ns2-xpass's results, and the feedback law printed in the paper.
"""

from dataclasses import replace

import numpy as np
import pytest

import rdmacc
from rdmacc import probes
from rdmacc.experiments import experiment
from rdmacc.faults import ScriptedLoss
from rdmacc.interface import CREDIT, CREDITS, REQUEST, Message, QueuePair
from rdmacc.protocols.expresspass import CREDIT_SHARE, ExpressPass, ask, stop
from rdmacc.sweep.tidy import scalar
from rdmacc.sweep.workers import Run
from rdmacc.units import ms, us
from tests.support import check_finished, packet_with, plain, refused, samples, spokes

FULL = 1538
LINE_BPS = 10e9
MOST_BPS = CREDIT_SHARE * LINE_BPS
RTT_PS = 20_000_000


def scheme_of(**changes):
    return replace(rdmacc.scheme("expresspass"), recovery=ExpressPass(**changes))


class Crediter:
    """A message's receiver, driven by hand, one update at a time."""

    def __init__(self, rate, **changes):
        self.params = plain(ExpressPass(jitter=0.0, **changes))
        self.qp, self.receiver = QueuePair(), ExpressPass.Receiver()
        self.qp.peer_line_bps = LINE_BPS
        self.receiver.credit_bps = rate * MOST_BPS
        self.receiver.weight = self.params.initial_weight
        self.receiver.rtt_ps = float(RTT_PS)
        self.now = 0

    def send(self):
        """Send a credit now; return it and the time until the next one."""
        reply = packet_with(ExpressPass.Header)
        self.params.on_credit_timer(self.params, self.qp, self.receiver, reply, self.now)
        return reply, self.receiver.credit_timer_ps - self.now

    def update(self, lost=0, total=100, after_ps=RTT_PS):
        """Simulate a round trip in which some credits bring no packet; return the rate over the maximum."""
        self.now += after_ps
        self.receiver.heard_ps = self.now
        self.receiver.total_credits, self.receiver.lost_credits = total, lost
        self.send()
        return self.receiver.credit_bps / MOST_BPS


def test_gap_of_credits_at_the_highest_rate():
    """1,622 B at 10 Gb/s."""
    credit, gap_ps = Crediter(1.0).send()
    assert gap_ps == pytest.approx(1_297_600, abs=1)
    assert (credit.kind, credit.priority, credit.wire_bytes) == (CREDIT, CREDITS, 84)


@pytest.mark.parametrize(
    ("rate", "weight", "rates", "weights"),
    [
        (0.5, 0.5, [0.75, 0.875, 0.9375], [0.5, 0.5, 0.5]),
        (1 / 16, 1 / 16, [0.1211, 0.2200, 0.3467], [0.0625, 0.1125, 0.1625]),
        (0.5, 0.4, [0.7, 0.835, 0.9175], [0.4, 0.45, 0.5]),
    ],
)
def test_growth(rate, weight, rates, weights):
    """The first increase leaves the weight unchanged; later ones raise it by 0.05, up to a half."""
    crediter = Crediter(rate, initial_weight=weight)
    found = [(crediter.update(), crediter.receiver.weight) for _ in range(5)]
    assert [rate for rate, _ in found[:3]] == pytest.approx(rates, abs=1e-4)
    assert [weight for _, weight in found[:3]] == pytest.approx(weights)
    assert found[-1][1] <= 0.5


LEAST = 84 * 8e12 / RTT_PS / MOST_BPS
"""One credit in a round trip."""


@pytest.mark.parametrize(
    ("rate", "lost", "total", "after"),
    [(0.5, 40, 100, min(0.5, 60 * LEAST * 1.0625)), (0.1, 50, 100, 0.1), (0.5, 100, 100, LEAST), (0.5, 0, 0, 0.5)],
    ids=["cut", "never raised", "at least one", "no news"],
)
def test_a_loss_above_the_target_cuts_to_what_came_through(rate, lost, total, after):
    """Target 0.0625 at half the rate; 60 of 100 credits of 84 B in 20 us."""
    crediter = Crediter(rate)
    assert crediter.update(lost=lost, total=total) == pytest.approx(after)
    if after < rate:  # the weight was halved, and does not grow with the first increase
        assert crediter.receiver.weight == 0.25
        assert crediter.update() == pytest.approx(0.25 + 0.75 * after)
        assert crediter.receiver.weight == 0.25


@pytest.mark.parametrize(("lost", "is_cut"), [(12, False), (13, True)])
def test_the_target_falls_with_the_rate(lost, is_cut):
    """At a rate near 0 the target is 0.125, at the highest none."""
    crediter = Crediter(1e-3)
    before = crediter.receiver.weight
    crediter.update(lost=lost)
    assert (crediter.receiver.weight < before) == is_cut
    fast = Crediter(1.0)
    fast.update(lost=1)
    assert fast.receiver.weight < before


@pytest.mark.parametrize("after_ps", [RTT_PS - 1, RTT_PS])
def test_updates_come_once_per_round_trip(after_ps):
    crediter = Crediter(0.5)
    assert (crediter.update(after_ps=after_ps) > 0.5) == (after_ps >= RTT_PS)


def test_feedback_of_the_paper():
    """Loss 0.2 against 0.1: times 0.8 x 1.1; then w = 1/4, aiming at 1.1 of the maximum; then w = (1/4 + 1/2) / 2."""
    crediter = Crediter(0.5, feedback="paper", target_loss=0.1)
    assert crediter.update(lost=20) == pytest.approx(0.5 * 0.8 * 1.1)
    assert crediter.update(lost=10) == pytest.approx(0.44 * 0.75 + 0.25 * 1.1)
    expected = 0.605 * 0.625 + 0.375 * 1.1
    assert crediter.update() == pytest.approx(expected)
    assert crediter.receiver.weight == 0.375


def test_jitter_and_sizes_are_drawn_within_their_bounds():
    crediter = Crediter(1.0)
    crediter.params = plain(ExpressPass(least_credit_bytes=76, most_credit_bytes=92))
    found = [crediter.send() for _ in range(2000)]
    sizes, gaps = np.array([(credit.wire_bytes, gap) for credit, gap in found]).T
    assert set(sizes) == set(range(76, 93))
    assert abs(sizes.mean() - 84) < 4 * 4.9 / 2000**0.5
    assert 0.9 * 1_297_600 - 1 <= gaps.min() < 0.91 * 1_297_600
    assert 1.09 * 1_297_600 < gaps.max() <= 1.1 * 1_297_600
    assert crediter.params.jitter == 0.1


def test_smoothed_time_from_credit_to_packet():
    params, receiver = plain(ExpressPass()), ExpressPass.Receiver()
    packet, reply = packet_with(ExpressPass.Header), packet_with(ExpressPass.Header)
    message, transfer = rdmacc.interface.Message(), ExpressPass.Transfer()
    message.packets = 10
    for number, sent, now in ((0, 0, 1000), (3, 100, 3100)):
        packet.psn, packet.credit_number, packet.credit_ps = message.received_packets, number, sent
        params.on_data(params, receiver, message, transfer, packet, reply, now)
    assert receiver.rtt_ps == pytest.approx(0.8 * 1000 + 0.2 * 3000)
    assert (receiver.total_credits, receiver.lost_credits, receiver.expected_credit) == (4, 2, 4)


def test_credits_have_a_minimum_and_a_maximum_size():
    refused(lambda: ExpressPass(most_credit_bytes=80), "ExpressPass.most_credit_bytes = 80")


@pytest.mark.parametrize(("packets", "fraction"), [(1, 1 / 80), (20, 1 / 4), (39, 39 / 80), (40, 1 / 2), (1000, 1 / 2)])
def test_the_first_rate_scales_with_small_messages(engine, packets, fraction):
    work = rdmacc.messages([("h1", "h0", packets * 1460)])
    watch = probes.field("flow", 0, "credit_bps")
    simulation = rdmacc.Simulation(spokes(["10Gbps"] * 2), work, scheme_of(), engine=engine, probes=[watch])
    result = simulation.run("4us", progress=False)
    assert samples(result, watch.name)[-1][1] == pytest.approx(fraction * MOST_BPS)


def test_a_message_takes_one_round_trip_longer_than_its_bytes(engine):
    """A request of 84 B, a credit of 84 B and the packet each cross two links of 10 Gb/s and 1 us.

    A lost request costs an additional timeout.
    """
    work = rdmacc.messages([("h1", "h0", 1460)])
    ideal_ps = 2 * (84 * 800 + us(1)) * 2 + 2 * (FULL * 800 + us(1))
    for faults, late_ps in ((), 0), ([ScriptedLoss(message=0, psn=None, kind="request")], us(100)):
        result = rdmacc.simulate(spokes(["10Gbps"] * 2), work, scheme_of(), engine=engine, faults=faults)
        assert result.flows["fct_ps"].tolist() == [ideal_ps + late_ps]
        assert (result.counters.acks, result.counters.timeouts) == (1, len(faults))
        check_finished(result)


@pytest.mark.parametrize("senders", [1, 2, 8])
def test_greedy_flows_use_what_credits_leave_and_lose_nothing(engine, senders):
    """All senders' data take at most 94.82% of the link; the queue stays at a few packets, and nothing is dropped."""
    work = rdmacc.incast([f"h{i + 1}" for i in range(senders)], "h0", "3MB")
    scheme = rdmacc.preset("expresspass-2017")["expresspass"]
    graph = spokes(["10Gbps"] * (senders + 1), buffer="100MB")
    result = rdmacc.Simulation(graph, work, scheme, engine=engine).run("2ms", progress=False)
    port = result.ports.set_index("port").loc["s0->h0"]
    share = port["tx_bytes"] * 8e12 / (LINE_BPS * 2_000_000_000)
    assert 0.85 < share <= 1.005 * (1 - CREDIT_SHARE)  # a full credit queue is more likely to have room for a short one
    assert port["dropped_packets"] == 0
    assert port["peak_queue_bytes"] <= 8 * FULL
    assert result.counters.naks == 0
    assert result.counters.dropped_bytes == 0
    packets = result.outcome.messages["received_packets"]
    assert packets.sum() ** 2 > 0.8 * senders * (packets**2).sum()  # Jain's index


def test_credits_take_their_share_of_every_port(engine):
    """Two receivers credit one sender at full rate: the sender's port lets half of the credits pass."""
    work = rdmacc.messages([("h0", "h1", "3MB"), ("h0", "h2", "3MB")])
    scheme = rdmacc.preset("expresspass-2017")["expresspass"]
    result = rdmacc.Simulation(spokes(["10Gbps"] * 3, buffer="100MB"), work, scheme, engine=engine, trace=True).run(
        "1ms", progress=False
    )
    trace = result.packet_trace
    credits = trace[(trace["kind"] == "credit") & (trace["what"] == "sent") & (trace["node"] == "s0")]
    most = CREDIT_SHARE * LINE_BPS / 8 * 1e-3 + 168
    assert credits["wire_bytes"].sum() <= most
    assert credits["wire_bytes"].sum() > 0.9 * most
    assert (credits["priority"] == CREDITS).all()
    port = result.ports.set_index("port").loc["s0->h0"]
    assert port["dropped_packets"] > 50


def test_a_request_says_how_much_is_left():
    """This decides whether the receiver sends credits at all, and how fast it starts."""
    message, transfer, params = Message(), ExpressPass.Transfer(), plain(ExpressPass())
    message.packets, message.next_psn, transfer.is_last = 7, 3, 1
    request = packet_with(ExpressPass.Header)
    ask(params, message, transfer, request, 5)
    assert (request.kind, request.psn, request.left_packets) == (REQUEST, 3, 4)
    assert (transfer.is_last, transfer.asked_ps) == (0, 5)
    assert transfer.retry_timer_ps == 5 + params.retransmit_timeout_ps
    transfer.rtt_ps = 11
    stop(message, transfer, request, 6)
    assert (request.kind, request.psn, request.left_packets) == (REQUEST, 3, 0)
    assert transfer.retry_timer_ps == 6 + 2 * 11


@pytest.mark.parametrize("nth", [1, 3, 206])
def test_a_lost_packet_and_all_behind_it_are_requested_again(engine, nth):
    """One NAK; packets in flight behind the loss are sent again. The last packet has none: the stop reveals it."""
    work = rdmacc.messages([("h1", "h0", "300kB")])
    faults = [ScriptedLoss(message=0, psn=None, nth=nth)]
    scheme = scheme_of(early_stop=False)
    result = rdmacc.simulate(spokes(["10Gbps"] * 2), work, scheme, engine=engine, faults=faults)
    assert result.counters.naks == 1
    assert result.flows["retransmissions"].iloc[0] >= 1
    if nth == 206:
        assert result.flows["retransmissions"].iloc[0] == 1
    assert result.counters.timeouts == 0
    check_finished(result)


EXPERIMENT = experiment("validation.expresspass_ns2")

UNTIL = {"10G": ms(6), "100G": ms(1.3)}
"""Twenty base RTTs after the second flow joins."""


def point(name, seed=0, scheme=None):
    one = next(one for one in EXPERIMENT.points(seed=seed) if one.name == name)
    if name.startswith("two flows"):
        one = replace(one, scenario=replace(one.scenario, until=UNTIL[one.labels["rate"]]))
    return one if scheme is None else replace(one, scenario=replace(one.scenario, scheme=scheme))


def test_the_papers_law_converges_in_two_round_trips():
    """Medians of seven runs at 10 and 100 Gb/s; the simulator's law takes 4 to 20."""
    for rate in ("10G", "100G"):
        scheme = rdmacc.preset("expresspass-2017", f"{rate}bps")["expresspass-paper"]
        taken = []
        for seed in range(7):
            one = point(f"two flows, {rate}, w 1/2", seed, scheme)
            table = EXPERIMENT.execute(one, Run("auto")).assign(point=one.name)
            taken.append(scalar(table, one.name, "RTTs to converge"))
        assert np.median(taken) == 2
