"""Dart, figure 13: throughput of long flows at 1,024 hosts. Setup: `rdmacc.experiments.dart.clos`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.dart.clos import LOADS, NOTICEABLE, Case, ClosFigure, claim, has_size
from rdmacc.experiments.dart.loads import BASELINES, NAMES, all_runs, compared, panels, runs
from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["PUBLISHED_GOODPUT", "Figure13"]

PUBLISHED_GOODPUT = {
    (mix, load): relative for mix, relative in {"typical": 1.48, "heavy": 2.73}.items() for load in LOADS[mix]
}
"""Dart's throughput relative to DCQCN's, the mean over loads; in the heavy mix to DCQCN's and TIMELY's (VI-B)."""

_SIZE = 1.5
"""Factor within which a gain has the published size."""


def _gains(rows: pd.DataFrame, mix: str, others: tuple[str, ...]) -> dict[str, float]:
    """Return Dart's gain over each of the others, the mean over loads."""
    goodput = compared(rows, "goodput", mix)
    return {one: float((goodput["dart"] / goodput[one] - 1).mean()) for one in others}


def _gain(mix: str, others: tuple[str, ...], published: float) -> Callable[[pd.DataFrame], Verdict]:
    def verdict(rows: pd.DataFrame) -> Verdict:
        gains = _gains(rows, mix, others)
        measured = ", ".join(f"{NAMES[one]} {value:+.0%}" for one, value in gains.items())
        is_gain = min(gains.values()) >= NOTICEABLE
        return Verdict(measured, is_gain and has_size(np.mean([*gains.values()]), published, _SIZE), is_gain)

    return verdict


def _gain_heavy(rows: pd.DataFrame) -> Verdict:
    gains = {mix: _gains(rows, mix, BASELINES) for mix in ("typical", "heavy")}
    means = {mix: float(np.mean([*of_mix.values()])) for mix, of_mix in gains.items()}
    words = ", ".join(f"{NAMES[one]} {value:+.0%}" for one, value in gains["heavy"].items())
    is_more = min(gains["heavy"].values()) >= NOTICEABLE and means["heavy"] > means["typical"]
    return Verdict(
        f"heavy {means['heavy']:+.0%} ({words}), typical {means['typical']:+.0%}",
        is_more and has_size(means["heavy"], 1.73, _SIZE),
        is_more,
    )


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


_BAND = "within a factor of 1.5; direction: a gain of 5% or more"


@register_experiment
class Figure13(ClosFigure):
    """Mean goodput of long flows over the load, as figure 11."""

    name = "dart.fig13"
    title = "Throughput"
    description = "Mean goodput of long flows over the load, as figure 11"
    claims = (
        claim(
            "dart-f13-1", "Fig 13a", "throughput gain vs DCQCN", "typical mix, mean over loads", "48%", _BAND,
            _gain("typical", ("dcqcn",), 0.48), all_runs("typical"),
        ),
        claim(
            "dart-f13-2", "Fig 13a", "throughput gain vs TIMELY", "typical mix, mean over loads", "68%", _BAND,
            _gain("typical", ("timely",), 0.68), all_runs("typical"),
        ),
        claim(
            "dart-f13-3", "abstract", "throughput gain", "DCQCN and TIMELY", "58%", f"their mean {_BAND}",
            _gain("typical", BASELINES, 0.58), all_runs("typical"),
        ),
        claim(
            "dart-f13-4", "Fig 13c", "throughput gain", "heavy mix, DCQCN and TIMELY", "173%",
            f"mean {_BAND}; more than in the typical mix", _gain_heavy, all_runs("typical", "heavy"),
        ),
        claim(
            "dart-f13-5", "Fig 13", "order", "all mixes", "Dart > DCQCN, TIMELY > DCTCP; light above typical",
            "signs", _order, all_runs(*LOADS),
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return runs(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        title = "Dart, figure 13: throughput at 1,024 hosts"
        return panels(rows, "goodput", 1e-9, "goodput of a long flow (Gb/s)", title, PUBLISHED_GOODPUT)
