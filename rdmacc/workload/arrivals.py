"""Random arrivals: Poisson messages at a load, incasts at a rate or a load."""

from collections import defaultdict
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import checked_flag
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.columns import Int64s
from rdmacc.workload.compose import combine
from rdmacc.workload.frame import (
    MOST_OF_ANYTHING,
    PERIOD,
    Host,
    Hosts,
    as_objects,
    checked_hosts,
    checked_whole,
    from_columns,
    generator,
    stream,
)
from rdmacc.workload.load import (
    MOST_LOAD,
    Load,
    Network,
    Traffic,
    as_definition,
    as_fabric,
    bytes_per_second,
    exact_span_ps,
)
from rdmacc.workload.sizes import DART_SHORT, Sizes, drawn_from, size_distribution

PAIRS = 104
PAIR_STARTS = 105
POISSON_PAIRS = 106
POISSON_SIZES = 107
POISSON_STARTS = 108
INCASTS_ENDS = 109
INCASTS_SIZES = 110
INCASTS_STARTS = 111
INCASTS_JITTER = 112

_LATEST_PS = 2.0**62
_MOST_PER_S = 1e15

Floats: TypeAlias = npt.NDArray[np.float64]


@generator
def poisson(
    network: Network,
    size: Sizes,
    load: float,
    *,
    of: Load = "host",
    count: int | None = None,
    duration: Quantity | None = None,
    senders: Hosts | None = None,
    receivers: Hosts | None = None,
    is_exact: bool = False,
    start: Quantity = "0us",
    seed: int = 0,
) -> pd.DataFrame:
    """Return messages between random pairs of hosts, by start time, which arrive as a Poisson process at a given load.

    The load is a fraction of the capacity of the *defining links*; see :class:`~rdmacc.workload.LoadDefinition`:
    with the mean size on the wire E[B] (of the distribution, not of the sample) and the expected number h of
    defining links on a message's path, messages arrive at the rate

        lambda = load * sum_{l in L} (rate of l) / (8 E[B] h)

    Parameters
    ----------
    size : SizeDistribution, str or number
        Size of the messages: a distribution, the name of a published one ("web_search"), or one size.
    load : float
        Above 0; 1 is the full capacity of the defining links.
    of : str, sequence of (from, to), or LoadDefinition
        The defining links: "host", "receiver", "uplink", "core" or a list, counted with headers; pass a LoadDefinition
        to count payload only or to use other packet sizes.
    count, duration : int; number or str
        Number of messages, or the period in which they arrive; give one of the two.
    senders, receivers : network or sequence of host, optional
        Possible senders and receivers; default: all hosts. Every pair of different hosts is equally likely.
    is_exact : bool
        Choose the period in which `count` messages arrive so that the actual sizes and pairs, not their expected
        values, give the load. Useful for few messages of a heavy-tailed distribution. Needs `count`.

    Examples
    --------
    >>> from rdmacc import topology
    >>> from rdmacc.workload import offered_load
    >>> network = topology.leaf_spine(2, 2, 4)
    >>> work = poisson(network, "64kB", 0.5, of="core", count=100_000)
    >>> round(offered_load(work, network, of="core"), 2)
    0.5
    """
    definition, distribution = as_definition(of), size_distribution(size)
    traffic = Traffic(network, senders, receivers)
    rate = bytes_per_second(load, traffic, definition) / definition.mean_bytes(distribution)
    begin = time_ps(start, field="start")
    rng = stream(seed, POISSON_STARTS)
    number, offsets, span_ps = _arrivals(rng, rate, count, duration)
    lengths = distribution.sample(stream(seed, POISSON_SIZES), number)
    src, dst = traffic.pairs(stream(seed, POISSON_PAIRS), number)
    if checked_flag("is_exact", is_exact):
        if count is None:
            raise ConfigError("count", None, "given with is_exact, because the duration follows from it")
        span_ps = exact_span_ps(load, traffic, definition, src, dst, lengths)
        if not span_ps:
            raise ConfigError("count", count, "higher: no message crosses the defining links")
        offsets = np.sort(rng.random(number)) * span_ps
    work = from_columns(traffic.names(src), traffic.names(dst), lengths, _starts(begin, offsets))
    work.attrs[PERIOD] = (begin, begin + round(span_ps))
    return drawn_from(work, distribution)


