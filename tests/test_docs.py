"""The documentation: every example runs, every page is in the table of contents."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = DOCS.parent / "notebooks"
PAGES = sorted(path for folder in ("tutorials", "howto") for path in (DOCS / folder).glob("*.md"))


@pytest.mark.parametrize("page", [DOCS / "index.md", *PAGES], ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path / "store"))
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    namespace = {"__name__": page.stem}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page.name}, example {number + 1}", "exec"), namespace)
    plt.close("all")


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"^```{toctree}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            for name in re.findall(r"^/?[\w/]+$", block, re.MULTILINE):
                target = DOCS / name[1:] if name.startswith("/") else page.parent / name
                listed.add(target.relative_to(DOCS).as_posix())
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    own = {name for name in pages if not name.startswith(("schemes/", "api/", "notebooks/", "_"))}
    made = {f"notebooks/{path.stem}" for path in NOTEBOOKS.glob("*.ipynb")} | {"gallery"}
    assert own - {"index", "gallery"} == listed - made - {"schemes/README"}
    assert made <= listed


def test_links_between_pages_lead_somewhere():
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+?\.md)(?:#[^)]*)?\)", page.read_text()):
            notebook = NOTEBOOKS / f"{Path(target).stem}.ipynb"  # its page is written when the site is built
            is_notebook = Path(target).parent.name == "notebooks" or page.parent.name == "notebooks"
            assert (notebook if is_notebook else page.parent / target).exists(), (page.name, target)
