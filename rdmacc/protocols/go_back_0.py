"""Go-back-0: after any loss, resend the whole message.

Source: the Improved Go-Back-N paper (IGBN, Wang et al. 2019), section II-A; the public ns-3 RDMA simulators with
`L2_BACK_TO_ZERO`, whose receiver goes back with the sender.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import (
    GoBackN,
    acknowledge,
    ask,
    bytes_before,
    count_timeout,
    note_gap,
    restart_timer,
)


@dataclass(frozen=True, kw_only=True)
class GoBack0(GoBackN):
    """Like go-back-N, but a gap or a timeout takes both sides back to packet 0.

    The receiver discards the message when it sends a NAK. Packet 0 also restarts a partly received message, which
    covers a sender that went back on a timeout.
    """

    def on_ack(params, qp, message, transfer, packet, now):
        # Ignore ACKs of an earlier pass, unless they complete the message.
        if message.una_psn < packet.psn <= message.next_psn or packet.psn == message.packets:
            acknowledge(qp, message, packet.psn)
            transfer.retries = 0
        if packet.kind == NAK:
            transfer.naks_taken += 1
            start_over(qp, message)
        restart_timer(params, message, transfer, now)

    def on_retransmit_timer(params, qp, message, transfer, now):
        if message.una_psn < message.packets:
            count_timeout(params, message, transfer)
            start_over(qp, message)

    def on_data(params, message, transfer, packet, reply, now):
        if packet.psn == 0 and message.received_packets < message.packets:
            message.received_packets = 0
        expected = message.received_packets
        asks_ack = packet.psn == message.packets - 1 or (packet.psn + 1) % params.ack_every_packets == 0
        if packet.psn == expected:
            packet.accepted = 1
            message.received_packets = expected + 1
            if asks_ack:
                reply.kind = ACK
        elif packet.psn > expected:
            if expected > 0:  # a new gap: from here on only packet 0 is useful
                transfer.nak_psn = transfer.gap_psn = -1
                message.received_packets = 0
            note_gap(transfer, 0)
            transfer.gap_packets += 1
            if now >= transfer.nak_until_ps or (params.nak_per_packet and transfer.nak_psn != 0):
                ask(params, transfer, reply, 0, now)
        elif asks_ack:
            reply.kind = ACK
        reply.psn = message.received_packets


def start_over(qp, message):
    """Make packet 0 the next one to send, with nothing acknowledged."""
    qp.inflight_bytes -= bytes_before(message, message.next_psn) - bytes_before(message, message.una_psn)
    message.next_psn = 0
    message.una_psn = 0
