"""The two engines agree to the picosecond: every flow, every counter, every sample, over random scenarios."""

from __future__ import annotations

import pytest

import rdmacc
from rdmacc.engine.compare import differences, first_difference
from rdmacc.errors import SimulationError
from tests.scenarios import Scenario, draw

BATCHES = 18
QUICK_BATCHES = 3
"""The others are slow: each scenario has a scheme of its own to compile."""
PER_BATCH = 5


def run(scenario: Scenario, engine: str) -> tuple[str, object]:
    """Return how a run ends, and its counters."""
    simulation = rdmacc.Simulation(**scenario.arguments(), engine=engine)
    try:
        simulation.run(scenario.until, progress=False)
        ending = "finished" if simulation.is_finished else "stopped"
    except SimulationError as error:
        ending = str(error)
    return ending, simulation.engine.outcome()


def check(number: int) -> None:
    scenario = draw(number)
    (one_ending, one), (other_ending, other) = run(scenario, "simpy"), run(scenario, "compiled")
    found = differences(one, other)
    if one_ending != other_ending:
        found.append(f"{one_ending} and {other_ending}")
    if found:
        plan = rdmacc.Simulation(**scenario.arguments(), engine="simpy").plan
        pytest.fail(f"scenario {number}: {found}; {first_difference(plan, one.now_ps)}")


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
