"""What an experiment is: points, a measurement of each, a picture, and the paper's claims about it.

An experiment is a figure or a table of a paper. A point is the unit of work and of storage: it is computed in one
process, `measure` makes its rows of the table, and these rows are stored. The picture is drawn and every claim judged
from the table of all points. Nothing is tuned: a claim that does not hold is reported with what was measured.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.schemes import Scheme, as_scheme, scheme_table
from rdmacc.sweep.store import read_table
from rdmacc.sweep.tidy import assemble, check_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CHECK_COLUMNS", "EXPERIMENTS", "SCALES", "Claim", "Experiment", "Outcome", "Point", "Run", "Verdict",
    "check_scale", "experiment", "import_modules", "load_summary", "register_experiment", "select",
    "summary_path", "with_parameters",
]  # fmt: skip

SCALES = ("quick", "paper")
"""Quick takes seconds, for tests and a first look; paper has the paper's own topology and load."""

CHECK_COLUMNS = (
    "id", "place", "quantity", "condition", "published", "band", "measured", "verdict", "holds", "expected", "matches",
    "reason",
)  # fmt: skip

Run = Callable[[Scenario], Result]
"""Simulates a scenario, on the engine that was asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """A unit of work: one scenario, or whatever else `Experiment.execute` makes of it.

    It can be pickled and is cheap to make. It holds everything that its rows depend on, as plain data: they are
    stored under a hash of it.

    Attributes
    ----------
    name : str
        Unique in its experiment.
    scenario : Scenario, optional
        What is simulated. Without one, the experiment overrides `execute`.
    labels : mapping
        What distinguishes this point from the others: a column of the table for each.
    cost : float
        How long it takes relative to the experiment's other points; in any unit.
    """

    name: str
    scenario: Scenario | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0


class Outcome(StrEnum):
    """What can become of a claim."""

    HOLDS = "holds"
    DIRECTION = "direction only"
    """What was found goes the way that the paper says, but has another size."""
    FAILS = "does not hold"
    NOT_JUDGED = "not judged"
    """It was not run, or what was run cannot decide it."""


@dataclass(frozen=True)
class Verdict:
    """What was measured, and whether it is what the paper says.

    Attributes
    ----------
    measured : str
        What was measured, in words.
    holds : bool
        Whether the claim holds.
    has_direction : bool
        Whether what was found goes the claim's way, whatever its size.
    is_judged : bool
        Whether the table can decide the claim at all.
    """

    measured: str
    holds: bool
    has_direction: bool = False
    is_judged: bool = True

    @classmethod
    def not_judged(cls, why: str) -> Verdict:
        """Return the verdict on a claim that was not run, or that what was run cannot decide.

        Parameters
        ----------
        why : str
            What is missing.
        """
        return cls(why, holds=False, is_judged=False)

    @property
    def outcome(self) -> Outcome:
        """The verdict as one word."""
        if not self.is_judged:
            return Outcome.NOT_JUDGED
        if self.holds:
            return Outcome.HOLDS
        return Outcome.DIRECTION if self.has_direction else Outcome.FAILS


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of a paper about a figure, as data.

    Attributes
    ----------
    id : str
        Paper, figure and number, such as "dart-f2-1". An id that ends in a letter is a check that rdmacc adds.
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
    expected : Outcome, or mapping from scale to Outcome
        The recorded verdict. At a scale where that is `Outcome.NOT_JUDGED` the claim is not judged, whatever its
        points say.
    reason : str
        Why it does not hold, or cannot be judged: needed where `expected` is not `Outcome.HOLDS`.
    """

    id: str
    place: str
    quantity: str
    condition: str
    published: str
    band: str
    verdict: Callable[[pd.DataFrame], Verdict]
    expected: Outcome | Mapping[str, Outcome] = Outcome.HOLDS
    reason: str = ""

    def __post_init__(self) -> None:
        by_scale = self.expected if isinstance(self.expected, Mapping) else dict.fromkeys(SCALES, self.expected)
        if set(by_scale) != set(SCALES) or not all(isinstance(one, Outcome) for one in by_scale.values()):
            raise ConfigError(
                f"{self.id}: expected", self.expected, f"an Outcome, or one for each of {', '.join(SCALES)}"
            )
        if not self.reason and any(one != Outcome.HOLDS for one in by_scale.values()):
            raise ConfigError(
                f"{self.id}: reason", self.reason, "a text that says why the claim is not expected to hold"
            )

    def expectation(self, scale: str) -> Outcome:
        """Return the recorded verdict at a scale.

        Parameters
        ----------
        scale : str
            "quick" or "paper".
        """
        return self.expected[scale] if isinstance(self.expected, Mapping) else self.expected

    def check(self, table: pd.DataFrame, scale: str = "quick") -> dict[str, Any]:
        """Return the claim and its outcome, as a row of `CHECK_COLUMNS`.

        Parameters
        ----------
        table : DataFrame
            The experiment's table.
        scale : str
            "quick" or "paper".
        """
        verdict, expected = self.verdict(table), self.expectation(scale)
        outcome = Outcome.NOT_JUDGED if expected == Outcome.NOT_JUDGED else verdict.outcome
        values = {name: getattr(self, name) for name in CHECK_COLUMNS if hasattr(self, name)}
        return values | {
            "measured": verdict.measured,
            "verdict": outcome.value,
            "holds": outcome == Outcome.HOLDS,
            "expected": expected.value,
            "matches": outcome == expected,
            "reason": "" if outcome == expected == Outcome.HOLDS else self.reason,
        }


