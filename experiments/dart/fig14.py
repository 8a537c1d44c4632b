"""Dart, figure 14: what each of Dart's techniques contributes to the tail, in the typical mix (VI-C).

Setup and assumptions: `rdmacc.experiments.dart.clos`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.dart.clos import BOTH, LOADS, NOTICEABLE, Case, ClosFigure, cases, claim, of_reading, reduction
from rdmacc.experiments.dart.loads import us
from rdmacc.experiments.dart.techniques import COMPONENTS, VARIANTS, less, p99
from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.plotting.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PUBLISHED_RATIOS", "Figure14"]

PUBLISHED_RATIOS = {
    ("pri-q", 0.2): 1.0, ("iofd", 0.2): 0.69, ("dasr", 0.2): 0.21, ("dart", 0.2): 0.16,
    ("iofd", 0.6): 0.21, ("dasr", 0.6): 0.23, ("dart", 0.6): 0.07,
}  # fmt: skip
"""p99 relative to DCQCN's by scheme and load, as far as the text has them (VI-C)."""


_LOADS = [("typical", load) for load in LOADS["typical"]]


def variants(scale: str) -> list[Case]:
    """Return the six variants at each load of the typical mix in both readings; at quick scale two loads in one."""
    if scale == "quick":
        return cases(tuple(VARIANTS), [("typical", 0.2), ("typical", 0.6)])
    return cases(tuple(VARIANTS), _LOADS, BOTH)


def _draw_variants(rows: pd.DataFrame) -> Figure:
    loads = sorted(rows["load"].unique())
    readings = [one for one in BOTH if (rows["reading"] == one).any()]
    palette = list(COLOURS.values())
    with style():
        figure, axes = plt.subplots(1, len(readings), figsize=(5.4 * len(readings), 4), squeeze=False, sharey=True)
        for ax, reading in zip(axes[0], readings, strict=True):
            chosen = of_reading(rows, reading)
            p99 = {one: part.set_index(["load", "seed"])["p99"] for one, part in chosen.groupby("scheme")}
            for place, (scheme, name) in enumerate(list(VARIANTS.items())[1:]):
                spread = (p99[scheme] / p99["dcqcn"]).groupby("load").agg(["min", "mean", "max"])
                at = np.arange(len(loads)) + (place - 2) * 0.16
                error = [spread["mean"] - spread["min"], spread["max"] - spread["mean"]]
                ax.bar(at, spread["mean"], 0.15, yerr=error, color=palette[place], label=name)
                known = [number for number, load in enumerate(loads) if (scheme, load) in PUBLISHED_RATIOS]
                ax.plot(
                    at[known], [PUBLISHED_RATIOS[scheme, loads[number]] for number in known], "_", color="black",
                    markersize=11, markeredgewidth=2.5, label=None if place else "published",
                )  # fmt: skip
            ax.axhline(1, color="black", linewidth=1)
            ax.set_xticks(np.arange(len(loads)), [f"{load:.0%}" for load in loads])
            ax.set(title=reading, xlabel="load (% of ToR uplinks)")
        axes[0][0].set_ylabel("p99 of 8 KB flows / DCQCN's")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=6, loc="outside lower center", fontsize=9)
        figure.suptitle("Dart, figure 14: each technique alone, typical mix")
    return figure


def _dart(load: float, least: float) -> Callable[[pd.DataFrame], Verdict]:
    def verdict(rows: pd.DataFrame) -> Verdict:
        found = less(rows, "dart", load)
        return Verdict(f"{found:.0%}", found >= least, found >= NOTICEABLE)

    return verdict


def _dasr_only(rows: pd.DataFrame) -> Verdict:
    dasr, iofd = (less(rows, scheme, 0.2) for scheme in ("dasr", "iofd"))
    return Verdict(f"{dasr:.0%} (IOFD only {iofd:.0%})", dasr >= 0.35 and dasr > iofd, dasr >= NOTICEABLE)


def _iofd_only(rows: pd.DataFrame) -> Verdict:
    iofd = less(rows, "iofd", 0.2)
    return Verdict(f"{iofd:.0%}", 0.15 <= iofd <= 0.6, iofd >= NOTICEABLE)


def _each_alone(rows: pd.DataFrame) -> Verdict:
    iofd, dasr = (less(rows, scheme, 0.6) for scheme in COMPONENTS)
    return Verdict(f"{iofd:.0%} / {dasr:.0%}", min(iofd, dasr) >= 0.3, min(iofd, dasr) >= NOTICEABLE)


def _pri_q_low(rows: pd.DataFrame) -> Verdict:
    value = less(rows, "pri-q", 0.2)
    return Verdict(f"{value:.0%} below DCQCN", abs(value) <= 0.15)


def _pri_q_high(rows: pd.DataFrame) -> Verdict:
    found = {one: less(rows, one, 0.6) for one in ("pri-q", *COMPONENTS)}
    measured = ", ".join(f"{VARIANTS[one]} {value:.0%}" for one, value in found.items())
    return Verdict(measured, 0 < found["pri-q"] < min(found[one] for one in COMPONENTS))


