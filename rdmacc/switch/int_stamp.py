"""In-band network telemetry: every switch on the path writes the state of its port into data packets.

Source: Li et al., "HPCC: High precision congestion control", SIGCOMM 2019, sections 4 and 5, and the authors'
simulator (`int-header.h`, `switch-node.cc`).

A record is written when a packet leaves the queue: the link's rate, the time, the bytes sent by the port before this
packet, and the queue behind it. Hosts' ports write none. The receiver copies the records into its reply. A path of more
than five hops overwrites the oldest records, as in the simulator.

The records are 42 bytes of every data packet (2 of hop count and 8 for each of five hops), which `on_send` adds. To
include them in base RTTs and PFC headrooms, set `overhead_bytes` to 0 and add 42 to the scheme's `header_bytes`.

Assumption: rates are exact even if units are quantised; the wire format only has 25, 50, 100, 200 and 400 Gb/s.
"""

from rdmacc.interface import *

HOPS = 5
"""Records in a packet."""

_TIME_UNIT_PS, _TIME_CODES = 1000, 2**24
_TX_UNIT_BYTES, _TX_CODES = 128, 2**20
_QUEUE_UNIT_BYTES, _QUEUE_CODES = 80, 2**17


@dataclass(frozen=True, kw_only=True)
class IntStamp(Component):
    """Write a record at each switch, and copy all of them into the reply."""

    overhead_bytes: Size = param("42B", "bytes of the records in a data packet", source="HPCC, section 5")
    unit_multiple: int = param(
        0,
        "0: exact; otherwise as on the wire, in units of 1 ns, 128 B and 80 B times this (1 at 25 Gb/s, 4 at 100)",
        symbol="INT_MULTI",
        source="HPCC simulator",
        low=0,
    )

    class Header(Record):
        """The records, first hop first."""

        int_hops = Byte(doc="switches passed; hop n is at index n modulo 5")
        int_rate_bps = Floats(HOPS, doc="rate of the link")
        int_time_ps = Ints(HOPS, doc="when the packet left the queue")
        int_tx_bytes = Ints(HOPS, doc="bytes sent by the port before this packet")
        int_queue_bytes = Ints(HOPS, doc="queue behind this packet")

    def extra_bytes(self, group_size: int) -> int:
        return self.overhead_bytes

    def on_send(params, packet):
        packet.wire_bytes += params.overhead_bytes

    def on_dequeue(params, port, packet, now):
        if packet.kind != DATA or port.link_class == HOST_NIC:
            return
        time_ps, tx, queue = now, port.tx_bytes, port.queue_bytes
        if params.unit_multiple > 0:
            tx_unit, queue_unit = _TX_UNIT_BYTES * params.unit_multiple, _QUEUE_UNIT_BYTES * params.unit_multiple
            time_ps = now // _TIME_UNIT_PS % _TIME_CODES * _TIME_UNIT_PS
            tx = tx // tx_unit % _TX_CODES * tx_unit
            queue = min(queue // queue_unit, _QUEUE_CODES - 1) * queue_unit
        place = packet.int_hops % HOPS
        packet.int_rate_bps[place] = port.rate_bps
        packet.int_time_ps[place] = time_ps
        packet.int_tx_bytes[place] = tx
        packet.int_queue_bytes[place] = queue
        packet.int_hops += 1

    def on_data(packet, reply):
        reply.int_hops = packet.int_hops
        for i in range(HOPS):
            reply.int_rate_bps[i] = packet.int_rate_bps[i]
            reply.int_time_ps[i] = packet.int_time_ps[i]
            reply.int_tx_bytes[i] = packet.int_tx_bytes[i]
            reply.int_queue_bytes[i] = packet.int_queue_bytes[i]


def elapsed_ps(unit_multiple, before, after):
    """Return the time between two records of a hop, across the wrap of the 24-bit clock (16.8 ms)."""
    if unit_multiple > 0:
        return (after - before) % (_TIME_CODES * _TIME_UNIT_PS)
    return after - before


def sent_bytes(unit_multiple, before, after):
    """Return the bytes sent between two records of a hop, across the wrap of the 20-bit counter."""
    if unit_multiple > 0:
        return (after - before) % (_TX_CODES * _TX_UNIT_BYTES * unit_multiple)
    return after - before
