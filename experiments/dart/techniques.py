"""Dart, section VI-C: the variants of figure 14 and of the sensitivity study, and how to read their tails."""

from ..api import *
from .clos import *

VARIANTS = {
    "dcqcn": "DCQCN", "pri-q": "Pri-Q", "iofd": "IOFD only", "dasr-no-look-ahead": "DASR without look-ahead",
    "dasr": "DASR only", "dart": "Dart",
}  # fmt: skip

COMPONENTS = ("iofd", "dasr")


def p99(rows: pd.DataFrame, scheme: str, load: float, differences: str = "") -> float:
    """Return the p99 of 8 KB flows in picoseconds, the mean over seeds."""
    return float(means(rows, "p99", scheme, "typical", differences)[load])


def less(rows: pd.DataFrame, scheme: str, load: float) -> float:
    """Return how much lower a variant's p99 is than DCQCN's."""
    return reduction(p99(rows, scheme, load), p99(rows, "dcqcn", load))
