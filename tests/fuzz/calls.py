"""The public calls that are fuzzed, each with arguments that are right."""

from __future__ import annotations

import dataclasses
import io
import tempfile
import tomllib
from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import pandas as pd
import tomli_w

import rdmacc
from rdmacc import Scheme, faults, probes, topology, units, workload
from rdmacc.explorer.setup import Setup
from rdmacc.models import GoBackNGoodput, HpccSteady, MaxMin, RccLoop, RenQueue, RenRate
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.queueing import Queueing
from rdmacc.switch.red import Red

_NET = rdmacc.star(4)
_WORK = rdmacc.incast(["h1", "h2"], "h0", "3kB")
_SIZES = rdmacc.SizeDistribution.uniform("1kB", "2kB")
_ROW = {"src": "h1", "dst": "h0", "size_bytes": 1000, "start_ps": 0, "group": 1, "after": (), "weight": 1.0}


def simulate(**changes: Any) -> Any:
    """Simulate something small."""
    given: dict[str, Any] = {"network": _NET, "workload": _WORK, "scheme": "dcqcn", "engine": "simpy",
                             "until": "20us", "progress": False} | changes  # fmt: skip
    return rdmacc.simulate(**given)


def row(**changes: Any) -> Any:
    """Simulate one message with such values, as a frame's only row."""
    cells = {name: pd.Series([value], dtype=object) for name, value in (_ROW | changes).items()}
    return simulate(workload=pd.DataFrame(cells))


def node(**changes: Any) -> Any:
    """Simulate on a graph whose first link and switch have such attributes."""
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_node("s0", **({"kind": "switch", "buffer_bytes": 1_000_000} | changes.pop("switch", {})))
    for name in ("h0", "h1", "h2"):
        graph.add_node(name, kind="host")
        graph.add_edge(name, "s0", rate_bps=1e10, delay_ps=1_000_000)
    graph.nodes["h0"].update(changes.pop("host", {}))
    graph.edges["h0", "s0"].update(changes)
    return simulate(network=graph)


def csv(**cells: Any) -> Any:
    """Read a workload of such cells from a CSV file."""
    return workload.from_csv(io.StringIO(",".join(cells) + "\n" + ",".join(str(one) for one in cells.values())))


def csv_text(text: Any) -> Any:
    """Read a workload from such a text."""
    return workload.from_csv(io.StringIO(text if isinstance(text, str) else repr(text)))


def toml(**changes: Any) -> Any:
    """Write a scenario to TOML, and read it back."""
    given: dict[str, Any] = {"network": _NET, "workload": _WORK, "scheme": "dcqcn"}
    given |= {name: value for name, value in changes.items() if not callable(value)}  # a call may raise its own errors
    with tempfile.TemporaryDirectory() as folder:
        return rdmacc.Scenario.from_toml(rdmacc.Scenario(**given).to_toml(f"{folder}/x.toml"))


def toml_text(**changes: Any) -> Any:
    """Read a scenario with such values from TOML, as a person may have changed them."""
    with tempfile.TemporaryDirectory() as folder:
        path = rdmacc.Scenario(network=_NET, workload=_WORK, scheme="dcqcn").to_toml(f"{folder}/x.toml")
        content = tomllib.loads(path.read_text())
        for name, value in changes.items():
            text = f"x = {value}"
            try:
                content[name] = tomllib.loads(text)["x"]
            except tomllib.TOMLDecodeError:
                content[name] = str(value)
        path.write_text(tomli_w.dumps(content))
        return rdmacc.Scenario.from_toml(path).run()


def study(**changes: Any) -> Any:
    """Run a study of something small."""
    given: dict[str, Any] = {"network": _NET, "workload": _WORK, "schemes": "dcqcn", "engine": "simpy", "until": "20us",
                             "progress": False} | changes  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        return rdmacc.study(**{"store": folder, **given})


def ladder(**changes: Any) -> Any:
    """Draw the ladder diagram of something small."""
    try:
        return simulate(trace=True).plot.ladder(**changes)
    finally:
        plt.close("all")


