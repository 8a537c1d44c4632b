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

Facts from NCCL's source, 2026-06. Rings: src/device/all_reduce.h, reduce_scatter.h, all_gather.h. Trees:
src/graph/trees.cc. Peers of an all-to-all: src/init.cc. A connection sends its messages in order (`queue_pair`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.interface import OptionalSize, Parameters, Rate, Time, param
from rdmacc.interface.described import describes
from rdmacc.units import Quantity, size_bytes, time_ps
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import MOST_OF_ANYTHING, Host, Hosts, Objects, as_objects, checked_hosts
from rdmacc.workload.schedule import Schedule

__all__ = [
    "OPERATIONS", "Nccl", "Ready", "all_gather", "all_reduce", "all_to_all", "broadcast", "expand", "reduce_scatter",
    "send_receive",
]  # fmt: skip

Ready: TypeAlias = list[list[int]]
"""For each rank, the rows that it waits for, or those that complete a collective there."""

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
        """Return the bytes sent for `size` bytes of data: with the protocol's flags, elementwise.

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
        """Return how long `size` bytes occupy a GPU's port to the inner network, elementwise."""
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


def shares(total: int, count: int) -> Int64s:
    """Return `count` sizes that add up to `total` and differ by at most 1 byte, none below 1."""
    low, more = divmod(total, count)
    return np.maximum(low + (np.arange(count) < more), 1)


def chunks_of(total: int, limit: int, hops: int = 1) -> int:
    """Return the number of chunks of at most `limit` bytes; raise a ConfigError for more messages than memory holds."""
    count = -(-total // limit)
    if count > 1 and count * hops > MOST_OF_ANYTHING:
        allowed = f"at least {-(-total * hops // MOST_OF_ANYTHING)} B: {total} B of data take {hops} hops"
        raise ConfigError("chunk_bytes", limit, allowed)
    return count


def pieces_of(total: int, nccl: Nccl, limit: int = 0, hops: int = 1) -> Int64s:
    """Return the sizes of the chunks that are sent in sequence, each split into slices."""
    chunks = shares(total, chunks_of(total, limit or nccl.chunk_bytes or total, hops * nccl.slices))
    return np.concatenate([shares(int(chunk), min(nccl.slices, int(chunk))) for chunk in chunks])


def ring_orders(n: int, nccl: Nccl) -> list[Int64s]:
    """Return each channel's ring of ranks: it enters node k at GPU (channel - k) and leaves at the previous GPU."""
    g = nccl.hosts_per_node
    node, local = np.divmod(np.arange(n), g)
    return [node * g + (channel - node + local) % g for channel in range(nccl.rings)]


def tree_parents(n: int) -> tuple[list[int], list[int]]:
    """Return the parents of n ranks in NCCL's two trees; -1 for the roots.

    >>> tree_parents(6)
    ([-1, 2, 4, 2, 0, 4], [1, 5, 3, 1, 3, -1])
    """
    one = [-1]
    for rank in range(1, n):
        bit = rank & -rank
        up = (rank - bit) | 2 * bit
        one.append(up if up < n else rank - bit)
    if n % 2 == 0:
        return one, [n - 1 - one[n - 1 - rank] if one[n - 1 - rank] >= 0 else -1 for rank in range(n)]
    return one, [(one[rank - 1] + 1) % n if one[rank - 1] >= 0 else -1 for rank in range(n)]


def tree_of_gpus(n: int, node: int, half: int) -> list[int]:
    """Return the parents of n ranks in one of the trees of all channels; -1 for the root.

    Both trees of channel c connect the nodes by their GPU c, modulo the GPUs per node; the other GPUs of a node follow
    it in a chain. NCCL: connectTrees in src/graph/connect.cc, from memory.

    >>> tree_of_gpus(8, 4, 0), tree_of_gpus(8, 4, 3)
    ([-1, 0, 1, 2, 0, 4, 5, 6], [3, 5, 1, 2, 7, -1, 5, 6])
    """
    above, head = tree_parents(n // node)[half % 2], half // 2 % node
    parents = []
    for rank in range(n):
        at, local = divmod(rank, node)
        if local != head:
            parents.append(at * node + (local - 1) % node)
        else:
            parents.append(above[at] * node + head if above[at] >= 0 else -1)
    return parents


def peer_order(n: int, node: int = 1) -> list[tuple[int, int]]:
    """Return the order of a rank's peers in an all-to-all: the steps between groups, and those inside a group.

    >>> [group for group, _ in peer_order(8)]
    [1, 3, 6, 2, 7, 5, 4]
    """
    size = max(part for part in range(1, min(node, 8) + 1) if node % part == 0)
    groups = n // size
    power = 1 << (groups - 1).bit_length()
    deltas, delta = [], 0
    for step in range(power):
        if delta < groups:
            deltas.append(delta)
        delta = (delta + step + 1) % power
    return [(group, local) for group in deltas for local in range(size) if group or local]


@dataclass
class Transfers:
    """Transfers between ranks of a collective; later ones refer to them by number."""

    of: Collective
    rows: Int64s
    """Rows that complete each transfer, one, or one per queue pair; shape M x Q."""
    delay_ps: Int64s
    """Delay until the receiver knows; shape M."""

    def after(self, waiting: Int64s, wanted: Int64s) -> None:
        """Make transfers wait for others."""
        rows, needs, delay_ps = self.rows[waiting.ravel()], self.rows[wanted.ravel()], self.delay_ps[wanted.ravel()]
        self.of.schedule.wait(rows[:, :, np.newaxis], needs[:, np.newaxis, :], delay_ps[:, np.newaxis, np.newaxis])

    def arrive(self, places: Int64s, rank: int) -> None:
        """Complete the collective at a rank by transfers: inside a node, by a row after the inner delay."""
        is_inner, schedule = self.delay_ps[places] > 0, self.of.schedule
        self.of.last[rank] += self.rows[places[~is_inner]].ravel().tolist()
        if is_inner.any():
            come = schedule.compute(self.of.names[rank], 0, collective=self.of.number)
            schedule.wait(come[0], self.rows[places[is_inner], 0], self.delay_ps[places[is_inner]])
            self.of.last[rank] += come.tolist()


@dataclass
class Collective:
    """A collective whose rows are added to a schedule; each rank begins after its rows in `ready`."""

    schedule: Schedule
    names: Objects
    size: int
    ready: Ready
    nccl: Nccl
    number: int
    last: Ready = field(init=False)
    """The rows that complete it at each rank."""

    def __post_init__(self) -> None:
        self.n, self.last = len(self.names), [[] for _ in self.names]

    def begin(self, rows: Int64s, *ranks: int) -> None:
        """Make rows wait until ranks are ready."""
        for rank in ranks:
            if self.ready[rank]:
                self.schedule.wait(np.ravel(rows)[:, np.newaxis], np.asarray(self.ready[rank])[np.newaxis, :])

    def compute(self, duration_ps: int) -> Int64s:
        return self.schedule.compute(self.names, np.full(self.n, duration_ps), collective=self.number)

    def transfers(self, src: Int64s, dst: Int64s, sizes: Int64s, order: Int64s, channel: int = 0) -> Transfers:
        """Add transfers: messages on a connection's queue pairs or, inside a node, computations."""
        nccl, schedule, names = self.nccl, self.schedule, self.names
        is_inner = src // nccl.hosts_per_node == dst // nccl.hosts_per_node
        width = nccl.queue_pairs if nccl.splits else 1
        rows = np.empty((len(src), width), np.int64)
        sizes = nccl.sent_bytes(sizes)
        outer, inner = np.flatnonzero(~is_inner), np.flatnonzero(is_inner)
        first = channel * nccl.queue_pairs
        for pair in range(width):
            part = -(-sizes[outer] // width)
            part = np.maximum(np.minimum(part, sizes[outer] - pair * part), 1)
            queue_pair = first + (pair if width > 1 else order[outer] % nccl.queue_pairs)
            rows[outer, pair] = schedule.send(names[src[outer]], names[dst[outer]], part, 0, self.number, queue_pair)
        if len(inner):
            busy_ps = nccl.inner_ps(sizes[inner] * nccl.rings)
            rows[inner] = schedule.compute(names[src[inner]], busy_ps, collective=self.number)[:, np.newaxis]
            by_port = inner[np.argsort(src[inner], kind="stable")]
            follows = np.flatnonzero(src[by_port][1:] == src[by_port][:-1])
            schedule.wait(rows[by_port[follows + 1], 0], rows[by_port[follows], 0])
        return Transfers(self, rows, np.where(is_inner, nccl.inner_delay_ps, 0))

    def rings(self, operation: str) -> None:
        """Add an all-reduce, a reduce-scatter or an all-gather on rings.

        A chunk's way through a node is one computation, on the GPU where it enters or starts: this GPU's port is busy
        for one transfer, and the chunk leaves the node after equally long transfers of the other GPUs.
        """
        n, nccl, g = self.n, self.nccl, self.nccl.hosts_per_node
        steps = (2 if operation == "all-reduce" else 1) * (n - 1)
        back = 0 if operation == "all-gather" else 1
        limit = n * nccl.chunk_bytes or self.size
        place = np.arange(n)
        inside = g - 1 - place % g if n > g else np.ones(n, np.int64)  # transfers until a chunk leaves the node
        for channel, (ring, total) in enumerate(zip(ring_orders(n, nccl), shares(self.size, nccl.rings), strict=True)):
            loops = chunks_of(int(total), limit, steps * n * nccl.slices)
            chunks = np.stack([shares(int(part), n) for part in shares(int(total), loops)])
            slices = min(nccl.slices, int(chunks.min()))
            parts = np.maximum(-(-(chunks[:, :, np.newaxis] - np.arange(slices)) // slices), 1)
            turn = np.arange(loops * steps)[:, np.newaxis]
            done = np.minimum(turn % steps, place % g if n > g else 0)  # of these transfers, inside == 0 is a message
            done = np.where(inside > 0, done, 0)
            turns, places = np.nonzero(done == 0)
            turns, places = np.repeat(turns, slices), np.repeat(places, slices)
            part = np.resize(np.arange(slices), len(turns))
            sizes = parts[turns // steps, (places - back - turns) % n, part]
            made = self.transfers(ring[places], ring[(places + 1) % n], sizes, turns * slices + part, channel)
            more = np.maximum(np.minimum(inside[places], steps - turns % steps) - 1, 0)
            made.delay_ps += more * (nccl.inner_delay_ps + nccl.inner_ps(nccl.sent_bytes(sizes) * nccl.rings))
            begun = np.cumsum(done == 0).reshape(done.shape) - 1
            at = begun[turn - done, place - done][:, :, np.newaxis] * slices + np.arange(slices)
            again = np.nonzero(done[1:] == 0)
            made.after(at[1:][again], np.roll(at[:-1], 1, axis=1)[again])
            for spot in range(n):
                ranks = ring[(spot + np.arange(max(min(inside[spot], steps), 1) + 1)) % n].tolist()
                self.begin(made.rows[at[0, spot]], *ranks)
                made.arrive(at[-1, spot], ranks[1])

    def trees(self) -> None:
        """Add an all-reduce by double binary trees, over nodes; a node's GPUs form a chain that ends in the tree."""
        n, shared = self.n, self.nccl
        self.nccl = replace(shared, channels=4 * shared.rings)  # a GPU's inner port serves both trees, up and down
        for half, total in enumerate(shares(self.size, 2 * shared.rings)):
            parents = np.array(tree_of_gpus(n, shared.hosts_per_node, half))
            pieces = pieces_of(int(total), shared, shared.step_bytes, 2 * (n - 1))
            k, root = len(pieces), int(np.argmin(parents))
            child = np.flatnonzero(parents >= 0)
            edge = np.full(n, -1)
            edge[child] = np.arange(n - 1)
            low, high = np.repeat(child, k), np.repeat(parents[child], k)
            order, sizes = np.tile(np.arange(k), n - 1), np.tile(pieces, n - 1)
            ways = [self.transfers(src, dst, sizes, order, half) for src, dst in ((low, high), (high, low))]
            rows, delay_ps = (np.concatenate([getattr(way, name) for way in ways]) for name in ("rows", "delay_ps"))
            made = Transfers(self, rows, delay_ps)
            up, down = np.arange(2 * len(sizes)).reshape(2, n - 1, k)
            inner = child[parents[child] != root]  # moves up once the children's has arrived, down once its own has
            above = edge[parents[inner]]
            made.after(up[above], up[edge[inner]])
            made.after(down[edge[inner]], down[above])
            top = edge[child[parents[child] == root]]
            ahead = self.nccl.buffer_steps
            if 0 < ahead < k:  # a chunk waits until the receiver has passed on the one `ahead` before it
                made.after(up[edge[inner], ahead:], up[above, :-ahead])
                made.after(down[above, ahead:], down[edge[inner], :-ahead])
                made.after(up[top, ahead:], down[top, :-ahead])
            for one in top:
                for other in top:
                    made.after(down[one], up[other])
                made.arrive(up[one], root)
            for rank in child.tolist():
                self.begin(made.rows[up[edge[rank]]], rank, int(parents[rank]))
                made.arrive(down[edge[rank]], rank)

    def chain(self) -> None:
        """Add a broadcast along the rings of the channels, from the first rank on."""
        n, nccl = self.n, self.nccl
        for channel, (ring, total) in enumerate(zip(ring_orders(n, nccl), shares(self.size, nccl.rings), strict=True)):
            ring = np.roll(ring, -int(np.argmin(ring)))
            pieces = pieces_of(int(total), nccl, nccl.step_bytes, n - 1)
            k = len(pieces)
            src, dst, order = np.repeat(ring[:-1], k), np.repeat(ring[1:], k), np.tile(np.arange(k), n - 1)
            made = self.transfers(src, dst, np.tile(pieces, n - 1), order, channel)
            at = np.arange((n - 1) * k).reshape(n - 1, k)
            made.after(at[1:], at[:-1])
            self.last[0] += made.rows[at[0]].ravel().tolist()
            for place, (rank, behind) in enumerate(pairwise(ring.tolist())):
                self.begin(made.rows[at[place]], rank, behind)
                made.arrive(at[place], behind)

    def exchange(self) -> None:
        n, order = self.n, peer_order(self.n, self.nccl.hosts_per_node)
        width = n // (len({group for group, _ in order} | {0}))
        rank = np.arange(n)
        pieces = pieces_of(int(shares(self.size, n)[0]), self.nccl, hops=n * (n - 1))
        k, rounds = len(pieces), len(order)
        peers = np.stack(
            [(rank // width + group) % (n // width) * width + (rank % width + local) % width for group, local in order]
        )
        src, dst = np.tile(np.repeat(rank, k), rounds), np.repeat(peers.ravel(), k)
        made = self.transfers(src, dst, np.tile(pieces, rounds * n), np.tile(np.arange(k), rounds * n))
        at = np.arange(len(src)).reshape(rounds, n, k)
        window = self.nccl.rings
        for step in range(window, rounds):
            before = at[step - window]
            if k == 1:
                made.after(at[step], before)
                continue
            gates = self.compute(0)[:, np.newaxis, np.newaxis]  # otherwise each chunk would wait for each
            self.schedule.wait(gates, made.rows[before], made.delay_ps[before][:, :, np.newaxis])
            self.schedule.wait(made.rows[at[step]], gates)
        for step in range(rounds):
            for one, peer in enumerate(peers[step].tolist()):
                made.arrive(at[step, one], peer)
                self.begin(made.rows[at[step, one]], one, peer)

    def exchange_by_rail(self) -> None:
        """Add an all-to-all by PXN: for each node, GPUs exchange inside, then send to the GPU with their number."""
        n, nccl, g = self.n, self.nccl, self.nccl.hosts_per_node
        part, rank = int(shares(self.size, n)[0]), np.arange(n)
        mates = (rank // g * g)[:, np.newaxis] + np.arange(g)
        delay_ps = np.where(mates == rank[:, np.newaxis], 0, nccl.inner_delay_ps)
        busy_ps = int(nccl.inner_ps(nccl.sent_bytes((g - 1) * part)))  # a GPU's data for GPUs of other numbers
        inside = np.zeros((0, n), np.int64)
        sent: list[Int64s] = []
        for step in [0, *(group + local for group, local in peer_order(n // g))]:
            rows = self.compute(busy_ps)
            for one in range(n):
                self.begin(rows[one : one + 1], one)
            self.schedule.wait(rows, inside[-1:])
            inside = rows[np.newaxis]
            gate = self.compute(0)
            self.schedule.wait(gate[:, np.newaxis], rows[mates], delay_ps)
            if step:
                to = (rank // g + step) % (n // g) * g + rank % g
                made = self.transfers(rank, to, np.full(n, g * part), np.full(n, len(sent)))
                self.schedule.wait(made.rows, gate[:, np.newaxis])
                if len(sent) >= nccl.rings:
                    self.schedule.wait(made.rows[:, :, np.newaxis], sent[-nccl.rings][:, np.newaxis, :])
                sent.append(made.rows)
            for one in range(n):
                self.last[int(to[one]) if step else one] += sent[-1][one].tolist() if step else [int(gate[one])]

    def hierarchy(self) -> None:
        """Add an all-reduce by nodes: reduce-scatter inside, all-reduce among equal GPUs, all-gather inside.

        Inside a node, this is a ring of constant rate: each half takes (g - 1) times the delay plus the time for a g-th
        of the data.
        """
        n, nccl, g = self.n, self.nccl, self.nccl.hosts_per_node
        part = -(-self.size // g)
        half_ps = (g - 1) * (nccl.inner_delay_ps + int(nccl.inner_ps(nccl.sent_bytes(part))))

        def inside() -> Ready:
            rows = self.compute(half_ps)
            for rank in range(n):
                self.begin(rows[rank // g * g : rank // g * g + g], rank)
            return [[row] for row in rows.tolist()]

        self.ready = inside() if g > 1 else self.ready
        for ranks in np.arange(n).reshape(-1, g).T if n > g else ():
            ready = [self.ready[rank] for rank in ranks]
            outer = replace(nccl, hosts_per_node=1)
            among = Collective(self.schedule, self.names[ranks], part, ready, outer, self.number)
            among.rings("all-reduce")
            for rank, rows in zip(ranks, among.last, strict=True):
                self.ready[rank] = rows
        self.last = inside() if g > 1 else self.ready
