"""REN, figure 5: marked grants drain the queue of figure 1. Set-up: `rdmacc.experiments.ren.worked`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.worked import QUEUE, WorkedExample, draw_rounds, first_step, rounds_of
from rdmacc.plotting.style import style
from rdmacc.sweep.tidy import scalar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure5"]


def _drained(table: pd.DataFrame) -> Verdict:
    queue, packets = (rounds_of(table, "ren", name) for name in ("queue", "packets"))
    marks, in_flight = (scalar(table, "ren", name) for name in ("grants marked over", "in flight"))
    step = first_step(queue, 2, 0)
    measured = (
        f"queue {', '.join(map(str, queue))}; {marks:.0f} marked grants; {min(packets)} packets in every round;"
        f" 4 in flight, then {in_flight:.0f}"
    )
    stays = step is not None and set(queue[step - 1 :]) == {0}
    return Verdict(measured, stays and set(packets) == {2} and marks == 2 and in_flight == 2)


def _grants(table: pd.DataFrame) -> Verdict:
    least, most = (scalar(table, "ren", f"{name} grant") for name in ("smallest", "largest"))
    marks = scalar(table, "ren", "grants marked over")
    return Verdict(
        f"{least:.0f} to {most:.0f} bytes on the wire, {marks:.0f} of them marked", least == most == 40 and marks > 0
    )


def _readings(table: pd.DataFrame) -> Verdict:
    left = {name: rounds_of(table, name, "queue")[-1] for name in ("ren", "ren-packet", "ren-literal")}
    marks = {name: scalar(table, name, "grants marked over") for name in left}
    measured = ", ".join(
        f"{name}: {marks[name]:.0f} marks, queue of {queue} at the end" for name, queue in left.items()
    )
    return Verdict(measured, marks["ren-literal"] == 2 * marks["ren"])


@register_experiment
class Figure5(WorkedExample):
    """The flows of figure 1 under REN."""

    name = "ren.fig5"
    title = "Mitigate queue buildup"
    description = "REN, figure 5: two of four grants are marked, let no packet go, and the queue is gone"
    example = replace(QUEUE, early_ps=1)
    schemes = ("traditional", "ren", "ren-packet", "ren-literal")
    claims = (
        Claim(
            id="ren-f5-1",
            place="3.2.1",
            quantity="queue after one round",
            condition="2 marks",
            published="0, and the link is fully used",
            words="exact: 2 grants marked; 2 packets wait, a round later and from then on none; 2 sent in each round",
            judge=_drained,
        ),
        Claim(
            id="ren-f5-2",
            place="3.2.1",
            quantity="grant size",
            condition="marked and unmarked",
            published="40 B",
            words="every grant on every link",
            judge=_grants,
        ),
        Claim(
            id="ren-f5-a",
            place="3.2.3",
            quantity="marks made for a queue of 2",
            condition="3.2.3 read literally, against our reading",
            published="(follows from 3.2.3: marks show only a round trip later)",
            words="twice as many",
            judge=_readings,
        ),
    )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
            for ax, quantity, title in zip(
                axes, ("queue", "packets"), ("waiting at S0 at the end of each round", "sent by S0 in it"), strict=True
            ):
                draw_rounds(ax, table, quantity, self.schemes)
                ax.set(title=title, ylabel="packets", ylim=(0, 3.4))
            axes[0].legend(fontsize=8, loc="upper right")
            figure.suptitle(
                f"REN, figure 5: {self.title} (sampled at the end of round 1, marked in 2)",
                x=0.01,
                ha="left",
                fontsize=12,
            )
        return figure
