"""Dart, figure 15: two flows' throughput under RCP and under Dart as the second one joins.

Setup and assumptions: `rdmacc.experiments.dart.convergence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.base import Claim, Experiment, Point, Verdict, register_experiment
from rdmacc.experiments.dart.convergence import NAMES, measure_convergence, points_for, rtts, within_two_rtts
from rdmacc.experiments.dart.known import known
from rdmacc.plotting.style import COLOURS, style
from rdmacc.results.result import Result
from rdmacc.sweep.tidy import curve, scalar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure15"]


def _rcp(table: pd.DataFrame) -> Verdict:
    reached, own = rtts(table, "rcp", "reached"), rtts(table, "dart", "reached")
    measured = f"{reached:.1f} RTT (Dart {own:.1f}); within 10% for good after {rtts(table, 'rcp'):.1f}"
    return Verdict(measured, 30 <= reached <= 120 and reached > 5 * own, reached >= 10 and reached > 5 * own)


def _pending(table: pd.DataFrame) -> Verdict:
    return Verdict.not_judged("not measured")


@register_experiment
class Figure15(Experiment):
    """Two flows under RCP and under Dart."""

    name = "dart.fig15"
    title = "Convergence time for RCP and Dart"
    description = "Dart, figure 15: the second of two flows joins; RCP takes tens of RTTs to 5 Gb/s each, Dart one"
    claims = (
        Claim(
            id="dart-f15-1",
            place="VI-D",
            quantity="RTTs for RCP to reach 5 Gb/s after the join",
            condition="2 flows, 10 Gb/s, 5 us links",
            published="about 60 RTT (15 to 75)",
            band="within a factor of 2, and > 5x Dart; direction: 10 RTT or more",
            verdict=_rcp,
            **known("dart-f15-1"),
        ),
        Claim(
            id="dart-f15-2",
            place="VI-D",
            quantity="RTTs for Dart",
            condition="same",
            published="1 RTT",
            band="<= 2 RTT",
            verdict=within_two_rtts,
        ),
        Claim(
            id="dart-x-1",
            place="VI-D",
            quantity="ExpressPass convergence",
            condition="dumbbell 2:2 / fat tree 10:1",
            published="4 RTT / 20 RTT",
            band="10:1 slower than 2:2",
            verdict=_pending,
            **known("dart-x-1"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return points_for(("rcp", "dart"), scale, seed)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_convergence(point, result)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
            for ax, name, panel in zip(axes, ("rcp", "dart"), "ab", strict=True):
                rtt = scalar(table, name, "base RTT")
                for flow, colour, line in ((1, "blue", "-"), (2, "vermilion", "--")):
                    throughput = curve(table, name, f"throughput of flow {flow}")
                    ax.plot((throughput.index - rtt) / rtt, throughput / 1e9, line, color=COLOURS[colour],
                            label=f"flow {flow}")  # fmt: skip
                join = scalar(table, name, "join") / rtt
                ax.axvline(join, color="0.6", linewidth=1, linestyle=":")
                ax.set(title=f"({panel}) {NAMES[name]}", xlabel="time (RTTs)", xlim=(0, 100), ylim=(0, 10.5))
            axes[0].set_ylabel("throughput (Gb/s)")
            axes[0].legend(loc="upper right")
            figure.suptitle(f"Dart, figure 15: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
