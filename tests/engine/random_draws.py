"""Random draws for scenarios: networks, workloads, schemes, faults, probes."""

from dataclasses import fields, replace
from typing import Any, get_args

import networkx as nx
import numpy as np
import pandas as pd

import rdmacc
from rdmacc.faults import Clocks, Fault, LinkDown, Loss, ScriptedLoss
from rdmacc.interface import CONTROL, CREDITS, DATA_CLASS, NUM_CLASSES, Component
from rdmacc.probes import Probe
from rdmacc.protocols.check_epsn import CheckEpsn
from rdmacc.schemes import SCHEMES, BaseRtt, Scheme
from rdmacc.switch.deflection import FlowDeflection
from rdmacc.switch.fecn import Fecn
from rdmacc.switch.int_stamp import IntStamp
from rdmacc.switch.queueing import ROUTINGS, NicOrder, Queueing
from rdmacc.switch.rcp_stamp import RcpStamp
from rdmacc.switch.ren_marker import Reading, RenMarker
from rdmacc.switch.selective_drop import SelectiveDrop
from rdmacc.switch.trimming import PayloadTrimming
from rdmacc.topology.fabric import Fabric
from tests.engine.random_components import Deflector, Marker, Picker, RttWriter, Talker, Trimmer

FIRST_ROUTINGS = ROUTINGS[:5]
"""Schemes of scenarios before `WIDENED`; the others are drawn from there on."""

RATES = ("10Gbps", "25Gbps", "40Gbps", "43Gbps", "100Gbps", "400Gbps")


def draw_faults(rng: np.random.Generator, topology: nx.Graph, n_messages: int) -> tuple[Fault, ...]:
    faults: list[Fault] = []
    if rng.random() < 0.3:
        faults.append(Loss(data=float(rng.choice([0.0, 0.001, 0.02])), control=float(rng.choice([0.0, 0.001, 0.02]))))
    for _ in range(int(rng.choice([0, 0, 0, 2]))):
        message, psn = int(rng.integers(n_messages)), int(rng.integers(20))
        kind = str(rng.choice(["data", "ack", "nak"]))
        faults.append(ScriptedLoss(message=message, psn=psn, nth=int(rng.integers(1, 3)), kind=kind))
    if rng.random() < 0.15:
        links = list(topology.edges)
        faults.append(LinkDown(link=links[int(rng.integers(len(links)))], at_ps=int(rng.integers(30_000_000))))
    if rng.random() < 0.15:
        faults.append(Clocks(offset_ps="1us", jitter_ps="100ns"))
    return tuple(faults)


def draw_topology(rng: np.random.Generator) -> nx.Graph:
    """Draw a connected network of 1 to 5 switches and 2 to 9 hosts, some with two links, at mixed speeds."""
    graph = nx.Graph(name="random")
    n_switches, n_hosts = int(rng.integers(1, 6)), int(rng.integers(2, 10))
    # At least the ports' reserves and headrooms, often only a little more.
    buffer = int(rng.choice([600_000, 2_000_000, 30_000_000]))
    is_uniform = rng.random() < 0.5
    fixed = str(rng.choice(RATES[:5]))

    def link(one: str, other: str) -> None:
        rate = fixed if is_uniform else str(rng.choice(RATES[:5]))
        delay = f"{rng.choice([1, 10, 500, 1000])}ns"
        if not graph.has_edge(one, other):
            rdmacc.topology.add_link(graph, one, other, rate, delay)

    for i in range(n_switches):
        rdmacc.topology.add_switch(graph, f"s{i}", buffer)
        if i:
            link(f"s{i}", f"s{rng.integers(i)}")
    for _ in range(int(rng.integers(0, 4))):
        a, b = rng.integers(n_switches, size=2)
        if a != b:
            link(f"s{a}", f"s{b}")
    for i in range(n_hosts):
        rdmacc.topology.add_host(graph, f"h{i}")
        link(f"h{i}", f"s{rng.integers(n_switches)}")
        if rng.random() < 0.15:
            link(f"h{i}", f"s{rng.integers(n_switches)}")
    return graph


def draw_workload(rng: np.random.Generator, hosts: list[str]) -> pd.DataFrame:
    count = int(rng.integers(1, 16))
    rows = []
    for i in range(count):
        src, dst = rng.choice(hosts, size=2, replace=False)
        if rng.random() < 0.5:
            dst = hosts[0] if src != hosts[0] else hosts[1]
        after = tuple(int(k) for k in range(i) if rng.random() < 0.1)
        rows.append(
            {
                "src": src, "dst": dst,
                "size_bytes": int(rng.choice([1, 999, 1000, 1001, 8_000, 64_000, 200_000])),
                "start_ps": int(rng.choice([0, 0, 1, 80_000, int(rng.integers(20_000_000))])),
                "group": int(rng.integers(3)) if rng.random() < 0.5 else pd.NA,
                "priority": int(rng.choice([DATA_CLASS, DATA_CLASS, DATA_CLASS + 1, NUM_CLASSES - 1])),
                "after": after, "weight": float(rng.choice([1.0, 2.0, 0.5])),
            }
        )  # fmt: skip
    return rdmacc.messages(rows)


