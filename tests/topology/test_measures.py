"""RTT, BDP, bisection and oversubscription: closed forms, brute force, and the papers' own numbers."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmacc import topology
from rdmacc.errors import ConfigError
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.measures import uplink_shortage
from rdmacc.units import us
from tests.support import calls_made, networks


def info(graph):
    return topology.describe(graph, data_bytes=0, ack_bytes=0)


def test_dart_clos_is_the_papers():
    found = info(topology.dart_clos())
    assert (found.hosts, found.oversubscription, found.hops) == (1024, 4, 6)
    assert found.propagation_rtt_ps == 2 * us(30)
    assert int(found.mean_hops * 10) == 58
    assert found.mean_hops == pytest.approx((15 * 2 + 48 * 4 + 960 * 6) / 1023)
    assert found.bisection_bps == 512 * 10e9 / 4


def test_ren_leaf_spine_is_the_papers():
    found = info(topology.ren_leaf_spine())
    assert (found.hosts, found.switches, found.oversubscription) == (384, 16, 6)
    assert found.propagation_rtt_ps == us(10)
    assert found.bdp_bytes == 50_000
    small = info(topology.ren_leaf_spine(8))
    assert (small.hosts, small.oversubscription, small.base_rtt_ps) == (64, 1, us(10))
    assert info(topology.ren_leaf_spine(40, leaves=2)).hosts == 80
    graph = topology.ren_leaf_spine()
    assert graph.nodes["leaf0"]["buffer_bytes"] == 128_000 * 56


def test_rcc_fat_tree_is_the_papers():
    graph = topology.rcc_fat_tree()
    found = info(graph)
    assert [len(tier) for tier in graph.graph["tiers"]] == [320, 20, 20, 16]
    assert (found.base_rtt_ps, found.bdp_bytes, found.oversubscription) == (us(12), 150_000, 1)
    assert found.bisection_bps == 160 * 100e9
    assert {graph.nodes[name]["buffer_bytes"] for name in topology.switches(graph)} == {32_000_000}
    rates = {("h" in (one[0], other[0]), link["rate_bps"]) for one, other, link in graph.edges(data=True)}
    assert rates == {(True, 100e9), (False, 400e9)}


def test_the_small_networks_are_the_papers():
    assert info(topology.rcc_dumbbell()).base_rtt_ps == us(12)
    assert info(topology.rcc_testbed()).base_rtt_ps == us(12)
    assert info(topology.rcc_testbed()).bdp_bytes == 37_500
    assert info(topology.dart_testbed()).base_rtt_ps == us(12)
    assert info(topology.ren_testbed()).base_rtt_ps == us(48)
    assert info(topology.ren_testbed()).bdp_bytes == 40 * 1500
    assert info(topology.igbn_pair()).base_rtt_ps == us(4)
    assert topology.describe(topology.igbn_pair()).base_rtt_ps == pytest.approx(us(4.5), rel=0.02)
    assert topology.hosts(topology.ren_testbed(senders=5)) == [f"h{i}" for i in range(7)]


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


@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from(["40Gbps", "400Gbps"]))
def test_dumbbell_bisection_is_between_the_sides(left, right, rate):
    graph = topology.dumbbell(left, right, bottleneck_rate=rate)
    middle = graph.edges["s0", "s1"]["rate_bps"]
    assert topology.bisection_bps(graph) == min(100e9 * left, 100e9 * right, middle)


@given(networks())
def test_bisection_is_the_least_cut(graph):
    names = sorted(topology.hosts(graph))
    one, other = names[: len(names) // 2], names[len(names) // 2 :]
    inner = topology.switches(graph)
    cuts = []
    for count in range(len(inner) + 1):
        for chosen in combinations(inner, count):
            side = {*one, *chosen}
            cuts.append(sum(link["rate_bps"] for a, b, link in graph.edges(data=True) if (a in side) != (b in side)))
    assert topology.bisection_bps(graph) == pytest.approx(min(cuts), rel=1e-9)
    assert topology.bisection_bps(graph, other, one) == pytest.approx(min(cuts), rel=1e-9)


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


def test_describe_shows_itself():
    found = topology.describe(topology.star(3))
    text = str(found)
    assert "base RTT                         4.178 us" in text
    assert "h0 to h1, 2 hops" in text
    assert "<td" in found._repr_html_()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: topology.describe(topology.star(1)),
            "network = 'star(1)': must have two hosts that a path joins",
        ),
        (lambda: topology.describe(topology.star(2), -1), "data_bytes = -1: must be a whole number of bytes"),
        (
            lambda: topology.bisection_bps(topology.star(2), ["s0"]),
            "one = ['s0']: must be hosts of the network",
        ),
        (lambda: topology.bisection_bps(topology.star(2), None, []), "other = []: must be hosts of the"),
        (
            lambda: topology.bisection_bps(topology.star(2), ["h0"], ["h0"]),
            "other = ['h0']: must share no host with the first half",
        ),
    ],
)
def test_measures_refuse(call, text):
    with pytest.raises(ConfigError) as caught:
        call()
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("build", [topology.dart_clos, lambda: topology.fat_tree(16)], ids=["dart", "k=16"])
def test_1024_hosts_are_few_classes(build):
    graph = build()
    fabric = Fabric.from_graph(graph)
    assert calls_made(lambda: Fabric.from_graph(graph)) < 30 * fabric.n_ports
    assert calls_made(lambda: topology.describe(graph)) < 90 * fabric.n_ports


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
def test_shortage_of_uplinks(network, expected):
    """Rate from below over that of the uplinks; tiers multiply."""
    assert uplink_shortage(Fabric.from_graph(network)) == expected
