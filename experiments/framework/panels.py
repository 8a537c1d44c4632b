"""Drawings as declarations: a figure names the quantities of its panels, and their drawing is the same everywhere.

Numbers are shown in the panel's `unit`. The spread over seeds is a band, or an error bar; published values are hollow
marks in the colour of the curve that they belong to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.band import in_unit
from rdmacc.experiments.framework.rows import having
from rdmacc.show.style import COLOURS, draw_spread, ecdf, fit_above, log_axes, subplots
from rdmacc.sweep.tidy import curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "os^Dv<>P"


@dataclass(frozen=True, kw_only=True)
class Panel(ABC):
    """One quantity of a table, by the values of a label: `looks` has the legend and the colour of each."""

    quantity: str
    looks: Mapping[Any, tuple[str, ...]]
    """Legend and colour; a trace's line style may follow."""
    by: str = "scheme"
    title: str = ""
    unit: str = ""
    label: str = ""
    """The quantity on its axis; default: its name."""
    log: str = ""
    """Logarithmic axes: "x", "y" or "xy"."""
    axes: Mapping[str, Any] = field(default_factory=dict)
    """What else to set on the axes: `xlim`, `ylim` and such, by matplotlib's names."""

    def draw(self, ax: Axes, table: pd.DataFrame) -> None:
        """Draw it."""
        self.fill(ax, table)
        log_axes(ax, self.log)
        ax.set(title=self.title, **self.axes)
        ax.legend(fontsize=8)

    @abstractmethod
    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        """Draw the values."""

    def axis(self) -> str:
        """Return the label of the quantity's axis."""
        suffix = in_unit(1.0, self.unit)[1].strip()
        return f"{self.label or self.quantity} ({suffix})" if suffix else self.label or self.quantity

    def rows(self, table: pd.DataFrame, one: Any) -> pd.DataFrame:
        """Return the rows of a value of the label, in the panel's unit."""
        rows = table[having(table, **{self.by: one, "quantity": self.quantity})]
        return rows.assign(value=rows["value"] * in_unit(1.0, self.unit)[0])


@dataclass(frozen=True, kw_only=True)
class Lines(Panel):
    """A number over a parameter, the column `over`; `published` has (parameter, value) of each curve."""

    over: str
    xlabel: str = ""
    published: Mapping[Any, Sequence[tuple[float, float]]] = field(default_factory=dict)

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        for marker, (one, (name, colour, *_)) in zip(_MARKERS, self.looks.items(), strict=False):
            spread = self.rows(table, one).groupby(self.over)["value"].agg(["min", "mean", "max"])
            look: dict[str, Any] = {"marker": marker, "color": COLOURS[colour]}
            ax.plot(spread.index, spread["mean"], label=name, **look)
            ax.fill_between(spread.index, spread["min"], spread["max"], color=COLOURS[colour], alpha=0.2, linewidth=0)
            if one in self.published:
                at, values = np.transpose(self.published[one])
                shown = values * in_unit(1.0, self.unit)[0]
                ax.plot(at, shown, **look, mfc="none", markersize=9, linestyle="none", label=f"{name}, published")
        ax.set(xlabel=self.xlabel or self.over, ylabel=self.axis())


@dataclass(frozen=True, kw_only=True)
class Distributions(Panel):
    """The distribution of a quantity with many values."""

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        for one, (name, colour, *_) in self.looks.items():
            values, share = ecdf(self.rows(table, one)["value"])
            ax.plot(np.r_[values[:1], values], np.r_[0.0, share], drawstyle="steps-post", color=COLOURS[colour],
                    label=name)  # fmt: skip
        ax.set(xlabel=self.axis(), ylabel="fraction", ylim=(0, 1.02))


@dataclass(frozen=True, kw_only=True)
class Traces(Panel):
    """A quantity over time, of the points that `looks` names; `phases` shades times, `levels` are dotted lines."""

    by: str = "point"
    time_unit: str = "us"
    phases: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Begin and end in ps, by name."""
    levels: Mapping[str, float] = field(default_factory=dict)

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        time, factor = in_unit(1.0, self.time_unit)[0], in_unit(1.0, self.unit)[0]
        for shade, (name, (begin_ps, end_ps)) in zip(("0.95", "0.9", "0.85"), self.phases.items(), strict=False):
            ax.axvspan(begin_ps * time, end_ps * time, color=shade, zorder=0, label=name)
        for name, level in self.levels.items():
            ax.axhline(level * factor, color="0.5", linewidth=1, linestyle=":", label=name)
        for point, (name, colour, *line) in self.looks.items():
            trace, look = curve(table, point, self.quantity), line[0] if line else "-"
            ax.plot(trace.index * time, trace * factor, look, color=COLOURS[colour], linewidth=1.2, label=name)
        ax.set(xlabel=f"time ({self.time_unit})", ylabel=self.axis(), ylim=(0, None))


@dataclass(frozen=True, kw_only=True)
class Bars(Panel):
    """A number by the values of the label, grouped by the column `over`; published values are black marks."""

    over: str = ""
    published: Mapping[Any, Mapping[Any, float]] = field(default_factory=dict)
    """By the value of the label, then of `over`."""

    def draw(self, ax: Axes, table: pd.DataFrame) -> None:
        super().draw(ax, table)
        decades = np.log10(ax.dataLim.ymax / ax.get_ylim()[0]) if "y" in self.log else 0.0
        fit_above(ax, 1.3 * 10 ** (0.3 * decades), bottom=None)  # room for the legend

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        groups = list(table.loc[table["quantity"] == self.quantity, self.over].unique()) if self.over else [""]
        width, at = 0.8 / len(self.looks), np.arange(len(groups))
        for place, (one, (name, colour, *_)) in enumerate(self.looks.items()):
            rows = self.rows(table, one)
            x = at + width * (place - (len(self.looks) - 1) / 2)
            each = rows["value"].groupby(rows[self.over] if self.over else np.full(len(rows), "")).agg(
                ["mean", "min", "max"]
            ).reindex(groups)  # fmt: skip
            ax.bar(x, each["mean"], width, color=COLOURS[colour], label=name)
            draw_spread(ax, x, each["mean"], each["min"], each["max"], fmt="none", ecolor="0.2")
            marks = [self.published.get(one, {}).get(group, np.nan) * in_unit(1.0, self.unit)[0] for group in groups]
            if not np.isnan(marks).all():
                ax.plot(x, marks, "_", color="black", markersize=14, label=f"{name}, published")
        ax.set_xticks(at, [fill(str(group), 8, break_long_words=False) for group in groups])
        ax.set(xlabel=self.over, ylabel=self.axis())
        ax.grid(visible=False, axis="x")


def draw_panels(panels: Sequence[Panel], table: pd.DataFrame) -> Figure:
    """Draw panels side by side."""
    figure, axes = subplots(1, len(panels), figsize=(4.8 * len(panels), 3.8), squeeze=False)
    for ax, panel in zip(axes[0], panels, strict=True):
        panel.draw(ax, table)
    return figure
