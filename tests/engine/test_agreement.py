"""The two engines agree to the picosecond: every flow, every counter, every sample, over random scenarios."""

from datetime import date
from typing import Any
from unittest import mock

import pytest

import rdmacc
from rdmacc.engine.compare import differences, first_difference
from rdmacc.engine.compiled.tables import tables
from rdmacc.engine.outcome import RunOutcome
from rdmacc.errors import HandlerError, SimulationError
from rdmacc.interface import NEVER
from tests.engine.scenarios import WIDENED, Scenario, draw, with_computation, without_features

PER_BATCH = 5
PLAIN_EVERY = 5
"""One in this many scenarios also runs without the features that the plain kernel lacks, as most simulations do."""
CHECKED_EVERY = 8
"""One in this many scenarios is compared in checked mode, in which schemes from outside the package run."""
MEMORIES: tuple[dict[str, Any], ...] = (
    {"_PREFETCH_BYTES": (NEVER, NEVER)},
    {"_PREFETCH_BYTES": (0, NEVER), "_FIRST_PACKETS": 0, "_FIRST_EVENTS": 0, "_FIRST_SAMPLES": 0},
    {"_PREFETCH_BYTES": (0, 0)},
)
"""The kernel looks ahead as in a small, a medium (with growing tables) or a large network, in turn."""


def batches(count: int, quick: int, slow: int) -> list[Any]:
    """Return batches: a few quick, then a few slow, the rest nightly, because each scenario has a scheme to compile."""
    marks = [()] * quick + [pytest.mark.slow] * slow + [pytest.mark.nightly] * (count - quick - slow)
    return [pytest.param(batch, marks=mark) for batch, mark in enumerate(marks)]


def run(scenario: Scenario, engine: str, is_checked: bool) -> tuple[str, RunOutcome | None]:
    """Return how a run ends, and its counters; None if a handler's error ended it."""
    simulation = rdmacc.Simulation(**scenario.arguments(), engine=engine, check=is_checked)
    try:
        simulation.run(scenario.until, progress=False)
        ending = "finished" if simulation.is_finished else "stopped"
    except HandlerError as error:
        return str(error), None
    except SimulationError as error:
        ending = str(error)
    return ending, simulation.engine.outcome()


def check(number: int) -> None:
    """Compare the engines on a scenario as drawn, and for some also without the features that few simulations use."""
    scenario = draw(number)
    compare(scenario)
    if number % PLAIN_EVERY == 0:
        compare(without_features(scenario))


def compare(scenario: Scenario) -> None:
    """Compare the engines; if components that do not fit together cause an error, compare what checked mode says."""
    number = scenario.number
    one_ending, one = run(scenario, "simpy", is_checked=True)
    is_checked = one is None or number % CHECKED_EVERY == 0
    if not is_checked:
        one_ending, one = run(scenario, "simpy", is_checked=False)
    with mock.patch.multiple(tables, **MEMORIES[number % len(MEMORIES)]):
        other_ending, other = run(scenario, "compiled", is_checked)
    found = [f"{one_ending} and {other_ending}"] if one_ending != other_ending else []
    if one is not None and other is not None:
        found += differences(one, other)
    if found:
        plan = rdmacc.Simulation(**scenario.arguments(), engine="simpy").plan
        pytest.fail(f"scenario {number}: {found}; {first_difference(plan, one.now_ps if one else NEVER)}")


@pytest.mark.parametrize("batch", batches(6, quick=1, slow=0))
def test_engines_agree_on_random_scenarios(batch: int) -> None:
    for number in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        check(number)


@pytest.mark.parametrize("batch", batches(5, quick=1, slow=0))
def test_engines_agree_on_computation_and_delays(batch: int) -> None:
    for number in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        scenario = with_computation(draw(number))
        compare(scenario)
        if number % PLAIN_EVERY == 0:
            compare(without_features(scenario))


@pytest.mark.parametrize("batch", batches(40, quick=0, slow=1))
def test_engines_agree_on_widened_scenarios(batch: int) -> None:
    """All schemes, with any legal parameters and ticks, links that fail and heavy losses."""
    for number in range(WIDENED + batch * 10, WIDENED + (batch + 1) * 10):
        check(number)


ONCE_DIFFERED = {
    1179: "a PFC frame goes out while credits wait for their time",
    4496: "the next message of a queue pair that has just sent is of a class that PFC has stopped",
}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("number", ONCE_DIFFERED, ids=str)
def test_scenarios_that_once_differed_agree(number: int) -> None:
    check(number)


TONIGHT = date.today().toordinal() % 4
"""4,000 scenarios take two hours, so each night runs a quarter of them, in turn."""


@pytest.mark.nightly
@pytest.mark.parametrize("batch", range(25 * TONIGHT, 25 * (TONIGHT + 1)))
def test_engines_agree_on_many_random_scenarios(batch: int) -> None:
    for first in (1000, WIDENED + 1000):
        for number in range(first + batch * 20, first + (batch + 1) * 20):
            check(number)
