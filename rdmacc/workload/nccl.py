"""Collectives with NCCL's algorithms: rings and double binary trees over channels, split into chunks and slices.

===================  =============================================================================================
all-reduce           ring, or a pair of binary trees, each with half of the data
reduce-scatter,      ring
all-gather
all-to-all           pairwise, in NCCL's order of peers
broadcast            a chain of the ranks, which pass on each chunk as it arrives
===================  =============================================================================================

The hosts are the ranks, in order. With `node` > 1, consecutive hosts are the GPUs of a node, each with its own NIC and
connected by an inner network of constant rate. A transfer between two of them is modelled as a computation on the
sending GPU, for as long as its port is busy; a ring's path through a node is one computation, on the GPU where it
begins, and a delay. In trees, the GPUs of a node form a chain, whose head is in the tree of the nodes. The protocols LL
and LL128 send flags with the data. Not modelled: device overheads, such as the longer waits of Simple inside a GPU; the
buffer's eight steps, except in trees, where they matter; and the receiver's "clear to send".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.parameters import OptionalSize, Parameters, Rate, Time, param
from rdmacc.show.described import describes
from rdmacc.typed import typed
from rdmacc.units import Quantity, size_bytes, time_ps
from rdmacc.workload.choice import Hosts
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import Host, as_objects, checked_hosts
from rdmacc.workload.nccl_schedules import Collective, Ready, pieces_of
from rdmacc.workload.schedule import Schedule

__all__ = [
    "OPERATIONS", "Nccl", "Ready", "all_gather", "all_reduce", "all_to_all", "broadcast", "expand", "reduce_scatter",
    "send_receive",
]  # fmt: skip

OPERATIONS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast")

_LINES = {"Simple": (1, 1), "LL": (4, 8), "LL128": (120, 128)}
"""Data bytes per line, and bytes per line."""
_STEPS = {"Simple": 524_288, "LL": 32_768, "LL128": 576_000}
"""Data bytes per step, an eighth of the buffer of a connection and channel."""


@dataclass(frozen=True, kw_only=True)
class Nccl(Parameters):
    """How collectives run.

    >>> Nccl(channels=2, chunk_bytes="2MiB", slices=2).chunk_bytes
    2097152
    """

    algorithm: Literal["ring", "tree", "hierarchical"] = param(
        "ring", "for all-reduce; tree: the double binary tree; hierarchical: within nodes, among them, within nodes",
        choices=("ring", "tree", "hierarchical"),
    )  # fmt: skip
    protocol: Literal["Simple", "LL", "LL128"] = param(
        "Simple", "LL: a flag with every 4 bytes of data; LL128: 8 bytes of flags with every 120",
        choices=("Simple", "LL", "LL128"), source="NVIDIA/nccl 5067397c, src/device/primitives.h",
    )  # fmt: skip
    channels: int = param(
        0, "rings or pairs of trees that share the data, or peers at a time; 0: one for each host of a node, each "
        "leaving the node by a different NIC", low=0, high=4096,
    )  # fmt: skip
    chunk_bytes: OptionalSize = param(
        None, "most data that a rank sends per step and channel; None: all of it in rings and all-to-alls, NCCL's step "
        "in chains and trees (Simple: 512KiB, LL: 32KiB, LL128: 576kB); NCCL's rings with Simple: 2MiB",
        unit="bytes", low=0, source="NVIDIA/nccl 5067397c, src/device and calcCollChunking in src/enqueue.cc",
    )  # fmt: skip
    slices: int = param(1, "parts of a chunk, sent in sequence; 2 in NCCL's rings", low=1)
    buffer_steps: int = param(
        8, "chunks that a rank of a tree may send before the next rank has passed them on; 0: any number", low=0,
        source="NCCL_STEPS",
    )  # fmt: skip
    queue_pairs: int = param(
        1, "queue pairs per connection, each with its own path", low=1, high=4096, source="NCCL_IB_QPS_PER_CONNECTION"
    )
    splits: bool = param(
        False, "split each message over all of them, instead of taking turns", source="NCCL_IB_SPLIT_DATA_ON_QPS"
    )
    hosts_per_node: int = param(1, "GPUs per node, which are consecutive hosts", low=1)
    inner_rate_bps: Rate = param(
        "3200Gbps", "rate of a GPU's port to the inner network", low=1.0,
        source="astra-sim 518bd51, its validated file of an HGX-H100: 400 GB/s",
    )  # fmt: skip
    inner_delay_ps: Time = param("936.25ns", "delay of the inner network", low=0, source="the same file")
    pxn: bool = param(
        False, "in an all-to-all, data for another node first go over the inner network to the GPU with the number of "
        "their destination, which sends them for its whole node", source="PXN, NCCL 2.12",
    )  # fmt: skip

    @property
    def rings(self) -> int:
        """Number of channels."""
        return self.channels or self.hosts_per_node

    def sent_bytes(self, size: Int64s | int) -> Int64s:
        """Return the bytes sent for some data, including the protocol's flags.

        Parameters
        ----------
        size : int or ndarray of int
            The data, in bytes.

        Examples
        --------
        >>> [int(Nccl(protocol=name).sent_bytes(4800)) for name in ("Simple", "LL", "LL128")]
        [4800, 9600, 5120]
        """
        data, line = _LINES[self.protocol]
        return -(-np.asarray(size, np.int64) // data) * line

    @property
    def step_bytes(self) -> int:
        """Most data in a chunk of a chain or a tree, where a rank passes on what it receives."""
        return self.chunk_bytes or _STEPS[self.protocol]

    def inner_ps(self, size: Int64s | int) -> Int64s:
        """Return how long data occupy a GPU's port to the inner network.

        Parameters
        ----------
        size : int or ndarray of int
            The data, in bytes.
        """
        return np.ceil(np.asarray(size) * 8e12 / self.inner_rate_bps).astype(np.int64)


_described = describes(
    hosts="network or sequence: The ranks: different hosts, at least two, or the network whose hosts they are.",
    size="number or str: Data of each host: before a reduce-scatter, after an all-gather; of the first of a broadcast.",
    nccl="Nccl, optional: Algorithm and its parameters; default: one ring, for a broadcast a chain of 512 KiB chunks.",
    start="number or str: Start of the collective.",
)


@typed
@_described
def all_reduce(hosts: Hosts, size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us") -> pd.DataFrame:
    """Return an all-reduce: every host ends with the sum of all hosts' `size` bytes.

    Examples
    --------
    >>> work = all_reduce(["h0", "h1", "h2", "h3"], "4MB", Nccl(channels=2))
    >>> len(work), int(work["size_bytes"].sum())
    (48, 24000000)
    """
    return _started(alone("all-reduce", hosts, size, nccl), start)


@typed
@_described
def reduce_scatter(hosts: Hosts, size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us") -> pd.DataFrame:
    """Return a reduce-scatter: every host ends with the sum of one n-th of all n hosts' `size` bytes."""
    return _started(alone("reduce-scatter", hosts, size, nccl), start)


