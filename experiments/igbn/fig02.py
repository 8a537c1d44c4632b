"""Improved Go-Back-N, figure 2: go-back-N's throughput collapses under loss."""

from rdmacc.experiments.igbn.drawing import Goodput
from ..api import *
from .setup import *


def _all_runs(table: pd.DataFrame) -> Measured:
    runs = go_back_n_runs(table, 1e-3)
    return Measured(mean(runs), median(runs))


def _one_timeout(table: pd.DataFrame) -> Measured:
    runs = go_back_n_runs(table, 1e-3)
    ones = runs[runs["timeouts"] == 1][GOODPUT]
    counts = runs["timeouts"].value_counts()
    words = f"{counts.get(0, 0)} runs without a timeout, {len(ones)} with one, {(runs['timeouts'] > 1).sum()} with more"
    return Measured({"lowest": ones.min(), "highest": ones.max()}, words)


def _draw_runs(ax: Axes, table: pd.DataFrame) -> None:
    for loss in table["loss"].unique():
        for value in go_back_n_runs(first_reading(table), loss)[GOODPUT]:
            ax.plot(100 * loss, 100 * value, "o", markersize=3, color=COLOURS["sky"], alpha=0.5, zorder=1)


class Figure2(LossSweep):
    name = "igbn.fig2"
    points_of = LossSweep
    claims = (
        claim("igbn-f2-1", measure=throughput(GBN, ACK_TIMEOUT_PS, 1e-5), band=AtLeast(0.98)),
        claim("igbn-f2-2", measure=_all_runs, band=Within(0.45, by=0.1), direction=Between(0.1, 0.9)),
        claim("igbn-f2-2a", measure=_one_timeout, band=Each(Between(0.43, 0.49))),
        claim("igbn-f2-3", measure=throughput(GBN, ACK_TIMEOUT_PS, 1e-2), band=Between(0.01, 0.04)),
    )  # fmt: skip

    def settings(self, scale: str) -> list[Setting]:
        every = super().settings(scale)
        return [one for one in every if (one.variant, one.timeout_ps) == (GBN, ACK_TIMEOUT_PS)]

    def plot(self, table: pd.DataFrame) -> Figure:
        one, published = (GBN, ACK_TIMEOUT_PS), [(1e-5, 1.0), (1e-3, 0.45), (1e-2, 0.03)]
        look = {one: ("Go-Back-N, timeout 100 ms", "blue", "o")}
        panel = Goodput("", look, of=first_reading, published={one: published}, also=_draw_runs)
        return self.drawn([panel], table, size=(8, 5), legend="outside lower center")
