"""Delay differential equations by the method of steps: Runge-Kutta of fourth order on a fixed grid.

dy/dt = f(t, y(t), y(t - lag_1), ...), where lags may depend on t and y. The solution so far is kept, and
read between the grid's points by cubic Hermite polynomials, which are of fourth order too (Hairer, Norsett
and Wanner, "Solving Ordinary Differential Equations I", II.17). A lag shorter than a step is read off the
last interval's polynomial, continued; where a solution has kinks (a queue that empties) the order falls to
one, so steps stay short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rdmacc.errors import ConfigError
from rdmacc.models.base import Floats

__all__ = ["Past", "Slope", "Trajectory", "solve_dde"]

Past: TypeAlias = Callable[[float], list[float]]
"""The state at an earlier time: ``past(t)``, D values."""
Slope: TypeAlias = Callable[[float, list[float], Past], Sequence[float]]
"""The right-hand side: ``slope(t, y, past)``, D values."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A solution on a grid of n + 1 points.

    Attributes
    ----------
    time_s : ndarray
        Shape (n + 1,), seconds.
    state : ndarray
        Shape (n + 1, D), in the units of the equations.
    """

    time_s: Floats
    state: Floats

    def tail(self, fraction: float = 0.25) -> Floats:
        """Return the last part of the states, after the transient; shape (m, D).

        Parameters
        ----------
        fraction : float
            Fraction of the run.
        """
        return self.state[-max(1, int(len(self.state) * fraction)) :]


class _History:
    """The solution so far, before 0 a constant."""

    def __init__(self, start: list[float], step: float, count: int) -> None:
        self.step = step
        self.state = [start] * (count + 1)
        self.slope = [[0.0] * len(start)] * (count + 1)
        self.known = 0

    def __call__(self, time: float) -> list[float]:
        if time <= 0.0:
            return self.state[0]
        if self.known == 0:  # a lag shorter than the first step
            return [y + time * f for y, f in zip(self.state[0], self.slope[0], strict=True)]
        place = time / self.step
        left = min(int(place), self.known - 1)
        u = place - left
        h = self.step
        a, b = u * u * (3.0 - 2.0 * u), u * (1.0 - u)
        one, two = b * (1.0 - u) * h, -b * u * h
        y0, y1, f0, f1 = self.state[left], self.state[left + 1], self.slope[left], self.slope[left + 1]
        return [y0[i] + a * (y1[i] - y0[i]) + one * f0[i] + two * f1[i] for i in range(len(y0))]


def solve_dde(
    slope: Slope,
    start: Sequence[float],
    duration_s: float,
    step_s: float,
    *,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
) -> Trajectory:
    """Integrate a delay differential equation from a constant past.

    Parameters
    ----------
    slope : callable
        ``slope(t, y, past)`` returns dy/dt; ``past(s)`` is the state at s <= t, and `start` for s <= 0.
    start : sequence of float
        State at time 0 and before, D values.
    duration_s, step_s : float
        Length of the solution and of a step, seconds.
    low, high : sequence of float, optional
        Bounds applied to each component after every step, D values: for example, a queue is never negative.

    Returns
    -------
    Trajectory
        On ``ceil(duration_s / step_s) + 1`` points.

    Raises
    ------
    ConfigError
        For a duration or step that is not positive, or a solution that is not finite.

    Examples
    --------
    dy/dt = -y(t - 1) from y = 1: 1 - t until 1, then t**2/2 - 2 t + 3/2.

    >>> path = solve_dde(lambda t, y, past: [-past(t - 1.0)[0]], [1.0], 2.0, 0.125)
    >>> path.state[[8, 16], 0].round(9).tolist()
    [0.0, -0.5]
    """
    if not duration_s > 0.0 or not step_s > 0.0:
        raise ConfigError("duration and step", (duration_s, step_s), "more than 0 s")
    count = int(np.ceil(duration_s / step_s - 1e-9))
    y, h = [float(value) for value in start], step_s
    past = _History(y, h, count)
    floor = list(low) if low is not None else [-np.inf] * len(y)
    ceiling = list(high) if high is not None else [np.inf] * len(y)
    indices = range(len(y))
    for n in range(count):
        t = n * h
        k1 = slope(t, y, past)
        past.slope[n] = list(k1)
        k2 = slope(t + h / 2, [y[i] + h / 2 * k1[i] for i in indices], past)
        k3 = slope(t + h / 2, [y[i] + h / 2 * k2[i] for i in indices], past)
        k4 = slope(t + h, [y[i] + h * k3[i] for i in indices], past)
        y = [min(max(y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]), floor[i]), ceiling[i]) for i in indices]
        past.state[n + 1] = y
        past.slope[n + 1] = list(k4)
        past.known = n + 1
    states = np.array(past.state)
    if not np.isfinite(states).all():
        raise ConfigError("step", step_s, "shorter: with this one the solution is not finite")
    return Trajectory(np.arange(count + 1) * h, states)
