"""A switch port as in Ultra Ethernet's simulator: a queue of one BDP with trimming beyond, and RED marking on dequeue.

Source: uet-htsim (`compositequeue.cpp`, `fat_tree_topology.cpp`). Bounds follow the port's rate and the network's base
RTT T, so they are proportionally lower for a link that is slow from the start.
"""

from math import ceil

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class UetQueue(Component):
    """Trim packets that do not fit; mark packets that leave a long queue behind."""

    limit: float = param(1.0, "capacity of the data queue, in T times the rate", source="uet-htsim: 1 BDP", low=0.01)
    limit_bytes: OptionalSize = param(
        None, "capacity of the data queue; 0: from `limit`", unit="bytes", source="uet-htsim: -q"
    )
    low: float = param(0.2, "queue at which marking begins, in T times the rate", source="uet-htsim", low=0.0)
    high: float = param(
        0.8, "queue above which every packet is marked, in T times the rate", source="uet-htsim", low=0.0
    )
    marks_last_hop: bool = param(True, "whether ports to hosts mark", source="uet-htsim: unless receivers give credit")
    tail_probability: float = param(
        0.5, "probability of trimming the tail of the queue instead of the arriving packet", source="uet-htsim",
        low=0.0, high=1.0,
    )  # fmt: skip

    class Egress(Record):
        limit_bytes = Int()
        low_bytes = Int()
        high_bytes = Int()
        sending_bytes = Int(doc="last data packet sent: it counts as queued until it has left")
        sending_until_ps = Int(doc="end of its transmission")

    def on_port(params, port, egress):
        egress.limit_bytes = params.limit_bytes
        if params.limit_bytes == 0:
            egress.limit_bytes = whole_packets(port, params.limit)
        egress.low_bytes = whole_packets(port, params.low)
        egress.high_bytes = whole_packets(port, params.high)

    def on_enqueue(params, port, egress, packet, now):
        if packet.kind == DATA and port.link_class != HOST_NIC:
            queue_bytes = port.queue_bytes
            if now < egress.sending_until_ps:
                queue_bytes += egress.sending_bytes
            if queue_bytes + packet.wire_bytes > egress.limit_bytes:
                is_tail = uniform(port.chance_key, port.chance_count) < params.tail_probability
                port.chance_count += 1
                packet.verdict = TRIM_TAIL if is_tail else TRIM

    def on_dequeue(params, port, egress, packet, now):
        if port.link_class == HOST_NIC:
            return
        egress.sending_bytes = packet.wire_bytes
        egress.sending_until_ps = now + int(packet.wire_bytes * 8e12 / port.rate_bps)
        if port.queue_bytes > egress.low_bytes and (params.marks_last_hop or port.link_class != LAST_HOP):
            if port.queue_bytes > egress.high_bytes:
                packet.ce = 1
            else:
                span = egress.high_bytes - egress.low_bytes
                chance = (port.queue_bytes - egress.low_bytes) / span
                if uniform(port.chance_key, port.chance_count) < chance:
                    packet.ce = 1
                port.chance_count += 1


def whole_packets(port, share):
    """Return a share of T times the port's rate in bytes; both are rounded up to whole packets."""
    packets = ceil(port.rate_bps * port.base_rtt_ps / (8e12 * port.wire_bytes))
    return ceil(share * packets) * port.wire_bytes
