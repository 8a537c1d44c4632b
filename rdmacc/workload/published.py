"""The published distributions of message sizes that the papers use, as our own tables.

Knots of the published CDFs as the simulators of several groups circulate them, compared across at least two public
sources each: `bytes, cumulative probability`. The CDF is linear in between; two knots of the same size are a point
mass. Dart needs none (1 GB, and 2, 4 or 8 KB), nor does Improved Go-Back-N (4 MB).

REN states that in data mining more than 80% of the flows are below 100 KB and about 10% above 1 MB: here 82.2% and
8.8%. It does not say which Hadoop distribution it used; "hadoop" is the one that HPCC used, and "hadoop_wide" covers
all traffic of the same cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
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

_TABLES: tuple[tuple[str, str, tuple[tuple[float, float], ...]], ...] = (
    ("web_search", _DCTCP, (
        (9000, 0), (9000, 0.15), (18582, 0.2), (28140, 0.3), (38913, 0.4), (77468, 0.53), (200e3, 0.6),
        (1e6, 0.7), (2e6, 0.8), (5e6, 0.9), (10e6, 0.97), (30e6, 1),
    )),
    ("data_mining", _VL2, (
        (100, 0), (10e3, 0.8), (152522, 0.8346), (390541, 0.9), (3.22354e6, 0.953846), (100e6, 0.99),
        (1e9, 1),
    )),
    ("cache_follower", f"{_ROY}; used by REN and RCC", (
        (70, 0), (70, 0.01), (150, 0.015), (150, 0.04), (300, 0.08), (350, 0.1), (350, 0.19), (450, 0.2),
        (500, 0.28), (600, 0.3), (700, 0.35), (1100, 0.4), (2000, 0.42), (10e3, 0.48), (30e3, 0.5),
        (100e3, 0.52), (200e3, 0.6), (400e3, 0.68), (600e3, 0.7), (1.5e6, 0.701), (2e6, 0.8), (2.4e6, 0.9),
        (3e6, 1),
    )),
    ("web_server", f"{_ROY}; used by RCC", (
        (150, 0), (300, 0.12), (300, 0.2), (600, 0.2), (1000, 0.3), (2000, 0.4), (3100, 0.5), (6000, 0.6),
        (20e3, 0.71), (60e3, 0.8), (150e3, 0.82), (300e3, 0.9), (500e3, 1),
    )),
    ("hadoop", f"{_ROY}, as used by HPCC", (
        (0, 0), (100, 0.01), (200, 0.02), (300, 0.05), (350, 0.15), (400, 0.2), (500, 0.3), (600, 0.4),
        (700, 0.5), (1000, 0.6), (2000, 0.67), (7000, 0.7), (30e3, 0.72), (50e3, 0.82), (80e3, 0.87),
        (120e3, 0.9), (300e3, 0.95), (1e6, 0.975), (2e6, 0.99), (10e6, 1),
    )),
    ("hadoop_wide", f"{_ROY}, all traffic", (
        (0, 0), (50, 0.00165822), (92, 0.00454106), (164, 0.00843375), (228, 0.0164019), (264, 0.030441),
        (307, 0.053523), (331, 0.136924), (378, 0.174081), (413, 0.215268), (486, 0.265483), (586, 0.329764),
        (631, 0.459396), (727, 0.532732), (839, 0.582952), (1288, 0.62507), (1640, 0.666223),
        (3175, 0.681154), (6354, 0.700098), (12858, 0.70899), (23307, 0.715895), (40413, 0.739895),
        (50306, 0.815225), (71543, 0.835248), (79823, 0.871405), (151110, 0.914482), (264876, 0.94853),
        (566337, 0.962435), (1.23797e6, 0.972314), (1.96594e6, 0.984274), (2.95516e6, 0.9872),
        (4.74577e6, 0.989107), (10.963e6, 0.990934), (96.0471e6, 1),
    )),
    ("alibaba_storage", f"{_HPCC}, storage in 2019", (
        (0, 0), (4000, 0.2293), (8000, 0.6921), (16e3, 0.8061), (32e3, 0.9047), (64e3, 0.9353),
        (128e3, 0.9677), (256e3, 0.9753), (2e6, 1),
    )),
    ("solar", "Miao et al., From Luna to Solar, SIGCOMM 2022", (
        (0, 0), (4095, 1e-5), (4096, 0.3), (16383, 0.35), (16384, 0.5), (65535, 0.6), (65536, 0.95),
        (262144, 1),
    )),
)  # fmt: skip

SIZES: Mapping[str, SizeDistribution] = MappingProxyType(
    {name: SizeDistribution.from_cdf(knots, name, source) for name, source, knots in _TABLES}
)
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
    """Return a distribution of sizes.

    Parameters
    ----------
    size : SizeDistribution, str or number
        A distribution; the name of a published one, as in ``SIZES``; or one size for all, such as "64kB".

    Raises
    ------
    ConfigError
        For a string that is neither a name nor a size, or a size below 1 byte.

    Examples
    --------
    >>> round(size_distribution("web_search").mean, 3), size_distribution("64kB").mean
    (1710004.445, 64000.0)
    """
    if isinstance(size, SizeDistribution):
        return size
    if isinstance(size, str) and size in SIZES:
        return SIZES[size]
    try:
        length = size_bytes(size, field="size")
    except ConfigError as error:
        allowed = f"{error.allowed}; or a SizeDistribution, or one of {', '.join(SIZES)}"
        raise ConfigError("size", size, allowed) from None
    if length < 1:
        raise ConfigError("size", size, "at least 1 byte")
    return SizeDistribution.choice([length])
