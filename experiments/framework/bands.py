"""Bands: the values for which a claim holds, as data: bands of one number, of several numbers, and combinations.

A measurement returns a number, or numbers by name, possibly nested. A band judges them, and determines the words in
tables and the margin. The tests derive values just inside and outside every bound, and feed them to each claim.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any

from rdmacc.errors import ConfigError, unknown
from rdmacc.experiments.framework.noise import half_width

__all__ = [
    "All", "AnyOf", "At", "AtLeast", "AtMost", "Band", "Between", "Each", "Exactly", "Falls", "Highest", "LessThan",
    "Lowest", "MoreThan", "Number", "Ordered", "Part", "Rises", "Size", "Some", "Within", "show", "show_all",
]  # fmt: skip
"""The words of figures."""

Value = Any
"""A number, or a mapping from names to values."""

_SCALES = {
    "%": (100.0, "%"), "points": (100.0, " points"), "ns": (1e-3, " ns"), "us": (1e-6, " us"), "ms": (1e-9, " ms"),
    "s": (1e-12, " s"), "Gb/s": (1e-9, " Gb/s"), "Mb/s": (1e-6, " Mb/s"), "KB": (1e-3, " KB"), "MB": (1e-6, " MB"),
    "x": (1.0, "x"), "": (1.0, ""),
}  # fmt: skip
"""Factor and suffix by display unit: times are stored in ps, rates in bps, sizes in bytes, shares as fractions."""
_MOST_SHOWN = 8
_ROUNDING = 1e-12  # relative tolerance at closed bounds


def in_unit(value: float, unit: str) -> tuple[float, str]:
    """Return a number of a table converted to a display unit, and that unit as a suffix."""
    factor, suffix = _SCALES.get(unit, (1.0, f" {unit}"))
    return value * factor, suffix


def show(value: float, unit: str = "") -> str:
    """Return a number in words: ``show(0.25, "%")`` is "25%"."""
    number, suffix = in_unit(float(value), unit)
    digits = f"{number:,.0f}" if 1e4 <= abs(number) < 1e12 else f"{number:.4g}"
    return digits + suffix


def show_all(value: Value, unit: str = "") -> str:
    """Return numbers in words, by name; if there are many, only the smallest and the largest."""
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
    """Return half of the 95% interval of each number, from its values with one repetition left out."""
    if isinstance(value, Mapping):
        return {name: spread(one, [other[name] for other in others if name in other]) for name, one in value.items()}
    return half_width(value, others)


def only(value: Value, keeps: Callable[[float], bool]) -> Value:
    """Filter numbers by a predicate, keeping names; None if none are left."""
    if not isinstance(value, Mapping):
        return value if keeps(value) else None
    found = {name: only(one, keeps) for name, one in value.items()}
    return {name: one for name, one in found.items() if one is not None} or None


class Band(ABC):
    """The values for which a claim holds. NaN is never among them."""

    unit: str = ""
    """Display unit; empty: the claim's."""
    is_open = False
    """Whether the bounds are excluded."""

    @abstractmethod
    def margins(self, value: Value) -> list[float]:
        """Return how far a value is inside (positive) or outside each bound, relative to the bound."""

    def margin(self, value: Value) -> float:
        return float(min(self.margins(value), default=-math.inf))

    def holds(self, value: Value) -> bool:
        found = self.margins(value)
        return bool(found) and all(one > 0 if self.is_open else one >= -_ROUNDING for one in found)

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        """Return whether the band holds; None if an edge lies within the interval computed from the other values."""
        every = list(zip(self.margins(value), *(self.margins(one) for one in others), strict=False))
        widths = [half_width(one, rest) if rest and math.isfinite(one) else 0.0 for one, *rest in every]
        if not any(widths):
            return self.holds(value)
        found = [
            None if width and abs(margin) <= width else margin >= -_ROUNDING
            for (margin, *_), width in zip(every, widths, strict=True)
        ]
        return False if False in found else None if None in found else True

    def leaves(self) -> Iterator["Band"]:
        """Yield the elementary bands."""
        yield self

    @abstractmethod
    def words(self, unit: str = "") -> str:
        """Return the band in words."""

    def shown(self, value: Value, unit: str = "") -> str:
        """Return a value in words, each number in the unit of its band."""
        return show_all(value, self.unit or unit)


