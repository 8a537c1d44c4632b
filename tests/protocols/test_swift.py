"""Swift: target delays, the window's rules, pacing below one packet; the delay at the target in the simulator."""

import numpy as np
import pytest
from scipy.optimize import brentq

import rdmacc
from rdmacc import probes
from rdmacc.interface import ACK, DATA, HOST_NIC, IN_NETWORK, LAST_HOP, NAK, Message, Port, QueuePair
from rdmacc.protocols.swift import Swift, target_delay
from rdmacc.units import ms, us
from tests.support import WIRE, packet_with, plain

LINE = 100e9
FIXED = {"range_ps": "0us", "base_target_ps": "40us", "hop_target_ps": "0us"}
"""A target of 40 us, regardless of window and hops."""


class Flow:
    """One flow's records; a round trip of 20 us has passed at the start."""

    def __init__(self, window=10.0, **changes):
        self.params, self.qp, self.sender = plain(Swift(**changes)), QueuePair(), Swift.Sender()
        self.message, self.transfer = Message(), Swift.Transfer()
        self.qp.line_bps, self.qp.base_rtt_ps, self.qp.last_wire_bytes = LINE, us(20), WIRE
        self.message.payload_bytes = 1000
        self.now = ms(1)
        Swift.on_open(self.params, self.qp, self.sender)
        self.sender.window = window
        Swift.on_start(self.params, self.qp, self.sender, self.message)

    def ack(self, packets=1, delay=us(20), kind=ACK):
        packet = packet_with(Swift.Header)
        packet.psn, packet.kind, packet.swift_sent_ps = self.transfer.acked_psn + packets, kind, self.now - delay
        Swift.on_ack(self.params, self.qp, self.sender, self.message, self.transfer, packet, self.now)
        return self.sender.window

    def time_out(self):
        self.message.timeouts += 1
        packet = packet_with(Swift.Header)
        Swift.on_send(self.params, self.qp, self.sender, self.message, self.transfer, packet, self.now)
        return self.sender.window


@pytest.mark.parametrize(
    ("window", "hops", "scaling"),
    [(0.05, 0, 100.0), (0.1, 0, 100.0), (1, 0, 29.39), (4, 0, 13.06), (16, 0, 4.898), (25, 0, 3.266), (100, 0, 0.0),
     (1000, 0, 0.0), (100, 5, 5 * 3.05)],
)  # fmt: skip
def test_flow_and_hop_scaling(window, hops, scaling):
    """100 us at a tenth of a packet and below, nothing from 100 packets up."""
    assert target_delay(plain(Swift()), float(window), hops) == pytest.approx((20 + scaling) * 1e6, abs=5e3)


def test_switches_count_themselves_as_hops():
    port = Port()
    packet, reply = packet_with(Swift.Header), packet_with(Swift.Header)
    packet.kind = DATA
    for where in (HOST_NIC, IN_NETWORK, IN_NETWORK, LAST_HOP):
        port.link_class = where
        Swift.on_dequeue(port, packet)
    packet.swift_sent_ps = 5
    Swift.on_data(packet, reply)
    assert (reply.swift_hops, reply.swift_sent_ps) == (3, 5)
    reply.kind = ACK
    Swift.on_dequeue(port, reply)
    assert reply.swift_hops == 3


@pytest.mark.parametrize(("delay", "factor"), [(60, 0.7333), (400, 0.5), (40, 1.0)])
def test_the_cut_is_proportional_to_the_excess(delay, factor):
    """max(1 - 0.8 (d - target) / d, 0.5)."""
    assert Flow(**FIXED).ack(delay=us(delay)) == pytest.approx(10 * factor, abs=1e-3)


def test_the_increase_is_a_packet_per_round_trip():
    flow = Flow(**FIXED)
    for _ in range(10):
        flow.ack()
    assert flow.sender.window == pytest.approx(10.9586, abs=5e-5)
    assert Flow(**FIXED).ack(packets=10) == 11.0
    assert Flow(0.5, **FIXED).ack() == 1.5


def test_one_cut_per_round_trip():
    """The latest RTT counts."""
    flow = Flow(**FIXED)
    windows = []
    for at in (0, 100, 399, 400, 700):
        flow.now = ms(1) + us(at)
        windows.append(flow.ack(delay=us(400)))
    assert windows == [5.0, 5.0, 5.0, 2.5, 2.5]


def test_timeouts_halve_and_then_reset():
    """Three, more than a round trip apart, leave an eighth; the fifth consecutive one resets."""
    flow = Flow(**FIXED)
    windows = []
    for _ in range(5):
        flow.now += us(100)
        windows.append(flow.time_out())
    assert windows == [5.0, 2.5, 1.25, 0.625, 0.001]
    flow.now += us(100)
    flow.ack()
    flow.now += us(100)
    before = flow.sender.window
    assert flow.time_out() == before / 2  # progress in between, so not consecutive


def test_losses_halve_once_per_round_trip():
    flow = Flow(**FIXED)
    assert [flow.ack(0, kind=NAK) for _ in range(3)] == [5.0] * 3


def test_below_one_packet_the_sender_paces():
    """A window of a hundredth of a packet and an RTT of 20 us make one packet in 2 ms."""
    flow = Flow(**FIXED)
    assert (flow.sender.window_bytes, flow.sender.rate_bps) == (10_000, LINE)
    flow.sender.window = 0.01
    flow.ack(0)
    assert flow.sender.window_bytes == 1000
    assert WIRE * 8e12 / flow.sender.rate_bps == pytest.approx(ms(2))


def test_the_window_stays_within_its_bounds():
    flow = Flow(1000.0, **FIXED)
    assert flow.ack(packets=100) == 1000.0
    flow.now, flow.sender.window = ms(10), 0.0015
    assert flow.ack(delay=us(4000)) == 0.001


@pytest.mark.slow
@pytest.mark.parametrize("flows", [2, 8])
def test_the_delay_settles_at_the_target(engine, flows):
    """At the fixed point N windows fill base RTT and queue, and their RTT is the target for that window."""
    work = rdmacc.long_flows([(f"h{i + 1}", "h0") for i in range(flows)], "1GB")
    watch = [probes.queue("s0", "h0", "1us")]
    watch += [probes.field("flow", 0, f"Swift.{name}", "5us") for name in ("window", "rtt_ps")]
    scheme = rdmacc.scheme("swift", initial_window=260 / flows, increase=1.0)
    simulation = rdmacc.Simulation(rdmacc.star(flows + 1), work, scheme, engine=engine, probes=watch)
    before = simulation.run("1ms").outcome.messages["received_packets"]
    result = simulation.run("2ms")
    late = result.probes[result.probes["time_ps"] > ms(1)]
    queue, window, rtt = (late.loc[late["probe"] == probe.name, "value"].mean() for probe in watch)
    got = result.outcome.messages["received_packets"] - before
    params, base = plain(Swift()), int(result.plan.qp_base_rtt_ps[0])
    packet_ps = WIRE * 8e12 / LINE
    expected = brentq(lambda w: flows * w * packet_ps - target_delay(params, w, 1), 1, 1000)
    assert rtt == pytest.approx(target_delay(params, expected, 1), rel=0.02)
    assert window == pytest.approx(expected, rel=0.03)
    assert queue == pytest.approx((rtt - base) * LINE / 8e12, rel=0.02)
    assert got / got.sum() == pytest.approx(np.full(flows, 1 / flows), rel=0.05)
    assert result.counters.dropped_bytes == result.counters.naks == 0