@generator
def incasts(
    network: Network,
    degree: int,
    size: Sizes,
    *,
    rate: float | None = None,
    load: float | None = None,
    of: Load = "host",
    count: int | None = None,
    duration: Quantity | None = None,
    senders: Hosts | None = None,
    receivers: Hosts | None = None,
    jitter: Quantity = "0us",
    start: Quantity = "0us",
    group: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """Return incasts, from random senders to a random receiver, in the order of a Poisson process's arrivals.

    Parameters
    ----------
    degree : int
        Number of senders per incast: different hosts, drawn separately for each incast.
    size : SizeDistribution, str or number
        Size of each message; drawn for each message.
    rate : float, optional
        Incasts per second.
    load : float, optional
        Load of the incasts, in place of `rate`; as in :func:`poisson`.
    count, duration : int; number or str
        Number of incasts, or the period in which they arrive; give one of the two.
    senders, receivers : network or sequence of host, optional
        Possible senders and receivers; default: all hosts. The receiver is drawn first.

    Raises
    ------
    ConfigError
        Unless one of `rate` and `load` is given, and one of `count` and `duration`; or if there are fewer than `degree`
        senders other than the receiver.
    """
    distribution, width = size_distribution(size), checked_whole("degree", degree, 1)
    traffic = Traffic(network, senders, receivers, is_incast=True)
    least = len(traffic.senders) - int(traffic.is_loop.any())
    if width > least:
        raise ConfigError("degree", degree, f"at most {least}, the senders besides the receiver")
    if (rate is None) == (load is None):
        raise ConfigError("rate", rate, f"given exactly when load is not; load = {load!r}")
    definition = as_definition(of)
    if load is not None:
        per_incast = width * definition.mean_bytes(distribution)
        rate = bytes_per_second(load, traffic, definition) / per_incast
    elif isinstance(rate, bool) or not isinstance(rate, Real) or not 0 < rate <= _MOST_PER_S:
        raise ConfigError("rate", rate, f"a number of incasts per second, above 0 and at most {_MOST_PER_S:g}")
    assert rate is not None
    begin, spread = time_ps(start, field="start"), time_ps(jitter, field="jitter")
    number, offsets, span_ps = _arrivals(stream(seed, INCASTS_STARTS), rate, count, duration)
    src, dst = _incast_ends(stream(seed, INCASTS_ENDS), traffic, number, width)
    total = number * width
    lengths = distribution.sample(stream(seed, INCASTS_SIZES), total)
    starts = np.repeat(_starts(begin, offsets), width)
    starts += stream(seed, INCASTS_JITTER).integers(0, spread, size=total, endpoint=True)
    groups = checked_whole("group", group, 0) + np.repeat(np.arange(number), width)
    work = from_columns(traffic.names(src), traffic.names(dst), lengths, starts, groups)
    work.attrs[PERIOD] = (begin, begin + round(span_ps))
    return drawn_from(work, size)


@generator
def random_pairs(
    hosts: Hosts,
    count: int,
    size: Quantity,
    *,
    start: Quantity = "0us",
    jitter: Quantity = "0us",
    seed: int = 0,
) -> pd.DataFrame:
    """Return messages between random pairs of different hosts, sorted by start time.

    Parameters
    ----------
    hosts : network or sequence
        At least two different hosts, or the network whose hosts they are.
    count : int
        Number of messages, at least 1.
    """
    names, number = checked_hosts(hosts), checked_whole("count", count, 1)
    rng = stream(seed, PAIRS)
    src = rng.integers(len(names), size=number)
    dst = (src + rng.integers(1, len(names), size=number)) % len(names)
    spread = time_ps(jitter, field="jitter")
    offsets = stream(seed, PAIR_STARTS).integers(0, spread, size=number, endpoint=True)
    starts = time_ps(start, field="start") + np.sort(offsets)
    known = as_objects(names)
    return from_columns(known[src], known[dst], size, starts)


def _arrivals(
    rng: np.random.Generator, rate: float, count: int | None, duration: Quantity | None
) -> tuple[int, Floats, float]:
    """Return the number of events of a Poisson process with `rate` per second, their times in ps, and its period in ps.

    The times ascend. For a given number of events, the period is the expected one.
    """
    if (count is None) == (duration is None):
        raise ConfigError("count", count, f"given exactly when duration is not; duration = {duration!r}")
    if count is not None:
        number = checked_whole("count", count, 1)
        return number, np.cumsum(rng.exponential(1e12 / rate, size=number)), number * 1e12 / rate
    assert duration is not None
    span_ps = time_ps(duration, field="duration")
    if rate * span_ps / 1e12 > MOST_OF_ANYTHING:
        raise ConfigError("duration", duration, f"shorter: a workload has at most {MOST_OF_ANYTHING} messages")
    number = int(rng.poisson(rate * span_ps / 1e12))
    if not number:
        allowed = f"longer: at {rate:.3g} messages per second, none arrived"
        raise ConfigError("duration", duration, allowed)
    return number, np.sort(rng.random(number)) * span_ps, span_ps


def _starts(begin: int, offsets: Floats) -> Int64s:
    if begin + float(offsets[-1]) > _LATEST_PS:
        raise ConfigError("start", float(offsets[-1]), f"at most {_LATEST_PS:.3g} ps: the load is too low")
    return begin + np.rint(offsets).astype(np.int64)


def _incast_ends(rng: np.random.Generator, traffic: Traffic, count: int, degree: int) -> tuple[Int64s, Int64s]:
    """Return node numbers of senders and receivers, `degree` of them for each of `count` incasts.

    Floyd's algorithm (Bentley and Floyd, CACM 1987) draws each set of different senders, for all incasts at once, from
    the senders other than the receiver: those after its position move up by one.
    """
    senders, receivers = traffic.senders, traffic.receivers
    place = {int(node): i for i, node in enumerate(senders)}
    own = np.array([place.get(int(node), len(senders)) for node in receivers], dtype=np.int64)
    drawn = rng.integers(len(receivers), size=count)
    skipped = own[drawn]
    others = len(senders) - (skipped < len(senders))
    chosen = np.full((count, degree), -1, dtype=np.int64)
    for i in range(degree):
        top = others - degree + i
        pick = rng.integers(0, top, endpoint=True)
        taken = (chosen[:, :i] == pick[:, None]).any(axis=1)
        chosen[:, i] = np.where(taken, top, pick)
    chosen += chosen >= skipped[:, None]
    return senders[chosen].ravel(), np.repeat(receivers[drawn], degree)


DART_LONG, DART_GROUPS = 113, 120

DART_MIXES: Mapping[str, float] = MappingProxyType({"light": 0.1, "typical": 0.4, "heavy": 0.7})
"""Short flows' share of the load in Dart's mixes. The paper states 0.4; the others follow from its table II, in which
IOFD's increase in load is the share of short flows times their path dilation."""


@generator
def dart_mix(
    network: Network,
    load: float,
    mix: str | float = "typical",
    *,
    duration: Quantity,
    degree: int = 16,
    short: Sizes = DART_SHORT,
    long: Sizes = "1MB",
    groups: int | None = None,
    is_persistent: bool = False,
    of: Load = "uplink",
    jitter: Quantity = "0us",
    start: Quantity = "0us",
    seed: int = 0,
) -> pd.DataFrame:
    """Return Dart's mix of short flows in incasts and long flows in the background (VI-A).

    A share s of the load is short flows, in Poisson incasts from `degree` random senders to a random receiver. The rest
    is long flows between random pairs. The paper does not say which links define the load, nor how long flows of 1 GB
    contribute to it. We assume that the load refers to the ToRs' uplinks, which are oversubscribed, and that long flows
    arrive as a Poisson process, with 1 MB each, so that a run of milliseconds has many of them. Long flows come
    first, then short ones; each incast is a group.

    Parameters
    ----------
    load : float
        Load of short and long flows together.
    mix : str or float
        "light", "typical" or "heavy" (s = 0.1, 0.4, 0.7), or s itself, above 0 and below 1.
    duration : number or str
        Period in which flows arrive.
    degree : int
        Number of senders per incast.
    short, long : SizeDistribution, str or number
        Sizes of the flows; default 2, 4 or 8 KB with equal probability, and 1 MB.
    groups : int, optional
        Number of groups, each with a receiver and `degree` senders, that are drawn once; every incast uses one of them,
        drawn uniformly. Applications are static (III-D), so a sender meets the same receiver again. Each group has its
        own receiver as long as there are enough hosts; otherwise some links would carry twice the load of others. No
        sender of a group has a long flow to its receiver. Default: senders and receiver are drawn for each incast.
    is_persistent : bool
        Follow the paper literally: every host starts one long flow to a random receiver at `start`, and `load` only
        sets the load of short flows, to ``s * load``. Use with ``long="1GB"``.
    """
    share = DART_MIXES.get(mix) if isinstance(mix, str) else mix
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share < 1:
        raise ConfigError("mix", mix, f"one of {', '.join(DART_MIXES)}, or a share between 0 and 1")
    if isinstance(load, bool) or not isinstance(load, Real) or not 0 < load <= MOST_LOAD:
        raise ConfigError("load", load, f"a fraction of the links' rate, above 0 and at most {MOST_LOAD}")
    part, load = float(share), float(load)
    network = as_fabric(network)  # once for all generators
    incast = incasts(
        network, degree, short, load=load * part, of=of, duration=duration, jitter=jitter, start=start, seed=seed
    )
    if checked_flag("is_persistent", is_persistent):
        rest = _one_each(network, long, start, seed)
    else:
        rest = poisson(network, long, load * (1 - part), of=of, duration=duration, start=start, seed=seed)
    if groups is not None:
        incast = _in_groups(network, incast, rest, degree, checked_whole("groups", groups, 1), seed)
    return combine(rest, incast)


def _one_each(network: Network, sizes: Sizes, start: Quantity, seed: int) -> pd.DataFrame:
    traffic = Traffic(network)
    hosts = traffic.senders
    rng = stream(seed, DART_LONG)
    to = (np.arange(len(hosts)) + rng.integers(1, len(hosts), size=len(hosts))) % len(hosts)
    lengths = size_distribution(sizes).sample(rng, len(hosts))
    work = from_columns(traffic.names(hosts), traffic.names(hosts[to]), lengths, time_ps(start, field="start"))
    return drawn_from(work, sizes)


def _in_groups(
    network: Network, incast: pd.DataFrame, long_flows: pd.DataFrame, degree: int, groups: int, seed: int
) -> pd.DataFrame:
    """Return the incasts with senders and receivers from groups that are drawn once, avoiding the long flows' pairs."""
    rng = stream(seed, DART_GROUPS)
    traffic = Traffic(network)
    hosts = traffic.names(traffic.senders)
    feeding: dict[Host, set[Host]] = defaultdict(set)
    for src, dst in zip(long_flows["src"], long_flows["dst"], strict=True):
        feeding[dst].add(src)
    receivers, senders = [], []
    order = rng.permutation(len(hosts))
    for group in range(groups):
        receiver = hosts[order[group % len(hosts)]]
        others = [host for host in hosts if host != receiver and host not in feeding[receiver]]
        if len(others) < degree:
            allowed = f"must be at most {len(others)}, the hosts without a long flow to {receiver!r}"
            raise ConfigError("degree", degree, allowed)
        receivers.append(receiver)
        senders.append([others[i] for i in rng.choice(len(others), size=degree, replace=False)])
    drawn = rng.integers(groups, size=len(incast) // degree)
    frame = incast.copy()
    frame["src"] = as_objects(host for group in drawn for host in senders[group])
    frame["dst"] = as_objects(receivers[group] for group in drawn for _ in range(degree))
    return frame
