"""Claims of papers as records, and the verdicts on them.

A claim records its author, words and place, the measurement, the band for which it holds, and what we expect and why.
All words, margins and tests follow from the band. The band of a paper's claim is what its sentence says; `Claim.chosen`
and the history beside the ledger show which bands were set with results in sight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.bands import Band, Number, Value, only, spread
from rdmacc.experiments.framework.point import SCALES
from rdmacc.experiments.framework.rows import labels_of

CHECK_COLUMNS = (
    "id", "by", "kind", "place", "quote", "quantity", "condition", "published", "band", "measured", "margin", "verdict",
    "holds", "expected", "matches", "seeds_judged", "seeds_held", "reason",
)  # fmt: skip
"""`seeds_judged`: seeds whose rows alone can decide the claim; `seeds_held`: those in which it holds."""


class By(StrEnum):
    """Who makes a claim."""

    PAPER = "the paper"
    OURS = "rdmacc"
    """A check of ours, of a reading, a model or an invariant."""


PAPER, OURS = By.PAPER, By.OURS


class Kind(StrEnum):
    """What a claim is about."""

    IDENTITY = "identity"
    """A parameter, an equation or a unit, which follows from definitions, not from simulation."""
    TREND = "trend"
    """An order or a direction."""
    MAGNITUDE = "magnitude"
    """A size."""


class Chosen(StrEnum):
    """When a band, or the default among readings, was chosen."""

    BY_TEXT = "by the text"
    """The paper states it, so there was nothing to choose."""
    BY_RULE = "by the rule for sizes"
    """By the rule in docs/experiments.md, from the sentence's size or word; chosen after the runs, but independent of
    them."""
    BEFORE = "before the runs"
    IN_SIGHT = "with results in sight"


class Outcome(StrEnum):
    """The verdicts on a claim."""

    HOLDS = "holds"
    DIRECTION = "direction only"
    """Right sign, different magnitude."""
    UNDECIDED = "undecided"
    """An edge of the band, or of the direction, lies within the interval over the seeds."""
    FAILS = "does not hold"
    NOT_JUDGED = "not judged"
    """Not run, or not decidable from the run."""


class NotJudged(Exception):
    """Raised by a measurement if the table cannot decide the claim; the message says what is missing."""


class Measured(NamedTuple):
    """A measured value, with remarks for the reader."""

    numbers: Value
    """The value that the band judges."""
    note: str = ""
    """Further numbers, in words."""


@dataclass(frozen=True)
class Verdict:
    """A measured value, and whether the claim holds."""

    outcome: Outcome
    measured: str
    """In words."""
    numbers: Value = None
    """The value that the band judged; None if there is no band."""
    margin: float = math.nan
    """How far the numbers are inside (positive) or outside the band, relative to the nearest bound."""
    half_widths: Value = None
    """Half of each number's 95% interval over the seeds; None if there is one run."""

    @property
    def is_judged(self) -> bool:
        """Whether the table can decide the claim."""
        return self.outcome != Outcome.NOT_JUDGED


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper about a figure, or a check of ours; its text comes from ``claims.toml`` (`texts.claim`)."""

    id: str
    """Paper, figure and number, such as "dart-f2-1"."""
    place: str
    """Location in the paper."""
    quantity: str
    condition: str
    """The claimed quantity and its conditions."""
    published: str
    """The published value."""
    _: KW_ONLY
    measure: Callable[[pd.DataFrame], Any]
    """Returns a number, numbers by name, or `Measured` from the experiment's rows. If the rows cannot decide the claim,
    it returns no numbers or raises `NotJudged`."""
    band: Band
    direction: Band | None = None
    """The band for which the claim holds, and the band of the right sign, whatever the magnitude."""
    unit: str = ""
    """Display unit of the numbers (see `rdmacc.experiments.framework.bands.show`)."""
    by: By = PAPER
    quote: str = ""
    """The paper's sentence, or its relevant part, verbatim; omissions are "..."."""
    kind: Kind | None = None
    """Default: `IDENTITY` if every number must be exact, `TREND` if no bound is other than 0 or 1, else `MAGNITUDE`."""
    chosen: Chosen | None = None
    """`Chosen.BY_TEXT` if the paper states the band. Default: by `rdmacc.experiments.ledger.history`."""
    expect: Outcome | Mapping[str, Outcome] = Outcome.HOLDS
    """Expected verdict on the numbers, at paper scale or by scale; the ledger tells if chance leaves it undecided."""
    why: str = ""
    """Why the claim does not hold or cannot be judged; required unless `expect` is `Outcome.HOLDS`."""
    too_small: str = ""
    """Why the quick scale cannot judge the claim, which is then not measured there; empty if it can."""
    needs: Sequence[Any] = ()
    """Cases whose runs are required to judge it."""
    seeds: int = 1
    """Number of seeds required."""

    def __post_init__(self) -> None:
        by_scale = self.expect if isinstance(self.expect, Mapping) else dict.fromkeys(SCALES, self.expect)
        if set(by_scale) != set(SCALES) or not all(isinstance(one, Outcome) for one in by_scale.values()):
            raise ConfigError(f"{self.id}: expect", self.expect, f"an Outcome, or one for each of {', '.join(SCALES)}")
        if not self.why and any(one != Outcome.HOLDS for one in by_scale.values()):
            raise ConfigError(f"{self.id}: why", self.why, "the reason why the claim is not expected to hold")
        if self.kind is None:
            object.__setattr__(self, "kind", _kind_of(self.band))

    def expectation(self, scale: str) -> Outcome:
        """Return the recorded verdict at a scale."""
        if scale == "quick" and self.too_small:
            return Outcome.NOT_JUDGED
        return self.expect[scale] if isinstance(self.expect, Mapping) else self.expect

    def band_words(self) -> str:
        """Return the bands of holding and of the right sign, in words."""
        words = self.band.words(self.unit)
        return words if self.direction is None else f"{words}; right sign: {self.direction.words(self.unit)}"

    def verdict(self, rows: pd.DataFrame, without: Sequence[pd.DataFrame] = (), scale: str = "paper") -> Verdict:
        """Judge the claim on rows; the interval comes from the same rows `without` each repetition."""
        if scale == "quick" and self.too_small:
            return Verdict(Outcome.NOT_JUDGED, "not measured at this scale")
        wanted = [case.identity for case in self.needs]
        if wanted and not labels_of(rows, *wanted[0]).issuperset(tuple(one.values()) for one in wanted):
            return Verdict(Outcome.NOT_JUDGED, "not run at this scale")
        try:
            found = self._judged(rows, without)
        except NotJudged as missing:
            return Verdict(Outcome.NOT_JUDGED, str(missing))
        if self.seeds > 1 and rows["seed"].nunique() < self.seeds:
            seeds = f"{rows['seed'].nunique()} of the {self.seeds} seeds that it takes"
            return Verdict(Outcome.NOT_JUDGED, f"{found.measured} (with {seeds})")
        return found

    def _judged(self, rows: pd.DataFrame, without: Sequence[pd.DataFrame]) -> Verdict:
        numbers, note = self._measured(rows)
        try:
            others = [self._measured(part)[0] for part in without]
        except NotJudged:  # only one repetition decides it: no interval
            others = []
        widths = spread(numbers, others) if others else None
        words = [self.band.shown(numbers, self.unit), self._chance(widths, len(others)), note]
        measured = "; ".join(filter(None, words))
        return Verdict(self._outcome(numbers, others), measured, numbers, self.band.margin(numbers), widths)

    def _outcome(self, numbers: Value, others: Sequence[Value]) -> Outcome:
        holds, sign = self.band.surely(numbers, others), self.direction
        if holds is None or not (holds or sign is None or sign.surely(numbers, others) is not None):
            return Outcome.UNDECIDED
        if self.band.holds(numbers):
            return Outcome.HOLDS
        return Outcome.DIRECTION if sign is not None and sign.holds(numbers) else Outcome.FAILS

    def _chance(self, widths: Value, count: int) -> str:
        """Return the influence of chance on the numbers, in words."""
        if not count:
            return ""
        moved, alone = only(widths, lambda one: 0 < one < math.inf), only(widths, math.isinf)
        words = [] if moved is None else [f"\u00b1 {self.band.shown(moved, self.unit)} over {count} repetitions"]
        if only(widths, lambda one: one == 0) is not None:
            of = "the others are the same" if words else "the same"
            words.append(f"{of} whichever of {count} repetitions is left out")
        if alone is not None:
            words.append(f"of one run: {'; '.join(alone) if isinstance(alone, Mapping) else 'this'}")
        return "; ".join(words)

    def _measured(self, rows: pd.DataFrame) -> Measured:
        found = self.measure(rows)
        numbers, note = found if isinstance(found, Measured) else (found, "")
        if isinstance(numbers, pd.Series | Mapping) and not len(numbers):
            raise NotJudged("the table has no such runs")
        return Measured(_plain(numbers), note)

    def check(self, rows: pd.DataFrame, scale: str = "quick", without: Sequence[pd.DataFrame] = ()) -> dict[str, Any]:
        """Return the claim and its outcome, as a row of `CHECK_COLUMNS`."""
        return self.row(self.verdict(rows, without, scale), {}, scale)

    def check_seeds(self, parts: Mapping[int, pd.DataFrame], scale: str) -> dict[str, Any]:
        """Return the same as `check`, by the majority of verdicts on separate seeds.

        The claim holds if it holds in more than half of the seeds.
        """
        each = {seed: self.verdict(part, (), scale) for seed, part in parts.items()}
        return self.row(_middle(each), each, scale)

    def row(self, verdict: Verdict, each: Mapping[int, Verdict], scale: str) -> dict[str, Any]:
        """Return the claim with a verdict, as a row of `CHECK_COLUMNS`."""
        expected = self.expectation(scale)
        outcome = Outcome.NOT_JUDGED if expected == Outcome.NOT_JUDGED else verdict.outcome
        judged = [one for one in each.values() or (verdict,) if one.is_judged and outcome != Outcome.NOT_JUDGED]
        values = {name: getattr(self, name) for name in CHECK_COLUMNS if hasattr(self, name)}
        why = self.too_small if scale == "quick" and self.too_small else self.why
        return values | {
            "by": self.by.value,
            "kind": str(self.kind),
            "band": self.band_words(),
            "measured": verdict.measured,
            "margin": verdict.margin,
            "numbers": verdict.numbers,
            "half_widths": verdict.half_widths,
            "verdict": outcome.value,
            "holds": outcome == Outcome.HOLDS,
            "expected": expected.value,
            "matches": outcome in (expected, Outcome.UNDECIDED),
            "seeds_judged": len(judged),
            "seeds_held": sum(one.outcome == Outcome.HOLDS for one in judged),
            "reason": "" if outcome == expected == Outcome.HOLDS else why,
        }


def _kind_of(band: Band) -> Kind:
    found = [(one.low, one.high) if isinstance(one, Number) else None for one in band.leaves()]
    if all(ends is not None and ends[0] == ends[1] for ends in found):
        return Kind.IDENTITY
    bounds = {abs(end) for ends in found for end in ends or ()}
    return Kind.TREND if bounds <= {0.0, 1.0, math.inf} else Kind.MAGNITUDE


def _plain(value: Any) -> Value:
    """Convert numbers to Python numbers, and names to strings."""
    if isinstance(value, pd.Series | Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return float(value)


def _middle(each: Mapping[int, Verdict]) -> Verdict:
    """Return the median verdict over seeds; of two, the worse one."""
    judged = [(seed, one) for seed, one in each.items() if one.is_judged]
    if not judged:
        return next(iter(each.values()))
    judged.sort(key=lambda item: [*Outcome].index(item[1].outcome))
    seed, middle = judged[len(judged) // 2]
    return replace(middle, measured=f"seed {seed}: {middle.measured}")
