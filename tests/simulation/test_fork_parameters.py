"""A copy of a simulation may continue with other parameters, equally on both engines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc.engine.compiled import engine as compiled_engine
from rdmacc.units import ps
from rdmacc.workload import open_work
from tests.simulation.test_fork import same, work
from tests.simulation.test_sending import TIMES, apply, network
from tests.support import refused


def alike(one: rdmacc.Result, other: rdmacc.Result) -> None:
    """Compare results of the two engines, whose counters come in a different order."""
    assert one.flows[TIMES].equals(other.flows[TIMES])
    assert one.counters.to_dict() == other.counters.to_dict()
    assert one.ports.equals(other.ports)
    assert one.now_ps == other.now_ps


RED = {"kmin_bytes": "2kB", "kmax_bytes": "9kB", "pmax": 0.8}


def test_parameters_changed_at_the_start_equal_a_run_with_them(engine):
    changed = rdmacc.scheme("dcqcn").replace(**RED)
    whole = rdmacc.simulate(network(), work(3), changed, engine=engine)
    simulation = rdmacc.Simulation(network(), work(3), "dcqcn", engine=engine)
    same(simulation.fork(parameters=RED).run(progress=False), whole)
    assert not simulation.run(progress=False).counters.equals(whole.counters)


CHANGES = {
    "dcqcn": RED | {"g": 0.25, "additive_bps": "200Mbps", "increase_period_ps": "20us"},
    "hpcc": {"eta": 0.8, "max_stage": 2},
    "swift": {"beta": 0.4},
    "timely": {"beta": 0.3, "start_fraction": 0.5},
}


@settings(max_examples=settings.default.max_examples // 2)
@given(cut_ps=st.integers(0, 150_000_000), name=st.sampled_from(sorted(CHANGES)), seed=st.integers(0, 3))
def test_engines_agree_on_parameters_that_change(cut_ps, name, seed):
    found = []
    for engine in ("compiled", "simpy"):
        simulation = rdmacc.Simulation(network(), work(seed), name, engine=engine, check=True)
        simulation.run(ps(cut_ps), progress=False)
        twin = simulation.fork(parameters=CHANGES[name])
        twin.run(ps(cut_ps + 10_000_000), progress=False)
        back = {key: getattr(simulation.plan.scheme.owner(key)[0], key) for key in CHANGES[name]}
        found.append([twin.fork().run(progress=False), twin.run(progress=False)])
        same(*found[-1])
        same(simulation.fork(parameters=CHANGES[name]).run(progress=False), found[-1][0])
        unchanged = {key: ps(value) if key.endswith("_ps") else value for key, value in back.items()}
        same(simulation.fork(parameters=unchanged).run(progress=False), simulation.run(progress=False))
    alike(found[0][0], found[1][0])


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_forks_from_one_state_equal_long_runs_that_change_there(engine):
    """Forks of one warmed-up load equal separate warm-ups on an engine that does not copy."""
    graph, messages = network(), rdmacc.random_pairs(network(), 60, "60kB", jitter="100us", seed=3)
    loaded = rdmacc.Simulation(graph, messages, "dcqcn", engine=engine, seed=2)
    loaded.run("30us", progress=False)
    before, found = loaded.result(), []
    for size_kB in range(2, 26, 2):
        change = {"kmin_bytes": f"{size_kB}kB", "kmax_bytes": "50kB", "pmax": 0.8}
        found.append(loaded.fork(parameters=change).run(progress=False))
        alone = rdmacc.Simulation(graph, messages, "dcqcn", engine="simpy", seed=2)
        alone.run("30us", progress=False)
        plan = alone._plan_of(messages, scheme=alone._plan_of.keywords["scheme"].given(change))
        alone.engine.take_scheme(plan.scheme)
        alone.plan = alone.engine.plan = plan
        alike(found[-1], alone.run(progress=False))
    same(before, loaded.result())
    assert len({one.flows["fct_ps"].sum() for one in found}) > 6


@settings(max_examples=settings.default.max_examples // 2)
@given(cut_ps=st.integers(1, 90_000_000), name=st.sampled_from(["dcqcn", "nscc", "rcc", "expresspass"]))
def test_engines_agree_on_another_seed(cut_ps, name):
    graph, faults = network("leaf-spine"), [rdmacc.Loss(data=0.02), rdmacc.Clocks(jitter_ps="50ns")]
    found = []
    for engine in ("compiled", "simpy"):
        simulation = rdmacc.Simulation(graph, open_work(work(1, "leaf-spine")), name, engine=engine, faults=faults)
        simulation.run(ps(cut_ps), progress=False)
        twin = simulation.fork(seed=7)
        apply(twin, 1, steps=5)
        other = twin.fork(seed=8).run(progress=False)
        found.append([twin.fork().run(progress=False), other])
        same(found[-1][0], twin.run(progress=False))
        same(simulation.fork(seed=0).run(progress=False), simulation.run(progress=False))
    for one, other in zip(*found, strict=True):
        alike(one, other)


def test_another_seed_draws_other_numbers(engine):
    simulation = rdmacc.Simulation(network(), work(3), "dcqcn", engine=engine, faults=[rdmacc.Loss(data=0.02)])
    simulation.run("20us", progress=False)
    times = {tuple(simulation.fork(seed=seed).run(progress=False).flows["fct_ps"]) for seed in range(4)}
    assert len(times) == 4
    refused(lambda: simulation.fork(seed=-1), "seed")


def test_queue_pairs_open_with_the_initial_parameters(engine, monkeypatch):
    monkeypatch.setattr(compiled_engine, "_STARTS", 4)
    simulation = rdmacc.Simulation(network(), open_work(work(2)), "dcqcn", engine=engine)
    simulation.run("10us", progress=False)
    twin = simulation.fork(parameters=RED)
    apply(twin, 1, steps=6)
    other = rdmacc.Simulation(network(), open_work(work(2)), "dcqcn", engine="simpy")
    other.run("10us", progress=False)
    other = other.fork(parameters=RED)
    apply(other, 1, steps=6)
    alike(twin.run(progress=False), other.run(progress=False))


@pytest.mark.parametrize("parameters", [{"payload_bytes": 500}, {"Pfc.alpha": 0.5}, {"header_bytes": 90}])
def test_parameters_that_affect_more_than_handlers_are_refused(engine, parameters):
    simulation = rdmacc.Simulation(network(), work(3), "dcqcn", engine=engine)
    refused(lambda: simulation.fork(parameters=parameters), "leave records, handlers")