class Experiment(ABC):
    """A figure or a table of a paper. Subclasses give the class attributes, `points`, `measure` and `plot`.

    Class attributes
    ----------------
    name : str
        The paper, a dot, and the figure, such as "dart.fig2".
    title : str
        The figure's caption.
    description : str
        One line on what it shows.
    claims : tuple of Claim
        What the paper says about it, and what rdmacc checks in addition.
    points_of : type of Experiment, optional
        A base class that computes the points, for figures that are drawn from the same simulations: what is stored
        for one of them is there for all. Its `measure` and `execute` must not be overridden then.
    """

    name: str
    title: str
    description: str
    claims: tuple[Claim, ...] = ()
    points_of: type[Experiment] | None = None

    @abstractmethod
    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        """Return the points.

        Parameters
        ----------
        scale : str
            "quick" or "paper".
        seed : int
            Of all randomness.
        """

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        """Return one point's rows of the table (see `rdmacc.sweep.tidy`), from its simulation alone.

        Every experiment overrides this or `execute`.

        Parameters
        ----------
        point : Point
            One of `points`.
        result : Result
            Its simulation.

        Returns
        -------
        DataFrame
            The point's rows of the table.

        Raises
        ------
        NotImplementedError
            Where `execute` is overridden instead.
        """
        raise NotImplementedError(f"{type(self).__name__} measures in execute()")

    @abstractmethod
    def plot(self, table: pd.DataFrame) -> Figure:
        """Draw the figure from the table.

        Parameters
        ----------
        table : DataFrame
            The experiment's table.

        Returns
        -------
        Figure
            A new figure.
        """

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        """Compute one point's rows. Override where a point is no simulation, or takes several.

        Parameters
        ----------
        point : Point
            One of `points`.
        run : callable
            Simulates a scenario.

        Returns
        -------
        DataFrame
            The point's rows of the table.

        Raises
        ------
        ConfigError
            If the point has no scenario, and the method is not overridden.
        """
        if point.scenario is None:
            raise ConfigError(
                f"scenario of {self.name}, {point.name}", None, "a Scenario, unless execute() is overridden"
            )
        return self.measure(point, run(point.scenario))

    def run(self, scale: str = "quick", seed: int = 0, engine: str = "auto") -> pd.DataFrame:
        """Compute every point here, one after another, keep nothing, and return the table.

        `rdmacc.sweep.sweep` does it in several processes and keeps what it has.

        Parameters
        ----------
        scale : {"quick", "paper"}
            Which points.
        seed : int
            Of all randomness.
        engine : str
            As in `rdmacc.simulate`.

        Returns
        -------
        DataFrame
            The rows of all points.
        """

        def simulated(scenario: Scenario) -> Result:
            return replace(scenario, engine=engine).run()

        points = self.checked_points(scale, seed)
        tables = {point.name: check_table(self.execute(point, simulated), point.name) for point in points}
        return assemble(tables, {point.name: point.labels for point in points})

    def checked_points(
        self, scale: str = "quick", seed: int = 0, changes: Mapping[str, Any] | None = None
    ) -> list[Point]:
        """Return the points, with parameters of their schemes changed.

        Parameters
        ----------
        scale : str
            "quick" or "paper".
        seed : int
            Of all randomness.
        changes : mapping, optional
            New values of the schemes' parameters, by name.

        Raises
        ------
        ConfigError
            If the scale is unknown, two points have one name, or no scheme has such a parameter.
        """
        points = list(self.points(check_scale(scale), seed))
        if not points:
            raise ConfigError(f"points of {self.name}", [], f"at least one at {scale} scale")
        twice = [name for name, count in Counter(point.name for point in points).items() if count > 1]
        if twice:
            raise ConfigError(f"points of {self.name}", twice[0], "a name that no other point has")
        return with_parameters(points, changes or {})

    def check(self, table: pd.DataFrame, scale: str = "quick") -> pd.DataFrame:
        """Judge every claim on the table of a scale; one row of `CHECK_COLUMNS` each.

        Parameters
        ----------
        table : DataFrame
            The experiment's table.
        scale : str
            "quick" or "paper".

        Returns
        -------
        DataFrame
            One row for each claim, in `CHECK_COLUMNS`.
        """
        return pd.DataFrame([claim.check(table, scale) for claim in self.claims], columns=list(CHECK_COLUMNS))


