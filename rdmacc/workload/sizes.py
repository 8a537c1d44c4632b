"""Distributions of message sizes: a cumulative distribution function, piecewise linear between its knots.

The published distributions that the papers use have their knots in `sizes.csv`, as the simulators of several groups
circulate them, compared across at least two public sources each. Dart needs none (1 GB, and 2, 4 or 8 KB), nor does
Improved Go-Back-N (4 MB).

REN states that in data mining more than 80% of the flows are below 100 KB and about 10% above 1 MB: here 82.2% and
8.8%. It does not say which Hadoop distribution it used; "hadoop" is the one that HPCC used, and "hadoop_wide" covers
all traffic of the same cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import named, typed
from rdmacc.units import Quantity, format_size, size_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats: TypeAlias = npt.NDArray[np.float64]

_TINY = 1e-9


@dataclass(frozen=True)
class SizeDistribution:
    """A distribution of sizes, by its CDF.

    Create one with :meth:`from_cdf`, :meth:`from_file`, :meth:`choice` or :meth:`uniform`. The CDF is linear between
    knots; two knots of the same size are a point mass, and two of the same probability a gap. A sampled size is rounded
    to whole bytes, at least 1.

    Examples
    --------
    >>> sizes = SizeDistribution.from_cdf([("1kB", 0.5), ("9kB", 1)])
    >>> sizes.mean, sizes.cdf([999, 1000, 5000]).tolist(), sizes.quantile(0.75)
    (3000.0, [0.0, 0.5, 0.75], 5000.0)
    """

    name: str
    """Name for tables and plots."""
    sizes: tuple[float, ...]
    """Sizes of the knots in bytes, ascending."""
    probabilities: tuple[float, ...]
    """Probability of at most that size, ascending from 0 to 1; as long as `sizes`."""
    source: str = ""
    """Source of the data."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ConfigError("name", self.name, "a string")
        try:
            sizes, chances = np.asarray(self.sizes, float), np.asarray(self.probabilities, float)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError("sizes", self.sizes, "numbers, like the probabilities", where=self.name) from None
        if sizes.ndim != 1 or chances.ndim != 1 or len(sizes) < 2 or len(sizes) != len(chances):
            allowed = "at least two knots, and as many probabilities"
            raise ConfigError("sizes", self.sizes, allowed, where=self.name)
        if not (np.isfinite(sizes).all() and sizes[0] >= 0 and (np.diff(sizes) >= 0).all() and 0 < sizes[-1] <= 2**62):
            allowed = "finite and ascending, from at least 0 bytes to more than 0, and at most 2**62"
            raise ConfigError("sizes", self.sizes, allowed, where=self.name)
        if not ((np.diff(chances) >= 0).all() and chances[0] == 0 and chances[-1] == 1):
            allowed = "ascending, from 0 to 1"
            raise ConfigError("probabilities", self.probabilities, allowed, where=self.name)

    @classmethod
    @typed
    def from_cdf(cls, knots: Iterable[Sequence[Any]], name: str = "custom", source: str = "") -> SizeDistribution:
        """Create a distribution from its knots.

        Parameters
        ----------
        knots : iterable of (size, probability)
            Pairs in ascending order, or an array of shape (K, 2). A size is in bytes or has a unit. If the first
            probability is above 0, the first size is a point mass. The last probability is 1, or 100 for percent.
        name, source : str
            Name for tables and plots, and the source of the data.
        """
        pairs = [tuple(knot) if isinstance(knot, Iterable) else (knot,) for knot in knots]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise ConfigError("knots", pairs, "(size, probability) pairs, at least one", where=name)
        sizes = [_knot_size(size, name) for size, _ in pairs]
        chances = [_probability(chance, name) for _, chance in pairs]
        if chances[-1] > 1:
            chances = [chance / 100 for chance in chances]
        if abs(chances[-1] - 1) < _TINY:
            chances[-1] = 1.0
        if chances[0] > 0:
            sizes, chances = [sizes[0], *sizes], [0.0, *chances]
        return cls(name, tuple(sizes), tuple(chances), source)

    @classmethod
    @typed
    def from_file(cls, path: str | PathLike[str], name: str | None = None) -> SizeDistribution:
        """Read a distribution from a text file with one knot per line, as many simulators use them.

        The first number of a line is the size in bytes, the last the probability (or percent); anything in between is
        skipped. Empty lines and lines that begin with # are ignored.

        Parameters
        ----------
        path : path
            Text file in UTF-8.
        name : str, optional
            Name of the distribution; default: the file's name.
        """
        knots = []
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
            words = line.replace(",", " ").split()
            if not words or words[0].startswith("#"):
                continue
            try:
                knots.append((float(words[0]), float(words[-1] if len(words) > 1 else "none")))
            except ValueError:
                allowed = "a size and a probability"
                raise ConfigError("line", line, allowed, where=f"{path}, line {number}") from None
        return cls.from_cdf(knots, Path(path).stem if name is None else name, str(path))

    @classmethod
    @typed
    def choice(
        cls, sizes: Sequence[Quantity], weights: Sequence[float] | None = None, name: str = ""
    ) -> SizeDistribution:
        """Create a distribution over `sizes`, with probabilities in proportion to `weights`.

        Parameters
        ----------
        sizes : sequence of number or str
            Sizes such as ``"64kB"``; bare numbers are bytes.
        weights : sequence of float, optional
            Above 0, one for each size; equal by default.
        name : str
            Name of the distribution; default: the sizes.
        """
        lengths = [size_bytes(size, field="sizes") for size in sizes]
        shares = np.ones(len(lengths)) if weights is None else np.asarray(weights, dtype=np.float64)
        if not lengths or min(lengths) < 1:
            raise ConfigError("sizes", list(sizes), "at least one size of at least 1 byte")
        if shares.shape != (len(lengths),) or not (np.isfinite(shares).all() and (shares > 0).all()):
            raise ConfigError("weights", weights, f"{len(lengths)} numbers above 0")
        order = np.argsort(lengths, kind="stable")
        ends = np.cumsum(shares[order] / shares.sum())
        ends[-1] = 1.0
        chances = np.column_stack([np.r_[0.0, ends[:-1]], ends]).ravel()
        label = name or " or ".join(format_size(lengths[i]) for i in order)
        return cls(label, tuple(float(lengths[i]) for i in np.repeat(order, 2)), tuple(chances.tolist()))

    @classmethod
    @typed
    def uniform(cls, low: Quantity, high: Quantity, name: str = "") -> SizeDistribution:
        """Create the uniform distribution from `low` to `high`.

        Parameters
        ----------
        low : number or str
            Smallest size, at least 1 byte.
        high : number or str
            Largest size, at least `low`.
        name : str
            Name of the distribution; default: the range.
        """
        ends = size_bytes(low, field="low"), size_bytes(high, field="high")
        if ends[0] > ends[1] or ends[0] < 1:
            raise ConfigError("low", low, f"at least 1 byte and at most high = {high!r}")
        label = name or f"{format_size(ends[0])} to {format_size(ends[1])}"
        return cls(label, (float(ends[0]), float(ends[1])), (0.0, 1.0))

    @property
    def mean(self) -> float:
        """Mean size in bytes: the exact integral of the piecewise linear CDF."""
        low, high, chance = self._segments()
        return float((chance * (low + high) / 2).sum())

    @property
    def knots(self) -> pd.DataFrame:
        """The knots: `size_bytes`, `probability`."""
        return pd.DataFrame({"size_bytes": self.sizes, "probability": self.probabilities})

    @typed
    def cdf(self, size: npt.ArrayLike) -> Floats:
        """Return the probability of a size of at most `size` bytes, elementwise."""
        return np.interp(np.asarray(size, dtype=np.float64), self.sizes, self.probabilities, left=0.0)

    @typed
    def quantile(self, probability: npt.ArrayLike) -> Any:
        """Return the quantile: the size that a fraction `probability` of the messages does not exceed, elementwise."""
        found = np.interp(np.asarray(probability, dtype=np.float64), self.probabilities, self.sizes)
        return found if np.ndim(found) else float(found)

    @typed
    def byte_share(self, size: npt.ArrayLike) -> Floats:
        """Return the fraction of all bytes in messages of at most `size` bytes, elementwise."""
        low, high, chance = self._segments()
        x = np.clip(np.asarray(size, dtype=np.float64)[..., None], low, high)
        width = high - low
        reached = np.asarray(size, dtype=np.float64)[..., None] >= low
        part = np.where(width > 0, (x - low) / np.where(width > 0, width, 1), 1.0) * reached
        return np.asarray((chance * part * (low + x) / 2).sum(axis=-1) / self.mean)

    @typed
    def sample(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Return `count` random sizes in whole bytes, at least 1; ``int64`` of shape (count,)."""
        sizes = np.interp(rng.random(count), self.probabilities, self.sizes)
        return np.maximum(np.rint(sizes), 1.0).astype(np.int64)

    @typed
    def capped(self, limit: Quantity) -> SizeDistribution:
        """Return the distribution of ``min(size, limit)``: the tail becomes a point mass at `limit`."""
        most = size_bytes(limit, field="limit", least=1)
        if most >= self.sizes[-1]:
            return self
        kept = [(size, chance) for size, chance in zip(self.sizes, self.probabilities) if size <= most]
        knots = [*kept, (float(most), float(self.cdf(most))), (float(most), 1.0)]
        name = f"{self.name}, capped at {format_size(most)}"
        return SizeDistribution(
            name, tuple(size for size, _ in knots), tuple(chance for _, chance in knots), self.source
        )

    @typed
    def mean_packets(self, payload_bytes: int) -> float:
        """Return the mean number of packets of at most `payload_bytes` per message, by the exact integral."""
        if payload_bytes < 1:
            raise ConfigError("payload_bytes", payload_bytes, "at least 1 byte")
        low, high, chance = self._segments()

        def area(size: Floats) -> Floats:
            """Return the integral from 0 of the number of packets for a size rounded to whole bytes."""
            above = np.maximum(size - 0.5, 0.0)  # a size of up to half a byte above k packets is rounded into k
            full = np.floor(above / payload_bytes)
            return np.asarray(size + payload_bytes * full * (full - 1) / 2 + (above - full * payload_bytes) * full)

        width = high - low
        spread = (area(high) - area(low)) / np.where(width > 0, width, 1)
        point = np.ceil(np.maximum(np.rint(low), 1) / payload_bytes)
        return float((chance * np.where(width > 0, spread, point)).sum())

    @typed
    def mean_wire_bytes(self, payload_bytes: int, header_bytes: int) -> float:
        """Return the mean size on the wire, with a header of `header_bytes` on each packet."""
        return self.mean + header_bytes * self.mean_packets(payload_bytes)

    @typed
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the fraction of messages, and of bytes, up to each message size."""
        from rdmacc.show.style import COLOURS, new_axes, note, style

        positive = [size for size in self.sizes if size > 0]
        grid = np.geomspace(max(min(positive) / 2, 1), max(positive) * 1.5, 2000)
        grid = np.unique(np.r_[grid, positive, np.nextafter(positive, 0)])
        with style():
            ax = new_axes(ax)
            ax.plot(grid, self.cdf(grid), color=COLOURS["blue"], label="of the messages")
            ax.plot(grid, self.byte_share(grid), color=COLOURS["vermilion"], label="of the bytes")
            ax.axvline(self.mean, color="0.6", linewidth=1, linestyle=":")
            note(ax, f"mean {format_size(self.mean, 3)}", (self.mean, 0.5), (5, 0), fontsize=9, color="0.35")
            ax.set(title=self.name, xscale="log", xlabel="message size (bytes)", ylabel="fraction", ylim=(0, 1.02))
            ax.legend(loc="upper left")
        return ax

    def _segments(self) -> tuple[Floats, Floats, Floats]:
        """Return lower end, upper end and probability of each piece."""
        sizes = np.asarray(self.sizes, dtype=np.float64)
        return sizes[:-1], sizes[1:], np.diff(np.asarray(self.probabilities, dtype=np.float64))


def _knot_size(size: Any, name: str) -> float:
    if isinstance(size, str):
        return float(size_bytes(size, field="size"))
    try:
        return float(size)
    except (TypeError, ValueError):
        raise ConfigError("size", size, "a number of bytes or a size with a unit", where=name) from None


def _probability(chance: Any, name: str) -> float:
    try:
        value = float(chance)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value <= 100:
        raise ConfigError("probability", chance, "from 0 to 1, or from 0 to 100 in percent", where=name)
    return value


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
