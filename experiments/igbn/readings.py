"""Improved Go-Back-N: two ambiguous sentences of the paper, simulated the other way."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.base import Claim, Verdict, register_experiment
from rdmacc.experiments.igbn.drawing import closed_form
from rdmacc.experiments.igbn.known import known
from rdmacc.experiments.igbn.setup import VARIANTS, LossSweep, in_words, mean_at, percent
from rdmacc.plotting.style import COLOURS, style
from rdmacc.schemes import Scheme
from rdmacc.units import ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["OtherReadings"]

_LONG: int = ms(100)
_SHORT: int = us(500)

_ONE_PERCENT = 1e-2


def _means(table: pd.DataFrame, timeout_ps: int) -> dict[str, float]:
    return {variant: mean_at(table, variant, timeout_ps, _ONE_PERCENT) for variant in VARIANTS}


def _nothing_left(table: pd.DataFrame) -> Verdict:
    means = _means(table, _LONG)
    return Verdict(in_words(means), max(means.values()) <= 0.04)


def _far_below(table: pd.DataFrame) -> Verdict:
    most = max(_means(table, _LONG).values())
    return Verdict(f"at most {percent(most)}", most < 0.3)


def _late_timer(table: pd.DataFrame) -> Verdict:
    means = _means(table, _SHORT)
    gbn, st, ce, improved = means.values()
    gain = (improved + ce) / (st + gbn) - 1
    return Verdict(f"{percent(gain)} ({in_words(means)})", 0.02 <= gain <= 0.20)


@register_experiment
class OtherReadings(LossSweep):
    """Two other readings: one NAK in 500 us for all packets together; a timer that starts with the last packet.

    The first is what section II-A says, taken literally. The second is what the public ns-3 sender does; the paper
    does not say when its timer starts.
    """

    name = "igbn.readings"
    title = "Other readings"
    description = "Improved Go-Back-N: its NAK interval to the letter, and a timer that starts with the last packet"
    claims = (
        Claim(
            id="igbn-x-1",
            place="derived",
            quantity="NAK interval",
            condition="reference semantics",
            published="per expected PSN",
            band="the global interval gives <= 4% at 1% for all: rejected",
            verdict=_nothing_left,
            **known("igbn-x-1"),
        ),
        Claim(
            id="igbn-x-1a",
            place="II-A",
            quantity="best variant",
            condition="global NAK interval, 100 ms, p = 1e-2",
            published="(60% for Improved)",
            band="below half of what is published: rejected",
            verdict=_far_below,
        ),
        Claim(
            id="igbn-f6c-2a",
            place="IV-A",
            quantity="Improved, CE vs ST, GBN",
            condition="500 us, p = 1e-2, timer from the last packet on",
            published="about 10% better",
            band="2-20% relative",
            verdict=_late_timer,
            **known("igbn-f6c-2a"),
        ),
    )
    messages = MappingProxyType({"quick": 2, "paper": 20})

    def settings(self, scale: str) -> list[tuple[str, int, float]]:
        return [(variant, timeout, _ONE_PERCENT) for timeout in (_LONG, _SHORT) for variant in VARIANTS]

    def scheme(self, variant: str, timeout_ps: int) -> Scheme:
        one = super().scheme(variant, timeout_ps)
        return one.replace(nak_per_packet=False) if timeout_ps == _LONG else one.replace(timer_after_last=True)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        x = np.arange(len(VARIANTS))
        panels = {
            _LONG: ("timeout 100 ms: NAK interval", "between NAKs for any packet (simulated)", "for each packet"),
            _SHORT: ("timeout 500 µs: the timer starts", "with the last packet (simulated)", "with every reply"),
        }
        with style():
            figure, axes = plt.subplots(1, 2, figsize=(12, 4), sharey=True)
            for ax, (timeout_ps, (title, here, usual)) in zip(axes, panels.items(), strict=True):
                other = [100 * value for value in _means(table, timeout_ps).values()]
                closed = [100 * closed_form(variant, timeout_ps, [_ONE_PERCENT])[0] for variant in VARIANTS]
                bars = ((x - 0.2, closed, "blue", f"{usual} (closed form)"), (x + 0.2, other, "vermilion", here))
                for place, values, colour, name in bars:
                    ax.bar(place, values, 0.36, color=COLOURS[colour], label=name)
                    for at, value in zip(place, values, strict=True):
                        ax.text(at, value + 0.8, f"{value:.1f}", ha="center", fontsize=8)
                ax.set(title=title, ylim=(0, 78))
                ax.set_xticks(x, list(VARIANTS.values()))
                ax.grid(visible=False, axis="x")
                ax.legend(loc="upper left")
            axes[0].set_ylabel("relative throughput (%)")
            figure.suptitle(f"IGBN: {self.title.lower()}, loss rate 1%", x=0.01, ha="left", fontsize=12)
        return figure
