"""Writes the gallery: a thumbnail of every figure, drawn from the bundled tables; and the validations' figures."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from html import escape
from multiprocessing import get_context
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from rdmacc.experiments import Experiment, experiment, load_summary, select, summary_path
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.show.png import png

_DPI = 70


def write_gallery(docs: Path) -> None:
    """Write ``gallery.md`` into the folder of the documentation.

    Parameters
    ----------
    docs : Path
        The folder.
    """
    lines = [
        "# Gallery", "",
        "Every figure and table of the papers, drawn from the tables at paper scale that come with rdmacc.",
        "`rdmacc run dart.fig3 --scale paper` computes one, `rdmacc reproduce --scale paper` all, with a page for",
        "each. Click on a picture to enlarge it. See also [what holds, and what does not](papers.md), and [plots of",
        "your own runs](plots.md).",
        "",
    ]  # fmt: skip
    for paper, about in PAPERS.items():
        lines += [f"## {about.name}", "", "```{raw} html", '<div class="rdmacc-gallery">']
        for one in _shown(paper):
            source, words = f"_static/gallery/{one.name}.png", escape(one.description)
            lines += [
                f'<figure id="{one.name}"><a href="{source}" title="{words}">',
                f'<img loading="lazy" src="{source}" alt="{words}"></a>',
                f"<figcaption><code>{one.name}</code> {escape(one.title)}",
                f"({len(one.claims)} {'claim' if len(one.claims) == 1 else 'claims'})</figcaption></figure>",
            ]
        lines += ["</div>", "```", ""]
    page, text = docs / "gallery.md", "\n".join(lines)
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def draw_gallery(docs: Path) -> None:
    """Draw the pictures of the gallery and of the validations into ``_static``; one newer than its table stays.

    Parameters
    ----------
    docs : Path
        The folder of the documentation.
    """
    folder = docs / "_static" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {one.name: folder / f"{one.name}.png" for paper in (*PAPERS, "validation") for one in _shown(paper)}
    old = [(name, picture) for name, picture in pictures.items() if is_old(picture, summary_path(name))]
    if old:
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            for made in [pool.submit(_draw, *one) for one in old]:
                made.result()


def _shown(paper: str) -> Iterator[Experiment]:
    """Yield the experiments of a paper that have a table at paper scale."""
    return (one for one in select(paper) if load_summary(one.name) is not None)


def is_old(picture: Path, source: Path) -> bool:
    """Return whether a picture is missing or older than what it is drawn from."""
    return not picture.exists() or picture.stat().st_mtime < source.stat().st_mtime


def _draw(name: str, picture: Path) -> None:
    figure = experiment(name).plot(load_summary(name))
    picture.write_bytes(png(figure, dpi=_DPI))
    plt.close(figure)