def draw_pattern(rng: np.random.Generator, hosts: list[str]) -> pd.DataFrame:
    """Draw a collective, closed loops or random arrivals in which most messages wait for others."""
    some = hosts[: int(rng.integers(2, len(hosts) + 1))]
    size, seed = int(rng.choice([5_000, 40_000])), int(rng.integers(9))
    patterns = [
        lambda: rdmacc.ring_all_reduce(some, size),
        lambda: rdmacc.tree_all_reduce(some, size, chunks=2),
        lambda: rdmacc.all_to_all(some, size),
        lambda: rdmacc.partition_aggregate(hosts[0], hosts[1:], 500, size, rounds=2, seed=seed),
        lambda: rdmacc.request_response(some, hosts, 500, size, rounds=3, jitter="1us", seed=seed),
        lambda: rdmacc.permutation(hosts, size, seed=seed),
        lambda: rdmacc.incast(hosts[1:], hosts[0], size, rounds=2, period="5us", jitter="1us", seed=seed),
    ]
    return patterns[int(rng.integers(len(patterns)))]()


def draw_scheme(rng: np.random.Generator) -> Scheme:
    scheme = SCHEMES[str(rng.choice(sorted(SCHEMES)))]()
    scheme = scheme.replace(start_delay_ps=min(scheme.start_delay_ps, 3_000_000))  # so that runs are short
    if rng.random() < 0.4:
        alpha, limit = float(rng.choice([0.1, 1.0])), int(rng.choice([0, 5_000, 50_000]))
        scheme = replace(scheme, buffer=rdmacc.DropTail(alpha=alpha, limit_bytes=limit))
    elif rng.random() < 0.5:
        alpha = float(rng.choice([0.002, 0.01, 0.125, 1.0, 0.0]))
        static = {} if alpha else {"xoff_bytes": 5_000, "xon_offset_bytes": 2_000}
        scheme = replace(scheme, buffer=rdmacc.Pfc(alpha=alpha, reserve_bytes=1000, **static))
    if rng.random() < 0.5:
        kmin = int(rng.choice([0, 2_000, 20_000]))
        red = rdmacc.Red(
            kmin_bytes=kmin, kmax_bytes=kmin + int(rng.choice([0, 20_000])), pmax=float(rng.random()),
            at_dequeue=bool(rng.random() < 0.5), at_nic=bool(rng.random() < 0.5),
        )  # fmt: skip
        others = tuple(part for part in scheme.switch if not isinstance(part, rdmacc.Red))
        scheme = replace(scheme, switch=(red, *others))
    if rng.random() < 0.4:
        scheme = scheme.replace(
            routing=str(rng.choice(FIRST_ROUTINGS)), nic_order=str(rng.choice(get_args(NicOrder))),
            start_delay_ps=str(rng.choice(["0us", "3us"])),
        )  # fmt: skip
    if rng.random() < 0.3:
        scheme = replace(scheme, switch=(*scheme.switch, Trimmer(limit_bytes=int(rng.choice([3_000, 20_000])))))
        queueing = Queueing(
            wrr_ratio=int(rng.choice([0, 2, 10])), control_limit_bytes=int(rng.choice([0, 1_000])),
            credit_fraction=float(rng.choice([0.0, 0.05])), trimmed_priority=int(rng.choice([CREDITS, CONTROL])),
        )  # fmt: skip
        scheme = replace(scheme, queueing=queueing)
    elif rng.spawn(1)[0].random() < 0.3:
        first, lanes = (int(rng.spawn(1)[0].choice(values)) for values in ([3, 3, 4], [2, 5, 7]))
        scheme = replace(scheme, queueing=Queueing(lanes=lanes, first_lane=first))
    if rng.random() < 0.3:
        deflector = Deflector(threshold_bytes=int(rng.choice([0, 5_000])))
        if not any(isinstance(part, FlowDeflection) for part in scheme.switch):  # its header has the same field
            scheme = replace(scheme, switch=(*scheme.switch, deflector))
    if rng.random() < 0.3:
        scheme = replace(scheme, control=(*scheme.control, Picker()))
    least_interval = "5us" if isinstance(scheme.recovery, CheckEpsn) else "0us"
    recovery = {
        "ack_every_packets": int(rng.choice([1, 1, 4])),
        "timeout_ps": str(rng.choice(["50us", "400us", "1ms"])),
        "nak_interval_ps": str(rng.choice([least_interval, "20us", "500us"])),
        "nak_per_packet": bool(rng.random() < 0.8),
        "bdp_cap_packets": int(rng.choice([1, 20, 1024])),
        "rto_low_ps": str(rng.choice(["20us", "100us"])),
        "rto_high_ps": str(rng.choice(["50us", "320us"])),
        "few_packets": int(rng.choice([0, 3])),
        "retry_limit": int(rng.choice([2, 7])),
    }
    recovery["min_timeout_ps"] = recovery["timeout_ps"]
    known = {field.name for field in fields(scheme.recovery)}
    changes = {
        "payload_bytes": int(rng.choice([256, 1000, 4096])),
        "ack_priority": int(rng.choice([CONTROL, CONTROL, DATA_CLASS])),
    } | {name: value for name, value in recovery.items() if name in known}
    # A separate stream, so that these draws leave all others unchanged.
    return _with_features(scheme.replace(**changes), rng.spawn(1)[0])


