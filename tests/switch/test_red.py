"""ECN marking: RED's ramp and the step, on plain records and in the simulator.

Theory: no mark up to Kmin, probability Pmax (q - Kmin) / (Kmax - Kmin) up to Kmax, 1 above; q is the instantaneous
queue, without the packet itself. n packets at a fixed queue carry n p marks, variance n p (1 - p).

InfiniBand's FECN: threshold, marking rate, packet size, and the root of congestion.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import DropTail, EcnStep, Red
from rdmacc.interface import ACK, DATA, DATA_CLASS, HOST_NIC, IN_NETWORK, LAST_HOP, Packet, Port, hash63, uniform
from rdmacc.interface.chance import stream_key
from rdmacc.switch.fecn import Fecn
from tests.support import WIRE, line_rate, spokes


def set_up(red, rate=100e9, link_class=LAST_HOP, key=1):
    """Return a port and its thresholds as an engine would set them up."""
    port, egress = Port(), type(red).Egress()
    port.rate_bps, port.link_class, port.chance_key = rate, link_class, key
    red.on_port(red, port, egress)
    return port, egress


def marks(red, queue, count=1, **options):
    """Return how many of `count` packets the handler marks at a fixed queue."""
    port, egress = set_up(red, **options)
    port.queue_bytes = queue
    handler = red.handlers()["on_dequeue" if red.at_dequeue else "on_enqueue"]
    total = 0
    for _ in range(count):
        packet = Packet()
        handler(red, port, egress, packet)
        total += packet.ce
    return total


HPCC = Red(kmin_bytes="400kB", kmax_bytes="1600kB", pmax=0.2)


def within(found, n, p, sigmas=4.0):
    """Return whether `found` of n trials of probability p is within a number of standard deviations."""
    return abs(found - n * p) <= sigmas * math.sqrt(n * p * (1 - p)) + 2


@pytest.mark.parametrize(("queue", "count"), [(0, 0), (399_999, 0), (400_000, 0), (1_600_001, 500), (10**9, 500)])
def test_no_marks_below_kmin_and_all_above_kmax(queue, count):
    assert marks(HPCC, queue, 500) == count


@given(pmax=st.floats(0.0, 1.0), position=st.floats(0.05, 1.0), key=st.integers(0, 2**62), kmin=st.integers(0, 10**6))
def test_the_ramp(pmax, position, key, kmin):
    red = Red(kmin_bytes=kmin, kmax_bytes=kmin + 100_000, pmax=pmax)
    queue = kmin + round(100_000 * position)
    p = pmax * (queue - kmin) / 100_000
    assert within(marks(red, queue, 2_000, key=key), 2_000, p, sigmas=5.0)


def test_the_step_marks_only_above_the_threshold():
    """Dart: 22.5 kB at 10 Gb/s; a queue equal to the threshold is not marked."""
    step = EcnStep()
    assert [marks(step, queue) for queue in (0, 22_500, 22_501, 10**7)] == [0, 0, 1, 1]


def test_thresholds_scale_with_the_link_only_on_request():
    scaled = EcnStep(reference_bps="10Gbps")
    assert [set_up(scaled, rate)[1].kmin_bytes for rate in (10e9, 40e9, 100e9)] == [22_500, 90_000, 225_000]
    fixed = Red()
    _, egress = set_up(fixed, 100e9)
    assert (egress.kmin_bytes, egress.kmax_bytes) == (5_000, 200_000)


def test_the_sending_hosts_port_marks_only_on_request():
    assert marks(EcnStep(), 10**6, link_class=HOST_NIC) == 0
    assert marks(EcnStep(at_nic=True), 10**6, link_class=HOST_NIC) == 1
    assert marks(EcnStep(), 10**6, link_class=IN_NETWORK) == 1


def test_random_numbers_are_drawn_only_on_the_ramp():
    """A port draws numbers only for packets on the ramp: quiet ports do not use up their stream."""
    port, egress = set_up(HPCC)
    for queue, drawn in ((0, 0), (400_000, 0), (500_000, 1), (1_600_000, 2), (1_600_001, 2)):
        port.queue_bytes = queue
        HPCC.on_enqueue(HPCC, port, egress, Packet())
        assert port.chance_count == drawn


def test_uniform_is_uniform_and_streams_are_independent():
    """Chi-square over 100 bins at about 1e-4; correlations of neighbouring keys and counts within 4 sigma."""
    n, bins = 20_000, 100
    values = [uniform(stream_key(0, 2), count) for count in range(n)]
    assert all(0.0 <= value < 1.0 for value in values)
    counts = [0] * bins
    for value in values:
        counts[int(value * bins)] += 1
    assert sum((count - n / bins) ** 2 / (n / bins) for count in counts) < 155.0
    other = [uniform(hash63(stream_key(0, 2), 1), count) for count in range(n)]
    for one, two in ((values[:-1], values[1:]), (values, other)):
        covariance = sum((a - 0.5) * (b - 0.5) for a, b in zip(one, two)) / len(one)
        assert abs(covariance * 12) < 4 / math.sqrt(len(one))


@pytest.mark.parametrize("threshold", [0, 3 * WIRE, 3 * WIRE - 1, 20 * WIRE])
def test_marks_of_two_senders_by_hand(engine, threshold):
    """Two line-rate senders: the queue grows by a packet every t. Count the packets that find more than K queued."""
    n = 40
    work = rdmacc.messages([("h1", "h0", n * 1000), ("h2", "h0", n * 1000)])
    scheme = rdmacc.Scheme(switch=(EcnStep(kmin_bytes=threshold),))
    result = rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine)
    # Wave m: h1's packet finds m - 1 packets (m >= 1; the one leaving at that instant is still there), h2's one more.
    found = [0, 0] + [queued for wave in range(1, n) for queued in (wave, wave + 1)]
    expected = sum(queued * WIRE > threshold for queued in found)
    assert result.counters.marks_last_hop == expected == result.counters.marked_arrivals
    assert result.counters.marks_host_nic == 0


def test_marking_at_dequeue_counts_the_queue_behind(engine):
    """As above, at dequeue: packet k leaves when wave k arrives, and sees the queue behind it."""
    n, threshold = 40, 10 * WIRE
    work = rdmacc.messages([("h1", "h0", n * 1000), ("h2", "h0", n * 1000)])
    scheme = rdmacc.Scheme(switch=(EcnStep(kmin_bytes=threshold, at_dequeue=True),))
    result = rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine)
    arrived = [1] + [2 * min(k, n) for k in range(2, 2 * n + 1)]
    behind = [come - k for k, come in enumerate(arrived, start=1)]
    assert result.counters.marks_last_hop == sum(left * WIRE > threshold for left in behind)


def test_the_fraction_marked_at_a_fixed_queue(engine):
    """Tail drop holds the queue at 50 packets: every arriving packet draws with p = Pmax q / Kmax."""
    graph = spokes([100e9, 1e6], buffer="10MB")
    red = Red(kmin_bytes=0, kmax_bytes=100 * WIRE, pmax=0.5)
    scheme = line_rate(buffer=DropTail(alpha=1000.0, limit_bytes=50 * WIRE)).replace(switch=(red,))
    simulation = rdmacc.Simulation(graph, rdmacc.messages([("h0", "h1", "1GB")]), scheme, engine=engine, seed=5)
    before = simulation.run("20us")
    after = simulation.run("500us")
    port = after.ports["port"].tolist().index("s0->h1")
    marked = after.ports["marked_packets"][port] - before.ports["marked_packets"][port]
    came = after.ports["dropped_packets"][port] - before.ports["dropped_packets"][port]
    assert came > 5000
    assert within(marked, came, 0.25)


def fecn_marks(part, count=1, queue=10**6, where=IN_NETWORK, paused=0, wire=WIRE, kind=DATA):
    port, egress, total = Port(), Fecn.Egress(), 0
    port.queue_bytes, port.link_class, port.paused = queue, where, paused
    for _ in range(count):
        packet = Packet()
        packet.kind, packet.wire_bytes, packet.priority = kind, wire, DATA_CLASS
        part.handlers()["on_dequeue" if part.at_dequeue else "on_enqueue"](part, port, egress, packet)
        total += packet.ce
    return total


@pytest.mark.parametrize(("threshold", "bytes_"), [(15, 8_000), (8, 64_000), (1, 120_000)])
def test_the_threshold_is_a_share_of_the_buffer(threshold, bytes_):
    part = Fecn(threshold=threshold)
    assert fecn_marks(part, queue=bytes_) == 0
    assert fecn_marks(part, queue=bytes_ + 1) == 1


@pytest.mark.parametrize(("rate", "expected"), [(0, 1100), (10, 100), (1, 550)])
def test_marking_rate(rate, expected):
    """One in rate + 1 eligible packets."""
    assert fecn_marks(Fecn(marking_rate=rate), count=1100) == expected


def test_small_packets_and_acks_are_not_marked_nor_any_at_nics():
    assert fecn_marks(Fecn(), wire=511) == 0
    assert fecn_marks(Fecn(), wire=512) == 1
    assert fecn_marks(Fecn(packet_size=0), wire=1) == 1
    assert fecn_marks(Fecn(), kind=ACK) == 0
    assert fecn_marks(Fecn(), where=HOST_NIC) == 0


def test_a_victim_does_not_mark_unless_the_mask_says_so():
    paused = 1 << DATA_CLASS
    assert fecn_marks(Fecn(), paused=paused) == 0
    assert fecn_marks(Fecn(), paused=paused << 1) == 1  # another lane
    assert fecn_marks(Fecn(), paused=paused, where=LAST_HOP) == 1
    assert fecn_marks(Fecn(marks_victims_at_hosts=False), paused=paused, where=LAST_HOP) == 0


def test_incast_is_marked_at_its_root(engine):
    scheme = line_rate().replace(switch=(Fecn(marking_rate=0),))
    work = rdmacc.incast(4, "h0", "100kB", hosts=["h1", "h2", "h3", "h4"])
    ports = rdmacc.simulate(spokes(["10Gbps"] * 5), work, scheme, engine=engine).ports.set_index("port")
    assert ports["marked_packets"]["s0->h0"] > 300
    assert ports["marked_packets"].sum() == ports["marked_packets"]["s0->h0"]
