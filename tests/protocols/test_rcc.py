"""RCC: who gets which window, where congestion is, the PID's steps; shares, stability and large incasts."""

import math

import numpy as np
import pytest

import rdmacc
from rdmacc import probes
from rdmacc.interface import IN_NETWORK, LAST_HOP, Host, Message, QueuePair
from rdmacc.protocols.rcc import Rcc, base_rtt, count, fair_share
from rdmacc.units import us
from tests.support import WIRE, packet_with

LINE = 100e9
BASE, ONE_WAY = us(12), us(6)
BDP = 150_000
LATE = us(14.4) + 1
"""The first sample above 12 us (1 + 0.2)."""


class Flow:
    """A receiver with one flow in progress, its last round full; packets arrive a microsecond apart."""

    def __init__(self, n=1, **changes):
        self.params, self.host, self.endpoint = Rcc(**changes), Host(), Rcc.Endpoint()
        self.qp, self.receiver, self.sender, self.message = QueuePair(), Rcc.Receiver(), Rcc.Sender(), Message()
        self.qp.line_bps = self.qp.peer_line_bps = self.host.line_bps = LINE
        self.qp.base_rtt_ps, self.qp.base_delay_ps = BASE, ONE_WAY
        self.message.packets, self.message.payload_bytes = 10**6, 1000
        self.now = us(100)
        self.endpoint.flow_num = n - 1
        self.endpoint.round_ps = BASE
        Rcc.on_open(self.params, self.qp, self.sender, self.receiver)
        self.take()
        self.fill(1.0)

    def fill(self, used):
        """Set B_R to this share of the link's capacity."""
        self.endpoint.last_bps, self.endpoint.last_began_ps = used * LINE, self.now

    def take(self, rtt=BASE, after=us(1)):
        """Take a packet whose sample is `rtt`; return the window in its ACK."""
        self.now += after
        self.endpoint.round_began_ps = self.now  # no round ends: `fill` decides B_R
        packet, reply = packet_with(Rcc.Header), packet_with(Rcc.Header)
        packet.accepted = 1
        self.message.received_packets += 1
        self.host.clock_ps = self.now
        packet.sent_ps = self.now - (rtt - BASE) - ONE_WAY
        Rcc.on_data(
            self.params, self.host, self.endpoint, self.qp, self.receiver, self.message, packet, reply, self.now
        )
        return reply.cwnd_bytes


@pytest.mark.parametrize(
    ("flows", "changes", "share"),
    [(1, {}, 150_000), (2, {}, 75_000), (4, {}, 37_500), (1001, {}, 149), (4, {"ewa_eta": 0.8}, 30_000)],
)
def test_windows_are_equal_shares_of_a_bdp(flows, changes, share):
    """A share of it can be kept back at the last hop."""
    assert Flow(flows, **changes).take() == fair_share(Rcc(**changes), BASE, LINE, flows) == share


def test_messages_are_counted_by_their_first_and_last_packets():
    """A packet that recovery rejects, such as a duplicate, does not count."""
    flow = Flow(3)
    flow.message.packets = 4
    assert flow.endpoint.flow_num == 3
    packet, reply = packet_with(Rcc.Header), packet_with(Rcc.Header)
    Rcc.on_data(flow.params, flow.host, flow.endpoint, flow.qp, flow.receiver, flow.message, packet, reply, flow.now)
    assert flow.endpoint.flow_num == 3
    assert [flow.take() for _ in range(3)] == [50_000, 50_000, 75_000]
    assert flow.endpoint.flow_num == 2


def test_the_sender_paces_its_window_over_a_round_trip():
    """150 bytes in 12 us are 100 Mb/s, or one packet in 84 us."""
    flow = Flow()
    assert (flow.sender.window_bytes, flow.sender.rate_bps) == (BDP, LINE)
    ack = packet_with(Rcc.Header)
    ack.cwnd_bytes = 150
    Rcc.on_ack(flow.params, flow.qp, flow.sender, ack)
    assert flow.sender.window_bytes == 150
    assert WIRE * 8e12 / flow.sender.rate_bps == pytest.approx(us(83.84))
    ack.cwnd_bytes = 0  # a NAK sent by a timer: it says nothing about the window
    Rcc.on_ack(flow.params, flow.qp, flow.sender, ack)
    assert flow.sender.cwnd_bytes == 150


@pytest.mark.parametrize(("start", "window"), [("line-rate", BDP), ("request", 150)])
def test_the_first_window(start, window):
    """A receiver that requests data from a thousand senders can tell each its share."""
    flow = Flow(start=start)
    flow.message.group_size = 1000
    Rcc.on_start(flow.params, flow.qp, flow.sender, flow.message)
    assert flow.sender.cwnd_bytes == window


