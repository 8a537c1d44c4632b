"""Benchmarks: what they count. Nothing here depends on how fast a machine is."""

from __future__ import annotations

import pytest

from rdmacc.cli import bench
from rdmacc.errors import ConfigError, SimulationError


def made(case, engine, data_hops, wall_s):
    return bench.Measurement(
        case=case, engine=engine, scale=1.0, messages=32, data_hops=data_hops, control_hops=data_hops,
        events=10, wall_s=wall_s, setup_s=0.1, warm_up_s=0.0, runs=1, peak_memory_bytes=10**8,
    )  # fmt: skip


def test_a_process_of_its_own_counts_hops(engine):
    one = bench.measure("a", engine, 0.0625)
    assert (one.case, one.engine, one.messages) == ("a", engine, 2)
    assert one.data_hops == 2 * 1000 * 2  # messages, packets, hops
    assert one.control_hops >= one.data_hops  # an ACK for each packet, and CNPs
    assert one.events > one.data_hops
    assert one.peak_memory_bytes > 10**7


@pytest.mark.parametrize(("name", "hosts", "messages"), [("a", 33, 32), ("b", 128, 128), ("c", 1024, 1024)])
def test_cases_are_what_they_say(name, hosts, messages):
    case = bench.CASES[name]
    graph = case.network()
    work = case.part(graph, 1.0)
    assert sum(kind == "host" for _, kind in graph.nodes(data="kind")) == hosts
    assert len(work) == messages
    assert (work["size_bytes"] == 1_000_000).all()
    assert len(case.part(graph, 0.25)) == messages // 4
    assert len(case.part(graph, 1e-9)) == 1


def test_permutation_sends_and_receives_once():
    case = bench.CASES["b"]
    work = case.part(case.network(), 1.0)
    assert work["src"].is_unique
    assert work["dst"].is_unique


def test_each_scheme_is_measured_on_the_same_case(engine):
    """An incast of 8 MB over two hops: as many data packets for each, but for what is sent again."""
    measured = list(bench.run_schemes(engine, ["line-rate", "dcqcn"]))
    assert [(one.scheme, one.messages) for one in measured] == [("line-rate", 8), ("dcqcn", 8)]
    assert all(one.data_hops == 2 * 8 * 1000 for one in measured)
    rows = bench.schemes_text(measured).splitlines()[2:]
    assert [row.split()[:2] for row in rows] == [["line-rate", engine], ["dcqcn", engine]]


def test_ratios_are_of_all_hops_per_second():
    measured = [
        made("a", "simpy", 1000, 1.0),
        made("a", "compiled", 2000, 0.1),
        made("b", "simpy", 1000, 1.0),
    ]
    assert bench.ratios(measured) == {"a": pytest.approx(20.0)}


def test_the_table_shows_rates_in_millions_and_the_ratio():
    text = bench.table_text([made("a", "simpy", 500_000, 2.0), made("a", "compiled", 500_000, 0.1)])
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


def test_a_failed_process_says_why():
    with pytest.raises(SimulationError, match=r"case a on warp.*engine = 'warp'"):
        bench.measure("a", "warp", 0.1)


def test_run_scales_simpy_by_default(monkeypatch):
    asked = []
    monkeypatch.setattr(bench, "measure", lambda *arguments: asked.append(arguments))
    list(bench.run(["simpy", "compiled"], ["c"]))
    list(bench.run(["simpy"], ["c"], 0.5))
    assert asked == [("c", "simpy", bench.SIMPY_SCALE["c"]), ("c", "compiled", 1.0), ("c", "simpy", 0.5)]
