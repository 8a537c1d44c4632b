"""The two engines agree to the picosecond: every flow, every counter, every sample, over random scenarios."""

from __future__ import annotations

import pytest

import rdmacc
from rdmacc.engine.compare import differences, first_difference
from rdmacc.engine.outcome import Outcome
from rdmacc.errors import HandlerError, SimulationError
from rdmacc.records import NEVER
from tests.scenarios import Scenario, draw

BATCHES = 18
QUICK_BATCHES = 3
"""The others are slow: each scenario has a scheme of its own to compile."""
PER_BATCH = 5
CHECKED_EVERY = 4
"""One scenario in this many is run in checked mode, as schemes from outside the package are."""


def run(scenario: Scenario, engine: str) -> tuple[str, Outcome | None]:
    """Return how a run ends, and its counters. Where a handler's mistake ends it, nothing is said of the counters."""
    simulation = rdmacc.Simulation(**scenario.arguments(), engine=engine, check=scenario.number % CHECKED_EVERY == 0)
    try:
        simulation.run(scenario.until, progress=False)
        ending = "finished" if simulation.is_finished else "stopped"
    except HandlerError as error:
        return str(error), None
    except SimulationError as error:
        ending = str(error)
    return ending, simulation.engine.outcome()


def check(number: int) -> None:
    scenario = draw(number)
    (one_ending, one), (other_ending, other) = run(scenario, "simpy"), run(scenario, "compiled")
    found = [f"{one_ending} and {other_ending}"] if one_ending != other_ending else []
    if one is not None and other is not None:
        found += differences(one, other)
    if found:
        plan = rdmacc.Simulation(**scenario.arguments(), engine="simpy").plan
        pytest.fail(f"scenario {number}: {found}; {first_difference(plan, one.now_ps if one else NEVER)}")


@pytest.mark.parametrize(
    "batch",
    [pytest.param(batch, marks=pytest.mark.slow if batch >= QUICK_BATCHES else ()) for batch in range(BATCHES)],
)
def test_engines_agree_on_random_scenarios(batch: int) -> None:
    for number in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        check(number)


@pytest.mark.nightly
@pytest.mark.parametrize("batch", range(100))
def test_engines_agree_on_many_random_scenarios(batch: int) -> None:
    for number in range(1000 + batch * 20, 1000 + (batch + 1) * 20):
        check(number)
