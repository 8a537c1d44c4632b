"""PFC: when a switch pauses and resumes, sufficient headroom, and which packets a pause stops.

Theory: one congested ingress pauses when what it holds of the shared pool, x, reaches alpha (B - x): x = B alpha / (1 +
alpha). It resumes 3072 B below the threshold. No packet is lost if the headroom holds everything that arrives between
the decision to pause and its effect: the packet that crossed the threshold, one round trip of the link, a packet that
blocks the PAUSE, the frame itself, and the packet that the upstream port had begun (802.1Q annex N).
"""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import ConfigError, Pfc, probes
from rdmacc.rules.pfc import headroom_bytes
from rdmacc.units import ps, us
from tests.support import PFC_WIRE, WIRE, chain, check_finished, line_rate, networks, samples, spokes, transmission
from tests.support import workloads as random_workloads

RESERVE, XON = 4096, 3072


class OneIngress:
    """One ingress queue's accounting, after the HPCC simulator's switch-mmu.cc, independent of the engine."""

    def __init__(self, shared, alpha, reserve=RESERVE, xon=XON, xoff=0):
        self.shared, self.alpha, self.reserve, self.xon, self.xoff = shared, alpha, reserve, xon, xoff
        self.used = self.headroom = self.peak_headroom = 0

    @property
    def taken(self):
        return max(0, self.used - self.reserve)

    @property
    def threshold(self):
        return self.xoff or self.alpha * (self.shared - self.taken)

    def arrive(self, wire):
        """Count a packet in; return whether the neighbour must be paused."""
        if self.used + wire - self.reserve > self.threshold:
            self.headroom += wire
            self.peak_headroom = max(self.peak_headroom, self.headroom)
        else:
            self.used += wire
        return self.headroom > 0 or self.taken >= self.threshold

    def leave(self, wire):
        """Count a packet out; return whether the neighbour may resume."""
        from_headroom = min(self.headroom, wire)
        self.headroom -= from_headroom
        self.used -= wire - from_headroom
        return self.headroom == 0 and (self.taken == 0 or self.taken + self.xon <= self.threshold)


def pauses_and_resumes(account, packets, rate_in, delay, rate_out):
    """Follow one line-rate sender into a slow port; return the times at which PAUSE and RESUME reach the sender."""
    t_in, t_out, t_pfc = (transmission(*pair) for pair in ((WIRE, rate_in), (WIRE, rate_out), (PFC_WIRE, rate_in)))
    effects, arrivals = [], deque()
    queue = sent = 0
    sender_free = port_free = 0
    paused_from, resumed_at, is_paused = None, 0, False
    while sent < packets or arrivals or queue:
        # The sender's next packet, unless a PAUSE has arrived by then (at the same instant counts).
        start = max(sender_free, resumed_at) if sent < packets else None
        if start is not None and paused_from is not None and start >= paused_from:
            start = None
        events = []
        if arrivals:
            events.append((arrivals[0], 0))
        if queue:
            events.append((port_free, 1))
        if start is not None:
            events.append((start, 2))
        now, what = min(events)
        if what == 2:
            arrivals.append(now + t_in + delay)
            sender_free, sent = now + t_in, sent + 1
        elif what == 0:
            arrivals.popleft()
            queue += 1
            if account.arrive(WIRE) and not is_paused:
                is_paused = True
                paused_from = now + t_pfc + delay
                effects.append(("pause", paused_from))
            port_free = max(port_free, now)
        else:
            queue -= 1
            if account.leave(WIRE) and is_paused:
                is_paused = False
                resumed_at, paused_from = max(now, paused_from - t_pfc - delay) + t_pfc + delay, None
                effects.append(("resume", resumed_at))
            port_free = now + t_out
    return effects


def congested_chain(alpha, pool, rate_in=100e9, rate_out=10e9, delay=us(1), **changes):
    """Return a fast link into a slow one whose far end is too far away for any ACK to come back, and the scheme."""
    policy = Pfc(alpha=alpha, **changes)
    room = changes.get("headroom_bytes") or headroom_bytes(rate_in, delay, WIRE)
    far_room = changes.get("headroom_bytes") or headroom_bytes(rate_out, us(10_000), WIRE)
    graph = chain([rate_in, rate_out], [delay, us(10_000)], buffer=pool + room + far_room + 2 * RESERVE)
    return graph, line_rate(buffer=policy)


