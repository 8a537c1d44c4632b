"""Messages sent while a simulation runs have the same times as in a workload of all of them, to the picosecond."""

import math
from unittest import mock

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc.engine.compiled import windows
from rdmacc.errors import ConfigError
from rdmacc.schemes import SCHEMES
from rdmacc.units import ps, us
from rdmacc.workload import open_work
from tests.support import refused

TIMES = ["start_ps", "fct_ps", "fct_acked_ps", "retransmissions", "status"]
HOSTS = [f"h{i}" for i in range(6)]
BY_TIME = {
    "check-epsn", "expresspass", "expresspass-aeolus", "homa", "homa-aeolus", "improved-go-back-n", "ndp",
}  # fmt: skip
"""Schemes for which windows would give other times, or which need features that the plain kernel lacks."""


def network(kind: str = "star") -> nx.Graph:
    if kind == "star":
        return rdmacc.star(6, buffer="3MB")
    return rdmacc.leaf_spine(2, 2, 3, rate="25Gbps", fabric_rate="50Gbps")


def apply(simulation: rdmacc.Simulation, number: int, steps: int = 12) -> None:
    rng = np.random.default_rng(number)
    sent = [simulation.send("h1", "h0", "40kB")]
    for _ in range(steps):
        src, dst = rng.choice(HOSTS, 2, replace=False)
        size = int(rng.choice([1, 900, 5_000, 70_000]))
        match rng.integers(5):
            case 0:
                simulation.run(ps(simulation.now_ps + int(rng.integers(1, 30_000_000))), progress=False)
            case 1:
                simulation.next_completion()
            case 2:
                simulation.run_until(int(rng.choice(sent)))
            case 3:
                sent.append(simulation.send(src, dst, size, at=ps(simulation.earliest_ps + int(rng.integers(10**7)))))
            case _:
                sent.append(simulation.send(src, dst, size))


def check(graph: nx.Graph, scheme: str, engine: str, number: int, workload=None, **options) -> rdmacc.Simulation:
    simulation = rdmacc.Simulation(graph, open_work(workload), scheme, engine=engine, seed=number, **options)
    apply(simulation, number)
    result = simulation.run(progress=False)
    again = rdmacc.simulate(graph, simulation.workload, scheme, engine=engine, seed=number, progress=False)
    assert result.flows[TIMES].equals(again.flows[TIMES])
    assert len(result.flows) > 1
    if simulation.is_finished and scheme != "dasr":
        assert result.counters.accepted_bytes == again.counters.accepted_bytes
    if engine == "compiled":
        in_windows(graph, simulation.workload, scheme, number, result.flows[TIMES])
    return simulation


def in_windows(graph: nx.Graph, work: pd.DataFrame, scheme: str, seed: int, times: pd.DataFrame) -> None:
    """Assert that a workload has these times in windows too, with one thread and with two, if windows can run."""
    with mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0):
        for threads in (1, 2):
            given = {"order": "windows", "threads": threads, "engine": "compiled", "seed": seed}
            result = rdmacc.simulate(graph, work, scheme, **given)
            assert result.flows[TIMES].equals(times)
            assert (result.provenance["order"] == "windows") == (scheme not in BY_TIME), result.provenance["order"]
            assert (result.outcome.visits > 0) == (scheme not in BY_TIME)


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_sent_messages_equal_a_workload_of_all(engine, scheme):
    for number, kind in enumerate(["star", "star", "leaf-spine"]):
        check(network(kind), scheme, engine, number)


