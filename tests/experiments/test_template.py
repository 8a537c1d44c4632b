"""The fictitious paper from docs/experiments.md: its folder alone provides everything that a paper needs."""

import importlib
import json
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rdmacc.cli.main import app
from rdmacc.experiments import EXPERIMENTS, summary_path
from rdmacc.experiments.framework.claim import Outcome
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import QUESTIONS
from rdmacc.experiments.framework.texts import FIGURES, TEXTS
from rdmacc.experiments.ledger import record
from rdmacc.experiments.ledger.notebook import Paper, write_draft
from rdmacc.experiments.ledger.papers import page_of, papers_page
from rdmacc.experiments.ledger.score import score
from rdmacc.presets import PRESETS

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "experiments" / "_template"
OUTSIDE = "from rdmacc.experiments.framework.registry import import_modules\n\nimport_modules(__name__)\n"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Import a copy of the template elsewhere as the paper "toy", and remove it at the end."""
    shutil.copytree(TEMPLATE, tmp_path / "toy")
    (tmp_path / "toy" / "__init__.py").write_text(OUTSIDE)  # processes that compute its points read its files too
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path / "store"))
    known = [(one, dict(one)) for one in (EXPERIMENTS, PAPERS, QUESTIONS, FIGURES, TEXTS)]
    presets = [(one, dict(one)) for one in (PRESETS._files, PRESETS._made)]
    importlib.import_module("toy")
    yield tmp_path / "toy"
    for name in [one for one in sys.modules if one.partition(".")[0] == "toy"]:
        del sys.modules[name]
    for one, before in known + presets:
        one.clear()
        one.update(before)


def run(*arguments):
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.slow
def test_a_folder_is_all_a_paper_needs(toy, tmp_path):
    assert "Toy, figure 1" in run("list", "toy")
    assert "within a round trip" in run("readings", "toy")
    assert "[does not hold, as recorded] toy-f1-3" in run("verify", "toy", "--engine", "simpy")
    run("reproduce", "toy", "--out", tmp_path / "report", "--engine", "simpy")
    assert "toy-f1-1" in (tmp_path / "report" / "toy.fig1.html").read_text()
    assert list(PAPERS)[-1] == "toy"
    assert "papers/toy\n" in papers_page()
    assert "Nobody et al., *" in papers_page()
    assert score().loc["Toy", "not judged"] == 3


@pytest.mark.slow
def test_its_table_its_page_and_its_notebook(toy, tmp_path):
    run("run", "toy", "--scale", "paper", "--out", tmp_path / "out", "--engine", "simpy")
    (toy / "data").mkdir()
    (tmp_path / "out" / "toy.fig1" / "table.parquet").rename(summary_path("toy.fig1"))
    (toy / "causes.toml").write_text(
        '[[cause]]\ntitle = "Line rate first"\nfigure = "toy.fig1"\nclaims = ["toy-f1-3"]\n'
    )
    record.write(["toy.fig1"])
    found = Paper("toy").claims().frame.set_index("id")["verdict"]
    assert found.to_dict() == {f"toy-f1-{k}": v.value for k, v in enumerate(
        (Outcome.HOLDS, Outcome.HOLDS, Outcome.FAILS, Outcome.HOLDS), 1
    )}  # fmt: skip
    other = Paper("toy").claims(reading="within a round trip").frame.set_index("id")["verdict"]
    assert other["toy-f1-1"] == "does not hold"
    assert "### Line rate first" in page_of("toy")
    cells = json.loads(write_draft("toy", tmp_path).read_text())["cells"]
    code = "\n".join(one["source"] for one in cells if one["cell_type"] == "code").replace("%matplotlib inline\n", "")
    exec(compile(code, "toy.ipynb", "exec"), {})
