"""What every experiment is made of: points, claims with what we expect of them, tables of points."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS, SCALES, Claim, Experiment, Point, Verdict, select
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import TABLE_COLUMNS, assemble, check_table, curve, scalar, tidy, wide


def claim(**changes):
    known = {name: name for name in ("id", "place", "quantity", "condition", "published", "band")}
    return Claim(**(known | {"verdict": lambda table: Verdict(f"{len(table)} rows", bool(len(table)))} | changes))


class Incasts(Experiment):
    """Incasts of some degrees, and what a fair share gives."""

    name = "base.incasts"
    claims = (claim(id="one"), claim(id="two", verdict=lambda _: Verdict("no", False), expected=False, reason="why"))

    def points(self, scale="quick", seed=0):
        points = [Point(name="model", labels={"k": 2})]
        for k in (2, 3):
            scenario = Scenario(
                topology=partial(rdmacc.star, k + 1),
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
    with pytest.raises(ConfigError, match="quantity"):
        scalar(table, "k=3", "queue")


def test_a_point_without_a_scenario_needs_execute():
    with pytest.raises(ConfigError, match=r"scenario of base\.incasts, model"):
        Experiment.execute(Incasts(), Point(name="model"), lambda scenario: scenario.run())


def test_two_points_of_one_name_are_an_error():
    class Twice(Incasts):
        def points(self, scale="quick", seed=0):
            return super().points() * 2

    with pytest.raises(ConfigError, match="'model': must be a name that no other point has"):
        Twice().checked_points()


def test_rows_of_another_point_and_wrong_tables_are_errors():
    with pytest.raises(ConfigError, match="rows of the point 'b' only"):
        check_table(tidy("a", {"n": (1, "")}), "b")
    with pytest.raises(ConfigError, match="a DataFrame with the columns point, quantity"):
        check_table(pd.DataFrame({"point": ["a"]}), "a")


def test_a_label_does_not_hide_a_column():
    with pytest.raises(ConfigError, match="label = 'unit'"):
        assemble({"a": tidy("a", {"n": (1, "")})}, {"a": {"unit": "m"}})


def test_a_measurement_may_add_columns_and_may_be_empty():
    more = tidy("b", {"n": (1, "")}).assign(node="h0")
    table = assemble({"a": tidy("a", {}), "b": more}, {"b": {"k": 1}})
    assert list(table.columns) == [*TABLE_COLUMNS, "k", "node"]
    assert table.shape == (1, 7)
    assert assemble({"a": tidy("a", {})}, {}).empty


def test_a_verdict_that_is_expected_is_no_surprise():
    one = Incasts()
    checks = one.check(one.run(engine="simpy"))
    assert checks["holds"].tolist() == [True, False]
    assert checks["matches"].tolist() == [True, True]
    assert checks["reason"].tolist() == ["", "why"]


@pytest.mark.parametrize(
    ("expected", "scale", "matches"),
    [
        (True, "quick", True),
        (False, "paper", False),
        ({"quick": None, "paper": False}, "quick", True),
        ({"quick": None, "paper": False}, "paper", False),
        ({"quick": False, "paper": True}, "paper", True),
    ],
)
def test_expectations_by_scale(expected, scale, matches):
    row = claim(expected=expected, reason="because").check(tidy("a", {"n": (1, "")}), scale)
    assert row["holds"]
    assert row["matches"] == matches


@pytest.mark.parametrize("expected", [False, {"quick": None, "paper": True}, {"quick": True}])
def test_an_expected_failure_needs_a_reason_and_every_scale_an_expectation(expected):
    with pytest.raises(ConfigError, match="reason|expected"):
        claim(expected=expected)


def test_experiments_are_selected_by_name_and_by_group():
    assert [one.name for one in select("dart.fig3")] == ["dart.fig3"]
    assert {one.name for one in select("dart")} == {name for name in EXPERIMENTS if name.startswith("dart.")}
    with pytest.raises(ConfigError, match="must be the name of an experiment or of a group; did you mean 'dart'"):
        select("dar")


@pytest.mark.parametrize("one", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_every_experiment_is_complete(one):
    assert "." in one.name
    assert one.title
    assert one.description
    ids = [claim.id for claim in one.claims]
    assert len(set(ids)) == len(ids)
    for scale in SCALES:
        assert one.checked_points(scale)
