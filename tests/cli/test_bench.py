"""Benchmarks: the counts. Nothing here depends on the machine's speed."""

import json
import statistics

import pytest
from typer.testing import CliRunner

import rdmacc
from rdmacc.cli import bench
from rdmacc.cli.bench import clusters_text, run_cluster
from rdmacc.cli.main import app
from rdmacc.errors import SimulationError
from tests.support import mostly_at_night


def made(case, engine, hops, wall_s):
    sums = {"data_hops": hops, "control_hops": hops, "hops_per_s": 2 * hops / wall_s, "data_hops_per_s": hops / wall_s,
            "control_hops_per_s": hops / wall_s, "messages": 32, "events": 10, "visits": 0}  # fmt: skip
    return sums | {"case": case, "engine": engine, "scale": 1.0, "wall_s": wall_s, "setup_s": 0.1, "threads": 1,
                   "peak_memory_bytes": 10**8}  # fmt: skip


def test_a_separate_process_counts_hops():
    one = bench.measure("a", "simpy", 0.0625)
    assert (one["case"], one["engine"], one["messages"]) == ("a", "simpy", 2)
    assert one["data_hops"] == 2 * 1000 * 2  # messages, packets, hops
    assert one["control_hops"] >= one["data_hops"]  # an ACK per packet, and CNPs
    assert one["events"] > one["data_hops"]
    assert one["peak_memory_bytes"] > 10**7


def test_a_stored_run_alternates_with_the_code_that_made_it(tmp_path, monkeypatch):
    elsewhere = tmp_path / "checkout"
    (elsewhere / "rdmacc" / "cli").mkdir(parents=True)
    (elsewhere / "rdmacc" / "cli" / "bench.py").touch()
    file = tmp_path / "run.json"
    rows = [made("a", "compiled", 1000, 1.0), made("b", "simpy", 1, 1.0)]
    file.write_text(json.dumps({"root": str(elsewhere), "measurements": rows}))
    asked = []

    def measure(name, engine, scale, root=None):
        asked.append((name, engine, scale, root))
        return made(name, engine, 1000, (1.0 if root else 0.5) * len(asked))  # busier and busier

    monkeypatch.setattr(bench, "measure", measure)
    text = bench.compared_text(file, ["a"])
    assert [root for *_, root in asked] == [elsewhere, None] * 3
    assert text.splitlines()[2].split()[-2:] == [f"{statistics.median([2 * 1 / 2, 2 * 3 / 4, 2 * 5 / 6]):.2f}", "3"]
    assert f"alternating with {elsewhere}" in text


@pytest.mark.slow
@pytest.mark.parametrize("engine", mostly_at_night(["compiled", "simpy"], every=2))
def test_each_scheme_is_measured_on_the_same_case(engine):
    """An 8 MB incast over two hops: the same number of data packets for each, apart from retransmissions."""
    measured = list(bench.run_schemes(engine, ["line-rate", "dcqcn"]))
    assert [(one["scheme"], one["messages"]) for one in measured] == [("line-rate", 8), ("dcqcn", 8)]
    assert all(one["data_hops"] == 2 * 8 * 1000 for one in measured)
    rows = bench.schemes_text(measured).splitlines()[2:]
    assert [row.split()[:2] for row in rows] == [["line-rate", engine], ["dcqcn", engine]]


def test_a_failed_process_says_why_in_one_line():
    with pytest.raises(SimulationError, match=r"case a on warp.*engine = 'warp'.*") as caught:
        bench.measure("a", "warp", 0.1)
    assert str(caught.value).count("\n") == 0


def test_the_command_measures_records_and_compares(tmp_path):
    kept = tmp_path / "kept.json"
    asked = ["bench", "--only", "a", "--engine", "simpy", "--scale", "0.03"]
    kept.write_text(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert [row["case"] for row in json.loads(kept.read_text())["measurements"]] == ["a"]
    text = CliRunner().invoke(app, [*asked, "--record", str(tmp_path / "log")]).stdout
    assert json.loads((tmp_path / "log").read_text())["engine"] == "simpy"
    assert text.splitlines()[2].startswith("a")
    compared = CliRunner().invoke(app, [*asked[:3], "--compare", str(kept)]).stdout
    assert "simpy" in compared


def test_clusters_are_measured_by_gpus_and_algorithm():
    made = rdmacc.cluster(4, 8, fabric="leaf-spine")
    work = made.all_reduce("16MB", algorithm="tree")
    row = run_cluster(32, "tree", size="16MB")
    result = rdmacc.simulate(made.network, work, made.scheme("dcqcn"))
    assert row["rows"] == len(work)
    assert row["busbw_gbytes"] == result.collectives["busbw_gbytes"][0]
    assert row["events"] == result.counters["events"]
    assert clusters_text([row]).splitlines()[-1].split()[:3] == ["32", "tree,", "dcqcn"]