@settings(max_examples=settings.default.max_examples // 2)
@given(number=st.integers(10, 2**32), scheme=st.sampled_from(["dcqcn", "homa", "irn", "rcp"]))
def test_any_sequence_of_calls_gives_the_same_times(engine, number, scheme):
    check(network(), scheme, engine, number)


@settings(max_examples=settings.default.max_examples // 2)
@given(
    number=st.integers(0, 2**32), scheme=st.sampled_from(["dcqcn", "go-back-n", "hpcc"]),
    order=st.sampled_from([("time", 1), ("windows", 1), ("windows", 2)]), until_ps=st.integers(10**7, 4 * 10**8),
)  # fmt: skip
def test_other_traffic_in_any_order(number, scheme, order, until_ps):
    graph = network("leaf-spine")
    work = rdmacc.random_pairs(graph, 300, "20kB", jitter="400us", seed=number % 100)
    given = {"engine": "compiled", "order": order[0], "threads": order[1]}
    with mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0):
        simulation = rdmacc.Simulation(graph, open_work(work), scheme, **given)
        assert simulation.run(ps(until_ps), progress=False).provenance["order"].startswith(order[0])
        apply(simulation, number)
        times = simulation.run(progress=False).flows[TIMES]
    assert times.equals(rdmacc.simulate(graph, simulation.workload, scheme, order="time").flows[TIMES])


@pytest.mark.parametrize("scheme", ["dcqcn", "dasr"])
def test_many_messages_make_tables_grow(scheme):
    """They outgrow the room for queue pairs at a NIC and for messages, twice."""
    simulation = rdmacc.Simulation(network(), open_work(), scheme, engine="compiled")
    for number in range(3_000):
        simulation.send("h1", "h0", 500, at=ps(simulation.earliest_ps + 7 * number))
        if number % 100 == 99:
            simulation.next_completion()
    result = simulation.run(progress=False)
    again = rdmacc.simulate(network(), simulation.workload, scheme, engine="compiled", progress=False)
    assert result.flows[TIMES].equals(again.flows[TIMES])
    assert result.counters.events == again.counters.events


def test_both_engines_and_all_ways_to_await_ends_agree():
    ends = []
    for engine in ("simpy", "compiled"):
        simulation = rdmacc.Simulation(network(), open_work(), "dcqcn", engine=engine)
        for host in HOSTS[1:]:
            simulation.send(host, "h0", "30kB")
        found = []
        while (end := simulation.next_completion()) is not None:
            found.append((end, simulation.now_ps))
        ends.append(found)
    assert ends[0] == ends[1]
    assert len(ends[0]) == 5
    assert all(now_ps == end.delivered_ps + 1 for end, now_ps in ends[0])


def test_next_completion_returns_none_after_until(engine):
    simulation = rdmacc.Simulation(network(), open_work(), "dcqcn", engine=engine)
    assert simulation.next_completion() is None
    simulation.send("h1", "h0", "30kB")
    assert simulation.next_completion("1us") is None
    assert simulation.now_ps == us(1)
    assert not simulation.next_completion().has_failed


def test_a_message_without_a_route_fails(engine):
    down = rdmacc.LinkDown(link=("h1", "s0"), at_ps="10us", convergence_ps="1us")
    simulation = rdmacc.Simulation(network(), open_work(), "dcqcn", engine=engine, faults=[down])
    early = simulation.send("h1", "h0", "1MB")
    simulation.send("h2", "h0", "1MB")
    assert simulation.run_until(early).reason == "no route"
    late = simulation.run_until(simulation.send("h1", "h3", "1kB"))
    assert late.reason == "no route"
    assert late.delivered_ps == -1
    simulation.run(progress=False)
    assert simulation.is_finished


def test_mistakes_are_named(engine):
    simulation = rdmacc.Simulation(network(), open_work(), "dcqcn", engine=engine)
    for wrong, match in (
        (("h9", "h0", 1), "src = 'h9': must be the name of a host"),
        (("h1", "s0", 1), "dst = 's0': must be a host, not a switch"),
        (("h1", "h1", 1), "dst = 'h1': must differ from src"),
        (("h1", [], 1), "dst"),
        (("h1", "h0", 0), "size = 0: must be at least 1 byte"),
        (("h1", "h0", 2**50), "fewer than"),
    ):
        with pytest.raises(ConfigError, match=match):
            simulation.send(*wrong)
    for priority in (5, 3.0, [3]):
        refused(lambda: simulation.send("h1", "h0", 1, priority=priority), f"priority = {priority}: must be one of")
    simulation.send("h1", "h0", 1)
    simulation.run("5us")
    refused(lambda: simulation.send("h1", "h0", 1, at="1us"), "at = ", ": must be from")
    refused(lambda: simulation.run_until(7), "message = 7: must be a message, 0 to 0")
    known = rdmacc.messages([("h0", "h1", 1)])
    refused(lambda: rdmacc.Simulation(network(), known, "dasr", engine=engine).send("h1", "h0", 1), "open_work")
    with pytest.raises(ConfigError, match="explain"):
        rdmacc.Simulation(network(), known, "dcqcn", engine=engine, explain=True).send("h1", "h0", 1)
    refused(lambda: rdmacc.Simulation(network(), open_work(known, [99]), "dcqcn", engine=engine), "priorities")


def test_announced_priorities_have_room(engine):
    simulation = rdmacc.Simulation(network(), open_work(priorities=[3, 5]), "dcqcn", engine=engine)
    simulation.send("h1", "h0", "50kB", priority=5)
    simulation.send("h2", "h0", "50kB", priority=3)
    flows = simulation.run(progress=False).flows
    assert flows["fct_ps"][1] < flows["fct_ps"][0]
    assert flows[TIMES].equals(rdmacc.simulate(network(), simulation.workload, "dcqcn", engine=engine).flows[TIMES])


def ask(live: rdmacc.Live, client: str, server: str, count: int, seed: int):
    """Request, think, request again; sometimes stop waiting, sometimes be interrupted."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        try:
            request = live.send(client, server, int(rng.integers(1, 3_000)))
            got = yield request | live.env.timeout(int(rng.integers(1, 4_000_000)))
            if request in got:
                assert got[request].delivered_ps + 1 == live.now_ps
                yield live.send(server, client, int(rng.integers(1, 90_000)))
            yield live.env.timeout(int(rng.integers(0, 3)) * 1_000_000)
        except simpy.Interrupt:
            yield live.send(client, server, 10)


def disturb(live: rdmacc.Live, victims: list[simpy.Process]):
    for victim in victims:
        yield live.env.timeout(7_000_003)
        if victim.is_alive:
            victim.interrupt()


def applications(engine: str, scheme: str, seed: int, **options) -> rdmacc.Live:
    live = rdmacc.Live(network(), scheme, engine=engine, seed=seed, **options)
    clients = [live.env.process(ask(live, host, "h0", 6, seed + i)) for i, host in enumerate(HOSTS[1:])]
    live.env.process(disturb(live, clients))
    live.env.run()
    return live


@pytest.mark.parametrize("scheme", ["dcqcn", "dasr", "homa", "ndp", "irn"])
def test_simpy_processes_see_the_times_of_a_workload(scheme):
    both = [applications(engine, scheme, 5) for engine in ("simpy", "compiled")]
    frames = [live.workload for live in both]
    assert frames[0].equals(frames[1])
    for live in both:
        live.simulation.run(progress=False)
        flows = live.result().flows[TIMES]
        assert flows.equals(rdmacc.simulate(network(), frames[0], scheme, engine="compiled", seed=5).flows[TIMES])
    in_windows(network(), frames[0], scheme, 5, flows)


def test_other_traffic_and_other_units(engine):
    work = rdmacc.random_pairs(network(), 40, "20kB", jitter="60us", seed=1)
    live = rdmacc.Live(network(), "dcqcn", engine=engine, unit="1us", workload=work)

    def process():
        yield live.env.timeout(3.5)
        done = yield live.send("h1", "h0", "10kB")
        assert done.start_ps == us(3.5)
        assert live.env.now == pytest.approx(done.delivered_ps / 1e6)

    live.env.process(process())
    live.env.run()
    live.simulation.run(progress=False)
    again = rdmacc.simulate(network(), live.workload, "dcqcn", engine=engine)
    assert live.result().flows[TIMES].equals(again.flows[TIMES])


def test_events_of_the_lowest_priority_and_an_environment_that_is_taken():
    live = rdmacc.Live(network(), "dcqcn", engine="simpy")
    late = simpy.Event(live.env)
    late._ok, late._value = True, None
    live.env.schedule(late, priority=math.inf, delay=0)
    live.send("h1", "h0", 1)
    live.env.run()
    assert live.result().flows["status"].tolist() == ["delivered"]
    for env in (live.env, 5, simpy.Environment(3)):
        refused(lambda: rdmacc.Live(network(), "dcqcn", env=env), "env")
    refused(lambda: rdmacc.Live(network(), "dcqcn", unit=0), "unit")
