"""RCC without synchronised clocks: the sender measures the delay and adjusts its window.

Source: Zhang et al., ICNP 2021, III-G; RCC-sender in V-E-1. The receiver counts messages and bytes, and returns N and
B_R in its ACKs; the sender runs the rest of algorithm 1 on true round-trip times.
"""

from rdmacc.interface import *
from rdmacc.protocols.rcc import (
    Rcc,
    allow,
    base_rtt,
    begin,
    count,
    fair_share,
    first_window,
    jitter,
    measure,
    received,
    window,
)


@dataclass(frozen=True, kw_only=True)
class RccSender(Rcc):
    """RCC with the controller at the sender."""

    class Sender(Rcc.Receiver):
        rate_bps = Float(doc="the window over the base RTT")
        window_bytes = Int()

    class Receiver(Record):
        began_ps = Int(doc="first packet of the message")

    class Header(Record):
        """In data packets, and with N and B_R in ACKs and NAKs."""

        departed_ps = Int(doc="when the packet left")
        flow_num = Int32(doc="N; 0 in replies that do not answer data")
        received_bps = Float(doc="B_R over its round; -1: not known yet")

    def on_open(params, qp, sender):
        sender.base_rtt_ps = base_rtt(params, qp)
        allow(params, qp, sender, int(qp.line_bps * sender.base_rtt_ps / 8e12))

    def on_start(params, qp, sender, message, now):
        begin(params, qp, sender, message, now)
        allow(params, qp, sender, first_window(params, qp, message))

    def on_send(packet, now):
        packet.departed_ps = now

    def on_data(params, host, endpoint, qp, receiver, message, packet, reply, now):
        count(endpoint, message, packet, base_rtt(params, qp))
        measure(endpoint, host, now)
        if packet.accepted and message.received_packets == 1:
            receiver.began_ps = now
        reply.departed_ps = packet.departed_ps
        reply.flow_num = max(1, endpoint.flow_num)
        reply.received_bps = received(endpoint, receiver.began_ps)

    def on_ack(params, qp, sender, message, packet, now):
        if packet.flow_num > 0:
            rtt_ps = now - packet.departed_ps + jitter(params, qp.chance_key, sender)
            line_bps, b_r = qp.peer_line_bps, packet.received_bps
            share = fair_share(params, sender.base_rtt_ps, line_bps, packet.flow_num)
            allow(params, qp, sender, window(params, sender, rtt_ps, share, b_r, line_bps, message, now))
