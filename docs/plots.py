"""Draws the pictures of the page of plots, by running the page's own code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from rdmacc.show.png import png

PAGE = Path(__file__).with_name("plots.md")
PICTURES = PAGE.parent / "_static" / "plots"


def drawn() -> Iterator[tuple[str, Figure]]:
    """Yield the name and the figure of each picture on the page: the one that the code above it drew last."""
    names: dict[str, Any] = {}
    for code, picture in re.findall(
        r"```python\n(.*?)```\n(?:\n!\[.*?\]\(_static/plots/(\w+)\.png\))?", PAGE.read_text(), re.S
    ):
        exec(code, names)
        if picture:
            yield picture, plt.gcf()
        plt.close("all")


def draw_plots() -> None:
    """Draw all if one of them is older than the page."""
    from gallery import is_old  # beside this file, which a test runs from elsewhere

    PICTURES.mkdir(parents=True, exist_ok=True)
    names = re.findall(r"_static/plots/(\w+)\.png", PAGE.read_text())
    if not any(is_old(PICTURES / f"{name}.png", PAGE) for name in names):
        return
    for name, figure in drawn():
        (PICTURES / f"{name}.png").write_bytes(png(figure))