@typed
@_described
def all_gather(hosts: Hosts, size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us") -> pd.DataFrame:
    """Return an all-gather: every host starts with one n-th of `size` bytes and ends with all of them."""
    return _started(alone("all-gather", hosts, size, nccl), start)


@typed
@_described
def all_to_all(hosts: Hosts, size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us") -> pd.DataFrame:
    """Return an all-to-all: every host sends a different n-th of its `size` bytes to each host and keeps its own part.

    Each rank sends to `channels` peers at a time (default: one), and turns to the next peer when one of them is done.
    With `pxn`, peers are nodes.
    """
    return _started(alone("all-to-all", hosts, size, nccl), start)


@typed
@_described
def broadcast(hosts: Hosts, size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us") -> pd.DataFrame:
    """Return a broadcast: the first host's `size` bytes travel along the chain of the others, chunk by chunk."""
    return _started(alone("broadcast", hosts, size, nccl), start)


@typed
def send_receive(
    pairs: Sequence[tuple[Host, Host]], size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us"
) -> pd.DataFrame:
    """Return messages between pairs of hosts, split into chunks that each connection sends in sequence.

    Parameters
    ----------
    pairs : sequence of (host, host)
        Senders and receivers.
    size : number or str
        Data for each pair.
    nccl : Nccl, optional
        Algorithm and its parameters; default: one chunk.
    start : number or str
        Start of the messages.

    Raises
    ------
    ConfigError
        If there is no pair, or the size is below 1 byte.
    """
    total = size_bytes(size, field="size", least=1)
    if not len(pairs):
        raise ConfigError("pairs", pairs, "at least one")
    settings, schedule = nccl or Nccl(), Schedule()
    for src, dst in pairs:
        number, pieces = schedule.collective("send-receive", 2, total), pieces_of(total, settings)
        pair = Collective(schedule, as_objects([src, dst]), total, [[], []], settings, number)
        pair.transfers(np.zeros_like(pieces), np.ones_like(pieces), pieces, np.arange(len(pieces)))
    return _started(schedule, start)


def alone(operation: str, hosts: Hosts, size: Quantity, nccl: Nccl | None) -> Schedule:
    """Return the schedule of one collective."""
    names = checked_hosts(hosts)
    schedule = Schedule()
    total = size_bytes(size, field="size", least=1)
    expand(schedule, operation, names, total, [[] for _ in names], nccl or Nccl(), joins=False)
    return schedule


def _started(schedule: Schedule, start: Quantity) -> pd.DataFrame:
    frame = schedule.frame()
    frame["start_ps"] += time_ps(start, field="start")
    return frame


def expand(
    schedule: Schedule,
    operation: str,
    hosts: Sequence[Host],
    size: int,
    ready: Ready,
    nccl: Nccl,
    joins: bool = True,
) -> Ready:
    """Add a collective to a schedule, whose ranks wait for the rows `ready`; return the rows that complete it at each.

    `size` is a rank's larger buffer in bytes. Set `joins` if other rows will wait for it: a row of zero duration then
    marks its completion at each rank.
    """
    if operation not in OPERATIONS:
        raise ConfigError("operation", operation, f"one of {', '.join(OPERATIONS)}")
    n = len(hosts)
    if n < 2:
        return ready
    if n % nccl.hosts_per_node:
        raise ConfigError("hosts_per_node", nccl.hosts_per_node, f"a divisor of the {n} ranks")
    one = Collective(schedule, as_objects(hosts), size, ready, nccl, schedule.collective(operation, n, size))
    if operation == "all-reduce" and nccl.algorithm == "tree":
        one.trees()
    elif operation == "all-reduce" and nccl.algorithm == "hierarchical":
        one.hierarchy()
    elif operation == "broadcast":
        one.chain()
    elif operation != "all-to-all":
        one.rings(operation)
    elif nccl.pxn and 1 < nccl.hosts_per_node < n:
        one.exchange_by_rail()
    else:
        one.exchange()
    if not joins:
        return one.last
    done = one.compute(0)
    for rank, rows in enumerate(one.last):
        schedule.wait(done[rank], rows)
    return [[row] for row in done.tolist()]
