"""Windows: events of one node at a time give what the order of time gives; where they would not, they do not run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.engine.compiled import windows
from rdmacc.engine.compiled.engine import CompiledEngine
from rdmacc.engine.outcome import Outcome
from rdmacc.errors import ConfigError, SimulationError
from rdmacc.faults import LinkDown, Loss, SlowLink
from rdmacc.handlers.sides import shared_fields
from tests.scenarios import Scenario, draw, without_features

SCHEMES = ("dcqcn", "hpcc", "irn", "swift", "dart", "dctcp", "timely", "infiniband-cc")
ROUTINGS = ("ecmp", "spray-random", "adaptive")
QUICK, MANY = 12, 400
WORK = rdmacc.permutation([f"h{n}" for n in range(16)], "100kB")


def scenario_of(number: int) -> Scenario:
    """Return a random network, workload and faults, with a scheme that windows can run."""
    drawn = without_features(draw(number))
    for _, _, link in drawn.topology.edges(data=True):
        link["delay_ps"] = max(link["delay_ps"], 500_000) if number % 4 else link["delay_ps"]
    for switch in rdmacc.topology.switches(drawn.topology):
        drawn.topology.nodes[switch]["buffer_bytes"] += 3_000_000
    scheme = rdmacc.scheme(SCHEMES[number % len(SCHEMES)]).replace(start_delay_ps=0)
    return replace(
        drawn,
        scheme=replace(scheme, routing=ROUTINGS[number // len(SCHEMES) % len(ROUTINGS)]),
        workload=drawn.workload.drop(columns=["after", "after_ps"], errors="ignore"),
        probes=(),
        faults=() if number % 2 else drawn.faults,
    )


def run(order: str, arguments: dict[str, Any], stops: list[int]) -> tuple[str, list[Outcome], rdmacc.Simulation]:
    """Run to some times and to the end; return how it ends, the outcomes, and the simulation."""
    simulation = rdmacc.Simulation(**arguments, engine="compiled", check=False, order=order)
    outcomes, ending = [], "finished"
    try:
        for stop in [*stops, None]:
            if not simulation.is_finished and (stop is None or stop > simulation.now_ps):
                simulation.run(stop if stop is None else f"{stop}ps", progress=False)
                outcomes.append(simulation.engine.outcome())
    except SimulationError as error:
        ending = str(error)
    return ending, [*outcomes, simulation.engine.outcome()], simulation


def compare(arguments: dict[str, Any], stops: list[int]) -> CompiledEngine:
    """Run in both orders, and return the engine that was to run in windows."""
    with mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0, _LEAST_PS=2**9):
        (ending, outcomes, _), (other_ending, others, simulation) = (
            run(order, arguments, stops) for order in ("time", "windows")
        )
    assert ending == other_ending
    assert len(outcomes) == len(others)
    assert [differences(*pair) for pair in zip(outcomes, others, strict=True)] == [[]] * len(others)
    assert isinstance(simulation.engine, CompiledEngine)
    return simulation.engine


def check(number: int) -> None:
    rng = np.random.default_rng(number)
    compare(scenario_of(number).arguments(), sorted(rng.integers(10**6, 3 * 10**8, rng.integers(4)).tolist()))


@pytest.mark.parametrize("number", range(QUICK))
def test_both_orders_agree_on_random_scenarios(number: int) -> None:
    check(number)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(QUICK, MANY))
def test_both_orders_agree_on_many_random_scenarios(number: int) -> None:
    check(number)


def tree(**options: Any) -> dict[str, Any]:
    """Return a permutation of 16 hosts on a fat tree."""
    return {"topology": rdmacc.fat_tree(4), "workload": WORK, "scheme": "dcqcn"} | options


def test_the_result_says_that_windows_ran():
    engine = compare(tree(), [])
    assert engine.outcome().order == "windows"
    assert engine.outcome().visits > 0
    result = rdmacc.simulate(**tree(), engine="simpy")
    assert result.provenance["order"] == "time"
    assert not differences(result.outcome, engine.outcome())


def test_small_work_stays_in_the_order_of_time():
    result = rdmacc.simulate(**tree(workload=WORK.iloc[:1]), engine="compiled", order="windows")
    assert result.provenance["order"] == "time: too little happens"


@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("the scheme has a tick", {"scheme": rdmacc.scheme("dcqcn").replace(tick_ps="1ns")}),
        ("a trace is kept", {"trace": True}),
        ("something is probed", {"probes": (rdmacc.probes.queue("tor0", "h0", every="1us"),)}),
        ("handlers are checked", {"check": True}),
        ("something waits for messages", {"workload": WORK.assign(after=[()] + [(0,)] * (len(WORK) - 1))}),
        ("plain kernel", {}),
        ("almost no delay", {"topology": rdmacc.fat_tree(4, delay="1ns")}),
        ("message.failed", {"scheme": "homa"}),
        ("GoBackN.gap_psn", {"faults": (Loss(data=0.01),)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_why_the_order_of_time_stays(reason: str, options: dict[str, Any]):
    plan = rdmacc.Simulation(**tree(**options), engine="simpy").plan
    assert reason in windows.why_by_time(plan, has_features=reason == "plain kernel")


@pytest.mark.parametrize(
    "fault",
    [
        SlowLink(link=("tor0", "agg0"), share=0.1, at_ps="5us"),
        LinkDown(link=("tor0", "agg0"), at_ps="5us", until_ps="60us"),
    ],
    ids=["slow", "down"],
)
def test_upsets_come_between_windows(fault: Any):
    assert compare(tree(scheme="irn", faults=(fault,)), []).outcome().visits > 0


def test_a_run_that_ends_in_a_window_begins_again():
    """All messages fail at once, long before they could be delivered."""
    scheme = rdmacc.scheme("irn").replace(retry_limit=0)
    down = tuple(LinkDown(link=(f"h{n}", "s0"), at_ps="2us") for n in range(3))
    work = rdmacc.incast(["h1", "h2"], "h0", "1MB")
    arguments = {"topology": rdmacc.star(3), "workload": work, "scheme": scheme, "faults": down}
    with mock.patch.object(
        CompiledEngine, "_begin_again", autospec=True, side_effect=CompiledEngine._begin_again
    ) as again:
        engine = compare(arguments, [])
    assert again.call_count == 1
    assert engine.outcome().messages["failed"].all()


@pytest.mark.parametrize(
    ("topology", "why"),
    [
        (rdmacc.fat_tree(4), "time: the network fits into the cache"),
        (rdmacc.fat_tree(8), "time: too little happens"),
        (rdmacc.fat_tree(8, rate="10Gbps"), "time: a link has too few packets in a window"),
    ],
    ids=["small", "large", "slow"],
)
def test_large_networks_with_fast_links_run_in_windows(topology: Any, why: str):
    engine = rdmacc.Simulation(**tree(topology=topology, workload=WORK.iloc[:1]), engine="compiled").engine
    assert isinstance(engine, CompiledEngine)
    assert engine.order == why


def test_an_order_is_one_that_there_is():
    with pytest.raises(ConfigError, match="order = 'space': must be one of auto, time, windows"):
        rdmacc.simulate(**tree(), order="space")


def test_fields_that_both_ends_use():
    assert shared_fields(rdmacc.scheme("irn").components) == ((), ())
    assert shared_fields(rdmacc.scheme("dcqcn").components).always == ()
    assert "GoBackN.naks_taken" in shared_fields(rdmacc.scheme("dcqcn").components).after_loss
    assert "Homa.held" in shared_fields(rdmacc.scheme("homa").components).always
