"""Times in an empty network: ideal FCTs and base RTTs along each message's path, in any order of nodes and links."""

from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc import topology
from rdmacc.engine.plan import make_plan
from rdmacc.schemes import SCHEMES
from rdmacc.units import ps, us


def two_ways(*ways, rate="100Gbps"):
    """Return hosts a and b, each with a switch, and between those a switch for each (name, delay)."""
    graph = nx.Graph()
    graph.add_edge("a", "t1", rate="100Gbps", delay="1us")
    for name, delay in ways:
        graph.add_edge("t1", name, rate=rate, delay=delay)
        graph.add_edge(name, "t2", rate=rate, delay=delay)
    graph.add_edge("b", "t2", rate="100Gbps", delay="1us")
    return graph


SLOW, FAST = ("slow", "20us"), ("fast", "1us")


@pytest.mark.parametrize("ways", [(SLOW, FAST), (FAST, SLOW)])
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_message_is_compared_with_its_own_path(ways, engine):
    graph = two_ways(*ways)
    rows = [{"src": "a", "dst": "b", "size": "1kB", "start": f"{100 * i}us"} for i in range(8)]
    for name, path in (("fast", ["a", "t1", "fast", "t2", "b"]), ("slow", ["a", "t1", "slow", "t2", "b"])):
        given = rdmacc.messages([{**row, "path": path, "ack_path": path[::-1]} for row in rows])
        result = rdmacc.simulate(graph, given, "line-rate", engine=engine, progress=False)
        assert (result.flows["slowdown"] == 1).all()
        one_way = 4 * 1048 * 80 + us(4 if name == "fast" else 42)
        assert (result.plan.qp_base_delay_ps == one_way).all()
        assert (result.plan.qp_base_rtt_ps == one_way + 4 * 64 * 80 + us(4 if name == "fast" else 42)).all()
    hashed = rdmacc.simulate(graph, rdmacc.messages(rows), "line-rate", engine=engine, progress=False)
    assert (hashed.flows["slowdown"] == 1).all()
    assert set(hashed.flows["ideal_fct_ps"]) == {4 * 1048 * 80 + us(4), 4 * 1048 * 80 + us(42)}
    sprayed = make_plan(graph, rdmacc.messages(rows), rdmacc.scheme("homa"))
    assert (sprayed.ideal_fct_ps == 4 * sprayed.scheme.wire_bytes * 80 + us(4)).all()
    assert (sprayed.qp_base_delay_ps == 4 * sprayed.scheme.wire_bytes * 80 + us(42)).all()


def test_packets_sharing_slow_paths_are_limited_by_their_total_rate():
    graph = two_ways(("x", "1us"), ("y", "1us"), rate="40Gbps")
    plan = make_plan(graph, rdmacc.messages([("a", "b", "10MB")]), rdmacc.scheme("homa"))
    assert plan.ideal_fct_ps[0] == pytest.approx(10e6 * 1.048 / 80e9 * 8e12, rel=0.05)


@pytest.mark.parametrize("name", ["nscc", "hpcc", "powertcp", "irn", "homa", "dctcp-hpcc", "phost", "theta-powertcp"])
def test_a_flow_alone_fills_its_detour(name):
    network = topology.dragonfly(4, 2, 2)
    work = rdmacc.workload.dragonfly_paths(rdmacc.messages([("h0", "h8", "5MB")]), network, "valiant", seed=1)
    assert len(work["path"][0]) == 8
    assert rdmacc.simulate(network, work, name, progress=False).flows["goodput_gbps"][0] > 80


@st.composite
def networks(draw):
    """Return randomly joined switches with one or two hosts each, and whether all links are equal."""
    count = draw(st.integers(1, 6))
    kinds = draw(st.integers(1, 3))
    links = [(draw(st.sampled_from([10, 25, 40, 100])), draw(st.integers(1000, 5_000_000))) for _ in range(kinds)]
    graph = nx.Graph()

    def join(one, other):
        rate, delay = draw(st.sampled_from(links))
        topology.add_link(graph, one, other, f"{rate}Gbps", ps(delay))

    for i in range(count):
        topology.add_switch(graph, f"s{i}", "64MB")
        for j in range(i):
            if j == i - 1 or draw(st.booleans()):
                join(f"s{j}", f"s{i}")
    for i in range(draw(st.integers(2, 6))):
        topology.add_host(graph, f"h{i}")
        join(f"h{i}", f"s{draw(st.integers(0, count - 1))}")
    return graph


@st.composite
def works(draw, graph):
    hosts = topology.hosts(graph)
    pairs = draw(st.lists(st.tuples(st.sampled_from(hosts), st.sampled_from(hosts)), min_size=1, max_size=5))
    sizes = st.integers(1, 20_000) | st.sampled_from([1000, 1001, 2001, 3001])
    starts = st.integers(0, 3_000_000)
    rows = [(src, dst, draw(sizes), ps(draw(starts))) for src, dst in pairs if src != dst]
    return rdmacc.messages(rows or [(hosts[0], hosts[1], draw(sizes))])


def check_slowdowns(data, name):
    graph = data.draw(networks())
    work = data.draw(works(graph))
    seed = data.draw(st.integers(0, 9))
    result = rdmacc.simulate(graph, work, name, engine="simpy", until="50ms", progress=False, seed=seed)
    assert (result.flows["slowdown"].dropna() >= 1).all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_nothing_is_faster_than_the_ideal(data):
    check_slowdowns(data, data.draw(st.sampled_from(tuple(SCHEMES))))


@pytest.mark.nightly
@pytest.mark.parametrize("name", SCHEMES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_nothing_is_faster_than_the_ideal_under_any_scheme(name, data):
    check_slowdowns(data, name)


def shuffled(graph, draw, rename=lambda name: name):
    """Return the same network with its nodes and links in another order and under other names."""
    again = nx.Graph()
    for name in draw(st.permutations(list(graph))):
        again.add_node(rename(name), **graph.nodes[name])
    for one, other in draw(st.permutations(list(graph.edges))):
        ends = draw(st.permutations([one, other]))
        again.add_edge(*map(rename, ends), **graph.edges[one, other])
    return again


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(["dcqcn", "homa", "expresspass", "ndp", "line-rate"]))
def test_the_order_of_nodes_and_links_changes_nothing(data, name):
    graph = data.draw(networks())
    work = data.draw(works(graph))
    result = rdmacc.simulate(graph, work, name, engine="simpy", until="50ms", progress=False)
    for rename in (lambda name: name, lambda name: f"node {name}"):
        other = shuffled(graph, data.draw, rename)
        moved = work.assign(src=work["src"].map(rename), dst=work["dst"].map(rename))
        again = rdmacc.simulate(other, moved, name, engine="simpy", until="50ms", progress=False)
        for table in ("flows", "ports"):
            was, now = getattr(result, table), getattr(again, table)
            numbers = was.select_dtypes("number").columns
            assert was[numbers].equals(now[numbers])
        assert [rename(one) for one in result.plan.fabric.names] == again.plan.fabric.names
        was, now = topology.describe(graph), topology.describe(other)
        assert now == replace(was, farthest=tuple(map(rename, was.farthest)))
