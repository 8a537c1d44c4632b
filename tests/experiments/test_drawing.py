"""Error bars and logarithmic axes of the experiments: drawn whatever the numbers, by one helper each."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rdmacc.experiments import EXPERIMENTS, experiment, load_summary, summary_path
from rdmacc.show.style import draw_spread, fit_above, log_axes

TABLES = [name for name in EXPERIMENTS if summary_path(name).exists()]


@pytest.mark.parametrize("is_upright", [True, False])
@pytest.mark.parametrize(
    ("middle", "least", "most", "lengths"),
    [
        ([2.0], [1.0], [4.0], [(1.0, 4.0)]),
        (2.0, 1.0, 4.0, [(1.0, 4.0)]),
        ([0.1 + 0.2], [0.3], [0.3], [(0.3, 0.3)]),  # beside its own ends, by rounding
        ([1.0 - 1e-16, 3.0], [1.0, 3.0], [1.0, 3.0], [(1.0, 1.0), (3.0, 3.0)]),
        ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [(0.0, 0.0)] * 2),
        ([np.nan, 2.0], [np.nan, 1.0], [np.nan, np.nan], []),
        ([], [], [], []),
    ],
)
def test_bars_reach_from_the_least_to_the_most(middle, least, most, lengths, is_upright):
    figure, ax = plt.subplots()
    draw_spread(ax, np.arange(np.size(middle)), middle, least, most, is_upright=is_upright)
    (bars,) = ax.collections
    ends = [segment[:, 1 if is_upright else 0] for segment in bars.get_segments() if len(segment)]
    np.testing.assert_allclose(np.reshape(ends, (-1, 2)), np.reshape(lengths, (-1, 2)), atol=1e-15)
    figure.savefig(io.BytesIO())
    plt.close(figure)


@pytest.mark.parametrize("names", ["x", "y", "xy"])
@pytest.mark.parametrize(
    ("values", "is_log"), [([1.0, 10.0], True), ([3.0], True), ([0.0, 2.0], True), ([np.nan, 2.0], True),
                           ([0.0, 0.0], False), ([np.nan], False), ([-1.0], False), ([], False)],
)  # fmt: skip
def test_an_axis_is_logarithmic_if_there_is_a_number_above_zero(values, is_log, names):
    figure, ax = plt.subplots()
    ax.plot(values, values, "o")
    log_axes(ax, names)
    fit_above(ax, 1.2, bottom=None)
    assert ax.get_xscale() == ("log" if is_log and "x" in names else "linear")
    assert ax.get_yscale() == ("log" if is_log and "y" in names else "linear")
    figure.savefig(io.BytesIO())
    plt.close(figure)


def variants(table):
    """Return tables with the numbers that break drawings, of those columns and labels."""
    labels = [name for name in table.columns if name not in ("value", "time_ps", "seed", "run")]
    yield "one row of each", table.groupby(labels, dropna=False, sort=False).head(1)
    yield "equal", table.assign(value=1.0)
    yield "zeros", table.assign(value=0.0)
    yield "NaN", table.assign(value=np.nan)
    yield "some NaN", table.assign(value=table["value"].where(np.arange(len(table)) % 7 != 0))


def has_bars_or_log_axes(figure):
    return any(
        "log" in ax.get_xscale() + ax.get_yscale() or any("Errorbar" in type(one).__name__ for one in ax.containers)
        for ax in figure.axes
    )


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning", "ignore:.*:UserWarning")
@pytest.mark.parametrize("name", TABLES)
def test_a_figure_with_bars_or_log_axes_is_drawn_whatever_its_numbers(name):
    one, table = experiment(name), load_summary(name)
    if not has_bars_or_log_axes(one.plot(next(iter(one.rows_of_seeds(table).values())))):
        pytest.skip("neither")
    failed = {}
    for words, other in variants(table):
        try:
            one.plot(other).savefig(io.BytesIO(), dpi=30)
        except Exception as error:
            failed[words] = repr(error)
        plt.close("all")
    assert failed == {}