@cache
def _result() -> Any:
    watched = [probes.queue("s0", "h0"), probes.rate(0), probes.utilisation("s0", "h0", "1us")]
    return simulate(probes=watched, until=None)


@cache
def _study() -> Any:
    return study(vary={"g": [0.25, 0.5]}, seeds=2)


def drawn(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that draws, and closes its figures."""

    def draw(**values: Any) -> Any:
        try:
            return function(**values)
        finally:
            plt.close("all")

    return draw


def saved(save: Callable[[], Any]) -> Callable[..., Any]:
    """Return a function that saves something into a folder of its own, wherever that is."""
    return lambda **values: save()(**{"folder": "here", "replace": True} | values)


def replaced(**changes: Any) -> Any:
    """Simulate under a scheme with such parameters."""
    return simulate(scheme=rdmacc.scheme("dcqcn").replace(**changes))


_PAIR = {"network": _NET, "src": "h0", "dst": "h1", "data_bytes": 1, "ack_bytes": 64}

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "star": (rdmacc.star, {"hosts": 3, "rate": "10Gbps", "delay": "1us", "buffer": "1MB"}),
    "dumbbell": (
        rdmacc.dumbbell,
        {"left": 2, "right": 2, "rate": "10Gbps", "bottleneck_rate": "1Gbps", "delay": "1us"},
    ),
    "leaf_spine": (
        rdmacc.leaf_spine,
        {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "rate": "10Gbps", "delay": "1us"},
    ),
    "fat_tree": (rdmacc.fat_tree, {"k": 4, "rate": "10Gbps", "delay": "1us"}),
    "incast": (
        rdmacc.incast,
        {
            "senders": ["h1"],
            "receiver": "h0",
            "size": "1kB",
            "start": "1us",
            "rounds": 1,
            "jitter": "0us",
            "seed": 1,
            "group": 0,
        },
    ),
    "permutation": (workload.permutation, {"hosts": ["h0", "h1", "h2"], "size": "1kB", "seed": 1}),
    "many_to_many": (workload.many_to_many, {"senders": ["h0"], "receivers": ["h1"], "size": "1kB", "seed": 1}),
    "long_flows": (workload.long_flows, {"pairs": [("h0", "h1")], "size": "1kB", "start": "0us"}),
    "messages": (workload.messages, {"rows": [("h0", "h1", "1kB")]}),
    "simulate": (
        simulate,
        {
            "network": _NET,
            "workload": _WORK,
            "scheme": "dcqcn",
            "seed": 0,
            "until": "20us",
            "probes": [],
            "faults": [],
            "trace": False,
            "check": False,
            "engine": "simpy",
        },
    ),
    "row": (row, dict(_ROW)),
    "link": (node, {"rate_bps": 1e10, "delay_ps": 1_000_000}),
    "switch": (lambda **values: node(switch=values), {"kind": "switch", "buffer_bytes": 10**6}),
    "host": (lambda **values: node(host=values), {"kind": "host"}),
    "dcqcn": (
        replaced,
        dict.fromkeys(
            (
                "g",
                "rai_bps",
                "cnp_interval_ps",
                "byte_counter_bytes",
                "increase_timer_ps",
                "Pfc.alpha",
                "Pfc.xoff_bytes",
                "payload_bytes",
                "header_bytes",
                "tick_ps",
                "start_delay_ps",
                "routing",
                "nic_order",
                "data_priority",
                "connection",
                "name",
                "control",
                "recovery",
                "switch",
                "buffer",
                "queueing",
            ),
            None,
        ),
    ),
    "Scheme": (
        Scheme,
        {
            "name": "x",
            "recovery": GoBackN(),
            "control": (Dcqcn(),),
            "switch": (Red(),),
            "buffer": Pfc(),
            "queueing": Queueing(),
            "ack_priority": 2,
            "nic_ack_priority": -1,
        },
    ),
    "DropTail": (lambda **values: simulate(scheme=Scheme(buffer=DropTail(**values))), {"limit_bytes": 0, "alpha": 1.0}),
    "Loss": (
        lambda **values: simulate(faults=[faults.Loss(**values)]),
        {"data": 0.1, "control": 0.1, "links": [("h0", "s0")]},
    ),
    "ScriptedLoss": (
        lambda **values: simulate(faults=[faults.ScriptedLoss(**values)]),
        {"message": 0, "psn": 1, "nth": 1, "kind": "data"},
    ),
    "LinkDown": (
        lambda **values: simulate(faults=[faults.LinkDown(**values)]),
        {"link": ("h0", "s0"), "at_ps": "1us", "until_ps": "2us", "convergence_ps": "1us"},
    ),
    "SlowLink": (
        lambda **values: simulate(faults=[faults.SlowLink(**values)]),
        {"link": ("h0", "s0"), "share": 0.5, "at_ps": "1us", "until_ps": "2us", "both_ways": True},
    ),
    "PauseStorm": (
        lambda **values: simulate(faults=[faults.PauseStorm(**values)]),
        {"host": "h0", "at_ps": "1us", "until_ps": "2us"},
    ),
    "flapping": (
        lambda **values: simulate(faults=list(faults.flapping(**values))),
        {"link": ("h0", "s0"), "at_ps": "1us", "down_ps": "1us", "up_ps": "1us", "times": 2, "convergence_ps": "1us"},
    ),
    "Clocks": (lambda **values: simulate(faults=[faults.Clocks(**values)]), {"offset_ps": "1us", "jitter_ps": "1ns"}),
    "queue": (lambda **values: simulate(probes=[probes.queue(**values)]), {"node": "s0", "peer": "h0", "every": "1us"}),
    "rate": (lambda **values: simulate(probes=[probes.rate(**values)]), {"flow": 0, "every": "1us"}),
    "field": (
        lambda **values: simulate(probes=[probes.field(**values)]),
        {"place": "flow", "at": 0, "field": "rate_bps", "every": "1us"},
    ),
    "scheme": (lambda name: simulate(scheme=rdmacc.scheme(name)), {"name": "dcqcn"}),
    "preset": (rdmacc.preset, {"name": "dart-2020", "rate": "10Gbps"}),
    "clos": (
        rdmacc.clos,
        {"pods": 2, "tors_per_pod": 1, "hosts_per_tor": 2, "aggs_per_pod": 1, "cores": 1, "rate": "10Gbps"},
    ),
    "ren_leaf_spine": (
        rdmacc.ren_leaf_spine,
        {"hosts_per_leaf": 2, "leaves": 2, "spines": 1, "rate": "10Gbps", "delay": "1us", "buffer_per_port": "1MB"},
    ),
    "describe": (rdmacc.describe, {"network": _NET, "data_bytes": 1048, "ack_bytes": 64}),
    "poisson": (
        rdmacc.poisson,
        {
            "network": _NET,
            "sizes": "1kB",
            "load": 0.5,
            "of": "host",
            "count": 5,
            "senders": ["h0"],
            "receivers": ["h1"],
            "is_exact": False,
            "start": "0us",
            "seed": 0,
        },
    ),
    "poisson for a time": (rdmacc.poisson, {"network": _NET, "sizes": "100kB", "load": 0.5, "duration": "1us"}),
    "incasts": (
        rdmacc.incasts,
        {"network": _NET, "degree": 2, "size": "1kB", "rate": 1e6, "count": 2, "jitter": "1us", "seed": 0, "group": 1},
    ),
    "dart_mix": (rdmacc.dart_mix, {"network": _NET, "load": 0.5, "mix": "typical", "duration": "1us", "degree": 2}),
    "offered_load": (rdmacc.offered_load, {"workload": _WORK, "network": _NET, "of": "host", "duration": "1us"}),
    "all_to_all": (rdmacc.all_to_all, {"hosts": ["h0", "h1"], "size": "1kB", "is_shifted": False, "group": 0}),
    "random_pairs": (
        rdmacc.random_pairs,
        {"hosts": ["h0", "h1"], "count": 2, "size": "1kB", "seed": 0, "window": "1us"},
    ),
    "partition_aggregate": (
        rdmacc.partition_aggregate,
        {"aggregator": "h0", "workers": ["h1"], "request": "1kB", "response": "1kB", "rounds": 1, "seed": 0},
    ),
    "request_response": (
        rdmacc.request_response,
        {"clients": ["h0"], "servers": ["h1"], "request": "1kB", "response": "1kB", "rounds": 1, "jitter": "1us"},
    ),
    "ring_all_reduce": (rdmacc.ring_all_reduce, {"hosts": ["h0", "h1"], "size": "1kB", "start": "0us", "group": 0}),
    "tree_all_reduce": (rdmacc.tree_all_reduce, {"hosts": ["h0", "h1"], "size": "1kB", "chunks": 1, "fan_out": 2}),
    "combine": (lambda **values: rdmacc.combine(*values.values()), {"one": _WORK, "other": _WORK}),
    "sequence": (lambda **values: rdmacc.sequence(*values.values()), {"one": _WORK, "other": _WORK}),
    "SizeDistribution": (
        rdmacc.SizeDistribution,
        {"name": "x", "sizes": (1.0, 2.0), "probabilities": (0.0, 1.0)},
    ),
    "LoadDefinition": (
        rdmacc.LoadDefinition,
        {"links": "host", "counting": "wire", "payload_bytes": 1000, "header_bytes": 48},
    ),
    "csv": (csv, {"src": "h1", "dst": "h0", "size": "1kB", "start": "1us", "group": 1, "after": "", "weight": 1}),
    "csv text": (csv_text, {"text": "src,dst,size\nh1,h0,1kB\n"}),
    "toml": (
        toml,
        {
            "network": _NET,
            "workload": _WORK,
            "scheme": "dcqcn",
            "seed": 0,
            "until": "20us",
            "check": True,
            "probes": [],
            "faults": [],
        },
    ),
    "toml text": (
        toml_text,
        {
            "format": 1,
            "engine": "simpy",
            "seed": 0,
            "trace": False,
            "until_ps": 20_000_000,
            "check": False,
            "scheme": None,
            "probes": None,
            "faults": None,
            "network": None,
            "workload": None,
        },
    ),
    "study": (
        study,
        {
            "network": _NET,
            "workload": _WORK,
            "schemes": "dcqcn",
            "vary": {"g": [0.5]},
            "seeds": 1,
            "until": "20us",
            "probes": [],
            "faults": [],
            "check": None,
            "jobs": 1,
        },
    ),
    "register_scheme": (rdmacc.register_scheme, {"name": "dcqcn", "make": rdmacc.scheme("dcqcn").replace}),
    "ladder": (ladder, {"messages": 0, "nodes": ["s0"], "start": "1us", "end": "3us", "squeeze": True}),
    "samples": (lambda **values: _result().samples(**values), {"name": "rate 0"}),
    "goodput": (lambda **values: _result().goodput(**values), {"flow": 0}),
    "summary": (lambda **values: str(_result().summary(**values)), {"window": ("0us", "1us")}),
    "save": (saved(lambda: _result().save), {"folder": "here", "replace": True}),
    "load": (rdmacc.load, {"folder": "here"}),
    "study summary": (
        lambda quantity, **values: _study().summary(quantity, **values),
        {"quantity": "drops", "confidence": 0.9},
    ),
    "study save": (saved(lambda: _study().save), {"folder": "there", "replace": True}),
    "study load": (rdmacc.Study.load, {"folder": "there"}),
    **{
        f"plot.{name}": (
            drawn(lambda name=name, **values: getattr(_result().plot, name)(**values)),
            {"ax": None, "label": "x"},
        )
        for name in ("rates", "queues", "fct_cdf", "slowdown_by_size")
    },
    "plot.probe": (
        drawn(lambda **values: _result().plot.probe(**values)),
        {"name": "rate 0", "ax": None, "label": "x"},
    ),
    "study plot.fct_cdf": (drawn(lambda **values: _study().plot.fct_cdf(**values)), {"ax": None}),
    "study plot.slowdown_by_size": (
        drawn(lambda **values: _study().plot.slowdown_by_size(**values)),
        {"percentile": 99.0, "ax": None},
    ),
    "study plot.versus": (
        drawn(lambda **values: _study().plot.versus(**values)),
        {"parameter": "g", "quantity": "drops", "ax": None, "confidence": 0.9},
    ),
    "draw": (drawn(rdmacc.draw), {"network": _NET, "ax": None}),
    "sizes.plot": (drawn(_SIZES.plot), {"ax": None}),
    "sizes.cdf": (_SIZES.cdf, {"size": 1000.0}),
    "sizes.quantile": (_SIZES.quantile, {"probability": 0.5}),
    "sizes.capped": (_SIZES.capped, {"limit": "1MB"}),
    "sizes.mean_packets": (_SIZES.mean_packets, {"payload_bytes": 1000}),
    "sizes.mean_wire_bytes": (_SIZES.mean_wire_bytes, {"payload_bytes": 1000, "header_bytes": 48}),
    "sizes.from_cdf": (rdmacc.SizeDistribution.from_cdf, {"knots": [(1, 0.5), (2, 1.0)], "name": "x", "source": "y"}),
    "sizes.uniform": (rdmacc.SizeDistribution.uniform, {"low": "1kB", "high": "2kB", "name": "x"}),
    "hosts": (topology.hosts, {"network": _NET}),
    "switches": (topology.switches, {"network": _NET}),
    "base_rtt_ps": (
        topology.base_rtt_ps,
        {"network": _NET, "src": "h0", "dst": "h1", "data_bytes": 1, "ack_bytes": 64},
    ),
    "bdp_bytes": (topology.bdp_bytes, {"network": _NET, "src": "h0", "dst": "h1", "data_bytes": 1, "ack_bytes": 64}),
    "format_time": (units.format_time, {"time": 1, "digits": 4}),
    "format_rate": (units.format_rate, {"rate": 1e9, "digits": 4}),
    "format_size": (units.format_size, {"size": 1000, "digits": 4}),
    "scheme_table": (rdmacc.scheme_table, {"value": "dcqcn"}),
    "Setup": (
        lambda **values: Setup(**values).run(),
        {
            "network": "star",
            "hosts": 5,
            "rate_gbps": 100.0,
            "delay_us": 1.0,
            "work": "incast",
            "size_kb": 8.0,
            "load": 0.5,
            "seed": 0,
            "schemes": ("dcqcn",),
            "changes": {"dcqcn": {"g": 0.5}},
        },
    ),
    "compare": (rdmacc.compare, {"model": MaxMin(network=_NET, workload=_WORK), "scenario": None}),
    "compare_jobs": (
        rdmacc.compare_jobs,
        {"scenario": rdmacc.Scenario(network=_NET, workload=_WORK.assign(job="a"), scheme="dcqcn", engine="simpy")},
    ),
    "to_csv": (workload.to_csv, {"workload": _WORK, "path": "x.csv"}),
    "to_parquet": (workload.to_parquet, {"workload": _WORK, "path": "x.parquet"}),
    **{
        f"{kind.__name__}.plot": (
            drawn(lambda kind=kind, **values: kind(**values).plot()),
            {one.name: None for one in dataclasses.fields(kind)},
        )
        for kind in (RenRate, RenQueue, RccLoop, GoBackNGoodput, HpccSteady)
    },
    "utilisation": (
        lambda **values: simulate(probes=[probes.utilisation(**values)]),
        {"node": "s0", "peer": "h0", "every": "1us"},
    ),
    "window": (lambda **values: simulate(scheme="hpcc", probes=[probes.window(**values)]), {"flow": 0, "every": "1us"}),
    "compiled": (
        lambda **values: simulate(engine="compiled", **values),
        {"network": _NET, "workload": _WORK, "seed": 0, "until": "20us", "probes": [], "faults": [], "trace": False},
    ),
    "compiled row": (
        lambda **values: simulate(
            engine="compiled", workload=pd.DataFrame({name: [one] for name, one in (_ROW | values).items()})
        ),
        dict(_ROW),
    ),
}
