"""Declarative plots: a figure declares the quantities of its panels, which are drawn in a common style.

Numbers are shown in the panel's `unit`. The spread over seeds is a band or an error bar; published values are hollow
markers in the colour of their curve. A table is long, or has one row per run (`wide`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.bands import in_unit
from rdmacc.experiments.framework.rows import having
from rdmacc.experiments.framework.trace import shown
from rdmacc.show.style import COLOURS, PAGE, draw_spread, ecdf, fit_above, log_axes, subplots
from rdmacc.sweep.tidy import curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "os^Dv<>P"


def _shade(colour: str) -> str:
    return COLOURS.get(colour, colour)


def _published(ax: Axes) -> str:
    """Return the label of published values, which share one entry in the legend."""
    return "_published" if "published" in ax.get_legend_handles_labels()[1] else "published"


@dataclass(frozen=True)
class Panel(ABC):
    """One quantity of a table, with a curve or bar for each value of a label in `looks`."""

    quantity: str = ""
    looks: Mapping[Any, tuple[str, ...]] = field(default_factory=dict)
    """Legend, colour and, optionally, a line style such as "o--", by value of the label."""
    _: KW_ONLY
    of: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """Derives the panel's table from the figure's."""
    by: str | tuple[str, ...] = "scheme"
    """The label, or several; keys of `looks` are then tuples. "quantity" may be one of them."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Other required labels of the rows."""
    title: str = ""
    unit: str = ""
    label: str = ""
    """Label of the quantity's axis; default: its name."""
    log: str = ""
    """Logarithmic axes: "x", "y" or "xy"."""
    levels: Mapping[str, float] = field(default_factory=dict)
    """Dotted lines by name; names that start with "_" are not in the legend."""
    verticals: Mapping[str, float] = field(default_factory=dict)
    """The same for the other axis, in its unit."""
    axes: Mapping[str, Any] = field(default_factory=dict)
    """Other properties of the axes by matplotlib's names, such as `xlim`."""
    tilt: float = 0.0
    """Rotation of the x axis's tick labels, in degrees."""
    legend: Mapping[str, Any] | None = field(default_factory=lambda: {"fontsize": 8})
    """Options of the legend; None: no legend."""
    also: Callable[[Axes, pd.DataFrame], object] | None = None
    """Draws additional content last."""

    def draw(self, ax: Axes, table: pd.DataFrame) -> None:
        for name, level in self.levels.items():
            ax.axhline(level * self.factor, color="0.5", linewidth=1, linestyle=":", label=name)
        for name, at in self.verticals.items():
            ax.axvline(at, color="0.5", linewidth=1, linestyle=":", label=name)
        self.fill(ax, table if self.of is None else self.of(table))
        log_axes(ax, self.log)
        ax.set(title=self.title, **self.axes)
        if self.tilt:
            ax.tick_params("x", labelrotation=self.tilt)
        if self.legend is not None and ax.get_legend_handles_labels()[0]:
            ax.legend(**self.legend)
        if self.also is not None:
            self.also(ax, table)

    @abstractmethod
    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        """Draw the values."""

    @property
    def factor(self) -> float:
        """The factor from stored to displayed numbers."""
        return in_unit(1.0, self.unit)[0]

    def axis(self) -> str:
        """Return the label of the quantity's axis."""
        suffix = in_unit(1.0, self.unit)[1].strip()
        return f"{self.label or self.quantity} ({suffix})" if suffix else self.label or self.quantity

    def labels(self, one: Any) -> dict[str, Any]:
        """Return the labels of a curve, including its quantity."""
        own = {self.by: one} if isinstance(self.by, str) else dict(zip(self.by, one, strict=True))
        return {"quantity": self.quantity, **self.where, **own}

    def rows(self, table: pd.DataFrame, one: Any) -> pd.DataFrame:
        """Return the rows of a curve, in the panel's unit."""
        labels = self.labels(one)
        column = "value" if "quantity" in table else labels.pop("quantity")
        rows = table[having(table, **labels)]
        return rows.assign(value=rows[column] * self.factor)


@dataclass(frozen=True, kw_only=True)
class Sketch(Panel):
    """A panel drawn by the function `how`."""

    how: Callable[[Axes, pd.DataFrame], object]

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        self.how(ax, table)


@dataclass(frozen=True, kw_only=True)
class Listing(Panel):
    """A table of text: `cells` returns its rows, `columns` maps headings to relative widths."""

    columns: Mapping[str, float]
    cells: Callable[[pd.DataFrame], Sequence[Sequence[str]]]

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        widths = list(self.columns.values())
        drawn = ax.table(
            self.cells(table), None, "left", widths, colLabels=[*self.columns], colLoc="left", loc="center"
        )
        drawn.auto_set_font_size(False)
        drawn.set_fontsize(9)
        drawn.scale(1, 1.35)
        ax.set_axis_off()


