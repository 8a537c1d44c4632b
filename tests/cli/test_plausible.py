"""The plausibility bench: its measures, and the page with its table."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import rdmacc
from rdmacc.cli.main import app
from rdmacc.experiments.ledger import plausible
from tests.support import refused

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "plausible.md").read_text()
TABLE = PAGE.partition("<!-- plausible -->\n")[2].partition("<!-- end -->")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.splitlines()[2:] if line[:1] == "|"]
GOLDEN = dict(re.findall(r"<!-- golden runs: (\S+) (\S+) -->", TABLE))


def made(slowdown=1.0, goodput=1.0, shares=(0.25,) * 4):
    draws = {100: [shares, shares, (0.4, 0.1, 0.1, 0.1)]}
    return plausible.Plausibility("one", 1e9, {"2 hops": slowdown}, {"8": goodput}, {"8": 0}, {"8": 0}, draws)


def test_what_is_green():
    assert made(1.05, 0.9).red == ()
    assert made(slowdown=1.06).red == ("2 hops",)
    assert made(slowdown=float("inf")).red == ("2 hops",)
    assert made(goodput=0.89).red == ("8",)
    assert made(shares=(1.0, 0.0, 0.0, 0.0)).red == ("Jain after 100",)
    assert made(shares=(0.0,) * 4).red == ("Jain after 100",)
    assert made(shares=(0.5, 0.5, 0.0, 0.0)).jain[100][0] == 0.5


def test_every_scheme_is_on_the_page():
    assert {(row[0], row[1]) for row in ROWS} == {
        (name, rate) for name in rdmacc.SCHEMES for rate in ("10 Gb/s", "100 Gb/s", "400 Gb/s")
    }


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("name", rdmacc.SCHEMES)
def test_golden_runs_have_not_changed(name, engine):
    """If not, the page is out of date too: rdmacc bench --plausible --page docs/plausible.md."""
    assert plausible.golden_digest(name, engine) == GOLDEN[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dcqcn", "swift"])
def test_the_page_shows_what_the_bench_measures(name):
    """If it fails, run rdmacc bench --plausible --page docs/plausible.md."""
    found = plausible.measure(name, "100Gbps")
    assert plausible.markdown([found]).splitlines()[-1] in TABLE.splitlines()


def test_the_command(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- plausible -->\nold\n<!-- end -->\nafter\n")
    given = ["bench", "--plausible", "--scheme", "line-rate", "--page", str(page)]
    done = CliRunner().invoke(app, [*given, "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout[done.stdout.index("[") :])
    assert [one["rate_bps"] for one in found] == [10e9, 100e9, 400e9]
    assert page.read_text().startswith("before\n<!-- plausible -->\n| scheme |")
    assert page.read_text().endswith("<!-- end -->\nafter\n")
    assert plausible.text([plausible.measure("line-rate", "100Gbps")]).splitlines()[-1].startswith("line-rate")
    refused(lambda: plausible.fill("nothing", []), "<!-- plausible -->")
