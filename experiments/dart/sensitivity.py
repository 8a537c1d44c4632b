"""Dart, section VI-C: the sensitivity study, one parameter at a time, in the typical mix at 40% load.

Setup and assumptions: `rdmacc.experiments.dart.clos`. Also assumed: in the study of sizes all short flows have the
same size. Two readings of the paper are varied as well. `deflect_last_hop`: section I says that flows that collide at
the receiver should not be deflected, yet in figure 14 IOFD alone takes 79% off the tail. Long flows of 1 GB, one for
each host, as VI-A describes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.dart.clos import NOTICEABLE, SEEDS, Case, ClosFigure, cases, claim, means, reduction
from rdmacc.experiments.dart.techniques import VARIANTS, p99
from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.plotting.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Sensitivity"]

_LOAD = 0.4
_THRESHOLDS, _DEGREES, _SIZES = ("5kB", "20kB"), (6, 26), (2_000, 4_000, 8_000)


def changes(scale: str) -> list[Case]:
    """Return the sensitivity study: thresholds, sizes of short flows, degrees, tokens, and the last hop."""
    if scale == "quick":
        thresholds = [Case("dart", "typical", 0.6, changes=(("threshold_bytes", one),)) for one in _THRESHOLDS]
        return [*cases(("dcqcn", "dart"), [("typical", 0.6)]), *thresholds]
    mix, load, both = "typical", _LOAD, ("dcqcn", "dart")
    found = cases(both, [(mix, load)])
    found += [Case("dart", mix, load, changes=(("threshold_bytes", one),)) for one in _THRESHOLDS]
    found += [Case("dart", mix, load, changes=(("FlowDeflection.tokens", one),)) for one in (1, 8)]
    found += [Case(one, mix, load, changes=(("deflect_last_hop", True),)) for one in ("iofd", "dart")]
    found += [Case(one, mix, load, is_persistent=True) for one in both]
    found += [Case(one, mix, load, short_bytes=size) for size in _SIZES for one in both]
    found += [Case(one, mix, load, degree=degree) for degree in _DEGREES for one in both]
    return found


def _draw_changes(rows: pd.DataFrame) -> Figure:
    palette = list(COLOURS.values())
    kept = rows[rows["load"] == rows["load"].max()]
    each = kept.groupby(["scheme", "changes"], sort=False)["p99"].agg(["min", "mean", "max"]) / 1e6
    names = [f"{VARIANTS[scheme]}, {change or 'as published'}" for scheme, change in each.index]
    with style():
        figure, ax = plt.subplots(figsize=(7.2, 0.8 + 0.3 * len(each)))
        error = [each["mean"] - each["min"], each["max"] - each["mean"]]
        colours = [palette[list(VARIANTS).index(scheme)] for scheme, _ in each.index]
        ax.barh(np.arange(len(each)), each["mean"], xerr=error, color=colours)
        ax.set_yticks(np.arange(len(each)), names)
        ax.invert_yaxis()
        load = rows["load"].max()
        ax.set(title=f"Dart, VI-C: one parameter at a time, typical mix, {load:.0%}", xlabel="p99 of the flows (µs)")
    return figure


def _threshold(rows: pd.DataFrame) -> Verdict:
    found = {}
    for name in ("", *(f"threshold_bytes {one}" for one in _THRESHOLDS)):
        found[name] = float(means(rows, "deflections", "dart", "typical", name).sum())
    share = found["threshold_bytes 20kB"] / found[""]
    return Verdict(f"deflections at 20 KB are {share:.0%} of those at 15 KB", share < 0.25, share < 0.9)


def _degree(rows: pd.DataFrame) -> Verdict:
    gains = [
        reduction(p99(rows, "dart", _LOAD, name), p99(rows, "dcqcn", _LOAD, name))
        for name in ("degree 6", "", "degree 26")
    ]
    measured = f"degrees 6, 16, 26: {', '.join(f'{gain:.0%}' for gain in gains)}"
    return Verdict(measured, gains == sorted(gains))


def _size(rows: pd.DataFrame) -> Verdict:
    gains = [
        reduction(p99(rows, "dart", _LOAD, f"{size} B"), p99(rows, "dcqcn", _LOAD, f"{size} B")) for size in _SIZES
    ]
    measured = ", ".join(f"{gain:.0%} with {size} B" for size, gain in zip(_SIZES, gains, strict=True))
    return Verdict(measured, min(gains) >= 0.4, min(gains) >= NOTICEABLE)


def _tokens(rows: pd.DataFrame) -> Verdict:
    names = {1: "FlowDeflection.tokens 1", 4: "", 8: "FlowDeflection.tokens 8"}
    tails = {tokens: p99(rows, "dart", _LOAD, name) for tokens, name in names.items()}
    to_four, to_eight = (reduction(tails[new], tails[old]) for old, new in ((1, 4), (4, 8)))
    measured = f"p99 falls by {to_four:.1%} from 1 token to 4, by {to_eight:.1%} from 4 to 8"
    is_gain = to_four >= NOTICEABLE
    return Verdict(measured, is_gain and to_eight < to_four / 2, is_gain and to_eight < to_four)


def _no_deadlock(rows: pd.DataFrame) -> Verdict:
    # Behind a flow of 1 GB on the same queue pair a short one never finishes; that is no deadlock.
    rows = rows[~rows["changes"].str.contains("1 GB")]
    measured = (
        f"{len(rows)} runs ended, {int(rows['deflections'].sum()):,} deflections, "
        f"{int(rows['pauses'].sum()):,} pauses, "
        f"{int(rows['refused'].sum())} packets out of order, {int(rows['unfinished'].sum())} messages unfinished"
    )
    return Verdict(measured, not rows["refused"].any() and not rows["unfinished"].any())


_ALL = changes("paper")


@register_experiment
class Sensitivity(ClosFigure):
    """Deflection threshold, tokens, size of short flows, degree of incasts, deflection at the last hop."""

    name = "dart.sensitivity"
    title = "Sensitivity study"
    description = "Deflection threshold, tokens, size of short flows, degree of incasts, deflection at the last hop"
    claims = (
        claim(
            "dart-f14s-1", "VI-C", "deflection threshold", "5 to 20 KB", "5-15 KB work, 20 KB disables IOFD",
            "deflections at 20 KB < 25% of those at 15 KB; direction: < 90%", _threshold, _ALL,
        ),
        claim(
            "dart-f14s-2", "VI-C", "degree of incasts", "6, 16, 26", "gain over DCQCN grows",
            "monotone", _degree, _ALL, SEEDS,
        ),
        claim(
            "dart-f14s-3", "VI-C", "size of short flows", "2, 4, 8 KB", "improvements as in figure 11",
            "40% or more at each size, as asked of figure 11; direction: 5%", _size, _ALL, SEEDS,
        ),
        claim(
            "dart-x-3", "VI-A", "tokens", "8 against 4", "benefit diminishes after 4",
            "4 tokens gain 5% or more over 1, 8 less than half of that over 4; direction: 8 less than that",
            _tokens, _ALL, SEEDS,
        ),
        claim(
            "dart-x-7a", "IV-B", "deadlocks and order", "all runs", "none", "every run ends, no packet out of order",
            _no_deadlock, _ALL,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return changes(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return _draw_changes(rows)