def in_brackets(slack: float) -> str:
    return f" ({show(slack, '%')} slack)" if slack else ""


@dataclass(frozen=True)
class Number(Band):
    """A band of one number: an interval, and its words, filled with the numbers of `says` or the ends."""

    low: float
    high: float
    unit: str = ""
    form: str = "{} to {}"
    says: tuple[float, ...] = ()
    is_open: bool = False
    """Whether the number in `says` is excluded."""
    is_rule: bool = False
    """Whether the band follows from a stated size by the rule of docs/experiments.md."""

    def holds(self, value: Value) -> bool:
        return bool(self.low <= value <= self.high) and not (self.is_open and value == self.says[0])

    def margins(self, value: Value) -> list[float]:
        """Return the distance to both ends: the nearer one may differ between repetitions."""
        gaps = [(value - self.low) / (abs(self.low) or 1.0)] if math.isfinite(self.low) else []
        gaps += [(self.high - value) / (abs(self.high) or 1.0)] if math.isfinite(self.high) else []
        if self.low == self.high:
            return [math.inf if value == self.low else min(gaps)]
        return gaps

    def words(self, unit: str = "") -> str:
        return self.form.format(*(show(one, self.unit or unit) for one in self.says or (self.low, self.high)))


def AtLeast(bound: float, unit: str = "", slack: float = 0.0) -> Number:
    """Return the band of numbers from a bound up. The slack is a fraction of the bound."""
    return Number(bound - slack * abs(bound), math.inf, unit, "at least {}" + in_brackets(slack), (bound,))


def AtMost(bound: float, unit: str = "", slack: float = 0.0) -> Number:
    """Return the band of numbers up to a bound. The slack is a fraction of the bound."""
    return Number(-math.inf, bound + slack * abs(bound), unit, "at most {}" + in_brackets(slack), (bound,))


def MoreThan(bound: float, unit: str = "") -> Number:
    return Number(bound, math.inf, unit, "more than {}", (bound,), is_open=True)


def LessThan(bound: float, unit: str = "") -> Number:
    return Number(-math.inf, bound, unit, "less than {}", (bound,), is_open=True)


Between = Number


def Exactly(target: float, unit: str = "") -> Number:
    """Return the band of a single number; a bool counts as 1 or 0."""
    form = ("so" if target else "not so") if isinstance(target, bool) else "exactly {}"
    return Number(float(target), float(target), unit, form)


def Within(
    target: float, unit: str = "", *, by: float | None = None, share: float | None = None, factor: float | None = None
) -> Number:
    """Return the band around a target: within one of an absolute distance, a share of the target, or a factor."""
    given = [one for one in (by, share, factor) if one is not None]
    if len(given) != 1:
        raise ConfigError("Within", given, "one of by, share, factor")
    if by is not None:
        return Number(target - by, target + by, unit)
    if factor is not None:
        low, high = sorted((target / factor, target * factor))
        return Number(low, high, unit, f"within a factor of {factor:g} of {{}}", (target,))
    by = (share or 0.0) * abs(target)
    return Number(target - by, target + by, unit, f"within {show(share or 0.0, '%')} of {{}}", (target,))


def Size(stated: float, most: float | None = None, unit: str = "", whole: float = math.inf) -> Number:
    """Return the band of a stated size, or of a range up to `most`, widened by a third on either side."""

    def reach(size: float) -> float:
        least = 0.02 * whole if math.isfinite(whole) else 0.0
        return max(least, min(size, whole - size) / 3)

    most = stated if most is None else most
    return Number(max(0.0, stated - reach(stated)), min(whole, most + reach(most)), unit, is_rule=True)


Part = partial(Size, whole=1.0)
"""Returns the band of a stated part of a whole; above half, the margin is a third of the rest; at least 2 points."""


SIGNS = {"<": (1, True, "rising"), "<=": (1, False, "not falling"), ">": (-1, True, "falling"),
         ">=": (-1, False, "not rising")}  # fmt: skip
"""Direction, whether the order is strict, and words."""


