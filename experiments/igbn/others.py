"""Improved Go-Back-N, sections II-A and V: go-back-0 and IRN, which the paper describes without a figure.

IRN runs with its own timeouts, 100 and 320 us, and without PFC, which this network does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import rdmacc
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.igbn.drawing import closed_form, label
from rdmacc.experiments.igbn.fig06 import LOOKS
from rdmacc.experiments.igbn.known import known
from rdmacc.experiments.igbn.setup import GOODPUT, TITLES, VARIANTS, LossSweep, Setting, mean, percent, runs_of
from rdmacc.plotting.style import COLOURS, style
from rdmacc.presets.igbn_2019 import IGBN_2019
from rdmacc.schemes import Scheme
from rdmacc.units import ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["OtherRecoveries"]

_LONG: int = ms(100)
_SHORT: int = us(500)

_ONE_PERCENT = 1e-2


def _whole_messages(table: pd.DataFrame) -> Verdict:
    words, holds = [], True
    for loss in (1e-5, 1e-4, 5e-4):
        value = mean(runs_of(table, "go-back-0", _LONG, loss))
        computed = closed_form("go-back-0", _LONG, [loss])[0]
        words.append(f"{percent(value)} at {loss:g} ({percent(computed)})")
        holds &= abs(value - computed) <= 0.03
    return Verdict(", ".join(words), holds)


def _selective(table: pd.DataFrame) -> Verdict:
    value = mean(runs_of(table, "irn", _LONG, _ONE_PERCENT))
    improved = closed_form("improved-go-back-n", _LONG, [_ONE_PERCENT])[0]
    return Verdict(f"{percent(value)}, Improved {percent(improved)} by the closed form", value > improved)


def _still_timeouts(table: pd.DataFrame) -> Verdict:
    runs = runs_of(table, "irn", _LONG, _ONE_PERCENT)
    rate = runs["timeouts"].sum() / runs["messages"].sum()
    return Verdict(f"{rate:.2f} timeouts per message", rate > 0.1)


@register_experiment
class OtherRecoveries(LossSweep):
    """What came before go-back-N, and what came after."""

    name = "igbn.others"
    title = "Go-back-0 and selective repeat"
    description = (
        "Improved Go-Back-N, II-A and V: go-back-0 and IRN over the loss rate, compared with the paper's variants"
    )
    claims = (
        Claim(
            id="igbn-x-2a",
            place="II-A",
            quantity="go-back-0",
            condition="p = 1e-5, 1e-4, 5e-4",
            published="will waste much bandwidth",
            words="within 3 points of the closed form",
            judge=_whole_messages,
            **known("igbn-x-2a"),
        ),
        Claim(
            id="igbn-x-3a",
            place="V",
            quantity="IRN",
            condition="p = 1e-2",
            published="cannot avoid triggering ACK timeout",
            words="> 0.1 timeouts per message",
            judge=_still_timeouts,
        ),
        Claim(
            id="igbn-x-3b",
            place="V",
            quantity="IRN against Improved Go-Back-N",
            condition="p = 1e-2",
            published="(no comparison)",
            words="IRN above",
            judge=_selective,
        ),
    )

    def settings(self, scale: str) -> list[Setting]:
        every = (1e-5, 1e-4, 5e-4, 1e-3, 1e-2) if scale == "quick" else (1e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2)
        # Beyond, a whole message hardly ever comes through.
        whole = [Setting("go-back-0", _LONG, loss) for loss in every if loss <= 1e-3]
        return whole + [Setting("irn", _LONG, loss) for loss in every]

    def runs(self, setting: Setting, scale: str) -> int:
        return 2 if scale == "quick" else 6

    def scheme(self, setting: Setting) -> Scheme:
        if setting.variant == "irn":
            return rdmacc.scheme("irn", payload_bytes=IGBN_2019["go-back-n"].payload_bytes)
        return super().scheme(setting)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, ax = plt.subplots(figsize=(7.5, 4.4))
            fine = np.geomspace(1e-5, 1e-2, 80)
            for variant in (*VARIANTS, "go-back-0"):
                colour = COLOURS[LOOKS[variant][0] if variant in LOOKS else "purple"]
                ax.plot(
                    100 * fine, 100 * closed_form(variant, _LONG, fine), color=colour, linewidth=1.0,
                    label=f"{TITLES.get(variant, 'Go-Back-0')} (closed form)",
                )  # fmt: skip
            for variant, name, colour, marker in (
                ("go-back-0", "Go-Back-0", "purple", "v"),
                ("irn", "IRN", "black", "P"),
            ):
                losses = np.sort(table.loc[table["variant"] == variant, "loss"].unique())
                runs = [runs_of(table, variant, _LONG, loss)[GOODPUT] for loss in losses]
                means = np.array([1.0 / (1.0 / one).mean() for one in runs])
                ends = np.array([[m - one.min(), one.max() - m] for m, one in zip(means, runs, strict=True)]).T
                ax.errorbar(
                    100 * losses, 100 * means, yerr=100 * ends, color=COLOURS[colour], marker=marker, capsize=2,
                    linewidth=1.2, linestyle="--" if variant == "irn" else "none",
                    label=f"{name} (simulated, all runs)",
                )  # fmt: skip
            label(ax, f"IGBN, sections II-A and V: {self.title}")
            ax.legend(loc="lower left", fontsize=8)
        return figure
