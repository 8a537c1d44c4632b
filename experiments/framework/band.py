"""Bands: the values for which a claim holds, as data.

A measurement returns a number, or numbers by name, possibly nested. A band judges them. It also determines the words in
tables and the margin. Values just inside and outside every bound are worked out in the tests, which feed them to each
claim.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.noise import half_width

Value = Any
"""A number, or a mapping from names to values."""

_SCALES = {
    "%": (100.0, "%"), "points": (100.0, " points"), "ns": (1e-3, " ns"), "us": (1e-6, " us"), "ms": (1e-9, " ms"),
    "s": (1e-12, " s"), "Gb/s": (1e-9, " Gb/s"), "Mb/s": (1e-6, " Mb/s"), "KB": (1e-3, " KB"), "MB": (1e-6, " MB"),
    "x": (1.0, "x"), "": (1.0, ""),
}  # fmt: skip
"""Factor and suffix by unit: times are kept in ps, rates in bps, sizes in bytes, shares as fractions."""
_MOST_SHOWN = 8


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


def all_of(found: Sequence[bool | None]) -> bool | None:
    """Return whether all hold; None if that is not known."""
    return False if False in found else None if None in found else True


class Band(ABC):
    """The values for which a claim holds. NaN is never among them."""

    unit: str = ""
    """Display unit of its numbers; empty: that of the claim."""

    @abstractmethod
    def margin(self, value: Value) -> float:
        """Return how far a value is inside (above zero) or outside, relative to the bound; 0 is on the bound."""

    @abstractmethod
    def holds(self, value: Value) -> bool:
        """Return whether the band holds."""

    def margins(self, value: Value) -> list[float]:
        """Return the margins of all conditions that must be met together."""
        return [self.margin(value)]

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        """Return whether the band holds, or None if an edge lies within the interval that the other values give."""
        every = list(zip(self.margins(value), *(self.margins(one) for one in others), strict=False))
        widths = [half_width(one, rest) if rest and math.isfinite(one) else 0.0 for one, *rest in every]
        if not any(widths):
            return self.holds(value)
        return all_of([
            None if width and abs(margin) <= width else margin >= -1e-12
            for (margin, *_), width in zip(every, widths, strict=True)
        ])  # fmt: skip

    @abstractmethod
    def words(self, unit: str = "") -> str:
        """Return the band in words."""

    def shown(self, value: Value, unit: str = "") -> str:
        """Return a value in words, each number in the unit of its band."""
        return show_all(value, self.unit or unit)


@dataclass(frozen=True)
class Number(Band):
    """A band of one number: between two limits, which may be included or excluded."""

    is_open = False
    """Whether the limits are excluded."""

    @property
    @abstractmethod
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest number inside."""

    def holds(self, value: Value) -> bool:
        low, high = self.limits
        return bool(low <= value <= high)

    def margin(self, value: Value) -> float:
        return float(min(self.margins(value)))

    def margins(self, value: Value) -> list[float]:
        """Return the distance to either limit: which is the nearer may change from one repetition to the next."""
        low, high = self.limits
        gaps = [(value - low) / (abs(low) or 1.0)] if math.isfinite(low) else []
        return [*gaps, (high - value) / (abs(high) or 1.0)] if math.isfinite(high) else gaps


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
        if not self.is_open:
            return super().holds(value)
        return bool(value > self.bound if self._is_least else value < self.bound)  # the bound may be infinite

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

    def words(self, unit: str = "") -> str:
        return f"{show(self.low, self.unit or unit)} to {show(self.high, self.unit or unit)}"


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
        unit = self.unit or unit
        if self.factor is not None:
            return f"within a factor of {self.factor:g} of {show(self.target, unit)}"
        if self.share is not None:
            return f"within {show(self.share, '%')} of {show(self.target, unit)}"
        low, high = self.limits
        return f"{show(low, unit)} to {show(high, unit)}"


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

    def words(self, unit: str = "") -> str:
        low, high = (show(one, self.unit or unit) for one in self.limits)
        return f"{low} to {high}"


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
    """Return a slack in words; empty if there is none."""
    return f" ({show(slack, '%')} slack)" if slack else ""
