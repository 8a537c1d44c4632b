"""RCC: the fluid model settles where its equations say; margins match equation (12) and python-control.

REN's equations: the paper's worked examples, the numbers of figure 9 at the stated settings, statements that fail.
"""

import control
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmacc.models.margins import margins_of
from rdmacc.models.rcc import RccFluid
from rdmacc.models.rcc_stability import RccLoop, RccMarginSurface, phase_margin, share_above, tune
from rdmacc.models.ren import queue_lengths, rate_per_round, rounds_to_full, throughputs
from rdmacc.models.ren_figures import RenQueue, RenUtilisation
from tests.support import refused

REFERENCE_S = 13.2e-6
KP = (1, 10, 100, 1e3, 2e3, 5e3, 1e4)
KD = (1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5)
GRID = [
    [84.93, 87.40, 86.06, 82.50, 75.64, 60.20, 46.33, 34.07],
    [56.74, 77.96, 84.49, 82.10, 75.54, 60.18, 46.32, 34.06],
    [19.42, 38.10, 70.07, 78.17, 74.50, 59.98, 46.26, 34.04],
    [3.24, 9.62, 27.58, 50.09, 64.71, 58.03, 45.63, 33.83],
    [0.00, 4.50, 17.46, 35.96, 55.59, 55.91, 44.95, 33.60],
    [-4.18, -1.39, 6.77, 19.28, 37.98, 49.98, 42.95, 32.92],
    [-7.55, -5.63, 0.00, 8.83, 23.62, 41.58, 39.80, 31.81],
]
gains = st.floats(0.0, 5.0).map(lambda exponent: 10.0**exponent)


def test_grid_of_phase_margins():
    got = phase_margin(np.array(KP)[:, None], np.array(KD)[None, :], REFERENCE_S)
    assert got == pytest.approx(np.array(GRID), abs=0.006)


@given(gains, gains)
def test_phase_margin_is_python_controls(kp, kd):
    loop = RccLoop(kp=kp, kd=kd)
    _, expected, _, crossover = control.margin(loop.transfer_function())
    assert float(phase_margin(kp, kd, loop.reference_s)) == pytest.approx(expected, abs=1e-4)
    near = np.geomspace(crossover / 100, crossover * 100, 500)
    assert margins_of(loop.response, near).phase_deg == pytest.approx(expected, abs=1e-4)


@given(gains, gains)
def test_unstable_exactly_if_kp_is_more_than_twice_kd(kp, kd):
    margin = float(phase_margin(kp, kd, REFERENCE_S))
    if abs(kp / (2 * kd) - 1) > 1e-9:
        assert (margin < 0) == (kp > 2 * kd)


@pytest.mark.parametrize(("kd", "kp"), [(1e3, 43), (10**3.5, 380), (1e4, 2692), (10**4.5, 12303), (1e5, 28184)])
def test_largest_kp_for_30_degrees(kd, kp):
    """The last points above 30 degrees on a grid of gains, from an independent solution of (12): up to 2.5% too low."""
    assert phase_margin([kp, 1.025 * kp], kd, REFERENCE_S) == pytest.approx([30.0, 30.0], abs=0.5)
    assert phase_margin(kp, kd, REFERENCE_S) >= 30.0 > phase_margin(1.025 * kp, kd, REFERENCE_S)


def test_constants_of_equation_12():
    loop = RccLoop()
    assert loop.gain == pytest.approx(5.74e13, rel=1e-3)
    assert loop.zero_rad_s == pytest.approx(7215, abs=1)
    margins = loop.margins()
    assert margins.phase_deg == pytest.approx(39.80, abs=0.005)
    assert margins.phase_crossover_rad_s == pytest.approx(7.50e4, rel=1e-3)


@pytest.mark.parametrize(
    ("kp", "kd", "delay", "expected"), [(1e4, 1e5, 1.0, -16.9), (1e4, 1e5, 0.5, 11.5), (1e3, 1e4, 1.0, 41.0)]
)
def test_margin_with_the_delay_that_equation_12_leaves_out(kp, kd, delay, expected):
    loop = RccLoop(kp=kp, kd=kd, feedback_rtts=delay)
    assert loop.margins().phase_deg == pytest.approx(expected, abs=0.1)
    direct = phase_margin(kp, kd, loop.reference_s, delay * loop.reference_s)
    assert loop.margins().phase_deg == pytest.approx(float(direct), abs=1e-6)


def test_statement_about_the_box_does_not_hold():
    """Section IV: K_p in [1, 1e4], K_d in [1e3, 1e5] "ensures" more than 30 degrees. A fifth of the box has less."""
    surface = RccMarginSurface(points=301).evaluate()
    assert share_above(surface, 30.0) == pytest.approx(0.805, abs=0.005)
    assert surface["phase_margin_deg"].min() == pytest.approx(-7.5, abs=0.1)
    assert surface["phase_margin_deg"].max() == pytest.approx(87.4, abs=0.1)
    # With the further advice of one order of magnitude between the gains it nearly holds.
    assert share_above(surface, 30.0, least_ratio=10.0) == pytest.approx(0.987, abs=0.003)


