"""The random error of a measured number: the delete-one jackknife over seeds or repetitions.

A claim is measured again on the table without one seed, for each seed in turn. For a mean over seeds this gives the
usual standard error; for ratios and differences of means it is right to first order, and pairs values of the same seed,
which all schemes share. It works for any measurement, but is rough for extremes and medians of a few seeds. A table of
one run has no interval.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import t as student

_MOST = 6
"""Number of groups for many repetitions, of which one is left out at a time."""


@cache
def _quantile(degrees: int) -> float:
    return float(student.ppf(0.975, degrees))


def half_width(whole: float, without: Sequence[float]) -> float:
    """Return half of a number's 95% interval, from its values with one group left out; 0 if they are all equal."""
    gaps = np.asarray(without, np.float64) - whole
    if not np.isfinite(gaps).all() or not len(gaps):
        return 0.0 if not len(gaps) or all(one == whole for one in without) else math.inf
    variance = float(((gaps - gaps.mean()) ** 2).sum()) * (len(gaps) - 1) / len(gaps)
    moved = int((np.abs(gaps) > 1e-12 * max(abs(whole), 1e-300)).sum())
    return _quantile(max(moved, 2) - 1) * math.sqrt(variance) if moved else 0.0


def without_each(rows: pd.DataFrame, repetition: str, labels: Sequence[str]) -> list[pd.DataFrame]:
    """Return the rows with one group of repetitions left out, for each group; empty if there is one repetition."""
    if repetition not in rows or rows[repetition].nunique() < 2:
        return []
    number = pd.to_numeric(rows[repetition])
    group = number.rank(method="dense").sub(1) % min(number.nunique(), _MOST)
    keys = [name for name in labels if name != repetition and name in rows]
    by = [rows[name] for name in keys] or [pd.Series(0, rows.index)]
    is_repeated = group.groupby(by, dropna=False).transform("nunique").gt(1)
    return [rows[~(is_repeated & (group == one))] for one in sorted(group.dropna().unique())]
