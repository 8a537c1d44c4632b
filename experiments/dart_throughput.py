"""Dart, figure 13, tables I and II: long flows' throughput, marks and detours at 1,024 hosts.

The set-up is in `dart_clos`. A packet counts as marked if it arrives with congestion experienced, before DASR
suppresses that. Load increase and path dilation are those of Dart against DCQCN with the very same flows: of all data
packets' hops, and of the links that a short flow's packet takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.base import Claim, Verdict
from rdmacc.experiments.dart_clos import LOADS, Case, ClosFigure, cases, claim, means
from rdmacc.experiments.dart_loads import BASELINES, NAMES, all_runs, compared, panels, runs
from rdmacc.plotting.style import COLOURS, style
from rdmacc.workload import DART_MIXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURE_13", "PUBLISHED_DILATION", "PUBLISHED_MARKS", "TABLE_1", "TABLE_2"]

PUBLISHED_MARKS = {
    ("typical", 0.2): (17, 6), ("typical", 0.4): (41, 11), ("typical", 0.6): (67, 14),
    ("light", 0.2): (5, 4), ("light", 0.4): (14, 9), ("light", 0.6): (36, 21), ("light", 0.8): (48, 28),
    ("heavy", 0.2): (33, 9), ("heavy", 0.4): (70, 18),
}  # fmt: skip
"""Table I: percent of short flows' packets marked, of DCQCN and of Dart."""

PUBLISHED_DILATION = {
    ("typical", 0.2): (3, 8), ("typical", 0.4): (6, 15), ("typical", 0.6): (9, 23),
    ("light", 0.2): (0.4, 4), ("light", 0.4): (0.8, 8), ("light", 0.6): (1.4, 14), ("light", 0.8): (3, 26),
    ("heavy", 0.2): (11, 15), ("heavy", 0.4): (15, 21),
}  # fmt: skip
"""Table II: percent of load increase and of path dilation."""

_IDS = {"typical": "typ", "light": "light", "heavy": "heavy"}


def _gain(mix: str, others: tuple[str, ...], least: float) -> Callable[[pd.DataFrame], Verdict]:
    def verdict(rows: pd.DataFrame) -> Verdict:
        goodput = compared(rows, "goodput", mix)
        gains = {one: float((goodput["dart"] / goodput[one] - 1).mean()) for one in others}
        measured = ", ".join(f"{NAMES[one]} {value:+.0%}" for one, value in gains.items())
        return Verdict(measured, min(gains.values()) >= least)

    return verdict


def _gain_heavy(rows: pd.DataFrame) -> Verdict:
    found = {}
    for mix in ("typical", "heavy"):
        goodput = compared(rows, "goodput", mix)
        found[mix] = float(np.mean([(goodput["dart"] / goodput[one] - 1).mean() for one in BASELINES]))
    measured = f"heavy {found['heavy']:+.0%}, typical {found['typical']:+.0%}"
    return Verdict(measured, found["heavy"] >= 0.2 and found["heavy"] > found["typical"])


def _order(rows: pd.DataFrame) -> Verdict:
    broken = []
    for mix in LOADS:
        goodput = {one: float(values.mean()) for one, values in compared(rows, "goodput", mix).items()}
        if not goodput["dart"] > max(goodput[one] for one in BASELINES):
            broken.append(f"{mix}: Dart not first")
        if not min(goodput[one] for one in BASELINES) > goodput["dctcp"]:
            broken.append(f"{mix}: DCTCP not last")
    typical, light = (compared(rows, "goodput", mix)["dart"].mean() for mix in ("typical", "light"))
    if not light > typical:
        broken.append("light not above typical")
    return Verdict("; ".join(broken) or "as published", not broken)


FIGURE_13 = ClosFigure(
    "dart.fig13",
    "Throughput",
    "Mean goodput of long flows over the load, as figure 11",
    cases=runs,
    draw=lambda rows: panels(
        rows, "goodput", 1e-9, "goodput of a long flow (Gb/s)", "Dart, figure 13: throughput at 1,024 hosts"
    ),
    claims=[
        claim(
            "dart-f13-1", "Fig 13a", "throughput gain vs DCQCN", "typical mix, mean over loads", "48%", ">= 5%",
            _gain("typical", ("dcqcn",), 0.05), all_runs("typical"),
        ),
        claim(
            "dart-f13-2", "Fig 13a", "throughput gain vs TIMELY", "typical mix, mean over loads", "68%", ">= 5%",
            _gain("typical", ("timely",), 0.05), all_runs("typical"),
        ),
        claim(
            "dart-f13-3", "abstract", "throughput gain", "DCQCN and TIMELY", "58%", ">= 5% over both",
            _gain("typical", BASELINES, 0.05), all_runs("typical"),
        ),
        claim(
            "dart-f13-4", "Fig 13c", "throughput gain", "heavy mix, DCQCN and TIMELY", "173%",
            ">= 20%, and more than in the typical mix", _gain_heavy, all_runs("typical", "heavy"),
        ),
        claim(
            "dart-f13-5", "Fig 13", "order", "all mixes", "Dart > DCQCN, TIMELY > DCTCP; light above typical",
            "signs", _order, all_runs(*LOADS),
        ),
    ],
)  # fmt: skip


