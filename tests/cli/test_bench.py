"""Benchmarks: the counts. Nothing here depends on the machine's speed."""

from __future__ import annotations

import dataclasses
import json
import re
import runpy
import statistics
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from rdmacc import topology
from rdmacc.cli import bench, bench_tables
from rdmacc.cli.bench_cases import CASES
from rdmacc.errors import ConfigError, SimulationError
from tests.support import mostly_at_night


def made(case, engine, data_hops, wall_s):
    return bench.Measurement(
        case=case, engine=engine, scale=1.0, messages=32, data_hops=data_hops, control_hops=data_hops,
        events=10, wall_s=wall_s, setup_s=0.1, warm_up_s=0.0, runs=1, peak_memory_bytes=10**8,
    )  # fmt: skip


def check_hops(one, engine):
    assert (one.case, one.engine, one.messages) == ("a", engine, 2)
    assert one.data_hops == 2 * 1000 * 2  # messages, packets, hops
    assert one.control_hops >= one.data_hops  # an ACK for each packet, and CNPs
    assert one.events > one.data_hops
    assert one.peak_memory_bytes > 10**7


def test_a_process_of_its_own_counts_hops():
    check_hops(bench.measure("a", "simpy", 0.0625), "simpy")


@pytest.mark.parametrize(("name", "hosts", "messages"), [("a", 33, 32), ("b", 128, 128), ("c", 1024, 1024)])
def test_cases_are_what_they_say(name, hosts, messages):
    case = CASES[name]
    graph = case.network()
    work = case.part(graph, 1.0)
    assert sum(kind == "host" for _, kind in graph.nodes(data="kind")) == hosts
    assert len(work) == messages
    assert (work["size_bytes"] == 1_000_000).all()
    assert len(case.part(graph, 0.25)) == messages // 4
    assert len(case.part(graph, 1e-9)) == 1


@pytest.mark.parametrize(
    ("name", "hosts", "size"), [("dart", 1024, 1_000_000), ("k32", 8192, 100_000), ("nscc", 8192, 1_000_000)]
)
def test_large_cases_are_what_they_say(name, hosts, size):
    case = CASES[name]
    graph = case.network()
    work = case.part(graph, 1.0)
    assert len(topology.hosts(graph)) == hosts
    assert len(work) >= hosts
    assert work["size_bytes"].max() == size
    assert set(work["src"]) | set(work["dst"]) <= set(graph)


def test_a_stored_run_is_compared_in_turns_with_the_code_that_made_it(tmp_path):
    elsewhere = tmp_path / "checkout"
    (elsewhere / "rdmacc" / "cli").mkdir(parents=True)
    (elsewhere / "rdmacc" / "cli" / "bench.py").touch()
    file = tmp_path / "run.json"
    old = made("a", "compiled", 1000, 1.0)
    file.write_text(
        json.dumps({"root": str(elsewhere), "measurements": [old.to_dict(), made("b", "simpy", 1, 1.0).to_dict()]})
    )
    asked = []

    def measure(name, engine, scale, root):
        asked.append((name, engine, scale, root))
        return made(name, engine, 1000, (1.0 if root else 0.5) * len(asked))  # busier and busier

    stored = bench_tables.Stored.load(file)
    (one,) = bench_tables.compare(stored, ["a"], rounds=3, measure=measure)
    assert [root for *_, root in asked] == [elsewhere, None] * 3
    assert one.ratio == pytest.approx(statistics.median([2 * 1 / 2, 2 * 3 / 4, 2 * 5 / 6]))
    assert f"alternating with {elsewhere}" in bench_tables.comparisons_text(stored, [one])


def test_a_stored_run_without_its_code_is_compared_by_its_numbers(tmp_path):
    file = tmp_path / "run.json"
    file.write_text(
        json.dumps({"root": str(tmp_path / "gone"), "measurements": [made("a", "simpy", 1000, 1.0).to_dict()]})
    )
    stored = bench_tables.Stored.load(file)
    (one,) = bench_tables.compare(stored, ["a"], rounds=2, measure=lambda *_: made("a", "simpy", 1000, 0.25))
    assert one.ratio == pytest.approx(4.0)
    assert "whose code is gone" in bench_tables.comparisons_text(stored, [one])
    file.write_text("{}")
    with pytest.raises(ConfigError, match="--compare"):
        bench_tables.Stored.load(file)


def test_fixed_cost(engine):
    cost = bench.fixed_cost(engine, calls=3)
    assert cost.wall_s > 0
    assert "ms, keeps" in bench_tables.fixed_text([cost])


@pytest.mark.nightly
def test_two_at_once():
    both = bench.together("a", 0.0625)
    assert len(both) == 2
    for one in both:
        check_hops(one, "compiled")
    assert "2.00 times one alone" in bench_tables.together_text(both[0], [both[0], both[0]])


def test_permutation_sends_and_receives_once():
    case = CASES["b"]
    work = case.part(case.network(), 1.0)
    assert work["src"].is_unique
    assert work["dst"].is_unique


