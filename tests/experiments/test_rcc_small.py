"""RCC's micro-benchmarks: exact claims, cheap figures from their runs, and the pieces that they are made of."""

import numpy as np
import pandas as pd
import pytest

from rdmacc.experiments.rcc.blocks import calls_in
from rdmacc.experiments.rcc.fig02 import CASES, arrows_in, walk
from rdmacc.experiments.rcc.fig05 import processor_sharing
from rdmacc.experiments.rcc.limits import linear_limit
from rdmacc.experiments.rcc.loops import OSCILLATES, recursion, swing
from rdmacc.experiments.rcc.tuned import gains_of
from rdmacc.models import RccLoop
from rdmacc.protocols import rcc
from rdmacc.units import ms, us
from tests.experiments.quick import QuickTables


@pytest.fixture(scope="module")
def tables():
    """Return the tables of the exact and the cheap figures, run once."""
    return QuickTables()


# The pieces


def test_the_framework_is_found_in_the_code(tables):
    pairs = calls_in(rcc, {"on_data": rcc.Rcc.on_data})
    assert ("on_data", "fair_share") in pairs
    assert ("window", "update") in pairs
    assert ("on_data", "update") not in pairs
    assert ("data", "pid") in arrows_in(tables["rcc.fig2"])
    assert ("pid", "sender") not in arrows_in(tables["rcc.fig2"])


@pytest.mark.parametrize("case", CASES)
def test_paths_of_algorithm_1(case):
    found = walk(case)
    assert found["mode"] == ("PID" in case or case == "late, last hop not busy")
    assert found["window"] <= 1


def test_processor_sharing_is_the_closed_form():
    """V-B-1's sizes at 95 Gb/s, and two flows by hand: 1 and 2 bytes on a link of 8 bit/s take 2 and 3 s."""
    assert np.array(processor_sharing(95e9)) / 1e9 == pytest.approx([671.16, 585.89, 500.63, 390.95], abs=0.01)
    assert np.array(processor_sharing(8.0, (2, 1), 0)) / 1e12 == pytest.approx([3, 2])
    assert np.array(processor_sharing(8.0, (1, 1), 5 * 10**12)) / 1e12 == pytest.approx([1, 6])


def test_swing_is_of_the_queue_about_a_line():
    """A slow approach is none; a sine wave of the target's height is 0.71."""
    time = np.arange(10_000) * us(1)
    ramp = pd.Series(np.linspace(0, 60e3, len(time)), time)
    wave = pd.Series(15e3 * (1 + np.sin(np.arange(len(time)) / 10)), time)
    assert swing(ramp, 0, 15e3) == pytest.approx(0, abs=1e-6)
    assert swing(wave, ms(2), 15e3) == pytest.approx(0.707, abs=0.01)


@pytest.mark.parametrize(
    ("kd", "is_accumulating"), [(5e4, True), (1e5, True), (1.6e5, True), (4e4, False), (6e4, False), (1e5, False)]
)
def test_the_recursion_oscillates_where_the_roots_say(kd, is_accumulating):
    is_stable = RccLoop(kd=kd).discrete_radius(is_accumulating=is_accumulating) < 1
    found = recursion(1e4, kd, is_accumulating=is_accumulating, increases_late=False)
    assert (found < 0.1) == is_stable


def test_increases_that_show_a_round_late_cost_stability():
    """The limit of equation (4) as printed: 1.47e5 by the roots, about 1.1e5 with late increases and whole packets."""
    assert linear_limit("accumulating") == pytest.approx(1.47e5, rel=0.01)
    late = {
        kd: recursion(1e4, kd, is_accumulating=True, increases_late=True, noise_s=42e-9)
        for kd in (0.9e5, 1.3e5)
    }  # fmt: skip
    assert late[0.9e5] < OSCILLATES <= late[1.3e5]
    assert recursion(1e4, 1.3e5, is_accumulating=True, increases_late=False) < 0.01


@pytest.mark.parametrize("rtt_ps", [us(4), us(12), us(40)])
def test_tuned_gains_have_the_margin(rtt_ps):
    assert gains_of("tuned", rtt_ps).margins().phase_deg == pytest.approx(39.8, abs=0.01)
    assert gains_of("tuned for delay", rtt_ps).margins().phase_deg == pytest.approx(40.0, abs=0.01)
    assert (gains_of("paper", rtt_ps).kp, gains_of("paper", rtt_ps).kd) == (1e4, 1e5)
