"""DCQCN's fluid model: fixed points, stability, and how far packets agree with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmacc.errors import ConfigError
from rdmacc.models.comparison import compare
from rdmacc.models.dcqcn import DcqcnFluid, binned
from rdmacc.models.dcqcn_stability import DcqcnLoop, DcqcnMargin
from tests.support import mostly_at_night


@pytest.mark.parametrize(
    ("flows", "p", "queue", "alpha"),
    [
        (2, 7.77e-4, 20.2e3, 0.101),
        (4, 1.89e-3, 41.8e3, 0.122),
        (8, 4.55e-3, 93.8e3, 0.145),
        (10, 6.03e-3, 122.6e3, 0.153),
    ],
)
def test_fixed_point_of_the_fact_sheet(flows, p, queue, alpha):
    point = DcqcnFluid(flows=flows).fixed_point()
    assert point["marking"] == pytest.approx(p, rel=2e-3)
    assert point["queue_bytes"] == pytest.approx(queue, rel=3e-3)
    assert point["alpha"] == pytest.approx(alpha, abs=5e-4)
    assert point["rate_bps"] == pytest.approx(40e9 / flows)


@pytest.mark.parametrize(("flows", "queue"), [(2, 23.0e3), (4, 50.2e3), (8, 119e3), (10, 158e3)])
def test_cube_root_approximation_is_above_by_a_fifth_to_a_third(flows, queue):
    fluid = DcqcnFluid(flows=flows)
    approximation = fluid.kmin_bytes + fluid.small_marking() / fluid.pmax * (fluid.kmax_bytes - fluid.kmin_bytes)
    assert approximation == pytest.approx(queue, rel=5e-3)
    assert 1.15 < fluid.small_marking() / fluid.fixed_point()["marking"] < 1.35


def test_above_14_flows_the_ramp_ends_before_the_fixed_point():
    assert DcqcnFluid(flows=14).fixed_point()["marking"] < 0.01 < DcqcnFluid(flows=16).fixed_point()["marking"]
    assert DcqcnFluid(flows=16).fixed_point()["queue_bytes"] == 200e3
    assert DcqcnFluid(flows=16, ramp="extended").fixed_point()["queue_bytes"] > 200e3


def test_fixed_point_is_stationary():
    for flows in (2, 8, 40):
        fluid = DcqcnFluid(flows=flows, ramp="extended")
        point, bits = fluid.fixed_point(), 8 * fluid.packet_bytes
        rate, target = point["rate_bps"] / bits, point["target_bps"] / bits
        slopes = fluid.slopes(point["alpha"], target, rate, point["marking"], rate)
        assert np.abs(slopes) == pytest.approx([0, 0, 0], abs=1e-6 * rate)


@pytest.mark.parametrize("flows", [2, 8])
def test_equilibrium_found_is_equilibrium_integrated(flows):
    fluid = DcqcnFluid(flows=flows, duration_ps="200ms", step_ps="20us", delay_ps="20us")
    late, point = fluid.solve().iloc[-500:].mean(), fluid.fixed_point()
    assert late["queue_bytes"] == pytest.approx(point["queue_bytes"], rel=1e-3)
    assert late["alpha_first"] == pytest.approx(point["alpha"], rel=1e-3)
    assert late["rate_first_bps"] == pytest.approx(point["rate_bps"], rel=1e-3)


def test_unequal_starts_become_equal():
    fluid = DcqcnFluid(start=0.1, duration_ps="200ms", step_ps="20us", delay_ps="20us")
    frame = fluid.solve()
    assert frame["rate_first_bps"].iloc[50] > 2 * frame["rate_other_bps"].iloc[50]
    assert frame["rate_first_bps"].iloc[-1] == pytest.approx(frame["rate_other_bps"].iloc[-1], rel=0.01)


@settings(max_examples=15)
@given(
    st.integers(1, 64), st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.sampled_from(["0us", "4us", "50us"]),
    st.booleans(), st.sampled_from(["cut", "extended"]), st.floats(0.001, 1.0),
)  # fmt: skip
def test_rates_and_queue_are_never_negative(flows, first, other, delay, at_dequeue, ramp, pmax):
    fluid = DcqcnFluid(
        flows=flows, start_first=first, start=other, delay_ps=delay, at_dequeue=at_dequeue, ramp=ramp, pmax=pmax,
        duration_ps="4ms", step_ps="10us",
    )  # fmt: skip
    frame = fluid.solve().drop(columns="time_ps")
    assert (frame >= 0).all(axis=None)
    assert (frame[["rate_first_bps", "rate_other_bps"]] <= 40e9 * (1 + 1e-12)).all(axis=None)
    assert (frame[["marking", "alpha_first", "alpha_other"]] <= 1).all(axis=None)


def test_phase_margin_dips_at_ten_flows_and_recovers():
    """ "ECN or Delay": with delay DCQCN is least stable at some number of flows; more make it stable again."""
    table = DcqcnMargin().evaluate(flows=(2, 8, 10, 32, 64), delays=("1us", "85us", "100us"))
    margin = table.pivot_table(index="flows", columns="delay_ps", values="phase_margin_deg")
    short, middle, long = (margin[delay] for delay in (1_000_000, 85_000_000, 100_000_000))
    assert (short > 0).all()
    assert (long < middle).all()
    assert (middle < short).all()
    assert middle.loc[10] < 0 < middle.loc[32] < middle.loc[64]
    assert middle.loc[2] > middle.loc[10]


@pytest.mark.slow
@pytest.mark.parametrize(("flows", "delay"), [(10, "1us"), (10, "85us"), (64, "85us")])
def test_sign_of_the_margin_is_what_integration_does(flows, delay):
    fluid = DcqcnFluid(flows=flows, delay_ps=delay, ramp="extended", duration_ps="300ms", step_ps="20us")
    if delay == "1us":
        fluid = fluid.replace(step_ps="10us")
    late = fluid.solve()["queue_bytes"].iloc[-2000:]
    is_stable = DcqcnLoop(fluid).margins().phase_deg > 0
    assert is_stable == (late.std() < 0.02 * fluid.fixed_point()["queue_bytes"])


@pytest.mark.slow
@pytest.mark.parametrize("flows", mostly_at_night([8, 2, 16], every=3))
def test_packets_agree_with_the_fluid_if_marked_on_leaving(flows):
    """Time-average queue within 35%: the fluid has no packets and no random marks. Rates closer."""
    table = compare(DcqcnFluid(flows=flows, duration_ps="200ms")).summary()
    assert table.loc["queue", "relative"] == pytest.approx(0, abs=0.35)
    assert table.loc["mean rate", "relative"] == pytest.approx(0, abs=0.01)
    # At any moment the flows differ, which the fluid model's do not: by less than a third.
    assert table.loc["least rate", "relative"] > -1 / 3
    assert table.loc["largest rate", "relative"] < 1 / 3


@pytest.mark.nightly
def test_queueing_delay_in_the_loop_makes_the_queue_oscillate_in_both():
    """Marked on joining, a packet waits with its mark: 16 flows no longer park at K_max, and the fluid model knows."""
    fluid = DcqcnFluid(flows=16, duration_ps="200ms", at_dequeue=False)
    found = compare(fluid)
    queue = found.summary().loc["queue"]
    assert queue["simulation"] < 0.5 * fluid.kmax_bytes
    assert queue["relative"] == pytest.approx(0, abs=0.1)
    late = found.frame[(found.frame["quantity"] == "queue") & (found.frame["x"] > 100e9)]
    assert late["simulation"].std() == pytest.approx(late["model"].std(), rel=0.15)
    assert late["model"].std() > 0.5 * late["model"].mean()


def test_scenario_keeps_the_ramp():
    red = DcqcnFluid(ramp="extended").scenario().scheme.switch[0]
    assert (red.kmin_bytes, red.kmax_bytes, red.pmax) == (5_000, 19_505_000, 1.0)


def test_binned():
    means = binned(np.array([0.0, 1.0, 9.0]), np.array([1.0, 3.0, 7.0]), 10.0, 5)
    assert means[[0, 4]].tolist() == [2.0, 7.0]
    assert np.isnan(means[1:4]).all()


def test_wrong_parameters_are_errors():
    with pytest.raises(ConfigError, match=r"DcqcnFluid\.ramp"):
        DcqcnFluid(ramp="step")
    with pytest.raises(ConfigError, match=r"DcqcnFluid\.flows"):
        DcqcnFluid(flows=0)
    for share in ("pmax", "g"):
        assert DcqcnFluid(**{share: 1.0})
        with pytest.raises(ConfigError, match=rf"DcqcnFluid\.{share}"):
            DcqcnFluid(**{share: 1.01})
