"""Pictures that people see can be read: no text is cut, covered or small, and ticks are few and in fitting units."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import matplotlib.pyplot as plt
import pytest

from rdmacc.experiments import EXPERIMENTS, experiment, load_summary, summary_path
from tests.show.pictures import faults

FIGURES = [name for name in EXPERIMENTS if summary_path(name).exists()]


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if n % 7 == 0 else pytest.mark.nightly, id=one) for n, one in enumerate(FIGURES)],
)
def test_a_figure_can_be_read(name):
    figure = experiment(name).plot(load_summary(name))
    assert faults(figure) == []
    plt.close(figure)


PLOTS = run_path(str(Path(__file__).parents[2] / "docs" / "plots.py"))


def test_the_plots_that_users_are_shown_can_be_read():
    found = {name: faults(figure) for name, figure in PLOTS["drawn"]()}
    assert len(found) > 8
    assert not any(found.values()), found


def untidy(ax):
    """Draw what is never right."""
    ax.text(0.5, 0.5, "one text")
    ax.text(0.5, 0.5, "another")
    ax.text(1.0, 0.2, "across the edge", clip_on=True)
    ax.text(2.0, 0.9, "far away")
    ax.text(0.1, 0.1, "tiny", fontsize=5)
    ax.set_xticks([100_000 + n for n in range(12)])


def test_what_is_wrong_is_found():
    figure, ax = plt.subplots(figsize=(20, 3))
    ax.set_ylim(0, 1)
    assert faults(plt.figure()) == []
    untidy(ax)
    ax.set_xlim(0, 1)
    found = "\n".join(faults(figure))
    for words in (
        "'one text' lies on 'another'",
        "cut by its axes: 'across the edge'",
        "the figure: 'far away'",
        "text of 2.5 pt",
    ):
        assert words in found
    ax.set_xlim(99_999, 100_012)
    ax.ticklabel_format(useOffset=True)
    assert "12 ticks" in "\n".join(faults(figure))
    plt.close("all")
