"""The documentation: every example runs, every page is in the table of contents."""

from __future__ import annotations

import doctest
import importlib
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pytest

from tests.docs import sessions

ROOT = Path(__file__).parents[2]
DOCS, NOTEBOOKS = ROOT / "docs", ROOT / "notebooks"


@pytest.mark.slow
@pytest.mark.parametrize("page", sessions.PAGES, ids=lambda page: "_".join(page.parts[-2:]))
def test_the_examples_of_a_page_print_what_is_kept(page):
    """Otherwise run python -m tests.docs.sessions."""
    assert sessions.differences(sessions.kept_in(page).read_text(), sessions.printed(page)) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", sessions.COMMANDS)
def test_a_command_prints_what_is_kept(command):
    """Otherwise run python -m tests.docs.sessions."""
    assert sessions.differences(sessions.kept_of(command).read_text(), sessions.output_of(command)) == []


def test_sessions_differ_in_a_word_a_line_or_a_number():
    kept = "FCT  12.77 us\n"
    assert sessions.differences(kept, "FCT 12.770001 us\n") == []
    for other in ("FCT  12.78 us\n", "FCT  12.77 ms\n", kept + kept, ""):
        assert sessions.differences(kept, other) != []


def test_the_readme_shows_what_its_examples_print():
    (shown,) = re.findall(r"^```text\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert shown in sessions.kept_in(ROOT / "README.md").read_text()


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"^```{toctree}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            for name in re.findall(r"^/?[\w/]+$", block, re.MULTILINE):
                target = DOCS / name[1:] if name.startswith("/") else page.parent / name
                listed.add(target.relative_to(DOCS).as_posix())
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    own = {name for name in pages if not name.startswith(("schemes/", "api/", "notebooks/", "_"))}
    made = {f"notebooks/{path.stem}" for path in NOTEBOOKS.rglob("*.ipynb")} | {"gallery"}
    assert own - {"index", "gallery"} == listed - made - {"schemes/README"}
    assert made <= listed


def test_links_between_pages_lead_somewhere():
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+?\.md)(?:#[^)]*)?\)", page.read_text()):
            path = (page.parent / target).resolve()  # pages of notebooks are written when the site is built
            made = path == DOCS / "gallery.md" or any(NOTEBOOKS.rglob(f"{path.stem}.ipynb"))
            assert made or path.exists(), (page.name, target)


def test_the_readmes_links_lead_somewhere_and_on_pypi_too():
    root = ROOT
    text = (root / "README.md").read_text()
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert len(targets) > 10
    assert [target for target in targets if not (root / target).exists()] == []
    made = runpy.run_path(str(root / ".github" / "absolute_links.py"))["absolute"](text, "someone/rdmacc", "v1.0")
    assert re.findall(r"\]\((?!https?:)", made) == []
    assert "![Rates and queue over time, under DCQCN and under DASR](https://raw.githubusercontent.com/" in made
    assert "(https://github.com/someone/rdmacc/blob/v1.0/docs/write_your_own.md)" in made


NAME = re.compile(r"`{1,2}(rdmacc(?:\.\w+)+)[`(]")
PATH = re.compile(r"`{1,2}((?:rdmacc|experiments|models|tests|docs|notebooks|\.ci)/[\w./*-]+)`")
FILES = [
    *ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *NOTEBOOKS.glob("*.ipynb"), *DOCS.glob("**/*.py"),
    *(path for name in ("rdmacc", "models", "experiments", "tests") for path in (ROOT / name).glob("**/*.py")),
]  # fmt: skip


def is_there(name):
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            if part in getattr(found, "__dataclass_fields__", {}):
                return True
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_what_texts_name_is_there():
    """Dotted names of rdmacc, and paths in the repository, in pages, notebooks, docstrings and comments."""
    names = {(found, path.name) for path in FILES for found in NAME.findall(path.read_text())}
    assert len(names) > 200
    assert sorted(one for one in names if not one[0].endswith("style") and not is_there(one[0])) == []
    paths = {(found, path.name) for path in FILES for found in PATH.findall(path.read_text())}
    assert len(paths) > 10
    assert sorted(one for one in paths if not any(ROOT.glob(one[0].rstrip("/")))) == []


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_readmes_commands_are_those_that_work():
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"^```sh\n(.*?)\n```", text, re.MULTILINE | re.DOTALL)
    ci = (ROOT / ".ci" / "run").read_text()
    assert commands[0] == "pip install . && rdmacc demo"
    assert commands[1] == 'pip install -e ".[dev]" && pytest -n auto'
    assert re.search(r"pip. install --quiet --no-compile \.\n", ci)
    assert re.search(r"/rdmacc. demo\b", ci)
    assert re.search(
        r'pip install --quiet --python \.venv -c \.ci/lock\.txt -e "\.\[dev\]"\n\n', ci
    )  # where the tests run
    published = re.findall(r"pip install rdmacc\b(?!\[)", text)
    assert not published, "not on PyPI yet: when it is, the first command of the README becomes this one"


def test_contributing_names_every_folder_with_tests_for_the_night_and_what_it_covers():
    covered = runpy.run_path(str(ROOT / ".ci" / "nightly"))["covered"]()
    marks = re.compile(r"mark\.nightly|mostly_at_night\(")
    tests = ROOT / "tests"
    marked = {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py") if marks.search(path.read_text())}
    assert {Path(name).parts[1] for name in covered} == marked
    assert [name for one in covered.items() for name in (one[0], *one[1]) if not (ROOT / name).exists()] == []


def test_every_extra_that_a_text_names_exists_and_the_readme_names_those_that_users_need():
    extras = set(project()["optional-dependencies"])
    sources = [
        *DOCS.rglob("*.md"), *(ROOT / "rdmacc").rglob("*.py"), *NOTEBOOKS.glob("*.ipynb"),
        ROOT / "README.md", ROOT / "CONTRIBUTING.md",
    ]  # fmt: skip
    named = {
        extra for path in sources for line in path.read_text().splitlines() if "pip install" in line
        for extra in re.findall(r"(?:rdmacc|\.)\[([a-z]+)\]", line)
    }  # fmt: skip
    assert named <= extras
    readme = set(re.findall(r"(?:rdmacc|\.)\[([a-z]+)\]", (ROOT / "README.md").read_text()))
    assert readme == extras - {"tests"}


def test_an_extra_extends_what_is_installed_without_an_index():
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps", "rdmacc[explorer]"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Requirement already satisfied: rdmacc[explorer]" in made.stdout, made.stderr


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
