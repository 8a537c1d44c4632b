"""The public calls to fuzz, each with valid arguments."""

import io
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any

import networkx as nx
import pandas as pd

import rdmacc
from rdmacc import Scheme, faults, probes, topology, workload
from rdmacc.models import MaxMin
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
    given: dict[str, Any] = {"network": _NET, "workload": _WORK, "scheme": "dcqcn", "engine": "simpy",
                             "until": "20us", "progress": False} | changes  # fmt: skip
    return rdmacc.simulate(**given)


def row(**changes: Any) -> Any:
    """Simulate one message with these values, as a frame's only row."""
    cells = {name: pd.Series([value], dtype=object) for name, value in (_ROW | changes).items()}
    return simulate(workload=pd.DataFrame(cells))


def node(**changes: Any) -> Any:
    """Simulate on a graph whose first link and switch have these attributes."""
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_node("s0", **({"kind": "switch", "buffer_bytes": 1_000_000} | changes.pop("switch", {})))
    for name in ("h0", "h1", "h2"):
        graph.add_node(name, kind="host")
        graph.add_edge(name, "s0", rate_bps=1e10, delay_ps=1_000_000)
    graph.nodes["h0"].update(changes.pop("host", {}))
    graph.edges["h0", "s0"].update(changes)
    return simulate(network=graph)


def csv(**cells: Any) -> Any:
    """Read a workload with these cells from a CSV file."""
    return workload.from_csv(io.StringIO(",".join(cells) + "\n" + ",".join(str(one) for one in cells.values())))


def toml(**changes: Any) -> Any:
    given: dict[str, Any] = {"network": _NET, "workload": _WORK, "scheme": "dcqcn"}
    given |= {name: value for name, value in changes.items() if not callable(value)}  # a call may raise its errors
    with tempfile.TemporaryDirectory() as folder:
        return rdmacc.Scenario.from_toml(rdmacc.Scenario(**given).to_toml(f"{folder}/x.toml"))


def study(**changes: Any) -> Any:
    given: dict[str, Any] = {"network": _NET, "workload": _WORK, "schemes": "dcqcn", "engine": "simpy", "until": "20us",
                             "progress": False} | changes  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        return rdmacc.study(**{"store": folder, **given})


@cache
def _result() -> Any:
    watched = [probes.queue("s0", "h0"), probes.rate(0), probes.utilisation("s0", "h0", "1us")]
    return simulate(probes=watched, until=None)


@cache
def _study() -> Any:
    return study(vary={"g": [0.25, 0.5]}, seeds=2)


def replaced(**changes: Any) -> Any:
    return simulate(scheme=rdmacc.scheme("dcqcn").replace(**changes))


