"""The command line, in this process and as a separate one.

The demo: its numbers against the analytic fair share, its table and its picture.

``rdmacc explain``.
"""

import json
import sys
from dataclasses import dataclass, replace

import pandas as pd
import pytest
from typer.testing import CliRunner

import rdmacc
from rdmacc.cli import commands, demo
from rdmacc.cli.main import app, main
from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS, Outcome, experiment, summary_path
from rdmacc.sweep.store import read_table
from tests.sweeps import Tiny, Troubled

runner = CliRunner()


def invoke(*arguments):
    outcome = runner.invoke(app, [str(argument) for argument in arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def fail(monkeypatch, capsys, *arguments):
    """Run `main`, expecting failure; return its standard error."""
    monkeypatch.setattr(sys, "argv", ["rdmacc", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "igbn"), "igbn.fig3 "), (("schemes",), "hpcc-ns3"), (("schemes", "dcqcn"), "section 3.1"),
        (("schemes", "--preset", "hpcc-ns3"), "RP_TIMER of dcqcn_paper"),
        (("schemes", "dcqcn", "--preset", "hpcc-ns3"), "300 us"), (("notebooks", "my own"), "jupyter lab 'my own'"),
    ],
)  # fmt: skip
def test_a_command_prints_the_requested_output(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in invoke(*arguments)


@pytest.mark.slow
def test_demo_prints_the_table_and_saves_the_picture(tmp_path, engine):
    text = invoke("demo", "--engine", engine, "--out", tmp_path)
    assert "DASR" in text
    assert "fair share (model)" in text
    assert (tmp_path / "rdmacc-demo.png").exists()


@pytest.mark.slow
def test_run_prints_checks_and_keeps_files_on_request(tmp_path, engine):
    arguments = ("run", "dart.fig4", "--engine", engine, "--store", tmp_path / engine)
    text = invoke(*arguments, "--out", tmp_path / "a")
    assert "[holds] dart-f4-1 (III-B)" in text
    assert "2 claims: 2 hold, 0 direction only, 0 do not hold, 0 not judged" in text
    assert "3 points, 0 from the store" in text
    assert "3 points, 3 from the store" in invoke(*arguments, "--out", tmp_path / "b")
    names = ("table.parquet", "figure.png", "claims.csv")
    first, second = ([(tmp_path / one / "dart.fig4" / name).read_bytes() for name in names] for one in "ab")
    assert first == second
    table, provenance = read_table(tmp_path / "a" / "dart.fig4" / "table.parquet")
    assert experiment("dart.fig4").check(table)["holds"].all()
    assert provenance["points"] == 3
    assert provenance["scale"] == "quick"


@pytest.fixture
def small_group():
    """Leave two quick figures in the group "dart"."""
    names, kept = ["dart.fig4", "dart.fig5"], dict(EXPERIMENTS)
    for name in kept:
        if name.startswith("dart.") and name not in names:
            del EXPERIMENTS[name]
    yield names
    EXPERIMENTS.clear()  # restores the original order
    EXPERIMENTS.update(kept)


def test_parameters_can_be_set(tmp_path):
    text = invoke("run", "dart.fig2", "--set", "look_ahead=false", "--set", "cnp_interval_ps=40us", "--store", tmp_path)
    assert "look_ahead=False, cnp_interval_ps=40us" in text
    assert "0 from the store" in invoke("run", "dart.fig2", "--store", tmp_path)


def test_verify_says_what_holds_and_why_the_rest_does_not(tmp_path, small_group):
    text = invoke("verify", "dart", "--store", tmp_path)
    assert "[does not hold, as recorded] dart-f5-2a (III-C)" in text
    assert "why:      With eight flows" in text
    counts = "7 claims: 6 hold, 0 direction only, 1 do not hold, 0 not judged"
    assert text.endswith(f"all verdicts match the record\ndart, quick scale, seed 0: {counts}\n")
    content = json.loads(invoke("verify", "dart.fig5", "--store", tmp_path, "--json"))
    assert content["as_expected"]
    assert {check["id"] for check in content["checks"] if not check["holds"]} == {"dart-f5-2a"}


@pytest.fixture
def tiny(monkeypatch):
    """Register an experiment for the command line and return it."""

    def known(one):
        monkeypatch.setitem(EXPERIMENTS, one.name, one)
        return one

    return known


def expecting(expected):
    """Return the experiment, whose claim holds, with another expectation."""
    one = Tiny()
    one.claims = tuple(replace(claim, expect=expected, why="we thought so") for claim in Tiny.claims)
    return one


@pytest.mark.parametrize(
    ("expected", "code", "words"),
    [
        (Outcome.HOLDS, 0, "[holds] tests-1"),
        (Outcome.FAILS, 1, "[holds, UNLIKE THE RECORDED VERDICT] tests-1"),
        (Outcome.DIRECTION, 1, "[holds, UNLIKE THE RECORDED VERDICT] tests-1"),
        ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, 0, "[not judged] tests-1"),
    ],
)
def test_verify_fails_if_a_verdict_differs_from_the_recorded_one(tmp_path, tiny, expected, code, words):
    tiny(expecting(expected))
    outcome = runner.invoke(app, ["verify", "tests", "--engine", "simpy", "--store", str(tmp_path)])
    assert outcome.exit_code == code
    assert words in outcome.stdout
    assert ("1 of 1 verdicts DIFFER from the record: tests-1" in outcome.stdout) == bool(code)


