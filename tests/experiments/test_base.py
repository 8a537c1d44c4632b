"""Common to all experiments: points, claims with our expectations, tables of points."""

from functools import partial

import numpy as np
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS, Claim, Experiment, Outcome, Point, register_experiment
from rdmacc.experiments.framework.bands import AtLeast, AtMost
from rdmacc.experiments.framework.claim import Measured, NotJudged
from rdmacc.simulation.scenario import Scenario
from rdmacc.sweep.tidy import TABLE_COLUMNS, curve, scalar, tidy, wide
from tests.support import refused


def claim(**changes):
    known = {name: name for name in ("id", "place", "quantity", "condition", "published")}
    return Claim(**(known | {"measure": len, "band": AtLeast(1)} | changes))


class Incasts(Experiment):
    """Incasts of several degrees, and their fair shares."""

    name = "base.incasts"
    claims = (claim(id="one"), claim(id="two", band=AtMost(0), expect=Outcome.FAILS, why="why"))

    def points(self, scale="quick", seed=0):
        points = [Point(name="model", labels={"k": 2})]
        for k in (2, 3):
            scenario = Scenario(
                network=partial(rdmacc.star, k + 1),
                workload=partial(rdmacc.incast, [f"h{i}" for i in range(1, k + 1)], "h0", "4kB"),
                scheme="line-rate",
                seed=seed,
                probes=[rdmacc.probes.queue("s0", "h0")],
            )
            points.append(Point(name=f"k={k}", scenario=scenario, labels={"k": k, "is_simulated": True}))
        return points

    def execute(self, point, run):
        return super().execute(point, run) if point.scenario else tidy(point.name, {"finished": (2, "")})

    def measure(self, point, result):
        numbers = {"finished": (len(result.flows), ""), "mean FCT": (float(result.flows["fct_ps"].mean()), "ps")}
        return tidy(point.name, numbers, {"queue": (result.samples("queue s0->h0"), "bytes")})

    def plot(self, table):
        raise NotImplementedError


def test_a_table_has_the_rows_of_every_point_and_its_labels(engine):
    table = Incasts().run(engine=engine)
    assert tuple(table.columns) == (*TABLE_COLUMNS, "k", "is_simulated")
    assert list(table["point"].unique()) == ["model", "k=2", "k=3"]
    rows = wide(table)
    assert rows["finished"].tolist() == [2, 2, 3]
    assert rows["k"].tolist() == [2, 2, 3]
    assert np.isnan(rows.loc["model", "mean FCT"])
    assert curve(table, "k=3", "queue").max() > 0
    refused(lambda: scalar(table, "k=3", "queue"), "quantity")


@pytest.mark.parametrize(
    ("expected", "scale", "matches"),
    [
        (Outcome.HOLDS, "quick", True),
        (Outcome.FAILS, "paper", False),
        (Outcome.DIRECTION, "paper", False),
        ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS}, "quick", True),
        ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS}, "paper", False),
        ({"quick": Outcome.FAILS, "paper": Outcome.HOLDS}, "paper", True),
    ],
)
def test_expectations_by_scale(expected, scale, matches):
    row = claim(expect=expected, why="because").check(tidy("a", {"n": (1, "")}), scale)
    is_judged = not (isinstance(expected, dict) and expected[scale] == Outcome.NOT_JUDGED)
    assert row["verdict"] == ("holds" if is_judged else "not judged")
    assert row["matches"] == matches


def missing(rows):
    raise NotJudged("not run")


@pytest.mark.parametrize(
    ("changes", "outcome", "measured"),
    [
        ({}, Outcome.HOLDS, "1"),
        ({"direction": AtLeast(0)}, Outcome.HOLDS, "1"),
        ({"band": AtLeast(2), "direction": AtLeast(0)}, Outcome.DIRECTION, "1"),
        ({"band": AtLeast(2), "measure": lambda rows: Measured(len(rows), "of two")}, Outcome.FAILS, "1; of two"),
        ({"measure": lambda rows: float("nan")}, Outcome.FAILS, "nan"),
        ({"measure": missing}, Outcome.NOT_JUDGED, "not run"),
        ({"measure": lambda rows: {}}, Outcome.NOT_JUDGED, "the table has no such runs"),
        ({"too_small": "small"}, Outcome.NOT_JUDGED, "not measured at this scale"),
    ],
)
def test_a_claim_is_judged_by_its_band(changes, outcome, measured):
    one = claim(expect=outcome, why="because", **changes)
    row = one.check(tidy("a", {"n": (1, "")}))
    assert (row["verdict"], row["holds"], row["matches"]) == (outcome, outcome == Outcome.HOLDS, True)
    assert row["measured"] == measured


@pytest.mark.parametrize(
    "changes",
    [
        {"expect": Outcome.FAILS},
        {"expect": {"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}},
        {"expect": {"quick": Outcome.HOLDS}}, {"expect": True}, {"expect": None},
    ],
)  # fmt: skip
def test_an_expected_failure_needs_a_reason_and_every_scale_an_expectation(changes):
    with pytest.raises(ConfigError, match="why|expect"):
        claim(**changes)


@pytest.fixture
def registry():
    """Let a test register experiments, and remove them afterwards."""
    kept = dict(EXPERIMENTS)
    yield EXPERIMENTS
    EXPERIMENTS.clear()
    EXPERIMENTS.update(kept)


def test_a_taken_name_is_refused_unless_replaced_explicitly(registry):
    assert register_experiment(Incasts) is Incasts
    first = registry["base.incasts"]
    refused(lambda: register_experiment(Incasts()), "'base.incasts': ", "replace=True")
    assert registry["base.incasts"] is first
    second = register_experiment(Incasts(), replace=True)
    assert registry["base.incasts"] is second
