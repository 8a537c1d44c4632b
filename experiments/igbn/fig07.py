"""Improved Go-Back-N, figure 7: how the timeout affects each variant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.igbn.drawing import draw_goodput, explain, label, mark_published
from rdmacc.experiments.igbn.known import known
from rdmacc.experiments.igbn.setup import (
    GOODPUT,
    TIMEOUTS,
    TITLES,
    VARIANTS,
    LossSweep,
    mean,
    mean_at,
    percent,
    runs_of,
    timers_in,
)
from rdmacc.plotting.style import COLOURS, style
from rdmacc.units import ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure7"]

GBN, ST, CE, IGBN = VARIANTS
_LONG, _MIDDLE, _SHORT = ms(100), ms(10), us(500)
_LOOKS = {_LONG: ("blue", "o"), _MIDDLE: ("orange", "s"), _SHORT: ("green", "^")}

_PUBLISHED: dict[str, dict[int, list[tuple[float, float]]]] = {
    GBN: {_LONG: [(1e-2, 0.0)], _MIDDLE: [(1e-2, 0.132)], _SHORT: []},
    IGBN: {_LONG: [(1e-2, 0.64)], _MIDDLE: [(1e-2, 0.60)], _SHORT: []},
    CE: {_LONG: [(2e-3, 0.68), (1e-2, 0.176)], _MIDDLE: [], _SHORT: []},
    ST: {_LONG: [(1e-2, 0.0)], _MIDDLE: [(1e-2, 0.0)], _SHORT: []},
}
"""What the text says: (loss rate, relative throughput), by variant and timeout."""


def _collapse(table: pd.DataFrame) -> Verdict:
    value = mean_at(table, GBN, _LONG, 1e-2)
    return Verdict(percent(value), value <= 0.04)


def _middle(table: pd.DataFrame) -> Verdict:
    value = mean_at(table, GBN, _MIDDLE, 1e-2)
    return Verdict(percent(value), 0.10 <= value <= 0.20)


def _sharp(table: pd.DataFrame) -> Verdict:
    before, after = mean_at(table, GBN, _MIDDLE, 2e-3), mean_at(table, GBN, _MIDDLE, 5e-3)
    measured = f"{percent(before)} at 0.2%, {percent(after)} at 0.5%"
    return Verdict(measured, 0.75 <= before <= 0.85 and after < 0.50)


def _same(table: pd.DataFrame) -> Verdict:
    gaps = {}
    for loss in np.sort(table["loss"].unique()):
        means = [mean_at(table, IGBN, timeout_ps, loss) for timeout_ps in TIMEOUTS]
        gaps[loss] = 100 * (max(means) - min(means))
    widest = max(gaps, key=lambda loss: gaps[loss])
    return Verdict(f"at most {gaps[widest]:.1f} points, at p = {widest:g}", gaps[widest] <= 8)


def _check_at_two(table: pd.DataFrame) -> Verdict:
    runs = runs_of(table, CE, _LONG, 2e-3)
    value = mean(runs)
    falls = mean_at(table, CE, _LONG, 1e-3) > value > mean_at(table, CE, _LONG, 1e-2)
    measured = f"mean {percent(value)}, median run {percent(float(runs[GOODPUT].median()))} of {len(runs)} runs"
    return Verdict(measured, abs(value - 0.68) <= 0.1, falls)


def _check_at_ten(table: pd.DataFrame) -> Verdict:
    value = mean_at(table, CE, _LONG, 1e-2)
    return Verdict(percent(value), 0.12 <= value <= 0.25, value <= 0.40)


def _check_short(table: pd.DataFrame) -> Verdict:
    losses = np.sort(table["loss"].unique())
    gaps = {loss: 100 * (mean_at(table, CE, _SHORT, loss) - mean_at(table, CE, _MIDDLE, loss)) for loss in losses}
    widest = max(losses, key=lambda loss: gaps[loss])
    return Verdict(f"at most {gaps[widest]:.1f} points, at p = {widest:g}", gaps[widest] <= 12)


def _twice_long(table: pd.DataFrame) -> Verdict:
    losses = np.sort(table["loss"].unique())
    losses = losses[losses >= 1e-4]
    curves = [[mean_at(table, ST, timeout_ps, loss) for loss in losses] for timeout_ps in (_LONG, _MIDDLE)]
    falls = all(values == sorted(values, reverse=True) for values in curves)
    long, middle = (values[-1] for values in curves)
    words = "falls at every step" if falls else "does not fall at every step"
    measured = f"{words} from 1e-4 on; at 1e-2: {percent(long)} with 100 ms, {percent(middle)} with 10 ms"
    return Verdict(measured, falls and max(long, middle) <= 0.04, falls and long <= 0.04)


def _twice_short(table: pd.DataFrame) -> Verdict:
    value = mean_at(table, ST, _SHORT, 1e-2)
    return Verdict(percent(value), value >= 0.50)


@register_experiment
class Figure7(LossSweep):
    """The runs of figure 6, a panel for each variant."""

    name = "igbn.fig7"
    points_of = LossSweep
    title = "Algorithm performance under different timeout setting"
    description = "Improved Go-Back-N, figure 7: three timeouts over the loss rate, for each variant"
    claims = (
        Claim(
            id="igbn-f7a-1",
            place="IV-B",
            quantity="GBN",
            condition="100 ms, 1e-2",
            published="nearly 0%",
            words="<= 4%",
            judge=_collapse,
        ),
        Claim(
            id="igbn-f7a-2",
            place="IV-B",
            quantity="GBN",
            condition="10 ms, 1e-2",
            published="13.2%",
            words="10-20%",
            judge=_middle,
            **known("igbn-f7a-2"),
        ),
        Claim(
            id="igbn-f7a-3",
            place="IV-B",
            quantity="GBN",
            condition="10 ms",
            published="sharp decline beyond 0.2%",
            words="75-85% at 0.2%, < 50% at 0.5%",
            judge=_sharp,
            **known("igbn-f7a-3"),
        ),
        Claim(
            id="igbn-f7b-1",
            place="IV-B",
            quantity="Improved",
            condition="100/10/0.5 ms",
            published="almost identical",
            words="spread <= 8 points at any p",
            judge=_same,
            **known("igbn-f7b-1"),
        ),
        Claim(
            id="igbn-f7c-1",
            place="IV-B",
            quantity="CE",
            condition="100 ms, 2e-3",
            published="68%",
            words="mean of all runs 58-78%; direction: between those at 1e-3 and 1e-2",
            judge=_check_at_two,
            **known("igbn-f7c-1"),
        ),
        Claim(
            id="igbn-f7c-2",
            place="IV-B",
            quantity="CE",
            condition="100 ms, 1e-2",
            published="17.6%",
            words="12-25%; direction: up to 40%",
            judge=_check_at_ten,
            **known("igbn-f7c-2"),
        ),
        Claim(
            id="igbn-f7c-3",
            place="IV-B",
            quantity="CE",
            condition="10 ms vs 500 us",
            published="just a little worse",
            words="10 ms within 12 points",
            judge=_check_short,
            **known("igbn-f7c-3"),
        ),
        Claim(
            id="igbn-f7d-1",
            place="IV-B",
            quantity="ST",
            condition="100 and 10 ms",
            published="falls from 1e-4; nearly 0% at 1e-2",
            words="falls at every step, both <= 4% at 1e-2; direction: 100 ms does",
            judge=_twice_long,
            **known("igbn-f7d-1"),
        ),
        Claim(
            id="igbn-f7d-2",
            place="IV-B",
            quantity="ST",
            condition="500 us",
            published="much better",
            words=">= 50% at 1e-2",
            judge=_twice_short,
        ),
    )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        readings = timers_in(table)
        with style():
            figure, axes = plt.subplots(
                len(readings), 4, figsize=(16, 1 + 3.8 * len(readings)), sharex=True, sharey=True, squeeze=False
            )
            for row, (timer, rows) in zip(axes, readings.items(), strict=True):
                for letter, ax, (variant, published) in zip("abcd", row, _PUBLISHED.items(), strict=True):
                    for timeout_ps, (colour, marker) in _LOOKS.items():
                        draw_goodput(ax, rows, variant, timeout_ps, COLOURS[colour], marker)
                        mark_published(ax, published[timeout_ps], COLOURS[colour])
                    label(ax, f"({letter}) {TITLES[variant]}\ntimer from the {timer} on")
                    ax.label_outer()
            figure.suptitle(f"IGBN, figure 7: {self.title}", x=0.01, ha="left", fontsize=12)
            names = [
                (f"timeout {TIMEOUTS[timeout_ps].replace('us', 'µs')}", COLOURS[colour], marker)
                for timeout_ps, (colour, marker) in _LOOKS.items()
            ]
            explain(figure, table, names)
        return figure
