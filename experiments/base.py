"""What an experiment is: scenarios, measurements, a picture, and what the paper says of it.

An experiment is a figure or a table of a paper. Its `points` are scenarios as data; running them gives
results; `measure` turns these into one tidy table, from which `plot` draws and every claim is judged. Nothing
here tunes anything: a claim that does not hold is reported with what was measured.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.faults import Loss
from rdmacc.probes import Probe
from rdmacc.results import Result
from rdmacc.scheme import Scheme, as_scheme
from rdmacc.simulation import simulate
from rdmacc.units import Quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CHECK_COLUMNS", "EXPERIMENTS", "SCALES", "TABLE_COLUMNS", "Claim", "Experiment", "Point", "Verdict",
    "check_scale", "curve", "experiment", "register", "scalar", "scalars", "tidy",
]  # fmt: skip

SCALES = ("quick", "paper")
"""Seconds, for tests and a first look; the paper's own topology and load."""

TABLE_COLUMNS = ("point", "quantity", "time_ps", "value", "unit")
"""Of a tidy table: `time_ps` is missing for a number, and given for each sample of a curve."""

CHECK_COLUMNS = ("id", "place", "quantity", "condition", "published", "band", "measured", "holds")


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """A scenario, ready to run and easy to send to another process.

    Attributes
    ----------
    name : str
        Unique in its experiment.
    topology : callable
        The builder's call, such as ``functools.partial(rdmacc.star, 3)``.
    workload : DataFrame
        Messages.
    scheme : str or Scheme
        What runs on hosts and switches.
    until : quantity of time, optional
        When to stop; default: when every message is finished.
    probes, faults : tuple
        As in `rdmacc.simulate`.
    seed : int
        Of all randomness.
    labels : mapping
        What distinguishes this point from the others of its experiment.
    """

    name: str
    topology: Callable[[], nx.Graph[Any]]
    workload: pd.DataFrame
    scheme: str | Scheme
    until: Quantity | None = None
    probes: tuple[Probe, ...] = ()
    faults: tuple[Loss, ...] = ()
    seed: int = 0
    labels: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def run(self, engine: str = "auto", progress: bool | None = False) -> Result:
        """Simulate the scenario."""
        return simulate(
            self.topology(),
            self.workload,
            self.scheme,
            engine=engine,
            seed=self.seed,
            until=self.until,
            probes=self.probes,
            faults=self.faults,
            progress=progress,
        )

    @property
    def scheme_name(self) -> str:
        """Name of the scheme."""
        return as_scheme(self.scheme).name


