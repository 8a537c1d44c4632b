"""Dart, table I: the share of short flows' packets with ECN marks, under DCQCN and under Dart.

A mark counts if it is acted on: of those that arrive, DASR suppresses some, and only the others trigger DCQCN ("the
number of ECN marks, which trigger DCQCN fall-backs", IV-B). How many it leaves depends on how fast the receiver knows
that its own link is full, of which the paper says nothing: `rdmacc.experiments.dart.readings`. Setup:
`rdmacc.experiments.dart.clos`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.dart.clos import LOADS, NOTICEABLE, Case, ClosFigure, claim, has_size, means
from rdmacc.experiments.dart.tables import ALL_RUNS, draw_bars, table_claims, table_runs
from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PUBLISHED_MARKS", "Table1"]

PUBLISHED_MARKS = {
    ("typical", 0.2): (17, 6), ("typical", 0.4): (41, 11), ("typical", 0.6): (67, 14),
    ("light", 0.2): (5, 4), ("light", 0.4): (14, 9), ("light", 0.6): (36, 21), ("light", 0.8): (48, 28),
    ("heavy", 0.2): (33, 9), ("heavy", 0.4): (70, 18),
}  # fmt: skip
"""Table I: percent of short flows' packets marked, of DCQCN and of Dart."""


def marks(rows: pd.DataFrame, mix: str, load: float) -> tuple[float, float]:
    """Return the percentages of short flows' packets that are marked, of DCQCN and of Dart."""
    dcqcn, dart = (float(means(rows, "marked", scheme, mix)[load]) * 100 for scheme in ("dcqcn", "dart"))
    return dcqcn, dart


def _fewer_marks(mix: str, load: float) -> Callable[[pd.DataFrame], Verdict]:
    was, now = PUBLISHED_MARKS[mix, load]

    def verdict(rows: pd.DataFrame) -> Verdict:
        dcqcn, dart = marks(rows, mix, load)
        more = dcqcn / dart - 1
        measured = f"{dcqcn:.0f}%; {dart:.0f}% (ratio {dcqcn / dart:.2f})"
        return Verdict(measured, has_size(more, was / now - 1), more >= NOTICEABLE)

    return verdict


def _best_reduction(rows: pd.DataFrame) -> Verdict:
    found = {key: np.divide(*marks(rows, *key)) for key in [("typical", 0.4), ("typical", 0.6), ("heavy", 0.4)]}
    best = max(found, key=lambda key: found[key])
    return Verdict(
        f"{found[best]:.2f}x at most ({best[0]} {best[1]:.0%})",
        bool(found[best] >= 2.5),
        bool(found[best] >= 1 + NOTICEABLE),
    )


def _marks_grow(rows: pd.DataFrame) -> Verdict:
    broken = []
    for mix, loads in LOADS.items():
        values = np.array([marks(rows, mix, load) for load in loads])
        for scheme, column in zip(("DCQCN", "Dart"), values.T, strict=True):
            if (column[1:] <= column[:-1]).any():
                broken.append(f"{scheme}, {mix} ({column[0]:.0f} to {column[-1]:.0f}%)")
    return Verdict("do not rise for " + "; ".join(broken) if broken else "rise with every step of the load", not broken)


@register_experiment
class Table1(ClosFigure):
    """Percent of short flows' packets marked, DCQCN and Dart."""

    name = "dart.table1"
    title = "Short-flow packets with ECN marks"
    description = "Percent of short flows' packets marked, DCQCN and Dart"
    claims = (
        *table_claims(
            1, PUBLISHED_MARKS, "% of short flows' packets marked (DCQCN; Dart)",
            "ratio - 1 within a factor of 2; direction: ratio of 1.05 or more", _fewer_marks,
        ),
        claim(
            "dart-t1-x", "VI-B", "reduction of marks", "higher loads of typical and heavy mixes", "> 4x",
            "best >= 2.5x (the table's own cells: 4.79 and 3.89); direction: fewer", _best_reduction, ALL_RUNS,
        ),
        claim(
            "dart-t1-y", "Table I", "marks and load", "both schemes", "increase", "with every step",
            _marks_grow, ALL_RUNS,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return table_runs(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return draw_bars(
            rows, PUBLISHED_MARKS, marks, ("DCQCN", "Dart"), "Dart, table I: short flows' packets with ECN marks"
        )
