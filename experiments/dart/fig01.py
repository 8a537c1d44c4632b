"""Dart, figure 1: RTTs until two flows share a link, inferred step by step or told by the receiver.

Setup and assumptions: `rdmacc.experiments.dart.convergence`. The paper also quotes NUMFabric and EyeQ, which are not
simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.dart.convergence import (
    NAMES,
    at_least,
    in_words,
    measure_convergence,
    points_for,
    rtts,
    within_two_rtts,
)
from rdmacc.experiments.dart.known import known
from rdmacc.experiments.dart.setup import LINE_BPS
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.plotting.style import COLOURS, draw_trace, style
from rdmacc.results.result import Result
from rdmacc.sweep.tidy import curve, scalar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure1"]

QUOTED = {"RCP": 60, "TIMELY": 50, "NUMFabric": 31, "EyeQ": 27.5}
"""RTTs to converge that the paper quotes (II-B), and EyeQ's 25 to 30 in their middle."""


def _iterative(table: pd.DataFrame) -> Verdict:
    taken = {name: rtts(table, name.lower()) for name in ("RCP", "TIMELY")}  # NaN: never
    holds = all(QUOTED[name] / 2 <= value <= 2 * QUOTED[name] for name, value in taken.items())
    is_slow = all(at_least(table, name.lower()) >= 10 for name in taken)
    return Verdict(f"{in_words(table, 'rcp')}, {in_words(table, 'timely')}", holds, is_slow)


def _order(table: pd.DataFrame) -> Verdict:
    own = max(rtts(table, "dart"), 1.0)
    others = ("rcp", "timely", "dcqcn")
    measured = ", ".join(in_words(table, name) for name in ("dart", *others))
    return Verdict(measured, all(at_least(table, name) >= 5 * own for name in others))


@register_experiment
class Figure1(Experiment):
    """Rates that senders infer step by step, and one that the receiver tells."""

    name = "dart.fig1"
    title = "Dart's fast, one-RTT convergence"
    description = "Dart, figure 1: from line rate to half of it, by RCP, TIMELY and DCQCN step by step, by Dart at once"
    claims = (
        Claim(
            id="dart-f1-1",
            place="II-B",
            quantity="RTTs to converge to 50% after a second flow",
            condition="RCP / TIMELY / NUMFabric / EyeQ",
            published="60 / 50 / 31 / 25-30 RTT",
            words="RCP and TIMELY within a factor of 2; direction: 10 RTT or more, or never; the others are quoted",
            judge=_iterative,
            **known("dart-f1-1"),
        ),
        Claim(
            id="dart-f1-2",
            place="II-B, I",
            quantity="RTTs to converge",
            condition="Dart (DASR)",
            published="1 RTT",
            words="<= 2 RTT from arrival of the second flow's first packet at the receiver",
            judge=within_two_rtts,
        ),
        Claim(
            id="dart-f1-3",
            place="II-B",
            quantity="order of convergence time",
            condition="Dart vs iterative schemes",
            published="Dart << DCQCN, TIMELY, RCP",
            words="Dart at least 5x faster (1 RTT at least counted for Dart)",
            judge=_order,
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return points_for(("dart", "rcp", "dcqcn", "timely"), scale, seed)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_convergence(point, result)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        looks = {"rcp": "vermilion", "timely": "green", "dcqcn": "orange", "dart": "blue"}
        with style():
            figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5.2), sharex=True, sharey=True)
            for name, colour in looks.items():
                ax = below if name == "dart" else above
                rate = curve(table, name, "rate of flow 1")
                rtt, join = scalar(table, name, "base RTT"), scalar(table, name, "join")
                draw_trace(ax, rate.index - join, rate, unit_ps=rtt, scale=LINE_BPS / 100, label=NAMES[name],
                           color=COLOURS[colour])  # fmt: skip
            for name, rtts in QUOTED.items():
                above.plot(rtts, 50, "|", color="0.3", markersize=12)
                place = {"xytext": (0, -15 if name == "EyeQ" else 9), "textcoords": "offset points"}
                above.annotate(name, (rtts, 50), ha="center", fontsize=8, **place)
            for ax in (above, below):
                ax.axhline(50, color="0.5", linewidth=1, linestyle=":", zorder=0)
                ax.set(ylabel="sending rate (% of line)", ylim=(0, 108), xlim=(-5, 100))
                ax.legend(loc="upper right")
            above.set_title(f"Dart, figure 1: {self.title} (bars: convergence as quoted)")
            below.set_xlabel("time since the second flow's first packet arrives (RTTs)")
        return figure
