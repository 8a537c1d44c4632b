"""REN, figure 11: the runs of figure 3 with one to four bursts. Set-up: `rdmacc.experiments.ren.bursts`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.ren.bursts import Bursts, burst_point, seeds_of
from rdmacc.experiments.ren.known import known
from rdmacc.experiments.ren.setup import BUFFER_PACKETS, LOOKS
from rdmacc.plotting.style import style
from rdmacc.sweep.tidy import wide

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SLOT_MODEL", "Figure11"]

_SCHEMES = ("phost", "homa-2-levels", "homa", "ndp", "traditional", "ren", "ren-packet")
_PUBLISHED = ("phost", "homa-2-levels", "ndp", "ren")
_BURSTS = (1, 2, 3, 4)
SLOT_MODEL = {1: 0.0, 2: 0.33, 3: 0.49, 4: 0.59}
"""Loss of utilisation in a model in slots of one packet: each slot's arrivals in random order, 42 packets of buffer, a
lost packet is gone from the clock, and packets take no time on the links."""


def _means(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return the mean of a quantity over the seeds, by bursts and scheme."""
    return wide(table).pivot_table(index="bursts", columns="scheme", values=quantity)


def _losses(table: pd.DataFrame) -> pd.DataFrame:
    rows = wide(table)
    lost = 1 - rows["throughput after"] / rows["throughput before"]
    return rows.assign(lost=lost).pivot_table(index="bursts", columns="scheme", values="lost")


def _low(table: pd.DataFrame) -> Verdict:
    means = _means(table, "occupancy")[list(_PUBLISHED)]
    own, others = means["ren"], means.drop(columns="ren").min(axis=1)
    words = "; ".join(f"{LOOKS[name][0]} {means[name].min():.1%} to {means[name].max():.1%}" for name in _PUBLISHED)
    lowest = bool((own <= others).all())
    return Verdict(f"of the buffer, on average: {words}", lowest and bool((own <= 0.1).all()), lowest)


def _words(losses: pd.Series) -> str:
    return ", ".join(f"{value:.0%}" for value in losses)


def _grows_for(losses: pd.Series) -> bool:
    rises = all(after >= before for before, after in pairwise(losses))
    return bool(rises and losses.iloc[0] <= 0.1 and losses.iloc[1:].between(0.15, 0.6).all())


def _grows(table: pd.DataFrame) -> Verdict:
    losses = _losses(table)
    words = "; ".join(f"{LOOKS[name][0]} {_words(losses[name])}" for name in ("phost", "homa-2-levels"))
    both = [losses[name] for name in ("phost", "homa-2-levels")]
    return Verdict(
        f"for 1 to 4 bursts: {words}",
        all(map(_grows_for, both)),
        all(one.iloc[-1] > one.iloc[0] for one in both),
    )


def _grows_by_grants(table: pd.DataFrame) -> Verdict:
    losses = _losses(table)
    own, model = losses["traditional"], pd.Series(SLOT_MODEL)
    off = float((own - model).abs().max())
    measured = f"{_words(own)}; model in slots {_words(model)}; REN {_words(losses['ren'].clip(lower=0))}"
    return Verdict(measured, _grows_for(own) and off <= 0.1 and bool((losses["ren"] <= 0.02).all()))


@register_experiment
class Figure11(Bursts):
    """Occupancy with the bursts, and utilisation lost after them."""

    name = "ren.fig11"
    title = "Performance with varying burst degree"
    description = "REN, figure 11: buffer occupancy during, and utilisation lost after, one to four bursts"
    claims = (
        Claim(
            id="ren-f11a-1",
            place="5.2",
            quantity="buffer occupancy from the bursts' start to their end",
            condition="REN, 1 to 4 bursts",
            published="very low at every degree",
            words="lowest of the four, at most 10% of the buffer on average; direction: lowest",
            judge=_low,
            **known("ren-f11a-1"),
        ),
        Claim(
            id="ren-f11b-1",
            place="5.2",
            quantity="utilisation lost after the bursts",
            condition="pHost, Homa",
            published="grows with the number of bursts",
            words="never falls; at most 10% with one, 15-60% with more; direction: more with 4 than with 1",
            judge=_grows,
            **known("ren-f11b-1"),
        ),
        Claim(
            id="ren-f11-a",
            place="5.2, with 2's description",
            quantity="utilisation lost after the bursts",
            condition="one grant for one packet, whatever was lost; REN",
            published="grows with the number of bursts (of pHost and Homa)",
            words="as above, within 10 points of a model in slots; REN at most 2%",
            judge=_grows_by_grants,
            **known("ren-f11-a"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        times = "quick" if check_scale(scale) == "quick" else "tenth"
        return [
            burst_point(name, bursts, times, one)
            for name in _SCHEMES
            for bursts in _BURSTS
            for one in seeds_of(name, scale, seed)
        ]

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        rows = wide(table)
        rows = rows.assign(lost=100 * (1 - rows["throughput after"] / rows["throughput before"]))
        rows = rows.assign(percent=100 * rows["occupancy"])
        with style():
            figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
            for ax, quantity in zip(axes, ("percent", "lost"), strict=True):
                for number, name in enumerate(_SCHEMES):
                    label, colour, marker = LOOKS[name]
                    line = "--" if name in ("homa", "ren-packet", "traditional") else "-"
                    found = rows[rows["scheme"] == name].groupby("bursts")[quantity]
                    mean, places = found.mean(), found.mean().index + (number - 3) * 0.03
                    spread = [(mean - found.min()).clip(lower=0), (found.max() - mean).clip(lower=0)]
                    ax.errorbar(
                        places, mean, spread, fmt=marker + line, color=colour, capsize=2, linewidth=1.3, markersize=5,
                        label="Homa, 8 levels" if name == "homa" else label,
                    )  # fmt: skip
                ax.set(xlabel="bursty flows", xticks=_BURSTS)
            axes[1].plot(
                list(SLOT_MODEL),
                [100 * value for value in SLOT_MODEL.values()],
                ":",
                color="0.2",
                label="model in slots",
            )
            axes[0].set(
                title="(a) with the bursts",
                ylabel=f"buffer occupancy (% of {BUFFER_PACKETS:.1f} packets)",
                ylim=(-3, 105),
            )
            axes[1].set(title="(b) after the bursts", ylabel="loss of link utilisation (%)", ylim=(-3, 105))
            axes[1].legend(fontsize=8, loc="upper left", ncols=2)
            figure.suptitle(
                f"REN, figure 11: {self.title} (mean, least and greatest of the runs)", x=0.01, ha="left", fontsize=12
            )
        return figure
