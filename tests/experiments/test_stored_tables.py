"""The tables that rdmacc comes with: each loads, belongs to an experiment, and gives the recorded verdicts."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest

from rdmacc.experiments import EXPERIMENTS, experiment, load_summary, summary_path
from rdmacc.sweep.store import read_table

FOLDER = summary_path("any").parent
STORED = sorted(path.stem for path in FOLDER.glob("*.parquet"))


def test_every_table_is_of_an_experiment_and_every_figure_of_a_paper_has_one():
    assert set(STORED) <= set(EXPERIMENTS)
    assert {name for name in EXPERIMENTS if name.startswith(("dart.", "igbn."))} <= set(STORED)


@pytest.mark.parametrize("name", STORED)
def test_a_stored_table_gives_the_recorded_verdicts(name):
    table = load_summary(name)
    assert table is not None
    checks = experiment(name).check(table, "paper")
    assert len(checks) > 0
    surprises = checks.loc[~checks["matches"], ["id", "measured", "expected"]]
    assert surprises.empty, surprises.to_dict("records")


@pytest.mark.parametrize("name", STORED)
def test_a_stored_table_has_the_points_of_its_experiment(name):
    points = experiment(name).points("paper")
    table, provenance = read_table(summary_path(name))
    assert set(table["point"]) == {point.name for point in points}
    assert (provenance["experiment"], provenance["points"]) == (name, len(points))


@pytest.mark.parametrize("name", STORED)
def test_a_stored_table_can_be_drawn(name):
    figure = experiment(name).plot(load_summary(name))
    assert figure.axes
    plt.close(figure)
