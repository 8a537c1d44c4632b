"""``rdmacc determinism``: equal runs, and a run made to differ."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import rdmacc
from rdmacc.cli import determinism
from rdmacc.cli.main import app
from rdmacc.engine.reference import ports
from tests.engine.test_deadlock import clockwise, ring


def scenario(**more):
    return rdmacc.Scenario(network=rdmacc.star(3), workload=rdmacc.incast(2, "h0", "64kB", hosts=rdmacc.star(3)),
                           scheme="dcqcn", **more)  # fmt: skip


def test_all_runs_are_equal_and_the_command_says_so():
    found = determinism.determinism(determinism.example())
    assert [one.way for one in found.runs] == [way for way in determinism.WAYS for _ in range(2)]
    assert {one.result.outcome.order.partition(":")[0] for one in found.runs} == {"time", "windows"}
    assert found.text().startswith("8 runs are equal to the last bit.\n")
    assert "Not in windows" not in found.text()
    (digest,) = {one.result.digest() for one in found.runs}
    assert f"digest `{digest}`" in (Path(__file__).parents[2] / "docs" / "artifact.md").read_text()


def test_errors_must_be_equal_too():
    stuck = rdmacc.Scenario(network=ring(5), workload=clockwise(5, 2), scheme="line-rate")
    found = determinism.determinism(stuck)
    assert found.found == []
    assert "All runs end with: " in found.text()
    assert len({one.error for one in found.runs} - {""}) == 1


@pytest.mark.nightly  # its patch would keep later tests in this process from storing points
def test_the_first_event_that_differs_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(ports, "is_lost", lambda port, packet: packet.psn == 7 and packet.arrival_ps < 10_000_000)
    path, out = scenario(faults=[rdmacc.Loss(data=1e-9)]).to_toml(tmp_path / "odd.toml"), tmp_path / "new" / "report.md"
    ended = CliRunner().invoke(app, ["determinism", str(path), "--out", str(out)])
    assert ended.exit_code == 1
    text = out.read_text()
    assert text == ended.stdout
    assert text.startswith("Runs of one scenario differ.")
    assert "compiled, order time, threads 1 and simpy, order time, threads 1" in text
    assert "what arrived" in text
    assert "what dropped" in text


def test_a_missing_file(tmp_path):
    ended = CliRunner().invoke(app, ["determinism", str(tmp_path / "no.toml")])
    assert isinstance(ended.exception, rdmacc.ConfigError)


@pytest.mark.parametrize("has_compiled", [True, False])
def test_without_a_compiled_engine_simpy_runs_twice(monkeypatch, has_compiled):
    monkeypatch.setattr(determinism, "why_not_compiled", lambda: "" if has_compiled else "no numba")
    assert len(determinism.determinism(scenario()).runs) == (8 if has_compiled else 2)
