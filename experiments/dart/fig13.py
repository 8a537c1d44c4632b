"""Dart, figure 13: throughput of long flows at 1,024 hosts. Setup: `rdmacc.experiments.dart.clos`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.base import Verdict, register_experiment
from rdmacc.experiments.dart.clos import LOADS, Case, ClosFigure, claim
from rdmacc.experiments.dart.loads import BASELINES, NAMES, all_runs, compared, panels, runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["Figure13"]


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


@register_experiment
class Figure13(ClosFigure):
    """Mean goodput of long flows over the load, as figure 11."""

    name = "dart.fig13"
    title = "Throughput"
    description = "Mean goodput of long flows over the load, as figure 11"
    claims = (
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
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return runs(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return panels(
            rows, "goodput", 1e-9, "goodput of a long flow (Gb/s)", "Dart, figure 13: throughput at 1,024 hosts"
        )
