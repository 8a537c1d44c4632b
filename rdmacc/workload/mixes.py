"""Dart's mixes: short flows in incasts, with long flows in the background."""

from collections import defaultdict
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.typed import checked_flag
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.arrivals import incasts, poisson
from rdmacc.workload.choice import generator
from rdmacc.workload.compose import combine
from rdmacc.workload.frame import Host, as_objects, checked_whole, from_columns, stream
from rdmacc.workload.load import MOST_LOAD, Load
from rdmacc.workload.published import DART_SHORT, Sizes, drawn_from, size_distribution
from rdmacc.workload.traffic import Network, Traffic, as_fabric

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
    arrive as a Poisson process, with 1 MB each, so that a run of milliseconds has many of them.

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

    Returns
    -------
    DataFrame
        The long flows, then the short ones; each incast is a group.

    Raises
    ------
    ConfigError
        For an unknown mix, for fewer than one group, and as :func:`poisson` and :func:`incasts`.
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
