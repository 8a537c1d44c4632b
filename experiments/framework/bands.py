"""Bands: the values for which a claim holds, as data; at the end those of several numbers, and combinations.

A measurement returns a number, or numbers by name, possibly nested. A band judges them. It also determines the words in
tables and the margin. Values just inside and outside every bound are worked out in the tests, which feed them to each
claim.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

from rdmacc.errors import ConfigError, unknown
from rdmacc.experiments.framework.noise import half_width

__all__ = [
    "All", "AnyOf", "At", "AtLeast", "AtMost", "Band", "Between", "Each", "Exactly", "Falls", "Highest", "LessThan",
    "Lowest", "MoreThan", "Ordered", "Part", "Rises", "Size", "Some", "Within", "show", "show_all",
]  # fmt: skip
"""The words of figures."""

Value = Any
"""A number, or a mapping from names to values."""

_SCALES = {
    "%": (100.0, "%"), "points": (100.0, " points"), "ns": (1e-3, " ns"), "us": (1e-6, " us"), "ms": (1e-9, " ms"),
    "s": (1e-12, " s"), "Gb/s": (1e-9, " Gb/s"), "Mb/s": (1e-6, " Mb/s"), "KB": (1e-3, " KB"), "MB": (1e-6, " MB"),
    "x": (1.0, "x"), "": (1.0, ""),
}  # fmt: skip
"""Factor and suffix by unit: times are kept in ps, rates in bps, sizes in bytes, shares as fractions."""
_MOST_SHOWN = 8
_ROUNDING = 1e-12
"""A bound that counts as inside is met to this part of it."""


def in_unit(value: float, unit: str) -> tuple[float, str]:
    """Return a number of a table in the unit that it is shown in, and the unit as it stands behind it."""
    factor, suffix = _SCALES.get(unit, (1.0, f" {unit}"))
    return value * factor, suffix


def show(value: float, unit: str = "") -> str:
    """Return a number in words: ``show(0.25, "%")`` is "25%"."""
    number, suffix = in_unit(float(value), unit)
    digits = f"{number:,.0f}" if 1e4 <= abs(number) < 1e12 else f"{number:.4g}"
    return digits + suffix


def show_all(value: Value, unit: str = "") -> str:
    """Return numbers in words, by name; only the smallest and the largest if there are many."""
    if not isinstance(value, Mapping):
        return show(value, unit)
    plain = {name: one for name, one in value.items() if not isinstance(one, Mapping)}
    words = [f"{name}: {show_all(one, unit)}" for name, one in value.items() if isinstance(one, Mapping)]
    if len(plain) > _MOST_SHOWN and not any(math.isnan(one) for one in plain.values()):
        low, high = min(plain, key=plain.__getitem__), max(plain, key=plain.__getitem__)
        ends = f"{show(plain[low], unit)} ({low}) to {show(plain[high], unit)} ({high})"
        return "; ".join([f"{ends}, {len(plain)} numbers", *words])
    return "; ".join([", ".join(f"{name} {show(one, unit)}" for name, one in plain.items()), *words]).strip("; ")


def spread(value: Value, others: Sequence[Value]) -> Value:
    """Return half of the 95% interval of each number, from its values without each repetition."""
    if isinstance(value, Mapping):
        return {name: spread(one, [other[name] for other in others if name in other]) for name, one in value.items()}
    return half_width(value, others)


def only(value: Value, keeps: Callable[[float], bool]) -> Value:
    """Return the numbers that a function keeps, by name; None if it keeps none."""
    if not isinstance(value, Mapping):
        return value if keeps(value) else None
    found = {name: only(one, keeps) for name, one in value.items()}
    return {name: one for name, one in found.items() if one is not None} or None


class Band(ABC):
    """The values for which a claim holds. NaN is never among them."""

    unit: str = ""
    """Display unit of its numbers; empty: that of the claim."""
    is_open = False
    """Whether the bounds are excluded."""

    @abstractmethod
    def margins(self, value: Value) -> list[float]:
        """Return how far a value is inside each bound (above zero) or outside, relative to it; 0 is on the bound."""

    def margin(self, value: Value) -> float:
        return float(min(self.margins(value), default=-math.inf))

    def holds(self, value: Value) -> bool:
        found = self.margins(value)
        return bool(found) and all(one > 0 if self.is_open else one >= -_ROUNDING for one in found)

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        """Return whether the band holds, or None if an edge lies within the interval that the other values give."""
        every = list(zip(self.margins(value), *(self.margins(one) for one in others), strict=False))
        widths = [half_width(one, rest) if rest and math.isfinite(one) else 0.0 for one, *rest in every]
        if not any(widths):
            return self.holds(value)
        found = [
            None if width and abs(margin) <= width else margin >= -_ROUNDING
            for (margin, *_), width in zip(every, widths, strict=True)
        ]
        return False if False in found else None if None in found else True

    @abstractmethod
    def words(self, unit: str = "") -> str:
        """Return the band in words."""

    def shown(self, value: Value, unit: str = "") -> str:
        """Return a value in words, each number in the unit of its band."""
        return show_all(value, self.unit or unit)


@dataclass(frozen=True)
class Number(Band):
    """A band of one number: between two limits, which may be included or excluded."""

    @property
    @abstractmethod
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number inside."""

    def holds(self, value: Value) -> bool:
        low, high = self.limits
        return bool(low <= value <= high)

    def margins(self, value: Value) -> list[float]:
        """Return the distance to either limit: which is the nearer may change from one repetition to the next."""
        low, high = self.limits
        gaps = [(value - low) / (abs(low) or 1.0)] if math.isfinite(low) else []
        return [*gaps, (high - value) / (abs(high) or 1.0)] if math.isfinite(high) else gaps

    def words(self, unit: str = "") -> str:
        low, high = (show(one, self.unit or unit) for one in self.limits)
        return f"{low} to {high}"


