"""A cluster of GPU nodes, and how long a collective or a training step takes on it.

GPU i of node k is host ``h{k * gpus + i}``, with its own NIC. Each channel of a ring or a tree leaves a node through
a different NIC, and enters the next node through the NIC of the same number.

============  =================================================================================================
rail          NIC i of each node is on a leaf of rail i: one leaf per rail for up to 32 nodes
leaf-spine    all NICs of a node are on one leaf: four nodes of eight on each
fat-tree      as leaf-spine, with three tiers
a graph       your own network: its hosts, in order, are the GPUs
============  =================================================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from rdmacc.clusters.answer import Answer
from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.interface.described import describes
from rdmacc.interface.parameters import check, check_unit, fields_of
from rdmacc.schemes import Scheme
from rdmacc.schemes import scheme as named_scheme
from rdmacc.show.late_bar import LateBar
from rdmacc.simulation import simulate
from rdmacc.sweep.processes import shared_out
from rdmacc.sweep.workers import default_jobs
from rdmacc.topology import Graph, clos, completed, leaf_spine
from rdmacc.topology import hosts as hosts_of
from rdmacc.topology.bounds import MOST_NODES, checked_count, checked_delay, checked_rate
from rdmacc.topology.builders import built
from rdmacc.units import Quantity, format_rate, size_bytes
from rdmacc.workload import TrainingStep, jobs, nccl
from rdmacc.workload.frame import checked_whole
from rdmacc.workload.nccl import Nccl
from rdmacc.workload.nccl_tuning import Printed, printed, tuned
from rdmacc.workload.schedule import Recipe

__all__ = ["Cluster", "cluster"]

_RATE, _OVERSUBSCRIPTION, _PORTS_PER_LEAF, _DELAY = "400Gbps", 1, 32, "500ns"
"""Defaults, which a network of the user's own replaces."""
_LEFT_OUT = "left out with a network, which has its own"
FABRICS = ("rail", "leaf-spine", "fat-tree")
_TORS_PER_POD = 4
_OPERATIONS = [name.replace("-", "_") for name in nccl.OPERATIONS]


