"""The command line, by its own runner and as a process."""

from __future__ import annotations

import json
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import pytest
from typer.testing import CliRunner

import rdmacc
from rdmacc import bench
from rdmacc.cli import app, main
from rdmacc.experiments import EXPERIMENTS

runner = CliRunner()


def invoke(*arguments):
    outcome = runner.invoke(app, [str(argument) for argument in arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def fail(monkeypatch, capsys, *arguments):
    """Run `main`, which must fail; return what it writes to standard error."""
    monkeypatch.setattr(sys, "argv", ["rdmacc", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_version():
    assert invoke("--version").strip() == f"rdmacc {rdmacc.__version__}"


def test_help_names_every_command():
    text = invoke("--help")
    assert all(name in text for name in ("demo", "list", "run", "schemes", "bench"))


def test_list_shows_every_experiment_with_its_description():
    text = invoke("list")
    for name, one in EXPERIMENTS.items():
        assert f"{name} " in text
        assert one.description in text


def test_schemes_lists_them_with_their_parts():
    text = invoke("schemes")
    assert all(name in text for name in rdmacc.SCHEMES)
    assert "GoBackN, Dasr, Dcqcn, EcnStep, Pfc" in text


def test_schemes_prints_one_schemes_parameters():
    text = invoke("schemes", "dcqcn")
    row = next(line for line in text.splitlines() if line.startswith("Dcqcn.alpha_period_ps"))
    assert "55 us" in row
    assert " K " in row
    assert "section 3.1" in row


def test_demo_prints_the_table_and_saves_the_picture(tmp_path, engine):
    text = invoke("demo", "--engine", engine, "--out", tmp_path)
    assert "DASR" in text
    assert "fair share (model)" in text
    assert (tmp_path / "rdmacc-demo.png").exists()


def test_run_prints_checks_and_saves_the_figure(tmp_path, engine):
    text = invoke("run", "dart.fig4", "--engine", engine, "--out", tmp_path)
    assert "[holds] dart-f4-1 (III-B)" in text
    assert "2 of 2 claims hold" in text
    assert (tmp_path / "dart.fig4.png").exists()


def test_run_gives_json(tmp_path, engine):
    content = json.loads(invoke("run", "dart.fig4", "--engine", engine, "--out", tmp_path, "--json"))
    assert content["experiment"] == "dart.fig4"
    assert [check["id"] for check in content["checks"]] == ["dart-f4-1", "dart-f4-2"]
    assert all({"point", "quantity", "value", "unit"} <= set(row) for row in content["measured"])


def test_wide_tables_are_cut_to_the_terminal(tmp_path, engine, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = invoke("run", "dart.fig3", "--engine", engine, "--out", tmp_path)
    table = text.split("\n[")[0].splitlines()[2:]
    assert max(map(len, table)) <= 100
    assert text.count("time to back off") == sum("---" in line for line in table)


def test_bench_prints_a_table_or_json(monkeypatch):
    one = bench.Measurement(
        case="a", engine="simpy", scale=1.0, messages=32, data_hops=1000, control_hops=1000, events=9,
        wall_s=1.0, setup_s=0.1, warm_up_s=0.0, runs=1, peak_memory_bytes=10**8,
    )  # fmt: skip
    monkeypatch.setattr(bench, "measure", lambda *_: one)
    assert "32-to-1 incast" in invoke("bench", "--only", "a", "--engine", "simpy")
    content = json.loads(invoke("bench", "--only", "a", "--json"))
    assert content["measurements"][0]["hops_per_s"] == 2000.0
    assert content["compiled_over_simpy"] == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "dart.fig99"), "experiment = 'dart.fig99': one of dart.fig2"),
        (("schemes", "tcp"), "scheme = 'tcp': one of line-rate"),
        (("bench", "--only", "z"), "--only = 'z': one of a, b, c"),
    ],
)
def test_a_wrong_input_is_one_line_and_exit_code_2(monkeypatch, capsys, arguments, words):
    error = fail(monkeypatch, capsys, *arguments)
    assert error.startswith("rdmacc: ")
    assert words in error
    assert error.count("\n") == 1


def test_a_file_in_the_way_is_one_line_too(monkeypatch, capsys, tmp_path, engine):
    (tmp_path / "file").write_text("")
    error = fail(monkeypatch, capsys, "demo", "--engine", engine, "--out", tmp_path / "file" / "folder")
    assert error.splitlines()[-1].startswith("rdmacc: ")


@pytest.mark.parametrize("arguments", [("run", "dart.fig2", "--scale", "huge"), ("demo", "--seed", "-1"), ("fly",)])
def test_usage_errors_exit_with_2(monkeypatch, capsys, arguments):
    assert fail(monkeypatch, capsys, *arguments)


def test_the_module_runs_as_a_process():
    done = subprocess.run([sys.executable, "-m", "rdmacc.cli", "list"], capture_output=True, text=True, check=True)
    assert "dart.fig2" in done.stdout


def test_schemes_lists_presets_and_what_they_set():
    text = invoke("schemes")
    assert all(name in text for name in rdmacc.PRESETS)
    text = invoke("schemes", "--preset", "hpcc-ns3")
    row = next(line for line in text.splitlines() if line.startswith("dcqcn-paper") and "increase_period" in line)
    assert "55us" in row
    assert "RP_TIMER of dcqcn_paper" in row
    text = invoke("schemes", "dcqcn", "--preset", "hpcc-ns3")
    row = next(line for line in text.splitlines() if line.startswith("DcqcnHpcc.increase_period_ps"))
    assert "300 us" in row
    assert "RP_TIMER" in row
