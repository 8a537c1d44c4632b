"""Collectives as NCCL does them: rings and double binary trees over channels, cut in chunks and slices.

===================  =============================================================================================
all-reduce           ring, or a pair of binary trees, each with half of the data
reduce-scatter,      ring
all-gather
all-to-all           pairwise, in NCCL's order of peers
broadcast            a chain of the ranks
===================  =============================================================================================

The hosts are the ranks, in their order. With `node` > 1 consecutive hosts are the GPUs of a node, each with its own
NIC, and an inner network of constant rate joins them: what goes between two of them is computation on the one that
sends, for as long as its port is busy. Not modelled: the buffer's eight steps (but in trees, where they decide),
protocols LL and LL128, the receiver's "clear to send", overheads of the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.parameters import OptionalSize, Parameters, Rate, Time, param
from rdmacc.typed import typed
from rdmacc.units import Quantity, size_bytes, time_ps
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import Host, as_objects, checked_hosts
from rdmacc.workload.nccl_schedules import chain, exchange, hierarchy, pieces_of, rings, transfers, trees
from rdmacc.workload.schedule import Schedule

__all__ = [
    "OPERATIONS",
    "Nccl",
    "Ready",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "expand",
    "reduce_scatter",
    "send_receive",
]

OPERATIONS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast")

Ready: TypeAlias = list[list[int]]
"""For each rank, the rows that it waits for; or those that complete a collective there."""


@dataclass(frozen=True, kw_only=True)
class Nccl(Parameters):
    """How collectives run.

    >>> Nccl(channels=2, chunk_bytes="2MiB", slices=2).chunk_bytes
    2097152
    """

    algorithm: Literal["ring", "tree", "hierarchical"] = param(
        "ring", "of an all-reduce: tree is the double binary tree, hierarchical goes in nodes, among them, in nodes",
        choices=("ring", "tree", "hierarchical"),
    )  # fmt: skip
    channels: int = param(1, "rings, or pairs of trees, that share the data", low=1)
    chunk_bytes: OptionalSize = param(
        None, "most that a rank sends in a step of a channel; NCCL's Simple: 2MiB in rings, 512KiB in trees",
        unit="bytes", low=0, source="NVIDIA/nccl 5067397c, src/device",
    )  # fmt: skip
    slices: int = param(1, "parts of a chunk, one behind the other; 2 in NCCL's rings", low=1)
    buffer_steps: int = param(
        8, "chunks that a rank of a tree is ahead of what the next one has passed on, at most; 0 for any number", low=0,
        source="NCCL_STEPS",
    )  # fmt: skip
    queue_pairs: int = param(
        1, "of a connection, each with a path of its own", low=1, source="NCCL_IB_QPS_PER_CONNECTION"
    )
    splits: bool = param(
        False, "each message goes over all of them, not over the next", source="NCCL_IB_SPLIT_DATA_ON_QPS"
    )
    node: int = param(1, "GPUs of a node: so many hosts in a row", low=1)
    inner_rate_bps: Rate = param(
        "3200Gbps", "of a GPU's port of the inner network", unit="bps", low=1.0,
        source="astra-sim 518bd51, its validated file of an HGX-H100: 400 GB/s",
    )  # fmt: skip
    inner_delay_ps: Time = param("936.25ns", "of the inner network", unit="ps", low=0, source="the same file")

    def inner_ps(self, size: Int64s | int) -> Int64s:
        """Return how long data occupy a GPU's port of the inner network.

        Parameters
        ----------
        size : int or ndarray of int
            The data, in bytes.
        """
        return np.ceil(np.asarray(size) * 8e12 / self.inner_rate_bps).astype(np.int64)


@typed
def all_reduce(
    hosts: Sequence[Host], size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us"
) -> pd.DataFrame:
    """Return an all-reduce: every host ends with the sum of all hosts' `size` bytes.

    Parameters
    ----------
    hosts : sequence
        The ranks: different hosts, at least two.
    size : number or str
        Data of each host.
    nccl : Nccl, optional
        How; default: one ring.
    start : number or str
        When it begins.

    Examples
    --------
    >>> work = all_reduce(["h0", "h1", "h2", "h3"], "4MB", Nccl(channels=2))
    >>> len(work), int(work["size_bytes"].sum())
    (48, 24000000)
    """
    return _alone("all-reduce", hosts, size, nccl, start)


@typed
def reduce_scatter(
    hosts: Sequence[Host], size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us"
) -> pd.DataFrame:
    """Return a reduce-scatter: of n hosts' `size` bytes, every host ends with the sum of an n-th.

    Parameters
    ----------
    hosts : sequence
        The ranks: different hosts, at least two.
    size : number or str
        Data of each host before.
    nccl : Nccl, optional
        How; default: one ring.
    start : number or str
        When it begins.
    """
    return _alone("reduce-scatter", hosts, size, nccl, start)


@typed
def all_gather(
    hosts: Sequence[Host], size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us"
) -> pd.DataFrame:
    """Return an all-gather: every host has an n-th of `size` bytes, and ends with all.

    Parameters
    ----------
    hosts : sequence
        The ranks: different hosts, at least two.
    size : number or str
        Data of each host afterwards.
    nccl : Nccl, optional
        How; default: one ring.
    start : number or str
        When it begins.
    """
    return _alone("all-gather", hosts, size, nccl, start)


@typed
def all_to_all(
    hosts: Sequence[Host], size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us"
) -> pd.DataFrame:
    """Return an all-to-all: every host sends another n-th of its `size` bytes to every host, its own part to itself.

    Parameters
    ----------
    hosts : sequence
        The ranks: different hosts, at least two.
    size : number or str
        Data of each host.
    nccl : Nccl, optional
        How; each rank has messages to `channels` peers under way at a time, and begins with the next peer when one of
        them is done. Default: one.
    start : number or str
        When it begins.
    """
    return _alone("all-to-all", hosts, size, nccl, start)


@typed
def broadcast(hosts: Sequence[Host], size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us") -> pd.DataFrame:
    """Return a broadcast: the first host's `size` bytes go along the others, chunk after chunk.

    Parameters
    ----------
    hosts : sequence
        The ranks: different hosts, at least two.
    size : number or str
        Data of the first host.
    nccl : Nccl, optional
        How; default: one chain, and the data in one chunk.
    start : number or str
        When it begins.
    """
    return _alone("broadcast", hosts, size, nccl, start)


@typed
def send_receive(
    pairs: Sequence[tuple[Host, Host]], size: Quantity, nccl: Nccl | None = None, start: Quantity = "0us"
) -> pd.DataFrame:
    """Return messages between pairs of hosts in chunks, one behind the other on each connection.

    Parameters
    ----------
    pairs : sequence of (host, host)
        Who sends to whom.
    size : number or str
        To each.
    nccl : Nccl, optional
        How; default: one chunk.
    start : number or str
        When it begins.

    Raises
    ------
    ConfigError
        If there is no pair, or the size is below 1 byte.
    """
    total = _checked_size(size)
    if not len(pairs):
        raise ConfigError("pairs", pairs, "at least one")
    settings, schedule = nccl or Nccl(), Schedule()
    for src, dst in pairs:
        number = schedule.collective("send-receive", 2, total)
        pieces = pieces_of(total, settings)
        ends = np.zeros(len(pieces), np.int64), np.ones(len(pieces), np.int64)
        transfers(schedule, as_objects([src, dst]), *ends, pieces, np.arange(len(pieces)), 0, settings, number)
    return _started(schedule, start)


def _alone(operation: str, hosts: Sequence[Host], size: Quantity, nccl: Nccl | None, start: Quantity) -> pd.DataFrame:
    names = checked_hosts(hosts)
    schedule = Schedule()
    expand(schedule, operation, names, _checked_size(size), [[] for _ in names], nccl or Nccl(), joins=False)
    return _started(schedule, start)


def _checked_size(size: Quantity) -> int:
    total = size_bytes(size, field="size")
    if total < 1:
        raise ConfigError("size", size, "at least 1 byte")
    return total


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
    """Add a collective to a schedule, and find the rows that complete it at each rank.

    Parameters
    ----------
    schedule : Schedule
        What it is added to.
    operation : str
        One of `OPERATIONS`.
    hosts : sequence
        The ranks.
    size : int
        S: bytes of a rank's larger buffer.
    ready : list of list of int
        The rows that each rank waits for.
    nccl : Nccl
        How it runs.
    joins : bool
        Whether something will wait for it: a row without duration then stands for what completes it at a rank.

    Returns
    -------
    list of list of int
        Rows, for each rank.

    Raises
    ------
    ConfigError
        For an operation that there is not, or hosts that do not make whole nodes.
    """
    if operation not in OPERATIONS:
        raise ConfigError("operation", operation, f"one of {', '.join(OPERATIONS)}")
    n = len(hosts)
    if n < 2:
        return ready
    if n % nccl.node:
        raise ConfigError("node", nccl.node, f"a divisor of the {n} ranks")
    names, number = as_objects(hosts), schedule.collective(operation, n, size)
    if operation == "all-reduce" and nccl.algorithm == "tree":
        last = trees(schedule, names, size, ready, nccl, number)
    elif operation == "all-reduce" and nccl.algorithm == "hierarchical":
        last = hierarchy(schedule, names, size, ready, nccl, number)
    elif operation == "broadcast":
        last = chain(schedule, names, size, ready, nccl, number)
    elif operation == "all-to-all":
        last = exchange(schedule, names, size, ready, nccl, number)
    else:
        last = rings(schedule, operation, names, size, ready, nccl, number)
    if not joins:
        return last
    done = schedule.compute(names, np.zeros(n, np.int64), collective=number)
    for rank, rows in enumerate(last):
        schedule.wait(done[rank], rows)
    return [[row] for row in done.tolist()]
