"""The plots of a study, as ``study.plot``: one colour per scheme, and bars for the confidence interval over seeds."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.results.summary import half_width, slowdown_by_size
from rdmacc.show.style import COLOURS, canvas, draw_fct_cdf, draw_spread, log_axes, value_unit
from rdmacc.typed import typed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["StudyPlots"]

_DASHES = ("-", "--", ":", "-.")
_MARKERS = "osD^vPX*"


_FEW_TICKS = 8
"""With at most this many values, a parameter's values are its axis ticks."""
_ASIDE = 0.012
"""Offset between schemes at one value, as a share of the axis."""


def _in_words(name: str) -> tuple[str, str, float]:
    """Return a name without its unit, the unit to show, and how many base units that is."""
    factor, unit = value_unit(name)
    return (name.rpartition("_")[0] if unit else name).replace("_", " ").replace("fct", "FCT"), unit, factor


def _legend_beside(ax: Axes) -> None:
    """Put the legend to the right of the axes: curves and bars leave no room for it."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, fontsize="small")


class StudyPlots:
    """Plots of a study, as ``study.plot``.

    All methods take `ax`, the axes to draw on (default: a new figure). They return the axes.

    Parameters
    ----------
    runs, flows : DataFrame
        As in `rdmacc.sweep.study.Study`.
    parameters : tuple of str
        The varied parameters, besides scheme and seed.
    """

    def __init__(self, runs: pd.DataFrame, flows: pd.DataFrame, parameters: tuple[str, ...]) -> None:
        self._runs = runs
        self._flows = flows
        self._parameters = parameters

    @typed
    def fct_cdf(self, ax: Axes | None = None) -> Axes:
        """Draw the CDF of the delivered messages' FCT, all seeds together, with one curve per scheme and value.

        Raises
        ------
        ConfigError
            If no message was delivered.
        """
        delivered = self._flows[self._flows["fct_ps"].notna()]
        if not len(delivered):
            raise ConfigError("flows", "none delivered", "at least one delivered message")
        with canvas(ax) as ax:
            groups = list(self._groups(delivered))
            looks = {label: look for label, _, look in groups}
            times = {label: rows["fct_ps"] for label, rows, _ in groups}
            draw_fct_cdf(ax, times, float(delivered["fct_ps"].median()), looks)
            ax.set_title("Flow completion times")
        return ax

    @typed
    def slowdown_by_size(self, percentile: float = 99.0, ax: Axes | None = None) -> Axes:
        """Draw a percentile of slowdown over message size, all seeds together.

        Parameters
        ----------
        percentile : {50, 99}
            The percentile, 50 or 99.

        Raises
        ------
        ConfigError
            If it is another percentile.
        """
        column = {50.0: "median", 99.0: "p99"}.get(float(percentile))
        if column is None:
            raise ConfigError("percentile", percentile, "50 or 99")
        with canvas(ax) as ax:
            for number, (label, rows, look) in enumerate(self._groups(self._flows)):
                table = slowdown_by_size(rows)
                marker = _MARKERS[number % len(_MARKERS)]
                ax.plot(table["size_bytes"] / 1e3, table[column], marker=marker, label=label, **look)
            ax.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
            ax.set(xlabel="message size (kB)", ylabel=f"{column} of FCT / FCT alone")
            log_axes(ax, "x")
            ax.set_title("Slowdown by message size")
            ax.set_ylim(bottom=0)
            _legend_beside(ax)
        return ax

    @typed
    def versus(
        self, parameter: str, quantity: str = "fct_p99_ps", ax: Axes | None = None, *, confidence: float = 0.95
    ) -> Axes:
        """Draw a quantity over a parameter: the mean over seeds, and its confidence interval as a bar.

        A scheme without the parameter is a horizontal dashed line.

        Parameters
        ----------
        parameter : str
            One of the varied parameters.
        quantity : str
            A column of `Study.runs`.
        confidence : float
            Confidence level of the bars, by Student's t.

        Raises
        ------
        ConfigError
            If the parameter does not vary, or there is no such quantity.
        """
        if parameter not in self._parameters:
            raise unknown("parameter", parameter, self._parameters, "one that varies")
        known = [name for name in self._runs if name not in ("scheme", "seed", *self._parameters)]
        if quantity not in known:
            raise unknown("quantity", quantity, known)
        words, unit, factor = _in_words(quantity)
        name, its_unit, its_factor = _in_words(parameter)
        numeric = bool(self._runs[parameter].dropna().map(lambda one: isinstance(one, int | float)).all())
        places = list(dict.fromkeys(self._runs[parameter].dropna()))
        is_log = numeric and min(places) > 0 and max(places) >= 20 * min(places)
        with canvas(ax) as ax:
            groups = list(self._groups(self._runs, without=parameter))
            middle = (sum(rows[parameter].notna().any() for _, rows, _ in groups) - 1) / 2
            for number, (label, rows, look) in enumerate(groups):
                if rows[parameter].isna().all():
                    ax.axhline(rows[quantity].mean() / factor, label=label, **{**look, "linestyle": "--"})
                    continue
                grouped = rows.groupby(parameter, sort=numeric)[quantity]
                mean = grouped.mean() / factor
                half = half_width(grouped.std(ddof=1), grouped.size(), confidence) / factor
                x = mean.index / its_factor if numeric else np.array([places.index(one) for one in mean.index])
                aside = _ASIDE * (number - middle)
                x = x * (x.max() / x.min()) ** aside if is_log else x + aside * (x.max() - x.min())
                look |= {"marker": _MARKERS[number % len(_MARKERS)], "label": label}
                draw_spread(ax, x, mean, mean - half, mean + half, capsize=3, elinewidth=1, **look)
            if is_log:
                log_axes(ax, "x")
            if numeric and len(places) <= _FEW_TICKS:
                ax.set_xticks([one / its_factor for one in places], [f"{one / its_factor:,g}" for one in places])
                ax.minorticks_off()
            elif not numeric:
                ax.set_xticks(range(len(places)), [str(one) for one in places])
            ax.set(xlabel=f"{name} ({its_unit})" if its_unit else name, ylabel=f"{words} ({unit})" if unit else words)
            ax.set_title(f"{words} over {name}")
            ax.set_ylim(bottom=0)
            _legend_beside(ax)
        return ax

    def _groups(
        self, frame: pd.DataFrame, without: str | None = None
    ) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
        """Yield (label, rows, look) by scheme and parameters: colours for schemes, dash patterns for values."""
        others = [name for name in self._parameters if name != without]
        palette = list(COLOURS.values())
        colours: dict[Hashable, str] = {}
        seen: dict[Hashable, int] = {}
        key: Any
        for key, rows in frame.groupby(["scheme", *others], sort=False, dropna=False):
            scheme, *values = key if isinstance(key, tuple) else (key,)
            words = [f"{name}={value}" for name, value in zip(others, values, strict=True) if not pd.isna(value)]
            colour = colours.setdefault(scheme, palette[len(colours) % len(palette)])
            dashes = _DASHES[seen.get(scheme, 0) % len(_DASHES)]
            seen[scheme] = seen.get(scheme, 0) + 1
            yield ", ".join([str(scheme), *words]), rows, {"color": colour, "linestyle": dashes}
