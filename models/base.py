"""Base class of models: checked parameters and tidy frames.

A model is a frozen dataclass whose fields are made by `param`. ``solve()`` integrates or simulates,
``evaluate()`` computes in closed form; both return a tidy DataFrame. ``plot(ax=)`` draws what they return.
Times are picoseconds, rates bit/s and sizes bytes in parameters and in frames, as everywhere in rdmacc;
inside, equations are in seconds.

A model that can be compared with a simulation also has ``scenario()``, ``predict(result)`` and ``measure(result)``: the
scenario to simulate, and the same quantities from equations and from packets, as `rdmacc.compare` needs them.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.interface import Parameters, param
from rdmacc.show.style import COLOURS, axis_time_unit, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Floats", "Model", "param"]

Floats = npt.NDArray[np.float64]


class Model(Parameters):
    """Base class of models: frozen dataclasses with keyword-only fields declared by `param`."""

    title: ClassVar[str] = ""
    """Short description of the model."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the arguments of the public methods."""
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if inspect.isfunction(value) and not name.startswith("_"):
                setattr(cls, name, typed(value))

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
            Axes to draw on; default: a new figure.
        """
        raise NotImplementedError(f"{type(self).__name__} has no plot")

    def _over_time(
        self, ax: Axes | None, frame: pd.DataFrame, curves: Mapping[str, tuple[str, str, str]],
        level: tuple[float, str], ylabel: str, *, more: str, top: float | None = None, **legend: Any,
    ) -> Axes:  # fmt: skip
        """Draw columns of a frame (label, colour, line) and a level over `time_ps`, in the label's unit."""
        scale = {"kB": 1e3, "Gb/s": 1e9}[ylabel.rpartition("(")[2].rstrip(")")]
        with canvas(ax) as ax:
            unit_ps, unit = axis_time_unit(ax, float(frame["time_ps"].iloc[-1]))
            for column, (label, colour, line) in curves.items():
                ax.plot(frame["time_ps"] / unit_ps, frame[column] / scale, line, color=COLOURS[colour], label=label)
            ax.axhline(level[0] / scale, color="0.4", linewidth=1, linestyle=":", label=level[1])
            ax.set(title=self.title + more, xlabel=f"time ({unit})", ylabel=ylabel)
            ax.set_ylim(0, None if top is None else top / scale)
            ax.legend(**legend)
        return ax


def check_within(field: str, values: npt.ArrayLike, low: float, high: float) -> None:
    """Raise a ConfigError for the first number that is not from `low` to `high`."""
    numbers = np.asarray(values, np.float64)
    wrong = numbers[~((numbers >= low) & (numbers <= high))]
    if len(wrong):
        raise ConfigError(field, wrong[0], f"from {low:g} to {high:g}")


def told(quantity: str, unit: str, x: npt.ArrayLike, value: npt.ArrayLike, *, over_time: bool = False) -> pd.DataFrame:
    """Return a quantity in the format of `predict` and `measure`; by default `x` names messages or runs."""
    numbers = np.asarray(value, np.float64)
    return pd.DataFrame({"quantity": quantity, "unit": unit, "x": x, "value": numbers, "over_time": over_time})


def binned(time_ps: Floats, value: Floats, end_ps: float, bins: int) -> Floats:
    """Return the means of samples over equal bins of [0, end], shape (bins,); NaN for an empty bin."""
    place = np.minimum((time_ps / end_ps * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        return np.bincount(place, weights=value, minlength=bins) / np.where(count, count, np.nan)


def binned_curves(
    curves: Mapping[str, tuple[str, npt.ArrayLike, npt.ArrayLike]], end_ps: float, bins: int = 200
) -> pd.DataFrame:
    """Return curves (unit, times, values) in the format of `predict` and `measure`: means over equal bins of a run."""
    centres = (np.arange(bins) + 0.5) * end_ps / bins
    parts = []
    for name, (unit, time, value) in curves.items():
        means = binned(np.asarray(time, np.float64), np.asarray(value, np.float64), end_ps, bins)
        parts.append(told(name, unit, centres, means, over_time=True))
    return pd.concat(parts, ignore_index=True)
