"""PFC deadlocks: found at once, reported with the ports that wait on each other, and no false alarms.

Theory: a deadlock needs a cyclic buffer dependency. In a ring of switches whose hosts all send two hops clockwise, each
link carries traffic that the next one must take; with small buffers each switch pauses the previous one. Without a
cycle (trees, up-down routes) there is no deadlock, however long a pause lasts.
"""

import itertools
import pickle

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc import DeadlockError, Pfc, Scheme, StalledError, probes, topology
from rdmacc.interface import Component, Int, Record
from rdmacc.rules.pfc import headroom_bytes
from rdmacc.units import ms, ps, us
from tests.support import WIRE, check_conservation, check_finished, line_rate, spokes

SCHEMES = ["line-rate", "dcqcn", "dcqcn-hpcc", "dasr"]


class Closed(Component):
    class Sender(Record):
        window_bytes = Int(1)

    def on_open(sender):
        sender.window_bytes = 0


def ring(n, pool=10_000, rate="10Gbps"):
    """Return a ring of n switches with a host each, and `pool` shared bytes beyond reserves and headrooms."""
    graph = nx.Graph(name=f"ring({n})")
    for i in range(n):
        topology.add_host(graph, f"h{i}")
        topology.add_switch(graph, f"s{i}", 1)
    for i in range(n):
        topology.add_link(graph, f"h{i}", f"s{i}", "10Gbps", "1us")
        topology.add_link(graph, f"s{i}", f"s{(i + 1) % n}", rate, "1us")
    for i in range(n):
        links = graph.adj[f"s{i}"].values()
        need = sum(4096 + headroom_bytes(link["rate_bps"], link["delay_ps"], WIRE) for link in links)
        graph.nodes[f"s{i}"]["buffer_bytes"] = need + pool
    return graph


def clockwise(n, hops, size="2MB"):
    return rdmacc.long_flows([(f"h{i}", f"h{(i + hops) % n}") for i in range(n)], size)


def assert_is_a_circle(ports):
    """Assert that each port leads to the switch of the next one."""
    assert len(ports) >= 2
    for port, following in itertools.pairwise([*ports, ports[0]]):
        assert port.split("->")[1] == following.split("->")[0]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("n", "hops"), [(5, 2), (7, 3)])
def test_a_ring_deadlocks_and_the_error_names_the_ports(engine, scheme, n, hops):
    with pytest.raises(DeadlockError) as caught:
        rdmacc.simulate(ring(n), clockwise(n, hops), scheme, engine=engine)
    error = caught.value
    assert set(error.ports) == {f"s{i}->s{(i + 1) % n}" for i in range(n)}
    assert_is_a_circle(error.ports)
    assert error.time_ps <= ms(2)
    assert "s0->s1 waits on s1->s2" in str(error)


def test_the_partial_result_comes_with_the_error(engine):
    """Probes, counters and flows up to the deadlock; messages that had finished are finished."""
    early = rdmacc.messages([("h0", "h1", 5_000)])
    late = clockwise(5, 2).assign(start_ps=us(20))
    work = rdmacc.combine(early, late)
    watch = [probes.queue("s0", "s1")]
    with pytest.raises(DeadlockError) as caught:
        rdmacc.simulate(ring(5), work, "line-rate", engine=engine, probes=watch)
    result = caught.value.result
    elsewhere = pickle.loads(pickle.dumps(caught.value))
    assert (str(elsewhere), elsewhere.result.now_ps) == (str(caught.value), result.now_ps)
    assert elsewhere.result.flows.equals(result.flows)
    assert result.flows["status"].tolist() == ["finished"] + ["running"] * 5
    assert result.now_ps == caught.value.time_ps
    assert 0 < result.counters.accepted_bytes < result.counters.sent_bytes
    assert result.counters.pfc_violations == result.counters.timeouts == 0
    assert (result.probes["value"] > 0).any()
    check_conservation(result)
    ports = result.ports.set_index("port")
    assert (ports["paused_ps"][caught.value.ports] > ms(0.8)).all()