def test_one_base_rtt_can_serve_all_flows():
    flow = Flow(base_rtt_ps="8us")
    assert flow.take() == 100_000
    assert base_rtt(flow.params, flow.qp) == us(8)


def test_three_late_samples_in_a_row_are_congestion():
    """Equation (1), n = 3; a sample at the threshold is not late and restarts the count."""
    flow = Flow()
    seen = []
    for rtt in (LATE, LATE, us(14.4), LATE, LATE, LATE, BASE):
        flow.take(rtt)
        seen.append(flow.receiver.congestion)
    assert seen == [0, 0, 0, 0, 0, LAST_HOP, 0]
    assert flow.receiver.is_iterative == 0


@pytest.mark.parametrize(("used", "where"), [(0.94, IN_NETWORK), (0.951, LAST_HOP)])
def test_the_last_hop_is_the_bottleneck_if_it_is_busy(used, where):
    flow = Flow(2)
    flow.fill(used)
    for _ in range(3):
        flow.take(LATE)
    assert flow.receiver.congestion == where
    assert flow.receiver.is_iterative == (where == IN_NETWORK)


def test_a_sample_may_cover_a_round_trip():
    """Packets arrive a microsecond apart: with n = 2 a flow must be late for two base RTTs of 12 us."""
    flow = Flow(sampling="base-rtt", late_samples=2)
    flow.take(BASE, after=2 * BASE)
    flow.fill(0.5)
    seen = []
    for _ in range(24):
        flow.take(LATE)
        seen.append((flow.receiver.late, flow.receiver.is_iterative))
    assert seen == [(0, 0)] * 11 + [(1, 0)] * 12 + [(2, 1)]


def test_a_flow_is_judged_only_by_rounds_in_which_it_was_present():
    flow = Flow()
    flow.fill(0.5)
    flow.endpoint.last_began_ps = flow.receiver.began_ps - 1
    for _ in range(5):
        flow.take(LATE)
    assert (flow.receiver.congestion, flow.receiver.late) == (0, 5)
    flow.fill(0.5)
    flow.take(LATE)
    assert flow.receiver.congestion == IN_NETWORK


def test_a_flow_stays_iterative_until_its_end():
    """Algorithm 1, lines 6 to 9; it is below its fair share all the time."""
    flow = Flow(law="both")
    flow.fill(0.5)
    for _ in range(3):
        flow.take(LATE)
    flow.fill(1.0)
    for _ in range(100):
        assert flow.take(BASE) <= BDP
    assert flow.receiver.is_iterative
    flow.endpoint.flow_num = 10
    assert flow.take(BASE) == 15_000
    flow.message.received_packets = 0
    assert flow.take(BASE) == 13_636  # a new message: the eleventh, and explicit again
    assert not flow.receiver.is_iterative


def test_rounds_are_as_long_as_the_smallest_base_rtt():
    flow = Flow()
    flow.host.rx_wire_bytes = 500_000
    flow.endpoint.round_began_ps, flow.endpoint.round_began_bytes = flow.now, 380_000
    for after, ends in ((us(11.9), False), (us(0.1), True)):
        flow.now += after
        packet, reply = packet_with(Rcc.Header), packet_with(Rcc.Header)
        Rcc.on_data(
            flow.params, flow.host, flow.endpoint, flow.qp, flow.receiver, flow.message, packet, reply, flow.now
        )
        assert (flow.endpoint.round_began_ps == flow.now) == ends
    assert flow.endpoint.last_bps == 120_000 * 8e12 / us(12)


def test_the_round_follows_the_active_flows():
    """A nearer sender's message shortens it; once all have ended, a farther sender's lengthens it again."""
    endpoint, message, packet = Rcc.Endpoint(), Message(), packet_with(Rcc.Header)
    packet.accepted, message.packets = 1, 2

    def round_ps(base_rtt_ps, is_last=False):
        message.received_packets = 2 if is_last else 1
        count(endpoint, message, packet, base_rtt_ps)
        return endpoint.round_ps

    assert [round_ps(one) for one in (us(12), us(6), us(9))] == [us(12), us(6), us(6)]
    assert [round_ps(one, is_last=True) for one in (us(12), us(6), us(9))] == 3 * [us(6)]
    assert round_ps(us(9)) == us(9)


def entered(**changes):
    """Return a flow that has just entered PID control with a sample of 15.2 us, 2 us above the target."""
    flow = Flow(late_samples=1, **changes)
    flow.fill(0.5)
    flow.first = flow.take(us(15.2))
    return flow


