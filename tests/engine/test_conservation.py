"""Invariants of any network and protocol: bytes are conserved, messages arrive in order, lossless networks lose
nothing.

Random small networks (multi-homed hosts, unequal rates), workloads (groups, `after`), schemes, buffers and losses.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc import DeadlockError, DropTail, Loss, Pfc, StalledError, probes
from rdmacc.interface import CONTROL, DATA_CLASS
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.units import ms, ps
from tests.support import Watcher, check_conservation, networks, workloads

FEW = settings(max_examples=settings.default.max_examples // 2)
NAMES = ["line-rate", "dcqcn", "dcqcn-hpcc", "dasr", "dasr-no-look-ahead"]
POLICIES = {
    "pfc": st.builds(
        Pfc, alpha=st.sampled_from([1 / 16, 1 / 8, 0.5, 1.0, 8.0]), xon_offset_bytes=st.sampled_from([0, 3072])
    ),
    "droptail": st.builds(
        DropTail, alpha=st.sampled_from([1 / 8, 1.0, 8.0]), limit_bytes=st.sampled_from([0, 9_000, 20_000])
    ),
}


@st.composite
def schemes(draw, policy):
    """Random schemes of rdmacc that mark early and have short timers; a Watcher checks the order."""
    base = rdmacc.scheme(draw(st.sampled_from(NAMES)))
    recovery = GoBackN(
        ack_every_packets=draw(st.sampled_from([1, 1, 2, 7])),
        nak_interval_ps=draw(st.sampled_from(["0us", "5us", "100us"])),
        timeout_ps="10ms" if policy == "pfc" else draw(st.sampled_from(["30us", "300us"])),
        retry_limit=draw(st.sampled_from([0, 2, 7])),
    )
    marking = [
        dataclasses.replace(part, kmin_bytes=2_000, kmax_bytes=8_000, reference_bps=0.0, pmax=0.3)
        for part in base.switch
    ]
    return dataclasses.replace(
        base,
        recovery=recovery,
        control=(*base.control, Watcher()),
        switch=tuple(marking),
        buffer=draw(POLICIES[policy]),
        payload_bytes=draw(st.sampled_from([1000, 1000, 256, 4000])),
        ack_priority=draw(st.sampled_from([CONTROL, CONTROL, CONTROL, DATA_CLASS, DATA_CLASS + 1])),
    )


@st.composite
def scenarios(draw, policy):
    scheme = draw(schemes(policy))
    graph = draw(networks(wire=scheme.wire_bytes))
    return graph, draw(workloads(graph)), scheme


def watch_order(n_messages):
    """Return probes of each message's disorders, at every change."""
    return [probes.field("flow", number, "Watcher.disorders") for number in range(n_messages)]


def run(graph, work, scheme, engine, **options):
    """Simulate and return the result, partial if the network deadlocks or stalls."""
    try:
        return rdmacc.simulate(graph, work, scheme, engine=engine, probes=watch_order(len(work)), **options)
    except (DeadlockError, StalledError) as error:
        return error.result


def check(result):
    check_conservation(result)
    flows, counters = result.flows, result.counters
    received = result.outcome.messages["received_packets"]
    payload = result.plan.scheme.payload_bytes
    assert counters.accepted_bytes == np.minimum(received * payload, flows["size_bytes"]).sum()
    delivered = flows["fct_ps"].notna().to_numpy()
    assert (received[delivered] == result.plan.packets[delivered]).all()
    assert (received[~delivered] < result.plan.packets[~delivered]).all()
    assert (result.probes["value"] == 0.0).all(), "a packet was accepted out of order"
    done = flows[flows["status"] == "finished"]
    assert (done["fct_acked_ps"] > done["fct_ps"]).all()
    assert (result.buffers["peak_bytes"] <= result.buffers["buffer_bytes"]).all()
    assert counters.live_packets >= 0


