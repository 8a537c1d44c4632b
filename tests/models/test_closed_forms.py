"""DASR, HPCC, ideal times and go-back-N: closed forms by hand, and DASR's fluids against packets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.models.comparison import compare
from rdmacc.models.dasr import DasrConvergence, DasrIncast, sender_counts
from rdmacc.models.go_back_n import GoBackNGoodput
from rdmacc.models.hpcc import HpccSteady
from rdmacc.models.ideal import ProcessorSharing, base_fct_ps, wire_bytes


def test_convergence_is_one_round_trip_and_the_software_quantiles():
    table = DasrConvergence().evaluate()
    assert table["convergence_ps"].to_numpy() / 1e6 == pytest.approx([15, 28, 41, 44], abs=0.1)
    assert table["rtts"].iloc[0] == 1.0
    assert (table["t_f_ps"] + table["t_cpu_ps"] + table["t_b_ps"]).tolist() == table["convergence_ps"].tolist()


def test_convergence_waits_behind_the_queue():
    plain, queued = DasrConvergence(), DasrConvergence(queue_bytes="70kB")
    assert queued.forward_ps - plain.forward_ps == pytest.approx(70e3 * 8e12 / 56e9)
    assert queued.evaluate()["rtts"].iloc[0] > 1.5


def test_a_sender_with_two_messages_counts_once():
    table = sender_counts(["a", "a", "b", "a"], [0, 5, 6, 50], [10, 20, 8, 60])
    assert table.to_numpy().tolist() == [[0, 1], [6, 2], [8, 1], [20, 0], [50, 1], [60, 0]]
    with pytest.raises(ConfigError, match="end"):
        sender_counts(["a"], [5], [1])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=12))
def test_sender_set_is_what_counting_says(messages):
    names, begin, length = zip(*messages)
    end = [b + d for b, d in zip(begin, length)]
    table = sender_counts(list(names), list(begin), end)
    for t in np.arange(-0.5, 75.0):
        active = {name for name, b, e in zip(names, begin, end) if b <= t < e}
        rows = table[table["time_ps"] <= t]
        assert (rows["n"].iloc[-1] if len(rows) else 0) == len(active)


def test_look_ahead_halves_the_queue_and_backs_off_no_later():
    gain = DasrIncast(senders=16, message_bytes="256kB", jitter_ps="20us").gain()
    with_it = DasrIncast(senders=16, message_bytes="256kB", jitter_ps="20us").solve()["queue_bytes"].max()
    assert gain["peak_queue_bytes"] > 0.8 * with_it
    assert gain["back_off_ps"] >= 0


def test_without_jitter_look_ahead_gains_nothing():
    gain = DasrIncast(senders=8, jitter_ps=0).gain()
    assert gain["peak_queue_bytes"] == pytest.approx(0, abs=1)


def test_steps_of_the_dasr_fluids_follow_the_link():
    """50 ns at 100 Gb/s, ten times that at 10: a long incast takes as many steps on either."""
    at = {rate: DasrIncast(senders=2, message_bytes="8kB", line_bps=rate).solve() for rate in ("10Gbps", "100Gbps")}
    assert {rate: curve["time_ps"].iloc[1] for rate, curve in at.items()} == {"10Gbps": 500_000, "100Gbps": 50_000}


@pytest.mark.parametrize("look_ahead", [True, False])
@pytest.mark.parametrize(
    ("senders", "size", "jitter"), [(16, "256kB", "20us"), (4, "64kB", "0us"), (16, "8kB", "20us")]
)
def test_packets_agree_with_dasr_fluids(senders, size, jitter, look_ahead):
    model = DasrIncast(senders=senders, message_bytes=size, jitter_ps=jitter, look_ahead=look_ahead, step_ps="100ns")
    found = compare(model)
    queue = found.frame[found.frame["quantity"] == "queue"]
    assert queue["simulation"].max() == pytest.approx(queue["model"].max(), rel=0.03)
    assert found.summary(1.0).loc["FCT", "relative"] == pytest.approx(0, abs=0.02)


def test_hpcc_facts():
    one = HpccSteady(flows=1)
    assert one.bdp_bytes == 162_500
    assert one.steady_state()["window_bytes"] == 154_455
    assert one.steady_state()["utilisation"] == pytest.approx(0.9505, abs=1e-4)
    assert HpccSteady(capacity_bps="25Gbps").bdp_bytes == 40_625
    assert HpccSteady().most_flows == pytest.approx(101.6, abs=0.1)
    # A multiplicative step from U = 1.5: 162500 * 0.95 / 1.5 + 80.
    frame = HpccSteady(flows=2, start_first=1.0, start=0.5, rounds=1).solve()
    assert frame["inflight"].iloc[0] == 1.5
    assert frame["window_first_bytes"].iloc[1] == pytest.approx(102_996.67, abs=0.01)


def test_hpcc_drains_line_rate_starts_in_one_round():
    frame = HpccSteady(flows=16, rounds=2).solve()
    assert frame["inflight"].tolist()[0] == 16
    assert frame["time_ps"].tolist() == [0, 13e6, 26e6]  # 162,500 B at 100 Gb/s
    assert frame["window_first_bytes"].iloc[1] == pytest.approx(162_500 * 0.95 / 16 + 80)
    assert frame["queue_bytes"].iloc[1] == 0


@pytest.mark.parametrize("flows", [1, 2, 16, 101, 400])
def test_hpcc_equilibrium_found_is_equilibrium_iterated(flows):
    table = HpccSteady(flows=flows, start_first=1.0, start=0.3, rounds=30_000).evaluate()
    assert table["iterated"].to_numpy() == pytest.approx(table["steady"].to_numpy(), rel=1e-6)
    assert (table.loc["queue_bytes", "steady"] > 0) == (flows > HpccSteady().most_flows)


def test_hpcc_windows_become_equal_by_the_memory():
    model = HpccSteady(flows=2, start_first=1.0, start=0.5, rounds=3000)
    frame, memory = model.solve(), model.steady_state()["memory"]
    gap = (frame["window_first_bytes"] - frame["window_other_bytes"]).to_numpy()
    assert gap[2000] / gap[1000] == pytest.approx(memory**1000, rel=1e-3)


@given(st.integers(1, 300), st.floats(0.001, 1.0), st.floats(0.001, 1.0), st.integers(0, 10), st.integers(0, 2000))
def test_hpcc_is_never_negative(flows, first, other, stages, additive):
    model = HpccSteady(
        flows=flows, start_first=first, start=other, max_stage=stages, additive_bytes=additive, rounds=100
    )
    assert (model.solve() >= 0).all(axis=None)


def test_base_fct_is_the_fabrics():
    net = rdmacc.star(3, rate="40Gbps", delay="700ns")
    sizes = [1, 1000, 100_000]
    work = rdmacc.messages([("h1", "h0", size, f"{i}ms") for i, size in enumerate(sizes)])
    ideal = rdmacc.simulate(net, work, "line-rate").flows["ideal_fct_ps"]
    assert base_fct_ps(sizes, 40e9, [700_000] * 2) == pytest.approx(ideal.to_numpy(np.float64))


def test_wire_bytes():
    assert wire_bytes([1, 1000, 1001], 1000, 48).tolist() == [49, 1048, 1097]


def test_processor_sharing_slowdown_is_the_same_for_all_sizes():
    table = ProcessorSharing(load=0.8, latency_ps=0).evaluate()
    assert table["slowdown"].to_numpy() == pytest.approx(5.0)
    diluted = ProcessorSharing(load=0.8, latency_ps="4us").evaluate()["slowdown"]
    assert diluted.is_monotonic_increasing
    assert diluted.max() < 5.0


@pytest.mark.parametrize(
    ("variant", "loss", "timeout", "percent"),
    [
        ("IGBN", 0.001, "100ms", 97.4), ("IGBN", 0.01, "100ms", 58.6), ("GBN", 0.01, "100ms", 1.8),
        ("GBN", 0.01, "10ms", 14.4), ("GBN", 0.001, "100ms", 56.2), ("CE", 0.01, "100ms", 25.3),
    ],
)  # fmt: skip
def test_go_back_n_numbers_of_m_g10(variant, loss, timeout, percent):
    table = GoBackNGoodput(timeout_ps=timeout).evaluate([loss]).set_index("variant")
    assert 100 * table.loc[variant, "goodput"] == pytest.approx(percent, abs=0.3)


def test_without_loss_go_back_n_is_at_line_rate():
    assert (GoBackNGoodput().evaluate([0.0])["goodput"] == 1.0).all()