@dataclass(frozen=True, kw_only=True)
class Lines(Panel):
    """A number over a parameter, the column `over`; `published` has (parameter, value) pairs by curve."""

    over: str
    xlabel: str = ""
    percent: bool = False
    """Whether the parameter is shown in percent."""
    published: Mapping[Any, Sequence[tuple[float, float]]] = field(default_factory=dict)
    is_error: bool = False
    """Whether the band is the mean's standard error instead of the range."""

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        for marker, (one, (name, colour, *line)) in zip(_MARKERS * 2, self.looks.items(), strict=False):
            values = self.rows(table, one).groupby(self.over)["value"]
            spread = values.agg(["min", "mean", "max"]).dropna()
            if spread.empty:
                continue
            if self.is_error:
                error = values.sem().fillna(0.0)
                spread = spread.assign(min=spread["mean"] - error, max=spread["mean"] + error)
            at, shade = spread.index * (100 if self.percent else 1), _shade(colour)
            (drawn,) = ax.plot(at, spread["mean"], line[0] if line else f"{marker}-", label=name, color=shade)
            ax.fill_between(at, spread["min"], spread["max"], color=shade, alpha=0.2, linewidth=0)
            if one in self.published:
                at, values = np.transpose(self.published[one])
                look: dict[str, Any] = {"marker": drawn.get_marker(), "mfc": "none", "markersize": 9, "color": shade}
                ax.plot(at, values * self.factor, **look, linestyle="none", label=_published(ax))
        ax.set(xlabel=self.xlabel or self.over, ylabel=self.axis())


@dataclass(frozen=True, kw_only=True)
class Distributions(Panel):
    """The distribution of a quantity with many values."""

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        for one, (name, colour, *line) in self.looks.items():
            values, share = ecdf(self.rows(table, one)["value"])
            if len(values):
                ax.plot(np.r_[values[:1], values], np.r_[0.0, share], line[0] if line else "-", color=_shade(colour),
                        drawstyle="steps-post", label=name)  # fmt: skip
        ax.set(xlabel=self.axis(), ylabel="fraction", ylim=(0, 1.02))


