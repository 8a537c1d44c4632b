"""Block diagrams: boxes, and arrows between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_blocks(
    ax: Axes,
    blocks: Mapping[str, tuple[float, float, str, str]],
    arrows: Iterable[tuple[str, str, str]],
    size: tuple[float, float] = (0.9, 0.5),
) -> None:
    """Draw boxes and arrows between them."""
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
    ax.axis("off")