def test_a_closed_pipe_is_not_an_experiments_failure():
    failures = commands._Failures([Troubled(), Tiny()])
    with pytest.raises(BrokenPipeError), failures.caught(Tiny()):
        raise BrokenPipeError
    assert not failures.names


def test_closed_streams_are_not_an_error(monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{name}", None)
    monkeypatch.setattr("sys.argv", ["rdmacc", "schemes"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["schemes", "--rate", "100Gbps"],
        ["schemes", "dcqcn", "--rtt", "5us"],
        ["scorecard", "--seed", "3"],
        ["scorecard", "--page", "page.md"],
        ["scorecard", "--against", "hpcc"],
        ["scorecard", "--count", "3"],
        ["scorecard", "dcqcn", "--held-out", "--seed", "1", "--plot", "x.png"],
        ["scorecard", "--finds", "--jobs", "2"],
        ["bench", "--only", "a", "--scheme", "dcqcn"],
        ["bench", "--gpus", "16", "--only", "a"],
        ["bench", "--plausible", "--scale", "0.5"],
        ["bench", "--compare", "x.json", "--rounds", "2"],
        ["bench", "--only", "a", "--threads", "2"],
    ],
)
def test_an_option_without_effect_is_an_error(arguments):
    error = runner.invoke(app, arguments).exception
    assert isinstance(error, ConfigError)
    assert f"{arguments[-2]} = " in str(error)
    assert "given with" in str(error) or "left out with" in str(error)


def test_a_failed_point_is_reported_at_the_end_after_the_others(tmp_path, tiny):
    tiny(Troubled())
    tiny(Tiny())
    arguments = ["run", "tests", "--scale", "paper", "--jobs", "1", "--engine", "simpy", "--store", str(tmp_path)]
    outcome = runner.invoke(app, arguments)
    assert outcome.exit_code == 1
    assert "Tests: incasts with losses" in outcome.stdout
    _, troubled, last = outcome.stderr.rstrip().split("rdmacc: ")
    assert troubled.startswith("tests.troubled: 1 of 5 points failed")
    assert last == "1 of 2 failed: tests.troubled"
    assert len(list((tmp_path / "tests.troubled").iterdir())) == 4


class Undrawable(Tiny):
    """An experiment that can be neither drawn nor judged."""

    name = "tests.broken"
    claims = tuple(replace(claim, id="tests-2", measure=lambda table: {}["a measure"]) for claim in Tiny.claims)

    def plot(self, table):
        raise ValueError("a negative length")


@pytest.mark.parametrize("command", ["run", "plot", "verify"])
def test_a_broken_figure_does_not_affect_others(tmp_path, tiny, command):
    """Its place in the code is reported, and its name at the end; the others are computed, drawn and judged."""
    tiny(Undrawable())
    tiny(Tiny())
    store = ["--store", str(tmp_path / "store")]
    runner.invoke(app, ["run", "tests", "--engine", "simpy", *store])
    out = [] if command == "verify" else ["--out", str(tmp_path)]
    outcome = runner.invoke(app, [command, "tests", *store, *out])
    assert outcome.exit_code == 1
    told, last = outcome.stderr.rstrip().split("rdmacc: ")[-2:]
    reason = "ValueError: a negative length" if command == "plot" else "KeyError: 'a measure'"
    assert told.startswith(f"tests.broken: {reason} (test_cli.py, line ")
    assert last == "1 of 2 failed: tests.broken"
    assert {"run": "Saved ", "plot": "tests.tiny.png", "verify": "[holds] tests-1"}[command] in outcome.stdout


def test_an_interrupt_prints_no_traceback(tmp_path, tiny, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    tiny(Tiny())
    monkeypatch.setattr(Tiny, "measure", stop)
    outcome = runner.invoke(app, ["run", "tests.tiny", "--engine", "simpy", "--store", str(tmp_path)])
    assert outcome.exit_code == 130
    assert "interrupted; finished points are kept" in outcome.stderr


def test_plot_draws_stored_results(tmp_path, monkeypatch, capsys):
    error = fail(monkeypatch, capsys, "plot", "dart.fig4", "--store", tmp_path)
    assert "2 of 3 missing" in error or "3 of 3 missing" in error
    assert "`rdmacc run dart.fig4 --scale quick`" in error
    invoke("run", "dart.fig4", "--store", tmp_path)
    assert invoke("plot", "dart.fig4", "--store", tmp_path, "--out", tmp_path).startswith("Saved ")
    assert (tmp_path / "dart.fig4.png").stat().st_size > 10_000


@pytest.mark.slow
def test_readings_are_listed_verified_and_drawn(tmp_path, monkeypatch, capsys):
    """Under a reading for which a table has rows; where a verdict differs, the default reading's is shown beside it."""
    listed = invoke("readings", "igbn")
    assert "last packet (default)" in listed
    assert "first packet" in listed
    table, made = read_table(summary_path("igbn.fig7"))
    monkeypatch.setattr(commands, "_swept", lambda name, *_: [(experiment(name), FakeSweep(table))])
    text = invoke("verify", "igbn.fig7", "--scale", "paper", "--reading", "first packet")
    assert "igbn.fig7, paper scale" in text
    assert made["scale"] == "paper"
    drawn = invoke("plot", "igbn.fig7", "--scale", "paper", "--reading", "first packet", "--out", tmp_path,
                   "--store", tmp_path / "store")  # fmt: skip
    assert (tmp_path / "igbn.fig7.first-packet.png").stat().st_size > 10_000, drawn
    assert "did you mean 'first packet'" in fail(monkeypatch, capsys, "verify", "igbn.fig7", "--reading", "first paket")


@dataclass
class FakeSweep:
    table: pd.DataFrame


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("run", "dart.fig99"),
            "'dart.fig99': must be the name of an experiment or of a group; did you mean 'dart.fig9'",
        ),
        (("verify", "dar"), "'dar': must be the name of an experiment or of a group; did you mean 'dart'?"),
        (
            ("run", "dart.fig2", "--set", "alpha"),
            "--set = 'alpha': must be of the form KEY=VALUE, such as alpha_period_ps",
        ),
        (("run", "dart.fig2", "--set", "zeta=3"), "a parameter of the schemes compared"),
        (("schemes", "tcp"), "did you mean 'dctcp'"),
        (("bench", "--gpus", "12"), "--gpus = 12: must be a multiple of 8"),
        (("run", "dart.fig2", "--out", "/proc/x"), "folder = '/proc/x': must be a folder that can be written"),
        (("reproduce", "dart", "--out", "/proc/x"), "folder = '/proc/x': must be a folder that can be written"),
        (("scorecard", "--plot", "/proc/x/map.png"), "folder = '/proc/x': must be a folder that can be written"),
        (("bench", "--record", "/proc/x"), "--record = '/proc/x': must be a file that can be written"),
        (("bench", "--only", "z"), "--only = 'z': must be one of a, b, c, dart, k16, k32, nscc"),
    ],
)
def test_invalid_input_prints_one_line_and_exits_with_2(monkeypatch, capsys, arguments, words):
    error = fail(monkeypatch, capsys, *arguments)
    assert error.startswith("rdmacc: ")
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [("run", "dart.fig2", "--scale", "huge"), ("demo", "--seed", "-1"), ("fly",)])
def test_usage_errors_exit_with_2(monkeypatch, capsys, arguments):
    assert fail(monkeypatch, capsys, *arguments)


