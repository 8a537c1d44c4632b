"""Dart, figure 14 and the sensitivity study of VI-C: what each technique does, and what each parameter.

The set-up is in `dart_clos`; the mix is the typical one. Assumed besides: for a study of sizes all short flows have
one size; thresholds, sizes, degrees and tokens change one at a time. Beside the paper's: `deflect_last_hop`, since the
paper says that flows which collide at the receiver should not be deflected (I), yet has IOFD alone take 79% off the
tail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.base import Verdict
from rdmacc.experiments.dart_clos import LOADS, Case, ClosFigure, cases, claim, means, reduction
from rdmacc.experiments.dart_loads import us
from rdmacc.plotting.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURE_14", "SENSITIVITY", "VARIANTS"]

VARIANTS = {
    "dcqcn": "DCQCN", "pri-q": "Pri-Q", "iofd": "IOFD only", "dasr-no-look-ahead": "DASR without look-ahead",
    "dasr": "DASR only", "dart": "Dart",
}  # fmt: skip
_COMPONENTS = ("iofd", "dasr")
_THRESHOLDS, _DEGREES, _SIZES = ("5kB", "20kB"), (6, 26), (2_000, 4_000, 8_000)


def variants(scale: str) -> list[Case]:
    """Return the six variants at each load of the typical mix."""
    loads = (0.2, 0.6) if scale == "quick" else LOADS["typical"]
    return cases(tuple(VARIANTS), [("typical", load) for load in loads])


def changes(scale: str) -> list[Case]:
    """Return the sensitivity study: thresholds, sizes of short flows, degrees, tokens, and the last hop."""
    if scale == "quick":
        thresholds = [Case("dart", "typical", 0.6, changes=(("threshold_bytes", one),)) for one in _THRESHOLDS]
        return [*cases(("dcqcn", "dart"), [("typical", 0.6)]), *thresholds]
    loads = [("typical", load) for load in LOADS["typical"]]
    found = cases(("dcqcn", "dart"), loads)
    for mix, load in loads:
        found += [Case("dart", mix, load, changes=(("threshold_bytes", one),)) for one in _THRESHOLDS]
        found += [Case("dart", mix, load, changes=(("FlowDeflection.tokens", one),)) for one in (1, 8)]
        found += [Case(one, mix, load, changes=(("deflect_last_hop", True),)) for one in ("iofd", "dart")]
        found += [Case(one, mix, load, is_persistent=True) for one in ("dcqcn", "dart")]
        found += [Case(one, mix, load, short_bytes=size) for size in _SIZES for one in ("dcqcn", "dart")]
        found += [Case(one, mix, load, degree=degree) for degree in _DEGREES for one in ("dcqcn", "dart")]
    return found


def p99(rows: pd.DataFrame, scheme: str, load: float, differences: str = "") -> float:
    """Return the p99 of 8 KB flows in picoseconds, the mean over seeds."""
    return float(means(rows, "p99", scheme, "typical", differences)[load])


def less(rows: pd.DataFrame, scheme: str, load: float) -> float:
    """Return how much lower a variant's p99 is than DCQCN's."""
    return reduction(p99(rows, scheme, load), p99(rows, "dcqcn", load))


def _draw_variants(rows: pd.DataFrame) -> Figure:
    loads = sorted(rows["load"].unique())
    palette = list(COLOURS.values())
    with style():
        figure, ax = plt.subplots(figsize=(7.2, 3.8))
        for place, (scheme, name) in enumerate(list(VARIANTS.items())[1:]):
            chosen = rows[rows["scheme"] == scheme].set_index(["load", "seed"])["p99"]
            ratio = chosen / rows[rows["scheme"] == "dcqcn"].set_index(["load", "seed"])["p99"]
            spread = ratio.groupby("load").agg(["min", "mean", "max"])
            at = np.arange(len(loads)) + (place - 2) * 0.16
            error = [spread["mean"] - spread["min"], spread["max"] - spread["mean"]]
            ax.bar(at, spread["mean"], 0.15, yerr=error, color=palette[place], label=name)
        ax.axhline(1, color="black", linewidth=1)
        ax.set_xticks(np.arange(len(loads)), [f"{load:.0%}" for load in loads])
        ax.set(
            title="Dart, figure 14: each technique alone, typical mix", xlabel="load (% of ToR uplinks)",
            ylabel="p99 of 8 KB flows / DCQCN's",
        )  # fmt: skip
        ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    return figure


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


def _dart(load: float, least: float) -> Callable[[pd.DataFrame], Verdict]:
    return lambda rows: Verdict(f"{less(rows, 'dart', load):.0%}", less(rows, "dart", load) >= least)


def _dasr_only(rows: pd.DataFrame) -> Verdict:
    dasr, iofd = (less(rows, scheme, 0.2) for scheme in ("dasr", "iofd"))
    return Verdict(f"{dasr:.0%} (IOFD only {iofd:.0%})", dasr >= 0.35 and dasr > iofd)


def _iofd_only(rows: pd.DataFrame) -> Verdict:
    iofd = less(rows, "iofd", 0.2)
    return Verdict(f"{iofd:.0%}", 0.05 <= iofd <= 0.6)


def _each_alone(rows: pd.DataFrame) -> Verdict:
    iofd, dasr = (less(rows, scheme, 0.6) for scheme in _COMPONENTS)
    return Verdict(f"{iofd:.0%} / {dasr:.0%}", min(iofd, dasr) >= 0.3)


def _pri_q_low(rows: pd.DataFrame) -> Verdict:
    value = less(rows, "pri-q", 0.2)
    return Verdict(f"{value:.0%} below DCQCN", abs(value) <= 0.15)


def _pri_q_high(rows: pd.DataFrame) -> Verdict:
    found = {one: less(rows, one, 0.6) for one in ("pri-q", *_COMPONENTS)}
    measured = ", ".join(f"{VARIANTS[one]} {value:.0%}" for one, value in found.items())
    return Verdict(measured, 0 < found["pri-q"] < min(found[one] for one in _COMPONENTS))


def _look_ahead(rows: pd.DataFrame) -> Verdict:
    without, with_it = (p99(rows, one, 0.2) for one in ("dasr-no-look-ahead", "dasr"))
    return Verdict(f"{us(with_it)} with, {us(without)} without", with_it < without)


def _lowest(rows: pd.DataFrame) -> Verdict:
    worst = max(p99(rows, "dart", load) / min(p99(rows, one, load) for one in _COMPONENTS) for load in LOADS["typical"])
    return Verdict(f"at most {worst:.2f} of the better component", worst <= 1.05)


def _role_of_iofd(rows: pd.DataFrame) -> Verdict:
    found = [less(rows, "iofd", load) for load in LOADS["typical"]]
    measured = ", ".join(f"{value:.0%} at {load:.0%}" for load, value in zip(LOADS["typical"], found, strict=True))
    return Verdict(measured, found == sorted(found))


def _threshold(rows: pd.DataFrame) -> Verdict:
    found = {}
    for name in ("", *(f"threshold_bytes {one}" for one in _THRESHOLDS)):
        found[name] = float(means(rows, "deflections", "dart", "typical", name).sum())
    share = found["threshold_bytes 20kB"] / found[""]
    return Verdict(f"deflections at 20 KB are {share:.0%} of those at 15 KB", share < 0.25)


def _degree(rows: pd.DataFrame) -> Verdict:
    broken, words = False, []
    for load in LOADS["typical"][:2]:
        gains = [
            reduction(p99(rows, "dart", load, name), p99(rows, "dcqcn", load, name))
            for name in ("degree 6", "", "degree 26")
        ]
        broken |= gains != sorted(gains)
        words.append(f"{', '.join(f'{gain:.0%}' for gain in gains)} at {load:.0%}")
    return Verdict(f"degrees 6, 16, 26: {'; '.join(words)}", not broken)


def _size(rows: pd.DataFrame) -> Verdict:
    gains = [
        np.mean([
            reduction(p99(rows, "dart", load, f"{size} B"), p99(rows, "dcqcn", load, f"{size} B"))
            for load in LOADS["typical"]
        ])
        for size in _SIZES
    ]  # fmt: skip
    measured = ", ".join(f"{gain:.0%} with {size} B" for size, gain in zip(_SIZES, gains, strict=True))
    return Verdict(measured, min(gains) > 0)


def _tokens(rows: pd.DataFrame) -> Verdict:
    ratio = min(
        p99(rows, "dart", load, "FlowDeflection.tokens 8") / p99(rows, "dart", load) for load in LOADS["typical"]
    )
    return Verdict(f"p99 with 8 is at least {ratio:.2f} of that with 4", ratio >= 0.95)


def _no_deadlock(rows: pd.DataFrame) -> Verdict:
    # Behind a flow of 1 GB on the same queue pair a short one never finishes; that is no deadlock.
    rows = rows[~rows["changes"].str.contains("1 GB")]
    measured = (
        f"{len(rows)} runs ended, {int(rows['deflections'].sum()):,} deflections, "
        f"{int(rows['pauses'].sum()):,} pauses, "
        f"{int(rows['refused'].sum())} packets out of order, {int(rows['unfinished'].sum())} messages unfinished"
    )
    return Verdict(measured, not rows["refused"].any() and not rows["unfinished"].any())


def _in_order(rows: pd.DataFrame) -> Verdict:
    refused, deflected = int(rows["refused"].sum()), int(rows["deflections"].sum())
    return Verdict(f"{refused} of {deflected:,} deflected packets", refused == 0 and deflected >= 100_000)


def _longest(rows: pd.DataFrame) -> Verdict:
    longest = int(rows[rows["changes"] == ""]["longest path"].max())
    return Verdict(f"longest path {longest} links: {(longest - 6) // 2} detours of two on one of six", longest <= 14)


def _long_flows(rows: pd.DataFrame) -> Verdict:
    longest = int(rows["longest path of long flows"].max())
    return Verdict(f"longest path of a long flow {longest} links; the shortest paths have up to 6", longest <= 6)


_SIX, _ALL = variants("paper"), changes("paper")

FIGURE_14 = ClosFigure(
    "dart.fig14",
    "Isolating Dart's techniques",
    "p99 of 8 KB flows relative to DCQCN's: Pri-Q, IOFD, DASR with and without look-ahead, Dart",
    cases=variants,
    draw=_draw_variants,
    claims=[
        claim(
            "dart-f14-1", "VI-C", "p99 reduction, Dart vs DCQCN", "typical, 20%", "84%", ">= 40%", _dart(0.2, 0.4),
            _SIX,
        ),
        claim(
            "dart-f14-2", "VI-C", "p99 reduction, DASR only", "typical, 20%", "79%", ">= 35%, more than IOFD only",
            _dasr_only, _SIX,
        ),
        claim("dart-f14-3", "VI-C", "p99 reduction, IOFD only", "typical, 20%", "31%", "5-60%", _iofd_only, _SIX),
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
            "look-ahead better", _look_ahead, _SIX,
        ),
        claim(
            "dart-f14-9", "Fig 14", "Dart and its components", "every load", "Dart lowest",
            "<= 1.05 of the better one", _lowest, _SIX,
        ),
        claim(
            "dart-f14-10", "VI-C", "role of IOFD", "20 to 60%", "more at high load", "reduction grows with load",
            _role_of_iofd, _SIX,
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
    ],
)  # fmt: skip

SENSITIVITY = ClosFigure(
    "dart.sensitivity",
    "Sensitivity study",
    "Deflection threshold, tokens, size of short flows, degree of incasts, deflection at the last hop",
    cases=changes,
    draw=_draw_changes,
    seeds=1,
    claims=[
        claim(
            "dart-f14s-1", "VI-C", "deflection threshold", "5 to 20 KB", "5-15 KB work, 20 KB disables IOFD",
            "deflections at 20 KB < 25% of those at 15 KB", _threshold, _ALL,
        ),
        claim(
            "dart-f14s-2", "VI-C", "degree of incasts", "6, 16, 26", "gain over DCQCN grows",
            "monotone up to 40% load", _degree, _ALL,
        ),
        claim(
            "dart-f14s-3", "VI-C", "size of short flows", "2, 4, 8 KB", "improvements as in figure 11",
            "positive at each size", _size, _ALL,
        ),
        claim(
            "dart-x-3", "VI-A", "tokens", "8 against 4", "benefit diminishes after 4", "p99(8) >= 0.95 p99(4)",
            _tokens, _ALL,
        ),
        claim(
            "dart-x-7a", "IV-B", "deadlocks and order", "all runs", "none", "every run ends, no packet out of order",
            _no_deadlock, _ALL,
        ),
    ],
)  # fmt: skip
