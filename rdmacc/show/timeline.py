"""A time axis that runs downwards and cuts out long idle periods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rdmacc.show.style import time_unit
from rdmacc.units import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CUT_SHARE = 0.4  # an idle period is cut if it is longer than this share of the total busy time
_CUT_LENGTH = 0.05  # length of a cut, as a share of the total busy time
_MARGIN = 0.02


def merged(
    start: npt.NDArray[np.float64], end: npt.NDArray[np.float64], gap: float = 0.0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return when at least one of some spans is under way: starts and ends of what is left as they are joined.

    >>> [times.tolist() for times in merged(np.array([5.0, 0.0, 9.0]), np.array([6.0, 3.0, 12.0]), 2.0)]
    [[0.0, 9.0], [6.0, 12.0]]
    """
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.concatenate(([True], start[1:] > end[:-1] + gap)))
    return start[first], end[np.append(first[1:], len(start)) - 1]


class Timeline:
    """Positions on a time axis with cuts, in picoseconds from its top."""

    def __init__(self, spans: Sequence[tuple[int, int]], *, squeeze: bool = True) -> None:
        begins, ends = merged(*np.array(spans, np.float64).T)
        busy = max(float((ends - begins).sum()), 1.0)
        begins, ends = merged(begins, ends, _CUT_SHARE * busy if squeeze else np.inf)
        segments = zip(begins.astype(np.int64).tolist(), ends.astype(np.int64).tolist(), strict=True)
        margin = max(round(_MARGIN * busy), 1)
        self.segments = [(begin, end + margin) for begin, end in segments]
        self.cut = _CUT_LENGTH * busy
        lengths = [end - begin for begin, end in self.segments]
        tops = np.concatenate([[0.0], np.cumsum([length + self.cut for length in lengths])])[:-1]
        self.pieces = [(float(top), float(top) + length) for top, length in zip(tops, lengths, strict=True)]
        """Tops and bottoms of the segments, as positions."""

    @property
    def length(self) -> float:
        """Length from top to bottom."""
        return self.pieces[-1][1]

    def place(self, time_ps: int) -> float:
        """Return the position of a time; inside a cut, that of the nearer end."""
        for (begin, end), (top, _) in zip(self.segments, self.pieces, strict=True):
            if time_ps <= end:
                return top + max(time_ps - begin, 0)
        return self.length

    def label(self, ax: Axes) -> None:
        """Make this the y axis of `ax`, with ticks, the unit, and the length of each cut.

        After a cut, the first tick shows the full time, and those below it the time since then.
        """
        from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

        unit_ps, unit = time_unit(max(end - begin for begin, end in self.segments))
        places: list[float] = []
        texts: list[str] = []
        for number, ((begin, end), (top, bottom)) in enumerate(zip(self.segments, self.pieces, strict=True)):
            bins = max(2, round(10 * (bottom - top) / self.length))
            origin = 0 if number == 0 else begin
            steps = MaxNLocator(bins, steps=[1, 2, 5, 10]).tick_values(
                (begin - origin) / unit_ps, (end - origin) / unit_ps
            )
            for step in steps:
                time = origin + step * unit_ps
                if not begin - 1e-6 <= time <= end:
                    continue
                places.append(top + time - begin)
                if number and step == 0:
                    texts.append(format_time(begin, 6))
                else:
                    texts.append(f"{'+' if number else ''}{step:g}")
        ax.yaxis.set_major_locator(FixedLocator(places))
        ax.yaxis.set_major_formatter(FixedFormatter(texts))
        ax.set_ylim(self.length, 0.0)
        ax.set_ylabel(f"time ({unit})")
        for (_, end), (begin, _), (_, bottom) in zip(self.segments, self.segments[1:], self.pieces, strict=False):
            middle = bottom + self.cut / 2
            ax.axhspan(bottom, bottom + self.cut, facecolor="0.95", edgecolor="none", zorder=0)
            ax.text(
                0.98, middle, f"{format_time(begin - end, 5)} later", transform=ax.get_yaxis_transform(), ha="right",
                va="center", fontsize=8, fontstyle="italic", color="0.35",
            )  # fmt: skip
