"""NDP's payload trimming and Aeolus' selective dropping: on plain records and in the simulator.

The queue of Ultra Ethernet's switches on plain records: it marks by its length and trims what does not fit.
"""

from dataclasses import dataclass

import pytest

import rdmacc
from rdmacc import probes
from rdmacc.interface import ACCEPT, ACK, DATA, DROP, HOST_NIC, LAST_HOP, TRIM, TRIM_TAIL, Component, Packet, Port
from rdmacc.switch.selective_drop import SelectiveDrop
from rdmacc.switch.trimming import PayloadTrimming
from rdmacc.switch.uet_queue import UetQueue
from tests.support import WIRE, line_rate, packet_with, samples, spokes


def data(packet, wire=WIRE):
    packet.kind, packet.wire_bytes = DATA, wire
    return packet


def trimming_verdict(part, queue, wire=WIRE, count=0):
    port, egress = Port(), PayloadTrimming.Egress()
    port.queue_bytes, port.link_class, port.chance_key, port.chance_count = queue, LAST_HOP, 1, count
    egress.full_bytes = WIRE
    packet = data(Packet(), wire)
    part.on_enqueue(part, port, egress, packet, 0)
    return packet.verdict


@pytest.mark.parametrize(
    ("limit", "queue", "wire", "is_trimmed"),
    [
        *[(8, queued * WIRE, WIRE, queued >= 8) for queued in (0, 7, 8, 9)],
        *[(1, queue, WIRE, queue > 0) for queue in (0, 1)],
        *[(8, 7 * WIRE + 900 + more, WIRE - 900, more > 0) for more in (0, 1)],  # a short packet counts by its size
    ],
)
def test_the_data_queue_holds_a_number_of_full_packets(limit, queue, wire, is_trimmed):
    assert (trimming_verdict(PayloadTrimming(limit_packets=limit), queue, wire) != ACCEPT) == is_trimmed


def test_the_coin_is_fair():
    found = [trimming_verdict(PayloadTrimming(), 10**6, count=i) for i in range(4000)]
    assert set(found) == {TRIM, TRIM_TAIL}
    assert abs(found.count(TRIM) - 2000) < 4 * 1000**0.5
    for p, verdict in ((0.0, TRIM), (1.0, TRIM_TAIL)):
        assert trimming_verdict(PayloadTrimming(tail_probability=p), 10**6) == verdict


def test_only_data_at_switches_is_trimmed():
    part = PayloadTrimming()
    for kind, where in ((ACK, LAST_HOP), (DATA, HOST_NIC)):
        port, packet = Port(), data(Packet())
        port.queue_bytes, port.link_class, packet.kind = 10**6, where, kind
        part.on_enqueue(part, port, PayloadTrimming.Egress(), packet, 0)
        assert packet.verdict == ACCEPT


def drop_verdict(queue, unscheduled=1, kind=DATA, where=LAST_HOP):
    part, port, packet = SelectiveDrop(), Port(), packet_with(SelectiveDrop.Header)
    port.queue_bytes, port.link_class = queue, where
    data(packet, 1500).unscheduled = unscheduled
    packet.kind = kind
    part.on_enqueue(part, port, packet)
    return packet.verdict


def test_unscheduled_packets_fill_four_packets_of_queue():
    assert [drop_verdict(1500 * n) for n in range(6)] == [ACCEPT] * 4 + [DROP] * 2


def test_scheduled_packets_acks_and_nics_are_spared():
    assert drop_verdict(10**6, unscheduled=0) == ACCEPT
    assert drop_verdict(10**6, kind=ACK) == ACCEPT
    assert drop_verdict(10**6, where=HOST_NIC) == ACCEPT


@dataclass(frozen=True, kw_only=True)
class Burst(Component):
    """Marks messages from even hosts as sent without credit."""

    def on_send(message, packet):
        packet.unscheduled = message.number % 2


@pytest.mark.parametrize("count", [2, 8])
def test_unscheduled_bursts_do_not_harm_scheduled_packets(engine, count):
    """A lone burst fills at most K; a scheduled flow at line rate beside it loses nothing."""
    base = line_rate()
    scheme = rdmacc.Scheme(
        name="aeolus port", recovery=base.recovery, control=(*base.control, Burst()), switch=SelectiveDrop(),
        buffer=rdmacc.DropTail(),
    )  # fmt: skip
    rows = [(f"h{i + 1}", "h0", 20_000) for i in range(count) if i % 2]
    rows = [row for pair in zip([("h9", "h10", 1)] * len(rows), rows) for row in pair]  # odd rows send bursts
    rows[0] = ("h9", "h0", 20_000)
    graph, watch = spokes(["10Gbps"] * 11), probes.queue("s0", "h0", None)
    result = rdmacc.simulate(graph, rdmacc.messages(rows), scheme, engine=engine, until="40us", probes=[watch])
    port = result.ports.set_index("port").loc["s0->h0"]
    assert max(value for _, value in samples(result, watch.name)) <= 6_000 + WIRE * 20
    assert port["dropped_packets"] > 0
    assert result.flows["retransmissions"][0] == 0
    assert result.flows["status"][0] == "finished"


LINE, T, MTU = 100e9, 14_022_720, 4150
BDP = 43 * MTU
"""T at line rate is 175,284 B; here in whole packets."""


class Bench:
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
def test_hosts_do_not_mark_and_ports_to_hosts_only_on_request(where, asked, marks):
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
