"""The published distributions of message sizes that the papers use: their knots are in `sizes.csv`.

They are knots of the published CDFs as the simulators of several groups circulate them, compared across at least two
public sources each. The CDF is linear in between; two knots of the same size are a point mass. Dart needs none (1 GB,
and 2, 4 or 8 KB), nor does Improved Go-Back-N (4 MB).

REN states that in data mining more than 80% of the flows are below 100 KB and about 10% above 1 MB: here 82.2% and
8.8%. It does not say which Hadoop distribution it used; "hadoop" is the one that HPCC used, and "hadoop_wide" covers
all traffic of the same cluster.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.typed import named
from rdmacc.units import Quantity, size_bytes
from rdmacc.workload.sizes import SizeDistribution

Sizes: TypeAlias = SizeDistribution | Quantity
"""Type of the generators' `size`: a distribution, the name of a published one, or one size for all."""

_DCTCP = "Alizadeh et al., Data Center TCP, SIGCOMM 2010; used by REN and RCC"
_VL2 = "Greenberg et al., VL2, SIGCOMM 2009; used by REN and RCC"
_ROY = "Roy et al., Inside the Social Network's (Datacenter) Network, SIGCOMM 2015"
_HPCC = "Li et al., HPCC, SIGCOMM 2019"

_SOURCES = {
    "web_search": _DCTCP,
    "data_mining": _VL2,
    "cache_follower": f"{_ROY}; used by REN and RCC",
    "web_server": f"{_ROY}; used by RCC",
    "hadoop": f"{_ROY}, as used by HPCC",
    "hadoop_wide": f"{_ROY}, all traffic",
    "alibaba_storage": f"{_HPCC}, storage in 2019",
    "solar": "Miao et al., From Luna to Solar, SIGCOMM 2022",
}


def _published() -> Mapping[str, SizeDistribution]:
    lines = Path(__file__).with_name("sizes.csv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split(",") for line in lines]
    knots = {name: [(float(size), float(chance)) for of, size, chance in rows if of == name] for name in _SOURCES}
    return {name: SizeDistribution.from_cdf(knots[name], name, source) for name, source in _SOURCES.items()}


SIZES: Mapping[str, SizeDistribution] = MappingProxyType(_published())
"""The published distributions by name."""

DART_SHORT = SizeDistribution.choice(["2KB", "4KB", "8KB"], name="dart_short")
"""Dart's short flows: 2, 4 or 8 KB (of 1000 bytes) with equal probability (VI-A)."""

_CITED = frozenset({*SIZES, DART_SHORT.name})


def drawn_from(work: pd.DataFrame, *sizes: Sizes) -> pd.DataFrame:
    """Record in a workload which distributions its sizes come from, so that a result can cite them."""
    known = map(size_distribution, sizes)
    work.attrs["sizes"] = work.attrs.get("sizes", {}) | {one.name: one.source for one in known if one.name in _CITED}
    return work


@named
def size_distribution(size: Sizes) -> SizeDistribution:
    """Return `size` as a distribution: itself, the published one of that name (see ``SIZES``), or one size for all.

    >>> round(size_distribution("web_search").mean, 3), size_distribution("64kB").mean
    (1710004.445, 64000.0)
    """
    if isinstance(size, SizeDistribution):
        return size
    if isinstance(size, str) and size in SIZES:
        return SIZES[size]
    try:
        return _always(size_bytes(size, field="size", least=1))
    except ConfigError as error:
        allowed = f"{error.allowed}; or a SizeDistribution, or one of {', '.join(SIZES)}"
        raise ConfigError("size", size, allowed) from None


@lru_cache(256)
def _always(length: int) -> SizeDistribution:
    return SizeDistribution.choice([length])
