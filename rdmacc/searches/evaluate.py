"""One run of a search: a subject with some values, what it measured, and what went wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rdmacc.errors import ConfigError, DeadlockError, SimulationError, reason_of, unknown
from rdmacc.models.base import Model
from rdmacc.models.comparison import Comparable, compare
from rdmacc.searches.case import MOST_EVENTS, Case, quietly
from rdmacc.searches.objectives import OBJECTIVES, Objective, probes_for
from rdmacc.searches.space import Subject, Values

DISTANCE = "distance to model"


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes
    ----------
    number : int
        Position in the search.
    values : dict
        Its values by name.
    objectives : tuple of float
        Measured objectives; empty if they could not be measured.
    problem : str
        Why the run failed: a deadlock, an error of the scheme, messages that never complete. Empty otherwise.
    is_refused : bool
        Whether the scheme or the network does not allow these values.
    """

    number: int
    values: Values
    objectives: tuple[float, ...]
    problem: str = ""
    is_refused: bool = False


Measure = Objective | Callable[..., float] | str


def measures_of(subject: Subject, objective: Any) -> tuple[Measure, ...]:
    """Return the objectives, with names replaced by what they stand for."""
    given = list(objective) if isinstance(objective, list | tuple) else [objective]
    if not given:
        raise ConfigError("objective", objective, "at least one")
    if isinstance(subject, Model):
        for one in given:
            if one != DISTANCE and not callable(one):
                raise ConfigError("objective", one, f"a function of the model, or {DISTANCE!r}")
            if one == DISTANCE and not isinstance(subject, Comparable):
                raise ConfigError("objective", one, f"a function: {type(subject).__name__} has no simulation")
        return tuple(given)
    for one in given:
        if not callable(one) and (not isinstance(one, str) or one not in OBJECTIVES):
            raise unknown("objective", one, OBJECTIVES, "a function of the result, or the name of an objective")
    return tuple(one if callable(one) else OBJECTIVES[one] for one in given)


@dataclass(frozen=True)
class Work:
    """What all runs of a search share; it can be pickled."""

    subject: Subject
    cases: tuple[Case, ...]
    measures: tuple[Measure, ...]
    most_events: int = MOST_EVENTS

    def split(self, values: Values) -> tuple[Subject, tuple[Case, ...]]:
        """Return the subject and the cases with these values."""
        if isinstance(self.subject, Model):
            return self.subject.replace(**values), ()
        fields = Case.__dataclass_fields__
        of_case = {name: value for name, value in values.items() if name in fields}
        parameters = {name: value for name, value in values.items() if name not in fields}
        scheme = self.subject.replace(**parameters) if parameters else self.subject
        return scheme, tuple(one.replace(**of_case) for one in self.cases)

    def __call__(self, number: int, values: Values) -> Run:
        """Run the subject with some values; over several cases, the objectives are means."""
        try:
            subject, cases = self.split(values)
            if isinstance(subject, Model):
                found = [tuple(self._of_model(subject, one, values) for one in self.measures)]
                problems = [""]
            else:
                both = [self._of_case(subject, case, values) for case in cases]
                found, problems = [one for one, _ in both], [problem for _, problem in both if problem]
        except _NotANumberError as error:
            raise error.args[0] from None
        except ConfigError as error:
            return Run(number, values, (), str(error), is_refused=True)
        except Exception as error:
            return Run(number, values, (), reason_of(error))
        means = tuple(float(np.mean(column)) for column in zip(*found, strict=True)) if all(found) else ()
        return Run(number, values, means, next(iter(problems), ""))

    def _of_case(self, subject: Any, case: Case, values: Values) -> tuple[tuple[float, ...], str]:
        problem, is_deadlocked = "", False
        result: Any
        try:
            result = quietly(case.scenario(subject, probes=probes_for(case, self.measures)), self.most_events)
        except SimulationError as error:
            problem, is_deadlocked = str(error), isinstance(error, DeadlockError)
            result = getattr(error, "result", None)
            if result is None:
                return (), problem
        if not problem and (unfinished := int(result.flows["fct_ps"].isna().sum())):
            problem = f"{unfinished} of {len(result.flows)} messages never complete"
        found = []
        for one in self.measures:
            if isinstance(one, Objective):
                value = 1.0 if one.name == "deadlock" and is_deadlocked else one.measure(case, result)
            else:
                assert callable(one)
                value = one(result)
            found.append(_number(one, value, values))
        return tuple(found), problem

    def _of_model(self, model: Model, measure: Any, values: Values) -> float:
        if measure != DISTANCE:
            return _number(measure, measure(model), values)
        compared = compare(model)
        summary = compared.summary()
        both = summary[["model", "simulation"]].to_numpy(np.float64)
        packet = np.where(summary["unit"] == "bytes", compared.result.plan.scheme.payload_bytes, 0)  # less is noise
        larger = np.maximum(np.abs(both).max(axis=1), packet)
        apart = np.abs(both[:, 0] - both[:, 1]) / np.where(larger > 0, larger, 1.0)
        return _number(measure, float(apart.max()), values)


class _NotANumberError(Exception):
    pass


def _number(measure: Any, value: Any, values: Values) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        name = getattr(measure, "name", None) or getattr(measure, "__name__", str(measure))
        raise _NotANumberError(ConfigError(f"objective {name}", value, "a finite number", where=f"at {values}"))
    return number
