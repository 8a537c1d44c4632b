"""Compare two schemes on cases that a seed draws, so that neither can have been tuned to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.searches.case import Case
from rdmacc.searches.evaluate import Work
from rdmacc.searches.objectives import OBJECTIVES
from rdmacc.show.bar import Bar
from rdmacc.sweep.seeds import check_seed
from rdmacc.topology.bounds import checked_count

__all__ = ["HeldOut", "held_out"]

SAME = 0.01
"""Values that differ by less than this share of the larger one count as equal."""


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut:
    """A scheme and a baseline on drawn cases; print it.

    Attributes
    ----------
    frame : DataFrame
        A row for each case: `line`, which runs it under the scheme, and how far from the objective's best value
        `scheme` and `baseline` are; infinite where a run failed.
    objective : str
        Name of the objective.
    names : tuple of str
        The scheme and the baseline.
    seed : int
        The seed that drew the cases.
    """

    frame: pd.DataFrame
    objective: str
    names: tuple[str, str]
    seed: int

    @property
    def better(self) -> tuple[float, float, float]:
        """The share of cases in which the scheme is better, and its 95% interval (Wilson's)."""
        return self._share("scheme", "baseline")

    @property
    def worse(self) -> tuple[float, float, float]:
        """The share of cases in which the scheme is worse, and its 95% interval."""
        return self._share("baseline", "scheme")

    def _share(self, low: str, high: str) -> tuple[float, float, float]:
        """Return how often the first is lower by more than `SAME`, and the interval."""
        small, large = (self.frame[name].to_numpy(np.float64) for name in (low, high))
        count = int((small < large * (1.0 - SAME)).sum())  # a failure is infinite, and no better than another one
        interval = binomtest(count, len(small)).proportion_ci(method="wilson")
        return count / len(small), float(interval.low), float(interval.high)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        (own, other), worst = self.names, self.frame.iloc[int(self.frame["scheme"].to_numpy().argmax())]
        shares = [
            f"{word} in {share:.0%} ({100 * low:.0f} to {100 * high:.0f})"
            for word, (share, low, high) in (("better", self.better), ("worse", self.worse))
        ]
        return (
            f"{own} against {other} in {len(self.frame)} cases drawn by seed {self.seed}, {self.objective}:\n"
            f"{', '.join(shares)}\n"
            f"its worst is {worst['scheme']:.3g} off the best value ({other}: {worst['baseline']:.3g}): {worst['line']}"
        )


@typed
def held_out(
    scheme: str | Scheme,
    baseline: str | Scheme,
    seed: int,
    objective: str = "p99 over fair",
    *,
    count: int = 200,
    progress: bool = True,
) -> HeldOut:
    """Compare a scheme with a baseline on cases drawn by a seed of your choice, which nobody can have tuned to.

    Incasts of 1 to 32 senders with up to three long flows and four victims, at 25, 100 and 400 Gb/s, half on a star and
    half on a leaf-spine. In a quarter of the cases the receiver's link is slow, in another quarter packets are lost.

    Parameters
    ----------
    scheme, baseline : str or Scheme
        What to compare. Both run the same cases.
    seed : int
        Seed of the draw.
    objective : str
        Name of an objective of `rdmacc.search`.
    count : int
        Cases.
    progress : bool
        Show a progress bar.

    Returns
    -------
    HeldOut
        In how many cases the scheme is better and worse, with intervals.

    Raises
    ------
    ConfigError
        For an unknown scheme or objective, or a scheme that cannot run a case.

    Examples
    --------
    >>> import rdmacc
    >>> rdmacc.held_out("dctcp", "dctcp", seed=1, count=4, progress=False).better[0]
    0.0
    """
    if objective not in OBJECTIVES:
        raise unknown("objective", objective, OBJECTIVES)
    chosen, judge = OBJECTIVES[objective], (as_scheme(scheme), as_scheme(baseline))
    cases = drawn(check_seed(seed), checked_count("count", count))
    rows = []
    for case in Bar(cases, desc="held out", unit="case", disable=not progress, leave=False):
        values = []
        for one in judge:
            run = Work(one, (case,), (chosen,))(0, {})
            if run.is_refused:
                raise ConfigError("scheme", one.name, f"one that can run {case} ({run.problem})")
            values.append(chosen.badness(run.objectives[0]) if run.objectives else np.inf)
        rows.append({"line": case.line(judge[0]), "scheme": values[0], "baseline": values[1]})
    own, other = (one.name for one in judge)
    changed = " (changed)" if own == other and judge[0] != judge[1] else ""
    return HeldOut(pd.DataFrame(rows), objective, (own + changed, other), int(seed))


def drawn(seed: int, count: int) -> list[Case]:
    """Return the cases that a seed draws; sizes, times and counts are uniform in their logarithm."""
    rng = np.random.default_rng([seed, 20261127])

    def between(low: float, high: float) -> int:
        return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))

    cases = []
    for number in range(count):
        fault = rng.choice(["none", "none", "slow", "loss"])
        cases.append(
            Case(
                network="star" if rng.choice(["star", "leaf-spine"]) == "star" else "leaf-spine",
                rate_bps=float(rng.choice([25e9, 100e9, 400e9])),
                delay_ps=f"{between(200, 5000)}ns",
                senders=between(1, 32),
                size_bytes=between(1e3, 2e5),
                stagger_ps=f"{int(rng.choice([0, 1])) * between(10, 10_000)}ns",
                long_flows=int(rng.integers(0, 4)),
                victims=int(rng.integers(0, 5)),
                slow=float(rng.uniform(0.25, 1.0)) if fault == "slow" else 1.0,
                loss=between(1, 100) * 1e-5 if fault == "loss" else 0.0,
                seed=number,
            )
        )
    return cases
