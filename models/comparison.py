"""Compare a model with a simulation: run both; return a frame with both and their difference, and a plot.

A model is anything with the methods of `Comparable`, as most analytic models of `rdmacc.models` have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import named, typed
from rdmacc.results.result import Result
from rdmacc.show.style import COLOURS, UNITS, canvas, time_unit
from rdmacc.show.tables import html_table
from rdmacc.simulation import Simulation
from rdmacc.simulation.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("quantity", "unit", "x", "value")
"""Columns of the tidy frames that `predict` and `measure` return."""


@runtime_checkable
class Comparable(Protocol):
    """A model of something that can be simulated.

    `predict` and `measure` return tidy frames with `COLUMNS`: the same quantities, from equations and from packets. For
    a curve, `x` is `time_ps`; otherwise it is whatever identifies a row (a message, a number of flows).
    """

    def scenario(self) -> Scenario:
        """Return the scenario to simulate, from the model's own parameters."""
        ...

    def predict(self, result: Result) -> pd.DataFrame:
        """Return the model's prediction for the simulated scenario."""
        ...

    def measure(self, result: Result) -> pd.DataFrame:
        """Return the same quantities as the simulation measured them."""
        ...


@dataclass(frozen=True, eq=False)
class Comparison:
    """A model's prediction and a simulation's measurement.

    Attributes
    ----------
    frame : DataFrame
        `quantity, unit, x, model, simulation, difference, relative`: `difference` is simulation minus model, `relative`
        that difference over the model's value.
    result : Result
        The simulation.
    name : str
        The model's name.
    """

    frame: pd.DataFrame
    result: Result
    name: str

    @typed
    def summary(self, last: float = 0.5) -> pd.DataFrame:
        """Return one row per quantity, computed over the last part of its rows."""
        rows = {}
        for quantity, part in self.frame.groupby("quantity", sort=False):
            part = part.iloc[len(part) - max(1, int(len(part) * last)) :]
            model, simulation = float(part["model"].mean()), float(part["simulation"].mean())
            errors = part["relative"].abs().dropna()
            rows[quantity] = {
                "unit": part["unit"].iloc[0],
                "model": model,
                "simulation": simulation,
                "relative": simulation / model - 1.0 if model else np.nan,
                "median_error": float(errors.median()) if len(errors) else np.nan,
                "p99_error": float(errors.quantile(0.99)) if len(errors) else np.nan,
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("quantity")

    @typed
    def plot(self, ax: Axes | None = None, quantity: str | None = None, last: float = 1.0) -> Axes:
        """Draw the curves of model and simulation; without a time axis, draw simulation against model."""
        known = list(dict.fromkeys(self.frame["quantity"]))
        chosen = known[0] if quantity is None else quantity
        if chosen not in known:
            raise unknown("quantity", quantity, known)
        rows = self.frame[self.frame["quantity"] == chosen]
        rows = rows.iloc[len(rows) - max(1, int(len(rows) * last)) :]
        factor, unit = UNITS.get(str(rows["unit"].iloc[0]), (1.0, str(rows["unit"].iloc[0])))
        label = f"{chosen} ({unit})" if unit else chosen
        with canvas(ax) as ax:
            if rows["over_time"].all():
                unit_ps, time = time_unit(float(rows["x"].max()))
                x = rows["x"] / unit_ps
                ax.plot(x, rows["simulation"] / factor, color=COLOURS["orange"], label="simulation")
                ax.plot(x, rows["model"] / factor, color=COLOURS["blue"], label=self.name)
                ax.set(xlabel=f"time ({time})", ylabel=label)
                values = rows[["model", "simulation"]] / factor
                ax.set_ylim(min(0.0, 1.25 * float(values.min().min())), 1.25 * float(values.max().max()) or 1.0)
                ax.legend(loc="upper right", ncols=2)
            else:
                model, simulation = rows["model"] / factor, rows["simulation"] / factor
                ax.plot(model, simulation, ".", color=COLOURS["orange"], markersize=4, label="simulation")
                ends = np.array([model.min(), model.max()])
                ax.plot(ends, ends, color=COLOURS["blue"], label="equal")
                ax.set(xlabel=f"{label}, {self.name}", ylabel=f"{label}, simulation")
                low, high = min(model.min(), simulation.min()), max(model.max(), simulation.max())
                if 0 < 20 * low < high:
                    ax.set(xscale="log", yscale="log")
                ax.legend(loc="upper left")
            ax.set_title(f"{chosen}: {self.name} beside {self.result.plan.scheme.name}")
        return ax

    def _repr_html_(self) -> str:
        table = self.summary()
        cells = [
            [str(name), str(row["unit"]), *(f"{row[column]:.4g}" for column in table.columns[1:])]
            for name, row in table.iterrows()
        ]
        return html_table(["quantity", *table.columns], cells, f"{self.name} beside {self.result.plan.scheme.name}")


@named
def compare(model: Comparable, scenario: Any = None) -> Comparison:
    """Run a model and a simulation of the same scenario, and compare them.

    Parameters
    ----------
    model : Comparable
        Such as `rdmacc.models.dcqcn.DcqcnFluid` or `rdmacc.models.max_min.MaxMin`.
    scenario : Scenario, Simulation or Result, optional
        What to simulate, or a finished result; any object whose ``run()`` returns a Result will do. Default: the
        model's own scenario.

    Returns
    -------
    Comparison
        With the joint `frame`, `summary()` and `plot()`. Where model and simulation have values at
        different times, the simulation's are interpolated to the model's.

    Raises
    ------
    ConfigError
        If the model has no scenario, or model and simulation have no quantity in common.
    """
    if isinstance(model, type) or not isinstance(model, Comparable):
        raise ConfigError("model", model, "a model with scenario(), predict(result) and measure(result)")
    chosen = model.scenario() if scenario is None else scenario
    if isinstance(chosen, Result):
        result = chosen
    elif isinstance(chosen, Simulation):
        result = chosen.result() if chosen.is_finished else chosen.run(progress=False)
    elif hasattr(chosen, "run"):
        result = chosen.run()
    else:
        raise ConfigError("scenario", scenario, "a Scenario, a Simulation or a Result")
    frame = _joined(model.predict(result), model.measure(result))
    return Comparison(frame, result, type(model).__name__)


def _joined(predicted: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for quantity, model in predicted.groupby("quantity", sort=False):
        other = measured[measured["quantity"] == quantity]
        if not len(other):
            continue
        over_time = bool(model.get("over_time", pd.Series([True])).all())
        if len(other) == len(model) and (other["x"].to_numpy() == model["x"].to_numpy()).all():
            values = other["value"].to_numpy(np.float64)
        elif over_time:
            x, known = model["x"].to_numpy(np.float64), other["x"].to_numpy(np.float64)
            model = model[(x >= known.min()) & (x <= known.max())]
            values = np.interp(model["x"].to_numpy(np.float64), known, other["value"].to_numpy(np.float64))
        else:
            values = model["x"].map(other.set_index("x")["value"]).to_numpy(np.float64)
        expected = model["value"].to_numpy(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(expected != 0, (values - expected) / expected, np.nan)
        both = {"model": expected, "simulation": values, "difference": values - expected, "relative": relative}
        parts.append(model[["quantity", "unit", "x"]].assign(**both, over_time=over_time))
    if not parts:
        raise ConfigError("model", list(predicted["quantity"].unique()), "quantities that the simulation also measures")
    return pd.concat(parts, ignore_index=True)
