"""The algorithm and the protocol that NCCL takes for a size: the fastest ones by its own model.

t = latency + size / bandwidth, from NVIDIA/nccl 5067397c, src/graph/tuning.cc, with its limits for Hopper GPUs and
Intel hosts. Not included: the NIC's latency, which NCCL gets from the driver, and its search over a machine's links,
which sets the rate of a channel; here, that is a share of the NICs or of the inner network.

`printed` has published results of nccl-tests on real machines, from `nccl_tests.csv`.
"""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from rdmacc.workload.nccl import Nccl

PROTOCOLS = ("LL", "LL128", "Simple")
_BASE_US = {"tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4)}
_INSIDE_US = {"tree": (0.6, 1.25, 4.0), "ring": (0.6, 1.9, 3.4)}
"""Latency of a hop over NVLink."""
_OUTSIDE_US = {"tree": (5.0, 8.5, 14.0), "ring": (2.7, 4.0, 14.0)}
_OVERHEAD_US = (1.0, 1.0, 3.0)
"""Least latency of a hop inside a node if there are several nodes."""
_LL_MOST = (141e3, 39e3, 20.4e3)
"""Bytes/us, on one node, on two, on more."""
_CHANNEL_MOST = {"tree": (38.7e3, 41.4e3, 36e3), "tree LL128": (36.7e3, 36.7e3, 29e3), "ring LL128": (36.7e3,) * 3}
_PLATEAU = 1.4
"""Factor on the latency of a Simple ring over several nodes, from 64 bytes a rank and channel on."""
_TREE_SHARES = (
    (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, *(0.6,) * 6, 0.8, *(0.9,) * 4, 1, 1),
    (*(0.9,) * 7, 0.8, 0.7, 0.6, 0.6, *(0.5,) * 4, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9),
)
"""A tree's share of its bandwidth, by protocol and power of two from 64 bytes to 256 MB."""


def predictions(operation: str, size: int, nodes: int, settings: Nccl, rate_bps: float) -> pd.DataFrame:
    """Return `algorithm, protocol, time_us` as NCCL predicts them, the fastest first; empty if it has no choice.

    >>> node = Nccl(hosts_per_node=8)
    >>> [tuple(predictions("all-reduce", size, 8, node, 4e11).iloc[0, :2]) for size in (10**4, 10**9)]
    [('tree', 'LL'), ('ring', 'Simple')]
    """
    n, width = nodes * settings.hosts_per_node, settings.rings
    outer_bps = rate_bps if nodes > 1 else math.inf
    rate, most = width * min(outer_bps, settings.inner_rate_bps / width) / 8e6, min(nodes, 3) - 1  # bytes/us
    at_most = {name: width * values[most] for name, values in _CHANNEL_MOST.items()}
    power = max(size >> 6, 1).bit_length() - 1
    rows = []
    algorithms = {"all-reduce": ("ring", "tree"), "reduce-scatter": ("ring",), "all-gather": ("ring",)}
    for algorithm in algorithms.get(operation, ()):
        for place, protocol in enumerate(PROTOCOLS):
            inside = max(_INSIDE_US[algorithm][place], _OVERHEAD_US[place] if nodes > 1 else 0.0)
            outside = _OUTSIDE_US["tree" if settings.hosts_per_node == 1 else algorithm][place]
            latency = _BASE_US[algorithm][place]
            if algorithm == "ring":
                share = 1.0 if operation == "all-reduce" else 0.5
                latency += share * 2 * ((n - nodes) * inside + (nodes - 1) * outside)
                if protocol == "Simple" and nodes > 1 and operation == "all-reduce" and size // (n * width) >= 64:
                    latency *= _PLATEAU
                busbw = (min(0.5 * rate, _LL_MOST[most]), min(0.92 * rate, at_most["ring LL128"]), rate)[place]
                algbw = busbw * n / (n - 1) / (2 * share)
            else:
                hops = (settings.hosts_per_node - 1) * _INSIDE_US[algorithm][place]
                latency += 2 * (hops + math.floor(math.log2(nodes)) * outside)
                whole = min(0.92 * rate, at_most["tree"])
                part = min(whole * (120 / 128 if nodes > 1 else 7 / 9), at_most["tree LL128"])
                algbw = (min(whole / 3.8, _LL_MOST[most]), part, whole)[place] / 2
                algbw *= _TREE_SHARES[place][power] if power < len(_TREE_SHARES[place]) else 1.0
            rows.append((algorithm, protocol, latency + size / algbw))
    found = pd.DataFrame(rows, columns=["algorithm", "protocol", "time_us"])
    return found.sort_values("time_us", kind="stable", ignore_index=True)


def tuned(operation: str, size: int, nodes: int, settings: Nccl, rate_bps: float, most_rows: int = 1_200_000) -> Nccl:
    """Return settings with the algorithm and the protocol that NCCL would take, and its chunks and slices.

    A ring's chunks have NCCL's two slices, as long as the workload has no more than `most_rows` rows.
    """
    found = predictions(operation, size, nodes, settings, rate_bps)
    if not len(found):
        return settings.replace(algorithm="ring", protocol="Simple")
    algorithm, protocol = found["algorithm"][0], found["protocol"][0]
    if algorithm == "tree":
        return settings.replace(algorithm=algorithm, protocol=protocol)
    n, width = nodes * settings.hosts_per_node, settings.rings
    chunk_bytes = {"Simple": 2**21, "LL": 32_768, "LL128": 576_000}[protocol]
    loops = -(-size // (n * width * chunk_bytes))
    rows = 4 * (n - 1) * nodes * width * loops * (1 if settings.hosts_per_node > 1 else 0.5)
    slices = 2 if protocol == "Simple" and 2 * rows <= most_rows else 1
    if rows > most_rows:
        chunk_bytes = 0
    return settings.replace(algorithm=algorithm, protocol=protocol, chunk_bytes=chunk_bytes, slices=slices)


@dataclass(frozen=True)
class Printed:
    """A published result of nccl-tests: busbw in GB/s, machine and source, and what limits it, if the source says."""

    machine: str
    hosts: int
    rate: str
    operation: str
    size: str
    settings: Nccl
    busbw_gbytes: float
    source: str
    note: str

    @property
    def nodes(self) -> int:
        return self.hosts // self.settings.hosts_per_node

    @property
    def rate_bps(self) -> float:
        """Rate of a GPU's NIC."""
        return 1e9 * float(self.rate.removesuffix("Gbps"))

    @property
    def limit_gbytes(self) -> float:
        """Total rate of a node's NICs."""
        return self.settings.hosts_per_node * self.rate_bps / 8e9


_RINGS = Nccl(hosts_per_node=8, channels=8, chunk_bytes="2MiB", slices=2)
_TREES = Nccl(algorithm="tree", chunk_bytes="512KiB")
_SETTINGS = {"rings": _RINGS, "trees": _TREES, "pairs": Nccl(channels=4)}


@cache
def printed() -> tuple[Printed, ...]:
    """Return all; four NICs of 200 Gb/s for eight GPUs count as eight of 100, and no size or nodes as 1 GiB and two."""
    read = pd.read_csv(Path(__file__).with_name("nccl_tests.csv"))
    return tuple(map(Printed, *read.assign(settings=read["settings"].map(_SETTINGS)).to_dict("list").values()))
