"""REN's small figures: worked examples, models, parts, and the bursts on its testbed."""

from functools import cache

import numpy as np
import pytest

import rdmacc
from rdmacc.experiments import Outcome, experiment, load_summary
from rdmacc.experiments.ren import fig08, fig09
from rdmacc.experiments.ren.bursts import burst_point
from rdmacc.experiments.ren.fig03 import lost
from rdmacc.experiments.ren.fig09 import Figure9
from rdmacc.experiments.ren.setup import PACKET_BYTES, SIMULATED, TESTBED
from rdmacc.units import us


@cache
def table_of(name):
    return experiment(name).run("quick")


# Readings


def test_a_reading_is_in_the_place_of_the_default():
    """The literal marks of figure 5 as "ren"; a claim that compares readings is not judged under one of them."""
    figure, table = experiment("ren.fig5"), table_of("ren.fig5")
    assert figure.readings_in(table) == ["packet", "literal"]
    rows = figure.view(table, "literal").set_index("scheme")
    assert set(rows.index) == {"traditional", "ren"}
    own = table.set_index("scheme").loc["ren-literal"]
    assert rows.loc["ren", "value"].to_list() == own["value"].to_list()
    assert set(rows.loc["ren", "point"]) == {"ren"}
    verdicts = figure.check(table, "quick", "literal").set_index("id")["verdict"]
    assert verdicts["ren-f5-1"] == Outcome.FAILS
    assert verdicts["ren-f5-a"] == Outcome.NOT_JUDGED


def test_one_grant_for_one_packet_loses_more_with_more_bursts():
    """Figures 3 and 11: pHost and Homa as section 2 describes them; with two bursts more than the paper says."""
    said = (("ren.fig3", "ren-f3b-1", Outcome.DIRECTION), ("ren.fig11", "ren-f11b-1", Outcome.HOLDS))
    for name, id, expected in said:
        one, table = experiment(name), load_summary(name)
        claim = next(claim for claim in one.claims if claim.id == id)
        assert claim.verdict(one.view(table, "one grant")).outcome == expected
        checks = one.check(table, "paper", "one grant").set_index("id")
        assert checks.loc[id, "verdict"] == Outcome.UNDECIDED  # an edge is within the interval over the runs


# The set-up


@pytest.mark.parametrize(("preset", "window"), [(TESTBED, 44), (SIMULATED, 38)])
def test_ndp_starts_with_what_fills_the_link(preset, window):
    """The line rate times the base RTT, with the packet's time on each link and the header's way back."""
    graph = rdmacc.topology.ren_testbed() if preset is TESTBED else rdmacc.topology.ren_leaf_spine(2, 2, 2)
    ends = ("h0", "h4") if preset is TESTBED else ("h0", "h3")
    result = rdmacc.simulate(graph, rdmacc.messages([(*ends, "1500B")]), preset["ndp"], engine="simpy", progress=False)
    packets = result.plan.qp_base_rtt_ps[0] * preset.line_bps / 8e12 / PACKET_BYTES
    assert preset["ndp"].recovery.initial_window == window == int(np.ceil(packets))


# Bursts


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_lost_is_missing_afterwards(seed):
    """One grant, one packet: f0 lacks as many packets of 43.1 in flight as it lost."""
    point = burst_point("traditional", 2, "quick", seed)
    result = point.scenario.run()
    table = experiment("ren.fig3").measure(point, result).assign(**point.labels)
    missing = lost(table, "traditional").iloc[0] * 51.696e6 / 1.2e6
    f0 = result.flows.iloc[0]
    assert f0["retransmissions"] >= missing - 1
    sent_at_once = TESTBED["traditional"].recovery
    assert sent_at_once.base_rtt_ps == 0
    assert 44 - int(result.transfers["in_flight"].iloc[0]) == pytest.approx(missing + 0.9, abs=1.1)


# Figure 9

PUBLISHED_ELSEWHERE = {
    ("queue", 40e9, "traditional"): [10.0, 25.3, 43.5, 61.7, 81.6, 103.5, 128.2, 150.6, 180.7, 198.6],
    ("queue", 40e9, "REN"): [0.2, 0.7, 1.8, 3.4, 5.7, 9.0, 13.3, 19.8, 28.3, 34.4],
    ("utilisation", 20.0, "traditional"): [0.948, 0.897, 0.843, 0.792, 0.736, 0.688, 0.639, 0.598, 0.565, 0.541],
    ("utilisation", 30.0, "REN"): [0.997, 0.993, 0.989, 0.985, 0.980, 0.974, 0.969, 0.961, 0.953, 0.944],
}
"""The same equations, by a program of their own, 20 rounds."""


def test_figure_9_equations_give_what_another_program_gives():
    figure = Figure9()
    point = figure.points()[0]
    table = figure.execute(point, lambda scenario: scenario.run())
    for (quantity, case, protocol), values in PUBLISHED_ELSEWHERE.items():
        rows = table[(table["quantity"] == quantity) & (table["case"] == case) & (table["protocol"] == protocol)]
        assert rows["value"].to_numpy() == pytest.approx(values, rel=0.06, abs=0.15)


# Parts


def test_the_round_trip_of_figure_8_is_the_sum_of_its_parts():
    """48 us of propagation, a packet of 1.5 KB on three links there, a grant of 40 bytes on three back."""
    on_links_ps = 3 * (1500 + 40) * 8 * 100  # 100 ps a bit
    assert us(48) + on_links_ps == fig08._ROUND_PS
    assert pytest.approx(fig08._ROUND_PS / (1500 * 8 * 100)) == fig08._BDP


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_a_trial_of_figure_9_counts_the_rounds_that_have_a_flow(seed):
    scenario, expected = fig09._use_trial(3, 0.4, "REN", seed)
    gone = np.array([fault.at_ps / fig09.SIMULATED_RTT_PS - fig09._WARM_UP for fault in scenario.faults])
    left = np.array([3 - (gone <= number).sum() for number in range(fig09.ROUNDS)])
    assert (left == 1).any()  # the last one counts, too
    assert expected["rounds"] == (left > 0).sum()
