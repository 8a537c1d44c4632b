"""Typical mistakes and their messages: field, value and allowed values, before anything runs."""

import os
import pickle
import subprocess
import sys
import traceback

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc import ConfigError, Loss, Probe, Scenario, Scheme, errors, probes, topology
from rdmacc.experiments import experiment, select
from rdmacc.faults import LinkDown, PauseStorm, ScriptedLoss, SlowLink, flapping
from rdmacc.models import DcqcnFluid, MaxMin
from rdmacc.protocols.dasr import Dasr
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.sweep.cluster import dask_executor
from tests.support import refused

NET = rdmacc.star(4)
WORK = rdmacc.incast(["h1", "h2"], "h0", "64kB")


def run(network=NET, work=WORK, scheme="dcqcn", **options):
    return rdmacc.simulate(network, work, scheme, **options)


def study(network=NET, workload=WORK, schemes="dcqcn", **options):
    return rdmacc.study(network, workload, schemes, **options)


def csv(text, name="mine.csv"):
    with open(name, "w") as file:
        file.write(text)
    return name


def read(text):
    return rdmacc.from_csv(csv(text))


def graph(**link):
    """Return three hosts around a switch, with these attributes on each link."""
    made = nx.Graph()
    made.add_edges_from([(f"a{i}", "s") for i in range(3)], **link)
    return made


def hosts_with(**attributes):
    """Return three hosts around a switch, the first with these attributes."""
    made = graph(rate="1Gbps", delay="1us")
    made.nodes["a0"].update(attributes)
    return made


def on_graph(**link):
    return run(graph(**link), rdmacc.incast(["a1"], "a0", "8kB"))


def changed(**changes):
    return run(scheme=rdmacc.scheme("dcqcn", **changes))


def watched(*probe, **options):
    return run(scheme="line-rate", probes=[*probe], **options)


def faulty(*fault):
    return run(scheme="line-rate", faults=[*fault])


def one(*row, **columns):
    names = ("src", "dst", "size", "start", "group", "after", "weight")
    return pd.DataFrame([dict(zip(names, row)) | columns])


def unreachable():
    """Return a star, and two hosts connected only to each other."""
    made = rdmacc.star(3)
    for name in ("x", "y"):
        topology.add_host(made, name)
    topology.add_link(made, "x", "y", "10Gbps", "1us")
    return made


def through_a_host():
    made = nx.Graph()
    made.add_edges_from([("h0", "h2"), ("h2", "h1")], rate_bps=1e11, delay_ps=1_000_000)
    nx.set_node_attributes(made, "host", "kind")
    return made


def done():
    """Return a result with a queue's probe, without a trace."""
    return run(engine="simpy", probes=[probes.queue("s0", "h0")])


def stopped():
    simulation = rdmacc.Simulation(NET, WORK, "dcqcn", engine="simpy")
    simulation.run("5us")
    return simulation


