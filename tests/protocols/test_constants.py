"""A lone message under every scheme, at rates from 1 to 800 Gb/s and base round trips from 1 us to 20 ms.

The message finishes in its ideal time and nothing is sent twice, except for what the scheme's page explains, as listed
in `ROUNDS` and `SHARE`. A timer below the round trip, or a target or window below the bandwidth-delay product, breaks
this at one end of the grid.
"""

import itertools
import math

import pytest

import rdmacc
from rdmacc.engine.plan import _warn
from rdmacc.units import ps

BY_DAY = [("1Gbps", "0.25us"), ("100Gbps", "100us"), ("800Gbps", "5ms")]
BY_NIGHT = [(f"{rate}Gbps", delay) for rate in (1, 10, 100, 400, 800) for delay in ("0.25us", "5us", "50us", "5ms")]
MOST_BYTES = 50_000_000

SHARE = {
    "hpcc": (1.12, "42 B of telemetry in each packet, and a target of 95% of the link"),
    "powertcp": (1.06, "42 B of telemetry in each packet"),
    "expresspass": (1.1, "84 B of credit for each packet of 1,538 B"),
    "expresspass-aeolus": (1.1, "84 B of credit for each packet of 1,538 B"),
    "rcp": (1.6, "a BDP of less than two packets, in which a queue of one halves the rate"),
    "nscc": (1.6, "a window of a few packets waits for the ACK of its last ones: `Uet.ack_every_bytes`"),
    "nscc-rccc": (1.6, "as nscc"),
    "nscc-retire": (1.6, "as nscc"),
}
"""Largest slowdown of an endless message, and why; 1.03 for other schemes."""

ROUNDS = {
    "dctcp": (lambda bdp: 2 + math.log2(max(bdp / 10, 1)), "slow start from ten packets"),
    "expresspass": (lambda bdp: 4.0, "a request for credits first, then half of the rate"),
    "expresspass-aeolus": (lambda bdp: 3.0, "the rate of credits begins at half of the link"),
    "rcp": (lambda bdp: 12.0, "a probe first, then the rate that links give to newcomers"),
    "nscc-retire": (lambda bdp: MOST_BYTES / 4e6, "a message has 1,024 packets unanswered at most: `Uet.reorder`"),
}
"""Round trips that a scheme loses at the start, as a function of the packets in a BDP, and why."""

SENT_TWICE = {"send-twice", "improved-go-back-n"}
"""Schemes whose last packet is sent twice, by design."""


def run_alone(name, rate, delay, size=None):
    network = rdmacc.star(2, rate=rate, delay=delay, buffer="100GB")
    link = network.edges["h0", "s0"]
    rtt_ps, line_bps = 4 * link["delay_ps"], link["rate_bps"]
    size = size or int(min(max(10 * line_bps * rtt_ps / 8e12, 1e6), MOST_BYTES))
    until = ps(int(60 * (rtt_ps + size * 8e12 / line_bps)) + 10**10)
    run = rdmacc.Simulation(network, rdmacc.messages([("h0", "h1", size)]), name)
    return run.plan, run.run(until, progress=False)


GRIDS = [
    pytest.param(BY_DAY, marks=pytest.mark.slow, id="day"),
    pytest.param(BY_NIGHT, marks=pytest.mark.nightly, id="night"),
]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", rdmacc.SCHEMES)
def test_a_lone_message(name, grid):
    for (rate, delay), size in itertools.product(grid, (None, 1000)):
        plan, result = run_alone(name, rate, delay, size)
        flow = result.flows.iloc[0]
        where = f"{name} at {rate}, links of {delay}: slowdown {flow.slowdown:.3f}"
        assert flow.status == "finished", where
        assert result.counters["retransmissions"] == (name in SENT_TWICE), where
        assert result.counters["dropped_packets"] == 0 or name.startswith("expresspass"), where  # credits, by design
        rtt_ps = int(plan.qp_base_rtt_ps[0])
        bdp = float(plan.fabric.port_rate_bps.max()) * rtt_ps / 8e12 / plan.scheme.wire_bytes
        rounds = ROUNDS[name][0](bdp) if name in ROUNDS else 0.0
        most = SHARE.get(name, (1.03,))[0] + rounds * rtt_ps / flow.ideal_fct_ps
        assert flow.slowdown <= most, f"{where}, at most {most:.3f}"


def simulations(count, scheme, delay):
    _warn.cache_clear()
    for _ in range(count):
        network, work = rdmacc.star(2, delay=delay, buffer="10GB"), rdmacc.messages([("h0", "h1", 1000)])
        rdmacc.Simulation(network, work, scheme, engine="simpy")


IRN, TIMELY = rdmacc.preset("irn-2018")["irn"], rdmacc.preset("timely-2015")["timely"]


@pytest.mark.parametrize(
    ("scheme", "delay", "warning"),
    [
        (IRN, "100us", "Irn.rto_low_ps = 100 us is shorter than the longest base RTT, 400"),
        (TIMELY, "200us", "Timely.t_high_ps = 500 us is shorter than"),
        (rdmacc.scheme("dcqcn"), "100us", "Dcqcn.increase_period_ps = 55 us is shorter than 0.5 of the longest base"),
        (rdmacc.scheme("swift", base_target_ps="10us"), "8us", "Swift.base_target_ps = 10 us"),
        (rdmacc.scheme("hpcc", min_rate_bps="200Gbps"), "1us", "Hpcc.min_rate_bps = 200 Gb/s is not below the rate"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_parameter_that_does_not_fit_the_network_is_reported_once(scheme, delay, warning, caplog):
    simulations(2, scheme, delay)
    assert sum(warning in one.message for one in caplog.records) == 1


@pytest.mark.parametrize("name", ["irn", "swift", "eqds", "homa", "ndp", "expresspass", "timely", "dctcp"])
def test_defaults_fit_long_cables(name, caplog):
    simulations(1, name, "5ms")
    assert not caplog.records
