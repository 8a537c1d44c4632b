"""Training steps: the claims refuse a table in which a step, its estimate or its paths are not as claimed."""

from __future__ import annotations

import pandas as pd
import pytest

from rdmacc.experiments import experiment
from rdmacc.experiments.micro.step_time import StepTimes
from rdmacc.experiments.micro.steps import MACHINES
from rdmacc.sweep.tidy import assemble, tidy


def verdicts(name: str, table: pd.DataFrame) -> dict[str, str]:
    return {row["id"]: row["verdict"] for row in experiment(name).judge(table, "paper")}


def table_of(name: str, numbers: dict[str, dict[str, float]]) -> pd.DataFrame:
    """Return a table with these quantities at each point."""
    labels = {point.name: point.labels for point in experiment(name).points("paper")}
    tables = {point: tidy(point, {name: (value, "") for name, value in row.items()}) for point, row in numbers.items()}
    return assemble(tables, labels)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("error", "verdict"), [(0.04, "holds"), (-0.04, "holds"), (0.06, "no"), (-0.06, "no")])
def test_max_min_s_error_on_a_step_is_refused_on_either_machine(machine, error, verdict):
    table = table_of("micro.steps", {one: {"error": error if one == machine else 0.0} for one in MACHINES})
    assert (verdicts("micro.steps", table)["micro-steps-1a"] == "holds") == (verdict == "holds")


def measured(changes: dict[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    """Return numbers with which all claims hold, but for what changes at a point."""
    found = {}
    for point in StepTimes().points("paper"):
        is_sprayed, is_without = point.labels["scheme"] != "DCQCN", point.labels["change"] == "without the link"
        step = 10.0 if is_sprayed else 18.0 if is_without else 20.0
        numbers = {"step": step, "computing": 8.0, "busiest link": 4.0 * step, "step by max-min": 1.02 * step}
        found[point.name] = numbers | {key[1]: value for key, value in changes.items() if key[0] == point.name}
    return found


def test_the_claims_on_step_times_hold_where_they_should():
    found = verdicts("micro.step_time", table_of("micro.step_time", measured({})))
    assert set(found.values()) == {"holds"}


@pytest.mark.parametrize(
    ("claim", "point", "quantity", "value"),
    [
        *(
            ("micro-step-time-1a", f"NSCC with REPS, {change}", "step", 25.0)
            for change in ("alone", "a second job", "a link down", "random placement")
        ),
        ("micro-step-time-2a", "DCQCN, other paths", "computing", 30.0),
        ("micro-step-time-3a", "DCQCN, without the link", "step", 21.0),
        ("micro-step-time-3a", "DCQCN, without the link", "busiest link", 81.0),
        ("micro-step-time-3a", "DCQCN, without the link", "step by max-min", 20.5),
        ("micro-step-time-4a", "DCQCN, other paths, 2", "step by max-min", 21.1),
        ("micro-step-time-4a", "DCQCN, a second job", "step by max-min", 18.9),
    ],
)
def test_a_claim_on_step_times_says_no(claim, point, quantity, value):
    table = table_of("micro.step_time", measured({(point, quantity): value}))
    assert verdicts("micro.step_time", table)[claim] != "holds"