def _look_ahead(rows: pd.DataFrame) -> Verdict:
    without, with_it = (p99(rows, one, 0.2) for one in ("dasr-no-look-ahead", "dasr"))
    gain = reduction(with_it, without)
    return Verdict(f"{us(with_it)} with, {us(without)} without", gain >= 0.1, gain >= NOTICEABLE)


def _lowest(rows: pd.DataFrame) -> Verdict:
    worst = max(p99(rows, "dart", load) / min(p99(rows, one, load) for one in COMPONENTS) for load in LOADS["typical"])
    return Verdict(f"at most {worst:.2f} of the better component", worst <= 1.05)


def _role_of_iofd(rows: pd.DataFrame) -> Verdict:
    found = [less(rows, "iofd", load) for load in LOADS["typical"]]
    measured = ", ".join(f"{value:.0%} at {load:.0%}" for load, value in zip(LOADS["typical"], found, strict=True))
    return Verdict(measured, found == sorted(found), found[-1] >= found[0] + NOTICEABLE)


def _in_order(rows: pd.DataFrame) -> Verdict:
    refused, deflected = int(rows["refused"].sum()), int(rows["deflections"].sum())
    return Verdict(f"{refused} of {deflected:,} deflected packets", refused == 0 and deflected >= 100_000)


def _longest(rows: pd.DataFrame) -> Verdict:
    longest = int(rows[rows["changes"] == ""]["longest path"].max())
    return Verdict(f"longest path {longest} links: {(longest - 6) // 2} detours of two on one of six", longest <= 14)


def _long_flows(rows: pd.DataFrame) -> Verdict:
    longest = int(rows["longest path of long flows"].max())
    return Verdict(f"longest path of a long flow {longest} links; the shortest paths have up to 6", longest <= 6)


_SIX = cases(tuple(VARIANTS), _LOADS)


@register_experiment
class Figure14(ClosFigure):
    """p99 of 8 KB flows relative to DCQCN's: Pri-Q, IOFD, DASR with and without look-ahead, Dart."""

    name = "dart.fig14"
    title = "Isolating Dart's techniques"
    description = "p99 of 8 KB flows relative to DCQCN's: Pri-Q, IOFD, DASR with and without look-ahead, Dart"
    claims = (
        claim(
            "dart-f14-1", "VI-C", "p99 reduction, Dart vs DCQCN", "typical, 20%", "84%", ">= 40%", _dart(0.2, 0.4),
            _SIX,
        ),
        claim(
            "dart-f14-2", "VI-C", "p99 reduction, DASR only", "typical, 20%", "79%", ">= 35%, more than IOFD only",
            _dasr_only, _SIX,
        ),
        claim(
            "dart-f14-3", "VI-C", "p99 reduction, IOFD only", "typical, 20%", "31%",
            "15-60%; direction: from 5% on", _iofd_only, _SIX,
        ),
        claim("dart-f14-4", "VI-C", "p99 reduction, Dart", "typical, 60%", "93%", ">= 50%", _dart(0.6, 0.5), _SIX),
        claim(
            "dart-f14-5", "VI-C", "p99 reduction, IOFD only / DASR only", "typical, 60%", "79% / 77%", "both >= 30%",
            _each_alone, _SIX,
        ),
        claim("dart-f14-6", "VI-C", "Pri-Q", "20%", "no improvement", "within 15% of DCQCN", _pri_q_low, _SIX),
        claim(
            "dart-f14-7", "VI-C", "Pri-Q", "60%", "better than DCQCN, worse than IOFD only and DASR only", "order",
            _pri_q_high, _SIX,
        ),
        claim(
            "dart-f14-8", "VI-C", "DASR without look-ahead", "20%", "look-ahead has a sizable benefit",
            "10% lower with it; direction: 5%", _look_ahead, _SIX,
        ),
        claim(
            "dart-f14-9", "Fig 14", "Dart and its components", "every load", "Dart lowest",
            "<= 1.05 of the better one", _lowest, _SIX,
        ),
        claim(
            "dart-f14-10", "VI-C", "role of IOFD", "20 to 60%", "more at high load",
            "reduction grows with load; direction: more at 60% than at 20%", _role_of_iofd, _SIX,
        ),
        claim(
            "dart-f7-3a", "IV-A", "order under deflection", "any pattern", "in order",
            "no packet out of order in 10^5 deflected ones", _in_order, _SIX,
        ),
        claim(
            "dart-f7-4a", "IV-B", "misroutes of a packet", "4 tokens", "at most 4", "path at most 8 links longer",
            _longest, _SIX,
        ),
        claim("dart-x-6a", "IV-B", "long flows", "IOFD", "never deflected", "no longer path", _long_flows, _SIX),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return variants(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return _draw_variants(rows)
