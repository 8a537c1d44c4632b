"""Faults of a picture: text that is cut off, overlaps other text or is too small, and useless ticks."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.table import Table
from matplotlib.text import Text
from matplotlib.transforms import BboxBase

PAGE_INCHES = 10.0
"""A wider figure is scaled to the page's width, so its text shrinks."""
LEAST_POINTS = 8.0
MOST_TICKS = 11
SLACK = 1.0
"""Pixels by which text may cross an edge: boxes are slightly larger than what is drawn."""


def faults(figure: Figure) -> list[str]:
    figure.canvas.draw()
    hidden = set(_hidden_labels(figure))
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    texts = [text for text in texts if text not in hidden]
    return [*_cut(figure, texts), *_covered(texts), *_small(figure, texts), *_ticks(figure, hidden)]


def _hidden_labels(figure: Figure) -> Iterator[Text]:
    """Yield tick labels that are not drawn, because they lie outside the axis' limits or the axis is off."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            scale = axis.get_transform().transform
            low, high = np.sort(scale(np.asarray(axis.get_view_interval())))
            slack = 1e-6 * (high - low)
            for tick in (*axis.majorTicks, *axis.minorTicks):
                if not (axes.axison and low - slack <= scale(tick.get_loc()) <= high + slack):
                    yield from (tick.label1, tick.label2)


def _cut(figure: Figure, texts: list[Text]) -> Iterator[str]:
    for text in texts:
        if not _is_inside(text, figure.bbox):
            yield f"leaves the figure: {text.get_text()!r}"
        elif text.get_clip_on() and text.get_clip_box() is not None and not _is_inside(text, text.axes.bbox):
            yield f"is cut by its axes: {text.get_text()!r}"
    for table in figure.findobj(Table):
        for cell in table.get_celld().values():
            room, box = cell.get_window_extent(), cell.get_text().get_window_extent()
            if cell.get_text().get_text() and (box.width > room.width + SLACK or box.height > room.height + SLACK):
                yield f"leaves its cell: {cell.get_text().get_text()!r}"


def _is_inside(text: Text, room: BboxBase) -> bool:
    box = text.get_window_extent()
    across = room.x0 - SLACK <= box.x0 and box.x1 <= room.x1 + SLACK
    return across and room.y0 - SLACK <= box.y0 and box.y1 <= room.y1 + SLACK


def _covered(texts: list[Text]) -> Iterator[str]:
    boxes = [(text, text.get_window_extent()) for text in texts]
    for (one, a), (other, b) in combinations(boxes, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > SLACK and up > 2 * SLACK and not _are_rungs(one, a, other, b):
            yield f"{one.get_text()!r} lies on {other.get_text()!r} ({across:.0f} x {up:.0f} px)"


def _are_rungs(one: Text, a: BboxBase, other: Text, b: BboxBase) -> bool:
    """Return whether two texts have the same slope, one above the other: their boxes overlap, their letters do not."""
    angle = np.deg2rad(one.get_rotation())
    if one.get_rotation() != other.get_rotation() or abs(np.sin(2 * angle)) < 0.1:
        return False
    (x, y) = ((a.x0 + a.x1 - b.x0 - b.x1) / 2, (a.y0 + a.y1 - b.y0 - b.y1) / 2)
    return bool(abs(y * np.cos(angle) - x * np.sin(angle)) > one.get_fontsize() * one.figure.dpi / 72)


def _small(figure: Figure, texts: list[Text]) -> Iterator[str]:
    shown = min(1.0, PAGE_INCHES / figure.get_figwidth())
    small = [text for text in texts if text.get_fontsize() * shown < LEAST_POINTS - 0.05]
    if small:
        points = min(text.get_fontsize() for text in small) * shown
        yield f"text of {points:.1f} pt: {small[0].get_text()!r} and {len(small) - 1} more"


def _ticks(figure: Figure, hidden: set[Text]) -> Iterator[str]:
    for axes in figure.axes:
        if not axes.axison:
            continue
        for axis in (axes.xaxis, axes.yaxis):
            labels = [label for label in axis.get_ticklabels(which="both") if label.get_visible()]
            shown = [label.get_text() for label in labels if label.get_text() and label not in hidden]
            numbers = [one for one in shown if one.lstrip("−-").replace(".", "").replace(",", "").isdigit()]
            if len(numbers) == len(shown) > MOST_TICKS:
                yield f"{len(shown)} ticks: {shown}"
            if any(len(one.lstrip("−-")) > 6 and "," not in one for one in numbers):
                yield f"ticks in a unit that does not fit: {numbers}"
            if axis.get_offset_text().get_text():
                yield f"ticks times {axis.get_offset_text().get_text()}"