def check_after(result):
    """Assert that no message started before those it waits for were complete."""
    flows = result.flows
    for number, after in enumerate(result.plan.workload["after"]):
        if flows["status"][number] == "finished":
            for earlier in after:
                assert flows["fct_ps"].notna()[earlier]
                ended = flows["start_ps"][earlier] + flows["fct_ps"][earlier]
                assert flows["start_ps"][number] >= ended


@pytest.mark.slow
@FEW
@given(scenario=scenarios("pfc"), seed=st.integers(0, 2**31))
def test_lossless_networks(engine, scenario, seed):
    graph, work, scheme = scenario
    simulation = rdmacc.Simulation(graph, work, scheme, engine=engine, seed=seed, probes=watch_order(len(work)))
    try:
        result = simulation.run()
        assert (result.flows["status"] == "finished").all()
    except DeadlockError as error:
        result = error.result
    check(result)
    check_after(result)
    counters = result.counters
    assert counters.dropped_packets == counters.lost_packets == counters.pfc_violations == 0
    assert counters.retransmissions == counters.naks == counters.timeouts == 0
    assert counters.accepted_bytes == counters.sent_bytes - counters.in_flight_bytes


@pytest.mark.slow
@FEW
@given(scenario=scenarios("droptail"), seed=st.integers(0, 2**31))
def test_lossy_networks(engine, scenario, seed):
    graph, work, scheme = scenario
    result = run(graph, work, scheme, engine, seed=seed, until="10ms")
    # Go-back-N at a constant rate into a small buffer may repeat itself forever: a livelock.
    assert set(result.flows["status"]) <= {"finished", "failed"} or result.now_ps == ms(10)
    check(result)
    check_after(result)
    assert result.counters.pfc_pauses == 0


@pytest.mark.slow
@FEW
@given(
    scenario=st.one_of(scenarios("droptail"), scenarios("pfc")),
    seed=st.integers(0, 2**31),
    loss=st.tuples(st.sampled_from([0.0, 0.01, 0.2]), st.sampled_from([0.0, 0.01, 0.2])),
)
def test_links_that_lose_packets(engine, scenario, seed, loss):
    graph, work, scheme = scenario
    faults = [Loss(data=loss[0], control=loss[1])]
    result = run(graph, work, scheme, engine, seed=seed, faults=faults, until="10ms")
    check(result)
    check_after(result)


@pytest.mark.slow
@FEW
@given(scenario=scenarios("droptail"), until=st.integers(0, 40_000_000))
def test_conservation_at_any_instant(engine, scenario, until):
    graph, work, scheme = scenario
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until=ps(until), faults=[Loss(data=0.05)])
    check_conservation(result)
    assert result.now_ps <= until


@given(scenario=st.one_of(scenarios("droptail"), scenarios("pfc")))
def test_the_network_is_empty_when_it_is_quiet(engine, scenario):
    """After the last message and its last packets, no switch holds a byte and no queue pair owes one."""
    graph, work, scheme = scenario
    simulation = rdmacc.Simulation(graph, work, scheme, engine=engine)
    try:
        result = simulation.run("20ms")
    except (DeadlockError, StalledError):
        return
    if engine != "simpy":
        return
    if (result.flows["status"] != "finished").any():
        return  # some packets may be in flight
    network = simulation.engine
    end = simulation.now_ps + ms(1)
    while network.env._queue and network.env.peek() < end:
        network.env.step()
    for port in network.ports:
        assert port.queue_bytes == port.paused == 0
        assert not port.flight
    for node in network.nodes:
        assert getattr(node, "used_bytes", 0) == getattr(node, "shared_used", 0) == 0
        for account in (account for accounts in getattr(node, "accounts", {}).values() for account in accounts):
            assert account.ingress_bytes == account.headroom_used == account.pause_sent == 0
    assert [qp.inflight_bytes for qp in network.qps] == [0] * len(network.qps)
    assert network.outcome().totals["live_packets"] == 0
