"""The collectives of a training step: ring and tree all-reduce, all-to-all. Steps depend on each other through `after`.

The messages of one step form a group; without other delays they start together. Use :func:`~rdmacc.workload.sequence`
to run several collectives one after the other.
"""

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, size_bytes, time_ps
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import Hosts, as_objects, checked_hosts, checked_whole, from_columns, generator
from rdmacc.workload.patterns import many_to_many


@generator
def ring_all_reduce(hosts: Hosts, size: Quantity, *, start: Quantity = "0us", group: int = 0) -> pd.DataFrame:
    """Return a ring all-reduce: every host ends with the sum of all hosts' `size` bytes.

    ::

         h0 -> h1 -> h2 -> ... -> h{n-1} -> h0      in each of 2 (n - 1) steps, all at once

    The data are split into n chunks that differ by at most 1 byte. In step t host i sends chunk ``(i - t) mod n`` to
    host i + 1: n - 1 steps of reduce-scatter, then n - 1 of all-gather. It first waits for the chunk that host i - 1
    sends it in step t - 1. So a host sends ``2 (n - 1) / n * size`` bytes (exactly, if n divides `size`), and all hosts
    together always send ``2 (n - 1) size``. Message ``n t + i`` is the one that host i sends in step t.

    Parameters
    ----------
    hosts : network or sequence
        The ring: n different hosts, at least two, or the network whose hosts they are.
    size : number or str
        Data per host, at least n bytes.
    group : int
        Group of the first step; step t is group ``group + t``.

    References
    ----------
    Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 2009.
    """
    names = as_objects(checked_hosts(hosts))
    n = len(names)
    chunks = _parts(size, n)
    steps = 2 * (n - 1)
    step, host = np.repeat(np.arange(steps), n), np.tile(np.arange(n), steps)
    before = (step - 1) * n + (host - 1) % n
    groups = checked_whole("group", group, 0) + step
    begin = time_ps(start, field="start")
    after = [()] * n + [(row,) for row in before[n:].tolist()]
    return from_columns(names[host], names[(host + 1) % n], chunks[(host - step) % n], begin, groups, after)


@generator
def tree_all_reduce(
    hosts: Hosts,
    size: Quantity,
    *,
    chunks: int = 1,
    fan_out: int = 2,
    start: Quantity = "0us",
    group: int = 0,
) -> pd.DataFrame:
    r"""Return a tree all-reduce: sums move up to the root and the result moves down, chunk by chunk.

    ::

              h0              up: a host sends to its parent when it has its children's sums
            /    \
          h1      h2          down: a host sends to its children when it has the result
         /  \    /  \
        h3  h4  h5  h6

    Host i's parent is host ``(i - 1) // fan_out``. A chunk also waits for the previous one on the same link. Every host
    except the root sends `size` bytes up and receives `size` bytes: ``2 (n - 1) size`` in total. Messages are
    ordered by chunk, up and then down: with m = n - 1, chunk c is message ``2 m c + i`` on its way up from host i + 1,
    and message ``2 m c + m + i`` on its way down to it.

    Parameters
    ----------
    hosts : network or sequence
        n different hosts, at least two, or the network whose hosts they are; the first is the root.
    size : number or str
        Data per host, at least `chunks` bytes.
    chunks : int
        Number of parts that the data are split into, sent one after the other; they differ by at most 1 byte.
    fan_out : int
        Children of a host.
    group : int
        Group of the first chunk's way up; chunk c has group ``group + 2 c`` up and ``group + 2 c + 1`` down.
    """
    names = as_objects(checked_hosts(hosts))
    parts = _parts(size, checked_whole("chunks", chunks, 1), "chunks")
    width, m, count = checked_whole("fan_out", fan_out, 1), len(names) - 1, len(parts)
    child = np.arange(1, m + 1)
    parent = (child - 1) // width
    # Rows of one chunk: up from host i is row i - 1, down to it row m + i - 1.
    children = [range(width * i + 1, min(width * i + width, m) + 1) for i in range(m + 1)]
    up = [tuple(lower - 1 for lower in children[i]) for i in range(1, m + 1)]
    root = tuple(lower - 1 for lower in children[0])
    down = [(m + int(above) - 1,) if above else root for above in parent]
    waits = [*up, *down]
    after: list[tuple[int, ...]] = list(waits)
    for first in range(2 * m, 2 * m * count, 2 * m):
        after += [(*(first + row for row in rows), first - 2 * m + i) for i, rows in enumerate(waits)]
    src, dst = np.r_[child, parent], np.r_[parent, child]
    groups = checked_whole("group", group, 0) + np.repeat(np.arange(2 * count), m)
    begin = time_ps(start, field="start")
    lengths = np.repeat(parts, 2 * m)
    return from_columns(np.tile(names[src], count), np.tile(names[dst], count), lengths, begin, groups, after)


@generator
def all_to_all(hosts: Hosts, size: Quantity, *, start: Quantity = "0us", group: int = 0) -> pd.DataFrame:
    """Return an all-to-all: every host sends `size` bytes to every other, as in the exchange of tokens between experts.

    All ``n (n - 1)`` messages start at once; with :func:`rdmacc.workload.nccl.all_to_all`, each host sends to one or a
    few others at a time. Messages are ordered by sender.

    Parameters
    ----------
    hosts : network or sequence
        n different hosts, at least two, or the network whose hosts they are.
    group : int
        Group of the messages.
    """
    listed = checked_hosts(hosts)
    return many_to_many(listed, listed, size, start=start, group=group)


def _parts(size: Quantity, count: int, of: str = "hosts") -> Int64s:
    """Return `count` sizes that add up to `size` and differ by at most 1 byte, larger ones first."""
    total = size_bytes(size, field="size")
    if total < count:
        raise ConfigError("size", size, f"at least 1 byte for each of the {count} {of}")
    low, more = divmod(total, count)
    return low + (np.arange(count) < more)
