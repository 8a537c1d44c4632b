"""Figures drawn from the same runs: a case is a run without its seed, and a table has one row for each run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from rdmacc.experiments.base import Experiment, Point, Seeding
from rdmacc.experiments.claims import Claim, Verdict
from rdmacc.experiments.scales import check_scale
from rdmacc.sweep.tidy import wide

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Case", "CaseFigure", "Judge", "judged_claim"]


class Case(Protocol):
    """A run: what distinguishes it from the others, but for its seed."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Labels of its point that no other case of a figure has."""

    def point(self, scale: str, seed: int) -> Point:
        """Return the scenario as a point.

        Parameters
        ----------
        scale : str
            "quick" or "paper".
        seed : int
            Of all randomness.
        """


class CaseFigure(Experiment):
    """A figure of some cases, drawn from one row for each run.

    A subclass for all figures that share runs has `measure` and is their `points_of`: what one figure has stored, the
    others reuse.

    Class attributes
    ----------------
    seeds : int
        Most runs of a case at paper scale; at quick scale there is one.
    """

    seeding = Seeding.POOLED
    seeds: int

    @abstractmethod
    def cases(self, scale: str) -> Sequence[Case]:
        """Return the runs that are needed.

        Parameters
        ----------
        scale : str
            "quick" or "paper".
        """

    @abstractmethod
    def draw(self, rows: pd.DataFrame) -> Figure:
        """Draw the figure.

        Parameters
        ----------
        rows : DataFrame
            One row for each run.
        """

    def seeds_of(self, case: Any) -> int:
        """Return the runs of a case at paper scale.

        Parameters
        ----------
        case : Case
            One of `cases`.
        """
        return self.seeds

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        """Return the points: every case with every seed."""
        is_paper = check_scale(scale) == "paper"
        return [
            case.point(scale, one)
            for case in self.cases(scale)
            for one in range(seed, seed + (self.seeds_of(case) if is_paper else 1))
        ]

    def plot(self, table: pd.DataFrame) -> Figure:
        """Draw the figure."""
        return self.draw(wide(table))


@dataclass(frozen=True)
class Judge:
    """Judges a claim by one row for each run, once all that it needs has run, with so many seeds.

    Attributes
    ----------
    verdict : callable
        Judges the rows.
    needs : tuple of Case
        What must have run.
    seeds : int
        How often.
    """

    verdict: Callable[[pd.DataFrame], Verdict]
    needs: tuple[Case, ...] = ()
    seeds: int = 1

    def __call__(self, table: pd.DataFrame) -> Verdict:
        """Return the verdict on an experiment's table."""
        return self.of_rows(wide(table))

    def of_rows(self, rows: pd.DataFrame) -> Verdict:
        """Return the verdict.

        Parameters
        ----------
        rows : DataFrame
            One for each run.
        """
        wanted = [case.identity for case in self.needs]
        if wanted:
            ran = set(zip(*(rows[name] for name in wanted[0]), strict=True))
            if not ran.issuperset(tuple(one.values()) for one in wanted):
                return Verdict.not_judged("not run at this scale")
        found = self.verdict(rows)
        if self.seeds > 1 and rows["seed"].nunique() < self.seeds:
            seeds = f"{rows['seed'].nunique()} of the {self.seeds} seeds that it takes"
            return Verdict.not_judged(f"{found.measured} (with {seeds})")
        return found


def judged_claim(
    known: Callable[[str], dict[str, Any]],
    judge: type[Judge],
    id: str,
    place: str,
    quantity: str,
    condition: str,
    published: str,
    band: str,
    verdict: Callable[[pd.DataFrame], Verdict],
    needs: Sequence[Case] = (),
    seeds: int = 1,
) -> Claim:
    """Return a claim that a `Judge` judges. A paper's modules fix the first two arguments.

    Parameters
    ----------
    known : callable
        Returns `expected` and `reason` of a claim by its id.
    judge : type of Judge
        Who judges.
    id, place, quantity, condition, published, band : str
        As in `Claim`.
    verdict, needs, seeds
        As in `Judge`.
    """
    return Claim(
        id=id, place=place, quantity=quantity, condition=condition, published=published, band=band,
        verdict=judge(verdict, tuple(needs), seeds), **known(id),
    )  # fmt: skip
