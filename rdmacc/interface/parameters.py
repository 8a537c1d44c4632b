"""Parameters: frozen dataclasses whose fields carry their unit, symbol and source.

`Parameters` is the base class of everything with parameters: components, schemes, buffers, queueing, models. `param`
declares a parameter. Its value is checked when the object is created, and a quantity such as ``"55us"`` becomes a
number in the base unit. Tables of parameters, sliders and error messages use the rest of the declaration.

>>> from dataclasses import dataclass
>>> from typing import Literal
>>> @dataclass(frozen=True, kw_only=True)
... class Pause(Parameters):
...     wait_ps: Time = param("55us", "time between pauses")
...     law: Literal["fixed", "random"] = param("fixed", "how the time varies", choices=("fixed", "random"))
...     steps_bytes: Sizes = param(("1kB", "2kB"), "queues at which to pause")
>>> Pause(wait_ps="1us", steps_bytes=["5kB"])
Pause(wait_ps=1000000, steps_bytes=(5000,))

The annotations `Time`, `Rate`, `Size` and so on tell a type checker that a parameter accepts a quantity and reads as a
number.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar

import numpy as np

from rdmacc import units
from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import checked_flag, unknown_name
from rdmacc.interface.described import Doc, Signature
from rdmacc.interface.scaling import Scaled

if TYPE_CHECKING:
    from rdmacc.units import Quantity

__all__ = [
    "Named", "OptionalRate", "OptionalSize", "OptionalTime", "Parameters", "Rate", "Size", "Sizes", "Time", "param",
]  # fmt: skip

if TYPE_CHECKING:
    _Read = TypeVar("_Read")
    _Set = TypeVar("_Set")

    class Given(Generic[_Read, _Set]):
        """A parameter that accepts one type and reads as another."""

        def __get__(self, owner: object, kind: Any = None, /) -> _Read: ...
        def __set__(self, owner: object, value: _Set, /) -> None: ...

    Time: TypeAlias = Given[int, Quantity | Scaled]  # given as "55us" or in ps, read in ps
    Rate: TypeAlias = Given[float, Quantity | Scaled]  # given as "100Gbps" or in bit/s, read in bit/s
    Size: TypeAlias = Given[int, Quantity | Scaled]  # given as "64kB" or in bytes, read in bytes
    OptionalTime: TypeAlias = Given[int, Quantity | Scaled | None]  # None means off and reads as 0
    OptionalRate: TypeAlias = Given[float, Quantity | Scaled | None]
    OptionalSize: TypeAlias = Given[int, Quantity | Scaled | None]
    Sizes: TypeAlias = Given[tuple[int, ...], str | Iterable[Quantity]]  # given as "1kB 2kB" or as a list
else:
    Time = Size = OptionalTime = OptionalSize = int
    Rate = OptionalRate = float
    Sizes = tuple

_PARSERS: dict[str, Callable[..., Any]] = {
    "ps": partial(units.time_ps, bare_ps=True),
    "bps": units.rate_bps,
    "bytes": units.size_bytes,
}

_HIGHEST = {"ps": 10**17, "bps": 1e15, "bytes": 2**50}
"""Upper bounds of all parameters (28 hours, 1 Pb/s, 1 PiB), chosen so that sums and doubled values fit into 63 bits."""

_SLOWEST_BPS = 1e6  # a bare number below this is unlikely to mean bit/s

_MOST = 2**62  # the largest number without a unit

_LONGEST = 64  # most elements of a vector, since handlers loop over them


def param(
    default: Any,
    doc: str,
    *,
    unit: str = "",
    symbol: str = "",
    equation: str = "",
    source: str = "",
    low: float | None = None,
    high: float | None = None,
    slider: tuple[Any, Any] | None = None,
    is_log: bool = False,
    choices: tuple[str, ...] = (),
    is_optional: bool = False,
    rtts: float = 0.0,
) -> Any:
    """Declare a parameter.

    Parameters
    ----------
    default : bool, int, float, str, tuple, Scaled or None
        Default value, which also determines the parameter's type. A quantity such as ``"55us"`` is converted to the
        base unit. None makes the parameter optional and off by default. A tuple makes it a short vector, given as a
        list or, for quantities, as a string with spaces; handlers can index it and take its `len`. A `Scaled` number
        scales with the network.
    doc : str
        What the parameter does.
    unit : str
        Base unit. With "ps", "bps" and "bytes" the parameter accepts quantities such as ``"55us"``; if the default is
        one, its base unit need not be given. Any other unit is for display only.
    symbol, equation, source : str
        Symbol and equation numbers in the paper; source of the default.
    low, high : float, optional
        Allowed range in the base unit, ends included.
    slider : pair, optional
        Range of a slider; quantities may have units. None: no slider.
    is_log : bool
        Whether the slider is logarithmic.
    choices : tuple of str
        Allowed values of a string. Handlers can compare it: ``params.law == "pid"``.
    is_optional : bool
        Whether None is allowed. It means off and reads as 0.
    rtts : float
        For a time: a simulation warns if it is shorter than this many base RTTs of any queue pair.

    Raises
    ------
    ConfigError
        If the default or an end of the slider is not a quantity in that unit.
    """
    is_optional = is_optional or default is None
    is_vector = isinstance(default, tuple)
    default = 0 if default is None else default
    unit = unit or ("" if choices else _base_unit(default))
    if is_vector and unit not in _PARSERS and not default:
        raise ConfigError(doc, default, "a tuple of numbers, which determines their type")
    if unit in _PARSERS:
        parse = partial(_parsed, doc, unit=unit)
        default = tuple(map(parse, default)) if is_vector else parse(default)
        slider = slider and (_PARSERS[unit](slider[0], field=doc), _PARSERS[unit](slider[1], field=doc))
    metadata = {
        "doc": doc, "unit": unit, "symbol": symbol, "equation": equation, "source": source, "low": low,
        "high": high, "slider": slider, "is_log": is_log, "choices": choices,
        "is_optional": is_optional, "is_vector": is_vector, "rtts": rtts,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=metadata)


def _base_unit(default: Any) -> str:
    """Return the base unit of a quantity such as "55us", or of a `Scaled` or a vector of them; "" for anything else."""
    first = default[0] if isinstance(default, tuple) and default else getattr(default, "value", default)
    if not isinstance(first, str):
        return ""
    unit = units.base_unit(first)
    if not unit and first[:1].isdigit() and first[-1:].isalpha():
        raise ConfigError("default", default, "a quantity such as '55us', '100Gbps' or '64kB'")
    return unit


def _parsed(name: str, value: Any, *, unit: str) -> Any:
    """Return a quantity, which may be `Scaled`, in its base unit."""
    parse = partial(_PARSERS[unit], field=name)
    return value.with_value(parse(value.value), parse(value.least)) if isinstance(value, Scaled) else parse(value)


class Named:
    """Base class of keyword-only dataclasses that reject positional values and unknown names with a `ConfigError`."""

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Reject positional values and unknown names, unless the class has its own constructor."""
        if not cls.__dict__.get("__dataclass_params__"):
            for name, value in vars(cls).items():
                if isinstance(value, dataclasses.Field):
                    allowed = (
                        f"in a dataclass: write @dataclass(frozen=True, kw_only=True) above `class {cls.__name__}`"
                    )
                    raise ConfigError(f"{cls.__name__}.{name}", "param(...)", allowed)
        if dataclasses.is_dataclass(cls):
            names = [field.name for field in fields_of(cls) if field.init]
            for name in named:
                if name not in names:
                    raise unknown_name(cls.__name__, name, names, "the name of a parameter")
            if given:
                shown = ", ".join(f"{name}=..." for name in names[: len(given)])
                raise ConfigError(cls.__name__, given[0], f"given by name, as in {cls.__name__}({shown})")
        return super().__new__(cls)


