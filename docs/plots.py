"""Draws the pictures of the page of plots, by running the page's own code."""

from __future__ import annotations

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
    """Draw those that are not newer than the page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    if any(one.stat().st_mtime > PAGE.stat().st_mtime for one in PICTURES.glob("*.png")):
        return
    for name, figure in drawn():
        (PICTURES / f"{name}.png").write_bytes(png(figure))
