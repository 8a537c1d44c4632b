"""Writes the gallery: a thumbnail of every figure, drawn from the tables that rdmacc comes with."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from rdmacc.experiments import EXPERIMENTS, load_summary
from rdmacc.experiments.score import PAPERS, score_text
from rdmacc.plotting.style import style

_DPI = 70


def write_gallery(docs: Path) -> None:
    """Write ``gallery.md`` and its pictures into the folder of the documentation; pictures that are there stay.

    Parameters
    ----------
    docs : Path
        The folder.
    """
    pictures = docs / "_static" / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Gallery", "",
        "Every figure and table of the papers, drawn from the tables at paper scale that come with rdmacc.",
        "`rdmacc run dart.fig3 --scale paper` computes one anew, `rdmacc reproduce --scale paper` all, with a page for",
        "each: claims, verdicts and reasons.", "", score_text(), "",
    ]  # fmt: skip
    for paper, name in PAPERS.items():
        lines += [f"## {name}", ""]
        for one in EXPERIMENTS.values():
            table = load_summary(one.name) if one.name.partition(".")[0] == paper else None
            if table is None:
                continue
            picture = pictures / f"{one.name}.png"
            if not picture.exists():
                figure = one.plot(table)
                with style():
                    figure.savefig(picture, dpi=_DPI)
                plt.close(figure)
            lines += [
                f"### {one.name}: {one.title}", "",
                f"![{one.description}](_static/gallery/{one.name}.png)", "",
                f"{one.description}. {len(one.claims)} claims.", "",
            ]  # fmt: skip
    page, text = docs / "gallery.md", "\n".join(lines)
    if not page.exists() or page.read_text() != text:
        page.write_text(text)
