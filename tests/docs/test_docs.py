"""The documentation: every example runs and prints what is stored; links lead somewhere."""

import doctest
import importlib
import re
import runpy
import tomllib
from pathlib import Path

import pytest

from tests.docs import sessions
from tests.support import mostly_at_night

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("page", mostly_at_night(sessions.PAGES, every=3), ids=lambda page: "_".join(page.parts[-2:]))
def test_the_examples_of_a_page_print_the_stored_output(page):
    """Otherwise run python -m tests.docs.sessions."""
    assert sessions.differences(sessions.kept_in(page).read_text(), sessions.printed(page)) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", sessions.COMMANDS)
def test_a_command_prints_the_stored_output(command):
    """Otherwise run python -m tests.docs.sessions."""
    assert sessions.differences(sessions.kept_of(command).read_text(), sessions.output_of(command)) == []


def test_the_readme_shows_what_its_examples_print():
    (shown,) = re.findall(r"^```text\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert shown in sessions.kept_in(ROOT / "README.md").read_text()


def test_the_readmes_links_work_here_and_on_pypi():
    root = ROOT
    text = (root / "README.md").read_text()
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert len(targets) > 10
    assert [target for target in targets if not (root / target).exists()] == []
    made = runpy.run_path(str(root / ".github" / "absolute_links.py"))["absolute"](text, "someone/rdmacc", "v1.0")
    assert re.findall(r"\]\((?!https?:|#)", made) == []
    assert "![Rates and queue over time, under DCQCN and under DASR](https://raw.githubusercontent.com/" in made
    assert "(https://github.com/someone/rdmacc/blob/v1.0/docs/write_your_own.md)" in made


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_contributing_names_every_folder_with_nightly_tests_and_what_it_covers():
    covered = runpy.run_path(str(ROOT / ".ci" / "nightly"))["covered"]()
    marks = re.compile(r"mark\.nightly|mostly_at_night\(")
    tests = ROOT / "tests"
    marked = {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py") if marks.search(path.read_text())}
    assert {Path(name).parts[1] for name in covered} == marked
    assert [name for one in covered.items() for name in (one[0], *one[1]) if not (ROOT / name).exists()] == []


def test_a_release_knows_its_repository():
    text = (ROOT / "pyproject.toml").read_text()
    made = runpy.run_path(str(ROOT / ".github" / "absolute_links.py"))["with_urls"](text, "someone/rdmacc", "v1")
    urls = tomllib.loads(made)["project"]["urls"]
    assert urls["Repository"] == "https://github.com/someone/rdmacc"
    assert urls.items() > project()["urls"].items()
    dois = set(re.findall(r"doi: (10\.1109/\S+)", (ROOT / "CITATION.cff").read_text()))
    assert {url.removeprefix("https://doi.org/") for url in project()["urls"].values()} == dois


@pytest.mark.slow
def test_the_examples_in_docstrings_print_what_they_show(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong, found = [], 0
    for folder, package in ((ROOT / "rdmacc", "rdmacc"), (ROOT / "models", "rdmacc.models")):
        for path in folder.rglob("*.py"):
            if ">>> " in path.read_text():
                name = ".".join((package, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
                result = doctest.testmod(importlib.import_module(name))
                wrong, found = wrong + [name] * result.failed, found + result.attempted
    assert wrong == []
    assert found > 80
