"""The file that says where the tables come from that rdmacc comes with, and which of them older code has computed."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from rdmacc.cli.main import app
from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS, provenance, registry, summary_path
from rdmacc.sweep import Store, sweep
from rdmacc.sweep.store import write_table
from tests.sweeps import Apart

HOW = "run `python -m rdmacc.experiments.ledger.provenance` and add the file"


def test_every_table_has_an_entry_that_says_what_the_table_says():
    entries, found = provenance.recorded(), {one["experiment"]: one for one in provenance.gather()}
    assert set(entries) == set(found), HOW
    differs = [name for name, entry in found.items() if entry != entries[name]]
    assert not differs, f"{differs}: {HOW}"
    assert set(entries) <= set(EXPERIMENTS)
    for name, entry in entries.items():
        assert entry["points"] > 0, name
        assert entry["code"], name
        assert {"python", "numpy", "numba", "pandas", "scipy"} <= set(entry["versions"]), name


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a function that stores a table of the experiment "tests.apart" as if rdmacc came with it."""
    monkeypatch.setitem(EXPERIMENTS, "tests.apart", Apart())
    for module in (registry, provenance):
        monkeypatch.setattr(module, "summary_path", lambda name: tmp_path / f"{name}.parquet")
    monkeypatch.setattr("rdmacc.experiments.summary_path", lambda name: tmp_path / f"{name}.parquet")
    provenance.age.cache_clear()
    found = sweep(Apart(), "paper", engine="simpy", jobs=1, store=Store(tmp_path / "store"))

    def keep(**changes):
        write_table(tmp_path / "tests.apart.parquet", found.table, found.summary() | changes)
        provenance.write()

    yield keep
    provenance.age.cache_clear()


OLD = {"code": ["0" * 64], "commits": ["abcdef0123" + 30 * "0" + "+"]}


def test_a_table_of_the_code_that_is_here_is_not_old(table):
    table()
    assert provenance.ages() == {}
    assert provenance.age("tests.apart") == ""


def test_a_table_of_older_code_says_so(table):
    table(**OLD)
    words = provenance.ages()["tests.apart"]
    assert "older code" in words
    assert "abcdef0123+" in words
    assert "`rdmacc run tests.apart --scale paper`" in words


def test_one_point_of_older_code_is_enough(table):
    table()
    (entry,) = provenance.gather()
    table(code=[*entry["code"], *OLD["code"]])
    assert provenance.ages().keys() == {"tests.apart"}


def test_a_table_without_an_entry_is_asked_itself(table, tmp_path):
    table(**OLD)
    (tmp_path / "provenance.jsonl").write_text("")
    assert "older code" in provenance.age("tests.apart")


def test_commands_say_it(table, tmp_path):
    table(**OLD)
    arguments = ["tests.apart", "--scale", "paper", "--store", str(tmp_path / "store")]
    more = ["--engine", "simpy", "--jobs", "1"]
    outcome = CliRunner().invoke(app, ["verify", *arguments, *more])
    assert outcome.exit_code == 0, outcome.output
    assert "tests.apart: the table that rdmacc comes with was computed by older code" in outcome.stderr
    report = ["reproduce", *arguments[:-1], str(tmp_path / "empty"), "--no-compute", "--out", str(tmp_path / "report")]
    outcome = CliRunner().invoke(app, report)
    assert outcome.exit_code == 0, outcome.output
    assert "computed by older code" in (tmp_path / "report" / "tests.apart.html").read_text()
    outcome = CliRunner().invoke(app, ["verify", "tests.apart", *arguments[3:], *more])
    assert "older code" not in outcome.output  # at quick scale it has none


@pytest.mark.parametrize("text", ["{", "[1]", "{}"])
def test_a_damaged_file_is_refused(table, tmp_path, text):
    table()
    (tmp_path / "provenance.jsonl").write_text(text)
    with pytest.raises(ConfigError, match=r"provenance\.jsonl"):
        provenance.recorded()


def test_the_file_has_a_line_for_each_table():
    lines = provenance.provenance_path().read_text().splitlines()
    names = [json.loads(line)["experiment"] for line in lines]
    assert names == sorted(path.stem for path in summary_path("any").parent.glob("*.parquet"))


def test_only_tables_have_an_age():
    with pytest.raises(ConfigError, match="table ="):
        provenance.age("dart")
