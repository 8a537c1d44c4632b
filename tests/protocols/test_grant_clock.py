"""Transmission clocked by grants: packets per grant, losses, and retransmissions.

AMRT: gaps that keep the mark, growth into free bandwidth, and a queue that never drains.

Polo: packets driven beyond one per grant, by the marks of an epoch; losses found without a timeout.
"""

import networkx as nx
import numpy as np
import pytest

import rdmacc
from rdmacc import topology
from rdmacc.faults import ScriptedLoss
from rdmacc.interface import CREDIT, DATA, LAST_HOP, Port, QueuePair
from rdmacc.protocols.grant_clock import GrantClock
from rdmacc.protocols.polo import Polo, end_epoch
from rdmacc.switch.anti_ecn import AntiEcn
from tests import support
from tests.support import check_finished, packet_with, samples

SLOT = 1_200_000
"""Time of a packet of 1,500 B on a link of 10 Gb/s."""


def dumbbell(slots):
    """Return h0, h1 - s0 - s1 - h2, h3 with a bottleneck of `slots` packets a round trip, and 4 ns.

    Hosts' links are 40 times faster. A round trip takes a slot, 93.6 ns on other links and with grants, six delays.
    """
    graph = nx.Graph(name="worked example")
    for i in range(4):
        topology.add_host(graph, f"h{i}")
    delay = f"{(slots * 1200 - 1200 - 90) // 6}ns"
    for i in range(2):
        topology.add_switch(graph, f"s{i}", "10MB")
    for host, switch in (("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s1")):
        topology.add_link(graph, host, switch, "400Gbps", delay)
    topology.add_link(graph, "s0", "s1", "10Gbps", delay)
    return graph


class Sender(support.Sender):
    """A grant-clocked sender of 1000-byte packets; grants and its timer return the packets it sends."""

    def __init__(self, packets=10, unscheduled=4, **changes):
        changes |= {"unscheduled_packets": unscheduled, "base_rtt_ps": 1_000_000}
        super().__init__(packets, recovery=GrantClock, **changes)

    def grant(self, psn, now=0):
        self.hear(CREDIT, psn, now)
        return self.burst(now)

    def expire(self):
        now = self.transfer.loss_timer_ps
        super().expire(now, "loss")
        return self.burst(now)


def test_one_packet_per_grant_in_any_order():
    sender = Sender()
    assert sender.burst() == [0, 1, 2, 3]
    assert [sender.grant(psn) for psn in (2, 0, 3, 1)] == [[4], [5], [6], [7]]
    assert sender.message.una_psn == 4
    assert sender.transfer.in_flight == 4
    assert sender.qp.inflight_bytes == 4000


def test_a_lost_packet_takes_the_next_grant_and_leaves_one_fewer_in_flight():
    sender = Sender()
    sender.burst()
    assert [sender.grant(psn, now=1_000_000) for psn in (1, 2, 3)] == [[4], [5], [6]]
    assert sender.transfer.loss_timer_ps == 3_000_000  # set with the first packet, which has no grant
    assert sender.expire() == []
    assert (sender.transfer.in_flight, sender.transfer.lost_packets) == (3, 1)
    assert sender.grant(4) == [0]
    assert sender.grant(5) == [7]


def test_the_timer_covers_what_was_in_flight_when_it_was_set():
    """Once all of these are granted it is set again for the others; packets sent since then do not count as lost."""
    sender = Sender()
    sender.burst()
    assert sender.grant(0, now=500_000) == [4]
    assert sender.transfer.timed_psn == 4  # the first timer was for packet 0 alone
    assert sender.transfer.loss_timer_ps == 3_500_000
    sender.expire()
    assert sender.transfer.lost_packets == 3
    assert sender.transfer.in_flight == 1


def test_with_nothing_in_flight_one_packet_goes_without_a_grant():
    sender = Sender()
    sender.burst()
    assert sender.expire() == []  # the first timer was for packet 0 alone
    assert sender.expire() == [0]
    assert sender.transfer.in_flight == 1
    assert sender.transfer.lost_packets == 3


