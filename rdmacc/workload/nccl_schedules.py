"""The schedules of NCCL's collectives: transfers and their dependencies. Facts from NCCL's source, 2026-06.

Rings: src/device/all_reduce.h, reduce_scatter.h, all_gather.h. Trees: src/graph/trees.cc. Peers of an all-to-all:
src/init.cc. A connection sends its messages in order (`queue_pair`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rdmacc.errors import ConfigError
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import MOST_OF_ANYTHING, Objects
from rdmacc.workload.schedule import Schedule

if TYPE_CHECKING:
    from rdmacc.workload.nccl import Nccl

Ready: TypeAlias = list[list[int]]
"""For each rank, the rows that it waits for, or those that complete a collective there."""


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
            made.after(np.repeat(at[step].ravel(), k), np.repeat(at[step - window], k, axis=0))
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