class Parameters(Named):
    """Base class of objects with parameters: frozen dataclasses with keyword-only fields declared by `param`."""

    __signature__ = Signature()

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep the dataclass decorator from generating a repr with every field."""
        super().__init_subclass__(**options)
        for name, value in vars(cls).items():
            if isinstance(value, dataclasses.Field) and name not in inspect.get_annotations(cls):
                raise ConfigError(
                    f"{cls.__name__}.{name}", "param(...)", f"annotated, as in `{name}: float = param(...)`"
                )
        if isinstance(cls.__dict__.get("__doc__"), str):
            cls.__doc__ = Doc(cls.__dict__["__doc__"])  # type: ignore[assignment]
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Parameters.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for field in fields_of(kind):
            given = getattr(self, field.name)
            value = _default_of(kind, field.name) if given is field.default else _checked(kind, field, given)
            if value is not given:
                object.__setattr__(self, field.name, value)

    def __repr__(self) -> str:
        """Return the class with the parameters that differ from their defaults."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.changed().items())})"

    def changed(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, by name."""
        known = (field for field in fields_of(self) if field.init)
        values = ((one, getattr(self, one.name)) for one in known)
        return {one.name: value for one, value in values if _differs(value, one.default)}

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some parameters changed, by name."""
        known = [field.name for field in fields_of(self)]
        for name in changes:
            if name not in known:
                raise unknown(f"parameter of {type(self).__name__}", name, known)
        copy: Any = self
        return dataclasses.replace(copy, **changes)

    def numbers(self) -> dict[str, tuple[str, Any]]:
        """Return the values that handlers see: NumPy type code and value by name. The code of a vector ends in "[]".

        A choice is represented by the number of its string.
        """
        choices, vectors = self.choices(), {one.name: one for one in fields_of(self) if one.metadata.get("is_vector")}
        found: dict[str, tuple[str, Any]] = {}
        for name, value in vars(self).items():
            value = value.value if isinstance(value, Scaled) else value
            if name in choices:
                found[name] = "i8", number_of(value)
            elif name in vectors:
                found[name] = f"{_CODES[_element(vectors[name])]}[]", value
            elif type(value) in _CODES:
                found[name] = _CODES[type(value)], value
        return found

    @classmethod
    def choices(cls) -> dict[str, tuple[str, ...]]:
        """Return the allowed strings of each parameter with choices, by name."""
        return {one.name: one.metadata["choices"] for one in fields_of(cls) if one.metadata.get("choices")}


def _differs(value: Any, default: Any) -> bool:
    """Return whether a value differs from the default. A frame, whose comparison is not a single truth value, does."""
    try:
        return bool(value != default)
    except ValueError:
        return True


_CODES: dict[type, str] = {bool: "i1", int: "i8", float: "f8"}


def fields_of(owner: Any) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a dataclass or its instance; for anything else, none."""
    return _of_class(owner if isinstance(owner, type) else type(owner))


@lru_cache(512)  # bounded: each rerun of a notebook cell defines new classes
def _of_class(kind: type) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()


def _checked(kind: type, field: dataclasses.Field[Any], given: Any) -> Any:
    return check(f"{kind.__name__}.{field.name}", given, field.default, field.metadata)


@lru_cache(4096)
def _default_of(kind: type, name: str) -> Any:
    """Return a parameter's default in its base unit, checked once."""
    field = next(one for one in fields_of(kind) if one.name == name)
    return _checked(kind, field, field.default)


def _element(field: dataclasses.Field[Any]) -> type:
    unit, default = field.metadata["unit"], field.default
    return (float if unit == "bps" else int) if unit in _PARSERS else type(default[0])  # type: ignore[index]


def number_of(text: str) -> int:
    """Return the number that represents a string in compiled code: 56 bits of its hash."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "little")


def check(name: str, value: Any, default: Any, metadata: Mapping[str, Any]) -> Any:
    """Return a parameter's value in its base unit."""
    unit, choices = metadata.get("unit", ""), metadata.get("choices", ())
    if metadata.get("is_vector"):
        plain = {**metadata, "is_vector": False}
        first = default[0] if default else None
        return tuple(check(f"{name}[{i}]", one, first, plain) for i, one in enumerate(_elements(name, value)))
    if value is None and metadata.get("is_optional"):
        value = 0
    if isinstance(default, Scaled):
        default = default.value
    if isinstance(value, Scaled) and not choices and not isinstance(default, bool | str):
        parts = (check(name, one, default, metadata) for one in (value.value, value.least or value.value))
        return value.with_value(next(parts), next(parts) if value.least else 0)
    if unit in _PARSERS:
        value = _PARSERS[unit](value, field=name)
        if value > _HIGHEST[unit]:
            raise ConfigError(name, value, f"at most {_HIGHEST[unit]} {unit}")
    elif choices:
        if not isinstance(value, str) or value not in choices:
            raise unknown(name, value, choices)
        return value
    elif isinstance(default, bool):
        return checked_flag(name, value)
    elif isinstance(default, str):
        if not isinstance(value, str) or not value.isprintable():
            raise ConfigError(name, value, "a string in one line")
        return value
    elif isinstance(default, int | float):
        value = _number(name, value, int if isinstance(default, int) else float)
    low, high = metadata.get("low"), metadata.get("high")
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bounds = [f"at least {low}"] if low is not None else []
        bounds += [f"at most {high}"] if high is not None else []
        raise ConfigError(name, value, " and ".join(bounds))
    return value


def check_unit(name: str, value: Any, unit: str) -> None:
    """Raise a ConfigError if a user gives a bare number for a time, or for a rate below 1 Mb/s."""
    if unit not in ("ps", "bps") or isinstance(value, bool | str | units.Picoseconds | None):
        return
    if isinstance(value, list | tuple | np.ndarray):
        for one in value:
            check_unit(name, one, unit)
    elif isinstance(value, int | float | np.number) and value > 0:
        if unit == "ps":
            raise ConfigError(name, value, f"must carry its unit, such as '{value:g}us'; ps({value:g}) is picoseconds")
        if value < _SLOWEST_BPS:
            raise ConfigError(name, value, f"must carry its unit, such as '{value:g}Gbps'; a bare number is bit/s")


def _elements(name: str, value: Any) -> list[Any]:
    elements = value.replace(",", " ").split() if isinstance(value, str) else value
    try:
        elements = list(elements)
    except TypeError:
        raise ConfigError(name, value, "a list, or a string with spaces, such as '5kB 10kB'") from None
    if len(elements) > _LONGEST:
        raise ConfigError(name, len(elements), f"at most {_LONGEST} elements")
    return elements


def _number(name: str, value: Any, kind: type[int] | type[float]) -> int | float:
    allowed = "a whole number" if kind is int else "a finite number"
    if isinstance(value, bool | str) or not isinstance(value, int | float | np.number):
        raise ConfigError(name, value, allowed)
    try:
        is_good = bool(np.isfinite(value)) and kind(value) == value and (kind is float or -_MOST <= value <= _MOST)
    except (TypeError, OverflowError):  # too large for a float
        is_good = False
    if not is_good:
        raise ConfigError(name, value, f"{allowed}, at most 2**62" if kind is int else allowed)
    return kind(value)
