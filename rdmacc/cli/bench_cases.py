"""The scenarios of the benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import networkx as nx
import pandas as pd

from rdmacc import topology, workload
from rdmacc.errors import ConfigError
from rdmacc.units import size_bytes

MESSAGE_BYTES = size_bytes("1MB")
SCHEME = "dcqcn"


FIXED_GOAL_S = 0.6e-3
"""Goal for the fixed cost of a call of `simulate` on a star of five hosts."""


@dataclass(frozen=True)
class BenchCase:
    name: str
    description: str
    network: Callable[[], nx.Graph[Any]]
    work: Callable[[nx.Graph[Any]], pd.DataFrame]
    simpy_scale: float = 1.0  # so that SimPy takes at most about ten seconds
    scheme: str = SCHEME
    goal_hops_per_s: float = field(kw_only=True)
    goal_memory_bytes: float = field(kw_only=True)
    peer: str = field(default="", kw_only=True)  # what another simulator achieved on the same workload

    def part(self, graph: nx.Graph[Any], scale: float) -> pd.DataFrame:
        whole = self.work(graph)
        return whole.iloc[: max(1, round(scale * len(whole)))]


def _incast(graph: nx.Graph[Any]) -> pd.DataFrame:
    receiver, *senders = topology.hosts(graph)
    return workload.incast(senders, receiver, MESSAGE_BYTES)


def _permutation(graph: nx.Graph[Any]) -> pd.DataFrame:
    return workload.permutation(topology.hosts(graph), MESSAGE_BYTES)


def _random_pairs(graph: nx.Graph[Any], size_bytes: int = MESSAGE_BYTES) -> pd.DataFrame:
    names = topology.hosts(graph)
    return workload.random_pairs(names, len(names), size_bytes)


def _dart(graph: nx.Graph[Any]) -> pd.DataFrame:
    return workload.dart_mix(graph, 0.4, duration="2ms").sort_values("start_ps", kind="stable", ignore_index=True)


_NS3 = "HPCC's simulator (ns-3, 9f4be2a9) {} M/s, 23 November 2026"

CASES = {
    case.name: case
    for case in (
        BenchCase(
            "a", "32-to-1 incast, star, 100 Gb/s", lambda: topology.star(33), _incast,
            goal_hops_per_s=21e6, goal_memory_bytes=0.2e9, peer=_NS3.format(0.92),
        ),
        BenchCase(
            "b", "permutation, 128-host fat tree, 100 Gb/s", lambda: topology.fat_tree(8), _permutation,
            goal_hops_per_s=12.5e6, goal_memory_bytes=0.25e9, peer=_NS3.format(0.77),
        ),
        BenchCase(
            "c", "1,024 random flows, 1,024-host Clos, 10 Gb/s", topology.dart_clos, _random_pairs, 0.25,
            goal_hops_per_s=8.6e6, goal_memory_bytes=0.3e9,
        ),
        BenchCase(
            "dart", "Dart's mix at 40% load for 2 ms, 1,024-host Clos", topology.dart_clos, _dart, 0.1, "dart",
            goal_hops_per_s=9e6, goal_memory_bytes=0.4e9,
        ),
        BenchCase(
            "k16", "1,024 random flows, 1,024-host fat tree, 100 Gb/s", lambda: topology.fat_tree(16), _random_pairs,
            0.1, goal_hops_per_s=8.6e6, goal_memory_bytes=0.3e9,
        ),
        BenchCase(
            "k32", "random flows of 100 kB, 8,192-host fat tree", lambda: topology.fat_tree(32),
            partial(_random_pairs, size_bytes=MESSAGE_BYTES // 10), 0.1,
            goal_hops_per_s=2.6e6, goal_memory_bytes=0.6e9,
        ),
        BenchCase(
            "nscc", "permutation, 8,192-host fat tree, NSCC", lambda: topology.fat_tree(32), _permutation, 0.01, "nscc",
            goal_hops_per_s=1.5e6, goal_memory_bytes=0.7e9,
        ),
    )
}  # fmt: skip
"""The cases by name, with goals for one core of a two-core cloud machine: 1.25 times its speed in 2026.

Messages of 1 MB unless stated otherwise; links of 1 us, or 5 us in the Clos."""


def case_of(name: str) -> BenchCase:
    if name not in CASES:
        raise ConfigError("case", name, f"one of {', '.join(CASES)}")
    return CASES[name]
