"""Results of the planning stages are reused, and any edit of network, workload or scheme in between is noticed."""

import sys
from dataclasses import dataclass, fields

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc.caching.lifetimes import Kept
from rdmacc.engine import select
from rdmacc.engine.plan import make_plan
from rdmacc.engine.work import Work, work_on
from rdmacc.errors import ConfigError
from rdmacc.handlers import reach
from rdmacc.interface import Component, Float, Int, Record
from rdmacc.topology import fabric
from rdmacc.workload.checks import checked

FEW = settings(max_examples=settings.default.max_examples // 2)
VALUES = st.sampled_from(
    [1, 1000, 10**6, 1e6, 10**9, 25e9, np.float64(25e9), True, "25Gbps", "1us", "2us", "host", None, 10**7, "x"]
)
WORK = rdmacc.messages([("h0", "h3", 20_000), ("h1", "h3", "9kB", "1us"), ("h2", "h0", 5_000, 0, None, (0,))])


def net():
    return rdmacc.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)


def forget(monkeypatch):
    """Drop everything cached, as in a new process."""
    monkeypatch.setattr(fabric, "_NETWORKS", Kept(4))
    monkeypatch.setattr(reach, "_KNOWN", Kept(64))


def outcome(network, work, scheme, engine, seed=3):
    try:
        result = rdmacc.simulate(network, work, scheme, engine=engine, seed=seed, until="1ms")
    except (ConfigError, rdmacc.StalledError) as error:
        return type(error).__name__, str(error)
    return result.digest(), result.provenance["network"], result.flows["ideal_fct_ps"].tolist()


EDITS = st.one_of(
    st.tuples(st.just("node"), st.integers(0, 7), st.sampled_from(["kind", "buffer_bytes", "buffer", "rate_bps"])),
    st.tuples(st.just("edge"), st.integers(0, 7), st.sampled_from(["rate_bps", "delay_ps", "rate", "delay", "dely"])),
    st.tuples(st.just("cut"), st.integers(0, 7), st.just("")),
    st.tuples(st.just("join"), st.integers(0, 7), st.sampled_from(["h9", 9, ("h", 9), "leaf0"])),
    st.tuples(st.just("graph"), st.just(0), st.sampled_from(["name", "sides"])),
)


def edit(graph, change, value):
    kind, number, name = change
    nodes, edges = sorted(graph.nodes, key=str), sorted(graph.edges, key=str)
    if kind == "graph":
        graph.graph[name] = value
    elif kind == "cut":
        graph.remove_edge(*edges[number % len(edges)])
    elif kind == "join":
        graph.add_edge(nodes[number % len(nodes)], name, rate_bps=10e9, delay_ps=value)
    else:
        owner = graph.nodes[nodes[number % len(nodes)]] if kind == "node" else graph.edges[edges[number % len(edges)]]
        if value is None:
            owner.pop(name, None)
        else:
            owner[name] = value


@FEW
@given(changes=st.lists(st.tuples(EDITS, VALUES), min_size=1, max_size=4))
def test_an_edited_graph_is_noticed(engine, changes):
    graph = net()
    outcome(graph, WORK, "dcqcn", engine)
    for change, value in changes:
        if graph.number_of_edges() > 1:
            edit(graph, change, value)
        found = outcome(graph, WORK, "dcqcn", engine)
        with pytest.MonkeyPatch.context() as monkeypatch:
            forget(monkeypatch)
            assert found == outcome(graph, WORK, "dcqcn", engine), (change, value)


CELLS = {
    "src": ["h0", "h1", "h9", 3], "dst": ["h0", "h2", "h9", None], "size_bytes": [1, 70_000, 70_000.0, 0, "8kB"],
    "start_ps": [0, 10**6, -1], "weight": [1.0, 2.0, 0.0], "group": [pd.NA, 1, 1.5], "after": [(), (1,), (0,), (7,)],
    "priority": [2, 3, 99], "queue_pair": [0, 1, pd.NA], "path": ["h0 leaf0 spine1 leaf1 h3", None],
}  # fmt: skip


@FEW
@given(data=st.data())
def test_an_edited_workload_is_noticed(engine, data):
    work, graph = WORK.astype({"size_bytes": object, "group": object}), net()
    outcome(graph, work, "dasr", engine)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(CELLS)))
        values = work[name].tolist() if name in work else [None] * len(work)
        values[data.draw(st.integers(0, len(work) - 1))] = data.draw(st.sampled_from(CELLS[name]))
        work[name] = pd.Series(values, index=work.index, dtype=object)
        found = outcome(graph, work, "dasr", engine)
        with pytest.MonkeyPatch.context() as monkeypatch:
            forget(monkeypatch)
            assert found == outcome(graph, work, "dasr", engine), (name, values)


SLOWER = 2


def slow(rate):
    return rate / SLOWER


def slower(rate):
    return rate / 8


@dataclass(frozen=True, kw_only=True)
class Half(Component):
    class Sender(Record):
        rate_bps = Float()
        count = Int()

    def on_start(qp, sender):
        sender.rate_bps = slow(qp.line_bps)


def quarter(qp, sender):
    sender.rate_bps = qp.line_bps / 4