@pytest.mark.parametrize(
    ("alpha", "xon", "xoff"),
    [
        *[(alpha, XON, 0) for alpha in (1 / 8, 1 / 2, 1.0, 8.0)],
        *[(alpha, xon, 0) for alpha in (1 / 8, 1.0) for xon in (0, 20_000)],
        # Regardless of free space, like csg-htsim's 15 and 12 packets of 1,000 B.
        *[
            (alpha, xon, xoff)
            for alpha in (1 / 8, 8.0)
            for xoff, xon in ((15_000, 3000), (15_000, 9000), (40_000, 10_000))
        ],
    ],
)
def test_pauses_and_resumes_at_the_computed_byte(engine, alpha, xon, xoff):
    """To the picosecond at which the sender learns of it: PAUSE by the first packet whose arrival makes x >= alpha (B -
    x); RESUME when x + 3072 <= alpha (B - x) and the headroom is empty.
    """
    pool, delay = 100_000, us(1)
    graph, scheme = congested_chain(alpha, pool, xoff_bytes=xoff, xon_offset_bytes=xon)
    work = rdmacc.messages([("h0", "h1", "400kB")])
    watch = [probes.field("port", ("h0", "s0"), name) for name in ("pauses", "paused_ps")]
    watch.append(probes.queue("s0", "h1"))
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until="330us", probes=watch)
    assert result.plan.shared_bytes[result.plan.fabric.index["s0"]] == pool
    effects = pauses_and_resumes(OneIngress(pool, alpha, xon=xon, xoff=xoff), 400, 100e9, delay, 10e9)
    heard = {
        "pause": [at for at, value in samples(result, "pauses ('h0', 's0')") if value > 0],
        "resume": [at for at, value in samples(result, "paused_ps ('h0', 's0')") if value > 0],
    }
    for what, times in heard.items():
        assert len(times) >= 1
        assert times == [at for kind, at in effects if kind == what and at < us(330)]
    # The ingress held what was queued at the decision: within a packet of the fixed point.
    decided = heard["pause"][0] - transmission(PFC_WIRE, 100e9) - delay
    held = [value for at, value in samples(result, "queue s0->h1") if at <= decided][-1]
    fixed_point = xoff or pool * alpha / (1 + alpha)
    assert fixed_point - RESERVE < held - RESERVE + 1 < fixed_point + (1 + alpha) * WIRE + 1


@pytest.mark.parametrize(("rate", "delay"), [(10e9, us(5)), (100e9, us(1)), (40e9, 300_000)])
def test_no_loss_if_and_only_if_the_headroom_holds_what_arrives(engine, rate, delay):
    """One line-rate sender and a port that hardly sends: lossless with the needed headroom, a loss with a byte less."""
    pool = 50_000
    account = OneIngress(pool, 1 / 8)
    pauses_and_resumes(account, 200, rate, delay, 1e6)
    need = account.peak_headroom

    def violations(room):
        graph, scheme = congested_chain(1 / 8, pool, rate_in=rate, rate_out=1e6, delay=delay, headroom_bytes=room)
        work = rdmacc.messages([("h0", "h1", "200kB")])
        counters = rdmacc.simulate(graph, work, scheme, engine=engine, until="1ms").counters
        assert counters.pfc_pauses == 1
        return counters.pfc_violations

    # A round trip, two packets and the frame bound the need (the far end blocks no PAUSE here).
    assert need <= 2 * delay * rate / 8e12 + 2 * WIRE + PFC_WIRE
    assert need > 2 * delay * rate / 8e12
    for missing in range(1, 4):
        assert violations(need - missing * WIRE) == missing
    assert violations(need - 1) == 1
    for more in (0, 1, 5000):
        assert violations(need + more) == 0
    assert violations(headroom_bytes(rate, delay, WIRE)) == 0


@pytest.mark.parametrize(
    ("rate", "delay", "expected"),
    [
        *[(10e9, us(5), 18_750), (100e9, us(1), 37_500), (400e9, us(1), 150_000)],  # three one-way delays, as there
        *[(10e9, us(1), 2500 + 3 * WIRE + 64), (100e9, 10_000, 250 + 3 * WIRE + 64)],  # where they would be too little
    ],
)
def test_headroom_of_the_hpcc_simulator(rate, delay, expected):
    assert headroom_bytes(rate, delay, WIRE) == expected