@pytest.mark.slow
@pytest.mark.parametrize("engine", mostly_at_night(["compiled", "simpy"], every=2))
def test_each_scheme_is_measured_on_the_same_case(engine):
    """An incast of 8 MB over two hops: as many data packets for each, apart from retransmissions."""
    measured = list(bench.run_schemes(engine, ["line-rate", "dcqcn"]))
    assert [(one.scheme, one.messages) for one in measured] == [("line-rate", 8), ("dcqcn", 8)]
    assert all(one.data_hops == 2 * 8 * 1000 for one in measured)
    rows = bench_tables.schemes_text(measured).splitlines()[2:]
    assert [row.split()[:2] for row in rows] == [["line-rate", engine], ["dcqcn", engine]]


def test_ratios_are_of_all_hops_per_second():
    measured = [
        made("a", "simpy", 1000, 1.0),
        made("a", "compiled", 2000, 0.1),
        made("b", "simpy", 1000, 1.0),
    ]
    assert bench_tables.ratios(measured) == {"a": pytest.approx(20.0)}


def test_the_table_shows_rates_in_millions_and_the_ratio():
    text = bench_tables.table_text([made("a", "simpy", 500_000, 2.0), made("a", "compiled", 500_000, 0.1)])
    row = text.splitlines()[2].split()
    assert row[-8:-5] == ["0.25", "0.25", "0.50"]
    assert "a: compiled is 20.0 times as fast" in text


def test_to_dict_has_the_rates_apart():
    numbers = made("a", "simpy", 1000, 2.0).to_dict()
    assert numbers["data_hops_per_s"] == numbers["control_hops_per_s"] == 500.0
    assert numbers["hops_per_s"] == 1000.0


@pytest.mark.parametrize(("name", "scale"), [("z", 1.0), ("a", 0.0), ("a", 1.5)])
def test_wrong_cases_and_scales_are_named(name, scale):
    with pytest.raises(ConfigError):
        bench.run_case(name, "simpy", scale)


def test_a_failed_process_says_why_in_one_line():
    with pytest.raises(SimulationError, match=r"case a on warp.*engine = 'warp'.*") as caught:
        bench.measure("a", "warp", 0.1)
    assert str(caught.value).count("\n") == 0


def test_run_scales_simpy_by_default(monkeypatch):
    asked = []

    def measure(name, engine, scale, order, threads):
        asked.append((name, engine, scale))
        return made(name, engine, 1000, 1.0)

    monkeypatch.setattr(bench, "measure", measure)
    list(bench.run(["simpy", "compiled"], ["c"]))
    list(bench.run(["simpy"], ["c"], 0.5))
    assert asked == [("c", "simpy", CASES["c"].simpy_scale), ("c", "compiled", 1.0), ("c", "simpy", 0.5)]


def test_numbers_of_threads_take_turns_and_the_fastest_counts(monkeypatch):
    walls, asked = iter([4.0, 3.0, 2.0, 2.5]), []

    def measure(name, engine, scale, order, threads):
        asked.append(threads)
        return dataclasses.replace(made(name, engine, 1000, next(walls)), threads=threads)

    monkeypatch.setattr(bench, "measure", measure)
    measured = list(bench.run(["compiled"], ["c"], threads=[1, 2], rounds=2))
    assert asked == [1, 2, 1, 2]
    assert [one.wall_s for one in measured] == [2.0, 2.5]
    assert bench_tables.table_text(measured).endswith("c: 2 threads are 0.80 times as fast as one")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scale", "0.5"], "arguments = '--scale 0.5': must be a case, an engine and a scale"),
        (["a", "simpy", "most"], "arguments = 'a simpy most': must be a case, an engine and a scale"),
        (["a", "warp", "1.0"], "engine = 'warp': must be one of"),
    ],
)
def test_what_is_wrong_with_a_case_is_named(arguments, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        bench._main(arguments)


def test_the_process_of_a_case_says_what_is_wrong_in_one_line():
    command = [sys.executable, "-m", "rdmacc.cli.bench", "a", "warp", "1.0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("rdmacc: engine = 'warp': must be one of")
    assert done.stderr.count("\n") == 1


def test_a_history_of_measurements_grows(tmp_path):
    path = tmp_path / "history.jsonl"
    one = made("a", "simpy", data_hops=250, wall_s=0.5)
    bench_tables.append_to(path, [one, one])
    bench_tables.append_to(path, [one])
    history = pd.read_json(path, lines=True)
    assert list(history["hops_per_s"]) == [1000.0] * 3
    assert {"commit", "recorded", "version", "python", "numba", "machine", "case", "engine", "wall_s"} <= set(history)
    with pytest.raises(ConfigError, match="--record"):
        bench_tables.append_to(tmp_path, [one])


def test_the_history_page_has_what_was_recorded():
    """Otherwise run python docs/background/history.py."""
    history = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "background" / "history.py"))
    assert history["fill"](history["PAGE"].read_text()) == history["PAGE"].read_text()
    assert history["table"]().splitlines()[2].startswith("| goal |")


def test_distances_to_goals_are_in_decibel():
    goals = CASES["a"].goals
    half = made("a", "compiled", int(goals.hops_per_s / 4), 1.0)  # as many control packets again
    text = bench_tables.table_text([dataclasses.replace(half, peak_memory_bytes=int(goals.memory_bytes / 2))])
    assert re.findall(r"[+-]\d\.\d dB", text) == ["-3.0 dB", "+3.0 dB"]
    assert CASES["a"].peer in text
    assert "-10.0 dB of the goal" in bench_tables.fixed_text([bench.FixedCost("compiled", 1, 6e-3, 0.0)])
