"""What the validations share: stored flows, and completion times as a whole, by size and flow by flow."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc import workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BINS", "by_size", "completion", "percentiles", "plot_by_size", "stored_flows"]

BINS = {"to 10 kB": 10_000, "to 100 kB": 100_000, "to 1 MB": 1_000_000, "to 10 MB": 10_000_000, "above": 2**62}
"""Flows by size, each bin up to and with its bound."""


def stored_flows(name: str) -> pd.DataFrame:
    """Return flows that another simulator ran, with their paths if it chose them.

    Parameters
    ----------
    name : str
        Of the file in ``experiments/data``, without ``.csv.gz``.
    """
    with resources.as_file(resources.files("rdmacc.experiments") / "data" / f"{name}.csv.gz") as path:
        return workload.from_csv(path)


def percentiles(name: str, values: Any, unit: str = "ps") -> dict[str, tuple[float, str]]:
    """Return mean, median, 95th and 99th percentile; NaN of nothing.

    Parameters
    ----------
    name : str
        Of the quantity, such as "FCT".
    values : array_like
        One a flow; those of flows that have not finished are NaN, and left out.
    unit : str
        Of the values.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    numbers = {f"{name}, mean": (float(known.mean()) if len(known) else np.nan, unit)}
    for p in (50, 95, 99):
        numbers[f"{name}, p{p}"] = (float(np.percentile(known, p)) if len(known) else np.nan, unit)
    return numbers


def by_size(name: str, values: Any, size_bytes: Any, unit: str = "ps") -> dict[str, tuple[float, str]]:
    """Return the percentiles of each of `BINS`.

    Parameters
    ----------
    name, values, unit
        As in `percentiles`.
    size_bytes : array_like
        Of the flows.
    """
    numbers: dict[str, tuple[float, str]] = {}
    places = np.searchsorted(list(BINS.values()), np.asarray(size_bytes))
    for place, label in enumerate(BINS):
        numbers |= percentiles(f"{name} {label}", np.asarray(values, np.float64)[places == place], unit)
    return numbers


def completion(flows: pd.DataFrame) -> dict[str, tuple[float, str]]:
    """Return the time until the last byte is delivered: mean and percentiles, and each flow's, numbered from 0.

    Parameters
    ----------
    flows : DataFrame
        `Result.flows`.
    """
    fct = flows["fct_ps"].to_numpy(np.float64, na_value=np.nan)
    return percentiles("FCT", fct) | {f"FCT of flow {i}": (value, "ps") for i, value in enumerate(fct)}


def plot_by_size(axis: Axes, row: pd.Series, name: str, scale: float = 1.0, **line: Any) -> None:
    """Draw median and, dashed, 99th percentile over the bins of size.

    Parameters
    ----------
    axis : Axes
        Where.
    row : Series
        One of `wide`, with what `by_size` measured.
    name : str
        Of the quantity.
    scale : float
        What values are divided by.
    **line
        Passed to `Axes.plot`; the label is the median's.
    """
    label = line.pop("label", None)
    for p, style in ((50, "o-"), (99, "^--")):
        values = [row[f"{name} {size}, p{p}"] / scale for size in BINS]
        axis.plot(range(len(BINS)), values, style, markersize=3, label=label if p == 50 else None, **line)
    axis.set(xticks=range(len(BINS)), yscale="log")
    axis.set_xticklabels(BINS, rotation=30, ha="right")
