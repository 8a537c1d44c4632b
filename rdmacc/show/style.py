"""The style of every plot, and helpers for drawing functions.

A drawing function takes `ax` (default: a new figure) and returns the Axes, so that plots can be arranged and changed.
matplotlib is imported on first use. The style is `rdmacc.mplstyle`; the colours are Okabe and Ito's, which are
distinguishable under all kinds of colour vision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

import numpy as np
import numpy.typing as npt

from rdmacc.errors import ConfigError, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Given = ParamSpec("_Given")

COLOURS = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "black": "#000000",
    "yellow": "#F0E442",
}
"""Okabe and Ito's palette, in the order in which lines use it."""

_TITLE_PLACES: tuple[Literal["left", "center", "right"], ...] = ("left", "center", "right")
_STYLE = Path(__file__).with_name("rdmacc.mplstyle")

PAGE = 11.0
"""Width of the widest figures, in inches."""
_SHOWN = 10.0  # width at which pages and notebooks show them at most
_LEAST_POINTS = 8.0
_LETTERS = 8.0  # letters of a panel's title in an inch
_FEW_DECADES = 2.5  # a logarithmic axis of fewer has ticks between the powers of ten

_TIME_UNITS = ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1.0, "ps"))
_WIDE = 50.0  # completion times that differ by more than this factor are drawn on a logarithmic axis
UNITS = {"bps": (1e9, "Gb/s"), "bytes": (1e3, "kB"), "ps": (1e6, "us")}
"""Display units of plots and sliders: base units in one, and its name."""


@contextmanager
def style() -> Iterator[None]:
    """Apply rdmacc's style to everything drawn inside the ``with`` block.

    This changes and restores only the style's own settings. ``matplotlib.style.context`` would restore all settings,
    and so undo the interactive mode that a notebook's backend turns on with the first figure.
    """
    import matplotlib as mpl

    look = mpl.rc_params_from_file(_STYLE, use_default_template=False)
    before = {name: mpl.rcParams[name] for name in look}
    mpl.rcParams.update(look)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def on_a_page(draw: Callable[_Given, Figure]) -> Callable[_Given, Figure]:
    """Return a function that draws in rdmacc's style, and whose figures fit on a page and can be read there."""

    @wraps(draw)
    def drawn(*args: _Given.args, **kwargs: _Given.kwargs) -> Figure:
        with style():
            figure = draw(*args, **kwargs)
            _fit_page(figure)
            return figure

    return drawn


def _fit_page(figure: Figure) -> None:
    """Make a figure no wider than `PAGE`, and no text smaller than `_LEAST_POINTS` at the size at which it is shown."""
    from matplotlib.text import Text

    width, height = figure.get_size_inches()
    figure.set_size_inches(min(width, PAGE), height)
    least = _LEAST_POINTS * max(1.0, figure.get_figwidth() / _SHOWN)
    for text in figure.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), least))
    for ax in figure.axes:
        spec = ax.get_subplotspec()
        share = len(spec.colspan) / spec.get_gridspec().ncols if spec else 1.0
        for place in _TITLE_PLACES:
            title = ax.get_title(loc=place)
            lines = [fill(line, int(_LETTERS * share * figure.get_figwidth())) for line in title.split("\n")]
            if "\n".join(lines) != title:
                ax.set_title("\n".join(lines), loc=place)


def subplots(*shape: int, **kwargs: Any) -> tuple[Figure, Any]:
    """Return a new figure and its axes, as pyplot's function. Call inside `style()`."""
    import matplotlib.pyplot as plt

    return plt.subplots(*shape, **kwargs)


