"""TIMELY as in its paper, in Dart, with the patch, and in the HPCC simulator.

Theory (Mittal et al., SIGCOMM 2015): delta below T_low, beta (1 - T_high / RTT) of the rate above T_high, the gradient
in between, five steps at once after five non-positive gradients. Zhu et al. (CoNEXT 2016): it has no fixed point; the
patched one has one, with equal rates and the queue at C T_low (1 + N delta / (beta C)).
"""

from functools import partial

import pytest

import rdmacc
from rdmacc import probes
from rdmacc.interface import UNLIMITED, Message, QueuePair
from rdmacc.models.timely import PatchedTimelyFluid
from rdmacc.protocols.timely import Timely
from rdmacc.protocols.timely import update as update_paper
from rdmacc.protocols.timely_hpcc import TimelyHpcc
from rdmacc.protocols.timely_hpcc import update as update_hpcc
from rdmacc.units import us
from tests.support import WIRE, check_finished, packet_with, plain, samples, transmission

LINE = 10e9


def make(component=Timely, line=LINE, **changes):
    params, qp, sender = plain(component(**changes)), QueuePair(), component.Sender()
    qp.line_bps, qp.base_rtt_ps = line, us(20)
    component.on_open(params, qp, sender)
    return params, qp, sender


def updated(component, update, rtts, rate, last=100, **changes):
    """Return the rates after samples (us), given the rate and the sample before."""
    params, qp, sender = make(component, **changes)
    sender.current_bps, sender.last_rtt_ps = rate, us(last)
    found = []
    for rtt in rtts:
        update(params, qp, sender, us(rtt))
        sender.last_rtt_ps = us(rtt)
        found.append(sender.current_bps)
    return found


paper = partial(updated, Timely, update_paper)
hpcc = partial(updated, TimelyHpcc, update_hpcc)


@pytest.mark.parametrize(
    ("rtts", "last", "rate", "changes", "after"),
    [
        ([1000], 100, 5e9, {}, 3e9),  # fact 1
        ([500.001], 500, 5e9, {}, 5e9),  # just above T_high nothing is cut
        ([100 + 5 / 0.875], 100, 5e9, {}, 4e9),  # an average of 5 us, a quarter of minRTT, leaves 0.8 of the rate
        ([400], 100, 5e9, {}, 0.0),  # a gradient that would cut more than everything
        ([100] * 4, 100, 1e9, {}, 1.04e9),  # four steps of delta
        ([100] * 5, 100, 1e9, {}, 1.09e9),  # then steps of five
        ([100] * 10, 100, 1e9, {}, 1.34e9),
        ([100] * 10, 100, 1e9, {"hyper_after": 0}, 1.1e9),
        ([100] * 4 + [40, 40], 100, 1e9, {}, 1.06e9),  # below T_low an additive step, which ends the run
    ],
)
def test_the_rate_after_samples(rtts, last, rate, changes, after):
    assert paper(rtts, rate, last=last, **changes)[-1] == pytest.approx(after, rel=1e-5)


def test_the_patched_law_has_a_fixed_point():
    """With gradient 0, RTT = T_low (1 + delta / (beta R)) keeps the rate."""
    rtt = 50 * (1 + 10e6 / (0.008 * 5e9))
    assert rtt == pytest.approx(62.5)
    assert paper([rtt], 5e9, last=rtt, is_patched=True, beta=0.008) == pytest.approx([5e9])
    assert paper([rtt + 10], 5e9, last=rtt + 10, is_patched=True, beta=0.008)[0] < 5e9


def ack(params, qp, sender, now, departed, end=1):
    packet = packet_with(Timely.Header)
    packet.departed_ps, packet.is_segment_end = departed, end
    Timely.on_ack(params, qp, sender, packet, now)


