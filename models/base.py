"""Base class of models: checked parameters and tidy frames.

A model is a frozen dataclass whose fields are made by `param`. ``solve()`` integrates or simulates,
``evaluate()`` computes in closed form; both return a tidy DataFrame. ``plot(ax=)`` draws what they return.
Times are picoseconds, rates bit/s and sizes bytes in parameters and in frames, as everywhere in rdmacc;
inside, equations are in seconds.

A model that can be compared with a simulation also has ``scenario()``, ``predict(result)`` and ``measure(result)``: the
scenario to simulate, and the same quantities from equations and from packets. `rdmacc.compare` needs only these.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.parameters import Parameters, param
from rdmacc.typed import typed

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

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        raise NotImplementedError(f"{type(self).__name__} has no plot")
