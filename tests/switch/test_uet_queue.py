"""The queue of Ultra Ethernet's switches on plain records: marks by its length, trims what does not fit."""

import pytest

from rdmacc.state import ACCEPT, ACK, DATA, HOST_NIC, LAST_HOP, TRIM, TRIM_TAIL, Packet, Port
from rdmacc.switch.uet_queue import UetQueue

LINE, T, MTU = 100e9, 14_022_720, 4150
BDP = 43 * MTU
"""T at the line rate, 175,284 B, in whole packets."""


class Bench:
    """A port with a queue of some length."""

    def __init__(self, queue_bytes, link_class=LAST_HOP, **changes):
        self.part, self.port, self.egress = UetQueue(**changes), Port(), UetQueue.Egress()
        self.port.rate_bps, self.port.base_rtt_ps, self.port.link_class = LINE, T, link_class
        self.port.wire_bytes = MTU
        self.port.queue_bytes, self.port.chance_key = queue_bytes, 7
        self.part.on_port(self.part, self.port, self.egress)

    def handle(self, handler, kind=DATA, now=0):
        packet = Packet()
        packet.kind, packet.wire_bytes = kind, MTU
        handler(self.part, self.port, self.egress, packet, now)
        return packet


@pytest.mark.parametrize(
    ("queue_bytes", "chance"),
    [(0, 0), (9 * MTU, 0), (22 * MTU, 0.5), (35 * MTU, 1), (35 * MTU + 1, 1), (9 * MTU + 1, 0)],
)
def test_marks_grow_from_a_fifth_to_four_fifths_of_the_bdp(queue_bytes, chance):
    bench = Bench(queue_bytes)
    marks = [bench.handle(UetQueue.on_dequeue).ce for _ in range(2000)]
    assert set(marks) <= {0, 1}
    assert abs(sum(marks) - 2000 * chance) <= 4 * (2000 * chance * (1 - chance)) ** 0.5 + 1
    assert bench.port.chance_count == (2000 if 9 * MTU < queue_bytes <= 35 * MTU else 0)


@pytest.mark.parametrize(("where", "asked", "marks"), [(HOST_NIC, True, 0), (LAST_HOP, False, 0), (LAST_HOP, True, 1)])
def test_hosts_do_not_mark_and_ports_to_hosts_if_asked(where, asked, marks):
    assert Bench(40 * MTU, where, marks_last_hop=asked).handle(UetQueue.on_dequeue).ce == marks


def test_what_does_not_fit_is_trimmed_by_a_fair_coin():
    assert Bench(BDP - MTU).handle(UetQueue.on_enqueue).verdict == ACCEPT
    full = Bench(BDP - MTU + 1)
    verdicts = [full.handle(UetQueue.on_enqueue).verdict for _ in range(2000)]
    assert set(verdicts) == {TRIM, TRIM_TAIL}
    assert abs(verdicts.count(TRIM) - 1000) < 4 * 500**0.5
    assert full.port.chance_count == 2000
    assert full.handle(UetQueue.on_enqueue, kind=ACK).verdict == ACCEPT
    assert Bench(BDP, HOST_NIC).handle(UetQueue.on_enqueue).verdict == ACCEPT
    assert Bench(MTU, limit_bytes=MTU).handle(UetQueue.on_enqueue).verdict != ACCEPT


def test_a_packet_counts_until_it_has_left():
    bench = Bench(BDP - 2 * MTU)
    bench.handle(UetQueue.on_dequeue, now=1000)
    left = 1000 + 332_000  # 4,150 B at 100 Gb/s
    assert bench.handle(UetQueue.on_enqueue, now=left - 1).verdict == ACCEPT
    bench.port.queue_bytes += 1
    assert bench.handle(UetQueue.on_enqueue, now=left - 1).verdict != ACCEPT
    assert bench.handle(UetQueue.on_enqueue, now=left).verdict == ACCEPT