def test_linearised_fluid_is_equation_12():
    fluid, h = RccFluid(flows=3), 1e-7
    capacity, reference = fluid.capacity_bps / 8, fluid.reference_s
    window, queue = capacity * reference, fluid.equilibrium()["queue_bytes"]

    def slopes(state):
        w, q, u = state
        rtt = fluid.base_rtt_ps * 1e-12 + q / capacity
        filling = w / rtt - capacity
        drift = fluid.kp / rtt * (rtt - reference) + (fluid.kd + fluid.kp / 2) * filling / capacity
        return np.array([-w * np.tanh(u) / rtt, filling, drift])

    point, scale = np.array([window, queue, 0.0]), np.array([window, queue, 1.0])
    columns = [(slopes(point + h * e) - slopes(point - h * e)) / (2 * h * s) for e, s in zip(np.diag(scale), scale)]
    jacobian = np.array(columns).T
    # 1 + G(s) = 0 has the roots of the Jacobian's characteristic polynomial.
    loop = RccLoop()
    numerator, denominator = (np.asarray(p[0][0]) for p in (loop.transfer_function().num, loop.transfer_function().den))
    expected = np.polyadd(denominator, numerator)
    assert np.poly(jacobian) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "changes", [{}, {"flows": 8}, {"feedback_rtts": 0.5}, {"kp": 1e3, "kd": 1e4, "feedback_rtts": 1.0}]
)
def test_equilibrium_found_is_equilibrium_integrated(changes):
    table = RccFluid(duration_ps="3ms", **changes).evaluate()
    assert table["integrated"][["window_bytes", "queue_bytes", "rtt_ps", "rate_bps"]].to_numpy() == pytest.approx(
        table["equilibrium"][["window_bytes", "queue_bytes", "rtt_ps", "rate_bps"]].to_numpy(), rel=1e-3
    )


@pytest.mark.parametrize("changes", [{"feedback_rtts": 1.0}, {"kd": 1e3}])
def test_where_the_margin_is_negative_the_queue_oscillates(changes):
    fluid = RccFluid(duration_ps="3ms", **changes)
    loop = RccLoop(kp=fluid.kp, kd=fluid.kd, feedback_rtts=fluid.feedback_rtts)
    assert loop.margins().phase_deg < 0
    late = fluid.solve()["queue_bytes"].iloc[-5000:]
    assert late.min() == 0.0
    assert late.max() > 2 * fluid.equilibrium()["queue_bytes"]


@given(st.floats(0.1, 4.0), st.floats(0.1, 4.0), st.integers(1, 20), st.sampled_from([0.0, 0.5, 1.0]), gains, gains)
def test_windows_and_queue_are_never_negative_and_ratios_stay(first, other, flows, delay, kp, kd):
    starts = {"start_first": first, "start": other}
    fluid = RccFluid(flows=flows, feedback_rtts=delay, kp=kp, kd=kd, duration_ps="100us", **starts)
    frame = fluid.solve()
    assert (frame[["queue_bytes", "window_first_bytes", "window_other_bytes", "utilisation"]] >= 0).all(axis=None)
    assert (frame["utilisation"] <= 1 + 1e-9).all()
    ratio = frame["window_first_bytes"] / frame["window_other_bytes"]
    assert ratio.to_numpy() == pytest.approx(first / other, rel=1e-6)  # equation (11) is never approached


@pytest.mark.parametrize("is_accumulating", [True, False])
@pytest.mark.parametrize("delay", [0, 1, 2])
def test_discrete_roots_match_the_recursion(is_accumulating, delay):
    loop = RccLoop(kd=3e4)
    a, b = loop.kp * loop.reference_s, loop.kd * loop.reference_s
    rng = np.random.default_rng(0)
    w, u = list(rng.normal(size=delay + 3)), [0.0] * (delay + 3)
    for _ in range(400):
        change = a * w[-1] + b * (w[-1] - w[-2])
        u.append(u[-1] + change if is_accumulating else change)
        w.append(w[-1] - u[-1 - delay])
    growth = (np.abs(w[-50:]).max() / np.abs(w[-250:-200]).max()) ** (1 / 200)
    assert growth == pytest.approx(loop.discrete_radius(is_accumulating=is_accumulating, delay=delay), abs=0.01)


@pytest.mark.parametrize("rtt", ["4us", "12us", "100us"])
@pytest.mark.parametrize("margin", [30.0, 40.0])
@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_tune_reaches_the_margin_and_no_more(rtt, margin, delay):
    loop = tune(rtt, margin=margin, feedback_rtts=delay)
    assert loop.margins().phase_deg == pytest.approx(margin, abs=0.01)
    assert loop.kd == pytest.approx(10 * loop.kp)
    faster = RccLoop(kp=loop.kp * 1.01, kd=loop.kd * 1.01, base_rtt_ps=rtt, feedback_rtts=delay)
    assert faster.margins().phase_deg < margin


counts = st.lists(st.integers(0, 5), min_size=1, max_size=30)


def by_protocol(table, value):
    return {name: rows[value].to_numpy() for name, rows in table.sort_values("strength").groupby("protocol")}