def table_runs(scale: str) -> list[Case]:
    """Return DCQCN and Dart at every mix and load; at quick scale two loads of the typical mix."""
    chosen = [("typical", 0.2), ("typical", 0.6)] if scale == "quick" else list(PUBLISHED_MARKS)
    return cases(("dcqcn", "dart"), chosen)


def marks(rows: pd.DataFrame, mix: str, load: float) -> tuple[float, float]:
    """Return the percentages of short flows' packets that are marked, of DCQCN and of Dart."""
    dcqcn, dart = (float(means(rows, "marked", scheme, mix)[load]) * 100 for scheme in ("dcqcn", "dart"))
    return dcqcn, dart


def detours(rows: pd.DataFrame, mix: str, load: float) -> tuple[float, float]:
    """Return load increase and path dilation in percent."""
    increase, dilation = (
        100 * (float(means(rows, quantity, "dart", mix)[load] / means(rows, quantity, "dcqcn", mix)[load]) - 1)
        for quantity in ("data hops", "path")
    )
    return increase, dilation


def _bars(
    rows: pd.DataFrame,
    published: Mapping[tuple[str, float], tuple[float, float]],
    measured: Callable[[pd.DataFrame, str, float], tuple[float, float]],
    names: tuple[str, str],
    title: str,
) -> Figure:
    """Draw what was published beside what was measured, two numbers for each mix and load."""
    ran = set(zip(rows["mix"], rows["load"], strict=True))
    at = [key for key in published if key in ran]
    places = np.arange(len(at))
    palette = list(COLOURS.values())
    with style():
        figure, axes = plt.subplots(2, 1, figsize=(7.2, 5.2), sharex=True)
        for number, (ax, name) in enumerate(zip(axes, names, strict=True)):
            ax.bar(places - 0.2, [published[key][number] for key in at], 0.38, color=palette[0], label="published")
            ax.bar(places + 0.2, [measured(rows, *key)[number] for key in at], 0.38, color=palette[1], label="measured")
            ax.set(title=name, ylabel="percent")
        axes[0].legend()
        axes[1].set_xticks(places, [f"{mix}\n{load:.0%}" for mix, load in at])
        axes[1].set_xlabel("mix and load")
        figure.suptitle(title)
    return figure


def _fewer_marks(mix: str, load: float) -> Callable[[pd.DataFrame], Verdict]:
    was, now = PUBLISHED_MARKS[mix, load]

    def verdict(rows: pd.DataFrame) -> Verdict:
        dcqcn, dart = marks(rows, mix, load)
        in_band = 0.5 <= (dcqcn / dart) / (was / now) <= 1.5 if min(dcqcn, dart) > 2 else True
        return Verdict(f"{dcqcn:.0f}%; {dart:.0f}% (ratio {dcqcn / dart:.2f})", dart < dcqcn and in_band)

    return verdict


def _best_reduction(rows: pd.DataFrame) -> Verdict:
    found = {key: np.divide(*marks(rows, *key)) for key in [("typical", 0.4), ("typical", 0.6), ("heavy", 0.4)]}
    best = max(found, key=lambda key: found[key])
    return Verdict(f"{found[best]:.2f}x at most ({best[0]} {best[1]:.0%})", bool(found[best] >= 2.5))


def _marks_grow(rows: pd.DataFrame) -> Verdict:
    broken = []
    for mix, loads in LOADS.items():
        values = np.array([marks(rows, mix, load) for load in loads])
        for scheme, column in zip(("DCQCN", "Dart"), values.T, strict=True):
            if (column[1:] < 0.8 * column[:-1]).any():
                broken.append(f"{scheme}, {mix}")
    return Verdict(
        "falls for " + "; ".join(broken) if broken else "none falls by more than a fifth as the load grows", not broken
    )


def _detour(mix: str, load: float) -> Callable[[pd.DataFrame], Verdict]:
    def verdict(rows: pd.DataFrame) -> Verdict:
        increase, dilation = detours(rows, mix, load)
        near = 1 / 2.5 <= dilation / PUBLISHED_DILATION[mix, load][1] <= 2.5
        share = increase / dilation / DART_MIXES[mix] if dilation else float("nan")
        measured = f"{increase:.1f}; {dilation:.1f} (share {share * DART_MIXES[mix]:.2f})"
        return Verdict(measured, bool(near and 0.75 <= share <= 1.25))

    return verdict