def test_it_starts_without_a_kick():
    """Equations (2), (3), (5): the error is 2 us and its derivative 0."""
    flow = entered()
    assert flow.first == round(BDP * (1 - math.tanh(1e4 * 2e-6)))
    assert flow.receiver.last_rtt_diff_ps == us(2)


def test_it_updates_once_per_base_rtt_from_the_latest_sample():
    flow = entered()
    windows = [flow.take(us(14.2)) for _ in range(12)]
    assert windows[:11] == [flow.first] * 11
    u = 1e4 * 1e-6 + 1e5 * -1e-6
    assert windows[11] == min(BDP, round(flow.first * (1 - math.tanh(u))))


@pytest.mark.parametrize(("period", "packets"), [("base-rtt", 12), ("rtt", 16), ("packet", 1)])
def test_the_time_between_updates(period, packets):
    flow = entered(period=period)
    windows = [flow.take(us(15.7)) for _ in range(packets)]
    assert all(window == flow.first for window in windows[:-1])
    assert windows[-1] < flow.first


@pytest.mark.parametrize("form", ["pd", "accumulating"])
def test_equation_4_as_printed_and_without_its_memory(form):
    flow, u, before = entered(pid_form=form, period="packet"), 0.02, 2.0
    cwnd = flow.first
    for sample in (14.0, 13.5, 13.2, 13.0, 13.4):
        error = sample - 13.2
        step = (1e4 * error + 1e5 * (error - before)) * 1e-6
        u = u + step if form == "accumulating" else step
        before = error
        target = cwnd * (1 - math.tanh(u))
        cwnd = min(target, BDP)
        assert flow.take(us(sample)) == pytest.approx(cwnd, abs=3)
        assert flow.receiver.control == pytest.approx(0.0 if target >= BDP and u < 0 else u)
        u = flow.receiver.control


@pytest.mark.parametrize(("anti_windup", "control"), [(True, 0.0), (False, -1.0)])
def test_u_does_not_accumulate_at_a_bound(anti_windup, control):
    flow = entered(pid_form="accumulating", period="packet", anti_windup=anti_windup)
    for _ in range(100):
        assert flow.take(us(12)) <= BDP
    assert flow.receiver.control == control or flow.receiver.control < control < 0.0


def test_the_smallest_window_is_a_packet_unless_the_share_is_less():
    flow = entered(period="packet")
    for rtt in range(20, 300, 10):
        window = flow.take(us(rtt))
    assert window == 1000
    flow.endpoint.flow_num = 1000
    assert flow.take(us(300)) == 150


def test_a_timer_of_four_bytes_wraps():
    """2**31 ns are 2.1 s; the update after that works like any other."""
    flow = entered()
    flow.now = 2**31 * 1000 - us(100)
    flow.take(us(15.2))
    for after, changes in ((us(99), True), (us(5), False), (us(8), True)):
        before = flow.receiver.cwnd_bytes
        flow.take(us(16.2), after=after)
        assert (flow.receiver.cwnd_bytes != before) == changes


def test_jitter_is_uniform_in_both_directions():
    flow = Flow(jitter_ps="500ns")
    samples = []
    for _ in range(400):
        flow.take(us(13))
        samples.append(flow.receiver.last_rtt_ps - us(13))
    assert us(0.45) < max(samples) < us(0.5)
    assert -us(0.5) < min(samples) < -us(0.45)
    assert abs(np.mean(samples)) < us(0.05)


def received(simulation, until):
    """Continue the run; return how many packets each message's receiver has."""
    return simulation.run(until).outcome.messages["received_packets"].copy()


@pytest.mark.parametrize("name", ["rcc", "rcc-sender", "rcc-ewa"])
def test_flows_share_the_last_hop_within_two_round_trips(engine, name):
    """V-B-1: 100 x 0.95 / N Gb/s each and a Jain index of at least 0.998, from two round trips after each start."""
    starts = [0, 200, 400, 600]
    work = rdmacc.messages([(f"h{i}", "h4", 10**8, us(start)) for i, start in enumerate(starts)])
    watch = [probes.rate(i) for i in range(4)]
    simulation = rdmacc.Simulation(rdmacc.topology.rcc_dumbbell(), work, name, engine=engine, probes=watch)
    rtt_ps = int(simulation.plan.qp_base_rtt_ps[0])
    for n, start in enumerate(starts, 1):
        before = received(simulation, us(start) + 2 * rtt_ps)[:n]
        paces = [simulation.result().samples(f"rate {i}").iloc[-1] for i in range(n)]
        assert paces == pytest.approx([LINE / n] * n, rel=1e-4)
        rates = (received(simulation, us(start) + 12 * rtt_ps)[:n] - before) * 8000 / (10 * rtt_ps * 1e-12)
        assert rates == pytest.approx(np.full(n, 95e9 / n), rel=0.03)
        assert rates.sum() ** 2 / (len(rates) * (rates**2).sum()) >= 0.998


