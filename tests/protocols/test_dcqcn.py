"""DCQCN as in its paper: the handlers against the paper's rules, then in the simulator.

Theory: alpha decays by (1 - g) each period without a CNP and rises by g with one; a cut takes alpha / 2 of the rate;
after n steps of fast recovery the gap to the target is 1 / 2^n of the cut; the fluid fixed point (Zhu et al., CoNEXT
2016) has equal rates and a queue at Kmin + p* / Pmax (Kmax - Kmin).
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import probes
from rdmacc.interface import CNP, NEVER, NONE, Packet, QueuePair
from rdmacc.models.dcqcn_equations import DcqcnEquations
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.units import us
from tests.support import WIRE, samples, transmission

LINE = 40e9


def make(line=LINE, **changes):
    """Return parameters, queue pair and sender as after `on_open`."""
    params, qp, sender = Dcqcn(**{"clamp_target": True} | changes), QueuePair(), Dcqcn.Sender()
    qp.line_bps = line
    Dcqcn.on_open(params, qp, sender)
    return params, qp, sender


class Rules:
    """An independent version of DCQCN's reaction point (SIGCOMM 2015, figure 7), for comparison."""

    def __init__(self, params, line):
        self.p, self.line = params, line
        scale = line / params.reference_bps if params.reference_bps else 1.0
        self.r_ai, self.r_hai = params.additive_bps * scale, params.hyper_bps * scale
        self.rc = self.rt = line
        self.alpha = 1.0
        self.t = self.bc = self.bytes = 0
        self.limited = False

    def cnp(self):
        self.rt = self.rc
        self.rc = max(self.p.min_rate_bps, self.rc * (1 - self.alpha / 2))
        self.alpha = (1 - self.p.g) * self.alpha + self.p.g
        self.t = self.bc = self.bytes = 0
        self.limited = True

    def alpha_timer(self):
        self.alpha *= 1 - self.p.g

    def timer(self):
        if self.limited:
            self.t += 1
            self.increase()

    def sent(self, size):
        if self.limited:
            self.bytes += size
            if self.bytes >= self.p.byte_counter_bytes:
                self.bytes -= self.p.byte_counter_bytes
                self.bc += 1
                self.increase()

    def increase(self):
        if max(self.t, self.bc) < self.p.fast_recovery_steps:
            pass
        elif min(self.t, self.bc) > self.p.fast_recovery_steps:
            self.rt += (min(self.t, self.bc) - self.p.fast_recovery_steps) * self.r_hai
        else:
            self.rt += self.r_ai
        self.rt = min(self.rt, self.line)
        self.rc = (self.rt + self.rc) / 2
        if self.rt == self.line and self.rc > 0.9999 * self.line:  # "when RC reaches line": unlimited again
            self.rc, self.limited = self.line, False


STEPS = st.lists(
    st.one_of(st.sampled_from(["cnp", "alpha", "timer", "timer"]), st.integers(64, 9000), st.integers(5000, 9000)),
    max_size=120,
)


@given(
    steps=STEPS,
    line=st.sampled_from([10e9, 40e9, 100e9]),
    g=st.sampled_from([1 / 256, 1 / 16]),
    steps_of_recovery=st.integers(1, 6),
)
def test_any_sequence_of_events_follows_the_rules(steps, line, g, steps_of_recovery):
    """Random CNPs, timer and byte events: rate, target and alpha match the rules above bit for bit."""
    params, qp, sender = make(line, g=g, byte_counter_bytes="20kB", fast_recovery_steps=steps_of_recovery)
    rules = Rules(params, line)
    for now, step in enumerate(steps):
        if step == "cnp":
            Dcqcn.on_cnp(params, sender, now)
            rules.cnp()
        elif step == "alpha":
            Dcqcn.on_alpha_timer(params, sender, now)
            rules.alpha_timer()
        elif step == "timer":
            if sender.increase_timer_ps < NEVER:
                sender.increase_timer_ps = NEVER
                Dcqcn.on_increase_timer(params, qp, sender, now)
            rules.timer()
        else:
            packet = Packet()
            packet.wire_bytes = step
            Dcqcn.on_send(params, qp, sender, packet)
            rules.sent(step)
        assert (sender.rate_bps, sender.target_bps, sender.alpha) == (rules.rc, rules.rt, rules.alpha)
        assert params.min_rate_bps <= sender.rate_bps <= sender.target_bps <= line or step == "cnp"
        assert 0.0 <= sender.alpha <= 1.0
        assert (sender.increase_timer_ps < NEVER) == rules.limited


