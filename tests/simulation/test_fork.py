"""A copy of a simulation continues exactly as the original would, and neither affects the other."""

import copy
import pickle

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc.engine.compiled import windows
from rdmacc.engine.compiled.tables import memory
from rdmacc.schemes import SCHEMES
from rdmacc.units import ps
from rdmacc.workload import open_work
from tests.simulation.test_sending import TIMES, apply, network
from tests.support import refused

FAULTS = [rdmacc.Loss(data=0.01)]


def work(seed: int, kind: str = "star"):
    return rdmacc.random_pairs(network(kind), 25, "30kB", jitter="60us", seed=seed)


def same(one: rdmacc.Result, other: rdmacc.Result) -> None:
    assert one.flows[TIMES].equals(other.flows[TIMES])
    assert one.counters.equals(other.counters)
    assert one.ports.equals(other.ports)
    assert one.now_ps == other.now_ps


def check(scheme: str, engine: str, cut_ps: int, kind: str = "star", **options) -> None:
    graph = network(kind)
    given = {"engine": engine, "seed": 4, "faults": FAULTS, **options}
    whole = rdmacc.simulate(graph, work(4, kind), scheme, **given)
    simulation = rdmacc.Simulation(graph, work(4, kind), scheme, **given)
    simulation.run(ps(cut_ps), progress=False)
    first = simulation.fork()
    second = first.fork()
    same(second.run(progress=False), whole)
    same(first.result(), simulation.result())
    same(simulation.run(progress=False), whole)
    same(first.run(progress=False), whole)
    same(second.fork().run(progress=False), whole)


def test_a_copy_is_a_fork_and_a_pickle_is_refused(engine):
    simulation = rdmacc.Simulation(network("star"), work(4), "dcqcn", engine=engine)
    simulation.run("40us")
    same(copy.deepcopy(simulation).run(), simulation.fork().run())
    refused(lambda: pickle.dumps(simulation), "simulation", "at 40000000 ps", "`Simulation.load`")


def test_a_finished_run_with_another_message_can_be_forked(engine):
    simulation = rdmacc.Simulation(network("star"), open_work(work(4)), "dcqcn", engine=engine)
    simulation.run(progress=False)
    simulation.send("h1", "h0", "3kB")
    same(simulation.fork().run(progress=False), simulation.run(progress=False))


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_a_run_that_was_forked_equals_the_whole(engine, scheme):
    check(scheme, engine, 40_000_001)


@settings(max_examples=settings.default.max_examples // 2)
@given(cut_ps=st.integers(0, 150_000_000), scheme=st.sampled_from(["dcqcn", "homa", "irn", "rcp"]))
def test_at_any_time(engine, cut_ps, scheme):
    check(scheme, engine, cut_ps)


@pytest.mark.parametrize(("order", "threads"), [("time", 1), ("windows", 1), ("windows", 2)])
def test_in_any_order(order, threads, monkeypatch):
    monkeypatch.setattr(windows, "_EVENTS", -1)
    monkeypatch.setattr(windows, "_EVENTS_EACH", 0)
    for scheme in ("dcqcn", "go-back-n", "hpcc"):
        check(scheme, "compiled", 30_000_000, "leaf-spine", order=order, threads=threads, faults=[])


@pytest.mark.parametrize("scheme", ["dcqcn", "homa", "ndp"])
def test_in_the_memory_of_earlier_copies_whatever_it_holds(scheme, monkeypatch):
    monkeypatch.setattr(memory, "_LARGE_BYTES", 1)
    simulation = rdmacc.Simulation(network(), work(4), scheme, engine="compiled", faults=FAULTS)
    simulation.run("40us", progress=False)
    memory._dropped.clear()
    simulation.fork().run(progress=False)
    assert memory._dropped
    for one in memory._dropped:
        one[:] = b"\xff" * len(one)
    first, second = simulation.fork(), simulation.fork()
    assert not memory._dropped
    whole = simulation.run(progress=False)
    for one in (first, second):
        same(one.run(progress=False), whole)


def test_probes_traces_and_checked_handlers_continue(engine):
    probes = [rdmacc.probes.queue("s0", "h0", every="2us"), rdmacc.probes.queue("s0", "h1")]
    given = {"engine": engine, "probes": probes, "trace": True, "check": True}
    simulation = rdmacc.Simulation(network(), work(1), "dcqcn", **given)
    simulation.run("40us", progress=False)
    twin = simulation.fork().run(progress=False)
    whole = simulation.run(progress=False)
    assert twin.probes.equals(whole.probes)
    assert twin.packet_trace.equals(whole.packet_trace)


@pytest.mark.parametrize("scheme", ["dcqcn", "dasr", "ndp"])
def test_each_copy_can_be_sent_different_messages(engine, scheme):
    simulation = rdmacc.Simulation(network(), open_work(work(2)), scheme, engine=engine)
    apply(simulation, 1, steps=6)
    twins = [simulation.fork() for _ in range(3)]
    for number, twin in enumerate(twins):
        apply(twin, 10 + number, steps=6)
    for one in (simulation, *twins):
        flows = one.run(progress=False).flows[TIMES]
        assert flows.equals(rdmacc.simulate(network(), one.workload, scheme, engine=engine).flows[TIMES])
    assert len({tuple(one.workload["size_bytes"]) for one in (simulation, *twins)}) == 4


def test_links_fail_in_a_copy_as_in_a_whole_run(engine):
    faults = [
        rdmacc.LinkDown(link=("h1", "s0"), at_ps="45us", until_ps="60us", convergence_ps="2us"),
        rdmacc.SlowLink(link=("h2", "s0"), share=0.5, at_ps="40us"),
        rdmacc.PauseStorm(host="h0", at_ps="50us", until_ps="80us"),
    ]
    given = {"engine": engine, "faults": [rdmacc.SlowLink(link=("h3", "s0"), share=0.5)]}
    simulation = rdmacc.Simulation(network(), work(3), "dcqcn", **given)
    simulation.run("40us", progress=False)
    twin = simulation.fork(faults=faults).run(progress=False)
    whole = rdmacc.simulate(network(), work(3), "dcqcn", engine=engine, faults=[*given["faults"], *faults])
    same(twin, whole)
    assert not simulation.run(progress=False).flows[TIMES].equals(whole.flows[TIMES])


def test_mistakes_are_named(engine):
    simulation = rdmacc.Simulation(network(), work(3), "dcqcn", engine=engine)
    simulation.run("40us", progress=False)
    for fault in (rdmacc.Loss(data=0.1), rdmacc.LinkDown(link=("h1", "s0"), at_ps="1us"), 5):
        refused(lambda: simulation.fork(faults=[fault]), "now or later")
    for faults in (None, rdmacc.LinkDown(link=("h1", "s0"), at_ps="50us")):
        refused(lambda: simulation.fork(faults=faults), "faults", "a list")
    for parameters in ("g", ["g"]):
        refused(lambda: simulation.fork(parameters=parameters), "parameters", "a mapping")
    refused(lambda: simulation.fork(parameters={3: 1}), "parameter of scheme 'dcqcn' = 3")
    refused(lambda: simulation.run(progress="bar"), "progress = 'bar': must be True, False or None")


def test_processes_attached_to_the_engine_cannot_be_copied():
    simulation = rdmacc.Simulation(network(), work(3), "dcqcn", engine="simpy")

    def process(env: simpy.Environment):
        yield env.timeout(10**9)

    env = simulation.engine.env
    env.process(process(env))
    refused(lambda: simulation.fork(), "Live")