@dataclass(frozen=True)
class AtLeast(Number):
    """At least the number. The slack is a fraction of the bound."""

    bound: float
    unit: str = ""
    slack: float = 0.0
    _name, _is_least = "at least", True

    @property
    def limits(self) -> tuple[float, float]:
        slack = self.slack * abs(self.bound)
        return (self.bound - slack, math.inf) if self._is_least else (-math.inf, self.bound + slack)

    def holds(self, value: Value) -> bool:
        return super().holds(value) and not (self.is_open and value == self.bound)  # the bound may be infinite

    def words(self, unit: str = "") -> str:
        return f"{self._name} {show(self.bound, self.unit or unit)}{in_brackets(self.slack)}"


class AtMost(AtLeast):
    """At most the number. The slack is a fraction of the bound."""

    _name, _is_least = "at most", False


class MoreThan(AtLeast):
    """More than the number."""

    _name, is_open = "more than", True


class LessThan(AtLeast):
    """Less than the number."""

    _name, _is_least, is_open = "less than", False, True


@dataclass(frozen=True)
class Between(Number):
    """From one number to another."""

    low: float
    high: float
    unit: str = ""

    @property
    def limits(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class Within(Number):
    """Near a target: within an absolute distance, a share of it, or a factor. Give one of them."""

    target: float
    unit: str = ""
    by: float | None = None
    share: float | None = None
    factor: float | None = None

    def __post_init__(self) -> None:
        given = [one for one in (self.by, self.share, self.factor) if one is not None]
        if len(given) != 1:
            raise ConfigError("Within", given, "one of by, share, factor")

    @property
    def limits(self) -> tuple[float, float]:
        if self.factor is not None:
            low, high = sorted((self.target / self.factor, self.target * self.factor))
            return low, high
        by = self.by if self.by is not None else (self.share or 0.0) * abs(self.target)
        return self.target - by, self.target + by

    def words(self, unit: str = "") -> str:
        if self.by is not None:
            return super().words(unit)
        near = show(self.share, "%") if self.share is not None else f"a factor of {self.factor:g}"
        return f"within {near} of {show(self.target, self.unit or unit)}"


@dataclass(frozen=True)
class Size(Number):
    """A size that a sentence states, or a range to `most`, and a third either way (docs/experiments.md)."""

    stated: float
    most: float | None = None
    unit: str = ""
    whole: float = math.inf

    @property
    def limits(self) -> tuple[float, float]:
        low, high = self.stated, self.stated if self.most is None else self.most
        return max(0.0, low - self._reach(low)), min(self.whole, high + self._reach(high))

    def _reach(self, size: float) -> float:
        least = 0.02 * self.whole if math.isfinite(self.whole) else 0.0
        return max(least, min(size, self.whole - size) / 3)


@dataclass(frozen=True)
class Part(Size):
    """A stated part of a whole: above a half, the third is that of the rest; 2 points at least."""

    whole: float = 1.0


@dataclass(frozen=True)
class Exactly(Number):
    """Exactly the number; a bool counts as 1 or 0."""

    target: float
    unit: str = ""

    @property
    def limits(self) -> tuple[float, float]:
        return float(self.target), float(self.target)

    def margins(self, value: Value) -> list[float]:
        return [math.inf] if self.holds(value) else [min(super().margins(value))]

    def words(self, unit: str = "") -> str:
        if isinstance(self.target, bool):
            return "so" if self.target else "not so"
        return f"exactly {show(self.target, self.unit or unit)}"


def in_brackets(slack: float) -> str:
    return f" ({show(slack, '%')} slack)" if slack else ""


SIGNS = {"<": (1, True), "<=": (1, False), ">": (-1, True), ">=": (-1, False)}
"""Direction, and whether equal numbers break the order."""


@dataclass(frozen=True)
class Ordered(Band):
    """The numbers are in the given order, such as ``Ordered(">")``; the slack is a share of each number."""

    sign: str
    slack: float = 0.0

    def __post_init__(self) -> None:
        if self.sign not in SIGNS:
            raise unknown("sign", self.sign, SIGNS)

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        return SIGNS[self.sign][1] and not self.slack

    def margins(self, value: Value) -> list[float]:
        """Return the margin of each step, relative to the previous number."""
        way, _ = SIGNS[self.sign]
        return [way * (b - a) / (abs(a) or 1.0) + self.slack for a, b in pairwise(value.values())]

    def words(self, unit: str = "") -> str:
        name = {"<": "rising", "<=": "not falling", ">": "falling", ">=": "not rising"}[self.sign]
        return f"{name} in this order{in_brackets(self.slack)}"


class Rises(Ordered):
    """The numbers rise at every step."""

    _sign, _name = "<", "rises"

    def __init__(self, slack: float = 0.0) -> None:
        super().__init__(self._sign, slack)

    def words(self, unit: str = "") -> str:
        return f"{self._name} at every step{in_brackets(self.slack)}"


class Falls(Rises):
    """The numbers fall at every step."""

    _sign, _name = ">", "falls"


@dataclass(frozen=True)
class Lowest(Band):
    """The number of this name is the lowest; the slack is a share of each of the other numbers."""

    name: str
    slack: float = 0.0
    way = 1

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        return not self.slack

    def margins(self, value: Value) -> list[float]:
        others = [one for name, one in value.items() if name != self.name]
        return [self.way * (one - value[self.name]) / (abs(one) or 1.0) + self.slack for one in others]

    def words(self, unit: str = "") -> str:
        return f"{self.name} {'lowest' if self.way > 0 else 'highest'}{in_brackets(self.slack)}"


class Highest(Lowest):
    """The number of this name is the highest; the slack is the same against each other number."""

    way = -1


def _of(name: str, others: Sequence[Value]) -> list[Value]:
    return [one[name] for one in others if name in one]


class Several(Band):
    """Bands of one value, or of the numbers in it, of which enough must hold: by default all."""

    @abstractmethod
    def inner(self, value: Value, others: Sequence[Value] = ()) -> list[tuple[Band, Value, Sequence[Value]]]:
        """Return the bands, each with the value that it judges and the same of others."""

    def least(self, value: Value) -> int:
        """Return how many must hold."""
        return max(1, len(self.inner(value)))

    def holds(self, value: Value) -> bool:
        return sum(band.holds(one) for band, one, _ in self.inner(value)) >= self.least(value)

    def margins(self, value: Value) -> list[float]:
        found, least = sorted(band.margin(one) for band, one, _ in self.inner(value)), self.least(value)
        return [found[-least]] if least <= len(found) else []

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        found, least = [band.surely(one, rest) for band, one, rest in self.inner(value, others)], self.least(value)
        return True if found.count(True) >= least else None if len(found) - found.count(False) >= least else False


def leaves(band: Band) -> Iterator[Band]:
    """Return the bands that a band is made of."""
    inner = band.parts if isinstance(band, _Combined) else [band.band] if isinstance(band, Each | At) else ()
    if not inner:
        yield band
    for one in inner:
        yield from leaves(one)


@dataclass(frozen=True)
class Each(Several):
    """A band that every number must satisfy; `of` names what the numbers belong to, such as "load"."""

    band: Band
    of: str = ""

    def inner(self, value: Value, others: Sequence[Value] = ()) -> list[tuple[Band, Value, Sequence[Value]]]:
        return [(self.band, one, _of(name, others)) for name, one in value.items()]

    def shown(self, value: Value, unit: str = "") -> str:
        return show_all(value, self.band.unit or unit)

    def words(self, unit: str = "") -> str:
        inner = self.band.words(unit).removesuffix(" each")
        return f"{inner} {f'for every {self.of}' if self.of else 'each'}"


@dataclass(frozen=True)
class Some(Each):
    """A band that at least a count, or a share, of the numbers must satisfy; `of` names them, such as "the loads"."""

    _: KW_ONLY
    count: int = 1
    share: float | None = None

    def least(self, value: Value) -> int:
        return self.count if self.share is None else max(1, math.ceil(self.share * len(value) - 1e-9))

    def words(self, unit: str = "") -> str:
        many = f"{self.count}" if self.share is None else f"{show(self.share, '%')}"
        return f"{self.band.words(unit)} for at least {many} of {self.of or 'them'}"


@dataclass(frozen=True)
class At(Several):
    """A band for the value of this name."""

    name: str
    band: Band

    def inner(self, value: Value, others: Sequence[Value] = ()) -> list[tuple[Band, Value, Sequence[Value]]]:
        return [(self.band, value[self.name], _of(self.name, others))]

    def words(self, unit: str = "") -> str:
        return f"{self.name}: {self.band.words(unit)}"


class _Combined(Several):
    """Several bands of one value; a mapping has one band per name."""

    _and = "; "

    def __init__(self, *parts: Band | Mapping[str, Band]) -> None:
        self.parts: tuple[Band, ...] = tuple(
            band
            for part in parts
            for band in ([At(name, one) for name, one in part.items()] if isinstance(part, Mapping) else [part])
        )
        if not self.parts:
            raise ConfigError(type(self).__name__, parts, "at least one band")

    def inner(self, value: Value, others: Sequence[Value] = ()) -> list[tuple[Band, Value, Sequence[Value]]]:
        return [(part, value, others) for part in self.parts]

    def words(self, unit: str = "") -> str:
        return self._and.join(part.words(unit) for part in self.parts)

    def shown(self, value: Value, unit: str = "") -> str:
        named = {part.name: part.band for part in self.parts if isinstance(part, At)}
        if not named:
            return self.parts[0].shown(value, unit)
        words = []
        for name, one in value.items():
            found = named[name].shown(one, unit) if name in named else show_all(one, unit)
            words.append(f"{name}: {found}" if isinstance(one, Mapping) else f"{name} {found}")
        return "; ".join(words) if any(isinstance(one, Mapping) for one in value.values()) else ", ".join(words)


class All(_Combined):
    """All of these bands."""


class AnyOf(_Combined):
    """Any of these bands."""

    _and = ", or "

    def least(self, value: Value) -> int:
        return 1