def _shares(rows: pd.DataFrame) -> Verdict:
    found = {mix: np.mean([np.divide(*detours(rows, mix, load)) for load in loads]) for mix, loads in LOADS.items()}
    right = all(abs(found[mix] / share - 1) <= 0.25 for mix, share in DART_MIXES.items())
    return Verdict("; ".join(f"{mix} {found[mix]:.2f}" for mix in DART_MIXES), right)


def _averages(rows: pd.DataFrame) -> Verdict:
    found = np.array([detours(rows, mix, load) for mix in ("typical", "heavy") for load in LOADS[mix]]).mean(axis=0)
    return Verdict(f"{found[0]:.1f}%; {found[1]:.1f}%", bool(7 / 2.5 <= found[0] <= 17.5 and 6.4 <= found[1] <= 40))


def _detours_grow(rows: pd.DataFrame) -> Verdict:
    by_load = all(
        sorted(values) == values
        for mix, loads in LOADS.items()
        for values in (list(column) for column in np.array([detours(rows, mix, load) for load in loads]).T)
    )
    by_mix = all(
        sorted(values) == values
        for load in (0.2, 0.4)
        for values in ([detours(rows, mix, load)[0] for mix in DART_MIXES],)
    )
    words = {True: "grows", False: "does not grow"}
    return Verdict(f"{words[by_load]} with load, {words[by_mix]} with the share of short flows", by_load and by_mix)


def _table_claims(
    number: int, published: Mapping[tuple[str, float], tuple[float, float]], quantity: str, band: str,
    judge: Callable[[str, float], Callable[[pd.DataFrame], Verdict]],
) -> list[Claim]:  # fmt: skip
    return [
        claim(
            f"dart-t{number}-{_IDS[mix]}-{load * 100:.0f}", f"Table {'I' * number}", quantity, f"{mix} mix, {load:.0%}",
            f"{one}; {other}", band, judge(mix, load), cases(("dcqcn", "dart"), [(mix, load)]),
        )
        for (mix, load), (one, other) in published.items()
    ]  # fmt: skip


_ALL = cases(("dcqcn", "dart"), PUBLISHED_MARKS)

TABLE_1 = ClosFigure(
    "dart.table1",
    "Short-flow packets with ECN marks",
    "Percent of short flows' packets marked, DCQCN and Dart",
    cases=table_runs,
    draw=lambda rows: _bars(
        rows, PUBLISHED_MARKS, marks, ("DCQCN", "Dart"), "Dart, table I: short flows' packets with ECN marks"
    ),
    claims=[
        *_table_claims(
            1, PUBLISHED_MARKS, "% of short flows' packets marked (DCQCN; Dart)",
            "Dart < DCQCN; ratio within 50% where both > 2%", _fewer_marks,
        ),
        claim(
            "dart-t1-x", "VI-B", "reduction of marks", "higher loads of typical and heavy mixes", "> 4x",
            "best >= 2.5x (the table's own cells: 4.79 and 3.89)", _best_reduction, _ALL,
        ),
        claim(
            "dart-t1-y", "Table I", "marks and load", "both schemes", "increase", "monotone, 20% slack",
            _marks_grow, _ALL,
        ),
    ],
)  # fmt: skip

TABLE_2 = ClosFigure(
    "dart.table2",
    "IOFD's load increase and path dilation",
    "Percent more packet-hops, and links more that a short flow's packet takes, than with DCQCN",
    cases=table_runs,
    draw=lambda rows: _bars(
        rows, PUBLISHED_DILATION, detours, ("load increase", "path dilation"), "Dart, table II: the cost of deflection"
    ),
    claims=[
        *_table_claims(
            2, PUBLISHED_DILATION, "load increase %; path dilation %",
            "dilation within a factor of 2.5; ratio = share of short flows within 25%", _detour,
        ),
        claim(
            "dart-t2-x", "Table II", "share of short flows that it implies", "light; typical; heavy",
            "0.10; 0.40; 0.70 (derived)", "within 25%", _shares, _ALL,
        ),
        claim(
            "dart-t2-y", "VI-B", "average load increase; dilation", "typical and heavy", "7%; 16% (~1 hop of 5.8)",
            "within a factor of 2.5", _averages, _ALL,
        ),
        claim(
            "dart-t2-z", "Table II", "trend", "mixes and loads", "rise with load and share", "monotone",
            _detours_grow, _ALL,
        ),
    ],
)  # fmt: skip
