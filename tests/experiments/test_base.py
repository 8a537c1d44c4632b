"""What every experiment is made of: points, claims with what we expect of them, tables of points."""

from __future__ import annotations

import importlib
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.experiments import (
    EXPERIMENTS,
    SCALES,
    Claim,
    Experiment,
    Outcome,
    Point,
    Verdict,
    register_experiment,
    select,
)
from rdmacc.experiments.dart import known as dart_known
from rdmacc.experiments.igbn import known as igbn_known
from rdmacc.experiments.rcc import known as rcc_known
from rdmacc.experiments.ren import known as ren_known
from rdmacc.scenario import Scenario
from rdmacc.sources import import_closure
from rdmacc.sweep import codehash
from rdmacc.sweep.tidy import TABLE_COLUMNS, assemble, check_table, curve, scalar, tidy, wide
from rdmacc.units import time_ps


def claim(**changes):
    known = {name: name for name in ("id", "place", "quantity", "condition", "published", "band")}
    return Claim(**(known | {"verdict": lambda table: Verdict(f"{len(table)} rows", bool(len(table)))} | changes))


class Incasts(Experiment):
    """Incasts of some degrees, and what a fair share gives."""

    name = "base.incasts"
    claims = (
        claim(id="one"),
        claim(id="two", verdict=lambda _: Verdict("no", False), expected=Outcome.FAILS, reason="why"),
    )

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
        (Outcome.HOLDS, "quick", True),
        (Outcome.FAILS, "paper", False),
        (Outcome.DIRECTION, "paper", False),
        ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS}, "quick", True),
        ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS}, "paper", False),
        ({"quick": Outcome.FAILS, "paper": Outcome.HOLDS}, "paper", True),
    ],
)
def test_expectations_by_scale(expected, scale, matches):
    row = claim(expected=expected, reason="because").check(tidy("a", {"n": (1, "")}), scale)
    is_judged = not (isinstance(expected, dict) and expected[scale] == Outcome.NOT_JUDGED)
    assert row["verdict"] == ("holds" if is_judged else "not judged")
    assert row["matches"] == matches


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (Verdict("yes", True), Outcome.HOLDS),
        (Verdict("yes", True, has_direction=True), Outcome.HOLDS),
        (Verdict("half of it", False, has_direction=True), Outcome.DIRECTION),
        (Verdict("no", False), Outcome.FAILS),
        (Verdict.not_judged("not run"), Outcome.NOT_JUDGED),
    ],
)
def test_a_claim_that_was_not_run_is_not_judged_and_half_the_size_is_no_failure(verdict, outcome):
    assert verdict.outcome == outcome
    row = claim(verdict=lambda _: verdict, expected=outcome, reason="because").check(tidy("a", {"n": (1, "")}))
    assert (row["verdict"], row["holds"], row["matches"]) == (outcome, outcome == Outcome.HOLDS, True)


@pytest.mark.parametrize(
    "expected",
    [Outcome.FAILS, {"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, {"quick": Outcome.HOLDS}, True, None],
)
def test_an_expected_failure_needs_a_reason_and_every_scale_an_expectation(expected):
    with pytest.raises(ConfigError, match="reason|expected"):
        claim(expected=expected)


def test_experiments_are_selected_by_name_and_by_group():
    assert [one.name for one in select("dart.fig3")] == ["dart.fig3"]
    assert {one.name for one in select("dart")} == {name for name in EXPERIMENTS if name.startswith("dart.")}
    with pytest.raises(ConfigError, match="must be the name of an experiment or of a group; did you mean 'dart'"):
        select("dar")


@pytest.fixture
def registry():
    """Let a test register experiments; forget them afterwards."""
    kept = dict(EXPERIMENTS)
    yield EXPERIMENTS
    EXPERIMENTS.clear()
    EXPERIMENTS.update(kept)


def test_a_taken_name_is_refused_unless_it_is_to_be_replaced(registry):
    assert register_experiment(Incasts) is Incasts
    first = registry["base.incasts"]
    with pytest.raises(ConfigError, match=r"'base\.incasts': .*replace=True"):
        register_experiment(Incasts())
    assert registry["base.incasts"] is first
    second = register_experiment(Incasts(), replace=True)
    assert registry["base.incasts"] is second


def test_figures_are_listed_by_number_then_tables_then_others(registry):
    for name in ("new.other", "new.fig10", "new.table1", "new.fig2", "dart.fig99"):
        register_experiment(type("New", (Incasts,), {"name": name}))
    names = list(registry)
    assert [name for name in names if name.startswith("new.")] == ["new.fig2", "new.fig10", "new.table1", "new.other"]
    assert names.index("dart.fig99") == names.index("dart.fig15") + 1


def test_a_new_figure_is_one_new_file(registry, tmp_path, monkeypatch):
    """Every module of a package is imported, so what it registers is found."""
    package = tmp_path / "rdmacc_a_paper"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from rdmacc.experiments.framework.registry import import_modules\nimport_modules(__name__)\n"
    )
    (package / "fig01.py").write_text(
        "from rdmacc.experiments import register_experiment\n"
        "from tests.experiments.test_base import Incasts\n"
        "@register_experiment\n"
        "class Figure1(Incasts):\n"
        "    name = 'paper.fig1'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    importlib.import_module(package.name)
    assert "paper.fig1" in registry


def test_what_is_known_of_claims_is_of_claims_that_exist():
    ids = {claim.id for one in EXPERIMENTS.values() for claim in one.claims}
    assert {*dart_known.KNOWN, *igbn_known.KNOWN, *rcc_known.KNOWN, *ren_known.KNOWN} <= ids


HELPERS = {
    "dart.fig1": "dart.convergence", "dart.fig4": "dart.receiver", "dart.fig6": "dart.paths",
    "dart.fig8": "dart.testbed", "dart.fig2": "traces", "igbn.table1": "igbn.setup",
}  # fmt: skip
"""A module that the experiment's measurements need."""


@pytest.mark.parametrize("one", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_the_code_of_a_point_has_its_helpers_and_no_claims_or_pictures(one):
    """What a figure's points are computed by is hashed wherever it stands, and nothing else is."""
    kinds = [kind for kind in (one.points_of or type(one)).__mro__ if kind.__module__ not in codehash._NO_RESULT]
    roots = set().union(*(codehash._reached(kind)[1] for kind in kinds if kind.__module__.startswith("rdmacc.")))
    reached = {name for name in import_closure(roots, codehash._NO_RESULT) if name.startswith("rdmacc.experiments.")}
    assert not {name for name in reached if name.endswith((".known", ".drawing", ".loads", ".tables"))}
    if one.name in HELPERS:
        assert f"rdmacc.experiments.{HELPERS[one.name]}" in reached


@pytest.mark.parametrize("one", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_every_experiment_is_complete(one):
    assert "." in one.name
    assert one.title
    assert one.description
    ids = [claim.id for claim in one.claims]
    assert len(set(ids)) == len(ids)
    for scale in SCALES:
        assert one.checked_points(scale)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_papers_scale_is_the_larger_one(name):
    """It has as many points or more, that last as long or longer."""
    quick, paper = (EXPERIMENTS[name].points(scale) for scale in ("quick", "paper"))
    assert len(quick) <= len(paper)
    until = [[one.scenario.until for one in points if one.scenario] for points in (quick, paper)]
    if not any(time is None for times in until for time in times):
        assert sum(map(time_ps, until[0])) <= sum(map(time_ps, until[1]))
