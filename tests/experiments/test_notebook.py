"""A paper in a notebook: shipped tables are drawn, others computed and said to be; claims have their marks."""

from __future__ import annotations

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from rdmacc.errors import ConfigError
from rdmacc.experiments.ledger.notebook import Paper
from rdmacc.show.png import png
from rdmacc.show.style import COLOURS

display = pytest.importorskip("IPython.display")


@pytest.fixture
def shown(monkeypatch):
    found = []
    monkeypatch.setattr(display, "display", found.append)
    return found


def test_a_shipped_table_is_drawn_as_it_is(shown):
    paper = Paper("igbn")
    assert paper.scale("fig1") == "paper"
    paper.draw("fig1")
    (picture,) = shown
    assert picture.data.startswith(b"\x89PNG")
    assert picture.alt
    assert plt.get_fignums() == []


def test_what_has_no_table_is_computed_and_the_caption_says_so(shown, monkeypatch, tmp_path):
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path))
    monkeypatch.setattr("rdmacc.experiments.ledger.notebook.load_summary", lambda name: None)
    paper = Paper("ren")
    paper.draw("fig10")
    assert paper.scale("fig10") == "quick"
    assert "quick scale" in shown[0].data
    assert shown[1].data.startswith(b"\x89PNG")


def test_effort_has_a_row_for_each_shipped_table():
    effort = Paper("igbn").effort()
    assert effort.loc["igbn.fig2", "packet-hops"] > 1e6
    assert not effort.isna().any(axis=None)


def test_a_paper_that_is_not_there():
    with pytest.raises(ConfigError, match=r"paper = 'drat': .* did you mean 'dart'"):
        Paper("drat")


def test_pictures_have_a_palette_and_take_less():
    figure, ax = plt.subplots()
    ax.plot([1, 3, 2], label="line")
    plain = io.BytesIO()
    figure.savefig(plain, format="png", dpi=100)
    small = png(figure)
    image = Image.open(io.BytesIO(small))
    assert image.mode == "P"
    assert image.size == Image.open(plain).size
    assert len(small) < 0.5 * len(plain.getvalue())


def test_a_curve_that_is_hidden_keeps_its_colour_in_the_legend():
    figure, ax = plt.subplots()
    for colour in COLOURS.values():
        ax.plot(np.sin(np.arange(3000) / 400), color=colour, label=colour)
    ax.legend()
    pixels = np.asarray(Image.open(io.BytesIO(png(figure))).convert("RGB")).reshape(-1, 3)
    for red, green, blue in map(to_rgb, COLOURS.values()):
        wanted = np.round(255 * np.array([red, green, blue]))
        assert np.abs(pixels - wanted).sum(axis=1).min() < 12
