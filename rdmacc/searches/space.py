"""Search spaces: ranges of parameters, checked against what the parameters allow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rdmacc.errors import ConfigError, unknown
from rdmacc.interface import Parameters, Scaled
from rdmacc.interface.parameters import check, fields_of
from rdmacc.models.base import Model
from rdmacc.schemes import Scheme
from rdmacc.searches.case import Case, rounded

if TYPE_CHECKING:
    import optuna

_LOG_FROM = 100.0
"""A range whose ends differ by this factor is searched on a logarithmic scale."""
_DIGITS = 3

Subject: TypeAlias = "Scheme | Model"
Values = dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """One dimension: a range of numbers, both ends included, or a list of choices."""

    name: str
    low: float = 0.0
    high: float = 0.0
    is_whole: bool = False
    is_log: bool = False
    choices: tuple[Any, ...] = ()

    def ask(self, trial: optuna.Trial) -> Any:
        """Return the value that an Optuna trial proposes, rounded to what a person would type."""
        if self.choices:
            return trial.suggest_categorical(self.name, self.choices)
        if self.is_whole:
            value = trial.suggest_int(self.name, int(self.low), int(self.high), log=self.is_log)
            return int(min(max(rounded(value, _DIGITS), self.low), self.high))
        value = trial.suggest_float(self.name, self.low, self.high, log=self.is_log)
        return float(min(max(rounded(value, _DIGITS), self.low), self.high))


def axes_of(subject: Subject, space: Mapping[str, Any] | Iterable[str] | None) -> tuple[Axis, ...]:
    """Return the dimensions of a space: names with ranges, or names alone, which use their slider's range."""
    if space is None:
        owner = subject if isinstance(subject, Model) else Case
        space = {one.name: None for one in fields_of(owner) if one.metadata.get("slider")}
    ranges = space if isinstance(space, Mapping) else dict.fromkeys(space)
    if not ranges:
        raise ConfigError("space", ranges, "at least one range, such as {'senders': (1, 32)}")
    return tuple(_axis(subject, name, given) for name, given in ranges.items())


def _axis(subject: Subject, name: str, given: Any) -> Axis:
    owner, own_name = _owner(subject, name)
    field = next(one for one in fields_of(owner) if one.name == own_name)
    about, default = field.metadata, field.default
    default = default.value if isinstance(default, Scaled) else default

    def checked(value: Any) -> Any:
        return check(name, value, default, about)

    if isinstance(default, bool | str) and given is None:
        given = list(about.get("choices") or (False, True))
    if isinstance(given, list):
        if not given:
            raise ConfigError(name, given, "at least one choice")
        return Axis(name, choices=tuple(map(checked, given)))
    if given is None:
        given = about.get("slider")
        if given is None and about.get("low") is not None and about.get("high") is not None:
            given = about["low"], about["high"]
        if given is None:
            raise ConfigError(name, given, "given with a range, such as (1, 10): the parameter declares none")
    if not isinstance(given, tuple) or len(given) != 2:
        raise ConfigError(name, given, "a pair (low, high), or a list of choices")
    low, high = map(checked, given)
    if isinstance(default, bool | str) or not low < high:
        raise ConfigError(name, given, "a pair of numbers, the second larger than the first")
    is_log = low > 0 and (bool(about.get("is_log")) or high / low >= _LOG_FROM)
    return Axis(name, low, high, isinstance(low, int), is_log)


def _owner(subject: Subject, name: str) -> tuple[Parameters, str]:
    if not isinstance(name, str):
        raise ConfigError("space", name, "names of fields of rdmacc.Case, or of parameters")
    if isinstance(subject, Model):
        names = [one.name for one in fields_of(subject)]
        if name not in names:
            raise unknown(f"parameter of {type(subject).__name__}", name, names)
        return subject, name
    fields = [one.name for one in fields_of(Case)]
    if name in fields:
        return Case(), name
    try:
        return subject.owner(name)
    except ConfigError as error:
        known = unknown("space", name, fields, "a field of rdmacc.Case, or a parameter of the scheme")
        raise (known if "did you mean" in str(known) else error) from None


def text_of(values: Values) -> str:
    """Return values as one line of JSON, the key of a stored run."""
    return json.dumps(values, sort_keys=True)
