"""NDP's switch port: a short data queue, and payload trimming of packets that do not fit.

Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance",
SIGCOMM 2017, section 3.1; the authors' simulator (`compositequeue.cpp`).

The rest of the port is in `Queueing`: trimmed packets wait in class CONTROL with the ACKs, NAKs and pulls
(`control_limit_bytes`, 8 packets of 9 KB in the paper) and go before data, with at most `wrr_ratio` (10) headers per
data packet. If its queue is full, a header returns to its sender (with `returns_headers`); otherwise it is lost, and
the sender's timer recovers it.

Assumptions: the limit is in bytes, `limit_packets` times the largest packet that the port has seen, so a short packet
only counts its own bytes; the data queue covers all data classes together. The packet on the link does not count as
queued; in csg-htsim it does, and the limit is set in bytes.
"""

from collections.abc import Callable

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class PayloadTrimming(Component):
    """When the data queue is full, trim the arriving packet or the last one in the queue, by a coin flip."""

    limit_packets: int = param(8, "capacity of the data queue, in full packets", symbol="Q_d", source="NDP, 3.1", low=1)
    tail_probability: float = param(
        0.5,
        "probability of trimming the tail of the queue instead of the arriving packet, against phase effects",
        source="NDP, 3.1",
        low=0.0,
        high=1.0,
    )
    limit_bytes: OptionalSize = param(
        None,
        "capacity of the data queue, in bytes; 0: limit_packets",
        unit="bytes",
        source="csg-htsim, sim/compositequeue.cpp",
    )
    counts_sending: bool = param(
        False, "the data packet on the link counts as queued", source="csg-htsim, sim/compositequeue.cpp"
    )

    class Egress(Record):
        full_bytes = Int(doc="largest data packet seen")
        sending_bytes = Int(doc="last data packet sent")
        sending_until_ps = Int(doc="end of its transmission")

    def handlers(self) -> dict[str, Callable[..., None]]:
        """Return the handlers by name, without `on_dequeue` unless the packet on the link counts."""
        found = super().handlers()
        if not self.counts_sending:
            del found["on_dequeue"]
        return found

    def on_enqueue(params, port, egress, packet, now):
        if packet.kind == DATA and port.link_class != HOST_NIC:
            limit_bytes = params.limit_bytes
            if limit_bytes == 0:
                egress.full_bytes = max(egress.full_bytes, packet.wire_bytes)
                limit_bytes = params.limit_packets * egress.full_bytes
            queue_bytes = port.queue_bytes
            if params.counts_sending and now < egress.sending_until_ps:
                queue_bytes += egress.sending_bytes
            if queue_bytes + packet.wire_bytes > limit_bytes:
                is_tail = uniform(port.chance_key, port.chance_count) < params.tail_probability
                port.chance_count += 1
                packet.verdict = TRIM_TAIL if is_tail else TRIM

    def on_dequeue(port, egress, packet, now):
        if port.link_class != HOST_NIC:
            egress.sending_bytes = packet.wire_bytes
            egress.sending_until_ps = now + int(packet.wire_bytes * 8e12 / port.rate_bps)