def test_the_incast_takes_its_fair_share_and_dasr_returns_the_line_to_the_long_flow(engine):
    """The link is full under every scheme, so FCTs are those of processor sharing, to within a few packets."""
    table = demo.measure(demo.run(engine=engine, progress=False))
    model = table.loc["fair share (model)"]
    for scheme in ("DCQCN", "DASR"):
        assert table.loc[scheme, "fct_p99_ps"] == pytest.approx(model["fct_p99_ps"], rel=0.02)
        assert table.loc[scheme, "slowdown_median"] == pytest.approx(model["slowdown_median"], rel=0.02)
    assert table.loc["DASR", "long_after_bps"] >= 0.99 * model["long_after_bps"]
    assert table.loc["DCQCN", "long_after_bps"] < 0.9 * model["long_after_bps"]
    assert table.loc["DASR", "cnps"] == 0 < table.loc["DCQCN", "cnps"]
    assert 0.8 * model["long_incast_bps"] < table.loc["DASR", "long_incast_bps"] < 2 * model["long_incast_bps"]


@pytest.fixture
def scenario(tmp_path):
    work = rdmacc.incast(2, "h0", "20kB", hosts=rdmacc.star(3))
    one = rdmacc.Scenario(network=rdmacc.star(3), workload=work, scheme="line-rate", engine="simpy")
    return str(one.to_toml(tmp_path / "one.toml"))


def test_explain_takes_the_slowest_message_or_one_by_label(scenario, tmp_path):
    assert CliRunner().invoke(app, ["explain", scenario]).output.startswith("Message 1 (h2 to h0, 20 kB, line-rate): ")
    path = tmp_path / "why.png"
    found = CliRunner().invoke(app, ["explain", scenario, "--message", "0", "--plot", str(path)])
    assert found.output.startswith("Message 0 (h1 to h0")
    assert found.output.endswith(f"Saved {path}\n")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_an_unknown_picture_format(scenario, tmp_path):
    ended = CliRunner().invoke(app, ["explain", scenario, "--plot", str(tmp_path / "why.foo")])
    assert isinstance(ended.exception, ConfigError)
    assert "png" in str(ended.exception)
    assert ended.output.startswith("Message 1"), "the explanation is not lost"


def test_an_unknown_message(scenario):
    error = CliRunner().invoke(app, ["explain", scenario, "--message", "7"]).exception
    assert isinstance(error, ConfigError)
    assert "--message = '7': must be a message of the workload, such as 0" in str(error)