CHANGES = {
    "a constant": lambda patch: patch.setattr(sys.modules[__name__], "SLOWER", 5),
    "a function": lambda patch: patch.setattr(sys.modules[__name__], "slow", slower),
    "a function's code": lambda patch: patch.setattr(slow, "__code__", slower.__code__),
    "a handler": lambda patch: patch.setattr(Half, "on_start", staticmethod(quarter)),
    "its handlers": lambda patch: patch.setattr(Half, "handlers", lambda self: {}),
    "a class attribute": lambda patch: patch.setattr(Half, "pairwise", True),
    "a property": lambda patch: patch.setattr(Half, "marks_at_nic", property(lambda self: True)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_edited_scheme_is_noticed(engine, name, monkeypatch):
    graph, scheme = rdmacc.star(4), rdmacc.Scheme(name="half", control=Half())
    work = rdmacc.messages([("h1", "h0", 20_000), ("h1", "h0", 20_000), ("h2", "h0", 20_000)])
    before = make_plan(graph, work, scheme), outcome(graph, work, scheme, engine)
    assert make_plan(graph, work, scheme).reach is before[0].reach
    CHANGES[name](monkeypatch)
    found = make_plan(graph, work, scheme), outcome(graph, work, scheme, engine)
    assert found[0].reach is not before[0].reach
    forget(monkeypatch)
    assert found[1] == outcome(graph, work, scheme, engine)
    assert found[1] != before[1] or name == "a property"


def test_stages_are_reused_as_far_as_nothing_has_changed():
    graph, work = rdmacc.star(4), WORK.copy()
    first, again = (make_plan(graph, work, rdmacc.scheme("dcqcn"), seed=seed) for seed in (1, 2))
    assert first.fabric is again.fabric
    assert first.workload is again.workload
    assert first.packets is again.packets
    assert (first.chance_key != again.chance_key).any()
    other = make_plan(rdmacc.star(4), work.copy(), rdmacc.scheme("hpcc"))
    assert other.fabric is first.fabric
    assert other.workload is first.workload
    assert other.packets is not first.packets


@pytest.mark.parametrize("name", rdmacc.SCHEMES)
def test_many_runs_equal_single_ones(name, monkeypatch):
    """Engines are reused: each run starts from the state of a new engine."""
    graph, scheme = rdmacc.star(5), rdmacc.scheme(name)
    works = [
        rdmacc.incast(["h1", "h2", "h3"], "h0", "40kB"),
        rdmacc.messages([("h1", "h0", 9_000), ("h2", "h0", 1)] + 70 * [("h1", "h2", 2_000)]),
        rdmacc.poisson(graph, "10kB", 0.6, count=6).assign(weight=2.0, priority=4),
    ]
    monkeypatch.setattr(select._SPARE, "_most", 0)
    alone = [rdmacc.simulate(graph, work, scheme, seed=seed) for work in works for seed in (4, 2, 9)]
    monkeypatch.undo()
    for _ in range(2):
        many = list(rdmacc.simulate_many(graph, works, scheme, seeds=[4, 2, 9]))
        for one, other in zip(alone, many, strict=True):
            pd.testing.assert_frame_equal(one.flows, other.flows)
            pd.testing.assert_frame_equal(one.ports, other.ports)
            pd.testing.assert_frame_equal(one.transfers, other.transfers)
            assert one.counters.equals(other.counters)


def test_arguments_that_simulate_many_refuses():
    graph, work = rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "8kB")
    for arguments, field in (
        ((graph, 3, "dcqcn"), "workloads"), ((graph, work, ["dcqcm"]), "scheme"), ((graph, work, "dcqcn", -1), "seed"),
        ((graph, work, "dcqcn", [0, "x"]), "seed"), ((nx.Graph(), work, "dcqcn"), "network"),
        ((graph, work, 3), "scheme"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=f"^{field}"):
            rdmacc.simulate_many(*arguments)
    assert len(list(rdmacc.simulate_many(graph, work, "dcqcn", np.int64(2)))) == 2
    with pytest.raises(ConfigError, match="^workload"):
        list(rdmacc.simulate_many(graph, [work, "x"], "dcqcn", engine="simpy"))


def test_a_generators_frame_is_read_like_any_other():
    """Its columns are used as they are; with one more column, pandas converts and checks each."""
    net = fabric.Fabric.from_graph(rdmacc.leaf_spine(2, 2, 3))
    frames = [
        rdmacc.poisson(net, "web_search", 0.5, count=40, seed=2),
        rdmacc.incast(["h1", "h2"], "h0", "1kB").assign(weight=[0.5, 3.0]),
        rdmacc.workload.incasts(net, 3, "8kB", load=0.3, count=4),
        rdmacc.messages([("h1", "h0", 5), ("h0", "h4", 7, "2us", 1)]).rename_axis(None),
    ]
    for frame in frames:
        assert checked(frame, net)[1] is not None
        plain, other = work_on(net, frame), work_on(net, frame.assign(more=1))
        pd.testing.assert_frame_equal(plain.workload, other.workload.drop(columns="more"))
        assert plain.workload.attrs == frame.attrs
        for one in fields(Work):
            mine, its = getattr(plain, one.name), getattr(other, one.name)
            if isinstance(mine, np.ndarray):
                np.testing.assert_array_equal(mine, its)
                assert mine.dtype == its.dtype
        frame.loc[0, "size_bytes"] += 1
        assert work_on(net, frame).size_bytes[0] == plain.size_bytes[0] + 1
    wrong = {"size_bytes": 0, "dst": "h9", "src": "s0", "weight": np.nan, "start_ps": -1}
    for change in ({name: value} for name, value in wrong.items()):
        with pytest.raises(ConfigError):
            work_on(net, rdmacc.incast(["h1", "h2"], "h0", "1kB").assign(**change))
