"""RCP's fluid model: its fixed point, and the way there when a flow joins, against packets.

A known difference: the packets' queue peaks at three quarters of the fluid's, since a slot that ends reacts to all
that came in it at once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rdmacc
from rdmacc.models.rcp import RcpFluid


@pytest.mark.parametrize(("flows", "joining"), [(1, 1), (4, 4), (8, 0)])
@pytest.mark.parametrize("target", [1.0, 0.95])
def test_it_settles_at_the_fixed_point(flows, joining, target):
    """R = gamma C / N, whatever the gains."""
    model = RcpFluid(flows=flows, joining=joining, target=target, beta=0.226, duration_ps="6ms")
    table = model.evaluate()
    assert table.loc["rate_bps", "integrated"] == pytest.approx(target * 10e9 / (flows + joining), rel=1e-3)
    assert table.loc["queue_bytes", "integrated"] < 1000


def test_without_a_join_nothing_happens():
    frame = RcpFluid(joining=0).solve()
    assert frame["rate_bps"].min() == frame["rate_bps"].max() == 10e9
    assert frame["queue_bytes"].max() == 0


def test_settling_counts_round_trips_to_the_last_time_outside():
    model = RcpFluid()
    time = model.join_ps + model.rtt_ps * np.arange(-5.0, 30.0)
    rate = np.where(time < model.join_ps + 7.5 * model.rtt_ps, 6e9, 5.1e9)
    assert model.settling_rtts(time, rate) == pytest.approx(7.0)
    assert model.settling_rtts(time, np.full(35, 5e9)) == 0.0


@pytest.mark.parametrize("beta", [0.4, 0.226])
def test_packets_settle_as_the_fluid_does(engine, beta):
    """A second flow joins: both need some 20 round trips to stay within 10 % of half the link."""
    model = RcpFluid(beta=beta, join_ps="1ms", duration_ps="2.5ms")
    beside = rdmacc.compare(model, replace(model.scenario(), engine=engine))
    rates = beside.summary(0.3).loc["rate"]
    assert rates["simulation"] == pytest.approx(rates["model"], rel=0.02)
    fluid = model.solve()
    trace = beside.result.samples("RcpStamp.fair_bps ('s0', 'h0')")
    queue = beside.result.samples("queue s0->h0")
    by_equation = model.settling_rtts(fluid["time_ps"].to_numpy(), fluid["rate_bps"].to_numpy(), 0.1)
    by_packets = model.settling_rtts(trace.index.to_numpy(float), trace.to_numpy(float), 0.1)
    assert by_packets == pytest.approx(by_equation, rel=0.25)
    assert queue.max() == pytest.approx(0.75 * fluid["queue_bytes"].max(), rel=0.1)
