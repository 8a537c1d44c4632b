"""InfiniBand's forward explicit congestion notification (FECN): marks only at the root of congestion.

Source: InfiniBand Architecture Specification, volume 1, annex A10 (congestion control), from which the names of the
switch attributes come; Gran et al., "First experiences with congestion control in InfiniBand hardware", IPDPS 2010. The
mark is `packet.ce`; the receiver answers it with a BECN.

A port is congested if its queue is above the threshold, and it is the root of congestion if it has credits to send.
Without credits it is a victim of congestion further downstream, and marks only if the victim mask allows it.

Assumptions: PFC replaces credits, so "has credits" means "the packet's class is not paused". A departing packet always
has credits, so the test is made when it joins the queue (`at_dequeue` selects the literal reading, which also marks at
victims). The specification leaves the meaning of the threshold's weight to vendors; here it is the usual buffer * (16 -
weight) / 16. The victim mask contains the ports towards hosts, the vendor's default.
"""

from collections.abc import Callable

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class Fecn(Component):
    """Mark data packets at ports that are the root of congestion, one in `marking_rate` + 1."""

    threshold: int = param(
        15, "weight, 15 the lowest queue, 0 for no marks", symbol="Threshold", source="Gran et al.", low=0, high=15
    )
    buffer_bytes: Size = param(
        "128kB", "buffer of a lane, from which the weight derives the threshold", source="assumed", low=16
    )
    marking_rate: int = param(
        10,
        "eligible packets between marks",
        symbol="Marking_Rate",
        source="Mellanox's manual; 0 in Gran et al.",
        low=0,
        high=2**16 - 1,
    )
    packet_size: int = param(
        8, "smallest packet to mark, in credits of 64 B", symbol="Packet_Size", source="Gran et al.", low=0
    )
    marks_victims_at_hosts: bool = param(
        True, "ports towards hosts mark even without credits", symbol="Victim_Mask", source="Mellanox's manual"
    )
    at_dequeue: bool = param(False, "mark a packet when it leaves, by the queue behind it; otherwise when it joins")

    class Egress(Record):
        passed = Int32(doc="eligible packets to let pass before the next mark")

    def handlers(self) -> dict[str, Callable[..., None]]:
        """Return the handlers, with only one of the two marking points."""
        handlers = super().handlers()
        del handlers["on_enqueue" if self.at_dequeue else "on_dequeue"]
        return handlers

    def on_enqueue(params, port, egress, packet):
        if packet.kind != DATA or port.link_class == HOST_NIC or params.threshold == 0:
            return
        if packet.wire_bytes < params.packet_size * 64:
            return
        if port.queue_bytes * 16 <= params.buffer_bytes * (16 - params.threshold):
            return
        is_paused = (port.paused >> packet.priority) & 1
        if is_paused and not (params.marks_victims_at_hosts and port.link_class == LAST_HOP):
            return
        if egress.passed > 0:
            egress.passed -= 1
        else:
            packet.ce = 1
            egress.passed = params.marking_rate

    on_dequeue = on_enqueue
