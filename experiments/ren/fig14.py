"""REN, figure 14: 99th percentile slowdown by flow size, four workloads at a load of 0.5.

The axis is linear in the number of flows: a tick for each tenth of them, labelled with its largest flow in packets. The
paper's gains "with the flow size of" 11,054 and 1,809 packets are taken as those of the tenth with that size.

Setup and assumptions: `rdmacc.experiments.ren.leaf_spine`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.leaf_spine import BASELINES, SCHEMES, TENTHS, WORKLOADS, Case, LeafSpineFigure, cases
from rdmacc.experiments.ren.loads import claim, in_words, means_of, reduction
from rdmacc.experiments.ren.setup import LOOKS, PAYLOAD_BYTES
from rdmacc.plotting.style import plain_log, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PUBLISHED", "Figure14"]

LOAD = 0.5
PUBLISHED = {
    "data_mining": (11054, dict(zip(BASELINES, (0.09, 0.51, 0.39, 0.04, 0.06, 0.21), strict=True))),
    "cache_follower": (1809, dict(zip(BASELINES, (0.50, 0.35, 0.29, 0.14, 0.18, 0.20), strict=True))),
}
"""Size in packets and the reductions of the slowdown there (6.1)."""
_POINTS = 0.25
"""How far from the published reduction is still near it."""


def slowdowns(rows: pd.DataFrame, scheme: str, workload: str) -> np.ndarray:
    """Return the p99 slowdown of each tenth of the flows, the mean over seeds."""
    return _by_tenth(rows, "p99 slowdown", scheme, workload)


def largest(rows: pd.DataFrame, workload: str) -> np.ndarray:
    """Return the largest size in each tenth of the flows, bytes, the mean over seeds."""
    return _by_tenth(rows, "largest", "ren", workload)


def _by_tenth(rows: pd.DataFrame, quantity: str, scheme: str, workload: str) -> np.ndarray:
    return means_of(rows, [f"{quantity}, {k}" for k in TENTHS], scheme, workload).loc[LOAD].to_numpy()


def tenth_of(rows: pd.DataFrame, workload: str, packets: int) -> int:
    """Return which tenth of the flows, counted from 0, has flows of so many packets."""
    return int(np.searchsorted(largest(rows, workload)[:-1], packets * PAYLOAD_BYTES))


def gains(rows: pd.DataFrame, workload: str) -> np.ndarray:
    """Return REN's reduction of the p99 slowdown, by baseline and tenth."""
    ren = slowdowns(rows, "ren", workload)
    return np.array([reduction(ren, slowdowns(rows, one, workload)) for one in BASELINES])


def _as_published(workload: str) -> Callable[[pd.DataFrame], Verdict]:
    packets, published = PUBLISHED[workload]

    def judge(rows: pd.DataFrame) -> Verdict:
        found = dict(zip(BASELINES, gains(rows, workload)[:, tenth_of(rows, workload, packets)], strict=True))
        is_positive = min(found.values()) > 0
        is_near = all(abs(found[one] - value) <= _POINTS for one, value in published.items())
        return Verdict(in_words(found), is_positive and is_near, is_positive)

    return judge


def _lowest(rows: pd.DataFrame) -> Verdict:
    counts = dict.fromkeys(SCHEMES, 0)
    for workload in WORKLOADS:
        best = np.argmin([slowdowns(rows, one, workload) for one in SCHEMES], axis=0)
        for one in best:
            counts[SCHEMES[one]] += 1
    total = sum(counts.values())
    measured = ", ".join(f"{LOOKS[one][0]} {count}" for one, count in counts.items() if count)
    return Verdict(
        f"lowest in so many of {total} tenths: {measured}", counts["ren"] >= 0.7 * total,
        counts["ren"] == max(counts.values()),
    )  # fmt: skip


