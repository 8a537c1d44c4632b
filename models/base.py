"""What all models share: parameters that carry unit, symbol and equation, checks, and tidy frames.

A model is a frozen dataclass whose fields are made by `parameter`. ``solve()`` integrates or simulates,
``evaluate()`` computes in closed form; both return a tidy DataFrame. ``plot(ax=)`` draws what they return.
Times are picoseconds, rates bit/s and sizes bytes in parameters and in frames, as everywhere in rdmacc;
inside, equations are in seconds.

A model that can be compared with a simulation also has ``scenario()``, ``predict(result)`` and
``measure(result)``: what to simulate, and the same quantities by equation and by packets. `rdmacc.compare`
needs no more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc import units
from rdmacc.errors import ConfigError

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes

__all__ = ["Floats", "Model", "check", "parameter"]

Floats = npt.NDArray[np.float64]

_PARSERS: dict[str, Callable[..., Any]] = {
    "ps": units.time_ps,
    "bps": units.rate_bps,
    "bytes": units.size_bytes,
}


def parameter(
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
    """Declare a parameter of a model.

    Parameters
    ----------
    default : bool, int, float or str
        Default; a quantity with a unit such as ``"12us"`` is converted to the base unit.
    doc : str
        What it is.
    unit : str
        "ps", "bps" and "bytes" accept quantities with units; any other is only shown.
    symbol, equation, source : str
        Symbol and equation numbers in the paper; where the default comes from.
    low, high : float, optional
        Allowed range, ends included.
    slider : pair, optional
        Range that a slider shows; without it the parameter has none.
    is_log : bool
        The slider is logarithmic.
    choices : tuple of str
        Allowed values of a text.

    Returns
    -------
    field
        A dataclass field; the arguments are in its metadata.
    """
    if unit in _PARSERS:
        default = _PARSERS[unit](default, field=doc)
        slider = slider and tuple(_PARSERS[unit](end, field=doc) for end in slider)
    metadata = {
        "doc": doc, "unit": unit, "symbol": symbol, "equation": equation, "source": source, "low": low,
        "high": high, "slider": slider, "is_log": is_log, "choices": choices,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=metadata)


def check(name: str, value: Any, default: Any, metadata: Mapping[str, Any]) -> Any:
    """Return a parameter's value in its base unit.

    Parameters
    ----------
    name : str
        Parameter, as errors name it.
    value : object
        What was given.
    default : object
        The parameter's default, which tells its kind.
    metadata : mapping
        Of its field, as `parameter` makes it.

    Raises
    ------
    ConfigError
        If the value is of another kind than the default, or outside its range.
    """
    if metadata["unit"] in _PARSERS:
        value = _PARSERS[metadata["unit"]](value, field=name)
    elif metadata["choices"]:
        if value not in metadata["choices"]:
            raise ConfigError(name, value, f"one of {', '.join(metadata['choices'])}")
        return value
    elif isinstance(default, bool):
        if not isinstance(value, bool | np.bool_):
            raise ConfigError(name, value, "True or False")
        return bool(value)
    elif isinstance(default, int | float):
        value = _number(name, value, int if isinstance(default, int) else float)
    low, high = metadata["low"], metadata["high"]
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bounds = [f"at least {low}"] if low is not None else []
        bounds += [f"at most {high}"] if high is not None else []
        raise ConfigError(name, value, " and ".join(bounds))
    return value


def _number(name: str, value: Any, kind: type[int] | type[float]) -> int | float:
    allowed = "a whole number" if kind is int else "a finite number"
    if isinstance(value, bool | str) or not isinstance(value, int | float | np.number):
        raise ConfigError(name, value, allowed)
    if not np.isfinite(value) or kind(value) != value:
        raise ConfigError(name, value, allowed)
    return kind(value)


class Model:
    """Base of every model. Subclasses are frozen dataclasses with keyword-only fields made by `parameter`."""

    title: ClassVar[str] = ""
    """What the model is of, in a few words."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            if "doc" not in field.metadata:
                continue  # a network or a workload: checked by those who read it
            name = f"{type(self).__name__}.{field.name}"
            value = check(name, getattr(self, field.name), field.default, field.metadata)
            object.__setattr__(self, field.name, value)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some parameters changed.

        Parameters
        ----------
        **changes : object
            New values by parameter name.

        Raises
        ------
        ConfigError
            If there is no such parameter, or a value is not allowed.
        """
        known = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        for name in changes:
            if name not in known:
                raise ConfigError(f"parameter of {type(self).__name__}", name, f"one of {', '.join(known)}")
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def parameters(self) -> pd.DataFrame:
        """Return the parameters, indexed by name: `value, unit, symbol, equation, source, doc`."""
        fields = [field for field in dataclasses.fields(self) if "doc" in field.metadata]  # type: ignore[arg-type]
        columns = ("unit", "symbol", "equation", "source", "doc")
        rows = [
            {"value": getattr(self, field.name)} | {key: field.metadata[key] for key in columns} for field in fields
        ]
        return pd.DataFrame(rows, index=pd.Index([field.name for field in fields], name="parameter"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the model and return the Axes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        raise NotImplementedError(f"{type(self).__name__} has no plot")