# Mistake, code, and required words of the message.
MISTAKES = [
    # Quantities
    ("bytes for bits", lambda: rdmacc.star(4, rate="100GBps"), "rate = '100GBps'", "'100Gbps'", "'GBps' is not a"),
    ("a rate in Gb/s without a unit", lambda: rdmacc.star(4, rate=100), "rate = 100", "write '100Gbps'"),
    ("Gbs for Gbps", lambda: rdmacc.star(4, rate="100 Gbs"), "rate = '100 Gbs'", "'Gbs' is not a known unit"),
    ("100G for 100Gbps", lambda: rdmacc.star(4, rate="100G"), "rate = '100G'", "did you mean '100Gbps'?"),
    ("a delay without a unit", lambda: rdmacc.star(4, delay=1), "delay = 1", "must carry a unit, such as '5us'"),
    ("64k for 64kB", lambda: rdmacc.incast(["h1"], "h0", "64k"), "size = '64k'", "did you mean '64kB'?"),
    ("until without a unit", lambda: run(until=5), "until = 5", "such as '5us'"),
    ("until in the past", lambda: stopped().run("1us"), "until = '1us'", "at least the current time, 5000000 ps"),
    ("a probe's period without a unit", lambda: probes.queue("s0", "h0", every=1), "every = 1", "such as '5us'"),
    # Networks
    ("a misspelt delay", lambda: on_graph(rate="1Gbps", dealy="1us"), "'dealy' (edge", "did you mean 'delay'"),
    ("network and workload swapped", lambda: run(WORK, NET), "network = 'DataFrame'", "a networkx.Graph"),
    ("a drawing of messages", lambda: rdmacc.draw(WORK), "network = 'DataFrame'", "a networkx.Graph"),
    ("a network's name", lambda: rdmacc.describe("star"), "network = 'star'", "a networkx.Graph"),
    # Messages
    ("one sender as a text", lambda: rdmacc.incast("h1", "h0", "64kB"), "senders = 'h1'", "a list of hosts"),
    ("a receiver that sends", lambda: rdmacc.incast(["h0", "h1"], "h0", "64kB"), "['h0', 'h1']", "without 'h0'"),
    ("a host by number", lambda: run(work=rdmacc.incast([1], "h0", "8kB")), "src = 1 (row 0)", "did you mean 'h1'"),
    ("a pair without a list", lambda: rdmacc.long_flows(("h1", "h0"), "8kB"), "pairs = 'h1'", "[('h1', 'h0')]"),
    ("a load in percent", lambda: rdmacc.poisson(NET, "web_search", 30, count=9), "load = 30", "0.3 for 30%"),
    ("a misspelt distribution", lambda: rdmacc.poisson(NET, "websearch", 0.3, count=9), "'websearch'", "web_search"),
    ("one host's name for hosts", lambda: rdmacc.permutation("h0", "8kB"), "hosts = 'h0'", "or a network"),
    ("options by position", lambda: rdmacc.permutation(NET, "8kB", 1), "permutation() = 1", "name: start=..., seed="),
    ("a misspelt argument", lambda: rdmacc.star(4, dealy="1us"), "star() = 'dealy'", "did you mean 'delay'"),
    # Former names
    ("a scenario's topology", lambda: Scenario(topology=NET), "Scenario = 'topology'", "must be written 'network'"),
    ("a simulation's topology", lambda: rdmacc.simulate(topology=NET), "simulate() = 'topology'", "'network'"),
    ("a study's work", lambda: rdmacc.study(NET, work=WORK), "study() = 'work'", "must be written 'workload'"),
    ("sizes of one size", lambda: rdmacc.poisson(NET, sizes=1), "poisson() = 'sizes'", "must be written 'size'"),
    ("a window of starts", lambda: rdmacc.random_pairs(NET, 2, 1, window=1), "= 'window'", "must be written 'jitter'"),
    ("the rate of spines", lambda: rdmacc.leaf_spine(2, 2, 2, spine_rate=1), "= 'spine_rate'", "'fabric_rate'"),
    ("GPUs as a node", lambda: rdmacc.workload.Nccl(node=8), "Nccl = 'node'", "must be written 'hosts_per_node'"),
    # Files
    ("a misspelt column", lambda: read("source,dst,size\n1,2,8kB\n"), "'source'", "did you mean 'src'"),
    ("semicolons for commas", lambda: read("src;dst;size\n1;2;8kB\n"), "'src;dst;size'", "src, dst"),
    ("a CSV that is not there", lambda: rdmacc.from_csv("nowhere.csv"), "file = 'nowhere.csv'", "a CSV file"),
    ("two rows of one name", lambda: read("message,src,dst,size\n5,a,b,1\n5,b,a,1\n"), "message = 5", "unique"),
    ("a weight of 0", lambda: read("src,dst,size,weight\na,b,1,0\n"), "weight = 0.0 (row 0)", "above 0"),
    ("a number for columns", lambda: rdmacc.from_csv(csv("src,dst,size\n"), others=3), "others = 3", "a list of names"),
    ("a missing size", lambda: read("src,dst,size\n1,2,\n"), "size_bytes = nan (row 0)", "whole number"),
    ("a start without a unit in a CSV", lambda: read("src,dst,size,start\n1,2,8kB,5\n"), "start_ps = 5",
     "such as '5us'"),
    ("a CSV as Parquet", lambda: rdmacc.from_parquet(csv("src,dst,size\n")), "file = 'mine.csv'", "a Parquet file"),
    ("a folder without a result", lambda: rdmacc.load("nothing"), "folder = 'nothing'", "that Result.save wrote"),
    ("a scenario that is not there", lambda: Scenario.from_toml("no.toml"), "file = 'no.toml'", "a scenario"),
    ("a file that is no scenario", lambda: Scenario.from_toml(csv("a = [")), "file = 'mine.csv'", "TOMLDecodeError"),
    ("a result in no folder", lambda: done().save("/proc/x/y"), "folder = '/proc/x/y'", "a folder that can be"),
    ("a timeline in no folder", lambda: done().to_perfetto("none/x"), "path = 'none/x'", "can be written"),
    ("a result over another", lambda: [done().save("here") for _ in range(2)], "folder = 'here'", "replace=True"),
    # Schemes
    ("a scheme in capitals", lambda: run(scheme="HPCC"), "scheme = 'HPCC'", "did you mean 'hpcc'"),
    ("a misspelt parameter", lambda: rdmacc.scheme("dcqcn", aplha_period_ps="55us"), "'aplha_period_ps'",
     "did you mean 'alpha_period_ps'"),
    ("a size for a time", lambda: rdmacc.scheme("dcqcn", alpha_period_ps="55kB"), "'55kB'", "'kB' is not a known unit"),
    ("a time without a unit", lambda: rdmacc.scheme("dcqcn", cnp_interval_ps=50), "Dcqcn.cnp_interval_ps = 50",
     "such as '50us'; ps(50) is picoseconds"),
    ("a rate without a unit", lambda: rdmacc.scheme("dcqcn", **{"Dcqcn.additive_bps": 40}), "= 40", "such as '40Gbps'"),
    ("a varied time without a unit", lambda: study(vary={"cnp_interval_ps": [4, 50]}), "cnp_interval_ps = 4", "'4us'"),
    ("K_min above K_max", lambda: rdmacc.scheme("dcqcn", kmin_bytes="500kB", kmax_bytes="100kB"), "kmin_bytes = 500000",
     "at most kmax_bytes = 100000"),
    ("a way of routing", lambda: rdmacc.scheme("dcqcn", routing="spray"), "routing = 'spray'", "spray-random"),
    ("a misspelt preset", lambda: rdmacc.preset("hpcc-ns2"), "preset = 'hpcc-ns2'", "did you mean 'hpcc-ns3'"),
    # Runs
    ("an engine's library", lambda: run(engine="numba"), "engine = 'numba'", "auto, compiled, simpy"),
    ("a number for a checkpoint", lambda: run(checkpoint=3), "checkpoint = 3", "a path"),
    ("a checkpoint in no folder", lambda: run(checkpoint="none/x"), "checkpoint = 'none/x'", "can be written"),
    ("no name for a checkpoint", lambda: run(checkpoint=""), "checkpoint = ''", "can be read"),
    ("a time between no checkpoints", lambda: run(every="5min"), "every = '5min'", "given with checkpoint"),
    ("a seed below zero", lambda: run(seed=-1), "seed = -1", "at least 0"),
    ("one probe without a list", lambda: run(probes=probes.queue("s0", "h0")), "probes = Probe(", "a list"),
    ("a probe by name", lambda: run(probes=["queue"]), "probes = 'queue'", "rdmacc.probes.queue('s0', 'h0'"),
    ("a probe of no message", lambda: run(probes=[probes.rate(7)]), "'rate 7' = 7", "0 to 1"),
    ("a misspelt field", lambda: run(probes=[probes.field("flow", 0, "Dcqcn.alhpa")]), "'Dcqcn.alhpa'", "alpha"),
    ("two probes of one name", lambda: run(probes=[probes.rate(0), probes.rate(0, "1us")]), "probes = 'rate 0'",
     "the name of one probe"),
    ("a window of a scheme that paces", lambda: run(probes=[probes.window(0)]), "'window_bytes'", "probes.rate(0)"),
    ("a loss without names", lambda: Loss(0.1), "Loss = 0.1", "as in Loss(data=...)"),
    ("a host's buffer", lambda: run(hosts_with(buffer="1MB")), "buffer = '1MB' (node a0)", "only on switches"),
    ("a number for the axes", lambda: done().plot.queues(3), "ax = 3", "a matplotlib.Axes or None"),
    ("a window as one time", lambda: done().summary("1ms"), "window = '1ms'", "a tuple"),
    ("a scheme's name with a line break", lambda: rdmacc.register_scheme("a\nb", None), "'a\\nb'", "in one line"),
    ("a loss on no link", lambda: Loss(links=[]), "Loss.links = ()", "None for every link"),
    ("a parameter without its unit", lambda: rdmacc.scheme("dcqcn", kmin=5), "'kmin'", "did you mean 'kmin_bytes'"),
    ("a component's values without names", lambda: Dcqcn(0.5), "Dcqcn = 0.5", "given by name, as in Dcqcn("),
    ("a model's values without names", lambda: MaxMin(NET, WORK), "MaxMin = ", "MaxMin(network=..., workload=...)"),
    ("a misspelt attribute of a switch", lambda: on_graph(rate="1Gbps", delay="1us", dely_ps=3), "'dely_ps'",
     "did you mean 'delay_ps'"),
    ("two rates of a link", lambda: on_graph(rate="1Gbps", rate_bps=2e9, delay="1us"), "rate_bps = 2000000000.0",
     "equal to rate = '1Gbps'"),
    ("what a load is of, beside a rate", lambda: rdmacc.incasts(NET, degree=2, size="1kB", rate=1e5, count=1, of="x"),
     "'x'", "host"),
    # Parameters
    ("a time for a rate", lambda: changed(additive_bps="5us"), "Dcqcn.additive_bps = '5us'", "bps"),
    ("a time for a size", lambda: changed(payload_bytes="1us"), "Scheme.payload_bytes = '1us'", "kB"),
    ("a class that is not the data's", lambda: changed(data_priority=0), "Scheme.data_priority = 0", "at least"),
    ("a size for a buffer's policy", lambda: changed(buffer="1MB"), "buffer = '1MB'", "a Pfc or a DropTail"),
    ("one header twice", lambda: Scheme(control=(Dasr(), Dasr())), "Dasr.Header = 'auss_n'", "another name"),
    # Runs that cannot be planned
    ("the row", lambda: run(work=pd.DataFrame({"src": "h0", "dst": ["h1", "h7"], "size": 9})), "'h7'", "(row 1)"),
    ("too many packets", lambda: run(work=one("h0", "h1", 2**40), scheme=rdmacc.scheme("dcqcn", payload_bytes=1)),
     "size_bytes = 1099511627776", "2**31 packets"),
    ("a host that no path leads to", lambda: run(unreachable(), one("h0", "x", 1)), "dst = 'x'", "from src = 'h0'"),
    ("a host between hosts", lambda: run(through_a_host(), one("h0", "h1", 1)), "hosts do not forward"),
    ("labels of two levels", lambda: run(work=WORK.set_index(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))),
     "one level of labels"),
    ("a missing value", lambda: rdmacc.study(lambda n: NET, WORK, "dcqcn", vary={"n": [pd.NA]}), "n = <NA>"),
    ("until below zero", lambda: run(until=-1), "until = -1", "at least 0"),
    ("until after the last picosecond", lambda: run(until=f"{2**62}ps"), "less than 2**62"),
    # Probes
    ("a probe of no node", lambda: watched(probes.queue("x", "h1")), "port = 'x->h1'", "a link of the network"),
    ("no period", lambda: watched(probes.queue("s0", "h1", "0us")), "Probe.every_ps = 0", "at least 1 ps"),
    ("a size for a period", lambda: watched(probes.queue("s0", "h1", "1kB")), "every = '1kB'", "us"),
    ("a switch for a host", lambda: watched(probes.field("host", "s0", "rx_packets")), "'s0'", "the name of a host"),
    ("a node for a port", lambda: watched(probes.field("port", "s0", "tx_bytes")), "'s0'", "a pair"),
    ("no field of a port", lambda: watched(probes.field("port", ("s0", "h0"), "length")), "a field of a port: "),
    ("another scheme's field", lambda: watched(probes.field("flow", 0, "Dcqcn.alpha")), "LineRate.<field>"),
    ("a place that is none", lambda: watched(probes.field("switch", "s0", "x")), "Probe.place", "port, flow, host"),
    ("a rate at each change", lambda: Probe(name="x", place="port", at=("s0", "h0"), field="tx_bytes", is_rate=True),
     "Probe.every_ps = None", "a probe that measures a rate"),
    ("links of no network", lambda: probes.every_link("s0", "1us"), "network = 's0'", "a networkx.Graph"),
    ("no list of probes", lambda: run(probes=None), "probes = None", "a list"),
    # Faults
    ("a loss in words", lambda: Loss(data="1%"), "Loss.data = '1%'", "a probability"),
    ("a loss at a node", lambda: Loss(data=0.1, links=("h0",)), "Loss.links = 'h0'", "a pair"),
    ("a node that goes down", lambda: LinkDown(link="s0", at_ps="1us"), "LinkDown.link = 's0'", "a pair"),
    ("a link that is not there", lambda: faulty(LinkDown(link=("h0", "h1"), at_ps="1us")), "port = 'h0->h1'"),
    ("a link back before it fails", lambda: LinkDown(link=("h0", "s0"), at_ps="2us", until_ps="2us"), "until_ps"),
    ("routes that converge soon", lambda: LinkDown(link=("h0", "s0"), at_ps=0, convergence_ps="soon"),
     "LinkDown.convergence_ps = 'soon'"),
    ("nothing left of a link", lambda: SlowLink(link=("h0", "s0"), share=0.0), "SlowLink.share = 0.0"),
    ("a number for both ways", lambda: SlowLink(link=("h0", "s0"), share=0.5, both_ways=1), "SlowLink.both_ways = 1"),
    ("a switch that storms", lambda: faulty(PauseStorm(host="s0", at_ps=1)), "PauseStorm.host = 's0'"),
    ("no time between failures", lambda: flapping(("h0", "s0"), at_ps=1, down_ps=0, up_ps=1, times=1), "down_ps = 0"),
    ("no failures", lambda: flapping(("h0", "s0"), at_ps=1, down_ps=1, up_ps=1, times=0), "times = 0"),
    ("failures without end", lambda: flapping(("h0", "s0"), at_ps=1, down_ps=1, up_ps=1, times=10**30), "times = 1"),
    ("a script for no message", lambda: faulty(ScriptedLoss(message=9, psn=0)), "ScriptedLoss.message = 9", "a row"),
    ("a script for no packet", lambda: ScriptedLoss(message=0, psn=-1), "ScriptedLoss.psn = -1", "at least 0"),
    ("a script for a pause", lambda: ScriptedLoss(message=0, psn=0, kind="pause"), "'pause'", "data, ack"),
    ("a word for a fault", lambda: faulty("loss"), "faults = 'loss'", "a LinkDown, a SlowLink, a PauseStorm"),
    # Results
    ("rates without a probe", lambda: done().plot.rates(), "plot.rates()", "rdmacc.probes.rate(flow)"),
    ("a probe's name", lambda: done().plot.probe("queues"), "probe = 'queues'", "did you mean 'queue s0->h0'"),
    ("a trace that was not kept", lambda: done().packet_trace, "trace = False", "simulate()"),
    ("a message that is not there", lambda: done().goodput(99), "flow = 99", "0 to 1"),
    ("a message for a list", lambda: done().explanations(0), "flows = 0", "a list"),
    ("a message of none", lambda: run(work=rdmacc.open_work(), until="1us").goodput(0), "flow = 0", "has none"),
    # Studies, experiments, models
    ("no current folder", lambda: [os.mkdir("x"), os.chdir("x"), os.rmdir("../x"), study(seeds=2, jobs=2)],
     "current folder = 'deleted'", "jobs=1"),
    ("an executor without its with", lambda: study(executor=dask_executor("local:1")), "executor = ", "as executor"),
    ("a network's without return", lambda: study(network=lambda seed: None), "network = None", "networkx.Graph"),
    ("a figure that is not there", lambda: experiment("dart.fig99"), "'dart.fig99'", "did you mean 'dart.fig9'"),
    ("a misspelt paper", lambda: select("drat"), "experiment = 'drat'", "did you mean 'dart'"),
    ("a model's misspelt parameter", lambda: DcqcnFluid().replace(flow=3), "= 'flow'", "did you mean 'flows'"),
    ("a model of no flows", lambda: DcqcnFluid(flows=0), "DcqcnFluid.flows = 0", "at least 1"),
    ("a scheme for a model", lambda: rdmacc.compare("dcqcn"), "model = 'dcqcn'", "a model with scenario()"),
    ("a misspelt network", lambda: rdmacc.explore(network="dumbell"), "Setup.network = 'dumbell'", "mean 'dumbbell'"),
    ("an explorer of a fat tree", lambda: rdmacc.explore(network="fat-tree"), "network = 'fat-tree'", "star, dumbbell"),
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
def test_a_mistake_is_named(mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path / "store"))
    _, wrong, *words = mistake
    refused(wrong, *words)


