"""In-order flow deflection: the table, tokens and lanes on plain records; order and deadlocks in the simulator."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

import rdmacc
from rdmacc import DeadlockError, Pfc, topology
from rdmacc.state import ACCEPT, DATA, DATA_CLASS, DEFLECT, IN_NETWORK, LAST_HOP, Message, Port
from rdmacc.switch.deflection import ENTRIES, ESCAPE, FlowDeflection
from rdmacc.switch.queueing import Queueing
from tests.support import Watcher, check_conservation, line_rate, packet_with

LANES = Queueing(wrr_ratio=1, wrr_first=DATA_CLASS, wrr_second=ESCAPE)


class Table:
    """A switch that the test sends packets through."""

    def __init__(self, **options):
        self.part, self.chip = FlowDeflection(**options), FlowDeflection.Chip()

    def route(self, number, psn, tokens=4, queue=20_000, packets=3, where=IN_NETWORK, drawn=7):
        """Return the port that a packet is sent to, None for its route; and the packet."""
        port, other, message, packet = Port(), Port(), Message(), packet_with(FlowDeflection.Header)
        port.queue_bytes, port.link_class, other.number = queue, where, drawn
        message.number, message.packets = number, packets
        packet.kind, packet.psn, packet.tokens, packet.priority, packet.route = DATA, psn, tokens, DATA_CLASS, -1
        self.part.on_route(self.part, port, self.chip, message, packet)
        if packet.verdict == DEFLECT:
            packet.verdict = ACCEPT
            self.part.on_deflect(self.part, other, self.chip, message, packet)
            return drawn, packet
        return (None if packet.route < 0 else packet.route), packet


def test_a_message_is_deflected_as_a_whole():
    table = Table()
    for psn in range(3):
        to, packet = table.route(1, psn, queue=20_000 if psn == 0 else 0)
        assert (to, packet.tokens, packet.priority) == (7, 3, DATA_CLASS)
    assert table.chip.keys == [-1] * ENTRIES
    assert table.route(1, 2)[0] is None


def test_only_the_first_packet_decides():
    table = Table()
    assert table.route(1, 0, queue=15_000)[0] is None
    assert table.route(1, 1)[0] is None
    assert table.route(1, 0, queue=15_001)[0] == 7


def test_each_visit_has_an_entry_of_its_own():
    table = Table()
    assert table.route(1, 0, tokens=4, drawn=7)[0] == 7
    assert table.route(1, 0, tokens=3, drawn=9)[0] == 9  # it came back
    assert table.route(1, 1, tokens=4)[0] == 7
    assert table.route(1, 1, tokens=3)[0] == 9
    assert table.route(1, 2, tokens=4)[0] == 7
    assert table.route(1, 2, tokens=3)[0] == 9  # the first pass of the end packet did not free this


def test_eight_entries_and_no_more():
    table = Table()
    assert [table.route(n, 0)[0] for n in range(10)] == [7] * 8 + [None] * 2
    table.route(3, 2)
    assert table.route(9, 0)[0] == 7


def test_messages_of_one_packet_leave_no_entry():
    table = Table()
    assert table.route(1, 0, packets=1)[0] == 7
    assert table.chip.keys == [-1] * ENTRIES


@pytest.mark.parametrize("last_hop", [False, True])
def test_last_hop(last_hop):
    assert (Table(deflect_last_hop=last_hop).route(1, 0, where=LAST_HOP)[0] == 7) == last_hop


@pytest.mark.parametrize("lanes", [False, True])
def test_the_last_token_leads_to_the_escape_lane(lanes):
    table = Table(escape_lanes=lanes)
    for psn in (0, 1):
        to, packet = table.route(1, psn, tokens=1)
        assert (to, packet.tokens, packet.priority) == (7, 0, ESCAPE if lanes else DATA_CLASS)
    assert table.route(1, 0, tokens=0)[0] is None


@pytest.mark.parametrize(("size", "tokens", "priority"), [(100_000, 4, DATA_CLASS), (100_001, 0, ESCAPE)])
def test_long_messages_have_no_tokens_and_start_in_the_escape_lane(size, tokens, priority):
    part, message, packet = FlowDeflection(), Message(), packet_with(FlowDeflection.Header)
    message.size_bytes = size
    part.on_start(part, message)
    part.on_send(part, message, packet)
    assert (packet.tokens, message.priority) == (tokens, priority)


def shortest_paths_are_valley_free(graph, tier):
    routes = dict(nx.all_pairs_shortest_path_length(graph))
    for switch in topology.switches(graph):
        for other in topology.switches(graph):
            if tier[other] != 0:
                continue
            for path in nx.all_shortest_paths(graph, switch, other):
                steps = [tier[b] - tier[a] for a, b in itertools.pairwise(path)]
                assert steps == sorted(steps, reverse=True)
    return bool(routes)


def test_escape_routes_are_up_down_from_every_switch():
    """A fat tree: whatever switch a packet ends up at, no shortest path to an edge switch goes down and up."""
    graph = topology.fat_tree(4)
    tier = {}
    for name in topology.switches(graph):
        near = [graph.nodes[peer]["kind"] == "host" for peer in graph[name]]
        tier[name] = 0 if any(near) else None
    for name in tier:
        if tier[name] is None:
            tier[name] = 1 if any(tier[peer] == 0 for peer in graph[name]) else 2
    assert shortest_paths_are_valley_free(graph, tier)


def deflecting(escape_lanes=True, threshold="15kB", **pfc):
    base = line_rate()
    return rdmacc.Scheme(
        name="iofd", recovery=base.recovery, control=(*base.control, Watcher()), queueing=LANES, buffer=Pfc(**pfc),
        switch=FlowDeflection(threshold_bytes=threshold, escape_lanes=escape_lanes, deflect_last_hop=True),
    )  # fmt: skip


def random_messages(hosts, count, size, window_ps, seed=1):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        src, dst = rng.choice(len(hosts), size=2, replace=False)
        rows.append((hosts[src], hosts[dst], int(rng.integers(1, size)), int(rng.integers(window_ps))))
    return rdmacc.messages(rows)


def test_packets_stay_in_order(engine):
    """Lossless and in order: not one packet is discarded or sent twice, though many messages are deflected."""
    graph = topology.fat_tree(4, rate="10Gbps")
    work = random_messages(topology.hosts(graph), 300, 60_000, 200_000_000)
    result = rdmacc.simulate(graph, work, deflecting(threshold="5kB"), engine=engine)
    assert result.ports["deflected_packets"].sum() > 20
    assert (result.flows["status"] == "finished").all()
    assert result.flows["retransmissions"].sum() == 0
    assert result.counters.discarded_bytes == 0
    check_conservation(result)


def run_clos(count, window_ps, seed):
    """Run random messages from all hosts to 16, one in each pod: most links towards them are paused."""
    graph = rdmacc.dart_clos()
    hosts, rng = topology.hosts(graph), np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        src, dst = int(rng.integers(1024)), int(rng.integers(16)) * 64 + 1
        if src != dst:
            rows.append((hosts[src], hosts[dst], int(rng.integers(1, 100_000)), int(rng.integers(window_ps))))
    return rdmacc.simulate(graph, rdmacc.messages(rows), deflecting(), engine="compiled", seed=seed)


def check_clos(result):
    assert (result.flows["status"] == "finished").all()
    assert result.ports["deflected_packets"].sum() > 1_000
    assert result.ports["pauses"].sum() > 10_000
    assert result.ports["violations"].sum() == 0


def test_no_deadlock_on_the_clos_with_escape_lanes():
    check_clos(run_clos(4_000, 100_000_000, 3))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_no_deadlock_on_the_clos_with_escape_lanes_long(seed):
    check_clos(run_clos(20_000, 500_000_000, seed))


def ring():
    """Return five switches in a ring, a host at each: its only shortest paths over two links form a cycle."""
    graph = nx.Graph(name="ring")
    for i in range(5):
        topology.add_switch(graph, f"s{i}", "300kB")
        topology.add_host(graph, f"h{i}")
        topology.add_link(graph, f"h{i}", f"s{i}", "10Gbps", "1us")
    for i in range(5):
        topology.add_link(graph, f"s{i}", f"s{(i + 1) % 5}", "10Gbps", "1us")
    return graph


def test_the_cyclic_example_is_reported(engine):
    work = rdmacc.messages([(f"h{i}", f"h{(i + 2) % 5}", 2_000_000) for i in range(5)])
    with pytest.raises(DeadlockError) as caught:
        rdmacc.simulate(ring(), work, deflecting(False, alpha=0.01), engine=engine)
    assert sorted(caught.value.ports) == sorted(f"s{i}->s{(i + 1) % 5}" for i in range(5))


@pytest.mark.parametrize("lanes", [False, True])
def test_deflection_under_constant_pauses_deadlocks(lanes):
    """A finding: with tiny buffers valleys close cycles, and two lanes alone do not open them (see the module)."""
    graph = rdmacc.leaf_spine(4, 3, 4)
    for name in topology.switches(graph):
        graph.nodes[name]["buffer_bytes"] = 700_000
    work = random_messages(topology.hosts(graph), 600, 100_000, 300_000_000, 0)
    scheme = deflecting(lanes, threshold="2kB", alpha=0.01, reserve_bytes=1000)
    with pytest.raises(DeadlockError):
        rdmacc.simulate(graph, work, scheme, engine="compiled", until="30ms")
