"""Dragonflies: counts, one link between two groups, minimal and Valiant paths, throughput of adversarial traffic."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import networkx as nx
import pytest

import rdmacc
from rdmacc import ConfigError, topology, workload
from rdmacc.engine.compare import differences
from rdmacc.switch.buffer import DropTail
from rdmacc.topology.direct import dragonfly_route
from rdmacc.workload import dragonfly_paths
from tests.support import check_conservation, check_finished, mostly_at_night

SHAPES = [(1, 1, 1), (2, 1, 1), (2, 3, 1), (4, 2, 2), (3, 1, 2), (6, 3, 3)]


def groups_of(path):
    """Return the groups that a path visits, in order."""
    groups = [int(name[1:].partition("r")[0]) for name in path[1:-1]]
    return [group for i, group in enumerate(groups) if i == 0 or group != groups[i - 1]]


@pytest.mark.parametrize(("a", "p", "h"), SHAPES)
def test_counts_and_diameter(a, p, h):
    """Kim et al., section 3: a h + 1 groups, a p (a h + 1) hosts; each router has p + a - 1 + h links."""
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


def test_delays_and_rates():
    graph = topology.dragonfly(2, 1, 1, rate="25Gbps", delay="100ns", global_delay="2us")
    delays = {len({end.partition("r")[0] for end in edge}): graph.edges[edge]["delay_ps"] for edge in graph.edges}
    assert delays == {1: 100_000, 2: delays[2]}
    assert graph.edges["g0r0", "g1r1"]["delay_ps"] == 2_000_000
    assert {rate for *_, rate in graph.edges(data="rate_bps")} == {25e9}


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
    assert other.equals(valiant["path"]) is (a * h + 1 == 3)  # then there is one third group


def adversarial(a, p, h, each, size):
    """Each host sends messages to the host at its place in the next group."""
    hosts, group = a * p * (a * h + 1), a * p
    return rdmacc.messages([(f"h{i}", f"h{(i + group) % hosts}", size) for _ in range(each) for i in range(hosts)])


def busiest(work):
    """Return the most messages that any direction of a link carries."""
    return max(Counter(link for path in work["path"] for link in pairwise(path)).values())


@pytest.mark.parametrize("engine", mostly_at_night(["compiled", "simpy"], every=2))
def test_a_group_that_sends_to_the_next_one(engine):
    """Adversarial traffic: a p hosts share one link, so each gets 1/(a p) of its rate; Valiant about half."""
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
    assert 0.8 < shares["valiant"] / (7 / 16) < 1  # (a h - 1) / (2 a p) if all detours were equally loaded


@pytest.mark.parametrize("name", ["nscc", "dcqcn"])
def test_engines_agree_on_detours(name):
    graph = topology.dragonfly(2, 2, 1)
    work = dragonfly_paths(rdmacc.permutation(topology.hosts(graph), "40kB", seed=2), graph, "valiant")
    one, other = (rdmacc.simulate(graph, work, name, engine=engine) for engine in ("simpy", "compiled"))
    check_finished(one)
    assert differences(one.outcome, other.outcome) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: topology.dragonfly(0, 1, 1), "routers = 0: must be a whole number"),
        (lambda: topology.dragonfly(2, 1, 10**6), "must be at most"),
        (lambda: dragonfly_route(topology.star(2), "h0", "h1"), "made by topology.dragonfly"),
        (lambda: dragonfly_route(topology.dragonfly(2, 1, 1), "h0", "h9"), "a host of the network"),
        (lambda: dragonfly_route(topology.dragonfly(2, 1, 1), "h0", "h3", through=0), "other than those of the hosts"),
        (lambda: paths_on(topology.dragonfly(2, 1, 1), "zigzag"), "routing"),
        (lambda: paths_on(topology.dragonfly(1, 1, 1), "valiant"), "three groups"),
    ],
)
def test_mistakes(wrong, message):
    with pytest.raises(ConfigError, match=message):
        wrong()


def paths_on(graph, routing):
    return workload.dragonfly_paths(rdmacc.messages([("h0", "h1", 1)]), graph, routing)
