"""The shared buffer: Choudhury and Hahne's dynamic threshold, tail drop, and no switch holds more than its buffer.

Theory: n queues under constant overload settle at q = alpha B / (1 + n alpha), leaving B / (1 + n alpha) free.
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import DropTail, Pfc, probes
from rdmacc.units import us
from tests.support import WIRE, check_conservation, line_rate, samples, spokes, transmission


def overloaded(n, buffer, starts=None):
    """Return n senders at 100 Gb/s, a 100 Mb/s receiver for each, and endless messages."""
    graph = spokes([100e9] * n + [1e8] * n, buffer=buffer)
    starts = starts or [0] * n
    rows = [(f"h{i}", f"h{n + i}", "100MB", starts[i]) for i in range(n)]
    return graph, rdmacc.messages(rows)


def queues(n):
    return [probes.queue("s0", f"h{n + i}") for i in range(n)]


@pytest.mark.parametrize(
    ("alpha", "n", "share"),
    [(1.0, 1, 1 / 2), (1.0, 2, 1 / 3), (1.0, 4, 1 / 5), (1 / 8, 1, 1 / 9), (1 / 8, 4, 1 / 12), (8.0, 1, 8 / 9)],
)
def test_equally_congested_queues_settle_at_the_fixed_point(engine, alpha, n, share):
    """Each queue holds alpha B / (1 + n alpha), to within the packet that no longer fits."""
    buffer = 200_000
    graph, work = overloaded(n, buffer)
    scheme = line_rate(buffer=DropTail(alpha=alpha))
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until="60us", probes=queues(n))
    for i in range(n):
        value = samples(result, f"queue s0->h{n + i}")[-1][1]
        assert share * buffer - (1 + alpha) * WIRE < value <= share * buffer + WIRE
    free = buffer - result.ports["queue_bytes"][result.ports["port"].str.startswith("s0->")].sum()
    assert free == pytest.approx(buffer / (1 + n * alpha), abs=n * 2 * WIRE)
    assert result.counters.dropped_packets > 0
    check_conservation(result)


def test_a_new_queue_gets_the_old_ones_share_only_as_they_drain(engine):
    """The old queue is above the new threshold and accepts nothing until it has drained below it."""
    buffer = 120_000
    graph, work = overloaded(2, buffer, starts=[0, us(50)])
    scheme = line_rate(buffer=DropTail(alpha=1.0))
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until="70us", probes=queues(2))
    first = [(at, value) for at, value in samples(result, "queue s0->h2") if at > us(53)]
    second = samples(result, "queue s0->h3")
    settled = [value for at, value in samples(result, "queue s0->h2") if at < us(50)][-1]
    assert settled == pytest.approx(buffer / 2, abs=2 * WIRE)
    # 20 us are too short for a 100 Mb/s port to send a packet: the old queue stays, the new one gets (B - q) / 2.
    assert [value for _, value in first] == []
    assert second[-1][1] == pytest.approx((buffer - settled) / 2, abs=WIRE)


@pytest.mark.parametrize(("limit", "queued"), [(3 * WIRE, 3), (3 * WIRE - 1, 2), (3 * WIRE + 1, 3)])
def test_the_limit_counts_the_arriving_packet(engine, limit, queued):
    graph = spokes([100e9, 1e6], buffer="1MB")
    scheme = line_rate(buffer=DropTail(alpha=100.0, limit_bytes=limit))
    work = rdmacc.messages([("h0", "h1", 10_000)])
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until="10us")
    assert result.counters.peak_queue_bytes == queued * WIRE


@given(
    alpha=st.sampled_from([0.5, 2.0, 16.0, 1000.0]),
    n=st.integers(2, 6),
    buffer=st.integers(5_000, 60_000),
    is_lossless=st.booleans(),
)
def test_a_switch_never_holds_more_than_its_buffer(engine, alpha, n, buffer, is_lossless):
    """For any alpha. A lossless pool is not overdrawn either when many ingresses find their reserve free."""
    policy = Pfc(alpha=alpha, headroom_bytes=40_000) if is_lossless else DropTail(alpha=alpha)
    total = buffer + (2 * n * (40_000 + 4096) if is_lossless else 0)
    graph, work = overloaded(n, total, starts=[i * us(1) for i in range(n)])
    simulation = rdmacc.Simulation(graph, work, line_rate(buffer=policy), engine=engine)
    for step in range(1, 12):
        result = simulation.run(step * us(2))
        assert result.buffers["peak_bytes"][0] <= total
        if engine == "simpy":
            switch = simulation.engine.nodes[simulation.plan.fabric.index["s0"]]
            assert 0 <= switch.shared_used <= switch.shared_bytes
            if is_lossless:
                accounts = itertools.chain.from_iterable(switch.accounts.values())
                used = sum(account.ingress_bytes + account.headroom_used for account in accounts)
                assert used == switch.used_bytes
    assert result.counters.pfc_violations == 0


def test_peak_buffer_of_an_incast_by_hand(engine):
    """n packets meet at one port: one leaves at once, n - 1 are held (including the one just arrived)."""
    graph = rdmacc.star(9)
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", 1000)
    result = rdmacc.simulate(graph, work, "line-rate", engine=engine)
    assert result.counters.peak_queue_bytes == 7 * WIRE
    assert result.buffers["peak_bytes"].tolist() == [7 * WIRE]
    result = rdmacc.simulate(graph, work.assign(size_bytes=2000), "line-rate", engine=engine)
    # The second wave arrives just as the first packet is through: 7 + 8 are held, then one leaves.
    assert result.buffers["peak_bytes"].tolist() == [15 * WIRE]
    assert result.flows["fct_ps"].max() == transmission(WIRE, 100e9) * 17 + us(2)
