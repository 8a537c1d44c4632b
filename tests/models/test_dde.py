"""Delay differential equations: solutions known in closed form, order, and the boundary of stability."""

from __future__ import annotations

import numpy as np
import pytest

from rdmacc.errors import ConfigError
from rdmacc.models.dde import solve_dde


def test_method_of_steps_is_exact_for_polynomials():
    path = solve_dde(lambda t, y, past: [-past(t - 1.0)[0]], [1.0], 3.0, 0.125)
    t = path.time_s
    second = t**2 / 2 - 2 * t + 1.5
    third = -(t**3) / 6 + 1.5 * t**2 - 4 * t + 17 / 6
    expected = np.select([t <= 1.0, t <= 2.0], [1.0 - t, second], third)
    assert path.state[:, 0] == pytest.approx(expected, abs=1e-12)


def test_without_delay_it_is_the_exponential():
    path = solve_dde(lambda t, y, past: [-2.0 * y[0]], [3.0], 1.0, 0.01)
    assert path.state[:, 0] == pytest.approx(3.0 * np.exp(-2.0 * path.time_s), rel=1e-8)


def test_order_is_four():
    def end(step):
        return solve_dde(lambda t, y, past: [y[1], -y[0]], [0.0, 1.0], 2.0, step).state[-1, 0]

    errors = [abs(end(step) - np.sin(2.0)) for step in (0.05, 0.025, 0.0125)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.1)


def test_delayed_solution_converges_where_lags_are_no_multiples_of_the_step():
    def end(step):
        return solve_dde(lambda t, y, past: [-past(t - 0.37)[0] * y[0]], [1.0], 3.0, step).state[-1, 0]

    best = end(0.001)
    assert abs(end(0.02) - best) < 1e-5
    assert abs(end(0.01) - best) < abs(end(0.04) - best)


def test_a_lag_may_be_shorter_than_a_step():
    def end(step):
        return solve_dde(lambda t, y, past: [-past(t - 0.005)[0]], [1.0], 1.0, step).state[-1, 0]

    assert end(0.04) == pytest.approx(end(0.001), abs=1e-4)


def test_lag_that_depends_on_the_state():
    # y(t) = t solves dy/dt = 1 + y(t - y/2) - y/2.
    path = solve_dde(lambda t, y, past: [1.0 + past(t - y[0] / 2)[0] - y[0] / 2], [0.0], 2.0, 0.01)
    assert path.state[:, 0] == pytest.approx(path.time_s, abs=1e-9)


@pytest.mark.parametrize(("gain", "is_stable"), [(1.5, True), (1.64, False)])
def test_stability_boundary_at_half_pi(gain, is_stable):
    path = solve_dde(lambda t, y, past: [-gain * past(t - 1.0)[0]], [1.0], 60.0, 0.02)
    late, early = np.abs(path.state[-500:]).max(), np.abs(path.state[500:1000]).max()
    assert (late < early) == is_stable


def test_bounds_hold_after_every_step():
    path = solve_dde(lambda t, y, past: [-1.0, 1.0], [0.5, 0.5], 2.0, 0.1, low=[0.0, 0.0], high=[1.0, 1.0])
    assert path.state.min() == 0.0
    assert path.state.max() == 1.0


@pytest.mark.parametrize(("duration", "step"), [(0.0, 0.1), (1.0, 0.0), (1.0, -1.0), (float("nan"), 0.1)])
def test_wrong_times_are_errors(duration, step):
    with pytest.raises(ConfigError, match="duration and step"):
        solve_dde(lambda t, y, past: [0.0], [0.0], duration, step)


def test_divergence_is_an_error():
    with pytest.raises(ConfigError, match="not finite"), np.errstate(all="ignore"):
        solve_dde(lambda t, y, past: [min(y[0] * y[0], 1e300) * 1e10], [1e300], 1.0, 0.1)
