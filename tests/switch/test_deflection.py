"""In-order flow deflection: the table, tokens and lanes on plain records; order and deadlocks in the simulator."""

import itertools

import networkx as nx
import numpy as np
import pytest

import rdmacc
from rdmacc import DeadlockError, Pfc, topology
from rdmacc.interface import ACCEPT, DATA, DATA_CLASS, DEFLECT, IN_NETWORK, LAST_HOP, Message, Port
from rdmacc.switch.deflection import ENTRIES, FlowDeflection
from rdmacc.switch.queueing import Queueing
from rdmacc.topology.fabric import Fabric
from rdmacc.units import ps
from tests.support import Watcher, check_conservation, line_rate, packet_with

LANES = Queueing(lanes=5)


class Table:
    """A switch through which the test sends packets."""

    def __init__(self, **options):
        self.part, self.chip = FlowDeflection(**options), FlowDeflection.Chip()

    def route(self, number, psn, tokens=4, queue=20_000, packets=3, where=IN_NETWORK, drawn=7):
        """Return the port to which a packet is sent (None for its route), and the packet."""
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


def test_each_visit_has_its_own_entry():
    table = Table()
    assert table.route(1, 0, tokens=4, drawn=7)[0] == 7
    assert table.route(1, 0, tokens=3, drawn=9)[0] == 9  # it came back
    assert table.route(1, 1, tokens=4)[0] == 7
    assert table.route(1, 1, tokens=3)[0] == 9
    assert table.route(1, 2, tokens=4)[0] == 7
    assert table.route(1, 2, tokens=3)[0] == 9  # the end packet's first pass did not free this


def test_at_most_eight_entries():
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


def test_without_tokens_a_packet_takes_its_route():
    table = Table()
    for psn in (0, 1):
        to, packet = table.route(1, psn, tokens=1)
        assert (to, packet.tokens) == (7, 0)
    assert table.route(1, 0, tokens=0)[0] is None


@pytest.mark.parametrize(("size", "tokens"), [(100_000, 4), (100_001, 0)])
def test_long_messages_have_no_tokens(size, tokens):
    part, message, packet = FlowDeflection(), Message(), packet_with(FlowDeflection.Header)
    message.size_bytes = size
    part.on_send(part, message, packet)
    assert packet.tokens == tokens


@pytest.mark.parametrize(
    ("way", "lanes"),
    [
        ("uudd", [0, 0, 0, 0]),
        ("udud", [0, 0, 1, 1]),
        ("duduud", [0, 1, 1, 2, 2, 2]),
        ("dudududu", [0, 1, 1, 2, 2, 2, 2, 2]),
    ],
)
def test_each_valley_leads_to_the_next_lane_as_far_as_there_are_any(way, lanes):
    part, port, packet = FlowDeflection(tokens=2), Port(), packet_with(FlowDeflection.Header)
    packet.priority, found = DATA_CLASS, []
    for step in way:
        port.climbs = step == "u"
        part.on_enqueue(part, port, packet)
        found.append(packet.priority - DATA_CLASS)
    assert found == lanes
    assert part.classes == {DATA_CLASS, DATA_CLASS + 1, DATA_CLASS + 2}
    assert not FlowDeflection(escape_lanes=False).classes


@pytest.mark.parametrize("graph", [topology.fat_tree(4), rdmacc.leaf_spine(4, 3, 4)])
def test_shortest_paths_go_up_and_then_down_from_every_switch(graph):
    """So a deflection, wherever it leads, costs at most one valley."""
    fabric = Fabric.from_graph(graph)
    climbs = {
        (int(fabric.port_node[port]), int(fabric.port_peer[port])): int(fabric.port_climbs[port])
        for port in range(fabric.n_ports)
    }
    assert all(climbs[a, b] != climbs[b, a] for a, b in climbs)
    switches = nx.DiGraph([edge for edge in climbs if climbs[edge]])
    assert nx.is_directed_acyclic_graph(switches)
    names = {name: number for number, name in enumerate(graph)}
    numbered = nx.relabel_nodes(graph, names)
    edges = sorted({int(fabric.attachments[fabric.attach[host]]) for host in fabric.hosts})[:4]
    for switch in np.flatnonzero(~fabric.is_host).tolist():
        for edge in edges:
            for path in nx.all_shortest_paths(numbered, switch, edge):
                steps = [climbs[hop] for hop in itertools.pairwise(path)]
                assert steps == sorted(steps, reverse=True)


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
        rows.append((hosts[src], hosts[dst], int(rng.integers(1, size)), ps(rng.integers(window_ps))))
    return rdmacc.messages(rows)


@pytest.mark.slow
def test_packets_stay_in_order(engine):
    """Lossless and in order: no packet is discarded or sent twice, although many messages are deflected."""
    graph = topology.fat_tree(4, rate="10Gbps")
    work = random_messages(topology.hosts(graph), 300, 60_000, 200_000_000)
    result = rdmacc.simulate(graph, work, deflecting(threshold="5kB"), engine=engine)
    assert result.ports["deflected_packets"].sum() > 20
    assert (result.flows["status"] == "finished").all()
    assert result.flows["retransmissions"].sum() == 0
    assert result.counters.discarded_bytes == 0
    check_conservation(result)


def ring():
    """Return five switches in a ring with a host each, whose only shortest paths over two links form a cycle."""
    graph = nx.Graph(name="ring")
    for i in range(5):
        topology.add_switch(graph, f"s{i}", "300kB")
        topology.add_host(graph, f"h{i}")
        topology.add_link(graph, f"h{i}", f"s{i}", "10Gbps", "1us")
    for i in range(5):
        topology.add_link(graph, f"s{i}", f"s{(i + 1) % 5}", "10Gbps", "1us")
    return graph


def test_the_cyclic_example_is_reported_and_lanes_break_the_cycle(engine):
    """Nothing is deflected, as the messages are long: the routes themselves go down and up again."""
    work = rdmacc.messages([(f"h{i}", f"h{(i + 2) % 5}", 2_000_000) for i in range(5)])
    with pytest.raises(DeadlockError) as caught:
        rdmacc.simulate(ring(), work, deflecting(False, alpha=0.01), engine=engine)
    assert sorted(caught.value.ports) == sorted(f"s{i}->s{(i + 1) % 5}" for i in range(5))
    result = rdmacc.simulate(ring(), work, deflecting(alpha=0.01), engine=engine)
    assert (result.flows["status"] == "finished").all()
    assert result.counters.pfc_pauses > 100


def crowded(seed, lanes):
    """Run a small network with tiny buffers, so that most links are paused most of the time."""
    graph = rdmacc.leaf_spine(4, 3, 4)
    for name in topology.switches(graph):
        graph.nodes[name]["buffer_bytes"] = 1_400_000 if lanes else 700_000
    work = random_messages(topology.hosts(graph), 600, 100_000, 300_000_000, seed)
    scheme = deflecting(lanes, threshold="2kB", alpha=0.002, reserve_bytes=1000)
    return rdmacc.simulate(graph, work, scheme, engine="compiled", until="100ms")


def test_deflection_deadlocks_without_lanes():
    with pytest.raises(DeadlockError):
        crowded(0, lanes=False)


@pytest.mark.parametrize("seed", range(5))
def test_deflection_never_deadlocks_with_lanes(seed):
    result = crowded(seed, lanes=True)
    assert (result.flows["status"] == "finished").all()
    assert result.ports["deflected_packets"].sum() > 100
    assert result.counters.pfc_pauses > 1_000
    assert result.counters.pfc_violations == result.counters.retransmissions == 0
