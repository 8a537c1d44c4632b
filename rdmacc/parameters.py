"""Parameters of components and models: fields of a frozen dataclass that carry their unit, symbol and source.

A parameter is declared once, by `param`. Its value is checked when the dataclass is made, and a quantity such as
``"55us"`` becomes a number in the base unit. Tables of parameters, sliders and error messages read the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from rdmacc import units
from rdmacc.errors import ConfigError, unknown

__all__ = ["Named", "check", "check_fields", "param"]

_PARSERS: dict[str, Callable[..., Any]] = {
    "ps": partial(units.time_ps, bare_ps=True),
    "bps": units.rate_bps,
    "bytes": units.size_bytes,
}

_HIGHEST = {"ps": 10**17, "bps": 1e15, "bytes": 2**50}
"""What no parameter exceeds (28 hours, 1 Pb/s, 1 PiB), so that sums and doublings of them fit into 63 bits."""

_MOST = 2**62
"""The largest number without a unit."""


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
) -> Any:
    """Declare a parameter of a component or a model.

    Parameters
    ----------
    default : bool, int, float or str
        Default; a quantity with a unit such as ``"55us"`` is converted to the base unit. Values must be of its type.
    doc : str
        What the parameter does.
    unit : str
        Base unit. With "ps", "bps" and "bytes" the parameter accepts quantities such as ``"55us"``; any other unit
        is only shown.
    symbol, equation, source : str
        Symbol and equation numbers in the paper; where the default comes from.
    low, high : float, optional
        Allowed range in the base unit, ends included.
    slider : pair, optional
        Range of a slider, quantities with units allowed; None: no slider.
    is_log : bool
        The slider is logarithmic.
    choices : tuple of str
        Allowed values of a text.

    Returns
    -------
    dataclasses.Field
        For the body of a dataclass.

    Raises
    ------
    ConfigError
        If the default or an end of the slider is not a quantity of the unit.
    """
    if unit in _PARSERS:
        default = _PARSERS[unit](default, field=doc)
        slider = slider and (_PARSERS[unit](slider[0], field=doc), _PARSERS[unit](slider[1], field=doc))
    metadata = {
        "doc": doc, "unit": unit, "symbol": symbol, "equation": equation, "source": source, "low": low,
        "high": high, "slider": slider, "is_log": is_log, "choices": choices,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=metadata)


class Named:
    """Base of dataclasses that are given all by name: a value without a name is refused, and so is an unknown name."""

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Refuse values without names, and unknown names; a class with a constructor of its own takes what it likes."""
        if dataclasses.is_dataclass(cls):
            names = [field.name for field in dataclasses.fields(cls) if field.init]
            for name in named:
                if name not in names:
                    raise unknown(cls.__name__, name, names, "the name of a parameter")
            if given:
                shown = ", ".join(f"{name}=..." for name in names[: len(given)])
                raise ConfigError(cls.__name__, given[0], f"given by name, as in {cls.__name__}({shown})")
        return super().__new__(cls)


def check_fields(owner: Any) -> None:
    """Check all fields of a frozen dataclass and convert them to their base units; call it in ``__post_init__``.

    Parameters
    ----------
    owner : object
        The dataclass instance, changed in place.

    Raises
    ------
    ConfigError
        If a value is of another type than the default, or not allowed.
    """
    for field in dataclasses.fields(owner):
        name = f"{type(owner).__name__}.{field.name}"
        value = check(name, getattr(owner, field.name), field.default, field.metadata)
        object.__setattr__(owner, field.name, value)


def check(name: str, value: Any, default: Any, metadata: Mapping[str, Any]) -> Any:
    """Return a parameter's value in its base unit.

    Parameters
    ----------
    name : str
        As errors name it.
    value, default : object
        The value, and the default whose type it must have.
    metadata : mapping
        What `param` says of it; a field that is no parameter has none.

    Raises
    ------
    ConfigError
        If the value is of another type than the default, or not allowed.
    """
    unit, choices = metadata.get("unit", ""), metadata.get("choices", ())
    if unit in _PARSERS:
        value = _PARSERS[unit](value, field=name)
        if value > _HIGHEST[unit]:
            raise ConfigError(name, value, f"at most {_HIGHEST[unit]} {unit}")
    elif choices:
        if not isinstance(value, str) or value not in choices:
            raise ConfigError(name, value, f"one of {', '.join(choices)}")
        return value
    elif isinstance(default, bool):
        if not isinstance(value, bool | np.bool_):
            raise ConfigError(name, value, "True or False")
        return bool(value)
    elif isinstance(default, str):
        if not isinstance(value, str) or not value.isprintable():
            raise ConfigError(name, value, "a text in one line")
        return value
    elif isinstance(default, int | float):
        value = _number(name, value, int if isinstance(default, int) else float)
    low, high = metadata.get("low"), metadata.get("high")
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bounds = [f"at least {low}"] if low is not None else []
        bounds += [f"at most {high}"] if high is not None else []
        raise ConfigError(name, value, " and ".join(bounds))
    return value


def _number(name: str, value: Any, kind: type[int] | type[float]) -> int | float:
    allowed = "a whole number" if kind is int else "a finite number"
    if isinstance(value, bool | str) or not isinstance(value, int | float | np.number):
        raise ConfigError(name, value, allowed)
    try:
        is_good = bool(np.isfinite(value)) and kind(value) == value and (kind is float or -_MOST <= value <= _MOST)
    except (TypeError, OverflowError):  # beyond what a float holds
        is_good = False
    if not is_good:
        raise ConfigError(name, value, f"{allowed}, of at most 2**62" if kind is int else allowed)
    return kind(value)
