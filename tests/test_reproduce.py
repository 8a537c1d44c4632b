"""``rdmacc reproduce``: the report is whole, says what failed, and is the same whether or not it was interrupted."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import matplotlib

matplotlib.use("Agg")

import pytest
from typer.testing import CliRunner

from rdmacc.cli.main import app
from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS
from rdmacc.experiments.report import Report, read_verdicts
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
    """Return what the pages refer to, with the page."""
    for page in folder.glob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#]+)', page.read_text()):
            yield page, target


def test_the_report_is_whole_and_needs_no_network(reproduce):
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
    assert all(word in text for word in (claim.id, claim.published, claim.band, "holds", "10 of 10", "packet hops"))
    assert "width=device-width" in text


def test_what_fails_is_named_and_loses_nothing_else(reproduce):
    folder, output = reproduce("tests.troubled", "tests.tiny", code=1, scale="paper", jobs=1)
    assert "1 of 2 figures and tables, 1 failed" in output
    front = (folder / "index.html").read_text()
    assert "Failed" in front
    assert "fails" in front
    assert (folder / "tests.tiny.html").exists()
    assert not (folder / "tests.troubled.html").exists()
    assert json.loads((folder / "report.json").read_text())["failures"].keys() == {"tests.troubled"}


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
def test_what_is_no_report_is_refused(tmp_path, damage):
    if damage != "none":
        (tmp_path / "report.json").write_text("{" if damage == "cut" else '{"format": 2}')
    with pytest.raises(ConfigError, match="report ="):
        Report(tmp_path / "new", [Tiny()], "quick", since=tmp_path)


def test_nothing_is_computed_if_it_must_not_be(reproduce):
    folder, output = reproduce("tests.tiny", "--no-compute", code=1)
    assert "0 of 1" in output
    assert "points are not computed yet" in (folder / "index.html").read_text()
    reproduce("tests.tiny")
    _, output = reproduce("tests.tiny", "--no-compute", out="again")
    assert "1 of 1" in output


_SCRIPT = """
import sys
from rdmacc.cli.main import main
from rdmacc.experiments import EXPERIMENTS
from tests.sweeps import Tiny
EXPERIMENTS["tests.tiny"] = Tiny()
sys.argv = ["rdmacc", "reproduce", "tests.tiny", "--engine", "simpy", "--out", sys.argv[1], "--store", sys.argv[2]]
main()
"""


@pytest.mark.slow
def test_a_killed_reproduction_ends_in_the_same_report(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")

    def run(name, kill_after_s=None):
        command = [sys.executable, "-c", _SCRIPT, tmp_path / name, tmp_path / f"{name}-store"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            if kill_after_s is not None:
                time.sleep(kill_after_s)
                process.send_signal(signal.SIGKILL)
        return process.returncode

    for kill_after_s in (0.5, 1.5, 2.0, 2.5):
        run("killed", kill_after_s)
    assert run("killed") == 0
    assert run("whole") == 0
    names = sorted(path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*") if path.is_file())
    assert names == sorted(
        path.relative_to(tmp_path / "killed") for path in (tmp_path / "killed").rglob("*") if path.is_file()
    )
    for name in names:
        one, other = ((tmp_path / run_name / name).read_bytes() for run_name in ("whole", "killed"))
        if name.suffix == ".html":  # the time that it took is on the pages
            one, other = (re.sub(rb"[\d.,]+ (s|M)\b[^<]*", b"", text) for text in (one, other))
        assert one == other, name