PHASE = 300
"""Microseconds between the flows' starts at the two bottlenecks."""


def two_bottlenecks(engine, scheme, phases=3, **arguments):
    """Run V-E-3's three flows; return the simulation and the rates in Gb/s over the last 150 us of each phase."""
    graph = rdmacc.rcc_multi_bottleneck()
    flows = graph.graph["flows"]
    work = rdmacc.messages([(*flow, 10**8, us(PHASE * i)) for i, flow in enumerate(flows)])
    watch = [probes.queue("s0", "s1", "1us"), probes.queue("s1", "h3", "1us")]
    if scheme != "rcc-sender":
        watch += [probes.field("flow", i, "Rcc.congestion") for i in range(3)]
        watch += [probes.field("flow", i, "Rcc.is_iterative") for i in range(3)]
    simulation = rdmacc.Simulation(graph, work, scheme, engine=engine, probes=watch, **arguments)
    rates = []
    for phase in range(1, phases + 1):
        before = received(simulation, us(PHASE * phase - 150))
        rates.append((received(simulation, us(PHASE * phase)) - before) * 8000 / 150e-6 / 1e9)
    return simulation.result(), np.array(rates)


def check_shares(rates):
    """Assert that links are full and flow 3 has half of its last hop. How 1 and 2 share theirs depends on when their
    first updates come: the PID preserves the initial ratio of windows.
    """
    assert rates[1, :2].sum() == pytest.approx(95.4, rel=0.04)
    assert rates[1, :2].min() > 0.33 * rates[1].sum()
    assert rates[2, 2] == pytest.approx(47.7, rel=0.02)
    assert rates[2, :2].sum() > 0.88 * 95.4
    assert rates[2, 0] < 48


def in_phase(result, name, phase):
    """Return a probe's samples in a phase, except for its first two round trips."""
    values = result.samples(name)
    return values[(values.index > us(PHASE * phase + 25)) & (values.index < us(PHASE * (phase + 1)))]


def test_each_kind_of_congestion_is_found_where_it_is(engine):
    """Flow 2 makes the link between the switches the bottleneck, flow 3 the last hop (V-E-3, figure 14c)."""
    result, rates = two_bottlenecks(engine, "rcc")
    assert rates[0, 0] == pytest.approx(95.4, abs=0.5)
    check_shares(rates)
    verdicts = [result.samples(f"Rcc.congestion {i}") for i in range(3)]
    for i in range(2):  # flow 2 starts: both flows detect congestion in the network within two round trips
        found = verdicts[i][verdicts[i] == IN_NETWORK]
        assert us(PHASE) < found.index[0] < us(PHASE + 30)
        modes = result.samples(f"Rcc.is_iterative {i}")
        assert modes.iloc[-1] == 1
    assert set(verdicts[2].unique()) <= {0, LAST_HOP}  # flow 3 never detects any there
    assert result.samples("Rcc.is_iterative 2").max() == 0
    for phase in (1, 2):
        assert in_phase(result, "queue s0->s1", phase).iloc[100:].max() < 2 * 15_000
        assert in_phase(result, "queue s1->h3", phase).mean() < 5_000
    assert result.counters.pfc_pauses == 0


def test_explicit_windows_alone_leave_a_queue_in_the_network(engine):
    """RCC-EWA: two BDPs on a link leave a queue of one BDP, then 1.5 leave half of one, shared 1 to 2 (fig. 14b, d)."""
    result, rates = two_bottlenecks(engine, "rcc-ewa")
    bdp = LINE * int(result.plan.qp_base_rtt_ps[0]) / 8e12
    excess = bdp * WIRE / 1000  # windows count payload
    assert in_phase(result, "queue s0->s1", 1).iloc[50:].mean() == pytest.approx(2 * excess - bdp, rel=0.03)
    assert in_phase(result, "queue s0->s1", 2).iloc[50:].mean() == pytest.approx(1.5 * excess - bdp, rel=0.05)
    assert rates[1, :2] == pytest.approx([47.7, 47.7], rel=0.02)
    assert rates[2] == pytest.approx([95.4 / 3, 95.4 * 2 / 3, 47.7], rel=0.08)
