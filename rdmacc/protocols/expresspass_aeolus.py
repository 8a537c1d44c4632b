"""Aeolus on ExpressPass: a burst without credits in the first round trip, then credits as in ExpressPass.

Sources: Hu et al., "Aeolus: a building block for proactive transport in datacenters", SIGCOMM 2020, section 3; the
port to ns-2 in kaist-ina/ns2-flexpass, `xpass/flexpass.cc` under AEOLUS.

The sender requests credits and sends its burst at once (`rdmacc.protocols.aeolus`). Each credit sends one packet: a
lost one, a new one, or an unscheduled one whose fate is unknown. The receiver keeps packets in any order. Data, probes
and credits share one path (`routing`), so an ACK reveals earlier losses.

Assumptions: the receiver stops its credits once it has the whole message, and signals that with an ACK. A sender that
hears nothing repeats its request with the number of packets sent, and the receiver names the first missing packets. An
unscheduled packet of unknown fate is sent again only once its ACK could have come, a base RTT after the burst; with the
first credit, every message of one packet would be sent twice.
"""

from rdmacc.interface import *
from rdmacc.protocols.aeolus import Burst, choose_scheduled, learn
from rdmacc.protocols.expresspass import ExpressPass, begin_credits, count_credits
from rdmacc.protocols.homa import close_message, note_sent, rtt_packets, take

_PENDING = 32


class Recovery(Record):
    """Out-of-order state, on both sides."""

    burst_ps = Int(doc="sender: when the last unscheduled packet left")
    new_psn = Int32(doc="sender: next packet to send for the first time")
    unscheduled_psn = Int32(doc="sender: packets below this are unscheduled")
    lost = Bits("sender: packets to resend")
    lost_packets = Int32(doc="sender: their number")
    held = Bits("receiver: packets that have arrived")


@dataclass(frozen=True, kw_only=True)
class ExpressPassAeolus(ExpressPass):
    """ExpressPass whose messages begin with a burst that switches may drop early."""

    rtt_bytes: OptionalSize = param(
        None, "the burst; 0: line rate times base RTT", unit="bytes", source="section 3.2: one BDP"
    )
    infers_from_gaps: bool = param(
        True, "an ACK implies that earlier unscheduled packets are lost", source="section 3.3"
    )
    probe_bytes: Size = param("84B", "a probe on the wire", source="flexpass.cc: least frame", low=1)

    class Transfer(ExpressPass.Transfer, Burst, Recovery):
        """Both sides of a message."""

    class Header(ExpressPass.Header):
        """What is known of packets. The flag of unscheduled ones is in `SelectiveDrop`."""

        acked_psn = Int32(-1, doc="ACK: this unscheduled packet has arrived")
        probe_psn = Int32(doc="probe: the packets below this were sent; ACK: those not acknowledged are lost")
        sent_psn = Int32(doc="request: the packets below this were sent, and the sender waits; 0 at first")
        end_psn = Int32(doc="NAK: the packets from its psn on and below this are missing")

    # Sender

    def on_start(params, qp, message, transfer, request, now):
        transfer.unscheduled_psn = min(message.packets, rtt_packets(params, qp, message))
        qp.credits = transfer.unscheduled_psn
        ask_for_credits(params, message, transfer, request, now)
        request.sent_psn = 0

    def on_send(params, message, transfer, packet, request, now):
        psn = packet.psn
        if psn == transfer.new_psn and psn < transfer.unscheduled_psn:
            packet.unscheduled = 1
            set_bit(transfer.unknown, psn)
            transfer.burst_ps = now
            if psn == transfer.unscheduled_psn - 1:
                request.kind = REQUEST
                request.wire_bytes = params.probe_bytes
                request.probe_psn = transfer.unscheduled_psn
        else:
            place = transfer.first_pending % _PENDING
            packet.credit_number = transfer.pending_numbers[place]
            packet.credit_ps = transfer.pending_ps[place]
            transfer.first_pending += 1
            if psn < transfer.unscheduled_psn:
                clear_bit(transfer.unknown, psn)
        note_sent(message, transfer, psn)
        choose_scheduled(message, transfer)

    def on_credit(params, qp, message, transfer, packet, now):
        transfer.retries = 0
        burst = max(0, transfer.unscheduled_psn - transfer.new_psn)
        pending = qp.credits - burst
        left = message.packets - transfer.new_psn - burst + transfer.lost_packets
        if left == 0 and now >= transfer.burst_ps + qp.base_rtt_ps:
            left = int(find_set(transfer.unknown, 0, transfer.unscheduled_psn) < transfer.unscheduled_psn)
        if pending < min(left, _PENDING):
            place = (transfer.first_pending + pending) % _PENDING
            transfer.pending_numbers[place] = packet.credit_number
            transfer.pending_ps[place] = packet.credit_ps
            qp.credits += 1
        else:
            transfer.wasted_credits += 1
        if left > 0:
            transfer.retry_timer_ps = now + params.idle_timeout_ps
        choose_scheduled(message, transfer)

    def on_ack(params, qp, message, transfer, packet, request, now):
        transfer.retries = 0
        if packet.kind == NAK:
            lose(message, transfer, packet.psn, min(packet.end_psn, transfer.new_psn))
        elif packet.psn == message.packets:
            close_message(qp, message)
            return
        else:
            learn(params, message, transfer, packet)
        choose_scheduled(message, transfer)

    def on_retry_timer(params, qp, message, transfer, request, now):
        if transfer.new_psn < transfer.unscheduled_psn:  # the burst still waits for the link
            transfer.retry_timer_ps = now + params.retransmit_timeout_ps
            return
        message.timeouts += 1
        transfer.retries += 1
        if transfer.retries > params.retry_limit:
            message.failed = 1
        else:
            ask_for_credits(params, message, transfer, request, now)

    # Receiver

    def on_request(params, qp, receiver, message, transfer, packet, reply, now):
        receiver.heard_ps = now
        missing = find_clear(transfer.held, 0, message.packets)
        if missing == message.packets:
            reply.kind = ACK
            reply.psn = message.packets
            return
        if packet.probe_psn > 0:
            reply.kind = ACK
            reply.probe_psn = packet.probe_psn
        elif missing < packet.sent_psn:
            reply.kind = NAK
            reply.psn = missing
            reply.end_psn = find_set(transfer.held, missing, packet.sent_psn)
        if packet.left_packets > 0 and not receiver.is_crediting:
            begin_credits(params, qp, receiver, packet, now)

    def on_data(receiver, message, transfer, packet, reply, now):
        receiver.heard_ps = now
        take(message, transfer, packet)
        if packet.unscheduled:
            reply.kind = ACK
            reply.acked_psn = packet.psn
        else:
            count_credits(receiver, packet, now)
        if message.received_packets == message.packets:
            reply.kind = ACK
            reply.psn = message.packets
            receiver.is_crediting = 0
            receiver.credit_timer_ps = NEVER


# Sender


def ask_for_credits(params, message, transfer, request, now):
    """Request credits, and the fate of the packets sent."""
    request.kind = REQUEST
    request.left_packets = max(1, message.packets - transfer.new_psn + transfer.lost_packets)
    request.sent_psn = transfer.new_psn
    transfer.retry_timer_ps = now + params.retransmit_timeout_ps


def lose(message, transfer, start, end):
    """Mark packets as lost."""
    for psn in range(start, end):
        clear_bit(transfer.unknown, psn)
        if not has_bit(transfer.lost, psn):
            set_bit(transfer.lost, psn)
            transfer.lost_packets += 1
