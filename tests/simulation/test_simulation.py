"""Running in pieces gives the same as running at once; `until` stops before the events of its time; results."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc import Loss, Simulation, probes
from rdmacc.units import ms, ps, us
from tests.support import WIRE, transmission

T, D = transmission(WIRE, 100e9), us(1)
WORK = rdmacc.combine(
    rdmacc.incast([f"h{i}" for i in range(1, 6)], "h0", "30kB", start="3us"),
    rdmacc.messages([("h0", "h1", 20_000), ("h1", "h2", 5_000, 0, None, (0,)), ("h3", "h4", 1, "40us")]),
)


def scenario(engine, scheme="dcqcn", **options):
    options = {"seed": 3, "faults": [Loss(data=0.01)], **options}
    graph = rdmacc.star(6, buffer="400kB")
    chosen = rdmacc.scheme(scheme, timeout_ps="50us", nak_interval_ps="10us")
    return Simulation(graph, WORK, chosen, engine=engine, **options)


def same(one, two):
    assert one.flows.equals(two.flows)
    assert one.counters.equals(two.counters)
    assert one.ports.equals(two.ports)
    assert one.buffers.equals(two.buffers)
    assert one.now_ps == two.now_ps


@settings(max_examples=settings.default.max_examples // 2)
@given(cuts=st.lists(st.integers(0, 80_000_000), max_size=6))
def test_any_cuts(engine, cuts):
    simulation = scenario(engine)
    for cut in sorted(cuts):
        simulation.run(ps(max(cut, simulation.now_ps)))
        assert simulation.is_finished or simulation.now_ps == cut
    same(simulation.run(), scenario(engine).run())


@pytest.mark.parametrize("scheme", ["line-rate", "dcqcn", "dcqcn-hpcc", "dasr"])
def test_intermediate_results_equal_a_run_until_then_and_do_not_change(engine, scheme):
    simulation, kept = scenario(engine, scheme), []
    for until in ("1ps", "500ns", "4us", "4us", "10us", "10.0001us", "45us"):
        kept.append((simulation.run(until), scenario(engine, scheme).run(until)))
        same(simulation.result(), kept[-1][1])
    kept.append((simulation.run(), scenario(engine, scheme).run()))
    assert (kept[-1][0].flows["status"] == "finished").all()
    for one in kept:
        same(*one)


def lone(engine, **options):
    return Simulation(rdmacc.star(2), rdmacc.messages([("h0", "h1", 1000)]), "line-rate", engine=engine, **options)


def test_events_at_until_are_not_processed(engine):
    """The packet is delivered at 2 (t + d): not yet when the run stops there, but 1 ps later."""
    arrival = 2 * (T + D)
    simulation = lone(engine)
    result = simulation.run(arrival)
    assert (simulation.now_ps, result.now_ps) == (arrival, arrival)
    assert result.flows["fct_ps"].isna().all()
    assert result.flows["status"].tolist() == ["running"]
    result = simulation.run(arrival + 1)
    assert result.flows["fct_ps"].tolist() == [arrival]
    assert result.flows["status"].tolist() == ["delivered"]
    assert not simulation.is_finished
    result = simulation.run()
    assert result.flows["status"].tolist() == ["finished"]
    assert simulation.is_finished


def test_the_end_is_the_last_event_rather_than_until(engine):
    """When everything is finished the clock shows the last ACK's time; running again is harmless."""
    simulation = lone(engine)
    result = simulation.run("1s")
    assert result.now_ps == result.flows["fct_acked_ps"][0]
    same(simulation.run("2s"), result)
    same(simulation.run(), result)


def test_status_during_a_run(engine):
    work = rdmacc.messages(
        [("h0", "h1", 1000), ("h0", "h1", "1MB"), ("h1", "h0", 1000, "1ms"), ("h1", "h0", 1000, 0, None, (1,))]
    )
    simulation = Simulation(rdmacc.star(2), work, "line-rate", engine=engine)
    assert simulation.run("20us").flows["status"].tolist() == ["finished", "running", "waiting", "waiting"]
    assert simulation.run().flows["status"].tolist() == ["finished"] * 4


