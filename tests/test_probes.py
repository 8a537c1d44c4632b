"""Probes: their values and times, and that watching changes nothing.

Theory: a sample at time t is taken after all other events at t; a probe of changes looks after every event.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import Probe, probes
from rdmacc.units import ps, us
from tests.support import WIRE, samples, transmission

T, D = transmission(WIRE, 100e9), us(1)
TWO_TO_ONE = rdmacc.messages([("h1", "h0", 50_000), ("h2", "h0", 50_000)])


def run(engine, *watch, work=TWO_TO_ONE, scheme="line-rate", **options):
    return rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine, probes=watch, **options)


def value_at(pairs, now):
    return [value for at, value in pairs if at <= now][-1]


def test_a_queue_at_every_change(engine):
    """From the first pair of packets on, the queue grows by a packet every t, then drains by one every t."""
    pairs = samples(run(engine, probes.queue("s0", "h0")), "queue s0->h0")
    arrival = T + D
    assert pairs[0] == (0, 0.0)
    expected = [min(m + 1, 99 - m) * WIRE for m in range(100)]
    assert [value_at(pairs, arrival + m * T) for m in range(100)] == expected
    values = [value for _, value in pairs]
    assert all(one != two for one, two in zip(values, values[1:]))
    assert values[-1] == 0


@given(period=st.integers(1_000, 3_000_000))
def test_samples_are_the_changes_seen_at_their_times(engine, period):
    """For any period, also if samples and packets fall on the same instant."""
    every_change = Probe(name="all", place="port", at=("s0", "h0"), field="queue_bytes")
    sampled = Probe(name="some", place="port", at=("s0", "h0"), field="queue_bytes", every_ps=period)
    result = run(engine, every_change, sampled)
    changes = samples(result, "all")
    for at, value in samples(result, "some"):
        assert value == value_at(changes, at)


@pytest.mark.parametrize("period_ps", [us(0.5), T + D])
def test_samples_come_every_period_starting_at_0(engine, period_ps):
    """They include everything at their instant: the first pair of packets arrives at exactly t + d."""
    result = run(engine, probes.queue("s0", "h0", period_ps))
    pairs = samples(result, "queue s0->h0")
    assert [at for at, _ in pairs] == list(range(0, result.now_ps, period_ps))
    assert period_ps != T + D or pairs[1][1] == WIRE


def test_throughput_is_the_average_over_each_period(engine):
    """A saturated link sampled every 10 T gives exactly the line rate; an idle one 0."""
    result = run(engine, probes.throughput("s0", "h0", ps(10 * T)))
    pairs = samples(result, "throughput s0->h0")
    assert [at for at, _ in pairs][:3] == [10 * T, 20 * T, 30 * T]
    rates = [value for _, value in pairs]
    busy_from, busy_to = T + D, T + D + 100 * T
    for at, value in pairs:
        if at - 10 * T > busy_from and at < busy_to - T:
            assert value == pytest.approx(100e9, rel=1e-3)
        if at < busy_from:
            assert value == 0
    total = sum(rates) * 10 * T / 8e12
    assert 95 * WIRE < total <= 100 * WIRE


def test_fields_of_all_places(engine):
    watch = [
        probes.field("port", ("s0", "h0"), "tx_data_packets"),
        probes.field("flow", 1, "received_packets"),
        probes.field("flow", 1, "inflight_bytes"),
        probes.field("host", "h0", "rx_wire_bytes"),
        probes.field("flow", 0, "GoBackN.retransmit_timer_ps"),
    ]
    result = run(engine, *watch)
    last = {probe.name: samples(result, probe.name)[-1][1] for probe in watch}
    assert last["tx_data_packets ('s0', 'h0')"] == 100
    assert last["received_packets 1"] == 50
    assert last["inflight_bytes 1"] == 0
    assert last["rx_wire_bytes h0"] == 100 * WIRE
    assert last["GoBackN.retransmit_timer_ps 0"] == 2**62


@pytest.mark.parametrize("scheme", ["dcqcn", "dasr"])
def test_watching_changes_nothing(engine, scheme):
    """Flows, counters and ports are the same with and without probes, except for the number of events."""
    watch = [
        probes.queue("s0", "h0"), replace(probes.queue("s0", "h0", "777ps"), name="sampled"), probes.rate(0),
        probes.throughput("h1", "s0", "1001ps"), probes.field("flow", 0, "Dcqcn.alpha", "1us"),
    ]  # fmt: skip
    bare, watched = run(engine, scheme=scheme), run(engine, *watch, scheme=scheme)
    assert watched.flows.equals(bare.flows)
    assert watched.ports.equals(bare.ports)
    assert watched.counters.drop("events").equals(bare.counters.drop("events"))
    assert watched.now_ps == bare.now_ps


def test_probes_continue_across_pieces_of_a_run(engine):
    sampled = replace(probes.queue("s0", "h0", "100ns"), name="sampled")
    watch = [sampled, probes.queue("s0", "h0"), probes.throughput("s0", "h0", "300ns")]
    whole = run(engine, *watch).probes
    simulation = rdmacc.Simulation(rdmacc.star(3), TWO_TO_ONE, "line-rate", engine=engine, probes=watch)
    for until in ("1us", "1.5us", "3us"):
        simulation.run(until)
    assert simulation.run().probes.equals(whole)


@pytest.mark.parametrize("scheme", ["dcqcn", "ndp"])
def test_goodput_adds_up_to_the_message(engine, scheme):
    work = rdmacc.incast(["h1", "h2"], "h0", "100kB")
    result = rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine, probes=[probes.goodput(1, "1us")])
    payload = rdmacc.scheme(scheme).payload_bytes
    assert result.samples("goodput 1").sum() * 1e-6 / 8 == pytest.approx(-(-100_000 // payload) * payload, rel=1e-9)
