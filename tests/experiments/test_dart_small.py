"""Dart's small figures: what they are made of, and what a quick run of them shows."""

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.experiments import experiment, load_summary
from rdmacc.experiments.dart import flow_table
from rdmacc.experiments.dart.fig04 import EXPECTED_STEPS, expire, walk
from rdmacc.experiments.dart.fig05 import EXPECTED, INPUTS, STATES, transition
from rdmacc.experiments.dart.paths import disorders, hops, visits
from rdmacc.experiments.dart.setup import fat_tree, other_pods, ports_towards
from rdmacc.experiments.dart.testbed import PUBLISHED_US, cpu_times
from rdmacc.experiments.framework.claim import Outcome
from rdmacc.experiments.framework.trace import first_within, settled, shown, time_in, value_at, worst_between
from rdmacc.units import ps, s

# Figure 4


def test_the_handlers_count_as_the_state_diagram():
    assert walk() == list(EXPECTED_STEPS)


def test_an_idle_sender_leaves_after_two_seconds_to_the_picosecond():
    assert expire() == {"removed_after_ps": s(2), "n_before": 1, "n_after": 0, "n_resumed": 1}


# Figure 5


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("seen", INPUTS)
def test_the_transition_table(state, seen):
    came = transition(state, seen)
    assert came["state"] == EXPECTED[seen]
    assert came["share"] == (1.0 if seen == "marks, half rate" else 0.5)
    assert came["passed"] == (seen == "marks, half rate")


# Networks and traces


def test_senders_sit_six_hops_away_and_ports_lead_to_the_receiver():
    graph = fat_tree(4)()
    assert other_pods(graph) == [f"h{i}" for i in range(4, 16)]
    ports = ports_towards(graph, "h0")
    assert ("tor0", "h0") in ports
    assert {("agg0", "tor0"), ("agg1", "tor0"), ("core0", "agg0"), ("core3", "agg1")} <= set(ports)
    assert len(ports) == 1 + 2 + 4 + 2  # the last two from the pod's other ToR


def test_traces_hold_their_value_until_the_next():
    trace = pd.Series([10.0, 5.0, 10.0], index=pd.Index([0, 100, 200], name="time_ps"))
    assert [value_at(trace, time) for time in (-1, 0, 99, 100, 500)] == [0, 10, 10, 5, 10]
    assert first_within(trace, 50, 5.0, 0.1) == 100
    assert first_within(trace, 120, 5.0, 0.1) == 120
    assert np.isnan(first_within(trace, 201, 5.0, 0.1))
    assert settled(trace, 50, 10.0, 0.1) == 200
    assert settled(trace, 300, 10.0, 0.1) == 300
    assert np.isnan(settled(trace, 0, 5.0, 0.1))
    assert worst_between(trace, 0, 150, 10.0) == 5
    assert worst_between(trace, 200, 300, 10.0) == 10
    assert np.isnan(worst_between(trace, float("nan"), 300, 10.0))
    assert time_in(trace, 10.0, 50, 250) == 100
    assert shown(trace, 50, 250).to_dict() == {50: 10, 100: 5, 200: 10, 250: 10}


# Figures 6 and 7


def test_the_handlers_take_the_steps_of_the_example():
    assert flow_table.walk() == list(flow_table.EXPECTED_STEPS)


def crossing(engine, **changes):
    """Run messages that meet in the network."""
    rng = np.random.default_rng(5)
    pairs = [rng.choice(16, size=2, replace=False) for _ in range(40)]
    rows = [(f"h{src}", f"h{dst}", 20_000, ps(rng.integers(20_000_000))) for src, dst in pairs]
    scheme = rdmacc.scheme("dart", **changes)
    return rdmacc.simulate(fat_tree(4)(), rdmacc.messages(rows), scheme, engine=engine, trace=True)


def test_the_trace_has_the_deflections_that_the_ports_count(engine):
    result = crossing(engine)
    passed = visits(result)
    first = passed[passed["is_deflected"] & (passed["psn"] == 0)]
    assert len(first) == result.counters.deflected_packets > 0
    assert len(passed) == result.outcome.ports["tx_data_packets"][~_at_host(result)].sum()
    assert hops(passed)["deflections"].max() <= 4
    assert disorders(result) == 0
    assert not visits(crossing(engine, tokens=0))["is_deflected"].any()


def _at_host(result):
    fabric = result.plan.fabric
    return fabric.is_host[fabric.port_node]


def test_disorder_is_seen():
    """Spraying takes packets of a message different ways, past queues of different lengths."""
    assert disorders(crossing("simpy", routing="spray-random", tokens=0)) > 0


# Figures 8, 9 and 10


def test_the_cpus_times_have_the_calibrated_quantiles():
    times_us = cpu_times(200_000, seed=1) / 1e6
    assert times_us.min() >= 3
    for level, published in PUBLISHED_US.items():
        assert np.quantile(times_us, level) == pytest.approx(published - 12, rel=0.03)
    assert (cpu_times(5, seed=1) == cpu_times(5, seed=1)).all()


@pytest.mark.parametrize(
    ("network_us", "holds"), [(12, {1, 2, 3, 5}), (9, {1, 2, 3, 5}), (21, set()), (1, {5}), (45, set())]
)
def test_the_convergence_time_is_judged_by_the_networks_part(network_us, holds):
    """With the hardware's RTT beside the CPU's times, the published quantiles come out, else not.

    The CPU's times are drawn to fit these quantiles, so the record judges none of them.
    """
    one, table = experiment("dart.fig9"), load_summary("dart.fig9").copy()
    for name, part_us in (("t_f", 0), ("t_b", network_us / 3), ("t_f'", 2 * network_us / 3)):
        table.loc[(table["point"] == "epochs") & (table["quantity"] == name), "value"] = part_us * 1e6
    claims, rows = {claim.id: claim for claim in one.claims}, one.view(table)
    found = {number: claims[f"dart-f9b-{number}"] for number in (1, 2, 3, 5)}
    expected = {number: Outcome.HOLDS if number in holds else Outcome.FAILS for number in found}
    assert {number: claim.verdict(rows).outcome for number, claim in found.items()} == expected
    assert {claim.check(rows, "paper")["verdict"] for claim in found.values()} == {Outcome.NOT_JUDGED}
