"""Every notebook runs to its end at quick scale, in a shell within this process: a kernel takes seconds to start."""

import base64
import json
import sys
from functools import partial
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from rdmacc.show.png import png

interactiveshell = pytest.importorskip("IPython.core.interactiveshell")
pytest.importorskip("matplotlib_inline")
pytest.importorskip("ipywidgets")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
SMALLER = {
    "cluster": (('NODES, GPUS, SIZE, SEEDS = 8, 8, "256MB", 3', 'NODES, GPUS, SIZE, SEEDS = 4, 4, "16MB", 2'),),
    "modern_fabric": (("k = 8", "k = 4"), ("SEEDS = 5", "SEEDS = 2"), ("size = 32", "size = 4")),
    "search": (("BUDGET, COUNT = 64, 200", "BUDGET, COUNT = 4, 3"),),
    "models": (('DURATION, MESSAGES = "400ms", 4000', 'DURATION, MESSAGES = "40ms", 200'),),
    "rcc": (("points=201", "points=101"), ('DURATION = "4ms"', 'DURATION = "1ms"')),
}
"""Replacements in notebook cells that make them take seconds."""
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Shell(interactiveshell.InteractiveShell):
    """IPython without a user interface."""

    def enable_gui(self, gui=None):
        """Ignore the request: there is no GUI."""

    def enable_matplotlib(self, gui=None):
        """Draw pictures when they are shown, not again at the end of each cell."""
        found = super().enable_matplotlib(gui)
        plt.uninstall_repl_displayhook()
        return found


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr("rdmacc.show.png.png", partial(png, dpi=20))
    for name in ("displayhook", "excepthook"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    precision = pd.get_option("display.precision")
    with mpl.rc_context():
        made = Shell.instance()
        made.history_manager.enabled = False
        yield made
        Shell.clear_instance()
        plt.switch_backend("agg")
    pd.set_option("display.precision", precision)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, shell, monkeypatch):
    text = path.read_text()
    if "rdmacc.experiments" in text:  # the tables' pictures are also drawn for the gallery; patched code is not cached
        monkeypatch.setattr("rdmacc.experiments.ledger.notebook.png", lambda figure: DOT)
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    for whole, smaller in SMALLER.get(path.stem, ()):
        assert sum(whole in source for source in sources) == 1, whole
        sources = [source.replace(whole, smaller) for source in sources]
    for source in sources:
        shell.run_cell(source).raise_error()
