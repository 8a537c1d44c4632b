"""REN, figure 2: one grant, one packet, and bandwidth that stays free. Set-up: `rdmacc.experiments.ren.worked`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.worked import GAP, WorkedExample, draw_rounds, rounds_of, used
from rdmacc.plotting.style import style
from rdmacc.sweep.tidy import scalar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure2"]


def _stays(table: pd.DataFrame) -> Verdict:
    packets = rounds_of(table, "traditional", "packets")
    shares = used(packets, scalar(table, "traditional", "link"))
    measured = (
        f"{', '.join(map(str, packets))} packets: {shares[0]:.0%}, then {min(shares):.0%} to {max(shares[1:]):.0%}"
    )
    return Verdict(measured, packets[0] == 5 and set(packets[1:]) == {3} and set(shares[1:]) == {0.6})


@register_experiment
class Figure2(WorkedExample):
    """Flows of 3 and 2 packets fill a link of 5; the second one ends."""

    name = "ren.fig2"
    title = "Under-utilization issue"
    description = "REN, figure 2: when one flow has ended, the other one keeps its 3 packets of 5"
    example = GAP
    schemes = ("traditional",)
    claims = (
        Claim(
            id="ren-f2-1",
            place="2.2",
            quantity="utilisation after H1 has ended",
            condition="3 of 5 packets a round trip",
            published="stays at 3 packets (60%)",
            words="exact: 5 packets in the first round, 3 in all others",
            judge=_stays,
        ),
    )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, ax = plt.subplots(figsize=(6, 3.4))
            draw_rounds(ax, table, "packets", self.schemes)
            ax.axhline(5, color="0.5", linestyle=":", linewidth=1, label="link")
            ax.set(title=f"REN, figure 2: {self.title}", ylabel="packets sent by S0", ylim=(0, 6.5))
            ax.legend(loc="upper right", ncols=2)
        return figure
