"""REN, figure 6: grants that keep their mark fill the gap of figure 2. Set-up: `rdmacc.experiments.ren.worked`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.worked import GAP, WorkedExample, draw_rounds, first_step, rounds_of
from rdmacc.plotting.style import style
from rdmacc.sweep.tidy import scalar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure6"]


def _filled(table: pd.DataFrame) -> Verdict:
    packets, queue = (rounds_of(table, "ren", name) for name in ("packets", "queue"))
    marks = scalar(table, "ren", "grants marked under")
    step = first_step(packets, 3, 5)
    stays = step is not None and set(packets[step - 1 :]) == {5}
    measured = f"{', '.join(map(str, packets))} packets; {marks:.0f} grants for two packets; queue {max(queue)} at most"
    return Verdict(measured, stays and marks == 2 and max(queue) == 0)


def _literal(table: pd.DataFrame) -> Verdict:
    marks, queue = scalar(table, "ren-literal", "grants marked under"), max(rounds_of(table, "ren-literal", "queue"))
    return Verdict(f"{marks:.0f} grants for two packets, and a queue of {queue}", marks > 2 and queue > 0)


@register_experiment
class Figure6(WorkedExample):
    """The flows of figure 2 under REN."""

    name = "ren.fig6"
    title = "Improve link utilization"
    description = "REN, figure 6: two packets keep the mark of an idle link, and 3 packets become 5"
    example = GAP
    schemes = ("traditional", "ren", "ren-packet", "ren-literal")
    claims = (
        Claim(
            id="ren-f6-1",
            place="3.2.2",
            quantity="packets in the next round",
            condition="3 arrivals, ti = 2",
            published="5",
            words="exact: two grants for two packets; a round of 3 is followed by rounds of 5, without a queue",
            judge=_filled,
        ),
        Claim(
            id="ren-f6-a",
            place="3.2.3",
            quantity="grants for two packets, and the queue",
            condition="3.2.3 read literally",
            published="(follows from 3.2.3: the gap shows until its packets have come)",
            words="more than 2, so that a queue builds up",
            judge=_literal,
        ),
    )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
            for ax, quantity, title in zip(
                axes, ("packets", "queue"), ("sent by S0 in each round", "waiting at S0 at its end"), strict=True
            ):
                draw_rounds(ax, table, quantity, self.schemes)
                ax.set(title=title, ylabel="packets", ylim=(0, 7.6))
            axes[0].axhline(5, color="0.5", linestyle=":", linewidth=1)
            axes[0].legend(fontsize=8, loc="upper center", ncols=2)
            figure.suptitle(
                f"REN, figure 6: {self.title} (sampled in round 2, marked in 3)", x=0.01, ha="left", fontsize=12
            )
        return figure
