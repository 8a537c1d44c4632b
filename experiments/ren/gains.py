"""REN, figures 15 to 18 together: what REN gains over each baseline, by workload and load.

The claims of section 6.1 that are about all four workloads, the statistics of the workloads, and the headline of the
abstract, are judged here. Setup and assumptions: `rdmacc.experiments.ren.leaf_spine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.fig15 import Figure15
from rdmacc.experiments.ren.fig16 import Figure16
from rdmacc.experiments.ren.fig18 import Figure18
from rdmacc.experiments.ren.leaf_spine import BASELINES, LOADS, SCHEMES, WORKLOADS, Case, LeafSpineFigure, cases
from rdmacc.experiments.ren.loads import PANELS, claim, mean_of
from rdmacc.experiments.ren.setup import LOOKS
from rdmacc.plotting.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HEADLINE", "Gains", "gain"]

HEADLINE = 0.68
"""Largest reduction of the AFCT over pHost, Homa and NDP (abstract, sections 1 and 8)."""
_STATE_OF_THE_ART = ("phost", "homa", "ndp")
_HIGH = (0.5, 0.6, 0.7)
_AXES = {
    "AFCT, short": "short flows:\nAFCT reduced by (%)",
    "p99 FCT, short": "short flows:\np99 FCT reduced by (%)",
    "throughput, long": "long flows:\nthroughput raised by (%)",
    "AFCT": "all flows:\nAFCT reduced by (%)",
}
_LARGE, _SMALL = ("data_mining", "web_search"), ("hadoop", "cache_follower")


def gain(rows: pd.DataFrame, quantity: str, other: str, workload: str) -> pd.Series[float]:
    """Return by what fraction REN is better than another scheme, by load: lower times, higher throughput."""
    ren, its = (mean_of(rows, quantity, one, workload) for one in ("ren", other))
    return ren / its - 1 if quantity == "throughput, long" else 1 - ren / its


def _short_flows(rows: pd.DataFrame) -> Verdict:
    lowest, total = 0, 0
    for name in WORKLOADS:
        values = pd.DataFrame({one: mean_of(rows, "AFCT, short", one, name) for one in SCHEMES})
        lowest += int((values.idxmin(axis=1) == "ren").sum())
        total += len(values)
    best = max(float(gain(rows, "AFCT, short", "expresspass", name).max()) for name in WORKLOADS)
    measured = f"lowest at {lowest} of {total} loads; up to {best:.0%} below ExpressPass"
    return Verdict(measured, lowest == total and best >= 0.3, lowest >= total / 2 and best >= 0.3)


def _long_flows(rows: pd.DataFrame) -> Verdict:
    worst = {
        one: min(float(gain(rows, "throughput, long", one, name)[list(_HIGH)].min()) for name in WORKLOADS)
        for one in ("phost", "homa")
    }
    measured = ", ".join(f"{LOOKS[one][0]} {value:+.0%}" for one, value in worst.items())
    return Verdict(f"least gain at loads of 0.5 and more: {measured}", min(worst.values()) >= 0.05,
                   min(worst.values()) > 0)  # fmt: skip


def _gain_by_workload(rows: pd.DataFrame) -> Verdict:
    means = {
        name: float(np.mean([gain(rows, "throughput, long", one, name).mean() for one in ("phost", "homa")]))
        for name in WORKLOADS
    }
    measured = ", ".join(f"{WORKLOADS[name]} {value:+.1%}" for name, value in means.items())
    large, small = ([means[name] for name in some] for some in (_LARGE, _SMALL))
    is_larger = float(np.mean(large)) > float(np.mean(small))
    return Verdict(f"mean gain over pHost and Homa: {measured}", is_larger and min(large) > 0, is_larger)


def _expresspass(rows: pd.DataFrame) -> Verdict:
    worst = {}
    for one in ("ren", "ndp"):
        ratios = [
            mean_of(rows, "throughput, long", "expresspass", name) / mean_of(rows, "throughput, long", one, name)
            for name in WORKLOADS
        ]
        worst[one] = max(float(ratio[list(_HIGH)].max()) for ratio in ratios)
    measured = ", ".join(f"{value:.0%} of {LOOKS[one][0]}'s" for one, value in worst.items())
    return Verdict(f"ExpressPass at most {measured}", max(worst.values()) < 1)


def _grows_with_load(rows: pd.DataFrame) -> Verdict:
    means = {
        name: [float(np.mean([gain(rows, "AFCT", one, name)[load] for one in BASELINES])) for load in (0.3, 0.7)]
        for name in WORKLOADS
    }
    measured = ", ".join(f"{WORKLOADS[name]} {low:.0%} and {high:.0%}" for name, (low, high) in means.items())
    grows = [high >= low and high > 0 for low, high in means.values()]
    return Verdict(f"mean gain at 0.3 and 0.7: {measured}", all(grows), sum(grows) >= 3)


def _headline(rows: pd.DataFrame) -> Verdict:
    found = {
        (quantity, one, name): float(gain(rows, quantity, one, name).max())
        for quantity in ("AFCT", "AFCT, short", "p99 FCT, short")
        for one in _STATE_OF_THE_ART
        for name in WORKLOADS
    }
    best = {
        quantity: max((value, one, name) for (what, one, name), value in found.items() if what == quantity)
        for quantity in ("AFCT", "AFCT, short", "p99 FCT, short")
    }
    measured = "; ".join(
        f"{quantity}: {value:.0%} ({LOOKS[one][0]}, {WORKLOADS[name]})" for quantity, (value, one, name) in best.items()
    )
    largest = best["AFCT"][0]
    return Verdict(measured, abs(largest - HEADLINE) <= 0.1, largest >= HEADLINE / 2)


def _statistics(rows: pd.DataFrame) -> Verdict:
    mining = rows[rows["workload"] == "data_mining"]
    short, long = (float((mining[f"flows, {kind}"] / mining["flows"]).mean()) for kind in ("short", "long"))
    return Verdict(
        f"data mining: {short:.1%} of the flows are short, {long:.1%} long",
        0.8 <= short <= 0.85 and 0.07 <= long <= 0.12, short > 0.8,
    )  # fmt: skip


def _byte_shares(rows: pd.DataFrame) -> Verdict:
    shares = {
        name: float(rows.loc[rows["workload"] == name, "bytes in the largest tenth"].mean()) for name in WORKLOADS
    }
    measured = ", ".join(f"{WORKLOADS[name]} {share:.0%}" for name, share in shares.items())
    return Verdict(f"bytes in the largest tenth of the flows: {measured}", min(shares.values()) > 0.9)


def _oversubscription(rows: pd.DataFrame) -> Verdict:
    found = sorted(set(rows["oversubscription"]))
    return Verdict(", ".join(f"{one:g}" for one in found), found == [6.0])


_ALL = cases(WORKLOADS, LOADS["paper"])


@register_experiment
class Gains(LeafSpineFigure):
    """What REN gains over each baseline by workload and load: figures 15 to 18 together."""

    name = "ren.gains"
    title = "Gains over the load"
    description = "What REN gains over each baseline by workload and load: figures 15 to 18 together"
    claims = (
        claim(
            "ren-f15-1", "Fig 15-18a", "AFCT of short flows", "loads 0.1-0.7, all workloads",
            "REN lowest, up to 75% below ExpressPass",
            "lowest at every load, >= 30% below ExpressPass at one; direction: at half of them", _short_flows, _ALL,
        ),
        claim(
            "ren-f15c-1", "Fig 15-18c", "throughput of long flows", "REN against pHost and Homa, loads >= 0.5",
            "significantly higher", ">= 5% in every workload; direction: higher", _long_flows, _ALL,
        ),
        claim(
            "ren-f15c-2", "Fig 15-18c", "gain in throughput by workload", "over pHost and Homa, mean over loads",
            "larger in data mining and web search than in Hadoop and cache follower",
            "larger on average, positive in the first two; direction: larger", _gain_by_workload, _ALL,
        ),
        claim(
            "ren-f15c-3", "Fig 15-18c", "ExpressPass's throughput of long flows", "loads >= 0.5, all workloads",
            "below NDP's and REN's (per-flow ECMP)", "below", _expresspass, _ALL,
        ),
        claim(
            "ren-f15d-2", "Fig 15-18d", "gain in AFCT over the load", "mean over baselines", "grows",
            "at 0.7 at least that at 0.3 and positive, in every workload; direction: in three", _grows_with_load, _ALL,
        ),
        claim(
            "ren-x-1", "abstract, 1, 8", "largest reduction of the AFCT", "over pHost, Homa and NDP", "68%",
            "58-78%; direction: >= 34%", _headline, _ALL,
        ),
        claim(
            "ren-x-2", "6", "oversubscription", "48 hosts and 8 cores at a ToR", "6", "exact", _oversubscription, _ALL,
        ),
        claim(
            "ren-x-3", "6", "sizes of data mining", "flows as drawn", "> 80% below 100 KB, about 10% above 1 MB",
            "80-85% and 7-12%; direction: > 80%", _statistics, _ALL,
        ),
        claim(
            "ren-x-3a", "6", "bytes in the largest tenth of the flows", "all workloads", "> 90%", "> 90% in each",
            _byte_shares, _ALL,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        """Return the runs of figures 15 to 18."""
        return cases(WORKLOADS, LOADS[scale])

    def draw(self, rows: pd.DataFrame) -> Figure:
        """Draw the gains in each quantity, a column for each workload; stars are published."""
        published = {one.workload: one.published for one in (Figure15, Figure16, Figure18)}
        ran = [name for name in WORKLOADS if (rows["workload"] == name).any()]
        with style():
            figure, axes = plt.subplots(
                len(PANELS), len(ran), figsize=(3.0 * len(ran) + 1.6, 9.6), sharex=True, squeeze=False,
                layout="constrained",
            )  # fmt: skip
            for row, quantity in zip(axes, PANELS, strict=True):
                for ax, name in zip(row, ran, strict=True):
                    for one in BASELINES:
                        label, colour, marker = LOOKS[one]
                        found = 100 * gain(rows, quantity, one, name)
                        ax.plot(found.index, found, marker=marker, color=colour, label=f"over {label}")
                        value = published.get(name, {}).get(quantity, {}).get(one)
                        if value is not None:
                            ax.plot(0.74, 100 * value, "*", color=colour, markersize=9)
                    ax.axhline(0, color="0.3", linewidth=0.8)
                row[0].set_ylabel(_AXES[quantity])
            for ax, name in zip(axes[0], ran, strict=True):
                ax.set_title(WORKLOADS[name])
            for ax in axes[-1]:
                ax.set_xlabel("load (of ToR-core links)")
            axes[0][0].plot([], [], "*", color="0.3", linestyle="none", label="published")
            figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper")
            figure.suptitle("REN, figures 15 to 18: what REN gains")
        return figure