def with_parameters(points: list[Point], changes: Mapping[str, Any]) -> list[Point]:
    """Return points with parameters of their schemes changed, each where a scheme has it.

    Parameters
    ----------
    points : list of Point
        Points of an experiment.
    changes : mapping
        New values of the schemes' parameters, by name.

    Raises
    ------
    ConfigError
        If no scheme has a parameter of that name, or a value is not allowed.
    """
    if not changes:
        return points
    schemes = [as_scheme(point.scenario.scheme) for point in points if point.scenario is not None]
    known = {name for one in schemes for name in _parameters(one)}
    for name in changes:
        if name not in known:
            raise unknown("parameter", name, sorted(known), "a parameter of the schemes compared")
    changed = []
    for point in points:
        if point.scenario is not None:
            own = _parameters(as_scheme(point.scenario.scheme))
            fitting = {name: value for name, value in changes.items() if name in own}
            point = replace(point, scenario=point.scenario.with_parameters(fitting))
        changed.append(point)
    return changed


def _parameters(scheme: Scheme) -> set[str]:
    rows = scheme_table(scheme)
    return {name for row in rows for name in (row["parameter"], f"{row['component']}.{row['parameter']}")}


EXPERIMENTS: dict[str, Experiment] = {}
"""The experiments by name: grouped by paper, figures first, then tables, then the others."""


_Registered = TypeVar("_Registered", bound="Experiment | type[Experiment]")


