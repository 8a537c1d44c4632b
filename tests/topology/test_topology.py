"""Topologies: shapes, closed forms, every error, and drawing.

Dragonflies: counts, one link between two groups, minimal and Valiant paths, throughput of adversarial traffic.
"""

from collections import Counter
from itertools import combinations, pairwise

import networkx as nx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc import topology
from rdmacc.engine.plan import make_plan
from rdmacc.switch.buffer import DropTail
from rdmacc.topology.base import port_rate_bps
from rdmacc.topology.bounds import FASTEST_BPS, SLOWEST_BPS
from rdmacc.topology.fabric import Fabric
from rdmacc.units import transmission_ps, us
from rdmacc.workload import dragonfly_paths
from tests.support import check_conservation, check_finished, mostly_at_night, refused

BUILT = {
    "star": lambda: topology.star(5),
    "dumbbell": lambda: topology.dumbbell(2, 3, bottleneck_rate="40Gbps"),
    "leaf_spine": lambda: topology.leaf_spine(3, 2, 4, fabric_rate="400Gbps"),
    "fat_tree": lambda: topology.fat_tree(4),
    "clos": lambda: topology.clos(2, 3, 4, 2, 6),
    "dart_clos": topology.dart_clos,
    "dart_testbed": topology.dart_testbed,
    "ren_leaf_spine": topology.ren_leaf_spine,
    "ren_testbed": topology.ren_testbed,
    "rcc_fat_tree": topology.rcc_fat_tree,
    "rcc_dumbbell": topology.rcc_dumbbell,
    "rcc_multi_bottleneck": topology.rcc_multi_bottleneck,
    "rcc_testbed": topology.rcc_testbed,
    "igbn_pair": topology.igbn_pair,
}


@pytest.mark.parametrize("build", BUILT.values(), ids=BUILT.keys())
def test_builders_make_valid_networks(build):
    graph = build()
    topology.validate(graph)
    assert nx.is_connected(graph)
    assert len(topology.hosts(graph)) + len(topology.switches(graph)) == len(graph)
    assert [name for tier in graph.graph["tiers"] for name in tier] == list(graph.nodes)
    assert all(graph.degree[host] == 1 for host in topology.hosts(graph))


RATES, DELAYS = st.floats(1e9, 800e9), st.integers(100_000, 10**9).map(rdmacc.units.ps)
LOSSLESS = tuple(name for name, make in rdmacc.schemes.SCHEMES.items() if isinstance(make().buffer, rdmacc.Pfc))
BUILDERS = st.one_of(
    st.tuples(st.just(topology.star), st.tuples(st.integers(2, 2000))),
    st.tuples(st.just(topology.dumbbell), st.tuples(st.integers(1, 600), st.integers(1, 600))),
    st.tuples(st.just(topology.leaf_spine), st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(2, 40))),
    st.tuples(st.just(topology.fat_tree), st.tuples(st.sampled_from([4, 8, 16]))),
    st.tuples(st.just(topology.clos), st.tuples(*[st.integers(1, 4)] * 2, st.integers(2, 64), st.just(2), st.just(4))),
    st.tuples(st.just(topology.dragonfly), st.tuples(*[st.integers(1, 4)] * 3)),
)


@settings(max_examples=30, deadline=None)
@given(BUILDERS, RATES, DELAYS, st.sampled_from(LOSSLESS))
@example((topology.star, (1024,)), 100e9, us(1), "dcqcn")
@example((topology.star, (2000,)), 1e9, us(1), "dcqcn")
@example((topology.star, (300,)), 800e9, rdmacc.units.ms(1), "hpcc")
def test_the_default_buffer_of_every_builder_has_room_for_pfc(built, rate, delay, scheme):
    build, sizes = built
    plan = make_plan(build(*sizes, rate=rate, delay=delay), rdmacc.messages([("h0", "h1", 1)]), rdmacc.scheme(scheme))
    switches = ~plan.fabric.is_host
    assert (2 * plan.shared_bytes >= plan.fabric.buffer_bytes)[switches].all()


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_leaf_spine_shape(leaves, spines, per_leaf):
    graph = topology.leaf_spine(leaves, spines, per_leaf)
    assert graph.number_of_edges() == leaves * (spines + per_leaf)
    assert all(graph.has_edge(f"h{i}", f"leaf{i // per_leaf}") for i in range(leaves * per_leaf))


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_fat_tree_shape(k):
    graph = topology.fat_tree(k)
    assert len(topology.hosts(graph)) == k**3 // 4
    assert len(topology.switches(graph)) == 5 * k**2 // 4
    assert {graph.degree[name] for name in topology.switches(graph)} == {k}
    assert graph.number_of_edges() == 3 * k**3 // 4


