"""Claims of papers as data, and the verdicts on them.

Nothing is tuned: a claim that does not hold is reported with what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.experiments.scales import SCALES

__all__ = ["CHECK_COLUMNS", "Claim", "Outcome", "Verdict"]

CHECK_COLUMNS = (
    "id", "place", "quantity", "condition", "published", "band", "measured", "verdict", "holds", "expected", "matches",
    "seeds_judged", "seeds_held", "reason",
)  # fmt: skip
"""`seeds_judged`: seeds whose rows can decide the claim by themselves; `seeds_held`: those in which it holds."""


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
        return self._row(self.verdict(table), {}, scale)

    def check_seeds(
        self, table: pd.DataFrame, parts: Mapping[int, pd.DataFrame], is_pooled: bool, scale: str
    ) -> dict[str, Any]:
        """Return the claim and its outcome as `check` does, with the number of seeds in which it holds.

        Parameters
        ----------
        table : DataFrame
            The table of all seeds.
        parts : mapping
            The rows of each seed.
        is_pooled : bool
            Whether the verdict is by all rows together. If not, it is the one that most seeds give: the claim holds
            if it does in more than half of them.
        scale : str
            "quick" or "paper".
        """
        if len(parts) == 1:
            return self.check(table if is_pooled else next(iter(parts.values())), scale)
        each = {seed: self.verdict(part) for seed, part in parts.items()}
        return self._row(self.verdict(table) if is_pooled else _middle(each), each, scale)

    def _row(self, verdict: Verdict, each: Mapping[int, Verdict], scale: str) -> dict[str, Any]:
        expected = self.expectation(scale)
        outcome = Outcome.NOT_JUDGED if expected == Outcome.NOT_JUDGED else verdict.outcome
        judged = [one for one in each.values() or (verdict,) if one.is_judged and outcome != Outcome.NOT_JUDGED]
        values = {name: getattr(self, name) for name in CHECK_COLUMNS if hasattr(self, name)}
        return values | {
            "measured": verdict.measured,
            "verdict": outcome.value,
            "holds": outcome == Outcome.HOLDS,
            "expected": expected.value,
            "matches": outcome == expected,
            "seeds_judged": len(judged),
            "seeds_held": sum(one.outcome == Outcome.HOLDS for one in judged),
            "reason": "" if outcome == expected == Outcome.HOLDS else self.reason,
        }


def _middle(each: Mapping[int, Verdict]) -> Verdict:
    """Return the verdict that stands in the middle of those of several seeds, the worse one of two."""
    order = list(Outcome)
    judged = sorted(
        ((seed, one) for seed, one in each.items() if one.is_judged), key=lambda item: order.index(item[1].outcome)
    )
    if not judged:
        return next(iter(each.values()))
    seed, middle = judged[len(judged) // 2]
    return replace(middle, measured=f"seed {seed}: {middle.measured}")
