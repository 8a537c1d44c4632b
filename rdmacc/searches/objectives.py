"""Objectives by name: quantities of a result that a search makes as bad, or as good, as it can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.models.max_min import MaxMin
from rdmacc.probes import Probe, goodput
from rdmacc.results.result import Result
from rdmacc.results.summary import jain, percentile
from rdmacc.schemes import Scheme
from rdmacc.searches.case import Case
from rdmacc.units import ps

Floats = npt.NDArray[np.float64]
_FAIR = 0.95
"""Long flows have converged when Jain's index of their goodputs stays above this."""
_PERIOD_RTTS = 20


@dataclass(frozen=True)
class Objective:
    """A quantity of a result, and the direction in which it gets worse."""

    name: str
    measure: Callable[[Case, Result], float]
    unit: str = ""
    best: float = 0.0
    sign: int = 1  # -1 if smaller is worse

    def badness(self, value: float) -> float:
        """Return how far a value is from the best one."""
        return self.sign * (value - self.best)


def fct_ps(result: Result) -> Floats:
    """Return completion times; for an unfinished message, the time so far."""
    flows = result.flows
    found = flows["fct_ps"].to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isnan(found), np.maximum(result.now_ps - flows["start_ps"].to_numpy(), 1), found)


def fair_ps(case: Case, result: Result) -> Floats:
    """Return the completion times under max-min sharing, plus the time for which the receiver's link was stopped."""
    return _fair_ps(case, result.plan.scheme)


@lru_cache(8)
def _fair_ps(case: Case, scheme: Scheme) -> Floats:
    one = case.scenario(scheme)
    rows = MaxMin(network=one.make_network(), workload=one.messages(), scheme=scheme, seed=case.seed).solve()
    return rows["fct_ps"].to_numpy(np.float64) + case.stopped_ps


def _slowdown(case: Case, result: Result) -> float:
    return percentile(fct_ps(result) / result.plan.ideal_fct_ps, 99)


def _excess(case: Case, result: Result) -> float:
    return percentile(fct_ps(result) / fair_ps(case, result), 99)


def _lost(case: Case, result: Result) -> float:
    start = result.flows["start_ps"].to_numpy(np.float64)
    return 1.0 - float((start + fair_ps(case, result)).max()) / float((start + fct_ps(result)).max())


def _jain(case: Case, result: Result) -> float:
    return jain(fair_ps(case, result) / fct_ps(result))


def _queue(case: Case, result: Result) -> float:
    return float(result.counters["peak_queue_bytes"])


def _paused(case: Case, result: Result) -> float:
    return float(result.ports["paused_ps"].max()) / max(result.now_ps, 1)


def _needless(case: Case, result: Result) -> float:
    counters = result.counters
    lost = counters["dropped_packets"] + counters["lost_packets"] + counters["trimmed_packets"]
    sent = max(int(result.ports.loc[result.ports["link_class"] == "host_nic", "tx_data_packets"].sum()), 1)
    return max(0.0, float(counters["retransmissions"] - lost)) / sent


def period_ps(case: Case) -> int:
    """Return the period over which goodputs of long flows are averaged."""
    return _PERIOD_RTTS * 4 * case.delay_ps


def probes_for(case: Case, objectives: tuple[Any, ...]) -> tuple[Probe, ...]:
    """Return the probes that the objectives need."""
    if not any(isinstance(one, Objective) and one.measure is _converge for one in objectives):
        return ()
    return tuple(goodput(i, ps(period_ps(case))) for i in range(case.long_flows))


def _converge(case: Case, result: Result) -> float:
    """Return the time from which the long flows share fairly until the first of them ends."""
    if case.long_flows < 2:
        return 0.0
    table = np.array([result.samples(f"goodput {i}").to_numpy(np.float64) for i in range(case.long_flows)])
    end_ps = float(fct_ps(result)[: case.long_flows].min())
    table = table[:, : max(1, int(end_ps / period_ps(case)))]
    unfair = np.flatnonzero(np.nan_to_num([jain(rates) for rates in table.T]) < _FAIR)  # nobody sends: not fair yet
    return float((unfair[-1] + 1) * period_ps(case)) if len(unfair) else 0.0


OBJECTIVES = {
    one.name: one
    for one in (
        Objective("p99 slowdown", _slowdown, best=1.0),
        Objective("p99 over fair", _excess, best=1.0),
        Objective("lost goodput", _lost, "share"),
        Objective("Jain", _jain, best=1.0, sign=-1),
        Objective("peak queue", _queue, "bytes"),
        Objective("pause time", _paused, "share"),
        Objective("time to converge", _converge, "ps"),
        Objective("deadlock", _paused, "share"),  # a run that deadlocks counts as 1 (`searches.evaluate`)
        Objective("needless retransmissions", _needless, "share"),
    )
}
"""By name. "p99 over fair" is the p99 of completion times over those of max-min sharing (`rdmacc.models.MaxMin`)."""
