"""Points: the units of work and storage of an experiment, at two scales."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rdmacc.errors import ConfigError, unknown
from rdmacc.schemes import Scheme, as_scheme, scheme_table
from rdmacc.simulation.scenario import Scenario

SCALES = ("quick", "paper")
""""quick" takes seconds, for tests and a first look; "paper" has the paper's topology and load."""


def check_scale(scale: str) -> str:
    """Return a scale's name; raise `ConfigError` if it is unknown."""
    if scale not in SCALES:
        raise ConfigError("scale", scale, f"one of {', '.join(SCALES)}")
    return scale


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """A unit of work: one scenario, or any input of `Experiment.execute`.

    It can be pickled and is cheap to create. It contains everything that its rows depend on as plain data, because they
    are stored under its hash.
    """

    name: str
    """Name, unique within the experiment."""
    scenario: Scenario | None = None
    """The scenario. Without one, the experiment must override `execute`."""
    labels: Mapping[str, Any] = field(default_factory=dict)
    """Labels that distinguish this point; each becomes a column of the table."""
    cost: float = 1.0
    """Relative run time among the experiment's points, in any unit."""

    @classmethod
    def of(cls, name: str, labels: Mapping[str, Any] | None = None, *, cost: float = 1.0, **scenario: Any) -> "Point":
        """Return a point of one scenario, given by its fields."""
        return cls(name=name, scenario=Scenario(**scenario), labels=labels or {}, cost=cost)


def with_parameters(points: list[Point], changes: Mapping[str, Any]) -> list[Point]:
    """Return points with changed parameters of the schemes that have them."""
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
