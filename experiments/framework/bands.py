"""Bands of several numbers, and combinations of bands. `rdmacc.experiments.framework.band` has those of one number."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from rdmacc.errors import ConfigError, unknown
from rdmacc.experiments.framework.band import (
    AtLeast,
    AtMost,
    Band,
    Between,
    Exactly,
    LessThan,
    MoreThan,
    Part,
    Size,
    Value,
    Within,
    all_of,
    in_brackets,
    show,
    show_all,
)

__all__ = [
    "All", "AnyOf", "At", "AtLeast", "AtMost", "Band", "Between", "Each", "Exactly", "Falls", "Highest", "LessThan",
    "Lowest", "MoreThan", "Ordered", "Part", "Rises", "Size", "Some", "Within", "leaves",
]  # fmt: skip


def leaves(band: Band) -> Iterator[Band]:
    """Return the bands that a band is made of."""
    inner = band.parts if isinstance(band, _Combined) else [band.band] if isinstance(band, Each | Some | At) else ()
    if not inner:
        yield band
    for one in inner:
        yield from leaves(one)


def _each(band: Band, value: Value, others: Sequence[Value]) -> list[bool | None]:
    """Return whether a band surely holds for each number."""
    return [band.surely(one, [other[name] for other in others if name in other]) for name, one in value.items()]


@dataclass(frozen=True)
class Each(Band):
    """A band that every number must satisfy; `of` names what the numbers belong to, such as "load"."""

    band: Band
    of: str = ""

    def holds(self, value: Value) -> bool:
        return bool(value) and all(self.band.holds(one) for one in value.values())

    def margin(self, value: Value) -> float:
        return min((self.band.margin(one) for one in value.values()), default=-math.inf)

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        return bool(value) and all_of(_each(self.band, value, others))

    def shown(self, value: Value, unit: str = "") -> str:
        return show_all(value, self.band.unit or unit)

    def words(self, unit: str = "") -> str:
        inner = self.band.words(unit).removesuffix(" each")
        return f"{inner} {f'for every {self.of}' if self.of else 'each'}"


@dataclass(frozen=True)
class Some(Band):
    """A band that at least a count, or a share, of the numbers must satisfy; `of` names them, such as "the loads"."""

    band: Band
    count: int = 1
    share: float | None = None
    of: str = ""

    def least(self, value: Value) -> int:
        return self.count if self.share is None else max(1, math.ceil(self.share * len(value) - 1e-9))

    def holds(self, value: Value) -> bool:
        return sum(self.band.holds(one) for one in value.values()) >= self.least(value)

    def margin(self, value: Value) -> float:
        margins = sorted((self.band.margin(one) for one in value.values()), reverse=True)
        least = self.least(value)
        return margins[least - 1] if least <= len(margins) else -math.inf

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        found = _each(self.band, value, others)
        if found.count(True) >= self.least(value):
            return True
        return None if len(found) - found.count(False) >= self.least(value) else False

    def shown(self, value: Value, unit: str = "") -> str:
        return show_all(value, self.band.unit or unit)

    def words(self, unit: str = "") -> str:
        many = f"{self.count}" if self.share is None else f"{show(self.share, '%')}"
        return f"{self.band.words(unit)} for at least {many} of {self.of or 'them'}"


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

    def margins(self, value: Value) -> list[float]:
        """Return the margin of each step, relative to the previous number."""
        way, _ = SIGNS[self.sign]
        return [way * (b - a) / (abs(a) or 1.0) + self.slack for a, b in pairwise(value.values())]

    def holds(self, value: Value) -> bool:
        is_strict = SIGNS[self.sign][1] and not self.slack
        steps = self.margins(value)
        return bool(steps) and all(step > 0 if is_strict else step >= -1e-12 for step in steps)

    def margin(self, value: Value) -> float:
        return min(self.margins(value), default=-math.inf)

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

    def margins(self, value: Value) -> list[float]:
        others = [one for name, one in value.items() if name != self.name]
        return [self.way * (one - value[self.name]) / (abs(one) or 1.0) + self.slack for one in others]

    def margin(self, value: Value) -> float:
        return min(self.margins(value), default=-math.inf)

    def holds(self, value: Value) -> bool:
        margin = self.margin(value)
        return margin >= -1e-12 if self.slack else margin > 0

    def words(self, unit: str = "") -> str:
        return f"{self.name} {'lowest' if self.way > 0 else 'highest'}{in_brackets(self.slack)}"


class Highest(Lowest):
    """The number of this name is the highest; the slack is the same against each other number."""

    way = -1


@dataclass(frozen=True)
class At(Band):
    """A band for the value of this name."""

    name: str
    band: Band

    def holds(self, value: Value) -> bool:
        return self.band.holds(value[self.name])

    def margin(self, value: Value) -> float:
        return self.band.margin(value[self.name])

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        return self.band.surely(value[self.name], [one[self.name] for one in others if self.name in one])

    def words(self, unit: str = "") -> str:
        return f"{self.name}: {self.band.words(unit)}"


class _Combined(Band):
    """Several bands of one value; a mapping has one band per name."""

    _every: ClassVar[Callable[[Iterable[bool]], bool]]
    _least: ClassVar[Callable[[Iterable[float]], float]]
    _and: ClassVar[str]

    def __init__(self, *parts: Band | Mapping[str, Band]) -> None:
        self.parts: tuple[Band, ...] = tuple(
            band
            for part in parts
            for band in ([At(name, one) for name, one in part.items()] if isinstance(part, Mapping) else [part])
        )
        if not self.parts:
            raise ConfigError(type(self).__name__, parts, "at least one band")

    def holds(self, value: Value) -> bool:
        return type(self)._every(part.holds(value) for part in self.parts)

    def margin(self, value: Value) -> float:
        return float(type(self)._least(part.margin(value) for part in self.parts))

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

    _every, _least, _and = all, min, "; "

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        return all_of([part.surely(value, others) for part in self.parts])


class AnyOf(_Combined):
    """Any of these bands."""

    _every, _least, _and = any, max, ", or "

    def surely(self, value: Value, others: Sequence[Value]) -> bool | None:
        found = [part.surely(value, others) for part in self.parts]
        return True if True in found else None if None in found else False
