"""Dart, figures 11 to 13: the runs, pictures and claims that they share. Setup: `rdmacc.experiments.dart.clos`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.dart.clos import (
    BOTH,
    DEFAULT_READING,
    LOADS,
    NOTICEABLE,
    Case,
    cases,
    means,
    of_reading,
    reduction,
    spreads,
)
from rdmacc.experiments.framework.claim import Verdict
from rdmacc.plotting.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BASELINES",
    "NAMES",
    "OTHERS",
    "SCHEMES",
    "all_runs",
    "compared",
    "mean_reduction",
    "panels",
    "ratios",
    "runs",
    "us",
]

OTHERS = ("dctcp", "dcqcn", "timely")
BASELINES = ("dcqcn", "timely")
SCHEMES = ("dctcp", "dcqcn", "timely", "dart")
NAMES = {"dctcp": "DCTCP", "dcqcn": "DCQCN", "timely": "TIMELY", "dart": "Dart"}
_LOOKS = {"dctcp": ("s", 2), "dcqcn": ("o", 0), "timely": ("^", 3), "dart": ("D", 1)}


def runs(scale: str) -> list[Case]:
    """Return the four schemes at every mix and load in both readings; at quick scale two loads of the typical mix."""
    if scale == "quick":
        return cases(SCHEMES, [("typical", 0.2), ("typical", 0.6)])
    return [case for reading in BOTH for case in all_runs(*LOADS, reading=reading)]


def all_runs(*mixes: str, reading: str = DEFAULT_READING) -> list[Case]:
    """Return the four schemes at every load of some mixes."""
    return cases(SCHEMES, [(mix, load) for mix in mixes for load in LOADS[mix]], [reading])


def panels(
    rows: pd.DataFrame,
    quantity: str,
    factor: float,
    label: str,
    title: str,
    published: Mapping[tuple[str, float], float],
    yscale: str = "linear",
) -> Figure:
    """Draw a quantity over the load: a column for each mix, a row for each reading; bands are the spread over seeds.

    The paper's axes cannot be read, but its text has Dart relative to others: `published`, by mix and load, is drawn
    as that multiple of DCQCN's measured mean.
    """
    mixes = [mix for mix in LOADS if (rows["mix"] == mix).any()]
    readings = [one for one in BOTH if (rows["reading"] == one).any()]
    palette = list(COLOURS.values())
    size = (3.6 * len(mixes) + 0.6, 3.1 * len(readings) + 0.5)
    with style():
        figure, axes = plt.subplots(len(readings), len(mixes), figsize=size, squeeze=False)
        for row, reading in zip(axes, readings, strict=True):
            for ax, mix in zip(row, mixes, strict=True):
                chosen = of_reading(rows, reading)
                for scheme in SCHEMES:
                    spread = spreads(chosen, quantity, scheme, mix) * factor
                    marker, colour = _LOOKS[scheme]
                    at = spread.index * 100
                    ax.plot(at, spread["mean"], marker=marker, color=palette[colour], label=NAMES[scheme])
                    ax.fill_between(at, spread["min"], spread["max"], color=palette[colour], alpha=0.2)
                dcqcn = means(chosen, quantity, "dcqcn", mix) * factor
                at = [load for load in dcqcn.index if (mix, load) in published]
                levels = [dcqcn[load] * published[mix, load] for load in at]
                ax.plot(
                    [load * 100 for load in at], levels, "x", color="black", markersize=8, zorder=5,
                    label="Dart, as published from DCQCN's",
                )  # fmt: skip
                ax.set(title=f"{mix} mix, {reading}", xlabel="load (% of ToR uplinks)", yscale=yscale)
                if yscale == "linear":
                    ax.set_ylim(bottom=0)
                ax.set_xticks([load * 100 for load in LOADS[mix]])
            row[0].set_ylabel(label)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=len(labels), loc="outside lower center")
        figure.suptitle(title)
    return figure


def ratios(
    rows: pd.DataFrame, quantity: str, mix: str, others: tuple[str, ...], loads: tuple[float, ...]
) -> np.ndarray:
    """Return Dart's reduction of a quantity over others, by (other, load)."""
    dart = means(rows, quantity, "dart", mix)
    return np.array([
        [reduction(dart[load], means(rows, quantity, other, mix)[load]) for load in loads if load in dart.index]
        for other in others
    ])  # fmt: skip


def compared(rows: pd.DataFrame, quantity: str, mix: str) -> dict[str, pd.Series[float]]:
    """Return a quantity of each scheme by load; the schemes that have run."""
    found = {scheme: means(rows, quantity, scheme, mix) for scheme in SCHEMES}
    return {scheme: values for scheme, values in found.items() if len(values)}


def mean_reduction(
    quantity: str, mix: str, others: tuple[str, ...], loads: tuple[float, ...], least: float
) -> Callable[[pd.DataFrame], Verdict]:
    """Return the judge of Dart's mean reduction of a quantity over others; its direction: noticeable over each."""

    def verdict(rows: pd.DataFrame) -> Verdict:
        found = ratios(rows, quantity, mix, others, loads)
        by_scheme = ", ".join(f"{NAMES[one]} {values.mean():.0%}" for one, values in zip(others, found, strict=True))
        return Verdict(
            f"{found.mean():.0%} ({by_scheme})", bool(found.mean() >= least),
            bool((found.mean(axis=1) >= NOTICEABLE).all()),
        )  # fmt: skip

    return verdict


def us(value: float) -> str:
    """Return picoseconds as microseconds, in words."""
    return f"{value / 1e6:.0f} us"