def test_a_deadlock_is_found_while_other_flows_continue(engine):
    """A flow outside the ring keeps the simulation busy: events remain, yet the deadlock is found."""
    graph = ring(5)
    for host in ("x0", "x1"):
        topology.add_host(graph, host)
    topology.add_switch(graph, "x", "10MB")
    for host in ("x0", "x1"):
        topology.add_link(graph, host, "x", "1Gbps", "1us")
    topology.add_link(graph, "x", "s0", "1Gbps", "1us")
    graph.nodes["s0"]["buffer_bytes"] += 4096 + headroom_bytes(1e9, us(1), WIRE)
    work = rdmacc.combine(rdmacc.messages([("x0", "x1", "10MB")]), clockwise(5, 2))
    with pytest.raises(DeadlockError) as caught:
        rdmacc.simulate(graph, work, "dcqcn", engine=engine)
    assert caught.value.time_ps < ms(5)
    assert len(caught.value.ports) == 5


def test_a_long_pause_is_not_a_deadlock(engine):
    """A receiver of 1 Mb/s keeps its sender paused for 0.8 s: slow, not stuck."""
    graph = spokes(["10Gbps", "1Mbps"], buffer="60kB")
    result = rdmacc.simulate(graph, rdmacc.messages([("h0", "h1", "100kB")]), "line-rate", engine=engine)
    check_finished(result)
    assert result.counters.pfc_paused_ps > ms(500)


@given(
    pool=st.integers(1, 30_000),
    alpha=st.sampled_from([1 / 16, 1 / 8, 1.0, 8.0]),
    extra=st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 30_000), st.integers(0, 60_000_000)), max_size=8
    ),
    long=st.integers(1_000, 200_000),
    xon=st.sampled_from([0, 3072]),
)
def test_rings_finish_or_deadlock(engine, pool, alpha, extra, long, xon):
    """With any traffic, every message finishes or a cycle is reported. Nothing stalls, fails or hangs."""
    rows = [(f"h{i}", f"h{(i + hops) % 5}", size, ps(start)) for i, hops, size, start in extra]
    work = clockwise(5, 2, long)
    if rows:
        work = rdmacc.combine(work, rdmacc.messages(rows))
    scheme = line_rate(buffer=Pfc(alpha=alpha, xon_offset_bytes=xon))
    try:
        result = rdmacc.simulate(ring(5, pool), work, scheme, engine=engine)
        check_finished(result)
    except DeadlockError as error:
        assert_is_a_circle(error.ports)
        result = error.result
        check_conservation(result)
        assert (result.flows["status"] == "running").any()
    assert result.counters.pfc_violations == result.counters.timeouts == 0


@settings(max_examples=settings.default.max_examples // 2)
@given(
    parents=st.lists(st.integers(0, 10), min_size=1, max_size=4),
    pool=st.integers(1, 5_000),
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=10),
)
def test_trees_never_deadlock(engine, parents, pool, pairs):
    graph = nx.Graph(name="tree")
    count = len(parents) + 1
    for i in range(count):
        topology.add_switch(graph, f"s{i}", 1)
        if i:
            topology.add_link(graph, f"s{i}", f"s{parents[i - 1] % i}", "10Gbps", "1us")
    for i in range(10):
        topology.add_host(graph, f"h{i}")
        topology.add_link(graph, f"h{i}", f"s{i % count}", "10Gbps", "1us")
    for i in range(count):
        degree = graph.degree[f"s{i}"]
        graph.nodes[f"s{i}"]["buffer_bytes"] = degree * (4096 + headroom_bytes(10e9, us(1), WIRE)) + pool
    work = rdmacc.messages([(f"h{a}", f"h{(a + b) % 10}", 20_000) for a, b in pairs])
    result = rdmacc.simulate(graph, work, "line-rate", engine=engine)
    check_finished(result)


def test_messages_that_nothing_can_finish_are_reported(engine):
    """With a window of 0 no packet is ever sent, and no event is left."""
    work = rdmacc.messages([("h0", "h1", 1000), ("h1", "h0", 1000)])
    with pytest.raises(StalledError, match="2 messages unfinished: 0, 1") as caught:
        rdmacc.simulate(rdmacc.star(2), work, Scheme(control=(Closed(),)), engine=engine)
    assert caught.value.result.flows["status"].tolist() == ["running", "running"]
    result = rdmacc.simulate(rdmacc.star(2), work, Scheme(control=(Closed(),)), engine=engine, until="1ms")
    assert result.now_ps == ms(1)
