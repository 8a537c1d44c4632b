"""The fair share of a receiver's link: closed forms by hand, and against a simulation."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.models.fair_share import FairShare


def test_shares_and_fct_by_hand():
    model = FairShare(senders=3, message_bytes="10kB", line_bps="10Gbps", delay_ps="5us")
    assert model.n == 4
    assert model.message_wire_bytes == 10_480
    table = model.evaluate().set_index("kind")
    assert table["count"].to_dict() == {"incast": 3, "long": 1}
    assert table["share_bps"].tolist() == [2.5e9, 2.5e9]
    assert table.loc["incast", "fct_ps"] == pytest.approx(5e6 + 10_480 * 8e12 / 2.5e9)
    assert table.loc["incast", "ideal_fct_ps"] == pytest.approx(5e6 + 10_480 * 8e12 / 10e9)
    assert table.loc["long", "goodput_bps"] == pytest.approx(2.5e9 / 1.048)
    assert np.isnan(table.loc["long", "fct_ps"])


def test_a_short_last_packet_has_a_header_too():
    model = FairShare(senders=1, message_bytes=1500, has_long_flow=False)
    assert model.message_wire_bytes == 1500 + 2 * 48
    table = model.evaluate()
    assert table["kind"].tolist() == ["incast"]
    assert table["goodput_bps"].iloc[0] == pytest.approx(100e9 * 1500 / 1596)
    assert table["slowdown"].iloc[0] == 1.0


def test_goodput_times_duration_is_the_payload():
    model = FairShare(senders=7, message_bytes="64kB")
    row = model.evaluate().iloc[0]
    assert row["goodput_bps"] * model.incast_ps / 8e12 == pytest.approx(64_000)


def test_the_link_is_full_all_the_time():
    model = FairShare(senders=16, message_bytes="64kB")
    curves = model.curves().pivot(index="time_ps", columns="kind", values="rate_bps")
    assert (16 * curves["incast"] + curves["long"]).tolist() == pytest.approx([100e9] * 4)


def test_a_simulated_incast_ends_when_the_model_says(engine):
    """Whatever the scheme, the link is full, so the last message ends as the model's."""
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", "16kB")
    result = rdmacc.simulate(rdmacc.star(9), work, "line-rate", engine=engine, progress=False)
    model = FairShare(senders=8, message_bytes="16kB", has_long_flow=False)
    latency_ps = result.plan.ideal_fct_ps[0] - model.ideal_fct_ps
    expected = FairShare(senders=8, message_bytes="16kB", has_long_flow=False, delay_ps=round(latency_ps)).fct_ps
    assert result.flows["fct_ps"].max() == pytest.approx(expected, rel=0.01)


def test_plot_draws_both_kinds_and_names_the_share():
    ax = FairShare(senders=4, message_bytes="64kB").plot()
    assert {"each of 4 senders", "long flow"} <= {line.get_label() for line in ax.get_lines()}
    assert "line / 5" in ax.get_title(loc="left")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("senders", 0),
        ("senders", True),
        ("message_bytes", 0),
        ("message_bytes", "64"),
        ("line_bps", 0),
        ("payload_bytes", 0),
        ("delay_ps", "1kB"),
    ],
)
def test_wrong_parameters_are_named(field, value):
    arguments = {"senders": 2, "message_bytes": 1000} | {field: value}
    with pytest.raises(ConfigError, match=field):
        FairShare(**arguments)
