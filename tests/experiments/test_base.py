"""The parts of every experiment: points, claims with our expectations, tables of points."""

from __future__ import annotations

import importlib
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import rdmacc
from rdmacc.cli.main import app
from rdmacc.errors import ConfigError
from rdmacc.experiments import (
    EXPERIMENTS,
    Claim,
    Experiment,
    Outcome,
    Point,
    Verdict,
    register_experiment,
    select,
    summary_path,
)
from rdmacc.experiments.framework.bands import AtLeast, AtMost, MoreThan, Within
from rdmacc.experiments.framework.claim import OURS, Measured, NotJudged
from rdmacc.experiments.ledger import record
from rdmacc.experiments.ledger.notebook import Paper
from rdmacc.experiments.ledger.score import by_reading, words_of
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import TABLE_COLUMNS, assemble, check_table, curve, scalar, tidy, wide


def claim(**changes):
    known = {name: name for name in ("id", "place", "quantity", "condition", "published")}
    return Claim(**(known | {"measure": len, "band": AtLeast(1)} | changes))


class Incasts(Experiment):
    """Incasts of some degrees, and their fair shares."""

    name = "base.incasts"
    claims = (
        claim(id="one"),
        claim(id="two", band=AtMost(0), expect=Outcome.FAILS, why="why"),
    )

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
    with pytest.raises(ConfigError, match="quantity"):
        scalar(table, "k=3", "queue")


def test_a_point_without_a_scenario_needs_execute():
    with pytest.raises(ConfigError, match=r"scenario of base\.incasts, model"):
        Experiment.execute(Incasts(), Point(name="model"), lambda scenario: scenario.run())


def test_two_points_of_one_name_are_an_error():
    class Twice(Incasts):
        def points(self, scale="quick", seed=0):
            return super().points() * 2

    with pytest.raises(ConfigError, match="'model': must be a unique name"):
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
        (
            {"measure": None, "band": None, "words": "any", "judge": lambda rows: Verdict("so", True)},
            Outcome.HOLDS,
            "so",
        ),
    ],
)
def test_a_claim_is_judged_by_its_band(changes, outcome, measured):
    one = claim(expect=outcome, why="because", **changes)
    row = one.check(tidy("a", {"n": (1, "")}))
    assert (row["verdict"], row["holds"], row["matches"]) == (outcome, outcome == Outcome.HOLDS, True)
    assert row["measured"] == measured


def test_words_margin_and_numbers_follow_from_the_band():
    one = claim(band=Within(2, share=0.25), direction=MoreThan(0), unit="x", by=OURS, too_small="too few")
    row = one.check(tidy("a", {"n": (1, "")}), "paper")
    assert row["band"] == "within 25% of 2x; right sign: more than 0x"
    assert (row["verdict"], row["numbers"], row["by"]) == ("direction only", 1.0, "rdmacc")
    assert row["margin"] == pytest.approx(-1 / 3)
    quick = one.check(tidy("a", {"n": (1, "")}), "quick")
    assert (quick["verdict"], quick["expected"], quick["reason"]) == ("not judged", "not judged", "too few")


@pytest.mark.parametrize(
    "changes",
    [
        {"expect": Outcome.FAILS},
        {"expect": {"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}},
        {"expect": {"quick": Outcome.HOLDS}}, {"expect": True}, {"expect": None},
        {"band": None}, {"judge": len}, {"measure": None, "band": None, "judge": len},
    ],
)  # fmt: skip
def test_an_expected_failure_needs_a_reason_every_scale_an_expectation_and_a_claim_one_judge(changes):
    with pytest.raises(ConfigError, match="why|expect|measure"):
        claim(**changes)


def test_experiments_are_selected_by_name_and_by_group():
    assert [one.name for one in select("dart.fig3")] == ["dart.fig3"]
    assert {one.name for one in select("dart")} == {name for name in EXPERIMENTS if name.startswith("dart.")}
    with pytest.raises(ConfigError, match="must be the name of an experiment or of a group; did you mean 'dart'"):
        select("dar")


@pytest.fixture
def registry():
    """Allow a test to register experiments; forget them afterwards."""
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


FIGURE = '''
from functools import partial

import matplotlib.pyplot as plt
import rdmacc
from rdmacc.experiments import Claim, Experiment, Point, register_experiment
from rdmacc.experiments.framework.bands import AtLeast
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import scalar, tidy


@register_experiment
class Figure99(Experiment):
    """One message."""

    name = "dart.fig99"
    title = "A message"
    description = "Dart, figure 99: a message"
    claims = (
        Claim("dart-f99-1", "X", "messages", "one", "1", measure=lambda t: scalar(t, "one", "n"), band=AtLeast(1)),
    )

    def points(self, scale="quick", seed=0):
        work = partial(rdmacc.incast, ["h1"], "h0", "4kB")
        star = partial(rdmacc.star, 2)
        return [Point(name="one", scenario=Scenario(network=star, workload=work, scheme="line-rate"))]

    def measure(self, point, result):
        return tidy(point.name, {"n": (len(result.flows), "")})

    def plot(self, table):
        return plt.figure()
'''


def test_a_new_figure_is_one_new_file(registry, tmp_path, monkeypatch):
    """Its package finds it; it is listed, judged, in the report and in the notebook."""
    package = tmp_path / "rdmacc_a_paper"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from rdmacc.experiments.framework.registry import import_modules\nimport_modules(__name__)\n"
    )
    (package / "fig99.py").write_text(FIGURE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path / "store"))
    importlib.import_module(package.name)
    assert summary_path("dart.fig99") == package / "data" / "fig99.parquet"

    def rdmacc_prints(*arguments):
        found = CliRunner().invoke(app, [str(one) for one in arguments])
        assert found.exit_code == 0, found.output
        return found.output

    how = ("--engine", "simpy")
    assert "Dart, figure 99: a message" in rdmacc_prints("list")
    assert "[holds] dart-f99-1" in rdmacc_prints("verify", "dart.fig99", *how)
    rdmacc_prints("reproduce", "dart.fig99", "--out", tmp_path / "report", *how)
    assert "dart-f99-1" in (tmp_path / "report" / "dart.fig99.html").read_text()
    assert "dart-f99-1" in Paper("dart").claims("fig99").frame["id"].tolist()
    rdmacc_prints("run", "dart.fig99", "--scale", "paper", "--out", tmp_path / "out", *how)
    (package / "data").mkdir()
    (tmp_path / "out" / "dart.fig99" / "table.parquet").rename(summary_path("dart.fig99"))
    assert record.write(["dart.fig99"]) == [
        "dart.fig99: behaviour of quick",
        "dart.fig99: dart-f99-1 (default): new, holds",
    ]
    assert record.write(["dart.fig99"]) == []
    assert by_reading("dart").loc["dart-f99-1", "default"] == "holds"
    assert words_of("dart.fig99").startswith("stands")
