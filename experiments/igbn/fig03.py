"""Improved Go-Back-N, figure 3: what causes go-back-N's timeouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.igbn.known import known
from rdmacc.experiments.igbn.setup import ACK_TIMEOUT_PS, LossSweep, Setting, go_back_n_runs, of_reading, percent
from rdmacc.plotting.style import COLOURS, style
from rdmacc.protocols.go_back_n import TIMEOUT_REASONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["PUBLISHED", "Figure3", "shares"]


PUBLISHED = {"timeouts_nak": 32, "timeouts_twice": 19, "timeouts_last_packet": 4, "timeouts_last_ack": 1}
"""Figure 3's percentages, 57.1, 33.9, 7.1 and 1.8, are these of 56 timeouts in 100 messages."""

_REASONS = {
    "timeouts_nak": "reason 3:\na NAK is lost",
    "timeouts_twice": "reason 4: the same\npacket is lost twice",
    "timeouts_last_packet": "reason 1: the last\npacket is lost",
    "timeouts_last_ack": "reason 2: the\nlast ACK is lost",
}


def shares(table: pd.DataFrame) -> pd.Series:
    """Return each reason's share of all timeouts."""
    totals = go_back_n_runs(table, 1e-2)[list(TIMEOUT_REASONS)].sum()
    return totals / totals.sum()


def _each(table: pd.DataFrame) -> Verdict:
    share = shares(table)
    three, four = share["timeouts_nak"], share["timeouts_twice"]
    others = share["timeouts_last_packet"] + share["timeouts_last_ack"]
    words = "; ".join(percent(share[name]) for name in PUBLISHED)
    holds = 0.30 <= three <= 0.65 and 0.30 <= four <= 0.65 and 0.03 <= others <= 0.15
    return Verdict(words, holds)


def _both(table: pd.DataFrame) -> Verdict:
    share = shares(table)
    value = share["timeouts_nak"] + share["timeouts_twice"]
    return Verdict(percent(value), 0.85 <= value <= 0.97)


def _per_message(table: pd.DataFrame) -> Verdict:
    runs = go_back_n_runs(table, 1e-2)
    value = runs["timeouts"].sum() / runs["messages"].sum()
    return Verdict(f"{value:.3f} ({runs['timeouts'].sum():.0f} timeouts)", 0.4 <= value <= 0.65)


def _other_reasons(table: pd.DataFrame) -> Verdict:
    count = go_back_n_runs(table, 1e-2)["timeouts_unasked"].sum()
    return Verdict(f"{count:.0f} timeouts", count == 0)


@register_experiment
class Figure3(LossSweep):
    """The paper's four reasons at a loss rate of 1%, under go-back-N with a timeout of 100 ms."""

    name = "igbn.fig3"
    points_of = LossSweep
    title = "Proportion for each reason"
    description = "Improved Go-Back-N, figure 3: what go-back-N's timeouts come from at a loss rate of 1%"
    claims = (
        Claim(
            id="igbn-f3-1",
            place="III-A",
            quantity="reason 3; 4; 1; 2",
            condition="p = 1%, 100 runs",
            published="57.1; 33.9; 7.1; 1.8%",
            words="R3 and R4 each 30-65%; R1+R2 3-15%",
            judge=_each,
            **known("igbn-f3-1"),
        ),
        Claim(
            id="igbn-f3-2",
            place="III-A",
            quantity="R3+R4",
            condition="p = 1%",
            published="about 90%",
            words="85-97%",
            judge=_both,
            **known("igbn-f3-2"),
        ),
        Claim(
            id="igbn-f3-3",
            place="derived",
            quantity="timeouts per message",
            condition="p = 1%",
            published="0.56 (derived)",
            words="0.4-0.65",
            judge=_per_message,
            **known("igbn-f3-3"),
        ),
        Claim(
            id="igbn-f3-3a",
            place="III-A",
            quantity="timeouts for none of the four reasons",
            condition="p = 1%",
            published="four reasons",
            words="0",
            judge=_other_reasons,
        ),
    )

    def settings(self, scale: str) -> list[Setting]:
        wanted = ("go-back-n", ACK_TIMEOUT_PS, 1e-2)
        return [one for one in super().settings(scale) if (one.variant, one.timeout_ps, one.loss) == wanted]

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        table = of_reading(table)
        runs = go_back_n_runs(table, 1e-2)
        by_run = runs[list(PUBLISHED)].div(runs[list(PUBLISHED)].sum(axis=1), axis=0)
        low, high = np.percentile(by_run, [5, 95], axis=0)
        count = int(runs["timeouts"].sum())
        ours = shares(table)[list(PUBLISHED)].to_numpy()
        theirs = np.array(list(PUBLISHED.values())) / sum(PUBLISHED.values())
        x = np.arange(len(PUBLISHED))
        with style():
            figure, ax = plt.subplots(figsize=(7.5, 4.2))
            ax.bar(x - 0.2, 100 * theirs, 0.36, color=COLOURS["orange"], label="paper: 56 timeouts of 100 messages")
            ax.bar(x + 0.2, 100 * ours, 0.36, color=COLOURS["blue"], label=f"here: {count} timeouts")
            ends = 100 * np.clip([ours - low, high - ours], 0, None)
            ax.errorbar(
                x + 0.2, 100 * ours, yerr=ends, linestyle="none", color="0.2", capsize=4,
                label=f"90% of {len(runs)} runs, each of {runs['messages'].iloc[0]:.0f} messages",
            )  # fmt: skip
            for place, values in ((x - 0.2, theirs), (x + 0.2, ours)):
                for at, value in zip(place, values, strict=True):
                    ax.text(at - 0.03, 100 * value + 0.8, f"{100 * value:.1f}", ha="right", fontsize=8)
            ax.set(title=f"IGBN, figure 3: {self.title}, loss rate 1%", ylabel="share of timeouts (%)", ylim=(0, None))
            ax.set_xticks(x, [_REASONS[name] for name in PUBLISHED])
            ax.grid(visible=False, axis="x")
            ax.legend()
        return figure