def test_a_host_may_send_more_slowly_than_its_link():
    graph = topology.dart_testbed(3)
    fabric = Fabric.from_graph(graph)
    host, switch = fabric.index["h0"], fabric.index["s0"]
    rate = dict(zip(zip(fabric.port_node.tolist(), fabric.port_peer.tolist()), fabric.port_rate_bps.tolist()))
    assert (rate[host, switch], rate[switch, host]) == (43e9, 56e9)
    assert (port_rate_bps(graph, "h0", "s0"), port_rate_bps(graph, "s0", "h0")) == (43e9, 56e9)
    one_way = transmission_ps(1048, 43e9) + transmission_ps(1048, 56e9)
    back = transmission_ps(64, 43e9) + transmission_ps(64, 56e9)
    assert topology.base_rtt_ps(graph, "h1", "h0") == topology.describe(graph).base_rtt_ps == us(12) + one_way + back
    assert topology.bdp_bytes(graph, "h1", "h0", 0, 0) == round(43e9 * 12e-6 / 8)
    graph.nodes["h0"]["rate_bps"] = -1
    refused(lambda: topology.validate(graph), "rate_bps = -1 (node h0): must be a positive")


def test_base_rtt_of_a_star():
    graph = topology.star(2, rate="100Gbps", delay="1us")
    assert topology.base_rtt_ps(graph, "h0", "h1") == 4 * us(1) + 2 * 80 * (1048 + 64)
    assert topology.base_rtt_ps(graph, "h0", "h1", data_bytes=0, ack_bytes=0) == us(4)
    assert topology.bdp_bytes(graph, "h0", "h1") == round(4_177_920 / 80)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("rate_bps", None, "must be a positive, finite number of bit/s"),
        ("rate_bps", 0, "must be a positive, finite number of bit/s"),
        ("rate_bps", 8e12 + 1, "must be at most 8 Tb/s: a byte takes at least 1 ps, the unit of time"),
        ("delay_ps", None, "must be a whole number of picoseconds, at least 1"),
        ("delay_ps", 0, "must be a whole number of picoseconds, at least 1"),
        ("buffer_bytes", None, "must be a whole number of bytes, at least 1"),
        ("buffer_bytes", 0, "must be a whole number of bytes, at least 1"),
        ("kind", None, "must be 'host' or 'switch'"),
        ("kind", "router", "must be 'host' or 'switch'"),
    ],
)
def test_missing_or_invalid_attributes_are_named(name, value, text):
    graph = topology.star(3)
    is_of_a_link = name in graph.edges["h0", "s0"]
    attributes = graph.edges["h0", "s0"] if is_of_a_link else graph.nodes["s0"]
    attributes[name] = value
    if value is None:
        del attributes[name]
    place = "edge h0-s0" if is_of_a_link else "node s0"
    refused(lambda: topology.validate(graph), f"{name} = {value!r} ({place}): {text}")


def test_hosts_without_links_and_self_loops_are_named():
    graph = topology.star(3)
    graph.add_node("x", kind="host")
    refused(lambda: topology.validate(graph), "host = 'x': must have at least one link")
    graph.add_edge("s0", "s0", rate_bps=1e9, delay_ps=1)
    graph.remove_node("x")
    refused(lambda: topology.validate(graph), "edge = ('s0', 's0') (edge s0-s0): must join two different nodes")