def test_equations_2_to_4_by_hand():
    # m = 3, 1, 0, 0; f = 0, 1, 0, 2; BDP 10. rl_2 = 1/3 BDP, rl_4 = 2/3 BDP.
    traditional = queue_lengths([3, 1, 0, 0], [0, 1, 0, 2], 10.0, is_ren=False)
    ren = queue_lengths([3, 1, 0, 0], [0, 1, 0, 2], 10.0, is_ren=True)
    assert traditional == pytest.approx([20, 80 / 3, 80 / 3, 20])
    assert ren == pytest.approx([20, 50 / 3, 20 / 3, 0])


def test_rounds_of_equation_6_agree_with_equation_5():
    for rate in (0.5, 0.49, 0.25, 0.3, 0.125, 0.0625, 0.001):
        rates = rate_per_round(rate, 1.0, 12)
        assert np.argmax(rates >= 1.0) == rounds_to_full(rate, 1.0)
    assert rounds_to_full([1.0, 0.5, 0.49, 0.25, 0.3, 0.125, 0.0625], 1.0).tolist() == [1, 1, 2, 2, 2, 3, 4]


def test_equations_7_to_9_by_hand():
    ren, traditional, left = throughputs(10, [[6, 1, 1], [10, 1, 1]])
    assert ren[0] == pytest.approx([0.4, 0.8 * (1 - 1 / 4), 1 - 1 / 3])
    assert traditional[0] == pytest.approx([0.4, 0.3, 0.2])
    assert ren[1].tolist() == traditional[1].tolist() == [0, 0, 0]
    assert left.tolist() == [[4, 3, 2], [0, 0, 0]]


@given(counts, counts, st.floats(0.1, 1000))
def test_queues_are_never_negative_scale_with_bdp_and_ren_is_never_worse(come, go, bdp):
    n = min(len(come), len(go))
    come, go = come[:n], go[:n]
    traditional = queue_lengths(come, go, bdp, is_ren=False)
    ren = queue_lengths(come, go, bdp, is_ren=True)
    assert (ren >= 0).all()
    assert (ren <= traditional + 1e-9).all()
    assert traditional == pytest.approx(bdp * queue_lengths(come, go, 1.0, is_ren=False))


@given(st.integers(1, 40), counts)
def test_rates_stay_between_the_traditional_and_the_line(flows, go):
    ren, traditional, left = throughputs(flows, go)
    assert (traditional >= -1e-12).all()
    assert (ren >= traditional - 1e-12).all()
    assert (ren <= 1.0).all()
    assert ((left == 0) <= (ren == 0)).all()


# Figure 9, from an independent program for equations (1) to (3), 2000 to 4000 trials; the tolerance covers both
# sides' sampling error.
TRADITIONAL_40G = {
    20: [10.0, 25.3, 43.5, 61.7, 81.6, 103.5, 128.2, 150.6, 180.7, 198.6],
    30: [16.5, 38.7, 69.0, 100.2, 127.9, 166.0, 199.9, 238.1, 275.5, 315.5],
}
REN_40G = {
    20: [0.2, 0.7, 1.8, 3.4, 5.7, 9.0, 13.3, 19.8, 28.3, 34.4],
    30: [0.2, 0.7, 1.8, 3.4, 5.8, 10.0, 14.6, 21.9, 32.1, 45.0],
}


@pytest.mark.parametrize("rounds", [20, 30])
def test_figure_9a(rounds):
    queue = by_protocol(RenQueue(rounds=rounds, trials=6000).evaluate(), "queue_packets")
    assert queue["traditional"] == pytest.approx(TRADITIONAL_40G[rounds], rel=0.09)
    assert queue["REN"] == pytest.approx(REN_40G[rounds], rel=0.09, abs=0.06)


@pytest.mark.parametrize(
    ("changes", "traditional", "ren"),
    [
        (
            {},
            [94.8, 89.7, 84.3, 79.2, 73.6, 68.8, 63.9, 59.8, 56.5, 54.1],
            [99.5, 98.9, 98.2, 97.4, 96.4, 95.3, 93.8, 92.1, 90.4, 88.8],
        ),
        (
            {"flows": 30, "rounds": 30, "average": "all"},
            [94.9, 89.9, 84.5, 79.4, 74.3, 69.0, 64.0, 58.7, 53.8, 49.3],
            [99.7, 99.3, 98.8, 98.3, 97.7, 96.8, 95.5, 93.1, 89.2, 84.2],
        ),
    ],
)
def test_figure_9b(changes, traditional, ren):
    table = RenUtilisation(trials=4000, **changes).evaluate()
    use = by_protocol(table, "utilisation")
    assert 100 * use["traditional"] == pytest.approx(traditional, abs=1.0)
    assert 100 * use["REN"] == pytest.approx(ren, abs=1.0)


def test_wrong_inputs_are_errors():
    refused(lambda: queue_lengths([1, -1], [0, 0], 1.0, is_ren=True), "arrivals")
    refused(lambda: rounds_to_full(0.0, 1.0), "rate")
    refused(lambda: throughputs(0, [1]), "flows")
    refused(lambda: RenQueue(average="median"), "RenQueue.average")
