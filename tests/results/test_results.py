"""Results: summaries, goodput, traces and status, against hand-made numbers."""

import pickle
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc import probes
from rdmacc.interface import Component, Deadline, Float, Int32, Record
from tests.support import refused

STAR = {"rate": "100Gbps", "delay": "1us"}


@pytest.fixture(scope="module")
def incast(engine):
    work = rdmacc.incast(["h1", "h2", "h3", "h4"], "h0", "64kB")
    watched = [probes.queue("s0", "h0"), probes.rate(0), probes.throughput("s0", "h0", every="5us")]
    return rdmacc.simulate(rdmacc.star(5, **STAR), work, "dcqcn", engine=engine, probes=watched)


@pytest.fixture(scope="module")
def unfinished(engine):
    """Return the result of a long flow, stopped before its end, and a message that waits for it."""
    work = rdmacc.messages([("h1", "h0", "1MB"), ("h1", "h0", "1kB", 0, None, (0,)), ("h2", "h0", "1kB", "1ms")])
    return rdmacc.simulate(rdmacc.star(3, **STAR), work, "line-rate", engine=engine, until="50us")


def test_summary_has_the_numbers_of_the_frames(incast):
    summary, flows = incast.summary(), incast.flows
    assert (summary.flows, summary.finished, summary.failed) == (4, 4, 0)
    assert summary.fct_median_ps == np.median(flows["fct_ps"].to_numpy(float))
    assert summary.slowdown_p99 == pytest.approx(np.percentile(flows["slowdown"], 99))
    assert summary.peak_queue_bytes == incast.counters["peak_queue_bytes"]
    assert summary.cnps == incast.counters["cnps"]
    delivered_ps = (flows["start_ps"] + flows["fct_ps"]).max()
    assert summary.goodput_bps == pytest.approx(4 * 64_000 * 8e12 / delivered_ps)


def test_a_result_crosses_to_another_process(incast, unfinished):
    for result in (incast, unfinished):
        other = pickle.loads(pickle.dumps(result))
        assert str(other.summary()) == str(result.summary())
        for frame in ("flows", "ports", "probes"):
            pd.testing.assert_frame_equal(getattr(other, frame), getattr(result, frame))
        assert str(other.explain(0)) == str(result.explain(0)), "it runs again, from the plan"
        assert str(pickle.loads(pickle.dumps(other)).explain(0)) == str(result.explain(0))


def test_goodput_of_a_finished_message_is_its_size_over_its_fct(incast):
    for flow, fct_ps in enumerate(incast.flows["fct_ps"]):
        assert incast.goodput(flow) == pytest.approx(64_000 * 8e12 / fct_ps)


def test_goodput_of_an_unfinished_message_counts_arrivals(unfinished):
    received = unfinished.outcome.messages["received_packets"][0] * 1000
    assert 0 < received < 1_000_000
    assert unfinished.goodput(0) == pytest.approx(received * 8e12 / 50e6)


def test_messages_that_wait_have_not_started(unfinished):
    assert unfinished.flows["status"].tolist() == ["running", "waiting", "waiting"]
    assert np.isnan(unfinished.goodput(1))
    assert np.isnan(unfinished.goodput(2))


def test_transfers_hold_the_protocols_state_per_message(engine):
    """Also if two components have the same field; deadlines are left out."""

    @dataclass(frozen=True, kw_only=True)
    class Counter(Component):
        class Transfer(Record):
            retries = Int32()
            share = Float(0.5)
            tick_timer_ps = Deadline()

        def on_data(transfer):
            transfer.retries += 1

        def on_tick_timer(transfer):
            transfer.retries = 0

    scheme = rdmacc.Scheme(control=(Counter(),))
    work = rdmacc.messages([("h1", "h0", 3000), ("h2", "h0", 1000)])
    result = rdmacc.simulate(rdmacc.star(3, **STAR), work, scheme, engine=engine)
    transfers = result.transfers
    assert transfers["flow"].equals(result.flows["flow"])
    assert transfers["Counter.retries"].tolist() == [3, 1]
    assert transfers["GoBackN.retries"].tolist() == [0, 0]
    assert transfers["share"].tolist() == [0.5, 0.5]
    assert not [name for name in transfers if "timer" in name or name == "retries"]


def test_a_summary_reports_a_late_load(engine):
    """Ten messages start within 9 us on a link that takes 80 us for them: by the last start, a ninth has arrived."""
    work = rdmacc.messages([(f"h{i}", "h0", "100kB", f"{i}us") for i in range(1, 11)])
    summary = rdmacc.simulate(rdmacc.star(11), work, "line-rate", engine=engine).summary()
    assert summary.offered_bps == pytest.approx(900_000 * 8 / 9e-6)
    assert summary.carried_bps == pytest.approx(0.1 * summary.offered_bps, rel=0.2)
    assert "not steady: 9% carried by the last start" in str(summary)
    assert "Gb/s while they start" not in str(summary)


def test_a_window_counts_the_messages_that_start_in_it(engine):
    """Three messages that never meet, at 0, 100 and 200 us: all take equally long."""
    work = rdmacc.messages([("h1", "h0", "10kB"), ("h1", "h0", "20kB", "100us"), ("h1", "h0", "40kB", "200us")])
    result = rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine=engine)
    whole, middle, late = result.summary(), result.summary(("50us", "150us")), result.summary(("100us", "1ms"))
    assert (whole.flows, middle.flows, late.flows) == (3, 1, 2)
    assert middle.fct_median_ps == result.flows["fct_ps"].iloc[1]
    assert middle.goodput_bps == pytest.approx(20_000 * 8e12 / result.flows["fct_ps"].iloc[1])
    assert whole.offered_bps == pytest.approx(30_000 * 8 / 200e-6)
    assert late.offered_bps == pytest.approx(20_000 * 8 / 100e-6)
    assert np.isnan(middle.offered_bps)
    assert "offered, all flows" in str(whole)
    assert "offered" not in str(middle)
    assert late.carried_bps == pytest.approx(
        late.offered_bps, rel=1e-12
    )  # the first has arrived when the second starts
    assert "later" not in str(whole)
    for wrong in (("1ms", "2ms"), "1ms", ("1ms",), (0, "a while")):
        refused(lambda: result.summary(wrong), "window")
