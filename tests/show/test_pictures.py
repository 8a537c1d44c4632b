"""Pictures that people see can be read: no text is cut, covered or small, and ticks are few and in fitting units."""

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
