"""DCTCP: slow start, additive increase, one cut per window by alpha / 2, halving on losses; its sawtooth.

Theory: RFC 8257; Alizadeh et al., SIGCOMM 2010, section 3.3: with W* = (C RTT + K) / N packets, alpha is sqrt(2 / W*),
the queue of N synchronised flows swings between K + N and K + N - sqrt(2 N (C RTT + K)) / 2.

DCTCP as in RDMA simulators: a rate, cut by alpha / 2 once per round trip with marks, otherwise raised by a constant.

Theory: rdma-hw.cc, mode 8, whose rules `Rules` states in bytes; alpha decays by 15/16 each round without marks.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import probes
from rdmacc.interface import ACK, NAK, Message, QueuePair
from rdmacc.protocols.dctcp import Dctcp
from rdmacc.protocols.dctcp_hpcc import DctcpHpcc
from rdmacc.units import us
from tests.support import packet_with


class Flow:
    """One flow's records; every packet is sent as soon as the window has room for it."""

    def __init__(self, **changes):
        self.params, self.sender, self.message = Dctcp(**changes), Dctcp.Sender(), Message()
        self.transfer = Dctcp.Transfer()
        self.message.packets, self.message.payload_bytes = 10**6, 1000
        self.message.size_bytes = 10**9
        Dctcp.on_open(self.params, self.sender)
        Dctcp.on_start(self.sender, self.message)
        self.send()

    def send(self):
        message = self.message
        message.next_psn = max(message.next_psn, message.una_psn + self.sender.window_bytes // 1000)
        message.highest_psn = max(message.highest_psn, message.next_psn)

    def ack(self, packets=1, echo=0, kind=ACK):
        self.message.una_psn += packets
        packet = packet_with(Dctcp.Header)
        packet.psn, packet.ecn_echo, packet.kind = self.message.una_psn, echo, kind
        Dctcp.on_ack(self.params, self.sender, self.message, self.transfer, packet)
        self.send()
        return self.sender.window

    def round(self, echo=0):
        for _ in range(self.message.highest_psn - self.message.una_psn):
            self.ack(1, echo)
        return self.sender.window


def test_the_echo_is_the_mark_of_the_packet():
    for ce in (0, 1):
        packet, reply = packet_with(Dctcp.Header), packet_with(Dctcp.Header)
        packet.ce = ce
        Dctcp.on_data(packet, reply)
        assert reply.ecn_echo == ce


def test_slow_start_doubles_the_window_each_round():
    flow = Flow()
    assert flow.sender.window_bytes == 10_000
    assert [flow.round() for _ in range(4)] == [20, 40, 80, 160]


def test_additive_increase_is_one_packet_per_round():
    flow = Flow()
    flow.sender.threshold = 10.0
    assert flow.round() == pytest.approx(11, abs=0.06)
    assert flow.sender.window_bytes == 10_000  # whole packets


@pytest.mark.parametrize(("initial", "echo", "after"), [(1.0, 0, 0.0), (0.0, 1, 1.0)])
def test_alpha_moves_by_a_sixteenth_a_window(initial, echo, after):
    """(15/16)^k without marks, 1 - (15/16)^k if every packet is marked. The first ACK ends a window (RFC 8257, 3.3)."""
    flow = Flow(initial_alpha=initial)
    for k in range(1, 11):
        while flow.message.una_psn < flow.transfer.window_end_psn:
            flow.ack(echo=echo)
        flow.ack(echo=echo)
        assert flow.sender.alpha == pytest.approx(after + (initial - after) * (15 / 16) ** k)


def test_a_cut_takes_half_of_alpha():
    """At alpha = 0.1, 100 packets become 95, and slow start is over."""
    flow = Flow(initial_alpha=0.1)
    flow.sender.window, flow.transfer.window_end_psn = 100.0, 10**6
    assert flow.ack(echo=1) == 95.0
    assert flow.sender.threshold == 95.0


def test_one_cut_per_window():
    """Packets sent before the cut cause neither another cut nor growth."""
    flow = Flow()
    flow.transfer.window_end_psn = 10**6
    assert flow.ack(echo=1) == 5.0
    assert [flow.ack(echo=i % 2) for i in range(9)] == [5.0] * 9
    assert flow.ack() == 5.2
    assert flow.ack(echo=1) == 2.6


def test_the_first_mark_halves_the_window():
    """Alpha starts at 1, or a sixteenth less if the first ACK is not marked; from 0, the first cut is tiny."""
    assert Flow().ack(echo=1) == 5.0
    flow = Flow()
    flow.ack()
    assert flow.ack(echo=1) == 11 * (1 - 15 / 32)
    assert Flow(initial_alpha=0.0).ack(echo=1) == pytest.approx(10 * (1 - 1 / 32))


def test_a_loss_halves_the_window_whatever_alpha():
    flow = Flow(initial_alpha=0.0)
    assert flow.ack(0, kind=NAK) == 5.0
    assert flow.round() == 5.0
    assert flow.sender.threshold == 5.0


def test_a_timeout_starts_over():
    flow = Flow()
    flow.sender.window = 40.0
    flow.message.timeouts = 1
    flow.message.next_psn = 0
    Dctcp.on_send(flow.params, flow.sender, flow.message, flow.transfer)
    assert (flow.sender.window, flow.sender.window_bytes, flow.sender.threshold) == (1.0, 1000, 20.0)
    alpha = flow.sender.alpha
    assert flow.ack() == 2.0
    assert flow.sender.alpha == pytest.approx(alpha * 15 / 16)
    Dctcp.on_send(flow.params, flow.sender, flow.message, flow.transfer)
    assert flow.sender.window == 2.0  # once for each


def test_the_window_never_falls_below_its_minimum():
    flow = Flow()
    for _ in range(40):
        flow.round(echo=1)
    assert flow.sender.window == 2.0
    assert Flow(min_window=1.0, initial_window=1.0).ack(echo=1) == 1.0


def test_the_sawtooth(engine):
    """C = 10 Gb/s, RTT = 100 us, K = 40, two flows: alpha is 0.18, and the queue swings between 30.9 and 42 packets."""
    k, flows, wire = 40, 2, 1500
    scheme = rdmacc.scheme("dctcp", payload_bytes=wire - 58, kmin_bytes=k * wire, start_delay_ps=0)
    scheme = scheme.replace(**{"EcnStep.reference_bps": 0})
    graph = rdmacc.star(flows + 1, rate="10Gbps", delay="24387ns")
    work = rdmacc.long_flows([("h1", "h0"), ("h2", "h0")], "1GB")
    watch = [probes.queue("s0", "h0"), probes.field("flow", 0, "Dctcp.alpha", "20us")]
    simulation = rdmacc.Simulation(graph, work, scheme, engine=engine, probes=watch)
    before = simulation.run("15ms").outcome.messages["received_packets"]
    result = simulation.run("25ms")
    rtt_packets = 10e9 * result.plan.qp_base_rtt_ps[0] / 8e12 / wire
    assert rtt_packets == pytest.approx(83.3, rel=1e-3)
    late = result.probes[result.probes["time_ps"] > us(15_000)]
    queue = late.loc[late["probe"] == watch[0].name, "value"] / wire
    alpha = late.loc[late["probe"] == watch[1].name, "value"]
    swing = math.sqrt(2 * flows * (rtt_packets + k)) / 2
    assert alpha.mean() == pytest.approx(math.sqrt(2 * flows / (rtt_packets + k)), rel=0.1)
    assert queue.max() == pytest.approx(k + flows, abs=2)
    assert queue.min() == pytest.approx(k + flows - swing, abs=2)
    goodput = (result.outcome.messages["received_packets"] - before) * wire * 8 / 10e-3
    assert goodput.sum() == pytest.approx(10e9, rel=0.001)
    assert goodput[0] == pytest.approx(goodput[1], rel=0.2)


LINE = 100e9
RAI = 615e6


class HpccFlow:
    """One flow's records, called as an engine calls them."""

    def __init__(self, packets=1000, last_bytes=1000, line=LINE, rtt=0, **changes):
        self.params, self.qp, self.sender = DctcpHpcc(base_rtt_ps=rtt, **changes), QueuePair(), DctcpHpcc.Sender()
        self.qp.line_bps, self.qp.base_rtt_ps = line, us(13)
        self.message, self.transfer = Message(), DctcpHpcc.Transfer()
        self.message.packets, self.message.payload_bytes = packets, 1000
        self.message.size_bytes = (packets - 1) * 1000 + last_bytes
        DctcpHpcc.on_open(self.params, self.qp, self.sender)

    def ack(self, psn, echo=0, next_psn=None):
        if next_psn is not None:
            self.message.next_psn = next_psn
        packet = packet_with(DctcpHpcc.Header)
        packet.psn, packet.ecn_echo = psn, echo
        DctcpHpcc.on_ack(self.params, self.qp, self.sender, self.message, self.transfer, packet)
        return self.sender.current_bps


class Rules:
    """The same rules in the simulator's terms: byte sequence numbers and a two-valued state."""

    def __init__(self, line, g, min_rate):
        self.line, self.g, self.min_rate = line, g, min_rate
        self.rate, self.alpha = line, 1.0
        self.ecn = self.last_update = self.high = self.batch = 0
        self.in_cwr = False

    def ack(self, ack, snd_nxt, echo):
        self.ecn += echo
        new_batch = ack > self.last_update
        if new_batch:
            if self.last_update == 0:
                self.batch = snd_nxt // 1000 + 1
            else:
                self.alpha = (1 - self.g) * self.alpha + self.g * min(1.0, self.ecn / self.batch)
                self.ecn = 0
                self.batch = (snd_nxt - ack) // 1000 + 1
            self.last_update = snd_nxt
        if self.in_cwr and ack > self.high:
            self.in_cwr = False
        if echo and not self.in_cwr:
            self.rate = max(self.min_rate, self.rate * (1 - self.alpha / 2))
            self.in_cwr, self.high = True, snd_nxt
        if not self.in_cwr and new_batch:
            self.rate = min(self.line, self.rate + RAI)


def test_starts_at_line_rate_with_a_window_of_one_bandwidth_delay_product():
    flow = HpccFlow()
    assert (flow.sender.current_bps, flow.sender.window_bytes, flow.sender.alpha) == (LINE, 162_500, 1.0)
    assert HpccFlow(rtt="4160ns").sender.window_bytes == 52_000


@given(
    steps=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8), st.booleans()), max_size=150),
    last_bytes=st.sampled_from([1, 999, 1000]),
    line=st.sampled_from([10e9, 100e9]),
    g=st.sampled_from([1 / 16, 1 / 256]),
)
def test_any_sequence_of_acks_follows_the_rules(steps, last_bytes, line, g):
    """Random ACKs, marks and sent packets: rate and alpha match the simulator's rules bit for bit."""
    flow = HpccFlow(packets=300, last_bytes=last_bytes, line=line, g=g)
    rules = Rules(line, g, 1e9)
    una = sent = 0
    for acked, more, echo in steps:
        sent = min(300, sent + more)
        una = min(sent, una + acked)
        flow.ack(una, int(echo), next_psn=sent)
        in_bytes = [flow.message.size_bytes if psn == 300 else psn * 1000 for psn in (una, sent)]
        rules.ack(*in_bytes, int(echo))
        assert (flow.sender.current_bps, flow.sender.alpha) == (rules.rate, rules.alpha)
        assert flow.transfer.reduced == rules.in_cwr
