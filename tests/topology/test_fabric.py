"""Fabric: ports, routes against networkx, completion times against packet-by-packet brute force.

RTT, BDP, bisection and oversubscription: closed forms, brute force, and the papers' numbers.
"""

from functools import partial
from itertools import combinations, pairwise, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmacc import topology
from rdmacc.interface import HOST_NIC, IN_NETWORK, LAST_HOP
from rdmacc.topology.base_times import base_fct_ps, least_fct_ps, longest_ps, packet_ps
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.measures import uplink_shortage
from rdmacc.topology.ways import has_equal_ways
from rdmacc.units import us
from tests.support import by_packets, networks, refused

GRAPHS = networks(max_switches=6, max_hosts=6, is_joined=False)


def allowed_graph(graph, src, dst):
    """Return the part of a network that packets from src to dst may use, as hosts do not forward."""
    return graph.subgraph([name for name in graph if name[0] == "s" or name in (src, dst)])


def pairs(graph):
    hosts = topology.hosts(graph)
    return [(src, dst) for src in hosts for dst in hosts if src != dst]


@given(GRAPHS)
def test_ports(graph):
    fabric = Fabric.from_graph(graph)
    assert fabric.n_ports == 2 * graph.number_of_edges()
    assert sorted(fabric.names) == sorted(graph.nodes)
    ports = np.arange(fabric.n_ports)
    assert (fabric.port_reverse[fabric.port_reverse] == ports).all()
    assert (fabric.port_node[fabric.port_reverse] == fabric.port_peer).all()
    assert (fabric.port_byte_ps == 8e12 / fabric.port_rate_bps).all()
    for v, name in enumerate(fabric.names):
        own = range(fabric.node_first_port[v], fabric.node_first_port[v + 1])
        assert [fabric.port_node[p] for p in own] == [v] * len(own)
        peers = [fabric.port_peer[p] for p in own]
        assert peers == sorted(fabric.index[peer] for peer in graph[name])
        for p in own:
            peer = fabric.names[fabric.port_peer[p]]
            link = graph.edges[name, peer]
            assert (fabric.port_rate_bps[p], fabric.port_delay_ps[p]) == (link["rate_bps"], link["delay_ps"])
            assert fabric.port_name(p) == f"{name}->{peer}"
            assert fabric.port(name, peer) == p
            expected = HOST_NIC if name[0] == "h" else LAST_HOP if peer[0] == "h" else IN_NETWORK
            assert fabric.port_class[p] == expected
            assert fabric.link_class(p) == ("host_nic", "last_hop", "in_network")[expected]


@given(GRAPHS)
def test_routes_are_all_the_shortest_paths(graph):
    fabric = Fabric.from_graph(graph)
    for dst in topology.hosts(graph):
        for name in graph:
            allowed = allowed_graph(graph, name, dst)
            found = fabric.candidates(fabric.index[name], fabric.index[dst])
            if name == dst or not nx.has_path(allowed, name, dst):
                assert found == ()
                assert fabric.reachable(fabric.index[name], fabric.index[dst]) == (name == dst)
                continue
            hops = nx.shortest_path_length(allowed, name, dst)
            nearer = {path[1] for path in nx.all_shortest_paths(allowed, name, dst)}
            assert [fabric.names[fabric.port_peer[p]] for p in found] == sorted(nearer, key=fabric.index.get)
            assert list(found) == sorted(found)
            assert fabric.reachable(fabric.index[name], fabric.index[dst])
            for port in found:
                peer = fabric.names[fabric.port_peer[port]]
                assert nx.shortest_path_length(allowed_graph(graph, peer, dst), peer, dst) == hops - 1


@given(GRAPHS, st.randoms(use_true_random=False))
def test_paths_have_the_length_of_networkx(graph, random):
    fabric = Fabric.from_graph(graph)
    for src, dst in pairs(graph):
        allowed = allowed_graph(graph, src, dst)
        a, b = fabric.index[src], fabric.index[dst]
        if not nx.has_path(allowed, src, dst):
            refused(lambda: fabric.check_path(a, b), f"dst = '{dst}': must be reachable from src = '{src}'")
            continue
        for path in (fabric.path(a, b), fabric.path(a, b, lambda node, ports: random.choice(ports))):
            assert len(path) == nx.shortest_path_length(allowed, src, dst)
            assert fabric.port_node[path[0]] == a
            assert fabric.port_peer[path[-1]] == b
            assert [fabric.port_peer[p] for p in path[:-1]] == [fabric.port_node[p] for p in path[1:]]


