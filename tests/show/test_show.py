"""Figures of several seeds: the first one's curves, with bands from the smallest to the largest value.

Common to all plots: colours, units of axes, files.

Tables as text: they fit the given width and lose no word.

Small pictures look like the originals.

Published pictures are readable: no text is cut off, covered or small; ticks are few and in suitable units.
"""

import io
from pathlib import Path
from runpy import run_path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from rdmacc.experiments import EXPERIMENTS, experiment, load_summary, summary_path
from rdmacc.experiments.framework.drawn_bands import with_bands
from rdmacc.show import style
from rdmacc.show.late_bar import LateBar
from rdmacc.show.png import png
from rdmacc.show.style import COLOURS
from tests.show.pictures import faults


class FullDisk(io.StringIO):
    def write(self, _):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("stream", [None, FullDisk()])
def test_a_bar_that_cannot_be_shown_stops_nothing(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    bar = LateBar(2, 0.0)
    for text in ("half", "all"):
        bar.update(1, text)
    bar.close()
    assert bar.n == 2


def drawn(values, shift=0.0):
    figure, (left, right) = plt.subplots(1, 2)
    left.plot(np.arange(3.0) + shift, values)
    left.axhline(2)
    right.bar([0, 1, 2], values)
    return figure


def test_bands_go_from_the_smallest_to_the_largest():
    first, second = drawn([1.0, 2.0, 3.0]), drawn([3.0, 2.0, 7.0])
    figure = with_bands([first, second])
    left, right = figure.axes
    assert left.lines[0].get_ydata().tolist() == [1, 2, 3]
    (band,) = left.collections
    assert band.get_datalim(left.transData).intervaly.tolist() == [1, 7]
    spans = [lines.get_segments()[0][:, 1].tolist() for lines in right.collections]
    assert spans == [[1, 3], [3, 7]]  # the second bar is equal in both
    assert any("2 seeds" in text.get_text() for text in figure.texts)
    assert not plt.fignum_exists(second.number)


def test_curves_sampled_elsewhere_are_drawn_unchanged():
    figure = with_bands([drawn([1.0, 2.0, 3.0]), drawn([3.0, 2.0, 7.0], shift=0.5)])
    left = figure.axes[0]
    assert len(left.lines) == 3
    assert left.lines[0].get_ydata().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("draw", "segments"),
    [
        (lambda ax, values: ax.barh([0, 1], values), [[[1, 0.16], [3, 0.16]]]),
        (lambda ax, values: ax.plot([5, 6], values, "o"), [[[5, 1], [5, 3]], [[6, 2], [6, 2]]]),
        (lambda ax, values: ax.bar([0, 1], [1, 2], yerr=[value / 2 for value in values]), []),
        (lambda ax, values: ax.plot([0, 1], [1, 1]), []),
    ],
    ids=["bars across", "points", "error bars", "equal lines"],
)
def test_a_bar_or_a_point_has_a_line_over_its_range(draw, segments):
    figures = []
    for values in ([1.0, 2.0], [3.0, 2.0]):
        figure, ax = plt.subplots()
        draw(ax, values)
        figures.append(figure)
    already = len(figures[0].axes[0].collections)
    added = with_bands(figures).axes[0].collections[already:]
    assert [part for lines in added for part in np.round(lines.get_segments(), 2).tolist()] == segments


def test_a_staircase_has_a_stepped_band_and_dots_elsewhere_are_added():
    figures = []
    for value in (1.0, 2.0):
        figure, ax = plt.subplots()
        ax.step([0, 1], [value, value], where="post")
        ax.scatter([value], [5])
        figures.append(figure)
    assert with_bands(figures[:1]) is figures[0]
    dots, band, others = with_bands(figures).axes[0].collections
    assert dots.get_offsets().tolist() == [[1, 5]]
    assert others.get_offsets().tolist() == [[2, 5]]
    assert band.get_datalim(figures[0].axes[0].transData).intervaly.tolist() == [1, 2]


def test_ecdf_sorts_and_counts():
    values, fraction = style.ecdf([3, 1, 2, 2])
    assert values.tolist() == [1, 2, 2, 3]
    assert fraction.tolist() == [0.25, 0.5, 0.75, 1.0]


def test_small_pictures_keep_all_colours_even_of_a_hidden_curve():
    """A palette by area gave the curve's line in the legend another curve's colour."""
    figure, ax = plt.subplots()
    for colour in COLOURS.values():
        ax.plot(np.sin(np.arange(3000) / 400), color=colour, label=colour)
    ax.legend()
    plain = io.BytesIO()
    figure.savefig(plain, format="png", dpi=100)
    as_drawn, small = (np.asarray(Image.open(one).convert("RGB"), int) for one in (plain, io.BytesIO(png(figure))))
    assert np.abs(small - as_drawn).sum(axis=2).max() < 60
    plt.close(figure)


FIGURES = [name for name in EXPERIMENTS if summary_path(name).exists()]


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if n % 7 == 0 else pytest.mark.nightly, id=one) for n, one in enumerate(FIGURES)],
)
def test_a_figure_is_readable(name):
    figure = experiment(name).plot(load_summary(name))
    assert faults(figure) == []
    plt.close(figure)


PLOTS = run_path(str(Path(__file__).parents[2] / "docs" / "plots.py"))


def test_the_plots_shown_to_users_are_readable():
    found = {name: faults(figure) for name, figure in PLOTS["drawn"]()}
    assert len(found) > 8
    assert not any(found.values()), found
