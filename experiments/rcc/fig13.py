"""RCC, figure 13: RCC without one of its two laws, web search. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pandas as pd

from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.rcc.fat_tree import LOADS, VARIANTS, Case, FatTreeFigure, cases, claim
from rdmacc.experiments.rcc.fct import by_scheme, draw_fct, draw_reductions, in_words
from rdmacc.plotting.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure13"]

_NAME = "web_search"
_PARTS = ("rcc-pid", "rcc-ewa")
PUBLISHED = {"rcc-pid": (0.28,), "rcc-ewa": (0.19,)}
"""By how much RCC's average FCT is lower, at most (V-E-2)."""
_ALL = [Case(scheme, _NAME, load) for scheme in VARIANTS for load in LOADS]


def _gaps(quantity: str) -> Callable[[pd.DataFrame], Verdict]:
    def verdict(rows: pd.DataFrame) -> Verdict:
        found = by_scheme(rows, quantity, _NAME, _PARTS)
        return Verdict(in_words(found), all(each.max() > 0 for each in found.values()))

    return verdict


def _always(rows: pd.DataFrame) -> Verdict:
    found = by_scheme(rows, "all mean", _NAME, _PARTS)
    return Verdict(
        in_words(found), all(each.min() > 0 for each in found.values()), all(each.mean() > 0 for each in found.values())
    )


@register_experiment
class Figure13(FatTreeFigure):
    """FCT over the load: RCC, without explicit windows, and without PID."""

    name = "rcc.fig13"
    title = "RCC deep dive in web search workload"
    description = "FCT over the load, web search: RCC, RCC-PID and RCC-EWA"
    claims = (
        claim(
            "rcc-f13-1", "V-E-2", "RCC's reduction of the average FCT, at most", "over RCC-PID; RCC-EWA",
            "28%; 19%", "> 0 at some load over each", _gaps("all mean"), _ALL,
        ),
        claim(
            "rcc-f13-2a", "V-E-2", "RCC's reduction of the average FCT", "over RCC-PID and RCC-EWA, every load",
            "always a gap", "> 0 at every load; direction: on average", _always, _ALL,
        ),
        claim(
            "rcc-f13-3a", "V-E-2", "RCC's reduction of the 99th percentile FCT, at most", "over RCC-PID; RCC-EWA",
            "similar", "> 0 at some load over each", _gaps("all p99"), _ALL,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return cases(VARIANTS, [_NAME], scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        with style():
            figure, (mean, tail, gap) = plt.subplots(1, 3, figsize=(11.4, 3.6))
            draw_fct(mean, rows, "all mean", VARIANTS, _NAME)
            draw_fct(tail, rows, "all p99", VARIANTS, _NAME)
            draw_reductions(gap, rows, "all mean", _PARTS, _NAME, PUBLISHED)
            mean.set(title="average", ylabel="FCT (µs)")
            tail.set(title="99th percentile", ylabel="FCT (µs)")
            gap.set(title="average: RCC below the variant", ylabel="%  (hollow: published, at most)")
            mean.legend()
            gap.legend()
            figure.suptitle("RCC, figure 13: with one of its laws, and with both, web search")
        return figure
