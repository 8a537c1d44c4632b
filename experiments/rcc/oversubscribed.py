"""RCC, figure 13 on a fabric whose links have half the rate, so that each tier is oversubscribed by 2.

As we read V-A, the paper's fat tree is non-blocking: long queues form only at last hops. RCC's window there is at most
RCC-EWA's, so the PID gains little. Where the fabric is the bottleneck, the PID has work to do. V-A does not say how
many pods the switches form, so the fabric may well be oversubscribed. A load of 30% of the hosts' links fills about 57%
of the ToRs' uplinks. Setup: `rdmacc.experiments.rcc.fat_tree`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import networkx as nx
import pandas as pd

from rdmacc import topology
from rdmacc.experiments.framework.bands import Each, MoreThan, Some
from rdmacc.experiments.framework.claim import OURS, Claim, Outcome
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.rcc.fat_tree import FEW_FLOWS, VARIANTS, FatTreeCase, FatTreeFigure, quick_tree
from rdmacc.experiments.rcc.fct import by_scheme
from rdmacc.experiments.rcc.setup import LOOKS, NAMES
from rdmacc.show.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LOADS", "FabricCase", "Oversubscribed"]

_NAME = "web_search"
_FABRIC = "200Gbps"
LOADS = (0.3,)
_PARTS = VARIANTS[1:]
_AT_SOME_LOAD = Each(Some(MoreThan(0), of="the loads"))
_TREES: dict[str, Callable[[], nx.Graph[Any]]] = {
    "quick": partial(quick_tree, _FABRIC), "paper": partial(topology.rcc_fat_tree, fabric_rate=_FABRIC),
}  # fmt: skip


class FabricCase(FatTreeCase):
    """A run with slower links between the switches."""

    def tree(self, scale: str) -> Callable[[], nx.Graph[Any]]:
        return _TREES[scale]

    def point(self, scale: str, seed: int) -> Point:
        point = super().point(scale, seed)
        return replace(point, name=f"{point.name}, 2:1")


_ALL = tuple(FabricCase(scheme, _NAME, load) for scheme in VARIANTS for load in LOADS)


_WHY = (
    "The PID works: short flows' slowdown is 26% lower than under RCC-EWA, and that of all flows 7% lower. Explicit"
    " windows, by contrast, gain nothing over RCC-PID where last hops do not fill. Long flows pay for the short queues,"
    " so the average FCT is 26% higher than under RCC-EWA."
)


def _claim(id_: str, words: str, quantity: str) -> Claim:
    return Claim(
        id_, "V-E-2", f"RCC's reduction of {words}", "over RCC-PID; RCC-EWA, 2:1 fabric",
        "of the average FCT: 28%; 19%", by=OURS,
        measure=partial(by_scheme, quantity=quantity, name=_NAME, schemes=_PARTS),
        band=_AT_SOME_LOAD, unit="%", expect=Outcome.FAILS, why=_WHY, too_small=FEW_FLOWS, needs=_ALL,
    )  # fmt: skip


@register_experiment
class Oversubscribed(FatTreeFigure):
    """Slowdown and FCT on a 2:1 fabric: RCC, RCC without explicit windows, RCC without the PID."""

    name = "rcc.oversubscribed"
    title = "RCC deep dive on an oversubscribed fabric"
    description = "slowdown and FCT, web search, 2:1 fabric: RCC, RCC-PID and RCC-EWA"
    seeds = 1
    claims = (
        _claim("rcc-o-1a", "the mean slowdown", "all slowdown"),
        _claim("rcc-o-2a", "short flows' mean slowdown", "short slowdown"),
        _claim("rcc-o-3a", "the average FCT", "all mean"),
    )

    def cases(self, scale: str) -> list[FabricCase]:
        return [FabricCase(scheme, _NAME, load) for load in LOADS for scheme in VARIANTS]

    def draw(self, rows: pd.DataFrame) -> Figure:
        panels = {
            "all slowdown": ("all flows", "mean slowdown", 1.0),
            "short slowdown": ("flows below 100 KB", "mean slowdown", 1.0),
            "all mean": ("all flows", "average FCT (µs)", 1e6),
        }
        of = rows.set_index("scheme")
        names, colours = [NAMES[one] for one in VARIANTS], [COLOURS[LOOKS[one][1]] for one in VARIANTS]
        with style():
            figure, axes = plt.subplots(1, 3, figsize=(10, 3.4))
            for ax, (quantity, (title, label, unit)) in zip(axes, panels.items(), strict=True):
                ax.bar(names, [of.loc[one, quantity] / unit for one in VARIANTS], color=colours, width=0.6)
                ax.bar_label(ax.containers[0], fmt="%.3g")
                ax.set(title=title, ylabel=label)
                ax.margins(y=0.12)
            figure.suptitle(f"RCC, figure 13 on a fabric oversubscribed by 2, web search at {LOADS[0]:.0%}")
        return figure
