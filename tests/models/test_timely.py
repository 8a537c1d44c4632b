"""TIMELY has no fixed point, patched TIMELY one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmacc.errors import ConfigError
from rdmacc.models.timely import PatchedTimelyFluid, TimelyFluid, weight


@pytest.mark.parametrize("flows", [2, 4, 8])
def test_patched_settles_at_its_fixed_point(flows):
    start = 1.0 / flows
    table = PatchedTimelyFluid(
        flows=flows, start_first=start, start=start, duration_ps="60ms", step_ps="4us"
    ).evaluate()
    for quantity in ("queue_bytes", "rate_bps"):
        assert table.loc[quantity, "integrated"] == pytest.approx(table.loc[quantity, "fixed_point"], rel=0.01)


def test_fixed_point_of_the_fact_sheet():
    """C = 10 Gb/s, two flows, delta = 10 Mb/s, beta = 0.008: 25% above the reference queue."""
    assert PatchedTimelyFluid().fixed_point()["queue_bytes"] == pytest.approx(1.25 * 62_500)


def test_patched_makes_unequal_rates_equal_and_timely_does_not():
    unequal = {"start_first": 0.9, "start": 0.1, "duration_ps": "120ms", "step_ps": "4us"}
    patched = PatchedTimelyFluid(**unequal).solve().iloc[-500:].mean()
    original = TimelyFluid(**unequal).solve().iloc[-10_000:].mean()
    assert patched["rate_first_bps"] / patched["rate_other_bps"] == pytest.approx(1, abs=0.1)
    assert original["rate_first_bps"] / original["rate_other_bps"] > 3


def test_timely_never_settles():
    late = TimelyFluid(step_ps="4us", duration_ps="100ms").solve().iloc[-10_000:]
    assert late["rate_first_bps"].std() > 0.05 * late["rate_first_bps"].mean()
    assert late["queue_bytes"].min() == 0
    assert TimelyFluid().fixed_points() == "none"


def test_held_at_zero_gradient_any_split_is_stationary():
    """With the queue between the thresholds from a constant past, the rates stay as they are, fair or not."""
    fluid = TimelyFluid(is_strict=True, start_first=0.8, start=0.2)
    between = fluid._between()
    assert between(1e9, 0.0, 100e3) == 0.0
    assert TimelyFluid()._between()(1e9, 0.0, 100e3) > 0.0


@pytest.mark.parametrize("name", ["a", "beta"])
def test_an_average_and_a_decrease_take_at_most_the_whole(name):
    TimelyFluid(**{name: 1.0})
    with pytest.raises(ConfigError, match=name):
        TimelyFluid(**{name: 1.01})


def test_weight_is_one_half_at_zero_and_continuous():
    assert weight(0.0) == 0.5
    assert weight(-0.25) == 0.0
    assert weight(0.25) == 1.0


@settings(max_examples=15)
@given(
    st.integers(1, 40), st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.sampled_from(["1kB", "16kB", "64kB"]),
    st.sampled_from([TimelyFluid, PatchedTimelyFluid]),
)  # fmt: skip
def test_rates_and_queue_are_never_negative(flows, first, other, segment, kind):
    frame = kind(
        flows=flows, start_first=first, start=other, segment_bytes=segment, duration_ps="5ms", step_ps="5us"
    ).solve()
    assert (frame[["queue_bytes", "rate_first_bps", "rate_other_bps"]] >= 0).all(axis=None)
    assert (frame[["rate_first_bps", "rate_other_bps"]] <= 10e9 * (1 + 1e-12)).all(axis=None)