def test_notifications_are_50_us_apart():
    """The first marked packet is answered at once; others within N = 50 us are ignored."""
    params, receiver = Dcqcn(), Dcqcn.Receiver()

    def kind(now, ce=1):
        packet, notice = Packet(), Packet()
        packet.ce = ce
        Dcqcn.on_data(params, receiver, packet, notice, now)
        return notice.kind

    assert kind(0, ce=0) == NONE
    assert kind(us(3)) == CNP
    assert [kind(us(t)) for t in (4, 20, 52)] == [NONE] * 3
    assert kind(us(60), ce=0) == NONE  # the marks in between are not remembered
    assert kind(us(61)) == CNP
    assert kind(us(111)) == CNP


def test_the_first_cut_comes_at_the_computed_time(engine):
    """Two senders at 40 Gb/s: the packet that finds more than Kmin queued is marked, and its CNP halves the sender's
    rate.

    At half the rate packets start two packet times apart.
    """
    scheme = rdmacc.preset("dcqcn-2015")["dcqcn"].replace(kmin_bytes=4 * WIRE, kmax_bytes=4 * WIRE)
    work = rdmacc.long_flows([("h1", "h0"), ("h2", "h0")], "1MB")
    watch = [probes.rate(0), probes.rate(1), probes.field("port", ("h1", "s0"), "tx_data_packets")]
    graph = rdmacc.star(3, rate="40Gbps")
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until="50us", probes=watch)
    t, d = transmission(WIRE, LINE), us(1)
    t_cnp = transmission(64, LINE)
    # In wave m, counted from 0, h1's packet finds m packets queued and h2's one more (see test_red). So h2's in wave 4
    # is the first to find five; it is packet number 10 of the port.
    served = t + d + 10 * t + d
    # It goes back as a CNP behind its own ACK, over two links. h1's in wave 5 finds five too; it is served next.
    heard = served + 2 * t_cnp + d + t_cnp + d
    for flow, at in ((1, heard), (0, heard + t)):
        assert next(cut for cut in samples(result, f"rate {flow}") if cut[1] < LINE) == (at, LINE / 2)
    gaps = np.diff([at for at, _ in samples(result, "tx_data_packets ('h1', 's0')") if at > heard + t])
    assert len(gaps) >= 5
    assert set(gaps) == {2 * t}


def steady_state(engine, flows, until, since):
    """Return time averages of queue (kB) and alpha, and the flows' shares of the goodput."""
    work = rdmacc.long_flows([(f"h{i + 1}", "h0") for i in range(flows)], "1GB")
    graph = rdmacc.star(flows + 1, rate="40Gbps", delay="500ns")
    scheme = rdmacc.preset("dcqcn-2015")["dcqcn"].replace(payload_bytes=952)  # 1000 B on the wire
    watch = [probes.queue("s0", "h0", "2us")]
    watch += [probes.field("flow", i, "Dcqcn.alpha", "20us") for i in range(flows)]
    simulation = rdmacc.Simulation(graph, work, scheme, engine=engine, probes=watch)
    before = simulation.run(since).outcome.messages["received_packets"]
    result = simulation.run(until)
    frame = result.probes[result.probes["time_ps"] >= rdmacc.units.time_ps(since)]
    queue = frame.loc[frame["probe"].str.startswith("queue"), "value"].mean() / 1000
    alpha = frame.loc[frame["probe"].str.startswith("Dcqcn"), "value"].mean()
    got = result.outcome.messages["received_packets"] - before
    return queue, alpha, got / got.sum(), result


@pytest.mark.parametrize(
    ("engine", "flows", "until", "since", "alpha_band", "share_band"),
    [
        *[("compiled", flows, "40ms", "20ms", (1.0, 2.0), 0.35) for flows in (2, 8)],
        *[
            pytest.param(engine, flows, "200ms", "100ms", (0.75, 1.25), 0.15, marks=pytest.mark.nightly)
            for engine in ("simpy", "compiled")
            for flows in (2, 4, 8)
        ],
    ],
)
def test_the_fluid_fixed_point(engine, flows, until, since, alpha_band, share_band):
    """Loosely: within 35% for the time average of the queue. Alpha takes longer, as its half-life is 10 ms."""
    queue, alpha, shares, result = steady_state(engine, flows, until, since)
    fixed = DcqcnEquations(flows=flows).fixed_point()
    assert queue == pytest.approx(fixed["queue_bytes"] / 1000, rel=0.35)
    assert alpha_band[0] < alpha / fixed["alpha"] < alpha_band[1]
    assert shares * flows == pytest.approx(np.ones(flows), abs=share_band)
    assert result.counters.pfc_pauses == 0
