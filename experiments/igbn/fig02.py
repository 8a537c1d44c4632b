"""Improved Go-Back-N, figure 2: go-back-N's throughput collapses under loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.claims import Claim, Verdict
from rdmacc.experiments.igbn.drawing import draw_goodput, explain, label, mark_published
from rdmacc.experiments.igbn.known import known
from rdmacc.experiments.igbn.setup import (
    ACK_TIMEOUT_PS,
    GOODPUT,
    LossSweep,
    Setting,
    go_back_n_runs,
    mean,
    of_reading,
    percent,
)
from rdmacc.experiments.registry import register_experiment
from rdmacc.plotting.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["Figure2"]


def _no_effect(table: pd.DataFrame) -> Verdict:
    value = mean(go_back_n_runs(table, 1e-5))
    return Verdict(percent(value), value >= 0.98)


def _half(table: pd.DataFrame) -> Verdict:
    runs = go_back_n_runs(table, 1e-3)
    value = mean(runs)
    measured = f"mean {percent(value)}, median run {percent(float(runs[GOODPUT].median()))} of {len(runs)} runs"
    return Verdict(measured, abs(value - 0.45) <= 0.1, 0.1 < value < 0.9)


def _one_timeout(table: pd.DataFrame) -> Verdict:
    runs = go_back_n_runs(table, 1e-3)
    ones = runs[runs["timeouts"] == 1][GOODPUT]
    counts = runs["timeouts"].value_counts()
    words = f"{counts.get(0, 0)} runs without a timeout, {len(ones)} with one, {(runs['timeouts'] > 1).sum()} with more"
    if ones.empty:
        return Verdict(words, False)
    return Verdict(f"{percent(ones.min())} to {percent(ones.max())}; {words}", bool(ones.between(0.43, 0.49).all()))


def _nothing(table: pd.DataFrame) -> Verdict:
    value = mean(go_back_n_runs(table, 1e-2))
    return Verdict(percent(value), 0.01 <= value <= 0.04)


@register_experiment
class Figure2(LossSweep):
    """Go-back-N with a timeout of 100 ms."""

    name = "igbn.fig2"
    points_of = LossSweep
    title = "Impact of packet loss rate on throughput"
    description = "Improved Go-Back-N, figure 2: go-back-N's throughput over the loss rate"
    claims = (
        Claim(
            id="igbn-f2-1",
            place="II-B",
            quantity="relative throughput",
            condition="p <= 1e-5",
            published="~100%",
            band=">= 98%",
            verdict=_no_effect,
        ),
        Claim(
            id="igbn-f2-2",
            place="II-B",
            quantity="relative throughput",
            condition="p = 1e-3",
            published="45%",
            band="mean of all runs 35-55%; direction: 10-90%",
            verdict=_half,
            **known("igbn-f2-2"),
        ),
        Claim(
            id="igbn-f2-2a",
            place="II-B",
            quantity="runs of 100 messages with just one timeout",
            condition="p = 1e-3",
            published="45%",
            band="43-49% each",
            verdict=_one_timeout,
            **known("igbn-f2-2a"),
        ),
        Claim(
            id="igbn-f2-3",
            place="II-B",
            quantity="relative throughput",
            condition="p = 1e-2",
            published="3%",
            band="1-4%",
            verdict=_nothing,
        ),
    )

    def settings(self, scale: str) -> list[Setting]:
        every = super().settings(scale)
        return [one for one in every if (one.variant, one.timeout_ps) == ("go-back-n", ACK_TIMEOUT_PS)]

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        table = of_reading(table)
        with style():
            figure, ax = plt.subplots(figsize=(7, 4.4))
            for loss in np.sort(table["loss"].unique()):
                values = go_back_n_runs(table, loss)[GOODPUT]
                ax.plot(
                    np.full(len(values), 100 * loss), 100 * values, linestyle="none", marker="o", markersize=3,
                    color=COLOURS["sky"], alpha=0.5,
                )  # fmt: skip
            draw_goodput(ax, table, "go-back-n", ACK_TIMEOUT_PS, COLOURS["blue"], "o")
            mark_published(ax, [(1e-5, 1.0), (1e-3, 0.45), (1e-2, 0.03)])
            label(ax, f"IGBN, figure 2: {self.title}")
            explain(figure, table, [("Go-Back-N, timeout 100 ms", COLOURS["blue"], "o")])
        return figure