def test_parameters_checked_together_are_changed_together():
    """K_min above the old K_max is fine if K_max is raised with it, in either order."""
    limits = {"kmin_bytes": "500kB", "kmax_bytes": "900kB"}
    for order in (list(limits), list(limits)[::-1]):
        made = rdmacc.scheme("dcqcn", **{name: limits[name] for name in order})
        assert (made.switch[0].kmin_bytes, made.switch[0].kmax_bytes) == (500_000, 900_000)


@pytest.mark.parametrize("group", [0, -7, 2**31, 2**62])
def test_any_whole_number_names_a_group(engine, group):
    """Labels are only names: they do not overflow, and -1 is a label like any other."""
    rows = [("h1", "h0", 5000, 0, group), ("h2", "h0", 5000, 0, group)]
    result = rdmacc.simulate(NET, rdmacc.messages(rows), "dasr", engine=engine)
    assert result.flows["group"].tolist() == [group] * 2
    assert result.counters.adverts == 2


ERRORS = [
    (
        ConfigError(field="size_bytes", value=np.int64(-4), allowed="at least 1 byte", where="row 3"),
        "size_bytes = -4 (row 3): must be at least 1 byte",
    ),
    (
        errors.unknown("scheme", "dcqn", ["dasr", "dcqcn"], "the name of a scheme"),
        "scheme = 'dcqn': must be the name of a scheme; did you mean 'dcqcn'?",
    ),
    (errors.unknown("kind", "xyz", ["data", "ack"]), "kind = 'xyz': must be one of data, ack"),
    (errors.unknown("kind", "data", []), "kind = 'data': must be a known name; there is none"),
    (
        errors.unknown("src", 12, [f"h{i}" for i in range(10)], "a node", where="row 3"),
        "src = 12 (row 3): must be a node: h0, h1, h2, h3, h4, h5, h6, h7 and 2 more",
    ),
    (errors.unknown("host", "h10", ["h0", "h1"]), "host = 'h10': must be a known name; did you mean 'h0' or 'h1'?"),
    (errors.SimulationError("went wrong"), "went wrong"),
    (
        errors.DeadlockError(ports=["a->b", "b->c", "c->a"], time_ps=5),
        "deadlock at 5 ps: a->b waits on b->c waits on c->a waits on a->b",
    ),
    (errors.StalledError([1], 9), "stalled at 0.000009 us with 1 message unfinished: 1"),
    (
        errors.StalledError(messages=range(10), time_ps=9, reason="lost tail"),
        "stalled at 0.000009 us with 10 messages unfinished: 0, 1, 2, 3, 4, 5, 6, 7 and 2 more (lost tail)",
    ),
    (
        errors.LivelockError(what="a timer", time_ps=5),
        "livelock at 5 ps: simulated time does not advance; repeating: a timer",
    ),
    (
        errors.HandlerError(handler="M.on_ack", reason="1 / 0", line=3, time_ps=5, place="message 1", filename="m.py"),
        "M.on_ack, line 3 (at 5 ps, message 1): 1 / 0",
    ),
    (
        errors.CompileError(handler="M.on_ack", reason="no such field", line=7, code="x.y", filename="m.py"),
        "M.on_ack (line 7) cannot be compiled: x.y: no such field",
    ),
    (errors.CompileError("M.on_ack", "no generators", 7), "M.on_ack (line 7) cannot be compiled: no generators"),
]