@dataclass(frozen=True, kw_only=True)
class Traces(Panel):
    """A quantity over time, for the points in `looks`; `phases` are shaded."""

    by: str | tuple[str, ...] = "point"
    time_unit: str = "us"
    clock: Callable[[pd.DataFrame, str], tuple[float, float]] | None = None
    """Returns a point's time 0 and time unit in ps, if `time_unit` is not a unit of time."""
    width: float = 1.2
    is_step: bool = False
    """Whether each value holds until the next one."""
    until_ps: int = 0
    """Time until which the last value is drawn; 0: not extended."""
    phases: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Begin and end in ps, by name."""

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        time = in_unit(1.0, self.time_unit)[0]
        for shade, (name, (begin_ps, end_ps)) in zip(("0.95", "0.9", "0.85"), self.phases.items(), strict=False):
            ax.axvspan(begin_ps * time, end_ps * time, color=shade, zorder=0, label=name)
        look: dict[str, Any] = {"linewidth": self.width, "drawstyle": "steps-post" if self.is_step else "default"}
        for one, (name, colour, *line) in self.looks.items():
            labels = self.labels(one)
            trace = curve(table, labels["point"], labels["quantity"])
            if self.until_ps:
                trace = shown(trace, int(trace.index[0]), self.until_ps)
            zero_ps, unit_ps = self.clock(table, labels["point"]) if self.clock else (0.0, 1 / time)
            at = (trace.index - zero_ps) / unit_ps
            ax.plot(at, trace * self.factor, line[0] if line else "-", color=_shade(colour), label=name, **look)
        ax.set(xlabel=f"time ({self.time_unit})", ylabel=self.axis())
        if not ax.dataLim.ymin < 0:
            ax.set_ylim(0, None)


@dataclass(frozen=True, kw_only=True)
class Bars(Panel):
    """A number by the values of the label, grouped by the column `over`; published values are black marks.

    Without `over`, `is_flat` draws a named horizontal bar for each of `looks`.
    """

    over: str = ""
    is_flat: bool = False
    published: Mapping[Any, Mapping[Any, float]] = field(default_factory=dict)
    """Values by the label, then by `over`."""

    def draw(self, ax: Axes, table: pd.DataFrame) -> None:
        super().draw(ax, table)
        if self.is_flat or self.legend is None:
            return
        decades = np.log10(ax.dataLim.ymax / ax.get_ylim()[0]) if "y" in self.log else 0.0
        fit_above(ax, 1.3 * 10 ** (0.3 * decades), bottom=None)  # room for the legend

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        if self.is_flat:
            self._flat(ax, table)
            return
        quantities = [self.labels(one)["quantity"] for one in self.looks]
        known = table[table["quantity"].isin(quantities)] if "quantity" in table else table
        groups = list(known[self.over].unique()) if self.over else [""]
        width, at = 0.8 / len(self.looks), np.arange(len(groups))
        for place, (one, (name, colour, *_)) in enumerate(self.looks.items()):
            rows = self.rows(table, one)
            x = at + width * (place - (len(self.looks) - 1) / 2)
            each = rows["value"].groupby(rows[self.over] if self.over else np.full(len(rows), "")).agg(
                ["mean", "min", "max"]
            ).reindex(groups)  # fmt: skip
            ax.bar(x, each["mean"], width, color=_shade(colour), label=name)
            draw_spread(ax, x, each["mean"], each["min"], each["max"], fmt="none", ecolor="0.2")
            marks = [self.published.get(one, {}).get(group, np.nan) * self.factor for group in groups]
            if not np.isnan(marks).all():
                ax.plot(x, marks, "_", color="black", markersize=14, label=_published(ax))
        ax.set_xticks(
            at, [str(group) if self.tilt else fill(str(group), 8, break_long_words=False) for group in groups]
        )
        ax.set(xlabel=self.over, ylabel=self.axis())
        ax.grid(visible=False, axis="x")

    def _flat(self, ax: Axes, table: pd.DataFrame) -> None:
        values = {one: self.rows(table, one)["value"] for one in self.looks}
        shown = [one for one, found in values.items() if len(found)]
        for place, one in enumerate(shown):
            found = values[one]
            ax.barh(place, found.mean(), color=_shade(self.looks[one][1]), height=0.7)
            draw_spread(ax, place, found.mean(), found.min(), found.max(), is_upright=False, fmt="none", ecolor="black")
        ax.set_yticks(np.arange(len(shown)), [self.looks[one][0] for one in shown])
        ax.set(xlabel=self.axis(), ylim=(len(shown) - 0.4, -0.6))
        ax.grid(visible=False, axis="y")


def draw_panels(
    panels: Sequence[Panel],
    table: pd.DataFrame,
    *,
    columns: int = 0,
    size: tuple[float, float] = (4.8, 3.8),
    legend: str = "",
    **grid: Any,
) -> Figure:
    """Draw panels of `size` inches in a grid, by default side by side.

    `legend` is the position of a common legend; `sharex`, `sharey` and others are matplotlib's.
    """
    columns = columns or len(panels)
    rows = -(-len(panels) // columns)
    figure, axes = subplots(rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False, **grid)
    handles: dict[str, Any] = {}
    for ax, panel in zip(axes.flat, panels, strict=False):
        (replace(panel, legend=None) if legend else panel).draw(ax, table)
        handles |= {name: one for one, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax in axes[:-1].flat if grid.get("sharex") else ():
        ax.set_xlabel("")
    for ax in axes[:, 1:].flat if grid.get("sharey") else ():
        ax.set_ylabel("")
    if legend and handles:
        letters = min(figure.get_figwidth(), PAGE) * 120 / 9
        fit = 1 if "right" in legend else max(1, int(letters / (max(map(len, handles)) + 6)))
        place: Any = legend
        figure.legend(list(handles.values()), list(handles), loc=place, ncols=min(len(handles), fit), fontsize=9)
    return figure


def draw_blocks(
    ax: Axes,
    blocks: Mapping[str, tuple[float, float, str, str]],
    arrows: Iterable[tuple[str, str, str]],
    size: tuple[float, float] = (0.9, 0.5),
) -> None:
    """Draw boxes of (x, y, text, colour), with half their `size`, and arrows between them."""
    from matplotlib.patches import FancyBboxPatch

    half_x, half_y = size
    box: dict[str, Any] = {"boxstyle": "round,pad=0.03", "alpha": 0.25, "edgecolor": "0.3", "linewidth": 1}
    line = {"arrowstyle": "-|>", "color": "0.3", "linewidth": 1.2, "shrinkA": 2, "shrinkB": 2}
    for x, y, text, colour in blocks.values():
        ax.add_patch(FancyBboxPatch((x - half_x, y - half_y), 2 * half_x, 2 * half_y, facecolor=colour, **box))
        ax.text(x, y, text, ha="center", va="center", fontsize=8)
    for one, other, label in arrows:
        (x0, y0, *_), (x1, y1, *_) = blocks[one], blocks[other]
        is_level = abs(x1 - x0) > 2 * half_x
        step_x = half_x * (1 if x1 > x0 else -1) if is_level else 0.0
        step_y = 0.0 if is_level else half_y * (1 if y1 > y0 else -1)
        begin, end = (x0 + step_x, y0 + step_y), (x1 - step_x, y1 - step_y)
        ax.annotate("", end, begin, arrowprops=line)
        if label:
            x, y = (begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2 + 0.08
            ax.text(x, y, label, ha="center", fontsize=7, color="0.3")
    x, y = np.transpose([block[:2] for block in blocks.values()])
    ax.set(xlim=(min(x) - 1.1 * half_x, max(x) + 1.1 * half_x), ylim=(min(y) - 1.2 * half_y, max(y) + 1.2 * half_y))
    ax.set_axis_off()