def _grows_with_size(rows: pd.DataFrame) -> Verdict:
    found = {
        name: float(np.corrcoef(TENTHS, gains(rows, workload).mean(axis=0))[0, 1])
        for workload, name in WORKLOADS.items()
    }
    measured = ", ".join(f"{name} {value:+.2f}" for name, value in found.items())
    return Verdict(f"correlation of tenth and mean gain: {measured}", min(found.values()) > 0, sum(found.values()) > 0)


_ALL = cases(WORKLOADS, [LOAD])


@register_experiment
class Figure14(LeafSpineFigure):
    """p99 slowdown of each tenth of the flows by size, seven schemes, four workloads, load 0.5."""

    name = "ren.fig14"
    title = "The 99th percentile slowdown"
    description = "p99 slowdown of each tenth of the flows by size, seven schemes, four workloads, load 0.5"
    claims = (
        claim(
            "ren-f14-1", "6.1", "reduction of the p99 slowdown", "data mining, 11,054 packets, load 0.5",
            "9, 51, 39, 4, 6, 21%", "each positive and within 25 points; direction: positive",
            _as_published("data_mining"), _ALL,
        ),
        claim(
            "ren-f14-2", "6.1", "reduction of the p99 slowdown", "cache follower, 1,809 packets, load 0.5",
            "50, 35, 29, 14, 18, 20%", "each positive and within 25 points; direction: positive",
            _as_published("cache_follower"), _ALL,
        ),
        claim(
            "ren-f14-3", "6.1", "scheme with the lowest p99 slowdown", "all workloads and sizes", "REN, in general",
            "REN in 70% of the tenths; direction: in more of them than any other", _lowest, _ALL,
        ),
        claim(
            "ren-f14-4", "6.1", "gain over size", "mean over baselines", "larger for larger flows",
            "positive correlation in each workload; direction: on average", _grows_with_size, _ALL,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        """Return all schemes and workloads at the one load."""
        return _ALL

    def draw(self, rows: pd.DataFrame) -> Figure:
        """Draw a panel for each workload."""
        with style():
            figure, axes = plt.subplots(2, 2, figsize=(10.4, 7.0), layout="constrained")
            for ax, (workload, title) in zip(axes.flat, WORKLOADS.items(), strict=True):
                self._panel(ax, rows, workload)
                ax.set_title(title)
            figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper")
            figure.suptitle(f"REN, figure 14: 99th percentile slowdown at a load of {LOAD}")
        return figure

    def _panel(self, ax: Axes, rows: pd.DataFrame, workload: str) -> None:
        for scheme in SCHEMES:
            chosen = rows[(rows["scheme"] == scheme) & (rows["workload"] == workload) & (rows["load"] == LOAD)]
            values = chosen[[f"p99 slowdown, {k}" for k in TENTHS]]
            name, colour, marker = LOOKS[scheme]
            ax.plot(TENTHS, values.mean(), marker=marker, color=colour, label=name)
            ax.fill_between(TENTHS, values.min(), values.max(), color=colour, alpha=0.2, linewidth=0)
        if workload in PUBLISHED:
            packets, published = PUBLISHED[workload]
            tenth = tenth_of(rows, workload, packets)
            ren = slowdowns(rows, "ren", workload)[tenth]
            for scheme, value in published.items():
                _, colour, marker = LOOKS[scheme]
                hollow = {"x": "X"}.get(marker, marker)
                ax.plot(tenth + 1.35, ren / (1 - value), hollow, mfc="none", mec=colour, linestyle="none")
            ax.plot([], [], "o", mfc="none", mec="0.3", linestyle="none", label="REN's value and\nthe published gain")
        packets_of = np.ceil(largest(rows, workload) / PAYLOAD_BYTES).astype(int)
        ax.set_xticks(TENTHS, [f"{one:,}" for one in packets_of], rotation=35, fontsize="small")
        plain_log(ax)
        ax.set(xlabel="flow size (packets); a tick is a tenth of the flows", ylabel="p99 slowdown")