@dataclass(frozen=True)
class Verdict:
    """What a claim came to: the measured value in words, and whether the claim holds."""

    measured: str
    holds: bool


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of a paper about a figure, as data.

    Attributes
    ----------
    id : str
        As in the project's list of claims; a claim that this project adds ends in a letter.
    place : str
        Where the paper says it.
    quantity, condition : str
        What is claimed, and when.
    published : str
        The published value.
    band : str
        What counts as holding.
    verdict : callable
        Judges the experiment's table.
    """

    id: str
    place: str
    quantity: str
    condition: str
    published: str
    band: str
    verdict: Callable[[pd.DataFrame], Verdict]

    def check(self, table: pd.DataFrame) -> dict[str, Any]:
        """Return the claim and what it came to, as a row of `CHECK_COLUMNS`."""
        verdict = self.verdict(table)
        values = {name: getattr(self, name) for name in CHECK_COLUMNS if hasattr(self, name)}
        return values | {"measured": verdict.measured, "holds": bool(verdict.holds)}


class Experiment(ABC):
    """A figure or a table of a paper. Subclasses give the class attributes and three methods.

    Class attributes
    ----------------
    name : str
        Such as "dart.fig2".
    title : str
        The figure's caption.
    description : str
        One line on what it shows.
    claims : tuple of Claim
        What the paper says of it, and what this project checks besides.
    """

    name: str
    title: str
    description: str
    claims: tuple[Claim, ...] = ()

    @abstractmethod
    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        """Return the scenarios."""

    @abstractmethod
    def measure(self, results: Mapping[str, Result]) -> pd.DataFrame:
        """Return the tidy table (`TABLE_COLUMNS`) of results by point name."""

    @abstractmethod
    def plot(self, table: pd.DataFrame) -> Figure:
        """Draw the figure from the table."""

    def run(
        self,
        scale: str = "quick",
        seed: int = 0,
        engine: str = "auto",
        watch: Callable[[list[Point]], Iterable[Point]] = iter,
    ) -> dict[str, Result]:
        """Run every point, one after another, and return the results by point name.

        Parameters
        ----------
        scale : {"quick", "paper"}
            Which scenarios.
        seed : int
            Of all randomness.
        engine : str
            As in `rdmacc.simulate`.
        watch : callable
            Wraps the list of points, to show progress: `tqdm.tqdm` for one.
        """
        return {point.name: point.run(engine) for point in watch(self.points(check_scale(scale), seed))}

    def check(self, table: pd.DataFrame) -> pd.DataFrame:
        """Judge every claim on the table; one row each, with `measured` and `holds`."""
        return pd.DataFrame([claim.check(table) for claim in self.claims], columns=list(CHECK_COLUMNS))


EXPERIMENTS: dict[str, Experiment] = {}
"""The experiments by name, in the order of the papers and of their figures."""


def register(one: Experiment) -> Experiment:
    """Add an experiment under its name."""
    EXPERIMENTS[one.name] = one
    return one


def experiment(name: str) -> Experiment:
    """Return the experiment of that name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if name not in EXPERIMENTS:
        raise ConfigError("experiment", name, f"one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def check_scale(scale: str) -> str:
    """Return the scale, if there is such a one; raise `ConfigError` if not."""
    if scale not in SCALES:
        raise ConfigError("scale", scale, f"one of {', '.join(SCALES)}")
    return scale


# Tidy tables


def tidy(
    point: str,
    numbers: Mapping[str, tuple[float, str]],
    curves: Mapping[str, tuple[pd.Series, str]] | None = None,
) -> pd.DataFrame:
    """Return the rows of one point: numbers as (value, unit), curves as (samples by `time_ps`, unit)."""
    rows = pd.DataFrame(
        [(point, name, pd.NA, float(value), unit) for name, (value, unit) in numbers.items()],
        columns=list(TABLE_COLUMNS),
    ).astype({"time_ps": "Int64", "value": np.float64})
    frames = [rows] if numbers else []
    for name, (series, unit) in (curves or {}).items():
        frame = pd.DataFrame({"time_ps": series.index, "value": series.to_numpy(np.float64)})
        frame = frame.assign(point=point, quantity=name, unit=unit).astype({"time_ps": "Int64"})
        frames.append(frame[list(TABLE_COLUMNS)])
    return pd.concat(frames, ignore_index=True) if frames else rows


def scalars(table: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a table, without the curves: `point, quantity, value, unit`."""
    return table[table["time_ps"].isna()].drop(columns="time_ps").reset_index(drop=True)


def scalar(table: pd.DataFrame, point: str, quantity: str) -> float:
    """Return one number of a table.

    Raises
    ------
    ConfigError
        If the table does not have it.
    """
    rows = table[(table["point"] == point) & (table["quantity"] == quantity) & table["time_ps"].isna()]
    if len(rows) != 1:
        raise ConfigError("quantity", (point, quantity), "a number that the table has once")
    return float(rows["value"].iloc[0])


def curve(table: pd.DataFrame, point: str, quantity: str) -> pd.Series:
    """Return one curve of a table: values by `time_ps`."""
    rows = table[(table["point"] == point) & (table["quantity"] == quantity) & table["time_ps"].notna()]
    return pd.Series(
        rows["value"].to_numpy(np.float64),
        index=pd.Index(rows["time_ps"].to_numpy(np.int64), name="time_ps"),
        name=quantity,
    )