def test_without_grants_a_message_fails_after_its_recoveries():
    """They are three base RTTs apart; a grant restarts the count."""
    sender = Sender(retry_limit=3)
    sender.burst()
    sender.expire()
    sender.expire()
    sender.grant(0, now=9_000_000)
    sender.transfer.loss_timer_ps = 12_000_000
    times = []
    while not sender.message.failed:
        times.append(sender.transfer.loss_timer_ps)
        sender.expire()
    assert times == [12_000_000, 15_000_000, 18_000_000, 21_000_000]
    assert sender.qp.inflight_bytes == 0
    assert sender.transfer.retries == 4


def test_grants_with_nothing_to_send_are_lost_and_late_ones_are_no_loss():
    sender = Sender(packets=4)
    sender.burst()
    for psn in (1, 2, 3):
        assert sender.grant(psn) == []
    assert sender.qp.credits == 0
    assert sender.expire() == [0]
    sender.grant(0)
    assert (sender.message.una_psn, sender.qp.inflight_bytes) == (4, 0)
    sender = Sender()
    sender.burst()
    sender.expire()
    assert sender.grant(0) == [4]
    assert (sender.transfer.lost_packets, sender.transfer.in_flight) == (0, 4)


def test_the_first_burst_is_a_bdp():
    """40 Gb/s for 10 us make 33.3 packets of 1.5 KB; the one that starts within the round trip counts."""
    qp = QueuePair()
    qp.line_bps = 40e9
    GrantClock.on_open(GrantClock(base_rtt_ps="10us"), qp)
    assert qp.credits == 34


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
    """1.2 us at 10 Gb/s, measured from the end of the last packet."""
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
    result = rdmacc.simulate(dumbbell(8), work, scheme, engine=engine, probes=watch, until=f"{rounds * 9604}ns")
    return [np.array(samples(result, probe.name))[:, 1] for probe in watch]


def test_a_lone_flow_grows_until_the_link_is_full(engine):
    """One packet in 8 slots becomes 2. Of consecutive packets only the first has a gap, so then one more at a time.

    The last mark is made before the packet of the previous mark fills the gap, so 9 packets are in flight and one
    waits.
    """
    used, queue, in_flight = run(engine, 1, (2000, 1))
    assert in_flight[1:].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]
    assert queue.max() == 1500
    assert used[-1] > 0.99 * 10e9


def test_it_never_slows_down(engine):
    """Two bursts of a BDP: half of the packets stay queued for good."""
    _, queue, _ = run(engine, 8, (2000, 2000))
    assert queue[4:].min() >= 7 * 1500


@pytest.mark.parametrize(
    ("answered", "epochs", "extra"),
    [
        (0, [(10, 3)], 0),  # before the first adjoint packet there is no epoch
        (1, [(10, 3)], 7),  # the first one counts unmarked packets
        *[(1, [(0, 0)] + [(10, 0)] * n, n) for n in range(5)],  # then one more for each epoch without marks
        (1, [(10, 0), (20, 8)], 6),  # minus half of the marked ones
        (1, [(10, 0), (20, 7)], 7),  # rounded down
        (1, [(0, 0), (1, 1)], 0),  # the last packet is driven
    ],
)
def test_packets_driven_beyond_one_per_grant(answered, epochs, extra):
    """D after some epochs, each given as (packets, of these marked); the difference is driven or withheld."""
    transfer = Polo.Transfer()
    transfer.answered = answered
    for came, marked in epochs:
        transfer.came, transfer.came_marked, before = came, marked, transfer.extra
        end_epoch(transfer)
        if transfer.answered > 1:
            assert (transfer.change, transfer.withhold) == (transfer.extra - before, max(0, before - transfer.extra))
        transfer.answered += 1
    assert transfer.extra == extra


@pytest.mark.parametrize("nth", [2, 5, 9])
def test_a_loss_in_the_burst_needs_no_timeout(engine, nth):
    scheme = rdmacc.scheme("polo").replace(unscheduled_packets=8, timeout_rtts=50.0, kmin_bytes="6kB")
    work = rdmacc.messages([("h0", "h2", 100 * 1460)])
    faults = [ScriptedLoss(message=0, psn=None, nth=nth)]
    result = rdmacc.simulate(dumbbell(8), work, scheme, engine=engine, faults=faults, progress=False)
    check_finished(result)
    assert result.counters.timeouts == 0
    assert result.counters.retransmissions == 1
