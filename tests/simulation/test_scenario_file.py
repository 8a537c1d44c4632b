"""Scenarios as TOML: every scheme gives the same result after reading back."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import rdmacc
from rdmacc import Scenario, probes
from rdmacc.errors import ConfigError
from rdmacc.schemes import SCHEMES, tables
from tests.support import refused


def scenario(**changes):
    work = rdmacc.combine(rdmacc.incast(["h1", "h2"], "h0", "6kB"), rdmacc.messages([("h1", "h2", "2kB", "3us", 7)]))
    known = {"network": rdmacc.star(3), "workload": work, "scheme": "dcqcn", "engine": "simpy", "seed": 3}
    return Scenario(**(known | changes))


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_survives_a_round_trip(tmp_path, name):
    one = scenario(scheme=name)
    back = Scenario.from_toml(one.to_toml(tmp_path / "run.toml"))
    assert back.scheme == rdmacc.scheme(name)


def test_a_new_process_imports_what_a_file_names(tmp_path):
    path = scenario(scheme="swift").to_toml(tmp_path / "run.toml")
    program = f"import rdmacc; print(rdmacc.Scenario.from_toml({str(path)!r}).scheme.control)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(Swift(),)"


def test_a_file_imports_nothing_but_components(tmp_path, monkeypatch):
    path = scenario(scheme="swift").to_toml(tmp_path / "run.toml")
    path.write_text(path.read_text().replace("rdmacc.protocols.swift.Swift", "rdmacc.cli.main.Swift"))
    imported = []
    monkeypatch.setattr(tables, "import_module", imported.append)
    refused(lambda: rdmacc.Scenario.from_toml(path), "import its module first")
    assert all(name.startswith(("rdmacc.protocols.", "rdmacc.switch.")) for name in imported)


def test_a_read_scenario_gives_the_same_result(tmp_path):
    watched = [probes.queue("s0", "h0"), probes.rate(0, every="1us"), probes.throughput("s0", "h0", "2us")]
    faults = [
        rdmacc.Loss(data=0.02, links=(("s0", "h0"),)), rdmacc.ScriptedLoss(message=0, psn=None),
        rdmacc.Clocks(jitter_ps="100ns"),
        rdmacc.LinkDown(link=("h2", "s0"), at_ps="1ms", until_ps="2ms", convergence_ps="1us"),
        rdmacc.SlowLink(link=("h0", "s0"), share=0.5, both_ways=False), rdmacc.PauseStorm(host="h1", at_ps="1us"),
    ]  # fmt: skip
    one = scenario(
        scheme=rdmacc.scheme("dart", g=1 / 16), probes=watched, faults=faults, until="400us", check=False,
        workload=rdmacc.messages([("h1", "h0", "30kB"), ("h2", "h0", "9kB", "1us", 4, (0,), 2.0)]),
    )  # fmt: skip
    back = Scenario.from_toml(one.to_toml(tmp_path / "run.toml"))
    first, second = one.run(), back.run()
    assert back.check is False
    assert second.flows.equals(first.flows)
    assert second.probes.equals(first.probes)
    assert second.counters.equals(first.counters)


def test_paths_and_numeric_names_survive_a_round_trip(tmp_path):
    graph = nx.relabel_nodes(rdmacc.star(3), {"h0": 0, "h1": 1, "h2": 2})
    work = rdmacc.messages([(1, 0, "1kB"), (2, 0, "1kB")])
    work["path"] = [(1, "s0", 0), None]
    one = scenario(network=graph, workload=work)
    file = one.to_toml(tmp_path / "run.toml")
    file.write_text(file.read_text(), encoding="utf-8-sig")  # as some editors do
    back = Scenario.from_toml(file)
    assert back.messages()["path"].tolist()[0] == (1, "s0", 0)
    assert back.run().flows.equals(one.run().flows)


def test_open_workloads_and_numpy_numbers_and_bools_survive_a_round_trip(tmp_path):
    work = rdmacc.open_work(rdmacc.incast(["h1", "h2"], "h0", "6kB"), [3, 4])
    slow = rdmacc.SlowLink(link=("h0", "s0"), share=0.5, both_ways=np.False_)
    flags = {"trace": np.True_, "explain": np.False_, "check": np.True_}
    graph = rdmacc.star(3)
    graph.nodes["s0"]["buffer_bytes"] = np.int32(10**6)
    one = scenario(network=graph, workload=work, probes=[probes.rate(np.int64(0))], faults=[slow], **flags)
    back = Scenario.from_toml(one.to_toml(tmp_path / "run.toml"))
    assert back.simulation().send("h1", "h0", "1kB", priority=4) == 2
    assert back.run().probes.equals(one.run().probes)
    empty = Scenario.from_toml(scenario(workload=rdmacc.open_work(), scheme="dasr").to_toml(tmp_path / "empty.toml"))
    assert empty.simulation().send("h1", "h0", "1kB") == 0


TUPLES = nx.relabel_nodes(rdmacc.star(3), {"h0": ("rack", 0)})


@pytest.mark.parametrize(
    ("network", "words"),
    [(5, None), (nx.Graph(), None), (nx.path_graph(3), None), (TUPLES, "must be a string or a whole")],
)
def test_invalid_networks_are_refused(tmp_path, network, words):
    with pytest.raises(ConfigError, match=words):
        scenario(network=network).to_toml(tmp_path / "run.toml")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[:300], "a scenario that rdmacc wrote"),
        (lambda text: text.replace("format = 1", "format = 7"), "in format 1, not 7"),
        (lambda text: text.replace("dcqcn.Dcqcn", "dcqcn.Dcqc"), "import its module first|did you mean"),
        (lambda text: "", "a scenario that rdmacc wrote"),
        (lambda text: text.replace("seed = 3", ""), "seed"),
    ],
)
def test_invalid_scenarios_are_refused(tmp_path, change, words):
    path = scenario().to_toml(tmp_path / "run.toml")
    path.write_text(change(path.read_text()))
    with pytest.raises(ConfigError, match=words):
        Scenario.from_toml(path)


def test_a_host_slower_than_its_link_survives_a_round_trip(tmp_path):
    one = scenario(network=rdmacc.topology.dart_testbed(), workload=rdmacc.messages([("h1", "h0", "64kB")]))
    back = Scenario.from_toml(one.to_toml(tmp_path / "run.toml"))
    assert back.run().flows.equals(one.run().flows)
