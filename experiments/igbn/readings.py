"""Improved Go-Back-N: two sentences that can be read in two ways, each reading simulated, side by side.

- When the sender's timer starts (the paper does not say): with the first packet that is sent, or with the last one of
  the message, as in the public ns-3 sender. All of figures 2, 3, 6 and 7 are run under both.
- What the NAK interval is for: "at most one NAK" for each packet that is missing, as in the public ns-3 receiver, or
  one for all packets together, as II-A says literally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Outcome, Verdict
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.igbn.fig02 import Figure2
from rdmacc.experiments.igbn.fig03 import Figure3
from rdmacc.experiments.igbn.fig06 import Figure6
from rdmacc.experiments.igbn.fig07 import Figure7
from rdmacc.experiments.igbn.known import known
from rdmacc.experiments.igbn.setup import (
    ACK_TIMEOUT_PS,
    DEFAULT_TIMER,
    FOR_ALL,
    PER_PACKET,
    TIMEOUTS,
    TIMERS,
    VARIANTS,
    LossSweep,
    Setting,
    in_words,
    mean_at,
    of_reading,
)
from rdmacc.plotting.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["OtherReadings", "claims_by_timer"]

_ONE_PERCENT = 1e-2
_PUBLISHED_BEST = 0.6
"""Improved Go-Back-N at a loss rate of 1% (IV-A)."""


def _means(table: pd.DataFrame, timeout_ps: int = ACK_TIMEOUT_PS) -> dict[str, float]:
    return {variant: mean_at(table, variant, timeout_ps, _ONE_PERCENT) for variant in VARIANTS}


def claims_by_timer(table: pd.DataFrame) -> pd.DataFrame:
    """Return the outcome of every claim on figures 2, 3, 6 and 7 under both readings of the timer.

    Parameters
    ----------
    table : DataFrame
        The experiment's table at paper scale.

    Returns
    -------
    DataFrame
        A row for each claim by its id, a column for each reading.
    """
    claims = [claim for figure in (Figure2, Figure3, Figure6, Figure7) for claim in figure.claims]
    found = {
        timer: [claim.verdict(of_reading(table, timer)).outcome for claim in claims] for timer in (*TIMERS,)
    }  # fmt: skip
    return pd.DataFrame(found, index=pd.Index([claim.id for claim in claims], name="id"))


def _fits_more(table: pd.DataFrame) -> Verdict:
    settings = [
        set(zip(*(of_reading(table, timer)[name] for name in ("variant", "timeout_ps", "loss")))) for timer in TIMERS
    ]
    if settings.count(settings[0]) < len(settings):
        return Verdict.not_judged("the readings are not both run in full at this scale")
    held = (claims_by_timer(table) == Outcome.HOLDS).sum()
    other = next(timer for timer in TIMERS if timer != DEFAULT_TIMER)
    words = " and ".join(f"{held[timer]} with the {timer}" for timer in TIMERS)
    return Verdict(f"{words}, of {len(claims_by_timer(table))}", bool(held[DEFAULT_TIMER] >= held[other]))


def _far_below(table: pd.DataFrame) -> Verdict:
    means = _means(of_reading(table, nak_interval=FOR_ALL))
    return Verdict(in_words(means), max(means.values()) < _PUBLISHED_BEST / 2)


@register_experiment
class OtherReadings(LossSweep):
    """Both readings of the timer in full, and the NAK interval to the letter."""

    name = "igbn.readings"
    points_of = LossSweep
    title = "Two readings of two sentences"
    description = "Improved Go-Back-N: when its timer starts, and what its NAK interval is for, each in both readings"
    claims = (
        Claim(
            id="igbn-x-1",
            place="II-A",
            quantity="NAK interval for all packets together",
            condition="100 ms, p = 1e-2",
            published="about 60% for Improved: so the interval is for each packet",
            words="no variant at half of that: rejected",
            judge=_far_below,
        ),
        Claim(
            id="igbn-x-4a",
            place="derived",
            quantity="claims on figures 2, 3, 6 and 7 that hold",
            condition="timer from the first or from the last packet on",
            published="(not stated)",
            words="the preset's reading fits at least as many",
            judge=_fits_more,
            **known("igbn-x-4a"),
        ),
    )

    def settings(self, scale: str) -> list[Setting]:
        both = [
            Setting(variant, timeout_ps, _ONE_PERCENT, timer)
            for timer in TIMERS
            for timeout_ps in TIMEOUTS
            for variant in VARIANTS
        ]
        usual = dict.fromkeys([*super().settings(scale), *both])
        return [*usual, *(Setting(variant, ACK_TIMEOUT_PS, _ONE_PERCENT, nak_interval=FOR_ALL) for variant in VARIANTS)]

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        return table if reading == DEFAULT else None  # of all readings

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        x = np.arange(len(VARIANTS))
        timers = [(f"from the {timer} on", of_reading(table, timer), c) for timer, c in zip(TIMERS, ("blue", "sky"))]
        naks = [
            (name, of_reading(table, nak_interval=name), colour)
            for name, colour in ((PER_PACKET, "blue"), (FOR_ALL, "vermilion"))
        ]
        panels = [(f"timer, {name.replace('us', 'µs')}", time_ps, timers) for time_ps, name in TIMEOUTS.items()]
        panels += [("NAK interval, 100 ms", ACK_TIMEOUT_PS, naks)]
        with style():
            figure, axes = plt.subplots(1, len(panels), figsize=(14, 4), sharey=True)
            for ax, (title, timeout_ps, readings) in zip(axes, panels, strict=True):
                for shift, (name, rows, colour) in zip((-0.2, 0.2), readings, strict=True):
                    values = [100 * value for value in _means(rows, timeout_ps).values()]
                    ax.bar(x + shift, values, 0.36, color=COLOURS[colour], label=name)
                    for at, value in zip(x + shift, values, strict=True):
                        ax.text(at, value + 0.8, f"{value:.1f}", ha="center", fontsize=7)
                ax.set(title=title, ylim=(0, 78))
                ax.set_xticks(x, list(VARIANTS.values()))
                ax.grid(visible=False, axis="x")
                ax.legend(loc="upper left", fontsize=8)
            axes[0].set_ylabel("relative throughput (%)")
            figure.suptitle(f"IGBN: {self.title.lower()}, loss rate 1%, all simulated", x=0.01, ha="left", fontsize=12)
        return figure
