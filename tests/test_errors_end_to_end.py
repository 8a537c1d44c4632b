"""Bad input to `rdmacc.simulate`: one `ConfigError` that names the field, the value and what is allowed, and no run."""

from __future__ import annotations

import subprocess
import sys
import traceback

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc import ConfigError, Loss, Probe, Scheme, probes, topology
from rdmacc.errors import shortened
from rdmacc.faults import LinkDown, ScriptedLoss
from rdmacc.protocols.dasr import Dasr

GRAPH = rdmacc.star(3)
WORK = rdmacc.messages([("h0", "h1", 1000), ("h1", "h2", 1000)])


def check(error, field, value, allowed):
    """Assert what an error says: in its attributes, and in its text."""
    assert field in error.field
    if value is not ...:
        assert error.value == value or str(error.value) == str(value)
    assert allowed in error.allowed
    text = str(error)
    assert text.startswith(f"{error.field} = ")
    assert text.endswith(error.allowed)
    assert "\n" not in text


def refused(field, value, allowed, graph=GRAPH, work=WORK, scheme="line-rate", **options):
    """Assert that `simulate` refuses its input, saying so."""
    with pytest.raises(ConfigError) as caught:
        rdmacc.simulate(graph, work, scheme, **options)
    check(caught.value, field, value, allowed)


def one(*row):
    return pd.DataFrame([dict(zip(("src", "dst", "size", "start", "group", "after", "weight"), row))])


# The workload


def test_the_row_is_named():
    with pytest.raises(ConfigError, match=r"\(row 1\)"):
        rdmacc.simulate(GRAPH, pd.DataFrame({"src": "h0", "dst": ["h1", "h7"], "size": 10}), "line-rate")


def test_too_many_packets():
    refused(
        "size_bytes",
        2**40,
        "2**31 packets",
        work=one("h0", "h1", 2**40),
        scheme=rdmacc.scheme("line-rate", payload_bytes=1),
    )


# The network


def test_no_path():
    graph = rdmacc.star(3)
    for name in ("x", "y"):
        topology.add_host(graph, name)
    topology.add_link(graph, "x", "y", "10Gbps", "1us")
    refused("dst", "x", "reachable from src = 'h0'", graph=graph, work=one("h0", "x", 1))


# The scheme


@pytest.mark.parametrize(
    ("changes", "field", "value", "allowed"),
    [
        ({"gain": 1}, "parameter of scheme 'dcqcn'", "gain", "ack_every_packets"),
        ({"reference_bps": 1}, "parameter of scheme 'dcqcn'", "reference_bps", "named with its component"),
        ({"cnp_interval_ps": "5Gbps"}, "Dcqcn.cnp_interval_ps", "5Gbps", "us"),
        ({"cnp_interval_ps": -1}, "Dcqcn.cnp_interval_ps", -1, "at least 0"),
        ({"g": 1.5}, "Dcqcn.g", 1.5, "at most 1.0"),
        ({"g": "fast"}, "Dcqcn.g", "fast", "a finite number"),
        ({"g": float("nan")}, "Dcqcn.g", "nan", "a finite number"),
        ({"fast_recovery_steps": 0}, "Dcqcn.fast_recovery_steps", 0, "at least 1"),
        ({"fast_recovery_steps": 2.5}, "Dcqcn.fast_recovery_steps", 2.5, "a whole number"),
        ({"additive_bps": "5us"}, "Dcqcn.additive_bps", "5us", "bps"),
        ({"payload_bytes": 0}, "Scheme.payload_bytes", 0, "at least 1"),
        ({"payload_bytes": "1us"}, "Scheme.payload_bytes", "1us", "kB"),
        ({"pmax": 2.0}, "Red.pmax", 2.0, "at most 1.0"),
        ({"at_nic": "yes"}, "Red.at_nic", "yes", "True or False"),
        ({"data_priority": 0}, "Scheme.data_priority", 0, "at least"),
        ({"timeout_ps": 0}, "GoBackN.timeout_ps", 0, "at least 1"),
        ({"buffer": "1MB"}, "buffer", "1MB", "a Pfc or a DropTail"),
        ({"routing": "random"}, "routing", "random", "ecmp"),
    ],
)
def test_bad_parameters(changes, field, value, allowed):
    with pytest.raises(ConfigError) as caught:
        rdmacc.simulate(GRAPH, WORK, rdmacc.scheme("dcqcn", **changes))
    check(caught.value, field, value, allowed)


