"""Traffic patterns: incast, long flows, permutation, many-to-many; closed loops of requests; collectives.

In a closed loop each round waits (by `after`) for the previous one. A waiting message starts as soon as the last
message it waits for is complete: there is no think time.

The steps of a collective wait for each other, too. The messages of one step form a group; without other delays they
start together. Use :func:`~rdmacc.workload.sequence` to run several collectives one after the other.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, size_bytes, time_ps
from rdmacc.workload.columns import Int64s, is_name
from rdmacc.workload.frame import (
    Host,
    Hosts,
    Objects,
    SomeHosts,
    as_objects,
    checked_hosts,
    checked_whole,
    chosen,
    from_columns,
    generator,
    host_names,
    stream,
)
from rdmacc.workload.sizes import Sizes, drawn_from, size_distribution

INCAST_SENDERS = 101
INCAST_JITTER = 102
PERMUTATION = 103
MANY_SIZES = 114
MANY_JITTER = 115
MANY_SENDERS = 121
MANY_RECEIVERS = 122


@generator
def incast(
    senders: SomeHosts,
    receiver: Host,
    size: Quantity,
    *,
    start: Quantity = "0us",
    jitter: Quantity = "0us",
    rounds: int = 1,
    period: Quantity | None = None,
    hosts: Hosts | None = None,
    group: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """Return many-to-one traffic: every sender sends one message to the receiver in each round.

    Parameters
    ----------
    senders : network, sequence or int
        Hosts; a network, for all its hosts but the receiver; or how many of these to draw at random from `hosts`. They
        are the same in every round.
    receiver : host
        The receiving host.
    period : number or str, optional
        Time from the start of a round to that of the next. Without it, a round starts when the previous one is complete
        (by `after`), and jitter is not allowed.

    Examples
    --------
    >>> import rdmacc
    >>> len(incast(8, "h0", "64kB", hosts=rdmacc.star(100)))
    8
    """
    host_names("receiver", [receiver])
    names = chosen("senders", senders, hosts, [receiver], seed, INCAST_SENDERS)
    if receiver in names:
        raise ConfigError("senders", names, f"different hosts, at least one, without {receiver!r}")
    turns, spread = checked_whole("rounds", rounds, 1), time_ps(jitter, field="jitter")
    if period is None and turns > 1 and spread:
        allowed = "0 unless a period is given: without one, a round starts when the previous one ends"
        raise ConfigError("jitter", jitter, allowed)
    degree = len(names)
    turn = np.repeat(np.arange(turns, dtype=np.int64), degree)
    starts = time_ps(start, field="start") + turn * (0 if period is None else time_ps(period, field="period"))
    starts += stream(seed, INCAST_JITTER).integers(0, spread, size=len(turn), endpoint=True)
    after: list[tuple[int, ...]] | None = None
    if period is None and turns > 1:
        waits = [(), *(tuple(range(r * degree, (r + 1) * degree)) for r in range(turns - 1))]
        after = [wait for wait in waits for _ in range(degree)]
    groups = checked_whole("group", group) + turn
    return from_columns(names * turns, [receiver] * len(turn), size, starts, groups, after)


@generator
def long_flows(
    pairs: Iterable[tuple[Host, Host]],
    size: Quantity = "1GB",
    *,
    start: Quantity | Sequence[Quantity] = "0us",
) -> pd.DataFrame:
    """Return one message for each (src, dst) in `pairs`, all of one size.

    Parameters
    ----------
    pairs : iterable of tuple
        Source and destination of each flow.
    size : number or str
        Size of each flow.
    start : number or str, or a sequence of them
        One start for all, or one for each.
    """
    ends = host_names("pairs", pairs)
    if not ends:
        raise ConfigError("pairs", ends, "at least one pair of hosts")
    for pair in ends:
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(list(pair)) != 2:
            raise ConfigError("pairs", pair, "pairs of hosts, such as [('h1', 'h0')]")
    moments: list[Any] = list(start) if np.ndim(start) else [start] * len(ends)  # type: ignore[arg-type]
    if len(moments) != len(ends):
        raise ConfigError("start", moments, f"one time, or one for each of the {len(ends)} pairs")
    starts = np.array([time_ps(moment, field="start") for moment in moments], dtype=np.int64)
    return from_columns([src for src, _ in ends], [dst for _, dst in ends], size, starts)


@generator
def permutation(hosts: Hosts, size: Quantity, *, start: Quantity = "0us", seed: int = 0) -> pd.DataFrame:
    """Return a random permutation: every host sends one message and receives one, never its own.

    Parameters
    ----------
    hosts : network or sequence
        At least two different hosts, or the network whose hosts they are.
    seed : int
        Seed of the permutation, which is uniform among those without a fixed point.
    """
    names = checked_hosts(hosts)
    rng = stream(seed, PERMUTATION)
    order = np.arange(len(names))
    target = order
    while (target == order).any():
        target = rng.permutation(len(names))
    starts = np.full(len(names), time_ps(start, field="start"), dtype=np.int64)
    return from_columns(names, [names[i] for i in target], size, starts)


@generator
def many_to_many(
    senders: SomeHosts,
    receivers: SomeHosts,
    size: Sizes,
    *,
    start: Quantity = "0us",
    jitter: Quantity = "0us",
    hosts: Hosts | None = None,
    group: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """Return one message from every sender to every receiver, except to itself, in the order of `receivers`.

    Parameters
    ----------
    senders, receivers : network, sequence or int
        Lists of different hosts (a host may be in both); a network, for all its hosts; or how many to draw from
        `hosts`, receivers from those that do not send.
    size : SizeDistribution, str or number
        Size of each message.
    """
    first = chosen("senders", senders, hosts, (), seed, MANY_SENDERS)
    without = first if isinstance(receivers, Integral) else ()
    second = chosen("receivers", receivers, hosts, without, seed, MANY_RECEIVERS)
    src, dst = np.repeat(as_objects(first), len(second)), np.tile(as_objects(second), len(first))
    other = src != dst
    src, dst = src[other], dst[other]
    if not len(src):
        raise ConfigError("receivers", second, "must include a host other than the only sender")
    lengths = size_distribution(size).sample(stream(seed, MANY_SIZES), len(src))
    spread = time_ps(jitter, field="jitter")
    offsets = stream(seed, MANY_JITTER).integers(0, spread, size=len(src), endpoint=True)
    starts = time_ps(start, field="start") + offsets
    return drawn_from(from_columns(src, dst, lengths, starts, checked_whole("group", group, 0)), size)


PARTITION_SIZES = 116
REQUEST_SERVERS = 117
REQUEST_SIZES = 118
REQUEST_JITTER = 119
PARTITION_WORKERS = 123
REQUEST_CLIENTS = 124
REQUEST_POOL = 125


@generator
def partition_aggregate(
    aggregator: Host,
    workers: SomeHosts,
    request: Sizes,
    response: Sizes,
    *,
    start: Quantity = "0us",
    rounds: int = 1,
    hosts: Hosts | None = None,
    group: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Return rounds in which an aggregator queries all workers and they respond: an incast of responses.

    ::

         round 0                      round 1
         a -> w0  ... w0 -> a  \
         a -> w1  ... w1 -> a   > ->  a -> w0 ...
         a -> w2  ... w2 -> a  /

    A response waits for its request; all requests of a round wait for all responses of the previous round. With n
    workers, request i of round r is message ``2 n r + i``, and its response ``2 n r + n + i``.

    Parameters
    ----------
    aggregator : host
        The querying host.
    workers : network, sequence or int
        Different hosts, excluding the aggregator; a network, for all its other hosts; or how many of `hosts` to draw.
    request, response : SizeDistribution, str or number
        Sizes of the messages.
    group : int
        Group of the first round's responses; those of round r are group ``group + r``. Requests have no group.
    """
    if not is_name(aggregator):
        raise ConfigError("aggregator", aggregator, "the name of a host")
    turns = checked_whole("rounds", rounds, 1)
    names = chosen("workers", workers, hosts, [aggregator], seed, PARTITION_WORKERS)
    if aggregator in set(names):
        allowed = f"different hosts, at least one, without {aggregator!r}"
        raise ConfigError("workers", names, allowed)
    n = len(names)
    asked, one = as_objects(names), np.repeat(as_objects([aggregator]), n)
    src, dst = np.tile(np.r_[one, asked], turns), np.tile(np.r_[asked, one], turns)
    lengths = np.empty(2 * n * turns, dtype=np.int64)
    rng = stream(seed, PARTITION_SIZES)
    is_response = np.tile(np.repeat([False, True], n), turns)
    for sizes, rows in ((request, ~is_response), (response, is_response)):
        lengths[rows] = size_distribution(sizes).sample(rng, n * turns)
    groups = np.where(is_response, checked_whole("group", group, 0) + np.arange(2 * n * turns) // (2 * n), -1)
    after: list[tuple[int, ...]] = []
    for first in range(0, 2 * n * turns, 2 * n):
        before = tuple(range(first - n, first)) if first else ()
        after += chain(repeat(before, n), zip(range(first, first + n)))
    work = from_columns(src, dst, lengths, time_ps(start, field="start"), groups, after)
    return drawn_from(work, request, response)


@generator
def request_response(
    clients: SomeHosts,
    servers: SomeHosts,
    request: Sizes,
    response: Sizes,
    *,
    start: Quantity = "0us",
    jitter: Quantity = "0us",
    rounds: int = 1,
    hosts: Hosts | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return closed loops: each client queries a random server, and the next one after its response has arrived.

    Request r of client c is message ``2 (c rounds + r)``, and its response the next one.

    Parameters
    ----------
    clients, servers : network, sequence or int
        Lists of different hosts (a client may serve others); a network, for all its hosts; or how many to draw from
        `hosts`, servers from those that are not clients. Each request goes to a random server.
    request, response : SizeDistribution, str or number
        Sizes of the messages.
    rounds : int
        Requests of each client.
    """
    turns = checked_whole("rounds", rounds, 1)
    first = chosen("clients", clients, hosts, (), seed, REQUEST_CLIENTS)
    without = first if isinstance(servers, Integral) else ()
    second = chosen("servers", servers, hosts, without, seed, REQUEST_POOL)
    asking, asked = as_objects(first), as_objects(second)
    if len(asked) == 1 and asked[0] in set(first):
        raise ConfigError("servers", second, "must include a host other than the client")
    client = np.repeat(asking, turns)
    server = asked[_other(stream(seed, REQUEST_SERVERS), client, asked)]
    count = len(client)
    src, dst = (np.column_stack(ends).ravel() for ends in ((client, server), (server, client)))
    rng = stream(seed, REQUEST_SIZES)
    asks, answers = (size_distribution(sizes).sample(rng, count) for sizes in (request, response))
    spread = time_ps(jitter, field="jitter")
    offsets = stream(seed, REQUEST_JITTER).integers(0, spread, size=len(asking), endpoint=True)
    starts = np.repeat(time_ps(start, field="start") + offsets, 2 * turns)
    after: list[tuple[int, ...]] = list(zip(range(-1, 2 * count - 1)))
    after[:: 2 * turns] = [()] * len(asking)
    work = from_columns(src, dst, np.column_stack([asks, answers]).ravel(), starts, None, after)
    return drawn_from(work, request, response)


def _other(rng: np.random.Generator, own: Objects, pool: Objects) -> Int64s:
    """Return, for each host of `own`, the position of a random other host in `pool`."""
    drawn = rng.integers(len(pool), size=len(own))
    again = np.flatnonzero(pool[drawn] == own)
    while len(again):
        drawn[again] = rng.integers(len(pool), size=len(again))
        again = again[pool[drawn[again]] == own[again]]
    return drawn


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