def new_axes(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """Return `ax`, or the axes of a new figure. Call inside `style()`."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize)[1]


def note(ax: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], **look: Any) -> None:
    """Write a small text at a point, `offset` (in points) away from it."""
    ax.annotate(text, at, xytext=offset, textcoords="offset points", **{"fontsize": 8} | look)


@contextmanager
def canvas(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Iterator[Axes]:
    """Provide axes to draw on, in rdmacc's style. Axes with existing content keep their title and limits."""
    with style():
        is_shown = ax is not None and ax.has_data()
        ax = new_axes(ax, figsize)
        titles = {place: ax.get_title(loc=place) for place in _TITLE_PLACES}
        limits = ax.get_xlim(), ax.get_ylim()
        yield ax
        if is_shown:
            ax.set(xlim=limits[0], ylim=limits[1])
            for place, title in titles.items():
                ax.set_title(title, loc=place)


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure to a file (creating its folder), close it, and return the path."""
    import matplotlib.pyplot as plt

    target = Path(path)
    known = figure.canvas.get_supported_filetypes()
    if target.suffix and target.suffix[1:].lower() not in known:
        raise ConfigError("file", str(path), f"of a format that matplotlib writes: {', '.join(known)}")
    with written(target), style():
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target)
    plt.close(figure)
    return target


def time_unit(span_ps: float) -> tuple[float, str]:
    """Return (picoseconds, name) of the most readable unit for a time axis of this length."""
    for factor, name in _TIME_UNITS:
        if span_ps >= 2 * factor:
            return factor, name
    return _TIME_UNITS[-1]


def axis_time_unit(ax: Axes, span_ps: float) -> tuple[float, str]:
    """Return (picoseconds, name) of a time axis' unit: the one in its label, otherwise the most readable one."""
    if ax.has_data():
        for factor, name in _TIME_UNITS:
            if ax.get_xlabel().endswith(f"({name})"):
                return factor, name
    return time_unit(span_ps)


def value_unit(field: str) -> tuple[float, str]:
    """Return (factor, name) of the display unit of a field, from the last part of its name."""
    return UNITS.get(field.rpartition("_")[2], (1.0, ""))


def ecdf(values: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the sorted values and, for each, the fraction of values up to it."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return ordered, np.arange(1, len(ordered) + 1) / max(len(ordered), 1)


def draw_fct_cdf(
    ax: Axes,
    curves: Mapping[str, npt.ArrayLike],
    typical_ps: float,
    looks: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> None:
    """Draw distributions of flow completion times, on a logarithmic axis if they span a wide range."""
    unit_ps, unit = axis_time_unit(ax, typical_ps)
    least, most = np.inf, 0.0
    for label, fct_ps in curves.items():
        fct, fraction = ecdf(np.asarray(fct_ps, dtype=np.float64) / unit_ps)
        x, y = np.r_[fct[:1], fct], np.r_[0.0, fraction]
        ax.plot(x, y, drawstyle="steps-post", label=label, **looks.get(label, {}))
        least, most = min(least, fct[0]), max(most, fct[-1])
    ax.set(xlabel=f"flow completion time ({unit})", ylabel="fraction of flows", ylim=(0, 1.02))
    if most > _WIDE * least:
        log_axes(ax, "x")
    ax.legend(loc="lower right")


def log_axes(ax: Axes, names: str) -> None:
    """Make axes logarithmic, after drawing; one without a number above zero stays linear, for it cannot be.

    Few ticks are labelled, with plain numbers unless they are very large or small.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for name, least in zip("xy", np.asarray(ax.dataLim.minpos), strict=True):
        if name not in names or not np.isfinite(least):
            continue
        getattr(ax, f"set_{name}scale")("log")
        axis = getattr(ax, f"{name}axis")
        low, high = axis.get_view_interval()
        decades = np.log10(high / low)
        if decades < _FEW_DECADES:
            narrow = (1, 1.5, 2, 3, 5, 7) if name == "y" else (1, 2, 5)
            axis.set_major_locator(
                LogLocator(subs=narrow if decades < 1 else (1, 2, 5) if name == "y" and decades < 2 else (1, 3))
            )
        if low >= 1e-3 and high <= 1e5:
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())


def fit_above(ax: Axes, factor: float, bottom: float | None = 0.0) -> None:
    """End the vertical axis at a multiple of the greatest number drawn, if there is one above zero."""
    most = ax.dataLim.ymax
    ax.set_ylim(bottom, factor * most if np.isfinite(most) and most > 0 else None)


def draw_spread(
    ax: Axes,
    at: npt.ArrayLike,
    middle: npt.ArrayLike,
    least: npt.ArrayLike,
    most: npt.ArrayLike,
    *,
    is_upright: bool = True,
    **kwargs: Any,
) -> None:
    """Draw values with error bars from `least` to `most`; no bar where an end is NaN."""
    values, low, high = (np.asarray(each, dtype=np.float64) for each in (middle, least, most))
    lengths = np.clip([values - low, high - values], 0.0, None).reshape(2, -1)
    if is_upright:
        ax.errorbar(at, values, yerr=lengths, **kwargs)
    else:
        ax.errorbar(values, at, xerr=lengths, **kwargs)


def draw_trace(
    ax: Axes,
    time_ps: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    unit_ps: float = 1e6,
    scale: float = 1.0,
    is_step: bool = True,
    **kwargs: Any,
) -> None:
    """Draw one curve over time, as steps if each value holds until the next sample."""
    x, y = np.asarray(time_ps) / unit_ps, np.asarray(value) / scale
    ax.plot(x, y, drawstyle="steps-post" if is_step else "default", **kwargs)
