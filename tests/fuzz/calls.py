"""The public calls that are fuzzed, each with arguments that are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import pandas as pd

import rdmacc
from rdmacc import Scheme, faults, probes, workload
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.queueing import Queueing
from rdmacc.switch.red import Red

_NET = rdmacc.star(4)
_WORK = rdmacc.incast(["h1", "h2"], "h0", "3kB")
_ROW = {"src": "h1", "dst": "h0", "size_bytes": 1000, "start_ps": 0, "group": 1, "after": (), "weight": 1.0}


def simulate(**changes: Any) -> Any:
    """Simulate something small."""
    given: dict[str, Any] = {"topology": _NET, "workload": _WORK, "scheme": "dcqcn", "engine": "simpy",
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
    return simulate(topology=graph)


def replaced(**changes: Any) -> Any:
    """Simulate under a scheme with such parameters."""
    return simulate(scheme=rdmacc.scheme("dcqcn").replace(**changes))


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
            "topology": _NET,
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
    "LinkDown": (lambda **values: simulate(faults=[faults.LinkDown(**values)]), {"link": ("h0", "s0"), "at_ps": "1us"}),
    "Clocks": (lambda **values: simulate(faults=[faults.Clocks(**values)]), {"offset_ps": "1us", "jitter_ps": "1ns"}),
    "queue": (lambda **values: simulate(probes=[probes.queue(**values)]), {"node": "s0", "peer": "h0", "every": "1us"}),
    "rate": (lambda **values: simulate(probes=[probes.rate(**values)]), {"flow": 0, "every": "1us"}),
    "field": (
        lambda **values: simulate(probes=[probes.field(**values)]),
        {"place": "flow", "at": 0, "field": "rate_bps", "every": "1us"},
    ),
    "scheme": (lambda name: simulate(scheme=rdmacc.scheme(name)), {"name": "dcqcn"}),
}
