"""Dart's mixes of short flows in incasts and long flows in the background."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.arrivals import incasts, poisson
from rdmacc.workload.compose import combine
from rdmacc.workload.frame import Host, as_objects, checked_flag, checked_whole, from_columns, stream
from rdmacc.workload.load import MOST_LOAD, Load
from rdmacc.workload.published import DART_SHORT, Sizes, drawn_from, size_distribution
from rdmacc.workload.traffic import Network, Traffic

__all__ = ["DART_MIXES", "dart_mix"]

DART_LONG, DART_GROUPS = 113, 120

DART_MIXES: Mapping[str, float] = MappingProxyType({"light": 0.1, "typical": 0.4, "heavy": 0.7})
"""Share of the load that short flows make up in Dart's mixes. The paper states 0.4; the others follow from
its table II, in which IOFD's increase of the load is the share of short flows times their path's dilation."""


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
    start: Quantity = "0us",
    seed: int = 0,
) -> pd.DataFrame:
    """Return Dart's mix of short flows in incasts and long flows in the background (VI-A).

    A share s of the load is short flows, in Poisson incasts of `degree` random senders to a random receiver;
    the rest is long flows between random pairs. The paper does not say what load is a fraction of, nor how
    long flows of 1 GB make up a part of it. Assumed: of the ToRs' uplinks, which are oversubscribed; and long
    flows that arrive as a Poisson process, of 1 MB so that a run of milliseconds has many of them.

    Parameters
    ----------
    network : networkx.Graph or Fabric
        The network.
    load : float
        Of short and long flows together.
    mix : str or float
        "light", "typical" or "heavy" (s = 0.1, 0.4, 0.7), or s itself, above 0 and below 1.
    duration : number or str
        For how long flows arrive.
    degree : int
        Senders of an incast.
    short, long : SizeDistribution, str or number
        Sizes of the flows; default 2, 4 or 8 KB with equal probability, and 1 MB.
    groups : int, optional
        So many groups of a receiver and `degree` senders are drawn once, and every incast is one of theirs, drawn
        uniformly: applications are static (III-D), so that a sender meets the same receiver again. Each group has a
        receiver of its own, as long as there are hosts: else some links would have to carry twice what others do. No
        sender of a group has a long flow to its receiver. Default: senders and a receiver are drawn for each incast.
    is_persistent : bool
        The paper's words: every host starts one long flow to a random receiver at `start`, and `load` sets
        the short flows alone, to ``s * load``. Give ``long="1GB"`` then.
    of : str, sequence of (from, to), or LoadDefinition
        What the load is a fraction of.
    start : number or str
        When flows begin to arrive.
    seed : int
        Of everything.

    Returns
    -------
    DataFrame
        The long flows, then the short ones; the latter have a group, their incast.

    Raises
    ------
    ConfigError
        For an unknown mix; for fewer groups than one; and as :func:`poisson` and :func:`incasts`.
    """
    share = DART_MIXES.get(mix) if isinstance(mix, str) else mix
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share < 1:
        raise ConfigError("mix", mix, f"one of {', '.join(DART_MIXES)}, or a share between 0 and 1")
    if isinstance(load, bool) or not isinstance(load, Real) or not 0 < load <= MOST_LOAD:
        raise ConfigError("load", load, f"a fraction of the links' rate, above 0 and at most {MOST_LOAD}")
    part, load = float(share), float(load)
    incast = incasts(network, degree, short, load=load * part, of=of, duration=duration, start=start, seed=seed)
    if checked_flag("is_persistent", is_persistent):
        rest = _one_each(network, long, start, seed)
    else:
        rest = poisson(network, long, load * (1 - part), of=of, duration=duration, start=start, seed=seed)
    if groups is not None:
        incast = _in_groups(network, incast, rest, degree, checked_whole("groups", groups, 1), seed)
    return combine(rest, incast)


def _one_each(network: Network, sizes: Sizes, start: Quantity, seed: int) -> pd.DataFrame:
    """Return one flow of every host to a random other one."""
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
    """Return the incasts with the ends of groups that are drawn once, clear of the long flows' pairs."""
    rng = stream(seed, DART_GROUPS)
    hosts = Traffic(network).names(Traffic(network).senders)
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