def test_two_components_with_the_same_header():
    with pytest.raises(ConfigError) as caught:
        Scheme(control=(Dasr(), Dasr()))
    check(caught.value, "Dasr.Header", "auss_n", "another name: `Dasr.Header` already has this field")


# Options


@pytest.mark.parametrize(
    ("until", "allowed"),
    [
        (-1, "at least 0"),
        (5, "must carry a unit, such as '5us'"),
        (2.5, "must carry a unit, such as '5us'"),
        ("5", "the unit is missing"),
        ("5Gbps", "us"),
        ("soon", "a time"),
        (float("nan"), "finite"),
        (True, "a time"),
        (f"{2**62}ps", "less than 2**62"),
        ([1], "a time"),
    ],
)
def test_bad_until(engine, until, allowed):
    refused("until", until, allowed, until=until, engine=engine)


def test_until_in_the_past(engine):
    simulation = rdmacc.Simulation(GRAPH, WORK, "line-rate", engine=engine)
    simulation.run("1us")
    with pytest.raises(ConfigError) as caught:
        simulation.run("500ns")
    check(caught.value, "until", "500ns", "at least the current time, 1000000 ps")


@pytest.mark.parametrize(
    ("probe", "field", "value", "allowed"),
    [
        (lambda: probes.queue("h0", "h1"), "port", "h0->h1", "a link of the network"),
        (lambda: probes.queue("x", "h1"), "port", "x->h1", "a link of the network"),
        (lambda: probes.queue("s0", "h1", "0us"), "Probe.every_ps", 0, "at least 1 ps"),
        (lambda: probes.queue("s0", "h1", "1kB"), "every", "1kB", "us"),
        (lambda: probes.rate(0, every=5), "every", 5, "must carry a unit, such as '5us'"),
        (lambda: probes.rate(2), "at of probe", 2, "0 to 1"),
        (lambda: probes.rate(-1), "at of probe", -1, "0 to 1"),
        (lambda: probes.rate("x"), "flow", "x", "a whole number"),
        (lambda: probes.field("host", "s0", "rx_packets"), "at of probe", "s0", "the name of a host"),
        (lambda: probes.field("host", ["h0"], "rx_packets"), "at", ["h0"], "a name"),
        (lambda: probes.field("port", "s0", "tx_bytes"), "at of probe", "s0", "a pair"),
        (lambda: probes.field("port", ("s0", "h0"), "length"), "field of probe", "length", "a field of a port: "),
        (lambda: probes.field("port", ("s0", "h0"), "queue_byte"), "field of probe", ..., "did you mean 'queue_bytes'"),
        (lambda: probes.field("flow", 0, "Dcqcn.alpha"), "field of probe", "Dcqcn.alpha", "LineRate.<field>"),
        (lambda: probes.field("flow", 0, "GoBackN.alpha"), "field of probe", "GoBackN.alpha", "retries"),
        (lambda: probes.field("switch", "s0", "x"), "Probe.place", "switch", "port, flow, host"),
        (
            lambda: Probe(name="x", place="port", at=("s0", "h0"), field="tx_bytes", is_rate=True),
            "Probe.every_ps", None, "given for a probe that measures a rate",
        ),
        (lambda: "queue", "probes", "queue", "a Probe"),
    ],
)  # fmt: skip
def test_bad_probes(probe, field, value, allowed):
    with pytest.raises(ConfigError) as caught:
        rdmacc.simulate(GRAPH, WORK, "line-rate", probes=[probe()])
    check(caught.value, field, value, allowed)


def test_a_probe_or_a_fault_that_is_not_in_a_list():
    refused("probes", ..., "a list", probes=probes.queue("s0", "h1"))
    refused("probes", None, "a list", probes=None)
    refused("faults", ..., "a list", faults=Loss(data=0.1))


