"""Traffic patterns: incast, long flows, permutation, many-to-many."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.choice import Hosts, SomeHosts, chosen, generator
from rdmacc.workload.frame import Host, as_objects, checked_hosts, checked_whole, from_columns, host_names, stream
from rdmacc.workload.published import Sizes, drawn_from, size_distribution

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

    Raises
    ------
    ConfigError
        For an invalid number of senders or rounds, a duplicate sender or one that is the receiver, or jitter over
        several rounds without a period.

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

    Raises
    ------
    ConfigError
        If there are no pairs, or the number of starts does not match.
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
    """Return one message from every sender to every receiver, except to itself.

    Parameters
    ----------
    senders, receivers : network, sequence or int
        Lists of different hosts (a host may be in both); a network, for all its hosts; or how many to draw from
        `hosts`, receivers from those that do not send.
    size : SizeDistribution, str or number
        Size of each message.

    Returns
    -------
    DataFrame
        Ordered by sender, then in the order of `receivers`.

    Raises
    ------
    ConfigError
        If there is a duplicate among the senders or the receivers, or no message is left.
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
