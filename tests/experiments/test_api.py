"""The words of figures: `rdmacc.experiments.api` has what figures share, and no figure gives one another meaning."""

import ast
from collections import Counter
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from rdmacc.experiments import api
from rdmacc.experiments.api import Experiment, Point, subplots
from rdmacc.show.style import style

FIGURES = sorted((Path(__file__).parents[2] / "experiments").glob("*/*.py"))


def defined(body):
    """Return the names that a module's statements define, other than by imports."""
    own = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                own |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
    return own


def test_a_figure_gives_no_word_another_meaning():
    for path in FIGURES:
        body = ast.parse(path.read_text()).body
        used = [
            str(node.module).rpartition(".")[2]
            for node in body
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        ]
        words = Counter(one for one in vars(api) if not one.startswith("__")) if "api" in used else Counter()
        for name in set(used) - {"api"}:  # what the paper's figures share
            names = defined(ast.parse(path.with_name(f"{name}.py").read_text()).body)
            words += Counter(one for one in names if not one.startswith("_"))
        assert [name for name, count in words.items() if count > 1] == []
        imported = {alias.asname or alias.name for node in body if isinstance(node, ast.Import | ast.ImportFrom)
                    for alias in node.names}  # fmt: skip
        assert sorted((defined(body) | imported) & set(words)) == []


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