@pytest.mark.parametrize("rate", ["10Gbps", "100Gbps"])
@pytest.mark.parametrize("delay", [1, 10_000, 100_000])
def test_default_headroom_when_full_packets_block_the_pause(engine, rate, delay):
    """The worst case: reverse traffic delays each PAUSE by up to a packet, at every alignment."""
    step = transmission(WIRE, rdmacc.units.rate_bps(rate)) // 4
    for extra in range(2000, 2000 + WIRE, 262):
        for offset in range(0, 4 * step, step):
            room = 2 * headroom_bytes(rdmacc.units.rate_bps(rate), delay, WIRE) + headroom_bytes(1e8, delay, WIRE)
            graph = spokes([rate, "100Mbps", rate], ps(delay), buffer=room + 3 * RESERVE + extra)
            work = rdmacc.messages([("h0", "h1", "40kB", ps(offset)), ("h2", "h0", "60kB")])
            result = rdmacc.simulate(graph, work, "line-rate", engine=engine, until="100us")
            assert result.counters.pfc_pauses > 0
            assert result.counters.pfc_violations == 0


@given(data=st.data())
def test_default_headroom_in_any_network(engine, data):
    """Tiny pools, in which everything pauses all the time; also packets smaller than ACKs."""
    payload = data.draw(st.sampled_from([10, 200, 1000]))
    scheme = line_rate(payload_bytes=payload, buffer=Pfc(alpha=data.draw(st.sampled_from([0.01, 0.5, 4.0]))))
    graph = data.draw(networks(extra_buffer=(1, 3000), wire=scheme.wire_bytes))
    work = data.draw(random_workloads(graph, max_bytes=40 * payload, window_ps=us(2)))
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until="5ms")
    assert result.counters.pfc_violations == 0
    assert (result.buffers["peak_bytes"] <= result.buffers["buffer_bytes"]).all()


def test_a_buffer_too_small_for_the_headrooms_is_refused(engine):
    graph = rdmacc.star(4, buffer="100kB")
    work = rdmacc.messages([("h0", "h1", 1000)])
    need = 4 * (37_500 + RESERVE)
    with pytest.raises(ConfigError, match=f"buffer_bytes of s0 = 100000: must be more than {need} B"):
        rdmacc.simulate(graph, work, "line-rate", engine=engine)
    rdmacc.simulate(graph, work, line_rate(buffer=Pfc(headroom_bytes="10kB")), engine=engine)


def test_pauses_spread_hop_by_hop(engine):
    """A slow last link makes each switch pause the one before it, back to the sender; nothing is lost."""
    graph = chain([10e9, 10e9, 10e9, 1e9], [us(1)] * 4, buffer=40_000)
    result = rdmacc.simulate(graph, rdmacc.messages([("h0", "h1", "200kB")]), "line-rate", engine=engine)
    check_finished(result)
    ports = result.ports.set_index("port")
    assert (ports["pauses"][["h0->s0", "s0->s1", "s1->s2"]] > 0).all()
    assert ports["pauses"]["s2->h1"] == 0
    assert result.flows["fct_ps"].tolist() == result.flows["ideal_fct_ps"].tolist()  # the slow link never idles
    assert result.counters.pfc_violations == result.counters.retransmissions == 0


def test_paused_time_grows_during_a_pause(engine):
    """`paused_ps` includes an unfinished pause up to now."""
    graph, scheme = congested_chain(1 / 8, 50_000, rate_out=1e6)
    work = rdmacc.messages([("h0", "h1", "300kB")])
    simulation = rdmacc.Simulation(graph, work, scheme, engine=engine)
    first = simulation.run("100us").counters.pfc_paused_ps
    second = simulation.run("150us").counters.pfc_paused_ps
    assert first > us(80)
    assert second - first == us(50)


def test_default_headroom_of_packets_that_announce(engine):
    """The first packets of a DASR group of 200 are 400 B longer; the headrooms allow for it."""
    room = 2 * headroom_bytes(100e9, 10_000, WIRE + 400) + headroom_bytes(1e8, 10_000, WIRE + 400)
    random = np.random.default_rng(1)
    for seed in range(30):
        graph = spokes(["100Gbps", "100Mbps", "100Gbps"], "10ns", buffer=room + 3 * RESERVE + 2000 + 199 * seed)
        rows = [("h0", "h1", 1000, ps(random.integers(120_000)), 0)] * 200 + [("h2", "h0", 1000, 0, 1)] * 200
        result = rdmacc.simulate(graph, rdmacc.messages(rows), "dasr", engine=engine, until="30us")
        assert result.counters.pfc_pauses > 0
        assert result.counters.pfc_violations == 0