def test_only_a_segments_end_gives_a_sample_and_the_first_sets_no_rate():
    params, qp, sender = make(start_fraction=0.5)
    ack(params, qp, sender, us(30), 0, end=0)
    assert sender.last_rtt_ps == 0
    ack(params, qp, sender, us(30), 0)
    assert (sender.last_rtt_ps, sender.current_bps) == (us(30), LINE / 2)
    ack(params, qp, sender, us(60), us(30))
    assert sender.current_bps == LINE / 2 + 10e6


def test_once_per_rtt_and_the_window():
    """Dart's variant: a sample within an RTT of another is not used, and the window is rate times RTT."""
    params, qp, sender = make(once_per_rtt=True, has_window=True)
    assert sender.window_bytes == 25_000
    ack(params, qp, sender, us(40), 0)
    assert sender.window_bytes == 50_000
    ack(params, qp, sender, us(79), 0)
    assert sender.last_rtt_ps == us(40)
    ack(params, qp, sender, us(80), 0)
    assert sender.last_rtt_ps == us(80)
    assert make()[2].window_bytes == UNLIMITED


@pytest.mark.parametrize(("is_paced", "packets"), [(True, 9), (False, 17)])
def test_a_window_alone_releases_a_packet_per_round_trip(engine, is_paced, packets):
    """At 1% of 10 Gb/s a 1,048 B packet takes 83.8 us; without pacing one leaves every RTT of about 42 us."""
    scheme = rdmacc.scheme("timely", has_window=True, is_paced=is_paced, start_fraction=0.01, additive_bps=0)
    graph = rdmacc.star(2, rate="10Gbps", delay="10us")
    work = rdmacc.messages([("h0", "h1", "1MB")])
    watch = [probes.field("flow", 0, "received_packets")]
    result = rdmacc.simulate(graph, work, scheme, until="700us", engine=engine, probes=watch)
    assert result.samples("received_packets 0").iloc[-1] == packets


def test_the_simulators_steps():
    """The same cuts, but increases below T_low count too, and the sixth in a row is the first hyper step."""
    assert hpcc([1000], 5e9) == pytest.approx([3e9])
    assert hpcc([100 + 5 / 0.875], 5e9) == pytest.approx([4e9])
    assert hpcc([400], 5e9) == [1e9]  # the lowest rate
    rates = hpcc([40, 30, 20, 100, 90, 80], 2e9)
    steps = [b - a for a, b in zip([2e9, *rates], rates)]
    assert steps[:3] == pytest.approx([10e6] * 3)
    rates = hpcc([100] * 7, 1e9)
    steps = [b - a for a, b in zip([1e9, *rates], rates)]
    assert steps == pytest.approx([10e6] * 5 + [50e6] * 2)
    assert hpcc([30], 9.99e9 + 1e6) == [LINE]


def test_the_simulator_changes_the_rate_once_per_round_trip():
    params, qp, sender = make(TimelyHpcc, line=100e9)
    message, transfer = Message(), TimelyHpcc.Transfer()

    def reply(psn, next_psn, now, stamp):
        packet = packet_with(TimelyHpcc.Header)
        packet.psn, packet.stamp_ps, message.next_psn = psn, stamp, next_psn
        TimelyHpcc.on_ack(params, qp, sender, message, transfer, packet, now)

    sender.current_bps = 50e9
    reply(1, 52, us(5), 0)
    assert (transfer.update_after_psn, sender.last_rtt_ps, sender.current_bps) == (52, us(5), 50e9)
    reply(52, 104, us(10), us(4))
    assert sender.current_bps == 50e9
    reply(53, 105, us(11), us(5))
    assert (transfer.update_after_psn, sender.last_rtt_ps) == (105, us(6))
    assert sender.current_bps == 50e9 + 100e6  # 10 Mb/s for every 10 Gb/s