def plain():
    """Return a graph as users write it: no kinds, rates and delays with units, no buffers."""
    graph = nx.Graph(name="mine")
    for host, rate in (("a", "25Gbps"), ("b", "100Gbps"), ("c", "25Gbps")):
        graph.add_edge(host, "tor", rate=rate, delay="1us", weight=3)
    return graph


def test_a_plain_graph_is_completed_in_a_copy():
    graph = plain()
    network = topology.completed(graph)
    assert (topology.hosts(graph), topology.switches(graph)) == (["a", "b", "c"], ["tor"])
    assert network.nodes["tor"] == {"kind": "switch", "buffer_bytes": topology.default_buffer_bytes("100Gbps")}
    assert network.edges["a", "tor"] == {"rate_bps": 25e9, "delay_ps": us(1), "weight": 3}
    assert "rate_bps" not in graph.edges["a", "tor"]
    assert topology.completed(network) is network
    graph.nodes["tor"]["buffer"] = "1MB"
    assert topology.completed(graph).nodes["tor"]["buffer_bytes"] == 10**6
    for other in (nx.DiGraph(graph), nx.MultiGraph(graph), "mine"):  # left to `validate`
        assert topology.completed(other) is other


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda graph: graph.add_edge("d", "tor"), "rate = None (edge tor-d): must be set on every link"),
        (lambda graph: graph.add_edge("d", "tor", rate="1Gbps"), "delay = None (edge tor-d): must be set"),
        (lambda graph: graph.add_edge("d", "tor", rate=100, delay="1us"), "rate = 100: must be at least 1 Mb/s; a"),
        (lambda graph: graph.add_edge("d", "tor", rate="1Gbps", delay=1), "delay = 1: must carry a unit"),
        (lambda graph: graph.add_edge("d", "tor", rate="1Gbps", delay="1ps"), "delay = '1ps': must be at least 1 ns"),
        (lambda graph: graph.add_edge("d", "tor", bandwidth="1Gbps"), "rate = None (edge tor-d): must be set on ev"),
    ],
)
def test_missing_parts_of_a_plain_graph_are_named(change, text):
    graph = plain()
    change(graph)
    assert str(refused(lambda: Fabric.from_graph(graph))).startswith(text)


def test_a_hosts_rate_may_be_a_string():
    """A host that sends at 10 Gb/s on a 100 Gb/s link: its message takes ten times as long on the wire."""
    fct_ps = []
    for attributes in ({"rate": "10Gbps"}, {"rate_bps": 1e10}, {}):
        graph = nx.Graph()
        graph.add_node("h1", **attributes)
        graph.add_edges_from([("h0", "s"), ("h1", "s"), ("h2", "s")], rate="100Gbps", delay="1us")
        work = rdmacc.incast(["h1"], "h0", "64kB")
        result = rdmacc.simulate(graph, work, "line-rate", engine="simpy")
        fct_ps.append(int(result.flows["fct_ps"].iloc[0]))
    assert fct_ps[0] == fct_ps[1] > 5 * fct_ps[2]


@pytest.mark.parametrize("rate", [SLOWEST_BPS, FASTEST_BPS])
def test_the_slowest_and_the_fastest_rate_are_allowed(rate):
    assert {link["rate_bps"] for *_, link in topology.star(2, rate=rate).edges(data=True)} == {rate}
    topology.validate(topology.star(2, rate=rate))


SHAPES = [(1, 1, 1), (2, 1, 1), (2, 3, 1), (4, 2, 2), (3, 1, 2), (6, 3, 3)]


def groups_of(path):
    groups = [int(name[1:].partition("r")[0]) for name in path[1:-1]]
    return [group for i, group in enumerate(groups) if i == 0 or group != groups[i - 1]]


