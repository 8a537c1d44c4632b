"""Delay differential equations by the method of steps: Runge-Kutta of fourth order on a fixed grid.

dy/dt = f(t, y(t), y(t - lag_1), ...), where lags may depend on t and y. The solution so far is kept, and read between
the grid's points by cubic Hermite polynomials, which are of fourth order too (Hairer, Norsett and Wanner, "Solving
Ordinary Differential Equations I", II.17). For a lag shorter than a step the last interval's polynomial is
extrapolated. At kinks of the solution (a queue that empties) the order falls to one, so steps must be short.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rdmacc.errors import ConfigError
from rdmacc.models.base import Floats

_MOST_STEPS = 5_000_000  # take minutes, and 2 GB


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
        """Return the last part of the states, after the transient; shape (m, D)."""
        return self.state[-max(1, int(len(self.state) * fraction)) :]


class Past:
    """The solution so far, constant before 0. ``past(t)`` is the state at an earlier time, D values."""

    def __init__(self, start: list[float], step: float, count: int) -> None:
        self.step = step
        self.state: list[Sequence[float]] = [start] * (count + 1)
        self.slope: list[Sequence[float]] = [[0.0] * len(start)] * (count + 1)
        self.known = 0

    def __call__(self, time: float) -> list[float]:
        return [self.one(time, i) for i in range(len(self.state[0]))]

    def one(self, time: float, i: int) -> float:
        """Return component `i` of the state at an earlier time, which is faster than the whole state."""
        if time <= 0.0:
            return self.state[0][i]
        if not self.known:  # lag shorter than the first step
            return self.state[0][i] + time * self.slope[0][i]
        h = self.step
        u = time / h
        left = int(u)
        if left >= self.known:
            left = self.known - 1
        u -= left
        b, y = u * (1.0 - u), self.state[left][i]
        return (
            y
            + u * u * (3.0 - 2.0 * u) * (self.state[left + 1][i] - y)
            + b * (1.0 - u) * h * self.slope[left][i]
            - b * u * h * self.slope[left + 1][i]
        )


Slope: TypeAlias = Callable[[float, list[float], Past], Sequence[float]]
"""The right-hand side: ``slope(t, y, past)``, D values."""


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

    Examples
    --------
    dy/dt = -y(t - 1) from y = 1: 1 - t until 1, then t**2/2 - 2 t + 3/2.

    >>> path = solve_dde(lambda t, y, past: [-past(t - 1.0)[0]], [1.0], 2.0, 0.125)
    >>> path.state[[8, 16], 0].round(9).tolist()
    [0.0, -0.5]
    """
    if not duration_s > 0.0 or not step_s > 0.0:
        raise ConfigError("duration and step", (duration_s, step_s), "more than 0 s")
    if duration_s / step_s > _MOST_STEPS:
        raise ConfigError("duration and step", (duration_s, step_s), f"at most {_MOST_STEPS} steps")
    count = int(np.ceil(duration_s / step_s - 1e-9))
    y, h = [float(value) for value in start], step_s
    half, sixth = h / 2, h / 6
    past = Past(y, h, count)
    floor = list(low) if low is not None else [-np.inf] * len(y)
    ceiling = list(high) if high is not None else [np.inf] * len(y)
    for n in range(count):
        t = n * h
        k1 = slope(t, y, past)
        past.slope[n] = tuple(k1)
        k2 = slope(t + half, [v + half * k for v, k in zip(y, k1, strict=True)], past)
        k3 = slope(t + half, [v + half * k for v, k in zip(y, k2, strict=True)], past)
        k4 = slope(t + h, [v + h * k for v, k in zip(y, k3, strict=True)], past)
        free = [v + sixth * (a + 2.0 * b + 2.0 * c + d) for v, a, b, c, d in zip(y, k1, k2, k3, k4, strict=True)]
        y = [
            least if v < least else most if v > most else v for v, least, most in zip(free, floor, ceiling, strict=True)
        ]
        past.state[n + 1] = y
        past.slope[n + 1] = tuple(k4)
        past.known = n + 1
    states = np.array(past.state)
    if not np.isfinite(states).all():
        raise ConfigError("step", step_s, "shorter: with this one the solution is not finite")
    return Trajectory(np.arange(count + 1) * h, states)
