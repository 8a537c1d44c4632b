"""Random scenarios for property tests: small networks of any shape, workloads, schemes, buffers, losses, probes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import networkx as nx
import numpy as np
import pandas as pd

import rdmacc
from rdmacc.faults import Loss
from rdmacc.probes import Probe
from rdmacc.scheme import SCHEMES, Scheme
from rdmacc.state import CONTROL, DATA_CLASS

RATES = ("10Gbps", "25Gbps", "40Gbps", "43Gbps", "100Gbps", "400Gbps")


@dataclass(frozen=True)
class Scenario:
    """All that `rdmacc.simulate` needs, and the number that it was drawn from."""

    number: int
    topology: nx.Graph
    workload: pd.DataFrame
    scheme: Scheme
    seed: int
    probes: tuple[Probe, ...]
    faults: tuple[Loss, ...]
    until: str | None

    def arguments(self) -> dict[str, object]:
        return {
            "topology": self.topology, "workload": self.workload, "scheme": self.scheme, "seed": self.seed,
            "probes": self.probes, "faults": self.faults,
        }  # fmt: skip


def draw(number: int) -> Scenario:
    """Return the scenario with a number: always the same one."""
    rng = np.random.default_rng([20_201, number])
    topology = _topology(rng)
    hosts = rdmacc.topology.hosts(topology)
    workload = _workload(rng, hosts)
    scheme = _scheme(rng)
    faults = ()
    if rng.random() < 0.3:
        faults = (Loss(data=float(rng.choice([0.0, 0.001, 0.02])), control=float(rng.choice([0.0, 0.001, 0.02]))),)
    lossy = bool(faults) or not isinstance(scheme.buffer, rdmacc.Pfc)
    until = "3ms" if lossy or rng.random() < 0.2 else None
    return Scenario(number, topology, workload, scheme, int(rng.integers(100)), _probes(rng, topology, len(workload)),
                    faults, until)  # fmt: skip


def _topology(rng: np.random.Generator) -> nx.Graph:
    """Draw a connected network of 1 to 5 switches and 2 to 9 hosts, some with two links, at mixed speeds."""
    graph = nx.Graph(name="random")
    n_switches, n_hosts = int(rng.integers(1, 6)), int(rng.integers(2, 10))
    # At least what the ports' reserves and headrooms need, often not much more.
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


def _workload(rng: np.random.Generator, hosts: list[str]) -> pd.DataFrame:
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
                "after": after, "weight": float(rng.choice([1.0, 2.0, 0.5])),
            }
        )  # fmt: skip
    return rdmacc.messages(rows)


def _scheme(rng: np.random.Generator) -> Scheme:
    scheme = SCHEMES[str(rng.choice(sorted(SCHEMES)))]()
    if rng.random() < 0.4:
        alpha, limit = float(rng.choice([0.1, 1.0])), int(rng.choice([0, 5_000, 50_000]))
        scheme = replace(scheme, buffer=rdmacc.DropTail(alpha=alpha, limit_bytes=limit))
    elif rng.random() < 0.5:
        scheme = replace(scheme, buffer=rdmacc.Pfc(alpha=float(rng.choice([0.01, 0.125, 1.0])), reserve_bytes=1000))
    if rng.random() < 0.5:
        kmin = int(rng.choice([0, 2_000, 20_000]))
        red = rdmacc.Red(
            kmin_bytes=kmin, kmax_bytes=kmin + int(rng.choice([0, 20_000])), pmax=float(rng.random()),
            at_dequeue=bool(rng.random() < 0.5), at_nic=bool(rng.random() < 0.5),
        )  # fmt: skip
        scheme = replace(scheme, switch=(red,))
    changes = {
        "payload_bytes": int(rng.choice([256, 1000, 4096])),
        "ack_every_packets": int(rng.choice([1, 1, 4])),
        "timeout_ps": str(rng.choice(["50us", "400us", "1ms"])),
        "nak_interval_ps": str(rng.choice(["0us", "20us", "500us"])),
        "retry_limit": int(rng.choice([2, 7])),
        "ack_priority": int(rng.choice([CONTROL, CONTROL, DATA_CLASS])),
    }
    return scheme.replace(**changes)


def _probes(rng: np.random.Generator, topology: nx.Graph, n_messages: int) -> tuple[Probe, ...]:
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
