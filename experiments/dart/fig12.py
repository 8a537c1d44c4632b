"""Dart, figure 12: median latency of four schemes at 1,024 hosts. Setup: `rdmacc.experiments.dart.clos`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.dart.clos import LOADS, NOTICEABLE, Case, ClosFigure, claim
from rdmacc.experiments.dart.loads import BASELINES, all_runs, compared, mean_reduction, panels, ratios, runs
from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PUBLISHED_MEDIAN", "Figure12"]

PUBLISHED_MEDIAN = {
    (mix, load): relative
    for mix, relative in {"typical": 0.7, "light": 0.64, "heavy": 0.71}.items()
    for load in LOADS[mix]
}
"""Dart's median relative to DCQCN's and TIMELY's, the mean over loads (VI-B)."""


def _median_mixes(rows: pd.DataFrame) -> Verdict:
    found = {mix: float(ratios(rows, "p50", mix, BASELINES, LOADS[mix]).mean()) for mix in ("light", "heavy")}
    measured = ", ".join(f"{mix} {value:.0%}" for mix, value in found.items())
    return Verdict(measured, min(found.values()) >= 0.1, min(found.values()) >= NOTICEABLE)


def _lowest_median(rows: pd.DataFrame) -> Verdict:
    worst = max(
        float(medians["dart"][load] / min(values[load] for values in medians.values()))
        for mix in LOADS
        for medians in [compared(rows, "p50", mix)]
        for load in medians["dart"].index
    )
    return Verdict(f"Dart at most {worst:.2f} of the best", worst <= 1.05)


_TYPICAL, _LIGHT, _HEAVY = (all_runs(mix) for mix in LOADS)


@register_experiment
class Figure12(ClosFigure):
    """Median of flows of 8 KB over the load, as figure 11."""

    name = "dart.fig12"
    title = "Median flow completion latency"
    description = "Median of flows of 8 KB over the load, as figure 11"
    claims = (
        claim(
            "dart-f12-1", "Fig 12a", "mean median reduction vs DCQCN and TIMELY", "typical mix", "30% (1.4x)",
            ">= 10%", mean_reduction("p50", "typical", BASELINES, LOADS["typical"], 0.1), _TYPICAL,
        ),
        claim(
            "dart-f12-2", "Fig 12a", "mean median reduction vs DCTCP", "typical mix", "66% (3x)", ">= 50%",
            mean_reduction("p50", "typical", ("dctcp",), LOADS["typical"], 0.5), _TYPICAL,
        ),
        claim(
            "dart-f12-3", "Fig 12bc", "mean median reduction", "light, heavy mix", "36%, 29%",
            ">= 10% in both; direction: positive",
            _median_mixes, [*_LIGHT, *_HEAVY],
        ),
        claim(
            "dart-f12-4", "Fig 12", "order", "all mixes and loads", "Dart lowest", "Dart <= 1.05 of the best",
            _lowest_median, [*_TYPICAL, *_LIGHT, *_HEAVY],
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return runs(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        title = "Dart, figure 12: median latency at 1,024 hosts"
        return panels(rows, "p50", 1e-6, "median of 8 KB flows (µs)", title, PUBLISHED_MEDIAN)