@pytest.mark.parametrize(("error", "text"), ERRORS, ids=lambda value: type(value).__name__)
def test_errors_have_clear_texts_and_pickle(error, text):
    assert str(error) == text
    error.add_note("seen at point 3")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is type(error)
        assert str(again) == text
        assert vars(again) == vars(error)


def test_an_error_with_a_value_that_does_not_pickle():
    error = ConfigError("choose", lambda: 0, "must be a number")
    again = pickle.loads(pickle.dumps(error))
    assert again.field == "choose"
    assert again.allowed == "must be a number"
    assert "lambda" in again.value


def test_users_frames_stay_and_all_frames_are_available(monkeypatch):
    with pytest.raises(ConfigError) as caught:
        study(NET, lambda: rdmacc.incast(["h1"], "h0", "8k"), progress=False)
    shown = [frame.name for frame in traceback.extract_tb(errors.shortened(caught.value.__traceback__))]
    assert shown[-1] == "<lambda>"
    assert not {"simulate", "study_runs"} & set(shown)
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 5
    assert len("".join(caught.value._render_traceback_()).splitlines()) <= 12
    monkeypatch.setenv("RDMACC_TRACEBACK", "full")
    assert errors.shortened(caught.value.__traceback__) is caught.value.__traceback__


@pytest.mark.parametrize(
    ("workload", "lines", "last"),
    [
        ("rdmacc.incast(['h9'], 'h0', '8kB')", 4, "rdmacc.errors.ConfigError: src = 'h9'"),
        ("rdmacc.workload.schedule.Recipe(stop)", 6, "KeyboardInterrupt"),
    ],
)
def test_a_printed_traceback_ends_at_the_users_line(tmp_path, workload, lines, last):
    script = tmp_path / "mine.py"
    stop = "def stop():\n    raise KeyboardInterrupt\n\n\n"
    script.write_text(f"import rdmacc\n\n{stop}rdmacc.simulate(rdmacc.star(3), {workload}, 'dcqcn')\n")
    process = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    printed = [line for line in process.stderr.splitlines() if line.strip(" ^~")]  # each Python underlines differently
    assert len(printed) == lines
    assert "mine.py" in printed[1]
    assert printed[-1].startswith(last)