@typed
def cluster(
    nodes: int = 8,
    gpus: int = 8,
    rate: Quantity = _RATE,
    fabric: str | Graph = "rail",
    oversubscription: float = _OVERSUBSCRIPTION,
    inner: Quantity = "3200Gbps",
    *,
    ports_per_leaf: int = _PORTS_PER_LEAF,
    delay: Quantity = _DELAY,
) -> Cluster:
    """Return a cluster of GPU nodes, with a NIC per GPU, on a network.

    Parameters
    ----------
    nodes, gpus : int
        Nodes, and GPUs per node.
    rate : number or str
        Rate of a NIC and of each link between switches; with a network, its own.
    fabric : str or Graph
        "rail", "leaf-spine", "fat-tree", or a network whose first hosts are the GPUs.
    oversubscription : float
        NICs per uplink of a leaf.
    inner : number or str
        Rate of a GPU's port to the inner network of its node, each way; NVLink 4 is nominally ``"450GBps"``.
    ports_per_leaf : int
        Most NICs on a leaf.
    delay : number or str
        Delay of each link.

    Raises
    ------
    ConfigError
        For a fabric that does not exist, NICs that do not fill leaves, or too few hosts in a network.

    Examples
    --------
    >>> import rdmacc
    >>> small = rdmacc.cluster(nodes=4, gpus=2)
    >>> small
    Cluster(8 GPUs: 4 nodes of 2, 400 Gb/s each, rail, 1:1)
    >>> print(small.ask("all_reduce", "4MB", ["nscc"], seeds=1).frame["busbw_gbytes"].round(0).tolist())
    [91.0]
    """
    count = checked_count("nodes", nodes) * checked_count("gpus", gpus)
    if count < 2:
        raise ConfigError("gpus", gpus, "at least 2 in all nodes")
    speed, lag = checked_rate("rate", rate), checked_delay(delay)
    ports = checked_count("ports_per_leaf", ports_per_leaf)
    if isinstance(fabric, str):
        down = min(ports, nodes if fabric == "rail" else count)
        network = _network(fabric, int(nodes), int(gpus), speed, lag, down, oversubscription)
        shown = f"{fabric}, {oversubscription:g}:1"
    else:
        network, shown = fabric, "a network of its own"
        given = {"oversubscription": oversubscription, "ports_per_leaf": ports, "delay": lag}
        for field, default in zip(given, (_OVERSUBSCRIPTION, _PORTS_PER_LEAF, checked_delay(_DELAY)), strict=True):
            if given[field] != default:
                raise ConfigError(field, given[field], _LEFT_OUT)
        if (hosts := len(hosts_of(network))) < count:
            raise ConfigError("fabric", f"{hosts} hosts", f"a network of at least {count}, one for each GPU")
        links = completed(network)
        fastest = max(one["rate_bps"] for host in hosts_of(links)[:count] for one in links[host].values())
        if speed not in (checked_rate("rate", _RATE), fastest):
            raise ConfigError("rate", rate, _LEFT_OUT)
        speed = fastest
    if isinstance(inner, str) and (match := re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*GB(?:ps|/s)\s*", inner)):
        inner = f"{8 * float(match[1])}Gbps"
    inner_field = next(one for one in fields_of(Nccl) if one.name == "inner_rate_bps")
    check_unit("inner", inner, "bps")
    inner_bps = check("inner", inner, inner_field.default, inner_field.metadata)
    text = f"{count} GPUs: {nodes} nodes of {gpus}, {format_rate(speed)} each, {shown}"
    return Cluster(network, int(nodes), Nccl(hosts_per_node=int(gpus), inner_rate_bps=inner_bps), speed, text)


def _network(fabric: str, nodes: int, gpus: int, rate: float, delay: int, down: int, over: float) -> Graph:
    """Return the network of a cluster, with `down` NICs on each leaf."""
    if fabric not in FABRICS:
        raise unknown("fabric", fabric, FABRICS, "a network, or the name of one")
    up = down / over if over > 0 else 0.0
    if not 1 <= up <= MOST_NODES or up != round(up):
        raise ConfigError("oversubscription", over, f"a divisor of the {down} NICs of a leaf")
    total = nodes if fabric == "rail" else nodes * gpus
    if total % down:
        what = "nodes" if fabric == "rail" else "GPUs"
        raise ConfigError("ports_per_leaf", down, f"a divisor of the {total} {what}, so that every leaf is full")
    leaves, higher = total // down, round(up)
    if fabric == "leaf-spine":
        return leaf_spine(leaves, higher, down, rate=rate, delay=f"{delay}ps")
    if fabric == "fat-tree":
        tors = math.gcd(leaves, _TORS_PER_POD)
        return clos(leaves // tors, tors, down, higher, higher * tors, rate=rate, delay=f"{delay}ps")
    rails = [f"g{group}rail{rail}" for group in range(leaves) for rail in range(gpus)]
    spines = [f"spine{number}" for number in range(higher)]

    def above(host: int) -> list[str]:
        return [rails[host // gpus // down * gpus + host % gpus]]

    links, name = product(rails, spines), f"rails({nodes}, {gpus})"
    return built(name, nodes * gpus, [rails, spines], above, links, rate, f"{delay}ps", None)


def _of_nccl(operation: str) -> str:
    """Return what NCCL's schedules call an operation."""
    if operation not in _OPERATIONS:
        raise unknown("operation", operation, _OPERATIONS)
    return operation.replace("_", "-")


_described = describes(
    operation='str: "all_reduce", "reduce_scatter", "all_gather", "all_to_all" or "broadcast".',
    size="number or str: Data of a GPU.",
    changes="object: Parameters of `Nccl`, in place of those that NCCL would choose.",
)


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """GPU nodes on a network; made by `rdmacc.cluster`.

    Attributes
    ----------
    network : networkx.Graph
        The network.
    nodes : int
        Number of nodes.
    settings : Nccl
        GPUs per node, and their inner network; algorithm and protocol are chosen for each collective.
    rate_bps : float
        Rate of a NIC.
    text : str
        One-line description.
    """

    network: Graph
    nodes: int
    settings: Nccl
    rate_bps: float
    text: str

    def __repr__(self) -> str:
        return f"Cluster({self.text})"

    @property
    def gpus(self) -> int:
        """GPUs per node."""
        return self.settings.hosts_per_node

    @property
    def hosts(self) -> list[Any]:
        """All GPUs, node by node."""
        return list(hosts_of(self.network))[: self.nodes * self.gpus]

    @typed
    def nics(self, node: int) -> list[tuple[Any, Any]]:
        """Return the links of a node's NICs: host and switch, for `LinkDown` and `probes`.

        Parameters
        ----------
        node : int
            The node, from 0.
        """
        if not 0 <= node < self.nodes:
            raise ConfigError("node", node, f"from 0 to {self.nodes - 1}")
        names = self.hosts[node * self.gpus : (node + 1) * self.gpus]
        return [(name, switch) for name in names for switch in self.network[name]]

    @typed
    @_described
    def choose(self, operation: str, size: Quantity) -> Nccl:
        """Return how NCCL would run a collective, by its own cost model (`rdmacc.workload.nccl_tuning`).

        Raises
        ------
        ConfigError
            For an unknown operation.
        """
        name, total = _of_nccl(operation), size_bytes(size, field="size")
        return tuned(name, total, self.nodes, self.settings, self.rate_bps)

    @_described
    def collective(self, operation: str, size: Quantity, **changes: Any) -> pd.DataFrame:
        """Return a collective among all GPUs, as NCCL would run it.

        Raises
        ------
        ConfigError
            For an unknown operation, or a parameter that is not allowed.
        """
        return self.schedule(operation, size, **changes).frame()

    def schedule(self, operation: str, size: Quantity, **changes: Any) -> Recipe:
        """Return what `collective` returns, as a schedule without a frame, which halves the memory of `simulate`."""
        settings = self.choose(operation, size).replace(**changes)
        return Recipe(partial(nccl.alone, _of_nccl(operation), self.hosts, size, settings))

    @_described
    def all_reduce(self, size: Quantity, **changes: Any) -> pd.DataFrame:
        """Return an all-reduce among all GPUs, as NCCL would run it."""
        return self.collective("all_reduce", size, **changes)

    @_described
    def all_to_all(self, size: Quantity, **changes: Any) -> pd.DataFrame:
        """Return an all-to-all among all GPUs; with ``pxn=True``, through the GPU on the destination's rail."""
        return self.collective("all_to_all", size, **changes)

    @typed
    def step(self, step: TrainingStep) -> pd.DataFrame:
        """Return a training step on the first GPUs.

        Parameters
        ----------
        step : TrainingStep
            The step. Its collectives run as NCCL would run an all-reduce of its first bucket.
        """
        size = next(iter(step.bucket_sizes(0)), 0) * step.gradient_bytes / step.scale
        how = self.choose("all_reduce", max(round(size), 1))
        return step.replace(nccl=how.replace(chunk_bytes=None, slices=1)).workload(self.hosts)

    @typed
    def jobs(
        self, parts: Mapping[str, pd.DataFrame] | Sequence[pd.DataFrame], placement: str = "packed", *, seed: int = 0
    ) -> pd.DataFrame:
        """Return several jobs, each on its own nodes.

        Parameters
        ----------
        parts : mapping or sequence
            Workloads by job name.
        placement : str
            "packed", "random" or "round-robin".
        seed : int
            Seed of random placement.
        """
        given = parts if isinstance(parts, Mapping) else {f"job {i}": part for i, part in enumerate(parts)}
        return jobs(self.hosts, given, placement, hosts_per_node=self.gpus, seed=seed)

    @typed
    def scheme(self, scheme: str | Scheme) -> Scheme:
        """Return a scheme; one given by name gets RoCE's packets of 4,096 bytes.

        Parameters
        ----------
        scheme : str or Scheme
            The scheme.
        """
        return named_scheme(scheme, payload_bytes=4096) if isinstance(scheme, str) else scheme

    @typed
    @_described
    def ask(
        self,
        operation: str,
        size: Quantity,
        schemes: Sequence[str | Scheme] = ("dcqcn", "nscc"),
        *,
        seeds: int = 3,
        estimate: bool = True,
        jobs: int | None = None,
        progress: bool = True,
        **changes: Any,
    ) -> Answer:
        """Simulate a collective under schemes, and say how far to trust the answer.

        Parameters
        ----------
        schemes : sequence of str or Scheme
            Congestion control. If a scheme's queue pairs carry only one message, as NDP's do, each message gets its own
            in place of NCCL's.
        seeds : int
            Number of draws of ECMP's paths, by seeds 0, 1, ...; the interval runs from the fastest to the slowest.
        estimate : bool
            Also compute max-min fair sharing, and its error in each draw.
        jobs : int, optional
            Processes that share the draws; each needs the memory of a run. Default: one per processor on Linux, if the
            first draw takes a second.
        progress : bool
            Show a progress bar, once a second has passed.

        Returns
        -------
        Answer
            Print it.

        Raises
        ------
        ConfigError
            For an unknown operation or scheme, or no seed.
        """
        from rdmacc.models.max_min import fair_times  # imported late, because models import simulations

        work, kinds = self.schedule(operation, size, **changes), [self.scheme(one) for one in schemes]
        draws = checked_count("seeds", seeds)
        if not kinds:
            raise ConfigError("schemes", schemes, "at least one")
        if any(one.one_message for one in kinds):
            apart = self.collective(operation, size, **changes).drop(columns="queue_pair", errors="ignore")

        def drawn(part: tuple[Scheme, int]) -> tuple[float, ...]:
            given = apart if part[0].one_message else work
            run = simulate(self.network, given, part[0], seed=part[1], progress=False)
            plan, one = run.plan, run.collectives.iloc[0]
            del run  # otherwise its memory would add to that of max-min sharing
            guess_ps = float(np.add(*fair_times(plan)).max()) if estimate else math.nan
            return one["time_ps"], one["algbw_bps"] / 8e9, one["busbw_bps"] / 8e9, guess_ps

        parts, delay_s = [(scheme, seed) for scheme in kinds for seed in range(draws)], 1.0 if progress else math.inf
        with closing(LateBar(len(parts), delay_s, desc="ask", unit="run", leave=False)) as bar:
            found = []
            for one in shared_out(drawn, parts, default_jobs() if jobs is None else checked_whole("jobs", jobs, 1)):
                found.append(one)
                bar.update(1)
        time_ps, algbw, busbw, guess_ps = np.reshape(found, (-1, draws, 4)).transpose(2, 0, 1)
        errors = guess_ps / time_ps - 1
        frame = pd.DataFrame({
            "scheme": [one.name for one in kinds],
            "time_ps": time_ps.mean(1), "fastest_ps": time_ps.min(1), "slowest_ps": time_ps.max(1),
            "algbw_gbytes": algbw.mean(1), "busbw_gbytes": busbw.mean(1), "max_min_ps": guess_ps.mean(1),
            "max_min_error": errors.mean(1), "least_error": errors.min(1), "most_error": errors.max(1),
        })  # fmt: skip
        how = self.choose(operation, size).replace(**changes)
        return Answer(self, operation, size_bytes(size, field="size"), how, seeds, frame)

    @typed
    @_described
    def nearest(self, operation: str) -> Printed | None:
        """Return the most similar machine with a published busbw; None if there is none."""

        def far(one: Printed) -> float:
            here, there = (self.nodes, self.gpus, self.rate_bps), (one.nodes, one.settings.hosts_per_node, one.rate_bps)
            return sum(abs(math.log(a / b)) for a, b in zip(here, there, strict=True))

        name = _of_nccl(operation)
        known = [one for one in printed() if one.operation == name and "expected" not in one.machine]
        return min(known, key=far, default=None)