@pytest.mark.parametrize(("a", "p", "h"), SHAPES)
def test_counts_and_diameter(a, p, h):
    """Kim et al., section 3: a h + 1 groups and a p (a h + 1) hosts; each router has p + a - 1 + h links."""
    graph = topology.dragonfly(a, p, h)
    groups = a * h + 1
    routers = topology.switches(graph)
    assert len(topology.hosts(graph)) == a * p * groups
    assert len(routers) == a * groups
    assert graph.number_of_edges() == a * p * groups + groups * a * (a - 1) // 2 + groups * a * h // 2
    assert {graph.degree(router) for router in routers} == {p + a - 1 + h}
    between = graph.subgraph(routers)
    assert nx.diameter(between) == (1 if a == 1 else 3)
    joined = Counter(frozenset({one.partition("r")[0], other.partition("r")[0]}) for one, other in between.edges)
    pairs = {frozenset({f"g{i}", f"g{j}"}) for i, j in combinations(range(groups), 2)}
    assert all(joined[pair] == 1 for pair in pairs)
    assert sum(joined[one] for one in joined if len(one) == 1) == groups * a * (a - 1) // 2


@pytest.mark.parametrize(("a", "p", "h"), SHAPES[1:])
def test_paths_are_minimal_and_pass_one_group_more_with_a_detour(a, p, h):
    graph = topology.dragonfly(a, p, h)
    names = topology.hosts(graph)
    work = rdmacc.messages([(src, dst, 1000) for src in names[:: 2 * p] for dst in names[1 :: 3 * p] if src != dst])
    minimal, valiant = (dragonfly_paths(work, graph, routing, seed=3) for routing in ("minimal", "valiant"))
    through = Counter()
    for src, dst, direct, longer in zip(work["src"], work["dst"], minimal["path"], valiant["path"], strict=True):
        for path in (direct, longer):
            assert (path[0], path[-1]) == (src, dst)
            assert all(graph.has_edge(*link) for link in pairwise(path))
            assert len(set(path)) == len(path)
        assert len(direct) <= 2 + 4
        assert len(longer) <= 2 + 6
        assert len(groups_of(longer)) == (3 if len(groups_of(direct)) == 2 else 1)
        through.update(groups_of(longer)[1:-1])
    assert len(through) == a * h + 1
    assert [path[::-1] for path in valiant["path"]] == valiant["ack_path"].tolist()
    assert dragonfly_paths(work, graph, "valiant", seed=3)["path"].equals(valiant["path"])
    other = dragonfly_paths(work, graph, "valiant", seed=4)["path"]
    assert other.equals(valiant["path"]) is (a * h + 1 == 3)  # then there is only one third group


def adversarial(a, p, h, each, size):
    """Return messages from each host to the host at the same position in the next group."""
    hosts, group = a * p * (a * h + 1), a * p
    return rdmacc.messages([(f"h{i}", f"h{(i + group) % hosts}", size) for _ in range(each) for i in range(hosts)])


def busiest(work):
    """Return the largest number of messages in one direction of a link."""
    return max(Counter(link for path in work["path"] for link in pairwise(path)).values())


@pytest.mark.parametrize("engine", mostly_at_night(["compiled", "simpy"], every=2))
def test_groups_that_send_to_the_next_group(engine):
    """Adversarial traffic: a p hosts share one link, so each gets 1/(a p) of its rate; with Valiant, about half."""
    graph = topology.dragonfly(4, 2, 2, rate="100Gbps", delay="100ns")
    scheme = rdmacc.scheme("line-rate", payload_bytes=1000).replace(buffer=DropTail())
    each = 100
    alone_us = each * 1048 * 8 / 100e9 * 1e6
    work = adversarial(4, 2, 2, each, 1000)
    shares = {}
    for routing in ("minimal", "valiant"):
        paths = dragonfly_paths(work, graph, routing, seed=1)
        result = rdmacc.simulate(graph, paths, scheme, engine=engine)
        check_finished(result)
        check_conservation(result)
        end_us = result.flows["fct_us"].max()
        bound_us = busiest(paths) / each * alone_us
        assert bound_us < end_us < 1.1 * bound_us
        shares[routing] = alone_us / end_us
    assert shares["minimal"] == pytest.approx(1 / 8, rel=0.05)
    assert 0.8 < shares["valiant"] / (7 / 16) < 1  # (a h - 1) / (2 a p) with equally loaded detours
