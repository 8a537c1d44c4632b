"""Plots of explanations: one message's time from left to right, and the time of many messages by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rdmacc.results.explain.walk import KINDS, RECOVERY
from rdmacc.show.style import canvas, time_unit
from rdmacc.units import format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdmacc.results.explain.explanation import Explanation

COLOURS = dict(zip(KINDS, (
    "#F0E442", "#0072B2", "#56B4E9", "#E69F00", "#CC79A7", "#009E73", "#000000", "#C8C8C8", "#808080", "#FFFFFF",
    "#D55E00",
), strict=True))  # fmt: skip
"""Okabe and Ito's palette, which is safe for the colour-blind, and greys."""
_ROW, _TALL = 0.55, 0.8
"""Heights of a port's row and of the bar above the rows."""


def _look(kind: str) -> dict[str, Any]:
    """Return the style of a kind; recovery is hatched."""
    look: dict[str, Any] = {"facecolor": COLOURS[kind], "linewidth": 0}
    return look | ({"hatch": "////", "edgecolor": "#444444"} if kind == RECOVERY else {})


def draw_explanation(explained: Explanation, ax: Axes | None) -> Axes:
    """Draw a message's time as a bar, coloured by kind, with a row below for each port at which it was spent."""
    events = explained.events
    places = [place for place in dict.fromkeys(events["place"]) if place]
    unit_ps, unit = time_unit(explained.time_ps)
    with canvas(ax, (8.0, 1.6 + 0.35 * len(places))) as ax:
        for kind in KINDS:
            mine = events[events["kind"] == kind]
            if not len(mine):
                continue
            spans = (mine["begin_ps"] - explained.start_ps) / unit_ps, mine["time_ps"] / unit_ps
            bars = list(zip(*(one.to_numpy() for one in spans), strict=True))
            ax.broken_barh(bars, (-_TALL / 2, _TALL), label=kind, **_look(kind))
            for row, place in enumerate(places, 1):
                here = (mine["place"] == place).to_numpy()
                ax.broken_barh([bars[i] for i in np.flatnonzero(here)], (row - _ROW / 2, _ROW), **_look(kind))
        ax.set(xlabel=f"time since its start ({unit})", xlim=(0, max(explained.time_ps / unit_ps, 1e-9)))
        ax.set_yticks(range(len(places) + 1), ["all", *places])
        ax.set_ylim(len(places) + 0.6, -0.6)
        ax.grid(visible=False, axis="y")
        ax.set_title(f"Where the time of message {explained.flow} went")
        if len(events):
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def by_size(sizes: Sequence[int], bins: int) -> list[str]:
    """Return the bin of each size, by name; bins hold about equally many messages."""
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, bins + 1)[1:], method="higher"))
    names = [format_size(int(edge), 3) for edge in edges]
    return [names[place] for place in np.searchsorted(edges, sizes)]


def draw_time_spent(explained: Sequence[Explanation], groups: Sequence[str], xlabel: str, ax: Axes | None) -> Axes:
    """Draw the mean slowdown of groups of messages, named in order, as stacked bars coloured by kind."""
    slowdowns = np.array([one.parts["time_ps"].to_numpy() / one.ideal_fct_ps for one in explained])
    names = list(dict.fromkeys(groups))
    means = np.array([slowdowns[np.array(groups) == name].mean(axis=0) for name in names])
    with canvas(ax, (8.0, 3.6)) as ax:
        bottom = np.zeros(len(names))
        for number, kind in enumerate(KINDS):
            height = means[:, number]
            if height.any():
                ax.bar(range(len(names)), height, bottom=bottom, width=0.8, label=kind, **_look(kind))
            bottom += height
        ax.set_xticks(range(len(names)), names)
        ax.set(xlabel=xlabel, ylabel="mean slowdown")
        ax.set_title("Where the time of messages went")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax
