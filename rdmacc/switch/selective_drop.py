"""Aeolus' selective dropping: unscheduled packets may only join a short queue, scheduled ones any queue.

Source: Hu et al., "Aeolus: A building block for proactive transport in datacenters", SIGCOMM 2020, section 3.

The threshold applies to the whole queue of the port, not only to its unscheduled bytes; that protects scheduled
packets. Commodity switches implement it as RED with both thresholds at K, which drops Non-ECT packets and marks others;
the marks have no meaning there, so none are set here. The sender's protocol flags the packets that it sends without
credit, by `packet.unscheduled = 1` in `on_send`; probes, ACKs and retransmissions are never flagged.

Assumption: with several priority classes, the threshold applies to all data classes of the port together.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class SelectiveDrop(Component):
    """Drop an unscheduled packet that would make the queue longer than the threshold."""

    threshold_bytes: Size = param(
        "6kB",
        "longest queue that an unscheduled packet may cause",
        symbol="K",
        source="Aeolus: 4 packets of 1.5 kB",
        low=0,
    )

    class Header(Record):
        unscheduled = Byte(doc="1 if it was sent without credit (w by the sender)")

    def on_enqueue(params, port, packet):
        if packet.unscheduled and packet.kind == DATA and port.link_class != HOST_NIC:
            if port.queue_bytes + packet.wire_bytes > params.threshold_bytes:
                packet.verdict = DROP