def _with_features(scheme: Scheme, rng: np.random.Generator) -> Scheme:
    """Add some switch features, and components that write the header fields they read."""
    features: list[Component] = [
        PayloadTrimming(limit_packets=int(rng.choice([2, 8])), tail_probability=float(rng.choice([0.0, 0.5, 1.0]))),
        SelectiveDrop(threshold_bytes=int(rng.choice([0, 6_000]))),
        IntStamp(unit_multiple=int(rng.choice([0, 4]))),
        RcpStamp(base_rtt_ps=int(rng.choice([0, 5_000_000])), beta=float(rng.choice([0.226, 0.4]))),
        Fecn(
            buffer_bytes=int(rng.choice([16_000, 64_000])), marking_rate=int(rng.choice([0, 3])),
            marks_victims_at_hosts=bool(rng.random() < 0.5), at_dequeue=bool(rng.random() < 0.5),
        ),
        RenMarker(base_rtt_ps=int(rng.choice([2_000_000, 9_000_001])), reading=str(rng.choice(get_args(Reading)))),
        FlowDeflection(
            threshold_bytes=int(rng.choice([0, 5_000])), tokens=int(rng.choice([1, 4])),
            deflect_last_hop=bool(rng.random() < 0.5), escape_lanes=bool(rng.random() < 0.7),
        ),
    ]  # fmt: skip
    chosen = [feature for feature in features if rng.random() < 0.2]
    chosen = [one for one in chosen if not any(isinstance(part, type(one)) for part in scheme.components)]
    if any(isinstance(part, Deflector) for part in scheme.switch):  # its header has the same field
        chosen = [feature for feature in chosen if not isinstance(feature, FlowDeflection)]
    writers = [Marker()] if any(isinstance(feature, SelectiveDrop) for feature in chosen) else []
    rtts = [RttWriter()] if any(isinstance(feature, RcpStamp) for feature in chosen) else []
    scheme = replace(
        scheme, control=(*scheme.control, *writers, *rtts), switch=(*scheme.switch, *chosen),
        tick_ps=int(rng.choice([0, 0, 1000])), nic_ack_priority=int(rng.choice([-1, CONTROL, DATA_CLASS])),
        connection=str(rng.choice(["auto", "auto", "message", "auto" if scheme.one_message else "pair"])),
        base_rtt=str(rng.choice(get_args(BaseRtt)[:2])),
    )  # fmt: skip
    return _with_requests(scheme, rng.spawn(1)[0])


def _with_requests(scheme: Scheme, rng: np.random.Generator) -> Scheme:
    """Draw senders that send packets other than data, headers returned to them, and padding."""
    if rng.random() < 0.3:
        scheme = replace(scheme, control=(*scheme.control, Talker()))
        scheme = scheme.replace(least_wire_bytes=int(rng.choice([0, 84, 1000])))
        if scheme.queueing.control_limit_bytes:
            scheme = scheme.replace(**{"Queueing.returns_headers": True})
    return scheme


def with_paths(rng: np.random.Generator, graph: nx.Graph, workload: pd.DataFrame) -> pd.DataFrame:
    """Assign paths to some messages: shortest ones, drawn step by step."""
    fabric = Fabric.from_graph(graph)

    def drawn(src: Any, dst: Any) -> str | None:
        if rng.random() < 0.5:
            return None
        ports = fabric.path(fabric.index[src], fabric.index[dst], lambda _, choices: int(rng.choice(choices)))
        return " ".join([src, *(fabric.names[fabric.port_peer[port]] for port in ports)])

    ends = list(zip(workload["src"], workload["dst"], strict=True))
    return workload.assign(path=[drawn(src, dst) for src, dst in ends], ack_path=[drawn(dst, src) for src, dst in ends])


def draw_probes(rng: np.random.Generator, topology: nx.Graph, n_messages: int) -> tuple[Probe, ...]:
    if rng.random() < 0.5:
        return ()
    one, other = list(topology.edges)[int(rng.integers(topology.number_of_edges()))]
    period = None if rng.random() < 0.5 else "1us"
    return (
        rdmacc.probes.queue(one, other, period),
        rdmacc.probes.throughput(other, one, "2us"),
        rdmacc.probes.rate(int(rng.integers(n_messages)), period),
        rdmacc.probes.field("host", "h0", "rx_wire_bytes", "5us"),
        rdmacc.probes.field("flow", 0, "next_psn"),
    )