@settings(max_examples=50)
@given(GRAPHS, st.data())
def test_base_fct_equals_packet_by_packet(graph, data):
    fabric = Fabric.from_graph(graph)
    joined = [
        (fabric.index[src], fabric.index[dst])
        for src, dst in pairs(graph)
        if fabric.reachable(fabric.index[src], fabric.index[dst])
    ]
    payload, header = data.draw(st.integers(1, 1500)), data.draw(st.integers(0, 100))
    sizes = data.draw(st.lists(st.integers(1, 20_000), min_size=len(joined), max_size=len(joined)))
    expected = []
    for (src, dst), size in zip(joined, sizes, strict=True):
        path = fabric.path(src, dst)
        wires = [min(payload, size - sent) + header for sent in range(0, size, payload)]
        expected.append(by_packets(fabric.port_rate_bps[path], fabric.port_delay_ps[path].tolist(), wires)[-1])
        assert base_fct_ps(fabric, src, dst, size, payload, header) == expected[-1]
    src, dst = np.array(joined, dtype=int).reshape(-1, 2).T
    many = base_fct_ps(fabric, src, dst, sizes, payload, header)
    assert many.dtype == np.int64
    assert many.tolist() == expected


@settings(max_examples=25, deadline=None)
@given(GRAPHS)
def test_base_times_over_all_shortest_paths(graph):
    """A base RTT takes the slowest path; a packet that may take any takes the fastest behind the first port."""
    fabric = Fabric.from_graph(graph)
    there, back = packet_ps(fabric, 1048), packet_ps(fabric, 64)[fabric.port_reverse]

    def ports_of(path):
        return [fabric.port(*ends) for ends in pairwise(path)]

    for src, dst in pairs(graph):
        a, b = np.array([fabric.index[src]]), np.array([fabric.index[dst]])
        if not fabric.reachable(int(a[0]), int(b[0])):
            continue
        paths = [ports_of(path) for path in nx.all_shortest_paths(allowed_graph(graph, src, dst), src, dst)]
        assert topology.base_rtt_ps(graph, src, dst) == max(int((there + back)[path].sum()) for path in paths)
        for first in {path[0] for path in paths}:
            onward = [path for path in paths if path[0] == first]
            least = least_fct_ps(fabric, a, b, np.array([first]), np.array([1000]), 1000, 48)
            assert least == min(int(there[path].sum()) for path in onward)
            assert longest_ps(fabric, a, b, there, np.array([first])) == max(int(there[path].sum()) for path in onward)
        assert has_equal_ways(fabric) <= (len({int(there[path].sum()) for path in paths}) == 1)


def test_a_host_without_an_attachment_switch():
    graph = topology.star(3)
    topology.add_switch(graph, "s1", "1MB")
    topology.add_link(graph, "h0", "s1", "100Gbps", "1us")
    topology.add_link(graph, "h1", "s1", "100Gbps", "1us")
    fabric = Fabric.from_graph(graph)
    assert fabric.last_port[0] == -1
    assert fabric.attachments[fabric.attach[0]] == 0
    assert len(fabric.candidates(0, 1)) == 2
    assert len(fabric.candidates(0, 2)) == 1
    assert fabric.candidates(2, 0) == (fabric.port("h2", "s0"),)


@pytest.mark.parametrize(
    ("src", "dst", "text"),
    [
        (0, 99, "dst = 99: must be a node number, 0 to 4"),
        (-1, 0, "src = -1: must be a node number, 0 to 4"),
        (4, 0, "src = 's0': must be a host, not a switch"),
        (0, 4, "dst = 's0': must be a host, not a switch"),
        (1, 1, "dst = 'h1': must differ from src = 'h1'"),
        (0, 2, "dst = 'x': must be reachable from src = 'h0'"),
    ],
)
def test_check_path_refuses(src, dst, text):
    graph = topology.star(2)
    topology.add_host(graph, "x")
    topology.add_host(graph, "y")
    topology.add_link(graph, "x", "y", "1Gbps", "1us")
    fabric = Fabric.from_graph(graph)
    for call in (
        lambda: fabric.check_path(src, dst),
        lambda: fabric.path(src, dst),
        lambda: base_fct_ps(fabric, src, dst, 1, 1000, 48),
        lambda: base_fct_ps(fabric, [0, src], [1, dst], [1, 1], 1000, 48),
    ):
        assert str(refused(call)) == text


PAPERS = {
    topology.dart_clos: {
        "hosts": 1024, "oversubscription": 4, "hops": 6, "propagation_rtt_ps": 2 * us(30),
        "bisection_bps": 512 * 10e9 / 4, "mean_hops": pytest.approx((15 * 2 + 48 * 4 + 960 * 6) / 1023),
    },
    topology.ren_leaf_spine: {
        "hosts": 384, "switches": 16, "oversubscription": 6, "propagation_rtt_ps": us(10), "bdp_bytes": 50_000,
    },
    partial(topology.ren_leaf_spine, 8): {"hosts": 64, "oversubscription": 1, "base_rtt_ps": us(10)},
    partial(topology.ren_leaf_spine, 40, leaves=2): {"hosts": 80},
    topology.rcc_fat_tree: {
        "base_rtt_ps": us(12), "bdp_bytes": 150_000, "oversubscription": 1, "bisection_bps": 160 * 100e9,
    },
    topology.rcc_dumbbell: {"base_rtt_ps": us(12)},
    topology.rcc_testbed: {"base_rtt_ps": us(12), "bdp_bytes": 37_500},
    topology.dart_testbed: {"base_rtt_ps": us(12)},
    topology.ren_testbed: {"base_rtt_ps": us(48), "bdp_bytes": 40 * 1500},
    topology.igbn_pair: {"base_rtt_ps": us(4)},
}  # fmt: skip


