"""Claims of papers as records, and the verdicts on them.

A claim records who makes it and where, the measurement, the band for which it holds, and what we expect and why. All
words, margins and tests follow from the band. We tune nothing: a claim that does not hold is reported with the measured
value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.band import Band, Value
from rdmacc.experiments.framework.rows import labels_of
from rdmacc.experiments.framework.scale import SCALES

__all__ = [
    "CHECK_COLUMNS", "OURS", "PAPER", "By", "Claim", "Measured", "NotJudged", "Outcome", "Verdict",
]  # fmt: skip

CHECK_COLUMNS = (
    "id", "by", "place", "quantity", "condition", "published", "band", "measured", "margin", "verdict", "holds",
    "expected", "matches", "seeds_judged", "seeds_held", "reason",
)  # fmt: skip
"""`seeds_judged`: seeds whose rows can decide the claim by themselves; `seeds_held`: those in which it holds."""


class By(StrEnum):
    """Who makes a claim."""

    PAPER = "the paper"
    OURS = "rdmacc"
    """A check that we add, of a reading, a model or an invariant."""


PAPER, OURS = By.PAPER, By.OURS


class Outcome(StrEnum):
    """The verdicts on a claim."""

    HOLDS = "holds"
    DIRECTION = "direction only"
    """Right sign, different magnitude."""
    FAILS = "does not hold"
    NOT_JUDGED = "not judged"
    """Not run, or the run cannot decide it."""


class NotJudged(Exception):
    """Raised by a measurement if the table cannot decide the claim; the message says what is missing."""


class Measured(NamedTuple):
    """A measured value, with remarks for the reader.

    Attributes
    ----------
    numbers : float or mapping
        The value that the band judges.
    note : str
        More numbers, in words.
    """

    numbers: Value
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """The measured value, and whether the claim holds.

    Attributes
    ----------
    measured : str
        The measured value, in words.
    holds : bool
        Whether the claim holds.
    has_direction : bool
        Whether the sign is right, whatever the magnitude.
    is_judged : bool
        Whether the table can decide the claim at all.
    numbers : float or mapping
        The value that the band judged; None if there is no band.
    margin : float
        How far the numbers are inside the band (above zero) or outside, relative to the nearest bound.
    """

    measured: str
    holds: bool
    has_direction: bool = False
    is_judged: bool = True
    numbers: Value = None
    margin: float = math.nan

    @classmethod
    def not_judged(cls, why: str) -> Verdict:
        """Return the verdict for a claim that was not run or cannot be decided."""
        return cls(why, holds=False, is_judged=False)

    @property
    def outcome(self) -> Outcome:
        """The verdict as one word."""
        if not self.is_judged:
            return Outcome.NOT_JUDGED
        if self.holds:
            return Outcome.HOLDS
        return Outcome.DIRECTION if self.has_direction else Outcome.FAILS


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper about a figure, or a check of ours, as a record in the figure's file.

    Attributes
    ----------
    id : str
        Paper, figure and number, such as "dart-f2-1".
    place : str
        Location in the paper.
    quantity, condition : str
        The claimed quantity and its conditions.
    published : str
        The published value.
    measure : callable
        Returns, from the rows that its experiment shows it, a number or numbers by name, or `Measured`. It may raise
        `NotJudged`.
    band : Band
        The band for which the claim holds.
    direction : Band, optional
        The band for the right sign, whatever the magnitude.
    unit : str
        Display unit of the numbers (see `rdmacc.experiments.framework.band.show`).
    by : By
        Who makes the claim.
    expect : Outcome, or mapping from scale to Outcome
        The recorded verdict, at paper scale or at each.
    why : str
        Why it does not hold or cannot be judged; required unless `expect` is `Outcome.HOLDS`.
    too_small : str
        Why the quick scale cannot judge it; empty if it can, with the verdict `expect`.
    needs : tuple of Case
        Runs that are required to judge it.
    seeds : int
        Number of seeds required.
    judge, words, refuses : callable, str, callable
        In place of `measure` and `band`, where no band will do: a function of the rows that returns a `Verdict`, the
        condition in words, and a change of the stored rows that the judge must refuse.
    """

    id: str
    place: str
    quantity: str
    condition: str
    published: str
    _: KW_ONLY
    measure: Callable[[pd.DataFrame], Any] | None = None
    band: Band | None = None
    direction: Band | None = None
    unit: str = ""
    by: By = PAPER
    expect: Outcome | Mapping[str, Outcome] = Outcome.HOLDS
    why: str = ""
    too_small: str = ""
    needs: tuple[Any, ...] = ()
    seeds: int = 1
    judge: Callable[[pd.DataFrame], Verdict] | None = None
    words: str = ""
    refuses: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    def __post_init__(self) -> None:
        by_scale = self.expect if isinstance(self.expect, Mapping) else dict.fromkeys(SCALES, self.expect)
        if set(by_scale) != set(SCALES) or not all(isinstance(one, Outcome) for one in by_scale.values()):
            raise ConfigError(f"{self.id}: expect", self.expect, f"an Outcome, or one for each of {', '.join(SCALES)}")
        if not self.why and any(one != Outcome.HOLDS for one in by_scale.values()):
            raise ConfigError(f"{self.id}: why", self.why, "the reason why the claim is not expected to hold")
        is_banded = self.measure is not None and self.band is not None
        if is_banded == (self.judge is not None) or (self.judge is not None and not self.words):
            raise ConfigError(f"{self.id}: measure", self.measure, "a measure with a band, or a judge with its words")

    def expectation(self, scale: str) -> Outcome:
        """Return the recorded verdict at a scale."""
        if scale == "quick" and self.too_small:
            return Outcome.NOT_JUDGED
        return self.expect[scale] if isinstance(self.expect, Mapping) else self.expect

    def band_words(self) -> str:
        """Return in words what counts as holding, and as the right sign."""
        if self.band is None:
            return self.words
        words = self.band.words(self.unit)
        return words if self.direction is None else f"{words}; right sign: {self.direction.words(self.unit)}"

    def verdict(self, rows: pd.DataFrame) -> Verdict:
        """Judge the claim."""
        wanted = [case.identity for case in self.needs]
        if wanted and not labels_of(rows, *wanted[0]).issuperset(tuple(one.values()) for one in wanted):
            return Verdict.not_judged("not run at this scale")
        try:
            found = self._judged(rows)
        except NotJudged as missing:
            return Verdict.not_judged(str(missing))
        if self.seeds > 1 and rows["seed"].nunique() < self.seeds:
            seeds = f"{rows['seed'].nunique()} of the {self.seeds} seeds that it takes"
            return Verdict.not_judged(f"{found.measured} (with {seeds})")
        return found

    def _judged(self, rows: pd.DataFrame) -> Verdict:
        if self.measure is None or self.band is None:
            assert self.judge is not None
            return self.judge(rows)
        found = self.measure(rows)
        numbers, note = found if isinstance(found, Measured) else (found, "")
        numbers = _plain(numbers)
        return Verdict(
            "; ".join(filter(None, [self.band.shown(numbers, self.unit), note])),
            self.band.holds(numbers),
            self.direction is not None and self.direction.holds(numbers),
            numbers=numbers,
            margin=self.band.margin(numbers),
        )

    def check(self, rows: pd.DataFrame, scale: str = "quick") -> dict[str, Any]:
        """Return the claim and its outcome, as a row of `CHECK_COLUMNS`."""
        return self.row(self.verdict(rows), {}, scale)

    def check_seeds(
        self, rows: pd.DataFrame, parts: Mapping[int, pd.DataFrame], is_pooled: bool, scale: str
    ) -> dict[str, Any]:
        """Return the claim and its outcome as `check` does, with the number of seeds in which it holds.

        Parameters
        ----------
        rows : DataFrame
            The rows of all seeds.
        parts : mapping
            The rows of each seed.
        is_pooled : bool
            Whether the verdict uses all rows together. If not, it is the majority of the seeds' verdicts: the claim
            holds if it does in more than half of them.
        scale : str
            "quick" or "paper".
        """
        if len(parts) == 1:
            return self.check(rows if is_pooled else next(iter(parts.values())), scale)
        each = {seed: self.verdict(part) for seed, part in parts.items()}
        return self.row(self.verdict(rows) if is_pooled else _middle(each), each, scale)

    def row(self, verdict: Verdict, each: Mapping[int, Verdict], scale: str) -> dict[str, Any]:
        """Return the claim with a verdict on it, as a row of `CHECK_COLUMNS`."""
        expected = self.expectation(scale)
        outcome = Outcome.NOT_JUDGED if expected == Outcome.NOT_JUDGED else verdict.outcome
        judged = [one for one in each.values() or (verdict,) if one.is_judged and outcome != Outcome.NOT_JUDGED]
        values = {name: getattr(self, name) for name in CHECK_COLUMNS if hasattr(self, name)}
        why = self.too_small if scale == "quick" and self.too_small else self.why
        return values | {
            "by": self.by.value,
            "band": self.band_words(),
            "measured": verdict.measured,
            "margin": verdict.margin,
            "numbers": verdict.numbers,
            "verdict": outcome.value,
            "holds": outcome == Outcome.HOLDS,
            "expected": expected.value,
            "matches": outcome == expected,
            "seeds_judged": len(judged),
            "seeds_held": sum(one.outcome == Outcome.HOLDS for one in judged),
            "reason": "" if outcome == expected == Outcome.HOLDS else why,
        }


def _plain(value: Any) -> Value:
    """Return numbers as Python numbers, and names as strings."""
    if isinstance(value, pd.Series | Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return float(value)


def _middle(each: Mapping[int, Verdict]) -> Verdict:
    """Return the median of several seeds' verdicts; of two, the worse one."""
    order = list(Outcome)
    judged = sorted(
        ((seed, one) for seed, one in each.items() if one.is_judged), key=lambda item: order.index(item[1].outcome)
    )
    if not judged:
        return next(iter(each.values()))
    seed, middle = judged[len(judged) // 2]
    return replace(middle, measured=f"seed {seed}: {middle.measured}")
