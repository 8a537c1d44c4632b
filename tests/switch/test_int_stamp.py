"""INT records: each hop's values, units and wrap-around, and the copy in the reply."""

from dataclasses import dataclass

import pytest

import rdmacc
from rdmacc.interface import ACK, DATA, HOST_NIC, IN_NETWORK, Component, Int, Port, Record
from rdmacc.switch.int_stamp import HOPS, IntStamp, elapsed_ps, sent_bytes
from rdmacc.units import us
from tests.support import chain, line_rate, packet_with


def stamp(part, packet, now=0, tx=0, queue=0, where=IN_NETWORK):
    port = Port()
    port.rate_bps, port.tx_bytes, port.queue_bytes, port.link_class = 100e9, tx, queue, where
    part.on_dequeue(part, port, packet, now)


def data():
    packet = packet_with(IntStamp.Header)
    packet.kind, packet.wire_bytes = DATA, 1048
    for name in ("int_rate_bps", "int_time_ps", "int_tx_bytes", "int_queue_bytes"):
        setattr(packet, name, [0] * HOPS)
    return packet


def test_header_is_42_bytes():
    """2 bytes, and 8 for each of 5 hops."""
    packet = data()
    IntStamp.on_send(IntStamp(), packet)
    assert packet.wire_bytes - 1048 == 42 == 2 + 8 * HOPS


def test_rate_of_a_saturated_link_is_exact():
    """1,090 bytes in 87.2 ns are 100 Gb/s."""
    one, two = data(), data()
    stamp(IntStamp(), one, now=10**6, tx=5_000)
    stamp(IntStamp(), two, now=10**6 + 87_200, tx=6_090)
    dt = elapsed_ps(0, one.int_time_ps[0], two.int_time_ps[0])
    assert sent_bytes(0, one.int_tx_bytes[0], two.int_tx_bytes[0]) * 8e12 / dt == 100e9


def test_quantised_counter_reads_two_or_three_units():
    """With units of 512 bytes a packet of 1,090 reads as 1,024 or 1,536."""
    found = set()
    for tx in range(0, 2000, 13):
        one, two = data(), data()
        stamp(IntStamp(unit_multiple=4), one, tx=tx)
        stamp(IntStamp(unit_multiple=4), two, tx=tx + 1090)
        found.add(sent_bytes(4, one.int_tx_bytes[0], two.int_tx_bytes[0]))
    assert found == {1024, 1536}


@pytest.mark.parametrize(("multiple", "tx", "queue"), [(1, 768, 960), (2, 768, 960), (5, 640, 800)])
def test_units_are_multiples(multiple, tx, queue):
    """With units of 128 and 80 bytes, 1,023 sent and 1,039 queued are rounded to whole units."""
    packet = data()
    stamp(IntStamp(unit_multiple=multiple), packet, tx=895, queue=1039)
    assert (packet.int_tx_bytes[0], packet.int_queue_bytes[0]) == (tx, queue)


def test_wraps():
    assert elapsed_ps(1, 16_777_200_000, 100_000) == 116_000
    one, two = data(), data()
    stamp(IntStamp(unit_multiple=1), one, now=2**24 * 1000 - 16_000, tx=2**27 - 128, queue=79)
    stamp(IntStamp(unit_multiple=1), two, now=2**24 * 1000 + 100_999, tx=2**27 + 128, queue=10**8)
    assert elapsed_ps(1, one.int_time_ps[0], two.int_time_ps[0]) == 116_000
    assert sent_bytes(1, one.int_tx_bytes[0], two.int_tx_bytes[0]) == 256
    assert (one.int_queue_bytes[0], two.int_queue_bytes[0]) == (0, (2**17 - 1) * 80)


def test_the_sixth_hop_overwrites_the_first_and_hosts_write_none():
    packet = data()
    stamp(IntStamp(), packet, where=HOST_NIC)
    assert packet.int_hops == 0
    for hop in range(6):
        stamp(IntStamp(), packet, now=hop + 1)
    assert (packet.int_hops, packet.int_time_ps) == (6, [6, 2, 3, 4, 5])
    packet.kind = ACK
    stamp(IntStamp(), packet)
    assert packet.int_hops == 6


@dataclass(frozen=True, kw_only=True)
class Reader(Component):
    """Keeps the values of the last two ACKs."""

    class Sender(Record):
        hops = Int()
        sent = Int()
        sent_before = Int()
        time_ps = Int()
        time_before_ps = Int()
        queue = Int()

    def on_ack(sender, packet):
        sender.hops = packet.int_hops
        sender.sent_before = sender.sent
        sender.time_before_ps = sender.time_ps
        sender.sent = packet.int_tx_bytes[1]
        sender.time_ps = packet.int_time_ps[1]
        sender.queue = packet.int_queue_bytes[1]


def test_records_reach_the_sender(engine):
    """Three switches, the second at half speed: its link shows as saturated, with a queue behind all but the last."""
    base = line_rate()
    scheme = rdmacc.Scheme(name="int", recovery=base.recovery, control=(*base.control, Reader()), switch=IntStamp())
    graph = chain(["10Gbps", "10Gbps", "5Gbps", "10Gbps"], [us(1)] * 4)
    watches = [rdmacc.probes.field("flow", 0, f"Reader.{name}") for name in ("hops", "sent", "sent_before", "queue")]
    watches += [rdmacc.probes.field("flow", 0, f"Reader.{name}") for name in ("time_ps", "time_before_ps")]
    work = rdmacc.messages([("h0", "h1", 50_000)])
    result = rdmacc.simulate(graph, work, scheme, engine=engine, probes=watches)
    last = result.probes.groupby("probe")["value"].last()
    value = {watch.field.split(".")[1]: last[watch.name] for watch in watches}
    assert value["hops"] == 3
    assert value["sent"] == 49 * 1090
    assert value["queue"] == 0
    rate = (value["sent"] - value["sent_before"]) * 8e12 / (value["time_ps"] - value["time_before_ps"])
    assert rate == pytest.approx(5e9)