def register_experiment(one: _Registered, *, replace: bool = False) -> _Registered:
    """Add an experiment under its name. Also a class decorator, for a class that needs no arguments.

    Parameters
    ----------
    one : Experiment or type of Experiment
        The experiment, or its class.
    replace : bool
        Whether it may take the place of another one of that name.

    Returns
    -------
    Experiment or type of Experiment
        `one`, unchanged.

    Raises
    ------
    ConfigError
        If another experiment has that name, or this one overrides neither `measure` nor `execute`.
    """
    added = one() if isinstance(one, type) else one
    kind = type(added)
    if kind.measure is Experiment.measure and kind.execute is Experiment.execute:
        raise ConfigError(f"{kind.__name__}.measure", "not defined", "a method, unless execute() is one")
    if added.name in EXPERIMENTS and not replace:
        raise ConfigError("experiment", added.name, "a name that is not taken, or registered with replace=True")
    EXPERIMENTS[added.name] = added
    # Sorting keeps the order of what compares equal: groups, and experiments that are no figure or table.
    groups = [name.partition(".")[0] for name in EXPERIMENTS]
    ordered = sorted(EXPERIMENTS.items(), key=lambda item: (groups.index(item[0].partition(".")[0]), _place(item[0])))
    EXPERIMENTS.clear()
    EXPERIMENTS.update(ordered)
    return one


def _place(name: str) -> tuple[int, int]:
    """Return where an experiment is listed in its group: figures by number, tables by number, everything else."""
    found = re.fullmatch(r".*\.(fig|table)(\d+)", name)
    return (("fig", "table").index(found[1]), int(found[2])) if found else (2, 0)


def import_modules(package: str) -> None:
    """Import every module of a package, so that the experiments in it register themselves.

    Parameters
    ----------
    package : str
        Its name, such as "rdmacc.experiments.dart"; called from its ``__init__``.
    """
    for found in pkgutil.iter_modules(sys.modules[package].__path__):
        importlib.import_module(f"{package}.{found.name}")


def experiment(name: str) -> Experiment:
    """Return the experiment of that name.

    Parameters
    ----------
    name : str
        Such as ``"dart.fig2"``.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS, "an experiment's name")
    return EXPERIMENTS[name]


def select(name: str) -> list[Experiment]:
    """Return the experiment of that name, or all of a group: "dart" for "dart.fig2", "dart.fig3" and so on.

    Parameters
    ----------
    name : str
        Name of an experiment, or of a group.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if name in EXPERIMENTS:
        return [EXPERIMENTS[name]]
    chosen = [one for known, one in EXPERIMENTS.items() if known.startswith(f"{name}.")]
    if not chosen:
        groups = dict.fromkeys(known.partition(".")[0] for known in EXPERIMENTS)
        raise unknown("experiment", name, [*groups, *EXPERIMENTS], "the name of an experiment or of a group")
    return chosen


def check_scale(scale: str) -> str:
    """Return the scale, if there is such a one; raise `ConfigError` if not.

    Parameters
    ----------
    scale : str
        What was asked for.

    Raises
    ------
    ConfigError
        If it is neither "quick" nor "paper".
    """
    if scale not in SCALES:
        raise ConfigError("scale", scale, f"one of {', '.join(SCALES)}")
    return scale


def load_summary(name: str, scale: str = "paper", seed: int = 0) -> pd.DataFrame | None:
    """Return the table of an experiment that rdmacc comes with; None if it comes with none of that scale and seed.

    Its provenance: ``rdmacc.sweep.store.read_table(summary_path(name))``.

    Parameters
    ----------
    name : str
        Name of the experiment.
    scale : str
        "quick" or "paper".
    seed : int
        Seed of the stored sweep.
    """
    path = summary_path(name)
    if not path.exists():
        return None
    table, provenance = read_table(path)
    return table if (provenance["scale"], provenance["seed"]) == (scale, seed) else None


def summary_path(name: str) -> Path:
    """Return where the table of an experiment is that rdmacc comes with, or would be.

    Parameters
    ----------
    name : str
        Name of the experiment.
    """
    return Path(__file__).parent / "data" / f"{name}.parquet"
