"""Patterns, closed loops and collectives: counts, sizes, groups, dependencies."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import topology, workload
from rdmacc.errors import ConfigError
from rdmacc.topology.fabric import Fabric
from tests.support import check_finished, line_rate

HOSTS = [f"h{i}" for i in range(12)]
FABRIC = Fabric.from_graph(topology.star(12))

counts = st.integers(2, 12)


def check(frame):
    """Assert that engines would accept the workload, and return the graph of its dependencies."""
    pd.testing.assert_frame_equal(workload.validate(frame, FABRIC), frame)
    graph = nx.DiGraph()
    graph.add_nodes_from(frame.index)
    graph.add_edges_from((before, row) for row, after in frame["after"].items() for before in after)
    assert nx.is_directed_acyclic_graph(graph)
    return graph


def steps(frame):
    """Return the length of the longest chain of messages that wait on each other."""
    return nx.dag_longest_path_length(check(frame)) + 1


def run(frame, network=None):
    """Simulate, check that no message starts before the ends it waits for, and return the flows."""
    result = rdmacc.simulate(network or topology.star(12), frame, line_rate(), engine="simpy", progress=False)
    check_finished(result)
    flows = result.flows
    ends = (flows["start_ps"] + flows["fct_ps"]).to_numpy(np.int64)
    for row, after in frame["after"].items():
        if after:
            assert flows.loc[row, "start_ps"] >= max(ends[list(after)])
    return flows


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 3))
def test_many_to_many(senders, receivers, shared):
    left = HOSTS[:senders]
    right = HOSTS[max(senders - shared, 0) :][:receivers]
    pairs = {(src, dst) for src in left for dst in right if src != dst}
    if not pairs:
        return
    frame = workload.many_to_many(left, right, "1kB", start="1us", jitter="1us", group=4)
    assert set(zip(frame["src"], frame["dst"], strict=True)) == pairs
    assert len(frame) == len(pairs)
    assert set(frame["group"]) == {4}
    assert frame["start_ps"].between(10**6, 2 * 10**6).all()
    check(frame)


@given(counts)
def test_all_to_all(n):
    frame = workload.all_to_all(HOSTS[:n], "1kB")
    assert len(frame) == n * (n - 1)
    assert (frame.groupby("src")["dst"].nunique() == n - 1).all()
    assert steps(frame) == 1


@given(counts)
def test_shifted_all_to_all(n):
    frame = workload.all_to_all(HOSTS[:n], "1kB", is_shifted=True, group=2)
    together = workload.all_to_all(HOSTS[:n], "1kB")
    assert sorted(zip(frame["src"], frame["dst"])) == sorted(zip(together["src"], together["dst"]))
    assert steps(frame) == n - 1
    assert frame["group"].tolist() == [2 + step for step in range(n - 1) for _ in range(n)]
    for _, rows in frame.groupby("group"):
        assert rows["src"].nunique() == rows["dst"].nunique() == n
    for row, after in frame["after"].items():
        ends = {(frame.loc[before, "src"], frame.loc[before, "dst"]) for before in after}
        if row >= n:
            src = frame.loc[row, "src"]
            assert all(src in pair for pair in ends)
            assert {pair.index(src) for pair in ends} == {0, 1}


@given(counts, st.integers(1, 10**6))
def test_ring_all_reduce_moves_what_it_must(n, size):
    hosts = HOSTS[:n]
    if size < n:
        with pytest.raises(ConfigError, match="must be at least 1 byte for each of the"):
            workload.ring_all_reduce(hosts, size)
        return
    frame = workload.ring_all_reduce(hosts, size, group=1)
    assert len(frame) == 2 * n * (n - 1)
    assert frame["size_bytes"].sum() == 2 * (n - 1) * size
    sent = frame.groupby("src")["size_bytes"].sum()
    assert ((sent - 2 * (n - 1) * size / n).abs() <= 2).all()
    exact = workload.ring_all_reduce(hosts, size * n)
    for end in ("src", "dst"):
        assert (exact.groupby(end)["size_bytes"].sum() * n == 2 * (n - 1) * size * n).all()
    assert frame["size_bytes"].max() - frame["size_bytes"].min() <= 1
    assert steps(frame) == 2 * (n - 1)
    assert frame["group"].nunique() == 2 * (n - 1)
    follows = {host: hosts[(i + 1) % n] for i, host in enumerate(hosts)}
    assert (frame["src"].map(follows) == frame["dst"]).all()


@given(counts, st.integers(12, 200))
def test_ring_all_reduce_reduces(n, size):
    """Move sets of contributions along the messages: in the end every host has all chunks of all hosts."""
    frame = workload.ring_all_reduce(HOSTS[:n], size)
    sizes = [size // n + (chunk < size % n) for chunk in range(n)]
    has = [[{host} for _ in range(n)] for host in range(n)]
    for step in range(2 * (n - 1)):
        moved = []
        for host in range(n):
            row, chunk = step * n + host, (host - step) % n
            assert frame.loc[row, "size_bytes"] == sizes[chunk]
            assert all(frame.loc[before, "dst"] == frame.loc[row, "src"] for before in frame.loc[row, "after"])
            moved.append(((host + 1) % n, chunk, set(has[host][chunk])))
        for to, chunk, parts in moved:
            has[to][chunk] |= parts
    assert all(parts == set(range(n)) for chunks in has for parts in chunks)


@given(counts, st.integers(1, 4), st.integers(1, 3), st.integers(4, 10**5))
def test_tree_all_reduce(n, chunks, fan_out, size):
    frame = workload.tree_all_reduce(HOSTS[:n], size, chunks=chunks, fan_out=fan_out)
    assert len(frame) == 2 * (n - 1) * chunks
    assert frame["size_bytes"].sum() == 2 * (n - 1) * size
    check(frame)
    m = n - 1
    has = [[{host} for _ in range(chunks)] for host in range(n)]
    for row, (src, dst, after) in enumerate(zip(frame["src"], frame["dst"], frame["after"], strict=True)):
        chunk, place = divmod(row, 2 * m)
        assert all(frame.loc[before, "dst"] == src or before == row - 2 * m for before in after)
        if place < m:
            assert HOSTS.index(dst) == (HOSTS.index(src) - 1) // fan_out
        assert frame.loc[row, "group"] == 2 * chunk + (place >= m)
    order = nx.topological_sort(check(frame))
    for row in order:
        chunk = row // (2 * m)
        to, of = HOSTS.index(frame.loc[row, "dst"]), HOSTS.index(frame.loc[row, "src"])
        has[to][chunk] |= has[of][chunk]
    assert all(parts == set(range(n)) for pieces in has for parts in pieces)


def test_tree_all_reduce_by_hand():
    frame = workload.tree_all_reduce(HOSTS[:4], 10, chunks=2)
    rows = list(zip(frame["src"], frame["dst"], frame["size_bytes"], frame["after"], strict=True))
    assert rows[:6] == [
        ("h1", "h0", 5, (2,)),
        ("h2", "h0", 5, ()),
        ("h3", "h1", 5, ()),
        ("h0", "h1", 5, (0, 1)),
        ("h0", "h2", 5, (0, 1)),
        ("h1", "h3", 5, (3,)),
    ]
    assert frame["after"].tolist()[6:] == [(8, 0), (1,), (2,), (6, 7, 3), (6, 7, 4), (9, 5)]


@given(st.integers(1, 6), st.integers(1, 4))
def test_partition_aggregate(workers, rounds):
    frame = workload.partition_aggregate("h0", HOSTS[1 : 1 + workers], "1kB", "20kB", rounds=rounds, group=2)
    n = workers
    assert len(frame) == 2 * n * rounds
    requests, responses = frame[frame["src"] == "h0"], frame[frame["dst"] == "h0"]
    assert set(requests["size_bytes"]) == {1000}
    assert set(responses["size_bytes"]) == {20_000}
    assert requests["group"].isna().all()
    assert responses["group"].tolist() == [2 + turn for turn in range(rounds) for _ in range(n)]
    for row, after in responses["after"].items():
        assert after == (row - n,)
        assert frame.loc[row - n, "dst"] == frame.loc[row, "src"]
    for row, after in requests["after"].items():
        first = row // (2 * n) * 2 * n
        assert after == (tuple(range(first - n, first)) if first else ())
    assert steps(frame) == 2 * rounds


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 5), st.integers(0, 99))
def test_request_response(clients, servers, rounds, seed):
    pool = HOSTS[3 : 3 + servers]
    if clients > 3 and servers == 1:
        with pytest.raises(ConfigError, match="must include a host other than the client"):
            workload.request_response(HOSTS[:clients], pool, 1, 2)
        return
    frame = workload.request_response(
        HOSTS[:clients], pool, "1kB", "web_search", rounds=rounds, start="1us", jitter="5us", seed=seed
    )
    assert len(frame) == 2 * clients * rounds
    requests, responses = frame.iloc[::2], frame.iloc[1::2]
    assert requests["src"].tolist() == [host for host in HOSTS[:clients] for _ in range(rounds)]
    assert responses["dst"].tolist() == requests["src"].tolist()
    assert responses["src"].tolist() == requests["dst"].tolist()
    assert set(requests["dst"]) <= set(pool)
    assert set(requests["size_bytes"]) == {1000}
    for row, after in frame["after"].items():
        assert after == (() if row % (2 * rounds) == 0 else (row - 1,))
    assert frame["start_ps"].between(10**6, 6 * 10**6).all()
    assert steps(frame) == 2 * rounds


@given(st.lists(st.sampled_from(["ring", "pairs", "shifted", "incast"]), min_size=1, max_size=4))
def test_sequence_waits_for_all(kinds):
    make = {
        "ring": lambda: workload.ring_all_reduce(HOSTS[:3], 300),
        "pairs": lambda: workload.random_pairs(HOSTS, 4, 10),
        "shifted": lambda: workload.all_to_all(HOSTS[:4], 10, is_shifted=True),
        "incast": lambda: workload.incast(HOSTS[1:4], "h0", 10, rounds=2),
    }
    parts = [make[kind]() for kind in kinds]
    frame = workload.sequence(*parts)
    graph = check(frame)
    closure = nx.transitive_closure_dag(graph)
    ends = np.cumsum([0, *map(len, parts)])
    for low, middle, high in zip(ends, ends[1:], ends[2:]):
        assert all(set(range(low, middle)) <= set(closure.predecessors(row)) for row in range(middle, high))
    assert frame["size_bytes"].tolist() == [size for part in parts for size in part["size_bytes"]]
    same = workload.combine(*parts)
    first = len(parts[0])
    assert frame["after"].tolist()[:first] == same["after"].tolist()[:first]


def test_a_training_step_runs():
    hosts = HOSTS[:6]
    tokens = workload.all_to_all(hosts, "4kB", is_shifted=True)
    step = workload.sequence(tokens, tokens, workload.ring_all_reduce(hosts, "60kB"))
    flows = run(step)
    ring = flows.iloc[-60:]
    took = (ring["start_ps"] + ring["fct_ps"]).max() - ring["start_ps"].min()
    # 10 steps of a chunk of 10 kB alone: nothing in a ring on a star gets in each other's way.
    assert took >= 10 * ring["ideal_fct_ps"].max()
    assert took <= 10 * (ring["ideal_fct_ps"].max() + 2_200_000 + 2 * 64 * 80)


def test_closed_loops_and_trees_run():
    run(workload.tree_all_reduce(HOSTS, "40kB", chunks=3))
    run(workload.partition_aggregate("h0", HOSTS[1:], "500B", "10kB", rounds=3))
    run(workload.request_response(HOSTS[:6], HOSTS, "500B", "20kB", rounds=4, jitter="3us"))
    run(workload.incast(HOSTS[1:], "h0", "5kB", rounds=3))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: workload.many_to_many([], HOSTS, 1), "senders = []: must be different hosts, at least one"),
        (
            lambda: workload.many_to_many(["h0"], ["h0"], 1),
            "receivers = ['h0']: must include a host other than",
        ),
        (lambda: workload.many_to_many(["h0"], ["h1"], 1, group=-1), "group = -1: must be a whole number"),
        (lambda: workload.all_to_all(["h0"], 1), "hosts = ['h0']: must be at least two different hosts"),
        (lambda: workload.all_to_all(HOSTS, 0, is_shifted=True), "size = 0: must be at least 1 byte"),
        (lambda: workload.ring_all_reduce(["h0"], 1), "hosts = ['h0']: must be at least two different hosts"),
        (
            lambda: workload.ring_all_reduce(HOSTS, 11),
            "size = 11: must be at least 1 byte for each of the 12 ho",
        ),
        (
            lambda: workload.tree_all_reduce(HOSTS, 9, chunks=10),
            "size = 9: must be at least 1 byte for each of",
        ),
        (
            lambda: workload.tree_all_reduce(HOSTS, 9, chunks=0),
            "chunks = 0: must be a whole number, at least 1",
        ),
        (
            lambda: workload.tree_all_reduce(HOSTS, 9, fan_out=0),
            "fan_out = 0: must be a whole number, at lea",
        ),
        (
            lambda: workload.partition_aggregate("h0", ["h0"], 1, 1),
            "workers = ['h0']: must be different hosts",
        ),
        (lambda: workload.partition_aggregate("h0", ["h1"], 1, 1, rounds=0), "rounds = 0: must be a whole"),
        (lambda: workload.request_response(["h0"], [], 1, 1), "servers = []: must be different hosts"),
        (
            lambda: workload.request_response(["h0"], ["h0"], 1, 1),
            "servers = ['h0']: must include a host other than",
        ),
        (lambda: workload.sequence(), "workloads = (): must be at least one"),
        (
            lambda: workload.sequence(*[workload.random_pairs(HOSTS, 10_000, 1)] * 2),
            "workloads = '10000 last, then 10000 first messages': must make at most",
        ),
    ],
)
def test_patterns_refuse(make, text):
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value).startswith(text)


NET = rdmacc.leaf_spine(2, 1, 3)
OF_HOSTS = {
    "all_to_all": lambda hosts: workload.all_to_all(hosts, 10),
    "many_to_many": lambda hosts: workload.many_to_many(hosts, hosts, 10),
    "nccl": lambda hosts: workload.nccl.all_gather(hosts, "1MB"),
    "permutation": lambda hosts: workload.permutation(hosts, 10, seed=1),
    "poisson": lambda hosts: workload.poisson(NET, 10, 0.5, count=9, senders=hosts, receivers=hosts),
    "random_pairs": lambda hosts: workload.random_pairs(hosts, 5, 10),
    "ring_all_reduce": lambda hosts: workload.ring_all_reduce(hosts, 100),
    "tree_all_reduce": lambda hosts: workload.tree_all_reduce(hosts, 100),
    "jobs": lambda hosts: workload.jobs(hosts, {"a": workload.permutation(["h0", "h1"], 10)}),
    "request_response": lambda hosts: workload.request_response(hosts, hosts, 10, 10),
    "a drawn incast": lambda hosts: workload.incast(3, "h1", 10, hosts=hosts, seed=4),
    "drawn pairs": lambda hosts: workload.many_to_many(2, 3, 10, hosts=hosts, seed=4),
    "drawn workers": lambda hosts: workload.partition_aggregate("h1", 3, 10, 10, hosts=hosts, seed=4),
    "drawn clients": lambda hosts: workload.request_response(2, 2, 10, 10, hosts=hosts, seed=4),
    "a step": workload.TrainingStep(
        model=workload.Transformer(hidden=64, layers=1, mlp=64, vocabulary=64), data=6, sequence=64
    ).workload,
}


@pytest.mark.parametrize("name", OF_HOSTS)
def test_a_network_stands_for_its_hosts(name):
    for network in (NET, topology.fabric.Fabric.from_graph(NET)):
        pd.testing.assert_frame_equal(OF_HOSTS[name](network), OF_HOSTS[name](topology.hosts(NET)))


def test_a_network_leaves_out_the_receiver_and_drawn_hosts_differ():
    others = [host for host in topology.hosts(NET) if host != "h1"]
    pd.testing.assert_frame_equal(workload.incast(NET, "h1", 10), workload.incast(others, "h1", 10))
    pd.testing.assert_frame_equal(
        workload.partition_aggregate("h1", NET, 10, 10), workload.partition_aggregate("h1", others, 10, 10)
    )
    drawn = workload.many_to_many(3, 3, 10, hosts=NET, seed=2)
    assert set(drawn["src"]) | set(drawn["dst"]) == set(topology.hosts(NET))
    with pytest.raises(ConfigError, match="receivers = 4: must be at most 3"):
        workload.many_to_many(3, 4, 10, hosts=NET)
    with pytest.raises(ConfigError, match="workers = 2: must be a list of hosts; to draw this many"):
        workload.partition_aggregate("h1", 2, 10, 10)
