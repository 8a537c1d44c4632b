"""RCP at the sender: send at the rate that the links on the path have stamped.

Sources: Dukkipati et al., "Processor sharing flows in the Internet", IWQoS 2005; the authors' ns-2 code. Links compute
and stamp the rate (`rdmacc.switch.rcp_stamp`); packets tell them the sender's latest RTT.

A message's first packet acts as the SYN: it is sent alone, and its ACK returns the rate for the others. Every ACK
carries a rate. If packets are more than a round trip apart, a probe (REF) per round trip keeps the rate fresh: links
stamp it like data, and an ACK answers it. Loss recovery is left to another component.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class Rcp(Component):
    """Follow the stamped rate."""

    probe_rtts: float = param(
        1.0,
        "minimum RTTs between probes, used if packets are further apart than that; 0: no probes",
        symbol="REF_INTVAL",
        source="RCP ns-2 code",
        low=0.0,
    )

    class Sender(Record):
        rate_bps = Float(doc="rate of the path's slowest link")
        rtt_ps = Int(doc="latest RTT; 0 before the first")
        least_rtt_ps = Int(doc="least RTT; 0 before the first")
        wire_bytes = Int(doc="when the last packet was sent")
        probe_timer_ps = Deadline("request the rate")

    class Header(Record):
        """In addition to RCP's header."""

        rcp_sent_ps = Int(doc="when the packet left, returned in its ACK")

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_start(message):
        message.granted_psn = 1

    def on_send(sender, packet, now):
        sender.wire_bytes = packet.wire_bytes
        packet.rcp_rtt_ps = sender.rtt_ps
        packet.rcp_sent_ps = now

    def on_data(packet, reply):
        reply.rcp_sent_ps = packet.rcp_sent_ps

    def on_request(message, packet, reply):
        reply.kind = ACK
        reply.psn = message.received_packets
        reply.rcp_bps = packet.rcp_bps
        reply.rcp_sent_ps = packet.rcp_sent_ps

    def on_ack(params, qp, sender, message, packet, now):
        sender.rtt_ps = now - packet.rcp_sent_ps
        if sender.least_rtt_ps == 0 or sender.rtt_ps < sender.least_rtt_ps:
            sender.least_rtt_ps = sender.rtt_ps
        if packet.rcp_bps > 0.0:
            sender.rate_bps = min(packet.rcp_bps, qp.line_bps)
            message.granted_psn = message.packets
        if message.next_psn >= message.packets:
            sender.probe_timer_ps = NEVER
        elif sender.probe_timer_ps == NEVER and is_slow(params, sender):
            sender.probe_timer_ps = now + int(params.probe_rtts * sender.least_rtt_ps)

    def on_probe_timer(params, sender, request, now):
        if is_slow(params, sender):
            request.kind = REQUEST
            request.priority = DATA_CLASS  # stamped like data
            request.rcp_rtt_ps = sender.rtt_ps
            request.rcp_sent_ps = now
            sender.probe_timer_ps = now + int(params.probe_rtts * sender.least_rtt_ps)


def is_slow(params, sender):
    """Return whether packets are further apart than probes would be."""
    gap_ps = sender.wire_bytes * 8e12 / sender.rate_bps
    return params.probe_rtts > 0.0 and gap_ps > params.probe_rtts * sender.least_rtt_ps