def fault(kind: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that simulates with a fault of this class, or with several."""

    def run(**values: Any) -> Any:
        made = kind(**values)
        return simulate(faults=list(made) if isinstance(made, tuple | list) else [made])

    return run


def probe(kind: Callable[..., Any], **changes: Any) -> Callable[..., Any]:
    """Return a function that simulates with a probe of this kind."""
    return lambda **values: simulate(probes=[kind(**values)], **changes)


_USUAL: dict[str, Any] = {
    "network": _NET, "workload": _WORK, "scheme": "dcqcn", "schemes": "dcqcn", "engine": "simpy", "seed": 0,
    "trace": False, "until": "20us", "probes": [], "faults": [], "check": None, "name": "x", "ax": None, "label": "x",
    "digits": 4, "rate": "10Gbps", "delay": "1us", "buffer": "1MB", "size": "1kB", "sizes": "1kB", "request": "1kB",
    "response": "1kB", "start": "0us", "jitter": "1us", "duration": "1us", "group": 0, "count": 2, "rounds": 1,
    "load": 0.5, "of": "host", "hosts": ["h0", "h1"], "at_ps": "1us", "until_ps": "2us", "convergence_ps": "1us",
    "link": ("h0", "s0"), "flow": 0, "node": "s0", "peer": "h0", "every": "1us", "replace": True,
    "payload_bytes": 1000, "header_bytes": 48, "src": "h0", "dst": "h1", "data_bytes": 1, "ack_bytes": 64,
    "degree": 2,
}  # fmt: skip
"""Usual values of arguments, by name."""


def of(function: Callable[..., Any], names: str = "", /, **own: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return a call with the usual arguments for some names, and others."""
    return function, {name: _USUAL[name] for name in names.split()} | own


_TABLES = "g rai_bps cnp_interval_ps byte_counter_bytes increase_timer_ps Pfc.alpha Pfc.xoff_bytes payload_bytes"
_SCHEMES = "header_bytes tick_ps start_delay_ps routing nic_order data_priority connection name"
_PARTS = "control recovery switch buffer queueing"
_PAIR = "network src dst data_bytes ack_bytes"
_CDF = {"knots": [(1, 0.5), (2, 1.0)], "name": "x", "source": "y"}
_CELLS = {"src": "h1", "dst": "h0", "size": "1kB", "start": "1us", "group": 1, "after": "", "weight": 1}

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "star": of(rdmacc.star, "rate delay buffer", hosts=3),
    "dumbbell": of(rdmacc.dumbbell, "rate delay", left=2, right=2, bottleneck_rate="1Gbps"),
    "leaf_spine": of(rdmacc.leaf_spine, "rate delay", leaves=2, spines=2, hosts_per_leaf=2),
    "fat_tree": of(rdmacc.fat_tree, "rate delay", k=4),
    "clos": of(rdmacc.clos, "rate", pods=2, tors_per_pod=1, hosts_per_tor=2, aggs_per_pod=1, cores=1),
    "ren_leaf_spine": of(
        rdmacc.ren_leaf_spine, "rate delay", hosts_per_leaf=2, leaves=2, spines=1, buffer_per_port="1MB"
    ),
    "describe": of(rdmacc.describe, "network ack_bytes", data_bytes=1048),
    "base_rtt_ps": of(topology.base_rtt_ps, _PAIR),
    "bdp_bytes": of(topology.bdp_bytes, _PAIR),
    "incast": of(rdmacc.incast, "size rounds group", senders=["h1"], receiver="h0", start="1us", jitter="0us", seed=1),
    "permutation": of(workload.permutation, "size", hosts=["h0", "h1", "h2"], seed=1),
    "many_to_many": of(workload.many_to_many, "size", senders=["h0"], receivers=["h1"], seed=1),
    "long_flows": of(workload.long_flows, "size start", pairs=[("h0", "h1")]),
    "messages": of(workload.messages, rows=[("h0", "h1", "1kB")]),
    "poisson": of(
        rdmacc.poisson, "network sizes load of start seed", count=5, senders=["h0"], receivers=["h1"], is_exact=False
    ),
    "incasts": of(rdmacc.incasts, "network degree size count jitter seed", rate=1e6, group=1),
    "dart_mix": of(rdmacc.dart_mix, "network load duration degree", mix="typical"),
    "offered_load": of(rdmacc.offered_load, "workload network of duration"),
    "all_to_all": of(rdmacc.all_to_all, "hosts size group"),
    "random_pairs": of(rdmacc.random_pairs, "hosts count size seed", window="1us"),
    "partition_aggregate": of(
        rdmacc.partition_aggregate, "request response rounds seed", aggregator="h0", workers=["h1"]
    ),
    "request_response": of(rdmacc.request_response, "request response rounds jitter", clients=["h0"], servers=["h1"]),
    "ring_all_reduce": of(rdmacc.ring_all_reduce, "hosts size start group"),
    "tree_all_reduce": of(rdmacc.tree_all_reduce, "hosts size", chunks=1, fan_out=2),
    "combine": of(lambda **values: rdmacc.combine(*values.values()), one=_WORK, other=_WORK),
    "LoadDefinition": of(rdmacc.LoadDefinition, "payload_bytes header_bytes", links="host", counting="wire"),
    "csv": of(csv, **_CELLS),
    "SizeDistribution": of(rdmacc.SizeDistribution, "name", sizes=(1.0, 2.0), probabilities=(0.0, 1.0)),
    "sizes.capped": of(_SIZES.capped, limit="1MB"),
    "sizes.from_cdf": of(rdmacc.SizeDistribution.from_cdf, **_CDF),
    "sizes.uniform": of(rdmacc.SizeDistribution.uniform, "name", low="1kB", high="2kB"),
    "simulate": of(simulate, "network workload scheme seed until probes faults trace engine", check=False),
    "row": of(row, **_ROW),
    "link": of(node, rate_bps=1e10, delay_ps=1_000_000),
    "switch": of(lambda **values: node(switch=values), kind="switch", buffer_bytes=10**6),
    "host": of(lambda **values: node(host=values), kind="host"),
    "dcqcn": of(replaced, **dict.fromkeys(f"{_TABLES} {_SCHEMES} {_PARTS}".split())),
    "Scheme": of(
        Scheme, "name", recovery=GoBackN(), control=(Dcqcn(),), switch=(Red(),), buffer=Pfc(), queueing=Queueing(),
        ack_priority=2, nic_ack_priority=-1,
    ),
    "DropTail": of(lambda **values: simulate(scheme=Scheme(buffer=DropTail(**values))), limit_bytes=0, alpha=1.0),
    "scheme": of(lambda name: simulate(scheme=rdmacc.scheme(name)), name="dcqcn"),
    "preset": of(rdmacc.preset, "rate", name="dart-2020"),
    "scheme_table": of(rdmacc.scheme_table, value="dcqcn"),
    "Loss": of(fault(faults.Loss), data=0.1, control=0.1, links=[("h0", "s0")]),
    "ScriptedLoss": of(fault(faults.ScriptedLoss), message=0, psn=1, nth=1, kind="data"),
    "LinkDown": of(fault(faults.LinkDown), "link at_ps until_ps convergence_ps"),
    "SlowLink": of(fault(faults.SlowLink), "link at_ps until_ps", share=0.5, both_ways=True),
    "PauseStorm": of(fault(faults.PauseStorm), "at_ps until_ps", host="h0"),
    "flapping": of(fault(faults.flapping), "link at_ps convergence_ps", down_ps="1us", up_ps="1us", times=2),
    "Clocks": of(fault(faults.Clocks), offset_ps="1us", jitter_ps="1ns"),
    "queue": of(probe(probes.queue), "node peer every"),
    "rate": of(probe(probes.rate), "flow every"),
    "field": of(probe(probes.field), "every", place="flow", at=0, field="rate_bps"),
    "utilisation": of(probe(probes.utilisation), "node peer every"),
    "window": of(probe(probes.window, scheme="hpcc"), "flow every"),
    "toml": of(toml, "network workload scheme seed until probes faults", check=True),
    "study": of(study, "network workload schemes until probes faults check", vary={"g": [0.5]}, seeds=1, jobs=1),
    "study summary": of(lambda quantity, **more: _study().summary(quantity, **more), quantity="drops", confidence=0.9),
    "samples": of(lambda **values: _result().samples(**values), name="rate 0"),
    "goodput": of(lambda **values: _result().goodput(**values), "flow"),
    "summary": of(lambda **values: str(_result().summary(**values)), window=("0us", "1us")),
    "compare": of(rdmacc.compare, model=MaxMin(network=_NET, workload=_WORK), scenario=None),
}  # fmt: skip
