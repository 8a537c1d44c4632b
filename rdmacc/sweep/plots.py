"""The plots of a study, as ``study.plot``: one colour per scheme, and bars for the confidence interval over seeds."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.results.summary import half_width, slowdown_by_size
from rdmacc.show.style import COLOURS, canvas, draw_fct_cdf, draw_spread, log_axes
from rdmacc.sweep.study_tables import in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["StudyPlots"]

_DASHES = ("-", "--", ":", "-.")
_MARKERS = "osD^vPX*"

_FEW_TICKS = 8
"""With at most this many values, a parameter's values are its axis ticks."""
_ASIDE = 0.012
"""Offset between schemes at one value, as a share of the axis."""


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
            times = {label: rows["fct_ps"] for label, rows, _ in groups}
            looks = {label: {**look, "marker": ""} for label, _, look in groups}
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
            for label, rows, look in self._groups(self._flows):
                table = slowdown_by_size(rows)
                ax.plot(table["size_bytes"] / 1e3, table[column], label=label, **look)
            ax.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
            ax.set(xlabel="message size (kB)", ylabel=f"{column} of FCT / FCT alone")
            log_axes(ax, "x")
            _finish(ax, "Slowdown by message size")
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
        (words, unit, factor), (name, its_unit, its_factor) = in_words(quantity), in_words(parameter)
        words, name = words.replace("fct", "FCT"), name.replace("fct", "FCT")
        places = list(dict.fromkeys(self._runs[parameter].dropna()))
        numeric = all(isinstance(one, int | float) for one in places)
        is_log = numeric and min(places) > 0 and max(places) >= 20 * min(places)
        with canvas(ax) as ax:
            groups = list(self._groups(self._runs, without=parameter))
            middle = (sum(rows[parameter].notna().any() for _, rows, _ in groups) - 1) / 2
            for number, (label, rows, look) in enumerate(groups):
                if rows[parameter].isna().all():
                    ax.axhline(rows[quantity].mean() / factor, color=look["color"], linestyle="--", label=label)
                    continue
                grouped = rows.groupby(parameter, sort=numeric)[quantity]
                mean = grouped.mean() / factor
                half = half_width(grouped.std(ddof=1), grouped.size(), confidence) / factor
                x = mean.index / its_factor if numeric else np.array([places.index(one) for one in mean.index])
                aside = _ASIDE * (number - middle)
                x = x * (x.max() / x.min()) ** aside if is_log else x + aside * (x.max() - x.min())
                draw_spread(ax, x, mean, mean - half, mean + half, capsize=3, elinewidth=1, label=label, **look)
            if is_log:
                log_axes(ax, "x")
            if numeric and len(places) <= _FEW_TICKS:
                ax.set_xticks([one / its_factor for one in places], [f"{one / its_factor:,g}" for one in places])
                ax.minorticks_off()
            elif not numeric:
                ax.set_xticks(range(len(places)), [str(one) for one in places])
            ax.set(xlabel=f"{name} ({its_unit})" if its_unit else name, ylabel=f"{words} ({unit})" if unit else words)
            _finish(ax, f"{words} over {name}")
        return ax

    def _groups(
        self, frame: pd.DataFrame, without: str | None = None
    ) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
        """Yield (label, rows, look) by scheme and parameters: colours for schemes, dash patterns for values."""
        others = [name for name in self._parameters if name != without]
        colours, markers = cycle(COLOURS.values()), cycle(_MARKERS)
        looks: dict[Hashable, tuple[str, Iterator[str]]] = {}
        key: Any
        for key, rows in frame.groupby(["scheme", *others], sort=False, dropna=False):
            scheme, *values = key
            words = [f"{name}={value}" for name, value in zip(others, values, strict=True) if not pd.isna(value)]
            if scheme not in looks:
                looks[scheme] = next(colours), cycle(_DASHES)
            colour, dashes = looks[scheme]
            look = {"color": colour, "linestyle": next(dashes), "marker": next(markers)}
            yield ", ".join([str(scheme), *words]), rows, look


def _finish(ax: Axes, title: str) -> None:
    """Put the legend to the right of the axes: curves and bars leave no room for it."""
    ax.set_title(title)
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, fontsize="small")
