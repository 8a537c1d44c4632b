"""Figures that share runs: a case is a run without its seed, and a table has one row per run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.experiments.framework.experiment import Experiment, Seeding
from rdmacc.experiments.framework.point import Point, check_scale
from rdmacc.results.result import Result
from rdmacc.sweep.tidy import wide
from rdmacc.topology.base_times import base_fct_ps
from rdmacc.units import ps, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CANARY_MESSAGES = 50
_CANARY_PS = us(350)
"""Time that a canary runs after its last message starts; DCTCP starts to send after 300 us."""


class Case(Protocol):
    """A run, identified by everything except its seed."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Labels of the point, unique within a figure."""

    def point(self, scale: str, seed: int) -> Point:
        """Return the scenario as a point."""


class CaseFigure(Experiment):
    """A figure of some cases, drawn from one row per run.

    Figures that share runs have one subclass, with `measure`, as their `points_of`, and so share stored points.
    """

    seeding = Seeding.POOLED
    is_wide = True
    seeds: int
    """Maximum number of runs per case at paper scale; quick scale has one."""

    @abstractmethod
    def cases(self, scale: str) -> Sequence[Case]:
        """Return the cases to run."""

    def draw(self, rows: pd.DataFrame) -> Figure:
        """Draw the figure; by default, its panels."""
        return self.drawn(self.panels, rows)

    def seeds_of(self, case: Any) -> int:
        """Return the number of runs of a case at paper scale."""
        return self.seeds

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        """Return the points: every case with every seed."""
        is_paper = check_scale(scale) == "paper"
        return [
            case.point(scale, one)
            for case in self.cases(scale)
            for one in range(seed, seed + (self.seeds_of(case) if is_paper else 1))
        ]

    def canaries(self) -> list[Point]:
        """Return the last run of each scheme at paper scale, stopped soon after its first messages have started."""
        last = {case.identity.get("scheme"): case for case in self.cases("paper")}
        found = []
        for point in (case.point("paper", 0) for case in last.values()):
            if point.scenario is not None:
                messages: Any = point.scenario.workload
                starts_ps = (messages() if callable(messages) else messages)["start_ps"]
                until_ps = int(starts_ps.nsmallest(_CANARY_MESSAGES).iloc[-1]) + _CANARY_PS
                found.append(replace(point, scenario=replace(point.scenario, until=ps(until_ps))))
        return found

    def plot(self, table: pd.DataFrame) -> Figure:
        return self.draw(wide(table))


def fct_so_far_ps(result: Result) -> npt.NDArray[np.float64]:
    """Return each message's completion time; for unfinished messages, the time so far."""
    flows = result.flows
    return np.asarray(flows["fct_ps"].astype(np.float64).fillna(result.now_ps - flows["start_ps"]), np.float64)


def in_order_fct_ps(result: Result) -> npt.NDArray[np.int64]:
    """Return each message's time alone on the first shortest path; the bound in `Result.flows` allows spraying."""
    plan, scheme = result.plan, result.plan.scheme
    return base_fct_ps(plan.fabric, plan.src, plan.dst, plan.size_bytes, scheme.payload_bytes, scheme.header_bytes)
