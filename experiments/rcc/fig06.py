"""RCC, figure 6: goodput and completion times of an incast of 1,000, under RCC and HPCC.

Setup and assumptions: `rdmacc.experiments.rcc.incast`. The main reading is that all start at line rate (III-B).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.rcc.incast import (
    REQUEST,
    Case,
    IncastFigure,
    mean,
    needs,
    points_in,
    reduction,
    values,
)
from rdmacc.experiments.rcc.known import known
from rdmacc.experiments.rcc.setup import LINE_BPS
from rdmacc.plotting.style import COLOURS, style
from rdmacc.sweep.tidy import curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HPCC", "RCC", "READINGS", "Figure6"]

RCC, HPCC = Case("rcc"), Case("hpcc")
READINGS = (Case("rcc", REQUEST), Case("rcc", eta=0.97), Case("rcc", REQUEST, 0.97), Case("rcc", REQUEST, 0.95))
"""Other readings of RCC's first window, and of what it gives away."""
PUBLISHED_GBPS, PUBLISHED_MEDIAN, PUBLISHED_P99 = 94.98, 0.052, 0.041


@needs(RCC, HPCC)
def _goodput(table: pd.DataFrame) -> Verdict:
    own, other = (mean(table, case, "goodput") / 1e9 for case in (RCC, HPCC))
    payload = 1000 / mean(table, HPCC, "packet on the wire") * LINE_BPS / 1e9
    measured = f"RCC {own:.2f} Gb/s, HPCC {other:.2f} (a link full of its packets with telemetry carries {payload:.1f})"
    return Verdict(measured, 92 <= own <= 96 and abs(other / own - 1) <= 0.05, 92 <= own <= 96)


def _faster(quantity: str, published: float, low: float, high: float) -> object:
    @needs(RCC, HPCC)
    def verdict(table: pd.DataFrame) -> Verdict:
        found = reduction(table, RCC, HPCC, quantity)
        each = 1 - values(table, RCC, quantity) / values(table, HPCC, quantity)
        requested = reduction(table, READINGS[0], HPCC, quantity)
        measured = (
            f"{found:+.1%} lower ({each.min():.1%} to {each.max():.1%} by seed);"
            f" {requested:+.1%} if the request carries the share"
        )
        return Verdict(measured, low <= found <= high, found > 0)

    return verdict


@needs(RCC)
def _bound(table: pd.DataFrame) -> Verdict:
    last, median = mean(table, RCC, "last FCT"), mean(table, RCC, "median FCT")
    least = float(table["bound_ps"].iloc[0])
    unfinished = sum(values(table, case, "unfinished").sum() for case in (RCC, HPCC) if points_in(table, case))
    measured = (
        f"last message after {last / 1e9:.2f} ms, the link's bound is {least / 1e9:.2f}; {unfinished:.0f} unfinished"
    )
    return Verdict(measured, least <= last <= 1.05 * least and median <= last and unfinished == 0)


@register_experiment
class Figure6(IncastFigure):
    """Goodput over time, and the distribution of completion times."""

    name = "rcc.fig6"
    title = "Goodput and FCT in the Incast scenario"
    description = "RCC, figure 6: 1,000 senders of 200 KB beside a long flow, under RCC and HPCC"
    claims = (
        Claim(
            id="rcc-f6-1",
            place="V-B-2",
            quantity="goodput of the 1,000 flows",
            condition="RCC; HPCC similar",
            published="around 94.98 Gb/s",
            words="RCC 92-96 Gb/s, HPCC within 5% of it; direction: RCC 92-96",
            judge=_goodput,
            **known("rcc-f6-1"),
        ),
        Claim(
            id="rcc-f6-2",
            place="V-B-2",
            quantity="median FCT",
            condition="RCC against HPCC",
            published="5.2% lower",
            words="0-15% lower; direction: lower",
            judge=_faster("median FCT", PUBLISHED_MEDIAN, 0.0, 0.15),
            **known("rcc-f6-2"),
        ),
        Claim(
            id="rcc-f6-3",
            place="V-B-2",
            quantity="p99 FCT",
            condition="RCC against HPCC",
            published="4.1% lower",
            words="-2 to 15% lower; direction: lower",
            judge=_faster("p99 FCT", PUBLISHED_P99, -0.02, 0.15),
            **known("rcc-f6-3"),
        ),
        Claim(
            id="rcc-f6-3a",
            place="(follows from V-B-2)",
            quantity="last completion",
            condition="RCC",
            published="(16.8 ms at 95.4 Gb/s)",
            words="no less than the link's bound, 5% more at most; all messages finish",
            judge=_bound,
            **known("rcc-f6-3a"),
        ),
    )

    def cases(self, scale: str) -> list[Case]:
        return [RCC, HPCC, *(READINGS if scale == "paper" else READINGS[:1])]

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
            drawn = [
                (RCC, "blue", "-"),
                (HPCC, "vermilion", "-"),
                (READINGS[0], "sky", "--"),
                (READINGS[2], "green", "--"),
            ]
            for case, colour, look in drawn:
                points = points_in(table, case)
                if not points:
                    continue
                rate = curve(table, points[0], "goodput over time")
                left.plot(rate.index / 1e9, rate / 1e9, look, color=COLOURS[colour], linewidth=1, label=case.label)
                levels = [curve(table, point, "FCT by level") for point in points]
                share = levels[0].index / 1000
                right.plot(np.mean(levels, axis=0) / 1e9, share, look, color=COLOURS[colour], label=case.label)
                right.fill_betweenx(share, np.min(levels, axis=0) / 1e9, np.max(levels, axis=0) / 1e9,
                                    color=COLOURS[colour], alpha=0.2, linewidth=0)  # fmt: skip
            left.axhline(
                PUBLISHED_GBPS, color="0.5", linewidth=1, linestyle=":", label=f"published, {PUBLISHED_GBPS} Gb/s"
            )
            left.set(title="(a) goodput of the incast", xlabel="time (ms)", ylabel="goodput (Gb/s)", ylim=(0, 105))
            left.legend(fontsize=8, loc="lower left")
            median = mean(table, HPCC, "median FCT") / 1e9
            right.annotate(
                f"published: median −{PUBLISHED_MEDIAN:.1%},\np99 −{PUBLISHED_P99:.1%} against HPCC",
                (0.03, 0.8), xycoords="axes fraction", fontsize=8,
            )  # fmt: skip
            right.plot(median * (1 - PUBLISHED_MEDIAN), 0.5, "o", color=COLOURS["black"], markersize=5)
            right.plot(
                mean(table, HPCC, "p99 FCT") / 1e9 * (1 - PUBLISHED_P99),
                0.99,
                "o",
                color=COLOURS["black"],
                markersize=5,
            )
            right.set(title="(b) completion times", xlabel="FCT (ms)", ylabel="share of the flows", ylim=(0, 1.02))
            senders = int(table["senders"].iloc[0])
            figure.suptitle(f"RCC, figure 6: {self.title}, {senders:,} senders", x=0.01, ha="left", fontsize=12)
        return figure
