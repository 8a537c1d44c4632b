"""Errors of `MaxMin` against the packet simulator, measured once and shown with its results.

``python -m rdmacc.experiments.micro.max_min`` measures them again and writes ``max_min.csv`` here.
"""

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

RECORD = Path(__file__).with_name("max_min.csv")
EDGES = (10_000, 100_000, 1_000_000)
"""Message sizes in bytes that separate the classes of the record."""


@cache
def errors_on_record() -> pd.DataFrame:
    """Return `scheme, load, size_class, messages, median_error, p90_error, bias`.

    An error is a message's completion time by packets over that by `MaxMin`, less 1: its absolute median and 90th
    percentile, and its mean with the sign. The class is the number of `EDGES` that a size exceeds.

    Examples
    --------
    >>> sorted(errors_on_record()["load"].unique())
    ['0.2', '0.4', '0.6', '0.8']
    """
    return pd.read_csv(RECORD, dtype={"load": str})


def size_classes(size_bytes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the class of each size."""
    return np.searchsorted(EDGES, size_bytes)


def error_on_record(scheme: str, load: float | None, size_bytes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the absolute median error on record for messages of these sizes; NaN if they wait for others."""
    if load is None:
        return np.full(len(size_bytes), np.nan)
    record = errors_on_record()
    if scheme in set(record["scheme"]):
        record = record[record["scheme"] == scheme]
    known = sorted(set(record["load"]), key=float)
    row = next((one for one in known if float(one) >= load), known[-1])
    worst = record[record["load"] == row].groupby("size_class")["median_error"].max()
    classes = size_classes(size_bytes)
    return worst.reindex(range(len(EDGES) + 1)).fillna(worst.max()).to_numpy()[classes]
