"""Closed loops: rounds of requests and responses, each waiting (by `after`) for the previous one.

A waiting message starts as soon as the last message it waits for is complete: there is no think time.
"""

from itertools import chain, repeat
from numbers import Integral

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.choice import Hosts, SomeHosts, chosen, generator
from rdmacc.workload.columns import Int64s, is_name
from rdmacc.workload.frame import Host, Objects, as_objects, checked_whole, from_columns, stream
from rdmacc.workload.published import Sizes, drawn_from, size_distribution

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

    A response waits for its request; all requests of a round wait for all responses of the previous round.

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

    Returns
    -------
    DataFrame
        Ordered by round, requests first: with n workers, request i of round r is message ``2 n r + i``, and its
        response ``2 n r + n + i``.

    Raises
    ------
    ConfigError
        For duplicate workers, a worker that is the aggregator, or an invalid number of rounds.
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

    Parameters
    ----------
    clients, servers : network, sequence or int
        Lists of different hosts (a client may serve others); a network, for all its hosts; or how many to draw from
        `hosts`, servers from those that are not clients. Each request goes to a random server.
    request, response : SizeDistribution, str or number
        Sizes of the messages.
    rounds : int
        Requests of each client.

    Returns
    -------
    DataFrame
        Ordered by client: request r of client c is message ``2 (c rounds + r)``, and its response the next one.

    Raises
    ------
    ConfigError
        For a duplicate host, a client without a server, or an invalid number of rounds.
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
