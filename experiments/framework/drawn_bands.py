"""Merge figures that differ only in the seed into the first one, with bands from the lowest to the highest value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FAINT = 0.25
_ASIDE = 0.7  # position of the line on a bar, beside an existing error bar
_NOTHING = ("None", "", " ")


def with_bands(figures: Sequence[Figure]) -> Figure:
    """Return the first of several figures of the same structure, with the spread over all of them.

    A line gets a band from the lowest to the highest value; a bar or a single point gets a vertical line. Curves whose
    samples differ in position between figures are overlaid as thin lines. The other figures are closed.
    """
    import matplotlib.pyplot as plt

    first, *others = figures
    if not others:
        return first
    for place, ax in enumerate(first.axes):
        likes = [one.axes[place] for one in others if len(one.axes) == len(first.axes)]
        for kind, spread in (("lines", _spread_line), ("containers", _spread_bars), ("collections", _spread_dots)):
            every = [list(getattr(like, kind)) for like in likes]
            for number, one in enumerate(list(getattr(ax, kind))):
                spread(ax, one, [found[number] for found in every if len(found) > number])
        ax.relim()
        ax.autoscale_view()
    words = f"bands: range of {len(figures)} seeds"
    first.text(0.995, 0.995, words, ha="right", va="top", fontsize=7, color="0.4")
    for one in others:
        plt.close(one)
    return first


def _spread_line(ax: Axes, line: Any, others: Sequence[Any]) -> None:
    from matplotlib.container import ErrorbarContainer

    drawn = [tuple(np.asarray(axis) for axis in one.get_data()) for one in (line, *others)]
    if line.get_transform() != ax.transData or any(y.dtype.kind not in "fiu" for _, y in drawn):
        return  # a line across the axes, or without numbers
    if any(line in one.lines[1] for one in ax.containers if isinstance(one, ErrorbarContainer)):
        return
    x, y = drawn[0]
    look: dict[str, Any] = {"color": line.get_color(), "zorder": line.get_zorder() - 0.1}
    dashes, marker, steps = str(line.get_linestyle()), line.get_marker(), str(line.get_drawstyle())
    if any(not np.array_equal(x, other) for other, _ in drawn[1:]):
        look |= {"linestyle": dashes, "marker": marker, "markersize": line.get_markersize(), "drawstyle": steps}
        for one in drawn[1:]:
            ax.plot(*one, **look, linewidth=0.6, alpha=2 * _FAINT, label="_")
        return
    values = np.array([other for _, other in drawn], dtype=np.float64)
    known = np.isfinite(values).all(axis=0)
    if not known.any() or np.array_equal(values.min(axis=0)[known], values.max(axis=0)[known]):
        return
    least, most = (np.where(known, how(values, axis=0), y) for how in (np.min, np.max))
    if dashes not in _NOTHING:
        by_steps: Any = (steps.removeprefix("steps").strip("-") or "pre") if steps.startswith("steps") else None
        ax.fill_between(x, least, most, where=known, step=by_steps, alpha=_FAINT, linewidth=0, **look)
    elif str(marker) not in _NOTHING:  # others are parts of error bars
        ax.vlines(x, least, most, linewidth=1, **look)


def _spread_bars(ax: Axes, bars: Any, others: Sequence[Any]) -> None:
    from matplotlib.container import BarContainer

    shapes = {(len(one), one.orientation) if isinstance(one, BarContainer) else None for one in (bars, *others)}
    if None in shapes or len(shapes) > 1:
        return
    upright = bars.orientation != "horizontal"
    look: dict[str, Any] = {"color": "0.2", "linewidth": 1}
    for bar, *every in zip(bars, bars, *others, strict=True):
        ends = [one.get_bbox().y1 if upright else one.get_bbox().x1 for one in every]
        if min(ends) == max(ends) or not np.isfinite(ends).all():
            continue
        if upright:
            ax.set_ylim(top=max(ax.get_ylim()[1], 1.05 * max(ends)))
            ax.vlines(bar.get_x() + _ASIDE * bar.get_width(), min(ends), max(ends), **look)
        else:
            ax.hlines(bar.get_y() + _ASIDE * bar.get_height(), min(ends), max(ends), **look)


def _spread_dots(ax: Axes, dots: Any, others: Sequence[Any]) -> None:
    from matplotlib.collections import PathCollection

    for one in others if isinstance(dots, PathCollection) else ():
        if isinstance(one, PathCollection) and not np.array_equal(one.get_offsets(), dots.get_offsets()):
            x, y = np.asarray(one.get_offsets(), dtype=np.float64).T
            ax.scatter(x, y, s=one.get_sizes(), c=one.get_facecolors(), alpha=_FAINT, label="_")  # type: ignore[attr-defined]
