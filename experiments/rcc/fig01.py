"""RCC, figure 1: DCQCN and TIMELY with two bottlenecks.

Setup and assumptions: `rdmacc.experiments.rcc.multi_bottleneck`. Flows start at 0, 100 and 200 ms; the run ends at
300 ms. At quick scale ten times as fast, which DCQCN's timers do not follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc import topology
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Seeding
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.rcc.known import known
from rdmacc.experiments.rcc.multi_bottleneck import draw_goodput, measure_flows, point_for, point_name, seeds
from rdmacc.experiments.rcc.setup import GOODPUT_BPS, NAMES
from rdmacc.plotting.style import style
from rdmacc.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure1"]

SCHEMES = ("dcqcn", "timely")


def _worst_off(table: pd.DataFrame, scheme: str) -> tuple[float, float]:
    """Return how long, in ps, a scheme is off max-min in phases 2 and 3: the least over the seeds."""
    found = [min(seeds(table, scheme, f"off max-min, phase {phase}")) for phase in (2, 3)]
    return found[0], found[1]


def _slow(table: pd.DataFrame) -> Verdict:
    off = _worst_off(table, "dcqcn")
    measured = f"DCQCN is 20% or more off max-min for {off[0] / 1e9:.1f} and {off[1] / 1e9:.1f} ms after flows 2 and 3"
    return Verdict(measured, min(off) >= 10e9, max(off) >= 10e9)


def _unfair(table: pd.DataFrame) -> Verdict:
    indices = [max(seeds(table, "timely", f"Jain, phase {phase}")) for phase in (2, 3)]
    swings = []
    for phase, place in ((2, "in network"), (3, "last hop")):
        mean = np.array(seeds(table, "timely", f"queue {place}, phase {phase}"))
        swing = np.array(seeds(table, "timely", f"swing {place}, phase {phase}"))
        swings.append(float((swing / np.maximum(mean, 1.0)).min()))
    measured = (
        f"Jain {indices[0]:.3f}, {indices[1]:.3f} with two and three flows; the bottleneck's queue varies by"
        f" {swings[0]:.0%} and {swings[1]:.0%} of its mean"
    )
    return Verdict(measured, min(indices) < 0.97 or max(swings) > 0.5)


def _no_better(table: pd.DataFrame) -> Verdict:
    used = {
        scheme: float(np.mean([
            seeds(table, scheme, f"goodput of flow {flow}, phase {phase}")
            for flow, phase in ((1, 2), (2, 2), (1, 3), (2, 3))
        ]) * 2 / GOODPUT_BPS)
        for scheme in SCHEMES
    }  # fmt: skip
    off = {scheme: sum(_worst_off(table, scheme)) / 1e9 for scheme in SCHEMES}
    measured = (
        f"use of the link between the switches: DCQCN {used['dcqcn']:.0%}, TIMELY {used['timely']:.0%}; off max-min for"
        f" {off['dcqcn']:.1f} and {off['timely']:.1f} ms"
    )
    is_no_better = used["timely"] <= 1.02 * used["dcqcn"] and off["timely"] >= 0.9 * off["dcqcn"]
    return Verdict(measured, is_no_better)


@register_experiment
class Figure1(Experiment):
    """Two senders' schemes that know too little of the network."""

    name = "rcc.fig1"
    title = "Performance of DCQCN and TIMELY in a multi-bottleneck topology"
    description = "RCC, figure 1: DCQCN and TIMELY with a bottleneck in the network and one at the last hop"
    seeding = Seeding.POOLED
    claims = (
        Claim(
            id="rcc-f1-1",
            place="II-B, figure 1b",
            quantity="time to the expected rate",
            condition="DCQCN, two bottlenecks",
            published="not quickly",
            words="20% or more off max-min for 10 ms or more after flow 2 and after flow 3; direction: after one",
            judge=_slow,
            **known("rcc-f1-1"),
        ),
        Claim(
            id="rcc-f1-2",
            place="II-B, figure 1c",
            quantity="fairness, steady delay",
            condition="TIMELY, two bottlenecks",
            published="unfair, or no steady delay",
            words="Jain < 0.97 in a phase, or the queue's standard deviation above half of its mean",
            judge=_unfair,
            **known("rcc-f1-2"),
        ),
        Claim(
            id="rcc-f1-2a",
            place="II-B",
            quantity="TIMELY against DCQCN",
            condition="two bottlenecks",
            published="comparable or worse",
            words="use of the link at most 2% more, and time off max-min no more than 10% less",
            judge=_no_better,
            **known("rcc-f1-2a"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        runs = range(seed, seed + (3 if check_scale(scale) == "paper" else 1))
        return [point_for(name, scale, run, (0, 100, 200), 300, quick=10) for name in SCHEMES for run in runs]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_flows(point, result)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), width_ratios=(1, 1.1, 1.1))
            topology.draw(topology.rcc_multi_bottleneck(), axes[0])
            axes[0].set_title("(a) network")
            for ax, scheme, letter in zip(axes[1:], SCHEMES, "bc", strict=True):
                draw_goodput(ax, table, point_name(table, scheme))
                ax.set_title(f"({letter}) {NAMES[scheme]}")
            axes[1].legend(ncols=3, loc="upper right", fontsize=8)
            figure.suptitle(f"RCC, figure 1: {self.title} (dotted: max-min shares)", x=0.01, ha="left", fontsize=12)
        return figure
