"""Dart's mixes of short flows in incasts and long flows in the background."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.arrivals import incasts, poisson
from rdmacc.workload.compose import combine
from rdmacc.workload.frame import from_columns, stream
from rdmacc.workload.load import Load
from rdmacc.workload.published import DART_SHORT, Sizes, size_distribution
from rdmacc.workload.traffic import Network, Traffic

__all__ = ["DART_MIXES", "dart_mix"]

DART_LONG = 113

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
        For an unknown mix, and as :func:`poisson` and :func:`incasts`.
    """
    share = DART_MIXES.get(mix) if isinstance(mix, str) else mix
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        raise ConfigError("mix", mix, f"one of {', '.join(DART_MIXES)}, or a share between 0 and 1")
    part = float(share)
    incast = incasts(network, degree, short, load=load * part, of=of, duration=duration, start=start, seed=seed)
    if not is_persistent:
        rest = poisson(network, long, load * (1 - part), of=of, duration=duration, start=start, seed=seed)
        return combine(rest, incast)
    traffic = Traffic(network)
    hosts = traffic.senders
    rng = stream(seed, DART_LONG)
    to = (np.arange(len(hosts)) + rng.integers(1, len(hosts), size=len(hosts))) % len(hosts)
    lengths = size_distribution(long).sample(rng, len(hosts))
    begin = time_ps(start, field="start")
    flows = from_columns(traffic.names(hosts), traffic.names(hosts[to]), lengths, begin)
    return combine(flows, incast)
