# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Two modified receivers: RCC's with windows that recover, Homa's that accepts packets only in order."""

from dataclasses import dataclass

from rdmacc.interface import ACK, NAK, Int32
from rdmacc.protocols.homa import Homa, begin_round, meet, take, watch
from rdmacc.protocols.rcc import Rcc, begin, count, fair_share, jitter, measure, received, target, window

RTTS = 3
"""Base RTTs within which a window returns to its share."""


@dataclass(frozen=True, kw_only=True)
class ReturningRcc(Rcc):
    """RCC whose windows under the PID return to the share while the delay is below its target."""

    def on_data(params, host, endpoint, qp, receiver, message, packet, reply, now):
        delay_ps = host.clock_ps - packet.sent_ps
        rtt_ps = qp.base_rtt_ps + delay_ps - qp.base_delay_ps + jitter(params, qp.reply_chance_key, receiver)
        count(endpoint, message, packet, receiver.base_rtt_ps)
        measure(endpoint, host, now)
        if packet.accepted and message.received_packets == 1:
            begin(params, qp, receiver, message, now)
        share = fair_share(params, receiver.base_rtt_ps, host.line_bps, endpoint.flow_num)
        b_r = received(endpoint, receiver.began_ps)
        before = receiver.update_timer_ns
        allowed = window(params, receiver, rtt_ps, share, b_r, host.line_bps, message, now)
        if receiver.is_iterative and receiver.update_timer_ns != before and rtt_ps < target(params, receiver):
            receiver.cwnd_bytes = min(share, receiver.cwnd_bytes + share // RTTS)
            allowed = receiver.cwnd_bytes
        reply.cwnd_bytes = allowed


@dataclass(frozen=True, kw_only=True)
class OrderedHoma(Homa):
    """Homa with a receiver that accepts packets only in order, and a sender that goes back."""

    class Transfer(Homa.Transfer):
        """Both sides of a message."""

        asked_psn = Int32(-1, doc="receiver: packet that the last NAK asked for")

    def on_data(params, host, endpoint, qp, message, transfer, packet, reply, now):
        meet(params, endpoint, qp, message, transfer)
        expected = message.received_packets
        if packet.psn == expected:
            take(message, transfer, packet)
        elif packet.psn > expected and transfer.asked_psn != expected:
            transfer.asked_psn = expected
            reply.kind = NAK
            reply.psn = expected
            reply.end_psn = min(transfer.granted_packets, message.packets)
            reply.level = transfer.granted_level
        if message.received_packets == message.packets:
            reply.kind = ACK
            reply.psn = message.packets
        watch(params, message, transfer, now)
        begin_round(params, host, endpoint)
