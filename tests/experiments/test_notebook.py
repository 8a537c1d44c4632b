"""A paper in a notebook: shipped tables are drawn, others computed and said to be; claims have their marks."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from rdmacc.experiments import EXPERIMENTS, experiment
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


class Unshipped(type(experiment("dart.fig4"))):
    """A figure without a table: registered, not patched, for what runs under a patch is not stored from then on."""

    name = "dart.unshipped"


def test_what_has_no_table_is_computed_and_the_caption_says_so(shown, monkeypatch, tmp_path):
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path))
    monkeypatch.setitem(EXPERIMENTS, Unshipped.name, Unshipped())
    paper = Paper("dart")
    paper.draw("unshipped")
    assert paper.scale("unshipped") == "quick"
    assert "quick scale" in shown[0].data
    assert shown[1].data.startswith(b"\x89PNG")


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
