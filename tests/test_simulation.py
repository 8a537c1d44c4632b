"""A simulation that is run in pieces is the same as one run at once; what ends it, and what it says then."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import rdmacc
from rdmacc.engine.compare import differences
from tests.scenarios import draw


def build(engine, **more):
    network = rdmacc.star(6)
    work = rdmacc.incast([f"h{i}" for i in range(1, 6)], "h0", "100kB", jitter="5us", seed=3)
    watched = [rdmacc.probes.queue("s0", "h0", "1us"), rdmacc.probes.rate(0)]
    return rdmacc.Simulation(network, work, "dcqcn", engine=engine, probes=watched, **more)


def test_pieces_make_the_whole(engine):
    whole, pieces = build(engine), build(engine)
    whole.run(progress=False)
    for t in ("1ps", "3us", "3us", "17.3us", "40us"):
        pieces.run(t, progress=False)
        assert pieces.now_ps == rdmacc.units.time_ps(t)
    pieces.run(progress=False)
    assert whole.is_finished
    assert differences(whole.engine.outcome(), pieces.engine.outcome()) == []


@pytest.mark.parametrize("number", [3, 11, 25])
def test_pieces_make_the_whole_in_random_scenarios(engine, number):
    scenario = draw(number)
    whole = rdmacc.Simulation(**scenario.arguments(), engine=engine)
    pieces = rdmacc.Simulation(**scenario.arguments(), engine=engine)
    whole.run("40us", progress=False)
    for t in range(1, 41):
        pieces.run(f"{t}us", progress=False)
    assert differences(whole.engine.outcome(), pieces.engine.outcome()) == []


def test_until_stops_before_the_events_of_that_time(engine):
    simulation = rdmacc.Simulation(rdmacc.star(2), rdmacc.messages([("h1", "h0", 1000)]), "line-rate", engine=engine)
    arrival = 2 * (1_048 * 80 + 1_000_000)
    simulation.run(arrival, progress=False)
    assert simulation.result().flows.status[0] == "running"
    simulation.run(arrival + 1, progress=False)
    assert simulation.result().flows.fct_ps[0] == arrival


def test_until_in_the_past_is_refused(engine):
    simulation = build(engine)
    simulation.run("10us", progress=False)
    with pytest.raises(rdmacc.ConfigError, match="until"):
        simulation.run("5us", progress=False)


def test_a_finished_simulation_stays_as_it_is(engine):
    simulation = build(engine)
    before = simulation.run(progress=False).counters
    after = simulation.run("1s", progress=False).counters
    assert before.equals(after)


def test_a_run_that_cannot_go_on_says_so_and_keeps_its_result(engine):
    """Everything is lost, and recovery gives up after two timeouts: the message fails, what waits for it as well."""
    rows = [("h1", "h0", 3000), {"src": "h2", "dst": "h0", "size": 3000, "after": (0,)}, ("h2", "h1", 2000)]
    work = rdmacc.messages([dict(zip(("src", "dst", "size"), row)) if isinstance(row, tuple) else row for row in rows])
    scheme = rdmacc.scheme("line-rate", timeout_ps="10us", retry_limit=2)
    lost = rdmacc.Loss(data=1.0, links=(("h1", "s0"),))
    result = rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine, faults=[lost], progress=False)
    assert result.flows.status.tolist() == ["failed", "failed", "finished"]
    assert result.flows.timeouts.tolist() == [3, 0, 0]


def test_nothing_left_to_happen_is_a_stall(engine):
    """Without retransmission (a timeout later than any event) a lost packet stops everything."""
    scheme = rdmacc.scheme("line-rate", timeout_ps=2**62)
    lost = rdmacc.Loss(data=1.0)
    simulation = rdmacc.Simulation(
        rdmacc.star(2), rdmacc.messages([("h1", "h0", 1000)]), scheme, engine=engine, faults=[lost]
    )
    with pytest.raises(rdmacc.StalledError) as caught:
        simulation.run(progress=False)
    assert caught.value.messages == [0]
    assert caught.value.result.counters.lost_packets == 1
    assert caught.value.result.flows.status.tolist() == ["running"]


def test_an_interrupt_ends_the_run_and_leaves_a_result():
    program = """
        import rdmacc, sys
        network = rdmacc.fat_tree(4)
        work = rdmacc.permutation(rdmacc.topology.hosts(network), "10GB")
        simulation = rdmacc.Simulation(network, work, "dcqcn", engine="compiled")
        print("ready", flush=True)
        try:
            simulation.run(progress=False)
        except KeyboardInterrupt:
            print("interrupted", int(simulation.result().counters.events) > 0, flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "interrupted True\n"


def test_the_seed_changes_what_is_random_and_nothing_else(engine):
    network = rdmacc.leaf_spine(2, 4, 4)
    work = rdmacc.permutation(rdmacc.topology.hosts(network), "50kB", seed=1)
    results = [rdmacc.simulate(network, work, "dcqcn", engine=engine, seed=s, progress=False) for s in (0, 0, 1)]
    assert results[0].flows.equals(results[1].flows)
    assert not results[0].flows.equals(results[2].flows)
    assert np.array_equal(results[0].flows.ideal_fct_ps, results[2].flows.ideal_fct_ps)
