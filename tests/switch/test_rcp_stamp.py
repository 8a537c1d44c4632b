"""RCP's link: one step of its equations, clipping, the mean RTT, and the fixed point."""

from dataclasses import dataclass

import pytest

import rdmacc
from rdmacc.interface import DATA, HOST_NIC, LAST_HOP, NEVER, Component, Float, Port, Record
from rdmacc.switch.rcp_stamp import RcpStamp, update
from tests.support import line_rate, packet_with, spokes

C, D = 10e9, 50_000_000


def set_up(fair=1e9, queue=0, **options):
    part = RcpStamp(base_rtt_ps=D, **options)
    port, egress = Port(), RcpStamp.Egress()
    port.rate_bps, port.link_class = C, LAST_HOP
    part.on_port(part, port, egress)
    port.queue_bytes, egress.fair_bps = queue, fair
    return part, port, egress


@pytest.mark.parametrize(("rtt_ps", "slot_ps"), [(2 * 10**9, 2 * 10**9), (50 * 10**9, 10**10)])
def test_a_slot_is_one_rtt_but_at_most_ten_milliseconds(rtt_ps, slot_ps):
    """RCP's ns-2 code: upd_timeslot is 0.01 s."""
    part, port, egress = RcpStamp(base_rtt_ps=rtt_ps), Port(), RcpStamp.Egress()
    port.rate_bps, port.link_class = C, LAST_HOP
    part.on_port(part, port, egress)
    packet = packet_with(RcpStamp.Header)
    packet.wire_bytes = 1000
    part.on_enqueue(part, port, egress, packet, 7)
    assert egress.slot_timer_ps == 7 + slot_ps


def test_the_first_rate_is_a_twentieth_of_the_link():
    part, port, egress = set_up()
    part.on_port(part, port, egress)
    assert egress.fair_bps == 0.05 * C
    assert egress.slot_timer_ps == NEVER


@pytest.mark.parametrize(("load", "queue", "factor"), [(0, 0, 1.4), (1, 1, 0.6), (2, 0, 0.6), (1, 0, 1.0)])
def test_one_step(load, queue, factor):
    """T = d = 50 us, alpha = beta = 0.4."""
    bdp = 62_500
    part, port, egress = set_up(queue=queue * bdp)
    update(part, port, egress, load * bdp, D)
    assert egress.fair_bps == pytest.approx(factor * 1e9)


def test_the_rate_is_clipped():
    part, port, egress = set_up(fair=9e9)
    update(part, port, egress, 0, D)
    assert egress.fair_bps == C
    update(part, port, egress, 10**7, D)
    assert egress.fair_bps == pytest.approx(0.01 * 8e15 / D)


@pytest.mark.parametrize(("sample", "mean"), [(2 * D, 2 * D), (D // 2, D * (1 - 0.5 * 0.1 * 0.5))])
def test_mean_rtt_rises_fast_and_falls_slowly(sample, mean):
    part, port, egress = set_up()
    egress.rtt_sum, egress.rtt_bytes = sample * 1000.0, 1000
    update(part, port, egress, 0, D)
    assert egress.rtt_ps == pytest.approx(mean)


def test_the_lowest_rate_wins_and_hosts_do_not_stamp():
    part, port, egress = set_up(fair=3e9)
    packet = packet_with(RcpStamp.Header)
    packet.kind, packet.wire_bytes = DATA, 1000
    for fair, seen in ((3e9, 3e9), (4e9, 3e9), (2e9, 2e9), (0.0, 0.0), (2e9, 0.0)):
        egress.fair_bps = fair
        part.on_dequeue(port, egress, packet)
        assert packet.rcp_bps == seen
    packet.rcp_bps = 2e9
    port.link_class, egress.fair_bps = HOST_NIC, 1.0
    part.on_dequeue(port, egress, packet)
    assert packet.rcp_bps == 2e9


def test_without_a_base_rtt_the_first_sample_starts_the_slots():
    part, port, egress = RcpStamp(), Port(), RcpStamp.Egress()
    port.rate_bps, port.link_class = C, LAST_HOP
    part.on_port(part, port, egress)
    assert egress.slot_timer_ps == NEVER
    packet = packet_with(RcpStamp.Header)
    packet.wire_bytes, packet.rcp_rtt_ps = 1000, D
    part.on_enqueue(part, port, egress, packet, 7)
    assert (egress.rtt_ps, egress.slot_timer_ps) == (D, 7 + D)


def test_a_packet_without_an_rtt_does_not_count_towards_the_mean():
    part, port, egress = set_up()
    for rtt_ps in (0, 2 * D, 0):
        packet = packet_with(RcpStamp.Header)
        packet.wire_bytes, packet.rcp_rtt_ps = 1000, rtt_ps
        part.on_enqueue(part, port, egress, packet, 7)
    assert (egress.rtt_sum / egress.rtt_bytes, egress.input_bytes) == (2 * D, 3000)


@dataclass(frozen=True, kw_only=True)
class Follow(Component):
    class Sender(Record):
        rate_bps = Float(5e8)

    def on_send(qp, packet):
        packet.rcp_rtt_ps = qp.base_rtt_ps

    def on_ack(sender, packet):
        sender.rate_bps = packet.rcp_bps


@pytest.mark.parametrize("target", [1.0, 0.95])
def test_flows_share_the_link_at_the_fixed_point(engine, target):
    """R = gamma C / N, for any alpha and beta."""
    scheme = rdmacc.Scheme(
        name="rcp", recovery=line_rate().recovery, control=Follow(),
        switch=RcpStamp(base_rtt_ps="6us", target=target, beta=0.226),
    )  # fmt: skip
    work = rdmacc.incast(4, "h0", "10MB", hosts=["h1", "h2", "h3", "h4"])
    watch = rdmacc.probes.field("port", ("s0", "h0"), "fair_bps")
    result = rdmacc.simulate(spokes(["10Gbps"] * 5), work, scheme, engine=engine, until="3ms", probes=[watch])
    late = result.probes[(result.probes["probe"] == watch.name) & (result.probes["time_ps"] > 2_500_000_000)]
    assert late["value"].mean() == pytest.approx(target * C / 4, rel=0.03)