@pytest.mark.parametrize("build", PAPERS)
def test_networks_match_the_papers(build):
    found = topology.describe(build(), data_bytes=0, ack_bytes=0)
    assert {name: getattr(found, name) for name in PAPERS[build]} == PAPERS[build]


def test_packets_buffers_tiers_and_rates_match_the_papers():
    assert topology.describe(topology.igbn_pair()).base_rtt_ps == pytest.approx(us(4.5), rel=0.02)
    assert int(topology.describe(topology.dart_clos()).mean_hops * 10) == 58
    assert topology.hosts(topology.ren_testbed(senders=5)) == [f"h{i}" for i in range(7)]
    assert topology.ren_leaf_spine().nodes["leaf0"]["buffer_bytes"] == 128_000 * 56
    graph = topology.rcc_fat_tree()
    assert [len(tier) for tier in graph.graph["tiers"]] == [320, 20, 20, 16]
    assert {graph.nodes[name]["buffer_bytes"] for name in topology.switches(graph)} == {32_000_000}
    rates = {("h" in (one[0], other[0]), link["rate_bps"]) for one, other, link in graph.edges(data=True)}
    assert rates == {(True, 100e9), (False, 400e9)}


def test_rcc_multi_bottleneck_has_two():
    graph = topology.rcc_multi_bottleneck()
    one, two, three = graph.graph["flows"]
    fabric = Fabric.from_graph(graph)
    on = [
        {fabric.port_name(port) for port in fabric.path(*(fabric.index[end] for end in flow))}
        for flow in (one, two, three)
    ]
    assert on[0] & on[1] == {"s0->s1"}
    assert on[0] & on[2] == {"s1->h3"}
    assert not on[1] & on[2]


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_fat_tree_has_full_bisection(k):
    found = topology.describe(topology.fat_tree(k))
    assert found.bisection_bps == k**3 / 8 * 100e9
    assert found.oversubscription == 1


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 5), st.sampled_from([40e9, 100e9]))
def test_leaf_spine_bisection(leaves, spines, per_leaf, upper):
    graph = topology.leaf_spine(2 * leaves, spines, per_leaf, fabric_rate=upper)
    expected = leaves * min(per_leaf * 100e9, spines * upper)
    assert topology.bisection_bps(graph) == expected


@given(networks())
def test_bisection_is_the_minimum_cut(graph):
    names = sorted(topology.hosts(graph))
    one = names[: len(names) // 2]
    inner = topology.switches(graph)
    cuts = []
    for count in range(len(inner) + 1):
        for chosen in combinations(inner, count):
            side = {*one, *chosen}
            cuts.append(sum(link["rate_bps"] for a, b, link in graph.edges(data=True) if (a in side) != (b in side)))
    assert topology.bisection_bps(graph) == pytest.approx(min(cuts), rel=1e-9)


@given(networks(), st.integers(0, 4000), st.integers(0, 100))
def test_describe_agrees_with_all_pairs(graph, data_bytes, ack_bytes):
    rtts = {
        pair: topology.base_rtt_ps(graph, *pair, data_bytes, ack_bytes)
        for pair in permutations(topology.hosts(graph), 2)
    }
    found = topology.describe(graph, data_bytes, ack_bytes)
    assert found.base_rtt_ps == max(rtts.values()) == rtts[found.farthest]
    assert found.bdp_bytes == topology.bdp_bytes(graph, *found.farthest, data_bytes, ack_bytes)
    fabric = Fabric.from_graph(graph)
    hops = [len(fabric.path(fabric.index[src], fabric.index[dst])) for src, dst in rtts]
    assert found.mean_hops == pytest.approx(sum(hops) / len(hops))
    assert found.links == graph.number_of_edges()


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (topology.star(5), 1),
        (topology.fat_tree(4), 1),
        (topology.leaf_spine(4, 2, 8), 4),
        (topology.leaf_spine(4, 8, 2), 1),
        (topology.dumbbell(2, 6), 6),
        (topology.dart_clos(), 4),
        (topology.clos(2, 2, 4, 2, 2), 4),
    ],
)
def test_uplink_shortage(network, expected):
    """The rate from below over the rate of the uplinks; tiers multiply."""
    assert uplink_shortage(Fabric.from_graph(network)) == expected
