"""DCQCN's fluid model: fixed points, stability, and how well packets agree with it.

TIMELY has no fixed point; patched TIMELY has one. RCP's fluid model: its fixed point, and the way there when a flow
joins, against packets.

A known difference: the packets' queue peaks at three quarters of the fluid's, since the end of a slot reacts to all its
arrivals at once.

Delay differential equations: solutions known in closed form, order, and the boundary of stability.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.models.comparison import compare
from rdmacc.models.dcqcn import DcqcnFluid
from rdmacc.models.dcqcn_stability import DcqcnLoop, DcqcnMargin
from rdmacc.models.dde import solve_dde
from rdmacc.models.rcp import RcpFluid
from rdmacc.models.timely import PatchedTimelyFluid, TimelyFluid
from tests.support import refused


@pytest.mark.parametrize(
    ("flows", "p", "queue", "alpha"),
    [
        (2, 7.77e-4, 20.2e3, 0.101),
        (4, 1.89e-3, 41.8e3, 0.122),
        (8, 4.55e-3, 93.8e3, 0.145),
        (10, 6.03e-3, 122.6e3, 0.153),
    ],
)
def test_fixed_point_by_hand(flows, p, queue, alpha):
    point = DcqcnFluid(flows=flows).fixed_point()
    assert point["marking"] == pytest.approx(p, rel=2e-3)
    assert point["queue_bytes"] == pytest.approx(queue, rel=3e-3)
    assert point["alpha"] == pytest.approx(alpha, abs=5e-4)
    assert point["rate_bps"] == pytest.approx(40e9 / flows)


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


def test_parameters_without_a_fixed_point_or_a_ramp_are_refused():
    refused(lambda: DcqcnMargin(capacity_bps="1Gbps").evaluate(), "capacity_bps for each flow")
    refused(lambda: DcqcnFluid(flows=10**18).fixed_point(), "capacity_bps for each flow")
    refused(lambda: DcqcnMargin(kmax_bytes="5kB").evaluate(), "kmax_bytes = 5000: must be above kmin_bytes")


def test_phase_margin_dips_at_ten_flows_and_recovers():
    """ "ECN or Delay": with delay, DCQCN is least stable at some number of flows; more flows make it stable again."""
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
def test_sign_of_the_margin_predicts_the_integration(flows, delay):
    fluid = DcqcnFluid(flows=flows, delay_ps=delay, ramp="extended", duration_ps="300ms", step_ps="20us")
    if delay == "1us":
        fluid = fluid.replace(step_ps="10us")
    late = fluid.solve()["queue_bytes"].iloc[-2000:]
    is_stable = DcqcnLoop(fluid).margins().phase_deg > 0
    assert is_stable == (late.std() < 0.02 * fluid.fixed_point()["queue_bytes"])


@pytest.mark.nightly
@pytest.mark.parametrize("flows", [8, 2, 16])
def test_packets_agree_with_the_fluid_if_marked_on_leaving(flows):
    """The mean queue is within 35%, since the fluid has no packets and no random marks; rates are closer."""
    table = compare(DcqcnFluid(flows=flows, duration_ps="200ms")).summary()
    assert table.loc["queue", "relative"] == pytest.approx(0, abs=0.35)
    assert table.loc["mean rate", "relative"] == pytest.approx(0, abs=0.01)
    # At any moment the flows differ by less than a third, unlike those of the fluid model.
    assert table.loc["least rate", "relative"] > -1 / 3
    assert table.loc["largest rate", "relative"] < 1 / 3


@pytest.mark.parametrize("flows", [2, 4, 8])
def test_patched_settles_at_its_fixed_point(flows):
    start = 1.0 / flows
    fluid = PatchedTimelyFluid(flows=flows, start_first=start, start=start, duration_ps="60ms", step_ps="4us")
    table = fluid.evaluate()
    for quantity in ("queue_bytes", "rate_bps"):
        assert table.loc[quantity, "integrated"] == pytest.approx(table.loc[quantity, "fixed_point"], rel=0.01)


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


def test_at_zero_gradient_any_split_is_stationary():
    """If the queue has always been constant between the thresholds, the rates do not change, fair or not."""
    fluid = TimelyFluid(is_strict=True, start_first=0.8, start=0.2)
    between = fluid._between()
    assert between(1e9, 0.0, 100e3) == 0.0
    assert TimelyFluid()._between()(1e9, 0.0, 100e3) > 0.0


@settings(max_examples=15)
@given(
    st.integers(1, 40), st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.sampled_from(["1kB", "16kB", "64kB"]),
    st.sampled_from([TimelyFluid, PatchedTimelyFluid]),
)  # fmt: skip
def test_rates_and_queue_are_never_negative_timely(flows, first, other, segment, kind):
    starts = {"start_first": first, "start": other}
    frame = kind(flows=flows, segment_bytes=segment, duration_ps="5ms", step_ps="5us", **starts).solve()
    assert (frame[["queue_bytes", "rate_first_bps", "rate_other_bps"]] >= 0).all(axis=None)
    assert (frame[["rate_first_bps", "rate_other_bps"]] <= 10e9 * (1 + 1e-12)).all(axis=None)


@pytest.mark.parametrize(("flows", "joining"), [(1, 1), (4, 4), (8, 0)])
@pytest.mark.parametrize("target", [1.0, 0.95])
def test_it_settles_at_the_fixed_point(flows, joining, target):
    """R = gamma C / N, for any gains."""
    model = RcpFluid(flows=flows, joining=joining, target=target, beta=0.226, duration_ps="6ms")
    table = model.evaluate()
    assert table.loc["rate_bps", "integrated"] == pytest.approx(target * 10e9 / (flows + joining), rel=1e-3)
    assert table.loc["queue_bytes", "integrated"] < 1000


@pytest.mark.parametrize("beta", [0.4, 0.226])
def test_packets_settle_as_the_fluid_does(engine, beta):
    """A second flow joins: both take about 20 round trips to stay within 10% of half the link."""
    model = RcpFluid(beta=beta, join_ps="1ms", duration_ps="2.5ms")
    beside = rdmacc.compare(model, replace(model.scenario(), engine=engine))
    rates = beside.summary(0.3).loc["rate"]
    assert rates["simulation"] == pytest.approx(rates["model"], rel=0.02)
    fluid = model.solve()
    trace = beside.result.samples("RcpStamp.fair_bps ('s0', 'h0')")
    queue = beside.result.samples("queue s0->h0")
    rates = (fluid.set_index("time_ps")["rate_bps"], trace)
    by_equation, by_packets = (one.index[abs(one / 5e9 - 1) > 0.1].max() - model.join_ps for one in rates)
    assert by_packets == pytest.approx(by_equation, rel=0.25)
    assert queue.max() == pytest.approx(0.75 * fluid["queue_bytes"].max(), rel=0.1)


def test_method_of_steps_is_exact_for_polynomials():
    path = solve_dde(lambda t, y, past: [-past(t - 1.0)[0]], [1.0], 3.0, 0.125)
    t = path.time_s
    second = t**2 / 2 - 2 * t + 1.5
    third = -(t**3) / 6 + 1.5 * t**2 - 4 * t + 17 / 6
    expected = np.select([t <= 1.0, t <= 2.0], [1.0 - t, second], third)
    assert path.state[:, 0] == pytest.approx(expected, abs=1e-12)


def test_order_is_four():
    def end(step):
        return solve_dde(lambda t, y, past: [y[1], -y[0]], [0.0, 1.0], 2.0, step).state[-1, 0]

    errors = [abs(end(step) - np.sin(2.0)) for step in (0.05, 0.025, 0.0125)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.1)


def test_lag_that_depends_on_the_state():
    # y(t) = t solves dy/dt = 1 + y(t - y/2) - y/2.
    path = solve_dde(lambda t, y, past: [1.0 + past(t - y[0] / 2)[0] - y[0] / 2], [0.0], 2.0, 0.01)
    assert path.state[:, 0] == pytest.approx(path.time_s, abs=1e-9)


@pytest.mark.parametrize(("gain", "is_stable"), [(1.5, True), (1.64, False)])
def test_stability_boundary_at_half_pi(gain, is_stable):
    path = solve_dde(lambda t, y, past: [-gain * past(t - 1.0)[0]], [1.0], 60.0, 0.02)
    late, early = np.abs(path.state[-500:]).max(), np.abs(path.state[500:1000]).max()
    assert (late < early) == is_stable


@pytest.mark.parametrize(("duration", "step"), [(0.0, 0.1), (1.0, 0.0), (1.0, -1.0), (float("nan"), 0.1)])
def test_wrong_times_are_errors(duration, step):
    refused(lambda: solve_dde(lambda t, y, past: [0.0], [0.0], duration, step), "duration and step")


def test_divergence_is_an_error():
    with pytest.raises(ConfigError, match="not finite"), np.errstate(all="ignore"):
        solve_dde(lambda t, y, past: [min(y[0] * y[0], 1e300) * 1e10], [1e300], 1.0, 0.1)