@pytest.mark.parametrize(
    ("fault", "field", "value", "allowed"),
    [
        (lambda: Loss(data=1.5), "Loss.data", 1.5, "from 0 to 1"),
        (lambda: Loss(control=-0.1), "Loss.control", -0.1, "from 0 to 1"),
        (lambda: Loss(data="1%"), "Loss.data", "1%", "a probability"),
        (lambda: Loss(data=float("nan")), "Loss.data", "nan", "a probability"),
        (lambda: Loss(data=0.1, links=(("h0", "h1"),)), "port", "h0->h1", "a link of the network"),
        (lambda: Loss(data=0.1, links=("h0",)), "Loss.links", "h0", "a pair"),
        (lambda: Loss(data=0.1, links=5), "Loss.links", 5, "a list of links"),
        (lambda: LinkDown(link="s0", at_ps="1us"), "LinkDown.link", "s0", "a pair"),
        (lambda: LinkDown(link=("h0", "h1"), at_ps="1us"), "port", "h0->h1", "a link of the network"),
        (lambda: LinkDown(link=("h0", "s0"), at_ps="1kB"), "LinkDown.at_ps", "1kB", "us"),
        (lambda: ScriptedLoss(message=9, psn=0), "ScriptedLoss.message", 9, "a row of the workload"),
        (lambda: ScriptedLoss(message=0, psn=-1), "ScriptedLoss.psn", -1, "at least 0"),
        (lambda: ScriptedLoss(message=0, psn=0, kind="pause"), "ScriptedLoss.kind", "pause", "data, ack"),
        (lambda: "loss", "faults", "loss", "a LinkDown, a SlowLink, a PauseStorm"),
    ],
)
def test_bad_faults(fault, field, value, allowed):
    with pytest.raises(ConfigError) as caught:
        rdmacc.simulate(GRAPH, WORK, "line-rate", faults=[fault()])
    check(caught.value, field, value, allowed)


@pytest.mark.parametrize("group", [0, -1, -7, 2**31, 2**40, 2**62])
def test_any_whole_number_names_a_group(engine, group):
    """Labels are only names: they do not overflow, and -1 is one like any other."""
    rows = [("h1", "h0", 5000, 0, group), ("h2", "h0", 5000, 0, group)]
    result = rdmacc.simulate(GRAPH, rdmacc.messages(rows), "dasr", engine=engine)
    assert result.flows["group"].tolist() == [group] * 2
    assert result.counters.adverts == 2


def caught(function, *given, **named):
    try:
        function(*given, **named)
    except ConfigError as error:
        return error


def frames(trace):
    return [one.name for one in traceback.extract_tb(trace)]


def test_a_printed_traceback_ends_in_the_users_line(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text("import rdmacc\n\nrdmacc.simulate(rdmacc.star(3), rdmacc.incast(['h9'], 'h0', '8kB'), 'dcqcn')\n")
    printed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False).stderr.splitlines()
    assert len(printed) == 4
    assert "mine.py" in printed[1]
    assert printed[-1].startswith("rdmacc.errors.ConfigError: src = 'h9'")


def test_frames_of_users_stay_and_all_are_at_hand(monkeypatch):
    error = caught(rdmacc.study, rdmacc.star(3), lambda: rdmacc.incast(["h1"], "h0", "8k"), "dcqcn", progress=False)
    assert frames(shortened(error.__traceback__)) == ["caught", "<lambda>"]
    assert len(frames(error.__traceback__)) > 5
    assert len("".join(error._render_traceback_()).splitlines()) <= 8
    monkeypatch.setenv("RDMACC_TRACEBACK", "full")
    assert shortened(error.__traceback__) is error.__traceback__


def test_a_notebook_shows_the_cell_alone(capsys):
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    shell.instance().run_cell(
        "import rdmacc\nrdmacc.simulate(rdmacc.star(3), rdmacc.incast(['h9'], 'h0', '8kB'), 'dcqcn')"
    )
    shell.clear_instance()
    shown = capsys.readouterr().out
    assert "src = 'h9'" in shown
    assert "rdmacc/simulation.py" not in shown
    assert len(shown.splitlines()) < 12


def _joined_directly():
    graph = nx.Graph()
    graph.add_edges_from([("h0", "h2"), ("h2", "h1")], rate_bps=1e11, delay_ps=1_000_000)
    nx.set_node_attributes(graph, "host", "kind")
    return graph


def _without_links():
    graph = nx.Graph()
    topology.add_switch(graph, "s0", "1MB")
    return graph


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rdmacc.simulate(_joined_directly(), WORK.iloc[:1], "dcqcn"), "hosts do not forward"),
        (lambda: rdmacc.simulate(_without_links(), WORK, "dcqcn"), "must have at least one link"),
        (
            lambda: rdmacc.simulate(GRAPH, WORK.set_index(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])), "dcqcn"),
            "one level of labels",
        ),
        (lambda: rdmacc.permutation(["h0", "h1"], np.array([1, 2, 3])), "one for each of 2 messages"),
        (lambda: rdmacc.study(lambda n: GRAPH, WORK, "dcqcn", vary={"n": [{}]}), "vary, n = {}"),
        (lambda: rdmacc.study(lambda n: GRAPH, WORK, "dcqcn", vary={"n": [pd.NA]}), "vary, n = <NA>"),
    ],
)
def test_odd_plans_are_refused(call, text):
    with pytest.raises(ConfigError, match=text):
        call()