def test_the_window_is_proportional_to_the_rate():
    params, qp, sender = make(TimelyHpcc, has_window=True, base_rtt_ps="40us")
    assert sender.window_bytes == 50_000
    sender.last_rtt_ps = us(100)
    update_hpcc(params, qp, sender, us(100 + 5 / 0.875))
    assert sender.window_bytes == pytest.approx(40_000, abs=1)
    assert make(TimelyHpcc, has_window=True)[2].window_bytes == 25_000
    assert make(TimelyHpcc)[2].window_bytes == UNLIMITED


def test_samples_in_an_empty_network(engine):
    """The paper's RTT leaves the sender's serialisation out; the simulator's has it, with 8 bytes of timestamp."""
    work = rdmacc.messages([("h1", "h0", 100_000)])
    for name, wire, at_nic in (("timely", WIRE, 0), ("timely-hpcc", WIRE + 8, 1)):
        kind = "Timely" if name == "timely" else "TimelyHpcc"
        watch = [probes.field("flow", 0, f"{kind}.last_rtt_ps")]
        result = rdmacc.simulate(rdmacc.star(2, rate="10Gbps"), work, name, engine=engine, probes=watch)
        check_finished(result)
        found = {value for _, value in samples(result, f"{kind}.last_rtt_ps 0")} - {0}
        assert found == {(1 + at_nic) * transmission(wire, 10e9) + 2 * transmission(64, 10e9) + 4 * us(1)}


def test_bursts_and_pacing_send_at_the_same_rate(engine):
    """16 packets at line rate and a wait, or 16 spaced packets: only the start of the last one differs."""
    starts = {}
    for is_burst in (False, True):
        scheme = rdmacc.scheme("timely", is_burst=is_burst, start_fraction=0.25, min_fraction=0.25, additive_bps=0)
        watch = [probes.field("flow", 0, "highest_psn")]
        work = rdmacc.messages([("h1", "h0", 64_000)])
        result = rdmacc.simulate(rdmacc.star(2, rate="10Gbps"), work, scheme, engine=engine, probes=watch)
        starts[is_burst] = {int(value): at for at, value in samples(result, "highest_psn 0")}
    gap = 4 * transmission(WIRE, 10e9)
    assert starts[False][48] == 47 * gap
    assert starts[True][33] == pytest.approx(starts[False][33], abs=2_000)
    assert starts[True][48] == pytest.approx(32 * gap + 15 * gap // 4, abs=2_000)


def test_the_patched_variant_settles_at_its_fixed_point(engine):
    """The model's reference queue is C T_low; here the RTT also includes two links' ACK and propagation times."""
    scheme = rdmacc.scheme("timely-patched", segment_bytes="8kB", start_fraction=0.5)
    work = rdmacc.long_flows([("h1", "h0"), ("h2", "h0")], "1GB")
    watch = [probes.queue("s0", "h0", "5us"), probes.rate(0, "20us"), probes.rate(1, "20us")]
    graph = rdmacc.star(3, rate="10Gbps")
    result = rdmacc.simulate(graph, work, scheme, engine=engine, probes=watch, until="30ms")
    late = result.probes[result.probes["time_ps"] > us(20_000)].groupby("probe")["value"].mean()
    fixed = PatchedTimelyFluid(flows=2).fixed_point()
    elsewhere = 10e9 * (4e-6 + 1048 * 8 / 10e9) / 8  # packets in flight, but not queued, in such an RTT
    assert late["queue s0->h0"] == pytest.approx(fixed["queue_bytes"] - elsewhere, rel=0.1)
    assert late[["rate 0", "rate 1"]].tolist() == pytest.approx([5e9, 5e9], rel=0.1)


def test_the_gradient_may_be_relative_to_the_queue_pairs_base_rtt():
    """20 us in `make`, equal to the default."""
    params, qp, sender = make(min_rtt_ps=0)
    sender.last_rtt_ps = us(100)
    update_paper(params, qp, sender, us(110))
    assert sender.gradient == pytest.approx(0.875 * 10 / 20)
