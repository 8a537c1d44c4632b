"""Figures of several seeds: the first one's curves, with bands from the least to the greatest value.

Common to all plots: colours, units of axes, files.

Tables as text: they fit the width that is given, and lose no word.
"""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rdmacc.show import style
from rdmacc.show.bands import with_bands
from rdmacc.show.tables import text_table


def drawn(values, shift=0.0):
    figure, (left, right) = plt.subplots(1, 2)
    left.plot(np.arange(3.0) + shift, values)
    left.axhline(2)
    right.bar([0, 1, 2], values)
    return figure


def test_bands_go_from_the_least_to_the_greatest():
    first, second = drawn([1.0, 2.0, 3.0]), drawn([3.0, 2.0, 7.0])
    figure = with_bands([first, second])
    left, right = figure.axes
    assert left.lines[0].get_ydata().tolist() == [1, 2, 3]
    (band,) = left.collections
    assert band.get_datalim(left.transData).intervaly.tolist() == [1, 7]
    spans = [lines.get_segments()[0][:, 1].tolist() for lines in right.collections]
    assert spans == [[1, 3], [3, 7]]  # the second bar is the same in both
    assert any("2 seeds" in text.get_text() for text in figure.texts)
    assert not plt.fignum_exists(second.number)


def test_curves_sampled_elsewhere_are_drawn_as_they_are():
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


def test_a_staircase_has_a_band_in_steps_and_dots_elsewhere_are_added():
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


# Common to all plots


def test_ecdf_sorts_and_counts():
    values, fraction = style.ecdf([3, 1, 2, 2])
    assert values.tolist() == [1, 2, 2, 3]
    assert fraction.tolist() == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("span_ps", "unit"), [(5e12, "s"), (3e9, "ms"), (1e9, "us"), (2.5e3, "ns"), (1, "ps"), (0, "ps")]
)
def test_time_unit_reads_well(span_ps, unit):
    assert style.time_unit(span_ps)[1] == unit


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, rdmacc, rdmacc.cli.main; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Tables as text


HEADERS = ["parameter", "base unit", "what it does"]
ROWS = [["Dcqcn.g", "", "gain of the moving average of marks"], ["Dcqcn.alpha_period_ps", "ps", "period of its decay"]]


@pytest.mark.parametrize("width", [40, 47, 60, 80])
def test_a_table_fits_its_width_and_keeps_every_word(width):
    text = text_table(HEADERS, ROWS, "<<<", width)
    assert max(map(len, text.splitlines())) <= max(width, 21 + 2 + 4 + 2 + 16)
    words = {word for row in (HEADERS, *ROWS) for cell in row for word in cell.split()}
    assert words <= set(text.split())


def test_without_a_width_or_with_room_each_row_is_a_line():
    assert len(text_table(HEADERS, ROWS, "<<<").splitlines()) == 4
    assert text_table(HEADERS, ROWS, "<<<", 200) == text_table(HEADERS, ROWS, "<<<")


def test_headers_give_way_before_words():
    text = text_table(["n", "packets sent again"], [["1", "2,345"]], width=10)
    assert text.splitlines()[:3] == ["n  packets", "      sent", "     again"]