def test_hosts_joined_without_a_switch(engine):
    graph = nx.Graph(name="cable")
    for name in ("a", "b"):
        rdmacc.topology.add_host(graph, name)
    rdmacc.topology.add_link(graph, "a", "b", "10Gbps", "3us")
    work = rdmacc.messages([("a", "b", 10_000), ("b", "a", 10_000)])
    result = rdmacc.simulate(graph, work, "dcqcn", engine=engine)
    t, t_ack = transmission(WIRE, 10e9), transmission(64, 10e9)
    # From the fourth packet on (at 3 t) replies are in flight, and one goes before each packet.
    first_reply = t + us(3)
    assert result.flows["fct_ps"].nunique() == 1
    assert result.flows["fct_ps"][0] > result.flows["ideal_fct_ps"][0]
    before = -(-first_reply // t)  # packets that start before the first reply has to be sent
    assert result.flows["fct_ps"][0] == 10 * t + us(3) + (10 - before) * t_ack


@pytest.mark.parametrize("count", [1, 7])
def test_names_of_any_kind(engine, count):
    graph = nx.relabel_nodes(rdmacc.star(3), {"h0": 0, "h1": (1, "x"), "h2": frozenset("z")})
    work = rdmacc.messages([((1, "x"), 0, 1000 * count), (frozenset("z"), 0, 1000)])
    result = rdmacc.simulate(graph, work, "dasr", engine=engine)
    assert result.flows["src"].tolist() == [(1, "x"), frozenset("z")]
    assert (result.flows["status"] == "finished").all()
    assert len(result.plot.step().get_yticks()) == 2


def test_message_labels_are_kept(engine):
    work = rdmacc.messages([("h0", "h1", 1000), ("h1", "h0", 2000, 0, None, ("x",))])
    work.index = ["x", "y"]
    flows = rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine=engine).flows
    assert flows["size_bytes"].tolist() == [1000, 2000]
    assert flows["start_ps"][1] == flows["fct_ps"][0]


def test_progress_counts_bytes_and_steps_grow_to_a_moment(engine, monkeypatch):
    """One long message: the bar moves all the time, not only at the end."""
    monkeypatch.setattr("rdmacc.simulation.running._FEW_HOSTS", 2)
    simulation = rdmacc.Simulation(rdmacc.star(2), rdmacc.messages([("h1", "h0", "2MB")]), "line-rate", engine=engine)
    shown, words = [], []
    advance = simulation._advance

    def noted(bar, until_ps):
        advance(bar, until_ps)
        shown.append((bar.n, bar.total, simulation._step_ps))
        words.append(bar.text)

    monkeypatch.setattr(simulation, "_advance", noted)
    simulation.run(progress=True)
    counts = [n for n, *_ in shown]
    assert counts == sorted(counts)
    assert len(set(counts)) > 3
    assert counts[-1] == 2_000_000 == shown[-1][1]
    assert simulation._step_ps > shown[0][2]
    assert "line-rate, 0 of 1 messages" in words[0]
    assert "line-rate, 1 of 1 messages" in words[-1]


def test_steps_do_not_change_results(engine, monkeypatch):
    monkeypatch.setattr("rdmacc.simulation.running._FIRST_STEP_PS", 1_000_000_000)
    whole = rdmacc.simulate(rdmacc.star(3), WORK.iloc[:2].assign(dst="h2", src="h1"), "dcqcn", engine=engine)
    monkeypatch.setattr("rdmacc.simulation.running._FIRST_STEP_PS", 1_000)
    monkeypatch.setattr("rdmacc.simulation.running._STEP_S", (0.0, float("inf")))  # all steps stay that short
    same(whole, rdmacc.simulate(rdmacc.star(3), WORK.iloc[:2].assign(dst="h2", src="h1"), "dcqcn", engine=engine))


def test_inputs_are_not_changed(engine):
    graph, work = rdmacc.star(3), WORK.iloc[:2].copy()
    nodes, edges, rows = dict(graph.nodes(data=True)), list(graph.edges(data=True)), work.copy()
    watch = [probes.queue("s0", "h0", "1us")]
    rdmacc.simulate(graph, work.assign(dst="h2", src="h1"), "dcqcn", engine=engine, probes=watch, until=ms(1))
    assert (dict(graph.nodes(data=True)), list(graph.edges(data=True))) == (nodes, edges)
    assert work.equals(rows)


def test_ctrl_c_leaves_the_result_so_far(engine, monkeypatch):
    work = rdmacc.messages([("h1", "h0", "1kB"), ("h1", "h0", "1GB", "1us")])
    simulation = rdmacc.Simulation(rdmacc.star(2), work, "line-rate", engine=engine)
    run = simulation.engine.run
    calls = []

    def interrupted(until_ps, soon_ps):
        calls.append(until_ps)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return run(until_ps, soon_ps)

    monkeypatch.setattr(simulation.engine, "run", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        simulation.run(progress=False)
    assert caught.value.result.flows["status"].tolist() == ["finished", "running"]
    now_ps = simulation.now_ps
    assert simulation.run(now_ps + ms(0.01), progress=False).now_ps == now_ps + ms(0.01)
