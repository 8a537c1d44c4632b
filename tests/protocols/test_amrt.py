"""AMRT: gaps that keep the mark, growth into free bandwidth, and a queue that stays."""

import numpy as np

import rdmacc
from rdmacc.protocols.grant_clock import GrantClock
from rdmacc.state import DATA, LAST_HOP, Port
from rdmacc.switch.anti_ecn import AntiEcn
from tests.protocols.test_ren import SLOT, dumbbell
from tests.support import packet_with, samples


def passes(part, port, egress, now, packet=None):
    """Send a packet of 1,500 B through a port; return its mark."""
    packet = packet or packet_with(AntiEcn.Header)
    packet.kind, packet.wire_bytes = DATA, 1500
    part.on_dequeue(part, port, egress, packet, now)
    return packet.has_room


def make_port():
    port = Port()
    port.rate_bps, port.link_class = 10e9, LAST_HOP
    return port, AntiEcn.Egress()


def test_a_gap_of_a_packet_keeps_the_mark():
    """1.2 us at 10 Gb/s, counted from the end of the last packet."""
    part, (port, egress) = AntiEcn(), make_port()
    gaps = [5 * SLOT, 0, SLOT - 1, SLOT, SLOT + 1, 0]
    now, seen = 0, []
    for gap in gaps:
        now += gap
        seen.append(passes(part, port, egress, now))
        now += SLOT
    assert seen == [1, 0, 0, 1, 1, 0]


def test_a_flow_at_line_rate_is_never_marked_and_any_hop_clears():
    part, (busy, busy_egress), (idle, idle_egress) = AntiEcn(), make_port(), make_port()
    packets = [packet_with(AntiEcn.Header) for _ in range(10)]
    assert [passes(part, busy, busy_egress, 5 * SLOT + i * SLOT, packet) for i, packet in enumerate(packets)] == [
        1, *[0] * 9,
    ]  # fmt: skip
    for i, packet in enumerate(packets):
        passes(part, idle, idle_egress, 100 * SLOT + 10 * i * SLOT, packet)
    assert [packet.has_room for packet in packets] == [1, *[0] * 9]


def run(engine, unscheduled, sizes, rounds=12):
    scheme = rdmacc.scheme("amrt").replace(unscheduled_packets=unscheduled, timeout_rtts=20.0)
    assert isinstance(scheme.recovery, GrantClock)
    work = rdmacc.messages([("h0", "h2", sizes[0] * 1460), ("h1", "h3", sizes[1] * 1460)])
    watch = [
        rdmacc.probes.throughput("s0", "s1", every="9.604us"),
        rdmacc.probes.queue("s0", "s1", every="9.604us"),
        rdmacc.probes.field("flow", 0, "GrantClock.in_flight", every="9.604us"),
    ]
    result = rdmacc.simulate(
        dumbbell(8), work, scheme, engine=engine, probes=watch, progress=False, until=f"{rounds * 9604}ns"
    )
    return [np.array(samples(result, probe.name))[:, 1] for probe in watch]


def test_a_lone_flow_grows_until_the_link_is_full(engine):
    """One packet in 8 slots becomes 2; of packets that follow each other only the first has a gap, so then one more.

    The last mark is made before the packet of the one before fills the gap, so 9 packets are in flight, and one waits.
    """
    used, queue, in_flight = run(engine, 1, (2000, 1))
    assert in_flight[1:].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]
    assert queue.max() == 1500
    assert used[-1] > 0.99 * 10e9


def test_it_never_slows_down(engine):
    """Two bursts of a BDP: half of it waits, for good."""
    _, queue, _ = run(engine, 8, (2000, 2000))
    assert queue[4:].min() >= 7 * 1500
