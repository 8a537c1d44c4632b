"""The scheme guide: its tables match the schemes; its code runs as written."""

import importlib
import re
import runpy
import sys
import textwrap
from functools import partial
from pathlib import Path

import pytest

import rdmacc
from rdmacc.interface import HOOKS, Host, Message, Packet, Port, QueuePair
from rdmacc.schemes import SCHEMES
from rdmacc.units import us
from tests.support import WIRE, check_finished

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "schemes").glob("*.md"))
TABLES = runpy.run_path(str(DOCS / "schemes" / "tables.py"))


def code_of(page):
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def test_tables_are_up_to_date():
    """If it fails, run python docs/schemes/tables.py."""
    for page in PAGES:
        assert TABLES["fill"](page.read_text()) == page.read_text()


def test_the_interface_lists_every_field_of_the_engines_records():
    page = (DOCS / "interface.md").read_text()
    for name, record in (("packet", Packet), ("message", Message), ("qp", QueuePair), ("host", Host), ("port", Port)):
        listed = page.split(f"**`{name}`**\n\n| field | |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
        assert listed == [f"| `{field.name}` | {field.doc} |".replace("|  |", "| |") for field in record.fields]


def test_the_interface_lists_every_hook_and_what_it_may_write_of_a_packet():
    page = (DOCS / "interface.md").read_text()
    table = page.split("## The hooks")[1].split("\n\n**")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert re.findall(r"`(on_\w+)`", " ".join(cells)) == [*HOOKS]
    row = next(line for line in page.splitlines() if line.startswith("| `packet` | `on_"))
    found = {}
    for part in row.split("|")[2].split(";"):
        hooks, writes = (re.findall(r"`(\w+)`", side) for side in part.split(":"))
        found |= {hook: set(writes) for hook in hooks}
    assert found == {name: set(hook.writes) for name, hook in HOOKS.items() if hook.writes}


def test_the_guide_lists_every_scheme_and_handlers_that_exist():
    """docs/schemes/README.md: each registered scheme has one page, which names only existing handlers."""
    readme = (DOCS / "schemes" / "README.md").read_text()
    rows = re.findall(r"^\| \[.*\]\((\w+\.md)\) \| (.*?) \|", readme, re.MULTILINE)
    schemes = {page: re.findall(r"`([\w-]+)`", names) for page, names in rows}
    assert sorted(name for names in schemes.values() for name in names) == sorted(SCHEMES)
    for page, names in schemes.items():
        table = (DOCS / "schemes" / page).read_text().split("| handler | does |")[1].split("\n\n")[0]
        named = {tuple(one) for one in re.findall(r"`(\w+)\.(on_\w+)`", table)}
        parts = [part for name in names for part in rdmacc.scheme(name).components]
        has = {(kind.__name__, one) for part in parts for kind in type(part).__mro__ for one in part.handlers()}
        assert named
        assert named <= has, page


def run_page(page, engine, monkeypatch, folder):
    """Run all code of a page with an engine, and return it as a module."""
    monkeypatch.setattr(rdmacc, "simulate", partial(rdmacc.simulate, engine=engine))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (folder / f"page_{page.stem}.py").write_text("\n".join(code_of(page)))
    monkeypatch.delitem(sys.modules, f"page_{page.stem}", raising=False)
    return importlib.import_module(f"page_{page.stem}")


def test_the_probes_of_the_index(engine, monkeypatch, tmp_path):
    page = run_page(DOCS / "schemes" / "README.md", engine, monkeypatch, tmp_path)
    assert page.result.probes["probe"].nunique() == 3


@pytest.mark.slow
def test_a_scheme_in_under_40_lines(engine, monkeypatch, tmp_path):
    """Two flows share the link, the queue stays near its target, and both engines agree."""
    page = DOCS / "write_your_own.md"
    assert len([line for line in code_of(page)[0].splitlines() if line]) < 40
    try:
        module = run_page(page, engine, monkeypatch, tmp_path)
        result = module.result
        assert {row["parameter"] for row in rdmacc.scheme_table("queue-hint")} >= {"target_bytes", "gain", "step_bps"}
    finally:
        SCHEMES.pop("queue-hint", None)
    check_finished(result)
    ends = result.flows["fct_ps"] + result.flows["start_ps"]
    assert ends.max() < 1.05 * (20_000 * WIRE * 8e12 / 100e9)
    queue = result.probes[(result.probes["probe"] == "queue s0->h0") & (result.probes["time_ps"] > us(500))]
    assert 10_000 < queue["value"].mean() < 60_000
    check_finished(module.marked)
    assert module.marked.counters["marks_last_hop"] > 100
    assert module.marked.flows["slowdown"].between(1.9, 2.6).all()  # two flows share the link, which marks keep busy
    assert result.flows["fct_ps"].tolist() == AGREED.setdefault("fct_ps", result.flows["fct_ps"].tolist())


AGREED: dict[str, list[int]] = {}
"""The first engine's result."""
