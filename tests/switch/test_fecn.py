"""InfiniBand's FECN: threshold, marking rate, packet size, and the root of congestion."""

import pytest

import rdmacc
from rdmacc.state import ACK, DATA, DATA_CLASS, HOST_NIC, IN_NETWORK, LAST_HOP, Packet, Port
from rdmacc.switch.fecn import Fecn
from tests.support import WIRE, line_rate, spokes


def marks(part, count=1, queue=10**6, where=IN_NETWORK, paused=0, wire=WIRE, kind=DATA):
    port, egress, total = Port(), Fecn.Egress(), 0
    port.queue_bytes, port.link_class, port.paused = queue, where, paused
    for _ in range(count):
        packet = Packet()
        packet.kind, packet.wire_bytes, packet.priority = kind, wire, DATA_CLASS
        part.handlers()["on_dequeue" if part.at_dequeue else "on_enqueue"](part, port, egress, packet)
        total += packet.ce
    return total


@pytest.mark.parametrize(("threshold", "bytes_"), [(15, 8_000), (8, 64_000), (1, 120_000)])
def test_threshold_is_a_share_of_the_buffer(threshold, bytes_):
    part = Fecn(threshold=threshold)
    assert marks(part, queue=bytes_) == 0
    assert marks(part, queue=bytes_ + 1) == 1


def test_weight_zero_marks_nothing():
    assert marks(Fecn(threshold=0)) == 0


@pytest.mark.parametrize(("rate", "expected"), [(0, 1100), (10, 100), (1, 550)])
def test_marking_rate(rate, expected):
    """Fact 4: one in rate + 1 eligible packets."""
    assert marks(Fecn(marking_rate=rate), count=1100) == expected


def test_small_packets_acks_and_nics_are_not_marked():
    assert marks(Fecn(), wire=511) == 0
    assert marks(Fecn(), wire=512) == 1
    assert marks(Fecn(packet_size=0), wire=1) == 1
    assert marks(Fecn(), kind=ACK) == 0
    assert marks(Fecn(), where=HOST_NIC) == 0


def test_a_victim_does_not_mark_unless_the_mask_says_so():
    paused = 1 << DATA_CLASS
    assert marks(Fecn(), paused=paused) == 0
    assert marks(Fecn(), paused=paused << 1) == 1  # another lane
    assert marks(Fecn(), paused=paused, where=LAST_HOP) == 1
    assert marks(Fecn(marks_victims_at_hosts=False), paused=paused, where=LAST_HOP) == 0


def test_incast_is_marked_at_its_root(engine):
    scheme = line_rate().replace(switch=(Fecn(marking_rate=0),))
    work = rdmacc.incast(4, "h0", "100kB", hosts=["h1", "h2", "h3", "h4"])
    ports = rdmacc.simulate(spokes(["10Gbps"] * 5), work, scheme, engine=engine).ports.set_index("port")
    assert ports["marked_packets"]["s0->h0"] > 300
    assert ports["marked_packets"].sum() == ports["marked_packets"]["s0->h0"]
