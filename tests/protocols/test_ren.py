"""REN: its paper's worked examples with their counts, bursts on its testbed under each reading, its safeguards."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import rdmacc
from rdmacc.interface import DATA, LAST_HOP, Component, Port, param
from rdmacc.models.ren import rounds_to_full
from rdmacc.protocols.grant_clock import GrantClock
from rdmacc.protocols.ren import Ren
from rdmacc.switch.ren_marker import FULL, OVER, UNDER, RenMarker
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.papers import ren_leaf_spine, ren_testbed
from tests.support import chain, check_conservation, packet_with, samples

"""Time of a packet of 1,500 B on a link of 10 Gb/s."""


def test_figure_7_the_worst_mark_on_the_path_counts():
    """Three switches mark as drawn; P1 to P4 end as 01, 10, 01, 01, and 4 grants release 3 packets."""
    marker = RenMarker(base_rtt_ps="10us")
    packets = [packet_with(RenMarker.Header) for _ in range(4)]
    hops = (
        ((0, 0), (0, 1), (0, 1), (0, 1)),  # S0: no gap before P1
        ((0, 1), (0, 0), (0, 0), (0, 1)),  # S1: P3 has filled the gap
        ((0, 1), (1, 0), (0, 1), (0, 0)),  # S2: all arrive at once
    )
    for budgets in hops:
        port, egress = Port(), RenMarker.Egress()
        port.rate_bps, port.link_class = 10e9, LAST_HOP
        for packet, (over, under) in zip(packets, budgets):
            packet.kind, packet.wire_bytes = DATA, 1500
            marker.on_enqueue(marker, port, egress, packet, 0)
            egress.over, egress.under = over, under
            marker.on_dequeue(marker, port, egress, packet, 0)
    marks = [packet.ren_mark for packet in packets]
    assert marks == [FULL, OVER, FULL, FULL]
    assert sum({UNDER: 2, FULL: 1, OVER: 0}[mark] for mark in marks) == 3


@dataclass(frozen=True, kw_only=True)
class Drawn(Component):
    """Marks as figure 7 draws them, regardless of what a port sees."""

    first_port: int = param(-1, "port of S0: raises P1 to FULL")
    second_port: int = param(-1, "of S1: P2 and P3")
    third_port: int = param(-1, "of S2: P2 to OVER, P4 to FULL")

    Header = RenMarker.Header

    def on_dequeue(params, port, packet):
        if packet.kind == DATA:
            port_number, psn = port.number, packet.psn
            mark = FULL if psn > 3 else UNDER
            if port_number == params.first_port:
                mark = FULL if psn == 0 or psn > 3 else UNDER
            elif port_number == params.second_port:
                mark = FULL if psn == 1 or psn == 2 or psn > 3 else UNDER
            elif port_number == params.third_port and psn < 4:
                mark = OVER if psn == 1 else FULL if psn == 3 else UNDER
            packet.ren_mark = max(packet.ren_mark, mark)

    def on_data(packet, reply):
        reply.ren_mark = packet.ren_mark


def test_figure_7_on_the_wire(engine):
    """The same marks on three switches of a network: 4 packets in the first round trip, 3 in each one after."""
    graph = chain([10e9] * 4, [10_000_000] * 4)
    ports = Fabric.from_graph(graph)
    marker = Drawn(**{
        name: ports.port(*link)
        for name, link in zip(("first_port", "second_port", "third_port"), (("s0", "s1"), ("s1", "s2"), ("s2", "h1")))
    })  # fmt: skip
    scheme = rdmacc.Scheme(
        recovery=GrantClock(unscheduled_packets=4, timeout_rtts=20.0), control=(Ren(),), switch=(marker,),
        buffer=rdmacc.DropTail(), payload_bytes=1460, header_bytes=40, ack_bytes=40,
    )  # fmt: skip
    work = rdmacc.messages([("h0", "h1", 40 * 1460)])
    result = rdmacc.simulate(graph, work, scheme, engine=engine, trace=True, progress=False, until="600us")
    trace = result.packet_trace
    sent = trace[(trace["node"] == "h0") & (trace["kind"] == "data") & (trace["what"] == "sent")]["time_ps"]
    rounds = (sent // int(result.plan.qp_base_rtt_ps[0])).value_counts().sort_index().tolist()
    assert rounds[:6] == [4, 3, 3, 3, 3, 3]
    assert result.transfers["over_grants"].tolist() == [1]
    assert result.transfers["under_grants"].tolist() == [0]


@pytest.mark.parametrize(("mark", "packets"), [(UNDER, 2), (FULL, 1), (OVER, 0)])
def test_packets_for_a_grant(mark, packets):
    sender = Ren()
    qp, transfer = rdmacc.interface.QueuePair(), Ren.Transfer()
    packet = packet_with(RenMarker.Header)
    packet.ren_mark = mark
    qp.inflight_bytes, qp.credits = 1460, 1  # of which one is the grant clock's
    sender.on_credit(sender, qp, transfer, packet, 0)
    assert qp.credits == packets


RTT = 48_000_000
START = 20 * RTT


@cache
def burst(engine, entry, buffer="64kB", *, packets=4000, until_rtts=100, trace=False, **changes):
    """Two line-rate flows join one that fills the link, as in figure 3; return times in RTTs, queue, use, result."""
    graph = ren_testbed(buffer="10MB")
    scheme = rdmacc.preset("ren-2021-testbed")[entry].replace(**{"DropTail.limit_bytes": buffer}, **changes)
    work = rdmacc.messages([("h0", "h4", "100MB"), *[(f"h{i}", "h3", packets * 1460) for i in (1, 2)]])
    work = work.assign(start_ps=[0, START, START])
    watch = [rdmacc.probes.queue("s0", "s1", every="1.2us"), rdmacc.probes.throughput("s0", "s1", "48us")]
    result = rdmacc.simulate(
        graph, work, scheme, engine=engine, probes=watch, progress=False, until=f"{until_rtts * 48}us", trace=trace
    )
    queue, use = (np.array(samples(result, probe.name)) for probe in watch)
    check_conservation(result)
    rtts = (queue[:, 0] - START) / RTT
    return rtts, queue[:, 1] / 1500, use[:, 1] / 10e9, result


def drained_after(rtts, queue):
    """Return when the queue has drained to a packet after its peak, in RTTs from the start of the burst."""
    peak = np.argmax(np.where(rtts > 0, queue, -1))
    below = np.flatnonzero(queue[peak:] <= 1)
    return rtts[peak + below[0]] if len(below) else np.inf


@pytest.mark.parametrize(
    ("entry", "buffer", "least", "most"),
    [
        ("ren", "64kB", 3.1, 5.3),
        ("ren", "10MB", 5.1, 6.3),
        ("ren-outstanding", "64kB", 3.1, 4.3),
        ("ren-outstanding", "10MB", 3.5, 4.3),
        ("ren-packet", "64kB", 2.2, 3.5),
        ("ren-packet", "10MB", 2.5, 3.5),
    ],
)
def test_a_burst_is_drained_in_a_few_round_trips(engine, entry, buffer, least, most):
    """80 packets too many, or the 42 of them that fit into the buffer, and a link that stays busy.

    Equation 3 drains one BDP of 40 per round, after the round in which the first marks are made. A model in steps of
    one packet, without transmission times in the round trip, takes 3.5 to 4.2 RTTs, and 2.5 to 3.4 with marks by
    packet; marking in every second round takes two more for the second BDP.
    """
    rtts, queue, use, result = burst(engine, entry, buffer)
    peak = queue[rtts > 0].max()
    if buffer == "64kB":
        assert peak == pytest.approx(42, abs=1)
        assert 36 <= result.counters.dropped_bytes / 1460 <= 46
    else:
        assert peak == pytest.approx(80, abs=4)
        assert result.counters.dropped_bytes == 0
    assert least <= drained_after(rtts, queue) <= most
    steady = (rtts > 6) & (rtts < 75)
    assert queue[steady].mean() < 1
    assert use[27:90].mean() > 0.95


def test_read_literally_all_flows_die(engine):
    """Marks act a round trip later, so all grants are suppressed: nothing is in flight 3 to 4 RTTs after the burst."""
    rtts, queue, use, result = burst(engine, "ren-literal-unsafe", "10MB")
    assert 3.1 <= drained_after(rtts, queue) <= 4.3
    assert use[27:].max() == 0
    assert result.transfers["in_flight"].tolist() == [0, 0, 0]
    assert (result.flows["status"] != "finished").all()


def test_a_probe_revives_cancelled_flows(engine):
    _, _, use, result = burst(engine, "ren-literal-unsafe", "10MB", probe_ps="1ms", until_rtts=140)
    assert use[80:].mean() > 0.05
    assert result.transfers["over_grants"].min() > 0


def test_a_lone_packet_in_flight_doubles_each_round_trip(engine):
    """Equations 5 and 6: from 1/33 of the link it takes 6 rounds; the port's first packets make it one sample late."""
    scheme = rdmacc.preset("ren-2021")["ren-ecmp"].replace(unscheduled_packets=1)
    watch = rdmacc.probes.field("flow", 0, "GrantClock.in_flight", every="12us")  # a round trip with its packet times
    result = rdmacc.simulate(
        ren_leaf_spine(hosts_per_leaf=2, leaves=2, spines=2), rdmacc.messages([("h0", "h2", "2MB")]), scheme,
        engine=engine, probes=[watch], progress=False,
    )  # fmt: skip
    in_flight = result.probes["value"].to_numpy()
    assert in_flight[2:5].tolist() == [2, 4, 8]
    full = int(np.argmax(in_flight >= 33))
    assert rounds_to_full(1.0, 33.3) <= full <= rounds_to_full(1.0, 33.3) + 3
    assert in_flight.max() <= 40
    assert result.counters.timeouts == 0
