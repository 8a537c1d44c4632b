"""The words of figures: `rdmacc.experiments.api` has what figures share, and no figure gives one another meaning."""

from __future__ import annotations

import ast
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from rdmacc.experiments import api
from rdmacc.experiments.api import Experiment, Point, subplots
from rdmacc.show.style import style

FIGURES = sorted((Path(__file__).parents[2] / "experiments").glob("*/*.py"))


def test_the_list_of_words_is_that_of_the_imports():
    there = {name for name in vars(api) if not name.startswith("__")} - {"annotations", "TYPE_CHECKING"}
    assert set(api.__all__) == there


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_figure_gives_no_word_another_meaning(path):
    body = ast.parse(path.read_text()).body
    if not any(isinstance(node, ast.ImportFrom) and node.module == "api" for node in body):
        return
    own = set()
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            own |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        else:
            own |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    assert own & set(api.__all__) == set()


def test_points_that_are_yielded_come_as_a_list_and_a_plot_has_the_style():
    class Yielding(Experiment):
        name = "test.yielding"

        def points(self, scale="quick", seed=0):
            yield Point(name=f"{scale} {seed}")

        def plot(self, table):
            self.sizes.append(mpl.rcParams["axes.titlesize"])
            return subplots()[0]

    Yielding.sizes = []
    assert [point.name for point in Yielding().points("paper", seed=2)] == ["paper 2"]
    before = mpl.rcParams["axes.titlesize"]
    with style():
        inside = mpl.rcParams["axes.titlesize"]
    plt.close(Yielding().plot(None))
    assert Yielding.sizes == [inside] != [before]
    assert mpl.rcParams["axes.titlesize"] == before
