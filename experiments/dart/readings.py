"""Dart, section VI: what the paper leaves open about its simulations, and what that decides.

Every reading of `rdmacc.experiments.dart.clos` in the typical mix; and, in all mixes, DASR's throughput measured over
half to all of a base RTT, and at least 10 packets, instead of 6 us and 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pandas as pd

from rdmacc.experiments.base import register_experiment
from rdmacc.experiments.dart.clos import BOTH, FRESH, LOADS, READINGS, Case, ClosFigure, cases
from rdmacc.experiments.dart.techniques import VARIANTS
from rdmacc.plotting.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Readings"]

LONG_WINDOW = (("Dasr.window_ps", "0s"), ("Dasr.full_packets", 10))
_COMPARED = ("dcqcn", "timely", "pri-q", "iofd", "dasr", "dart")
_CONTROL = ("dcqcn", "timely", "dart")
"""Schemes of the reading that tells groups from queue pairs."""
_LOADS = [("typical", load) for load in LOADS["typical"]]


def readings(scale: str) -> list[Case]:
    """Return each reading's runs in the typical mix, and Dart's with the longer window; at quick scale a few."""
    if scale == "quick":
        return cases(("dcqcn", "dart"), [("typical", 0.2)], BOTH)
    found = [
        case
        for reading, one in READINGS.items()
        for case in cases(_COMPARED if one.is_kept or reading == FRESH else _CONTROL, _LOADS, [reading])
    ]
    everywhere = [(mix, load) for mix, loads in LOADS.items() for load in loads]
    return found + cases(("dart",), everywhere, BOTH, changes=LONG_WINDOW)


def _draw_readings(rows: pd.DataFrame) -> Figure:
    shown = [one for one in READINGS if (rows["reading"] == one).any()]
    palette = list(COLOURS.values())
    with style():
        figure, axes = plt.subplots(1, len(shown), figsize=(2.7 * len(shown) + 0.6, 3.6), sharey=True, squeeze=False)
        for ax, reading in zip(axes[0], shown, strict=True):
            for place, scheme in enumerate(_COMPARED):
                chosen = rows[(rows["scheme"] == scheme) & (rows["reading"] == reading) & (rows["changes"] == "")]
                spread = chosen.groupby("load")["p99"].agg(["min", "mean", "max"]) / 1e6
                at, name = spread.index * 100, {**VARIANTS, "timely": "TIMELY"}[scheme]
                ax.plot(at, spread["mean"], marker="o^vsPD"[place], color=palette[place], label=name)
                ax.fill_between(at, spread["min"], spread["max"], color=palette[place], alpha=0.2)
            ax.set(title=reading, xlabel="load (% of ToR uplinks)", yscale="log")
        axes[0][0].set_ylabel("p99 of 8 KB flows (µs)")
        axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
        figure.suptitle("Dart, VI: the tail by what the paper leaves open, typical mix")
    return figure


@register_experiment
class Readings(ClosFigure):
    """Tails and marks by what the paper leaves open: queue pairs, groups, DASR's window."""

    name = "dart.readings"
    title = "What the paper leaves open"
    description = "Tails and marks by what the paper leaves open: queue pairs, groups, DASR's window"
    claims = ()

    def cases(self, scale: str) -> list[Case]:
        return readings(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return _draw_readings(rows)
