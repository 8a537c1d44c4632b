"""RCP at the sender: send at the rate that the links of the path have stamped.

Sources: Dukkipati et al., "Processor sharing flows in the Internet", IWQoS 2005; the authors' ns-2 code. Links compute
and stamp the rate (`rdmacc.switch.rcp_stamp`); packets tell them the sender's latest RTT.

A message's first packet stands for the SYN: it goes alone, and its ACK brings the rate for the others. Every ACK
carries a rate, so below one packet in a round trip rates are as old as the last packet; the code's probes, which keep
them fresh, are left out. Loss recovery is left to another component.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdmacc.component import Component
from rdmacc.records import Float, Int, Record

__all__ = ["Rcp"]


@dataclass(frozen=True, kw_only=True)
class Rcp(Component):
    """Follow the stamped rate."""

    class Sender(Record):
        """What the last ACK brought."""

        rate_bps = Float(doc="rate of the path's slowest link")
        rtt_ps = Int(doc="latest RTT; 0 before the first")

    class Header(Record):
        """Beside RCP's own header."""

        rcp_sent_ps = Int(doc="when the packet left, returned in its ACK")

    @staticmethod
    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    @staticmethod
    def on_start(message):
        message.granted_psn = 1

    @staticmethod
    def on_send(sender, packet, now):
        packet.rcp_rtt_ps = sender.rtt_ps
        packet.rcp_sent_ps = now

    @staticmethod
    def on_data(packet, reply):
        reply.rcp_sent_ps = packet.rcp_sent_ps

    @staticmethod
    def on_ack(qp, sender, message, packet, now):
        sender.rtt_ps = now - packet.rcp_sent_ps
        if packet.rcp_bps > 0.0:
            sender.rate_bps = min(packet.rcp_bps, qp.line_bps)
            message.granted_psn = message.packets
