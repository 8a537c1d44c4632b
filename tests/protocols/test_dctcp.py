"""DCTCP: slow start, additive increase, one cut in a window by alpha / 2, halving for losses; its sawtooth.

Theory: RFC 8257; Alizadeh et al., SIGCOMM 2010, section 3.3: with W* = (C RTT + K) / N packets, alpha is sqrt(2 / W*),
the queue of N synchronised flows swings between K + N and K + N - sqrt(2 N (C RTT + K)) / 2.
"""

import math

import pytest

import rdmacc
from rdmacc import probes
from rdmacc.protocols.dctcp import Dctcp
from rdmacc.state import ACK, NAK, Message
from rdmacc.units import us
from tests.support import check_finished, packet_with, transmission


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
        """Acknowledge the packets in flight, one by one."""
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


def test_additive_increase_is_one_packet_each_round():
    flow = Flow()
    flow.sender.threshold = 10.0
    assert flow.round() == pytest.approx(11, abs=0.06)
    assert flow.sender.window_bytes == 10_000  # whole packets


@pytest.mark.parametrize(("rounds", "alpha"), [(1, 0.9375), (10, 0.5245)])
def test_alpha_decays_without_marks(rounds, alpha):
    """Fact 1: (15/16)^k. The first ACK ends a window of its own (RFC 8257, 3.3)."""
    flow = Flow()
    flow.ack()
    for _ in range(rounds - 1):
        while flow.message.una_psn < flow.transfer.window_end_psn:
            flow.ack()
        flow.ack()
    assert flow.sender.alpha == pytest.approx(alpha, abs=5e-5)


def test_alpha_rises_with_full_marking():
    """Fact 1: 1 - (15/16)^k from 0."""
    flow = Flow(initial_alpha=0.0)
    for k in range(1, 6):
        while flow.message.una_psn < flow.transfer.window_end_psn:
            flow.ack(echo=1)
        flow.ack(echo=1)
        assert flow.sender.alpha == pytest.approx(1 - (15 / 16) ** k)


def test_a_cut_takes_half_of_alpha():
    """Fact 2: 100 packets at alpha = 0.1 become 95; slow start is over."""
    flow = Flow(initial_alpha=0.1)
    flow.sender.window, flow.transfer.window_end_psn = 100.0, 10**6
    assert flow.ack(echo=1) == 95.0
    assert flow.sender.threshold == 95.0


def test_one_cut_in_a_window():
    """Packets sent before the cut cause neither another cut nor growth."""
    flow = Flow()
    flow.transfer.window_end_psn = 10**6
    assert flow.ack(echo=1) == 5.0
    assert [flow.ack(echo=i % 2) for i in range(9)] == [5.0] * 9
    assert flow.ack() == 5.2
    assert flow.ack(echo=1) == 2.6


def test_the_first_mark_halves_the_window():
    """Alpha is 1 at the start, less a sixteenth if the first ACK was not marked; 0 makes the first cut tiny."""
    assert Flow().ack(echo=1) == 5.0
    flow = Flow()
    flow.ack()
    assert flow.ack(echo=1) == 11 * (1 - 15 / 32)
    assert Flow(initial_alpha=0.0).ack(echo=1) == pytest.approx(10 * (1 - 1 / 32))


def test_a_loss_halves_whatever_alpha():
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


def test_the_window_keeps_its_least():
    flow = Flow()
    for _ in range(40):
        flow.round(echo=1)
    assert flow.sender.window == 2.0
    assert Flow(min_window=1.0, initial_window=1.0).ack(echo=1) == 1.0


# In the simulator


def test_slow_start_in_time(engine):
    """150 packets in four rounds of 10, 20, 40 and 80, behind the operating system's 300 us."""
    graph = rdmacc.star(2, rate="10Gbps", delay="25us")
    work = rdmacc.messages([("h0", "h1", 150 * 1460)])
    scheme = rdmacc.scheme("dctcp", start_delay_ps="300us", kmin_bytes="22.5kB")
    result = rdmacc.simulate(graph, work, scheme, engine=engine)
    check_finished(result)
    t, t_ack, d = transmission(1518, 10e9), transmission(64, 10e9), us(25)
    round_trip = 2 * (t + d) + 2 * (t_ack + d)
    assert result.flows["fct_ps"][0] == us(300) + 3 * round_trip + 79 * t + 2 * (t + d)


def test_the_sawtooth(engine):
    """Fact 3: C = 10 Gb/s, RTT = 100 us, K = 40, two flows: alpha 0.18, the queue between 30.9 and 42 packets."""
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


def test_an_incast_beyond_the_buffer_waits_for_timeouts(engine):
    """40 senders' first windows are 600 kB: a switch with 225 kB for all drops, and the 10 ms set the last FCT."""
    graph = rdmacc.star(41, rate="10Gbps", delay="5us", buffer="225kB")
    work = rdmacc.incast([f"h{i}" for i in range(1, 41)], "h0", "14.6kB")
    result = rdmacc.simulate(graph, work, "dctcp", engine=engine)
    check_finished(result)
    assert result.counters.dropped_bytes > 300_000
    assert result.counters.timeouts > 0
    assert result.flows["fct_ps"].max() > us(10_000)
    assert result.counters.accepted_bytes == 40 * 14_600
