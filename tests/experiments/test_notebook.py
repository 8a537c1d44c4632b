"""A paper in a notebook: bundled tables are drawn, others are computed and labelled so; claims are marked."""

import pytest

from rdmacc.experiments import EXPERIMENTS, experiment
from rdmacc.experiments.ledger.notebook import Paper

display = pytest.importorskip("IPython.display")


@pytest.fixture
def shown(monkeypatch):
    found = []
    monkeypatch.setattr(display, "display", found.append)
    return found


class Unshipped(type(experiment("dart.fig4"))):
    """A figure without a table: registered rather than patched, because results under a patch are not stored."""

    name = "dart.unshipped"


def test_a_figure_without_a_table_is_computed_and_its_caption_says_so(shown, monkeypatch, tmp_path):
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path))
    monkeypatch.setitem(EXPERIMENTS, Unshipped.name, Unshipped())
    paper = Paper("dart")
    paper.draw("unshipped")
    assert paper.scale("unshipped") == "quick"
    assert "quick scale" in shown[0].data
    assert shown[1].data.startswith(b"\x89PNG")
