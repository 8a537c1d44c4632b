"""Dart, table II: what deflection costs, in load and in path length.

Both are those of Dart against DCQCN with the very same flows. Load increase counts the hops of all data packets, path
dilation the links that a short flow's packet takes. Setup: `rdmacc.experiments.dart.clos`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.dart.clos import LOADS, Case, ClosFigure, claim, has_size, means
from rdmacc.experiments.dart.tables import ALL_RUNS, draw_bars, table_claims, table_runs
from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.workload import DART_MIXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PUBLISHED_DILATION", "Table2"]

PUBLISHED_DILATION = {
    ("typical", 0.2): (3, 8), ("typical", 0.4): (6, 15), ("typical", 0.6): (9, 23),
    ("light", 0.2): (0.4, 4), ("light", 0.4): (0.8, 8), ("light", 0.6): (1.4, 14), ("light", 0.8): (3, 26),
    ("heavy", 0.2): (11, 15), ("heavy", 0.4): (15, 21),
}  # fmt: skip
"""Table II: percent of load increase and of path dilation."""


def detours(rows: pd.DataFrame, mix: str, load: float) -> tuple[float, float]:
    """Return load increase and path dilation in percent."""
    increase, dilation = (
        100 * (float(means(rows, quantity, "dart", mix)[load] / means(rows, quantity, "dcqcn", mix)[load]) - 1)
        for quantity in ("data hops", "path")
    )
    return increase, dilation


def _detour(mix: str, load: float) -> Callable[[pd.DataFrame], Verdict]:
    def verdict(rows: pd.DataFrame) -> Verdict:
        increase, dilation = detours(rows, mix, load)
        near = 1 / 2.5 <= dilation / PUBLISHED_DILATION[mix, load][1] <= 2.5
        share = increase / dilation / DART_MIXES[mix] if dilation else float("nan")
        measured = f"{increase:.1f}; {dilation:.1f} (share {share * DART_MIXES[mix]:.2f})"
        return Verdict(measured, bool(near and 0.75 <= share <= 1.25), increase > 0 and dilation > 0)

    return verdict


def _shares(rows: pd.DataFrame) -> Verdict:
    found = {mix: np.mean([np.divide(*detours(rows, mix, load)) for load in loads]) for mix, loads in LOADS.items()}
    right = all(abs(found[mix] / share - 1) <= 0.25 for mix, share in DART_MIXES.items())
    return Verdict("; ".join(f"{mix} {found[mix]:.2f}" for mix in DART_MIXES), right)


def _averages(rows: pd.DataFrame) -> Verdict:
    found = np.array([detours(rows, mix, load) for mix in ("typical", "heavy") for load in LOADS[mix]]).mean(axis=0)
    measured = f"{found[0]:.1f}%; {found[1]:.1f}%"
    sizes = [has_size(value, published, 2.5) for value, published in zip(found, (7, 16), strict=True)]
    return Verdict(measured, all(sizes), bool((found > 0).all()))


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


@register_experiment
class Table2(ClosFigure):
    """Percent more packet-hops, and links more that a short flow's packet takes, than with DCQCN."""

    name = "dart.table2"
    title = "IOFD's load increase and path dilation"
    description = "Percent more packet-hops, and links more that a short flow's packet takes, than with DCQCN"
    claims = (
        *table_claims(
            2, PUBLISHED_DILATION, "load increase %; path dilation %",
            "dilation within a factor of 2.5, ratio = share of short flows within 25%; direction: both positive",
            _detour,
        ),
        claim(
            "dart-t2-x", "Table II", "share of short flows that it implies", "light; typical; heavy",
            "0.10; 0.40; 0.70 (derived)", "within 25%", _shares, ALL_RUNS,
        ),
        claim(
            "dart-t2-y", "VI-B", "average load increase; dilation", "typical and heavy", "7%; 16% (~1 hop of 5.8)",
            "within a factor of 2.5", _averages, ALL_RUNS,
        ),
        claim(
            "dart-t2-z", "Table II", "trend", "mixes and loads", "rise with load and share", "monotone",
            _detours_grow, ALL_RUNS,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return table_runs(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return draw_bars(
            rows,
            PUBLISHED_DILATION,
            detours,
            ("load increase", "path dilation"),
            "Dart, table II: the cost of deflection",
        )
