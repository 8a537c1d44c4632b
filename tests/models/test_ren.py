"""REN's equations: the paper's worked examples, the numbers of figure 9 at stated settings, statements that fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmacc.errors import ConfigError
from rdmacc.models.ren import (
    bdp_packets,
    departures_at_most,
    drain_rounds,
    next_rate,
    queue_lengths,
    rate_per_round,
    rounds_to_full,
    throughputs,
)
from rdmacc.models.ren_figures import STRENGTHS, RenQueue, RenRate, RenUtilisation, sensitivity

counts = st.lists(st.integers(0, 5), min_size=1, max_size=30)


def by_protocol(table, value):
    return {name: rows[value].to_numpy() for name, rows in table.sort_values("strength").groupby("protocol")}


def test_bdp():
    assert bdp_packets(10e9, 10e6, 1500) == pytest.approx(8.333, abs=1e-3)
    assert bdp_packets(40e9, 10e6, 1460) == pytest.approx(34.25, abs=1e-2)


def test_backlog_of_figure_1_and_its_drain_of_figure_5():
    assert queue_lengths([2, 0, 0, 0], [0] * 4, 2.0, is_ren=False).tolist() == [2, 2, 2, 2]
    assert queue_lengths([2, 0, 0, 0], [0] * 4, 2.0, is_ren=True).tolist() == [2, 0, 0, 0]


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
    assert rounds_to_full([0.5, 0.49, 0.25, 0.3, 0.125, 0.0625], 1.0).tolist() == [1, 2, 2, 2, 3, 4]


def test_equation_6_says_one_round_where_none_is_needed():
    assert rounds_to_full(1.0, 1.0) == 1


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


@given(counts, counts)
def test_no_more_leave_than_are_there(come, go):
    n = min(len(come), len(go))
    leave = departures_at_most(go[:n], come[:n])
    assert (np.cumsum(come[:n]) - np.cumsum(leave) >= 0).all()
    assert (leave <= go[:n]).all()


@given(st.integers(1, 40), counts)
def test_rates_stay_between_the_traditional_and_the_line(flows, go):
    ren, traditional, left = throughputs(flows, go)
    assert (traditional >= -1e-12).all()
    assert (ren >= traditional - 1e-12).all()
    assert (ren <= 1.0).all()
    assert ((left == 0) <= (ren == 0)).all()


@given(st.floats(1e-6, 1.0))
def test_rates_double_and_never_pass_the_line(rate):
    after = float(next_rate(rate, 1.0))
    assert after in (2 * rate, 1.0)
    assert after >= rate


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


def test_figure_9a_without_departures():
    model = RenQueue(rounds=30, trials=4000, has_departures=False)
    queue = by_protocol(model.evaluate(), "queue_packets")
    expected = [28.1, 73.7, 124.9, 174.8, 227.2, 279.4, 327.1, 382.2, 434.1, 483.0]
    assert queue["traditional"] == pytest.approx(expected, rel=0.05)
    assert queue["REN"] == pytest.approx([0.2, 0.8, 2.0, 4.2, 7.9, 13.7, 22.4, 36.5, 55.9, 79.9], rel=0.1, abs=0.06)


def test_figure_9a_scales_with_the_capacity():
    fast, slow = (RenQueue(capacity_bps=rate, trials=50).evaluate() for rate in ("40Gbps", "10Gbps"))
    assert fast["queue_packets"].to_numpy() == pytest.approx(4 * slow["queue_packets"].to_numpy())


@pytest.mark.parametrize(
    ("changes", "traditional", "ren"),
    [
        (
            {},
            [94.8, 89.7, 84.3, 79.2, 73.6, 68.8, 63.9, 59.8, 56.5, 54.1],
            [99.5, 98.9, 98.2, 97.4, 96.4, 95.3, 93.8, 92.1, 90.4, 88.8],
        ),
        (
            {"flows": 30},
            [96.5, 93.1, 89.5, 86.1, 82.5, 79.0, 75.5, 72.0, 68.6, 65.2],
            [99.7, 99.3, 98.9, 98.5, 98.0, 97.4, 96.9, 96.1, 95.3, 94.4],
        ),
        (
            {"rounds": 30, "average": "all"},
            [92.3, 84.8, 76.8, 69.1, 61.5, 54.1, 47.7, 41.8, 37.2, 33.4],
            [99.5, 98.8, 98.0, 96.6, 93.7, 88.5, 81.1, 72.3, 64.3, 57.7],
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


def gap(**changes):
    use = by_protocol(RenUtilisation(trials=3000, **changes).evaluate(), "utilisation")
    return use["REN"] - use["traditional"]


def test_advantage_grows_with_strength_at_20_rounds_but_not_at_30_with_empty_rounds_counted():
    """Section 4.3 says that it grows; this depends on choices that the paper leaves open."""
    assert (np.diff(gap()) > 0).all()
    late = gap(rounds=30, average="all")
    assert STRENGTHS[int(late.argmax())] == pytest.approx(0.6, abs=0.1)
    assert late[-1] < 0.8 * late.max()


def test_drained_in_the_next_rtt_does_not_hold():
    """Section 5.2: two bursts are "drained in the next RTT". Equation (3) takes one BDP a round, marks one to act."""
    assert drain_rounds(2) == 2
    assert drain_rounds(2, feedback_rounds=1) == 3
    buffer = 64_000 / 1500 / bdp_packets(10e9, 48e6, 1500)  # 64 KB of 40 packets a round trip: more than one BDP
    assert 1.0 < buffer < 1.1
    assert drain_rounds(2, buffer_bdp=buffer, feedback_rounds=1) == 3
    assert drain_rounds(1) == 1


def test_figure_8():
    model = RenRate(start_fraction=0.1, capacity_bps="10Gbps", rtt_ps="48us", message_bytes="300kB")
    table = model.evaluate().set_index("protocol")
    assert table.loc["REN", "rounds_to_full"] == 4
    # 6 + 12 + 24 + 48 kB in four rounds, the other 210 kB at line rate.
    assert table.loc["REN", "fct_ps"] == pytest.approx(4 * 48e6 + 210e3 * 800)
    assert table.loc["traditional", "fct_ps"] == pytest.approx(300e3 * 8000)
    assert model.solve().groupby("protocol")["rate_bps"].max().to_dict() == {"REN": 10e9, "traditional": 1e9}


def test_sensitivity_names_each_choice():
    table = sensitivity(RenQueue(trials=20), [0.5])
    assert table["choice"].nunique() == 8
    assert set(sensitivity(RenUtilisation(trials=20), [0.5]).columns) == {
        "choice", "strength", "protocol", "utilisation",
    }  # fmt: skip


def test_wrong_inputs_are_errors():
    with pytest.raises(ConfigError, match="arrivals"):
        queue_lengths([1, -1], [0, 0], 1.0, is_ren=True)
    with pytest.raises(ConfigError, match="rate"):
        rounds_to_full(0.0, 1.0)
    with pytest.raises(ConfigError, match="flows"):
        throughputs(0, [1])
    with pytest.raises(ConfigError, match=r"RenQueue\.average"):
        RenQueue(average="median")
