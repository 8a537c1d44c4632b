"""Shrinking: the smallest run that is almost as bad as a run that a search found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rdmacc.models.base import Model
from rdmacc.searches.case import rounded
from rdmacc.searches.evaluate import Run, Work
from rdmacc.searches.objectives import Objective
from rdmacc.searches.space import Values

_MOST = 60
"""Runs that shrinking may take."""


def shrunk(work: Work, worst: Run, sign: int, share: float, most: int = _MOST) -> list[Run]:
    """Return the runs that were as bad, each smaller than the one before: fields at their defaults, rounder numbers.

    With a named objective, `share` of the distance from its best value must remain, otherwise of the value.
    """
    measure = work.measures[0]
    origin = measure.best if isinstance(measure, Objective) else 0.0
    wanted = share * sign * (worst.objectives[0] - origin)
    found, tried, before = [replace(worst, number=0)], 0, -1
    while before < len(found) and tried < most:
        before = len(found)
        for name in sorted(worst.values):
            for values in _smaller(work, found[-1].values, name):
                if tried == most:
                    break
                tried += 1
                run = work(len(found), values)
                is_as_bad = bool(run.objectives) and sign * (run.objectives[0] - origin) >= wanted
                if is_as_bad and bool(run.problem) == bool(worst.problem):
                    found.append(run)
                    break
    return found


def _smaller(work: Work, values: Values, name: str) -> Iterator[Values]:
    """Yield values with one of them simpler: left out, then halfway to its default, then with fewer digits."""
    if name not in values:
        return
    value = values[name]
    default = work.subject if isinstance(work.subject, Model) else work.cases[0]
    simplest = getattr(default, name, None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_larger = is_number and name.endswith("_bytes") and isinstance(simplest, int) and simplest > value
    if not is_larger:
        yield {key: one for key, one in values.items() if key != name}
    if not is_number or not isinstance(simplest, int | float):
        return
    simplest = 0 if is_larger else simplest
    for number in ((value + simplest) / 2, value):
        for digits in (1, 2):
            fewer: Any = rounded(number, digits)
            fewer = int(fewer) if isinstance(value, int) else fewer
            if fewer != value and abs(fewer - simplest) < abs(value - simplest):
                yield {**values, name: fewer}
