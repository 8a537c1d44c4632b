"""The labs: solutions pass, starters do not, and students' mistakes are reported."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rdmacc import ConfigError
from rdmacc.cli.main import app
from rdmacc.notebooks import copy_notebooks
from rdmacc.notebooks.labs import FOLDER, NUMBERS, check, starter
from tests.support import refused

SOLUTIONS = Path(__file__).parents[2] / "docs" / "teach" / "solutions"


@pytest.mark.parametrize("number", NUMBERS)
def test_the_solution_passes_and_the_starter_does_not(number):
    assert set(check(number, SOLUTIONS / f"lab{number}.py").values()) == {""}
    assert all(check(number).values())


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("42.926", ""),
        ("40.96", "too small"),  # without headers
        ("42.926e-6", "too small"),  # in seconds
        ("float('nan')", "not a number"),
        ("'43 us'", "must be a time in microseconds"),
        ("...", "not answered"),
    ],
)
def test_an_answer_is_judged(tmp_path, answer, verdict):
    (tmp_path / "mine.py").write_text(f"drain_us = {answer}\n")
    found = check(1, tmp_path / "mine.py")["drain_us"]
    assert verdict in found if verdict else found == ""


def test_a_notebook_is_run_from_the_top_as_saved(tmp_path):
    path = next(copy for copy in copy_notebooks(tmp_path, FOLDER) if copy.name == starter(2).name)
    book = json.loads(path.read_text())
    for cell in book["cells"]:
        if "max_min_gbps = ..." in "".join(cell["source"]):
            cell["source"] = ["!ls\n", "max_min_gbps = [100 / 3, 66.5, 100 / 3, 30]\n"]
    path.write_text(json.dumps(book))
    shell = CliRunner().invoke(app, ["labs", "check", "2", str(tmp_path)])
    assert shell.exit_code == 1
    assert "max_min_gbps         3: 30 is too small\n" in shell.output  # 66.5 is within a percent


def test_failures_are_named(tmp_path):
    (tmp_path / "mine.py").write_text("drain_us = 1 / 0\n")
    (tmp_path / "empty.ipynb").write_text("{}")
    with pytest.raises(ConfigError, match=r"mine.py, cell 1.*ZeroDivisionError"):
        check(1, tmp_path / "mine.py")
    for number, path, message in (
        (6, None, "lab = 6: must be 1 to 5"),
        (1, tmp_path / "none.ipynb", "none.ipynb"),
        (1, tmp_path, "must be a notebook"),
        (1, tmp_path / "empty.ipynb", r"must be a notebook with cells, or a Python file \(KeyError: 'cells'\)"),
    ):
        with pytest.raises(ConfigError, match=message):
            check(number, path)
    copy_notebooks(tmp_path / "labs", FOLDER)
    refused(lambda: copy_notebooks(tmp_path / "labs", FOLDER), "worked on")