@dataclass(frozen=True)
class Ordered(Band):
    """Numbers in the given order, such as ``Ordered(">")``; the slack is a share of each number."""

    sign: str
    slack: float = 0.0
    form: str = ""

    def __post_init__(self) -> None:
        if self.sign not in SIGNS:
            raise unknown("sign", self.sign, SIGNS)

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        return SIGNS[self.sign][1] and not self.slack

    def margins(self, value: Value) -> list[float]:
        """Return the margin of each step, relative to the previous number."""
        way = SIGNS[self.sign][0]
        return [way * (b - a) / (abs(a) or 1.0) + self.slack for a, b in pairwise(value.values())]

    def words(self, unit: str = "") -> str:
        return (self.form or f"{SIGNS[self.sign][2]} in this order") + in_brackets(self.slack)


Rises = partial(Ordered, "<", form="rises at every step")
Falls = partial(Ordered, ">", form="falls at every step")


@dataclass(frozen=True)
class Lowest(Band):
    """The number of this name is the lowest; the slack is a share of each of the other numbers."""

    name: str
    slack: float = 0.0
    way: int = 1

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        return not self.slack

    def margins(self, value: Value) -> list[float]:
        others = [one for name, one in value.items() if name != self.name]
        return [self.way * (one - value[self.name]) / (abs(one) or 1.0) + self.slack for one in others]

    def words(self, unit: str = "") -> str:
        return f"{self.name} {'lowest' if self.way > 0 else 'highest'}{in_brackets(self.slack)}"


Highest = partial(Lowest, way=-1)


Inner = tuple[Band, Value, Sequence[Value]]
"""A band, the value that it judges, and the values of the repetitions."""


class Several(Band):
    """Bands of one value, or of its numbers, of which at least some number must hold, by default all."""

    @abstractmethod
    def inner(self, value: Value, others: Sequence[Value] = ()) -> list[Inner]:
        """Return the bands with the values that they judge."""

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


def _at(name: str, band: Band, value: Value, others: Sequence[Value]) -> Inner:
    return band, value[name], [one[name] for one in others if name in one]


@dataclass(frozen=True)
class Each(Several):
    """A band that every number must satisfy; `of` says what the numbers stand for, such as "load"."""

    band: Band
    of: str = ""

    def leaves(self) -> Iterator[Band]:
        return self.band.leaves()

    def inner(self, value: Value, others: Sequence[Value] = ()) -> list[Inner]:
        return [_at(name, self.band, value, others) for name in value]

    def shown(self, value: Value, unit: str = "") -> str:
        return show_all(value, self.band.unit or unit)

    def words(self, unit: str = "") -> str:
        return f"{self.band.words(unit).removesuffix(' each')} {f'for every {self.of}' if self.of else 'each'}"


@dataclass(frozen=True)
class Some(Each):
    """A band that at least a count or share of the numbers must satisfy; `of` names them, such as "the loads"."""

    _: KW_ONLY
    count: int = 1
    share: float | None = None

    def least(self, value: Value) -> int:
        return self.count if self.share is None else max(1, math.ceil(self.share * len(value) - 1e-9))

    def words(self, unit: str = "") -> str:
        many = self.count if self.share is None else show(self.share, "%")
        return f"{self.band.words(unit)} for at least {many} of {self.of or 'them'}"


@dataclass(frozen=True)
class At(Several):
    """A band for the value of this name."""

    name: str
    band: Band

    def leaves(self) -> Iterator[Band]:
        return self.band.leaves()

    def inner(self, value: Value, others: Sequence[Value] = ()) -> list[Inner]:
        return [_at(self.name, self.band, value, others)]

    def words(self, unit: str = "") -> str:
        return f"{self.name}: {self.band.words(unit)}"


class All(Several):
    """All of these bands of one value; a mapping has one band per name."""

    _and = "; "

    def __init__(self, *parts: Band | Mapping[str, Band]) -> None:
        each = ([At(*one) for one in part.items()] if isinstance(part, Mapping) else [part] for part in parts)
        self.parts: tuple[Band, ...] = tuple(chain.from_iterable(each))
        if not self.parts:
            raise ConfigError(type(self).__name__, parts, "at least one band")

    def leaves(self) -> Iterator[Band]:
        return chain.from_iterable(part.leaves() for part in self.parts)

    def inner(self, value: Value, others: Sequence[Value] = ()) -> list[Inner]:
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


class AnyOf(All):
    """Any of these bands."""

    _and = ", or "

    def least(self, value: Value) -> int:
        return 1
