"""``rdmacc reproduce``: a complete report that names failures and does not change after an interruption."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from rdmacc.cli.main import app
from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS
from rdmacc.experiments.ledger import moving
from rdmacc.experiments.ledger.report import Report, read_verdicts
from tests.support import refused
from tests.sweeps import Tiny, Troubled

runner = CliRunner()


@pytest.fixture
def reproduce(tmp_path, monkeypatch):
    for one in (Tiny(), Troubled()):
        monkeypatch.setitem(EXPERIMENTS, one.name, one)

    def call(*names, out="report", code=0, **options):
        more = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        arguments = ["reproduce", *names, "--out", tmp_path / out, "--store", tmp_path / "store", "--engine", "simpy"]
        outcome = runner.invoke(app, [str(one) for one in (*arguments, *more)])
        assert outcome.exit_code == code, outcome.output
        return tmp_path / out, outcome.output

    return call


def links(folder):
    for page in folder.glob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#]+)', page.read_text()):
            yield page, target


def test_animations_show_what_their_captions_say(tmp_path):
    results = moving.write_scenes(tmp_path)
    assert all((tmp_path / f"{one.name}.html").stat().st_size < 50_000 for one in moving.SCENES)
    ports = {name: result.ports.set_index("port") for name, result in results.items()}
    assert ports["incast"]["peak_queue_bytes"]["leaf0->h0"] == pytest.approx(0.8e6, rel=0.05)
    assert (ports["storm"]["paused_ps"][[f"h{i}->leaf0" for i in range(4)]] > 80_000_000).all()
    assert ports["detour"]["deflected_packets"]["spine0->leaf1"] == 2
    assert results["failure"].counters[["lost_packets", "timeouts"]].tolist() == [17, 0]


def test_the_report_is_complete_and_needs_no_network(reproduce):
    folder, output = reproduce("tests.tiny")
    assert "1 of 1 figures and tables, 0 failed" in output
    found = list(links(folder))
    assert found
    for page, target in found:
        assert not target.startswith(("http", "//")), (page, target)
        assert (folder / target).exists(), (page, target)
    for name in ("figures/tests.tiny.svg", "figures/tests.tiny.png", "data/tests.tiny.csv", "data/tests.tiny.parquet"):
        assert (folder / name).stat().st_size > 0
    text = (folder / "tests.tiny.html").read_text()
    (claim,) = Tiny.claims
    assert all(word in text for word in (claim.id, claim.published, "exactly 0 each", "holds", "packet-hops"))
    assert "width=device-width" in text


def test_a_failure_is_named_and_affects_nothing_else(reproduce):
    folder, output = reproduce("tests.troubled", "tests.tiny", code=1, scale="paper", jobs=1)
    assert "1 of 2 figures and tables, 1 failed" in output
    front = (folder / "index.html").read_text()
    assert "Failed" in front
    assert "fails" in front
    assert (folder / "tests.tiny.html").exists()
    assert "1 of 5 points failed" in (folder / "tests.troubled.html").read_text()
    assert json.loads((folder / "report.json").read_text())["failures"].keys() == {"tests.troubled"}


class Unjudged(Tiny):
    name = "tests.unjudged"
    claims = tuple(replace(claim, id="tests-3", measure=lambda table: {}["a measure"]) for claim in Tiny.claims)


class Undrawn(Tiny):
    name = "tests.undrawn"
    claims = tuple(replace(claim, id="tests-4") for claim in Tiny.claims)

    def plot(self, table):
        raise ValueError("a <negative> length")


class Pointless(Tiny):
    name = "tests.pointless"

    def points(self, scale="quick", seed=0):
        raise RuntimeError("no points")


@pytest.mark.parametrize("is_computed", [True, False])
def test_a_figure_that_cannot_be_judged_or_drawn_says_so(reproduce, monkeypatch, is_computed):
    broken = {"tests.unjudged": "not judged: KeyError", "tests.undrawn": "not drawn: ValueError: a <negative> length",
              "tests.pointless": "RuntimeError: no points"}  # fmt: skip
    for one in (Unjudged(), Undrawn(), Pointless()):
        monkeypatch.setitem(EXPERIMENTS, one.name, one)
    reproduce("tests.undrawn", "tests.unjudged", code=1)
    names = ("tests.unjudged", "tests.pointless", "tests.undrawn", "tests.tiny")
    reproduce("tests.tiny")
    folder, output = reproduce(*names, *([] if is_computed else ["--no-compute"]), code=1)
    assert "1 of 4 figures and tables, 3 failed" in output
    front = (folder / "index.html").read_text()
    for name, reason in broken.items():
        assert f"rdmacc: {name}: {reason}" in output
        assert front.count(reason.replace("<", "&lt;").replace(">", "&gt;")) == 2  # in the list, and on its card
    assert json.loads((folder / "report.json").read_text())["failures"].keys() == broken.keys()
    assert read_verdicts(folder) == {"tests-1": "holds", "tests-4": "holds"}
    drawn = {path.name for path in (folder / "figures").glob("*.svg")}
    assert drawn == {"tests.unjudged.svg", "tests.tiny.svg"}
    assert "not drawn: ValueError" in (folder / "tests.undrawn.html").read_text()
    for page, target in links(folder):
        assert (folder / target).exists(), (page, target)


def test_changed_verdicts_are_named(reproduce):
    before, _ = reproduce("tests.tiny", out="before")
    assert read_verdicts(before) == {"tests-1": "holds"}
    _, output = reproduce("tests.tiny", out="same", since=before)
    assert "before," not in output
    about = before / "report.json"
    about.write_text(about.read_text().replace('"holds"', '"does not hold"'))
    folder, output = reproduce("tests.tiny", out="after", since=before)
    assert "tests-1: does not hold before, holds now" in output
    assert "does not hold &rarr; <strong>holds" in (folder / "index.html").read_text()


@pytest.mark.parametrize("damage", ["none", "cut", "other"])
def test_invalid_reports_are_refused(tmp_path, damage):
    if damage != "none":
        (tmp_path / "report.json").write_text("{" if damage == "cut" else '{"format": 2}')
    refused(lambda: Report(tmp_path / "new", [Tiny()], "quick", since=tmp_path), "report =")


def test_other_files_are_kept(tmp_path):
    mine = tmp_path / "out" / "index.html"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(ConfigError, match="folder = .*: must be empty, or a report's"):
        Report(mine.parent, [Tiny()], "quick")
    assert mine.read_text() == "mine"


def test_nothing_is_computed_if_forbidden(reproduce):
    folder, output = reproduce("tests.tiny", "--no-compute", code=1)
    assert "0 of 1" in output
    assert "points are not computed yet" in (folder / "index.html").read_text()
    reproduce("tests.tiny")
    _, output = reproduce("tests.tiny", "--no-compute", out="again")
    assert "1 of 1" in output
