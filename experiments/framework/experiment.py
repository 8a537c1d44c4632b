"""Experiments: points, their measurement, a plot, and the paper's claims about it.

An experiment is a figure or a table of a paper. A point is the unit of work and storage: one process computes it,
`measure` turns it into rows of the table, and these rows are stored. Plot and verdicts only use the table of all
points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.claim import CHECK_COLUMNS, Claim
from rdmacc.experiments.framework.noise import without_each
from rdmacc.experiments.framework.panels import Panel, draw_panels
from rdmacc.experiments.framework.papers import PAPERS, numbered
from rdmacc.experiments.framework.point import Point, check_scale, with_parameters
from rdmacc.experiments.framework.reading import DEFAULT, check_reading, readings_of
from rdmacc.experiments.framework.texts import FIGURES
from rdmacc.results.result import Result
from rdmacc.show.style import PAGE, on_a_page
from rdmacc.sweep.seeds import SEED, Seeding, check_seed, check_seeds, points_of_seeds, rows_of_seeds
from rdmacc.sweep.tidy import TABLE_COLUMNS, assemble, check_table, wide
from rdmacc.sweep.workers import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _listed(points: Callable[..., Iterable[Point]]) -> Callable[..., list[Point]]:
    """Return a function that collects points in a list."""

    @wraps(points)
    def found(*args: Any, **kwargs: Any) -> list[Point]:
        return list(points(*args, **kwargs))

    return found


class Experiment(ABC):
    """A figure or a table of a paper. Subclasses define the class attributes, `points`, `measure` and `plot`.

    In all methods, `scale` is "quick" or "paper", `seed` the seed of all randomness, `point` one of `points`, `table`
    the experiment's table, and `reading` the name of a reading of the paper's open questions.
    """

    name: str
    """The paper, a dot, and the figure, such as "dart.fig2"."""
    title: str
    """The figure's caption."""
    description: str
    """A line for lists."""
    setup: str = ""
    """What its runs assume, in paragraphs. These three are in ``figures.toml``, in the figure's folder, or here."""
    claims: tuple[Claim, ...] = ()
    """The paper's claims about it, and additional checks."""
    points_of: type[Experiment] | None = None
    """A base class that computes the points, for figures that share simulations and stored points. Subclasses must then
    not override its `measure` and `execute`."""
    seeding: Seeding = Seeding.SEPARATE
    """How several seeds are used."""
    seed_stride: int = 1
    """Number of seeds that one run uses, starting at its own; the next run's seeds follow."""
    repetition: str = SEED
    """The column that numbers repetitions; each claim gets an interval over them."""
    is_wide: bool = False
    """Whether claims see one row per point (`rdmacc.sweep.tidy.wide`) instead of one per number."""
    panels: tuple[Panel, ...] = ()
    """Panels of the default plot."""
    grid: Mapping[str, Any] = MappingProxyType({})
    """Options of `draw_panels`."""
    more: str = ""
    """More text for the heading."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Add the texts of ``figures.toml``; draw in rdmacc's style, and collect `points` in a list."""
        super().__init_subclass__(**kwargs)
        for name, text in FIGURES.get(vars(cls).get("name", ""), {}).items():
            setattr(cls, name, text)
        cls.__doc__ = cls.__doc__ or vars(cls).get("description")
        if "points" in vars(cls):
            cls.points = _listed(cls.points)  # type: ignore[method-assign]
        if "plot" in vars(cls):
            cls.plot = on_a_page(cls.plot)  # type: ignore[method-assign]

    @abstractmethod
    def points(self, scale: str = "quick", seed: int = 0) -> Iterable[Point]:
        """Return or yield the points; callers get a list."""

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        """Return a point's rows of the table (see `rdmacc.sweep.tidy`) from its simulation.

        Every experiment overrides this, `compute` or `execute`.
        """
        raise NotImplementedError(f"{type(self).__name__} measures in compute() or execute()")

    def compute(self, point: Point) -> pd.DataFrame:
        """Return the rows of a point without a scenario: an analytic model, or handlers on their own."""
        raise ConfigError(f"scenario of {self.name}, {point.name}", None, "a Scenario, unless compute() is overridden")

    @on_a_page
    def plot(self, table: pd.DataFrame) -> Figure:
        """Draw the figure from the table; by default, its panels under the default reading."""
        rows = self.under(table, DEFAULT)
        assert rows is not None
        return self.drawn(self.panels, rows)

    def drawn(self, panels: Sequence[Panel], table: pd.DataFrame, more: str = "", **grid: Any) -> Figure:
        """Return a figure of panels with its heading."""
        return self.headed(draw_panels(panels, table, **{**self.grid, **grid}), more or self.more)

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        """Compute a point's rows. Override if a point has several simulations."""
        return self.compute(point) if point.scenario is None else self.measure(point, run(point.scenario))

    def run(self, scale: str = "quick", seed: int = 0, engine: str = "auto", seeds: int | None = None) -> pd.DataFrame:
        """Compute every point in this process and return the table, without storing anything.

        `rdmacc.sweep.sweep` uses several processes and stores finished points.

        Parameters
        ----------
        scale : {"quick", "paper"}
            Which points.
        seed : int
            Seed of all randomness.
        engine : str
            As in `rdmacc.simulate`.
        seeds : int, optional
            Number of seeds, starting at `seed`. Default: the experiment's own number.
        """
        run, points = Run(engine), self.seeded_points(scale, seed, seeds)
        tables = {name: check_table(self.execute(point, run), point.name) for name, (point, _) in points.items()}
        return assemble(tables, {name: shown.labels for name, (_, shown) in points.items()})

    def checked_points(
        self, scale: str = "quick", seed: int = 0, changes: Mapping[str, Any] | None = None
    ) -> list[Point]:
        """Return the points, with changed parameters of their schemes."""
        points = list(self.points(check_scale(scale), check_seed(seed)))
        if not points:
            raise ConfigError(f"points of {self.name}", [], f"at least one at {scale} scale")
        twice = [name for name, count in Counter(point.name for point in points).items() if count > 1]
        if twice:
            raise ConfigError(f"points of {self.name}", twice[0], "a unique name")
        return with_parameters(points, changes or {})

    def seeded_points(
        self, scale: str = "quick", seed: int = 0, seeds: int | None = None, changes: Mapping[str, Any] | None = None
    ) -> dict[str, tuple[Point, Point]]:
        """Return the points of several seeds by name, each as computed and as labelled in the table."""
        seed, seeds = check_seed(seed), check_seeds(seeds)
        if seeds is None:
            return {point.name: (point, point) for point in self.checked_points(scale, seed, changes)}

        def points(one: int) -> list[Point]:
            return self.checked_points(scale, one, changes)

        return points_of_seeds(points, self.seeding, seed, seeds, self.seed_stride)

    def rows_of_seeds(self, table: pd.DataFrame) -> dict[int, pd.DataFrame]:
        """Return the rows of each seed that has all points; a single entry if seeds make no difference."""
        return rows_of_seeds(table, self.seeding, self.seed_stride)

    def figure(self, table: pd.DataFrame) -> Figure:
        """Draw the figure of the first seed, with bands from the lowest to the highest value of all seeds."""
        from rdmacc.experiments.framework.drawn_bands import with_bands

        if self.seeding is not Seeding.SEPARATE:
            return self.plot(table)
        return with_bands([self.plot(part) for part in self.rows_of_seeds(table).values()])

    def headed(self, figure: Figure, more: str = "", fontsize: float = 12) -> Figure:
        """Return a figure with a heading: its number, its title and `more`."""
        paper = self.name.partition(".")[0]
        short, number = PAPERS[paper].short if paper in PAPERS else paper, numbered(self.name)
        place = f"{short}, {number[0]} {number[1]}" if number else short
        letters = int(min(figure.get_figwidth(), PAGE) * 120 / fontsize)
        lines = [line for part in f"{place}: {self.title}{more}".split("\n") for line in wrap(part, letters)]
        figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=fontsize)
        return figure

    def canaries(self) -> list[Point]:
        """Return short runs of code that only the paper scale reaches; their results must not change.

        Override if the quick scale omits something. Each point needs a scenario.
        """
        return []

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the rows of a reading of the paper, which may be `DEFAULT`; None if the table has none.

        Override if a table has rows of several readings.
        """
        return table if reading == DEFAULT else None

    def readings_in(self, table: pd.DataFrame) -> list[str]:
        """Return the non-default readings that a table has rows of."""
        return [one.name for one in readings_of(self.name) if self.under(table, one.name) is not None]

    def view(self, table: pd.DataFrame, reading: str = DEFAULT) -> pd.DataFrame:
        """Return the rows of a reading in the form that claims see."""
        rows = self.under(table, check_reading(self.name, reading))
        if rows is None:
            allowed = f"a reading in the table of {self.name}: {', '.join([DEFAULT, *self.readings_in(table)])}"
            raise ConfigError("reading", reading, allowed)
        return self.shown(rows)

    def shown(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows in the form that claims see."""
        return wide(rows) if self.is_wide else rows

    def check(self, table: pd.DataFrame, scale: str = "quick", reading: str = DEFAULT) -> pd.DataFrame:
        """Judge every claim on the table of a scale; one row of `CHECK_COLUMNS` each.

        Pooled seeds give each number an interval. Separate seeds are judged separately; `seeds_judged` and `seeds_held`
        count in how many a claim holds.
        """
        return pd.DataFrame(self.judge(table, scale, reading), columns=list(CHECK_COLUMNS))

    def judge(self, table: pd.DataFrame, scale: str = "quick", reading: str = DEFAULT) -> list[dict[str, Any]]:
        """Return the results of `check` as records, with the judged `numbers`."""
        rows = self.view(table, reading)
        if self.seeding is not Seeding.POOLED:
            parts = {}
            for seed, part in self.rows_of_seeds(table).items():
                found = rows if part is table else self.under(part, reading)
                if found is not None:  # a reading may have fewer seeds than the default
                    parts[seed] = found if part is table else self.shown(found)
            if len(parts) > 1:
                return [claim.check_seeds(parts, scale) for claim in self.claims]
            rows = next(iter(parts.values()), rows)
        labels = [name for name in table.columns if name not in TABLE_COLUMNS]
        without = without_each(rows, self.repetition, labels)
        return [claim.check(rows, scale, without) for claim in self.claims]
