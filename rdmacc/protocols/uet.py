"""Ultra Ethernet's reliable delivery in any order: selective acknowledgments, NACKs of trimmed packets, a resend timer.

Sources: Ultra Ethernet Specification 1.0, packet delivery; uet-htsim (`uec.cpp`). This component does not control
rates; `Nscc` (a window at the sender) and `ReceiverCredit` do, alone or together.

The receiver acknowledges a packet at once if it is marked, requests an ACK, or is the first one or a duplicate;
otherwise it sends one ACK per `ack_every_bytes`. It also reports when a gap closes after a packet requested an ACK. An
ACK has the oldest missing packet, and a map of the packets around the one that caused it. A trimmed packet triggers a
NACK. Lost packets go before new ones, lowest number first. The oldest unanswered packet is lost after `timeout_ps`,
which is constant; if it may not be resent at once, a request to send (RTS) goes in its place, at most one per base RTT,
and is answered by an ACK. While all lost packets wait, an RTS without an answer is repeated after the timeout, and one
with an answer after twice as long each time. With `reorder`, a packet is also lost if one sent much later has arrived;
over many paths, counting later packets would tell nothing.

Assumptions: the map has 62 bits instead of 64, because integers have 63. Sending times are kept for the last 1,024
packets; with `reorder`, no packet goes that far ahead of the oldest missing one. In uet-htsim a sender whose lost
packets wait for a lost credit has no timer; here it repeats its request at doubling intervals, like the specification's
retransmission timer.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import packet_bytes

_MAP = 62
_MOST_DOUBLINGS = 10
KEPT = 1024
"""Packets per message whose sending times are kept."""


@dataclass(frozen=True, kw_only=True)
class Uet(Component):
    """Out-of-order delivery."""

    ack_every_bytes: Size = param("16384B", "wire bytes per ACK", source="uet-htsim: sack_threshold", low=1)
    timeout_ps: OptionalTime = param(
        None, "resend timeout; 0: 15 us plus the time of six full queues", unit="ps", symbol="RTO", low=0, rtts=1.0
    )
    reorder: float = param(
        0.0,
        "a packet is lost if one that left this many base RTTs later has arrived; 0: only after the timeout",
        source="assumed: MRC is said to detect losses without trimming, not how",
        low=0.0,
    )
    retry_limit: int = param(
        100, "timeouts in a row after which the message fails", source="assumed: uet-htsim never gives up", low=0
    )

    class Sender(Record):
        """When packets were sent."""

        sent_ps = Ints(KEPT, doc="time of packet n at index n modulo 1024")
        rts_ps = Int(-NEVER, doc="when the last RTS left")

    class Transfer(Record):
        resend_timer_ps = Deadline("sender: check whether the oldest unanswered packet is overdue")
        retries = Int32(doc="sender: timeouts since the last ACK")
        is_answered = Byte(doc="sender: 1 if the last RTS was answered")
        vain_requests = Int32(doc="sender: RTS that were answered, since the last data packet")
        new_psn = Int32(doc="sender: next packet to send for the first time")
        acked = Bits("sender: packets that have arrived")
        lost = Bits("sender: packets waiting to be resent")
        lost_packets = Int32(doc="sender: their number")
        held = Bits("receiver: packets that have arrived")
        expected_psn = Int32(doc="receiver: oldest missing packet")
        unacked_bytes = Int(doc="receiver: wire bytes since the last ACK")
        owes_ack = Byte(doc="receiver: 1 if a packet requested an ACK while another was missing")

    class Header(Record):
        """In data packets and replies."""

        asks_ack = Byte(doc="data: 1 if it requests an ACK")
        is_again = Byte(doc="data: 1 if it was sent before")
        left_ps = Int(-1, doc="data: when it was sent; copied into the reply")
        ce_echo = Byte(doc="reply: mark of the packet that caused it")
        map_psn = Int32(doc="ACK: packet of the map's first bit")
        map_bits = Int(doc="ACK: which of the packets from there on have arrived")
        settled_bytes = Int(doc="at the sender: wire bytes that the reply newly acknowledges")

    # Sender

    def on_send(params, qp, sender, message, transfer, packet, now):
        if packet.psn == transfer.new_psn:
            transfer.new_psn += 1
            if params.reorder > 0.0:
                message.granted_psn = min(message.una_psn + KEPT, message.packets)
            is_full = qp.inflight_bytes >= qp.window_bytes
            packet.asks_ack = int(is_full or packet.psn == message.packets - 1)
        else:
            clear_bit(transfer.lost, packet.psn)
            transfer.lost_packets -= 1
            packet.asks_ack = 1
            packet.is_again = 1
        packet.left_ps = now
        sender.sent_ps[packet.psn % KEPT] = now
        transfer.vain_requests = 0
        choose_next(message, transfer)
        if transfer.resend_timer_ps == NEVER:
            transfer.resend_timer_ps = now + timeout(params, qp)

    def on_ack(params, qp, sender, message, transfer, packet):
        before = qp.inflight_bytes
        packet.settled_bytes = 0
        if packet.kind == NAK:
            packet.settled_bytes = packet_bytes(message, packet.psn) + qp.wire_bytes - qp.payload_bytes
            take_as_lost(qp, message, transfer, packet.psn)
        else:
            transfer.retries = 0
            if packet.left_ps < 0:
                transfer.is_answered = 1
            for psn in range(message.una_psn, packet.psn):
                settle(qp, message, transfer, packet, psn)
            bits, psn = packet.map_bits, packet.map_psn
            while bits > 0:
                if bits & 1:
                    settle(qp, message, transfer, packet, psn)
                bits >>= 1
                psn += 1
            message.una_psn = find_clear(transfer.acked, message.una_psn, message.packets)
            if params.reorder > 0.0 and packet.left_ps >= 0:
                take_older_as_lost(params, qp, sender, message, transfer, packet.left_ps)
                message.granted_psn = min(message.una_psn + KEPT, message.packets)
        if qp.inflight_bytes != before or packet.kind == ACK:
            choose_next(message, transfer)

    def on_resend_timer(params, qp, sender, message, transfer, request, now):
        oldest = oldest_packet(sender, message, transfer)
        if oldest >= 0 and sender.sent_ps[oldest % KEPT] + timeout(params, qp) > now:
            transfer.resend_timer_ps = sender.sent_ps[oldest % KEPT] + timeout(params, qp)
            return
        if oldest >= 0:
            message.timeouts += 1
            transfer.retries += 1
            if transfer.retries > params.retry_limit:
                message.failed = 1
                message.next_psn = message.una_psn
                qp.inflight_bytes = 0
                return
            take_as_lost(qp, message, transfer, oldest)
            choose_next(message, transfer)
        can_send = qp.inflight_bytes < qp.window_bytes and qp.credits > 0
        if not can_send and now >= sender.rts_ps + qp.base_rtt_ps:
            sender.rts_ps = now
            transfer.vain_requests += transfer.is_answered
            transfer.is_answered = 0
            request.kind = REQUEST
            request.path = message.timeouts % 64
            request.left_ps = now
        oldest = oldest_packet(sender, message, transfer)
        transfer.resend_timer_ps = now + (timeout(params, qp) << min(transfer.vain_requests, _MOST_DOUBLINGS))
        if oldest >= 0:
            transfer.resend_timer_ps = max(now + 1, sender.sent_ps[oldest % KEPT] + timeout(params, qp))

    # Receiver

    def on_data(params, message, transfer, packet, reply):
        is_new = not has_bit(transfer.held, packet.psn)
        if packet.is_trimmed and is_new:
            reply.kind = NAK
            reply.psn = packet.psn
        elif is_new:
            set_bit(transfer.held, packet.psn)
            packet.accepted = 1
            message.received_packets += 1
            transfer.expected_psn = find_clear(transfer.held, transfer.expected_psn, message.packets)
            transfer.unacked_bytes += packet.wire_bytes
            has_gap = transfer.expected_psn < message.received_packets
            is_closed = transfer.owes_ack > 0 and not has_gap
            is_due = transfer.unacked_bytes >= params.ack_every_bytes or message.received_packets == 1
            if packet.asks_ack:
                transfer.owes_ack = int(has_gap)
            elif is_closed:
                transfer.owes_ack = 0
            if packet.ce or packet.asks_ack or is_closed or is_due:
                acknowledge(message, transfer, packet.psn, reply)
        else:
            acknowledge(message, transfer, packet.psn, reply)
        if reply.kind != NONE:
            reply.ce_echo = packet.ce
            reply.left_ps = packet.left_ps

    def on_request(message, transfer, reply):
        acknowledge(message, transfer, transfer.expected_psn, reply)


# Sender


def timeout(params, qp):
    """Return the resend timeout in ps."""
    if params.timeout_ps > 0:
        return params.timeout_ps
    packets = int(qp.line_bps * qp.base_rtt_ps / (8e12 * qp.wire_bytes)) + 1
    return 15_000_000 + int(6 * packets * qp.wire_bytes * 8e12 / qp.line_bps)


def choose_next(message, transfer):
    """Make the first lost packet the next one to send, otherwise the first new packet."""
    message.next_psn = transfer.new_psn
    if transfer.lost_packets > 0:
        message.next_psn = find_set(transfer.lost, message.una_psn, transfer.new_psn)


def settle(qp, message, transfer, packet, psn):
    """Record a packet as received."""
    if not has_bit(transfer.acked, psn):
        set_bit(transfer.acked, psn)
        payload = packet_bytes(message, psn)
        packet.settled_bytes += payload + qp.wire_bytes - qp.payload_bytes
        if has_bit(transfer.lost, psn):  # late, not lost
            clear_bit(transfer.lost, psn)
            transfer.lost_packets -= 1
        else:
            qp.inflight_bytes -= payload


def take_as_lost(qp, message, transfer, psn):
    """Queue a packet for retransmission."""
    if not has_bit(transfer.acked, psn) and not has_bit(transfer.lost, psn):
        set_bit(transfer.lost, psn)
        transfer.lost_packets += 1
        qp.inflight_bytes -= packet_bytes(message, psn)


def take_older_as_lost(params, qp, sender, message, transfer, left_ps):
    """Mark packets as lost that were sent too long before one that arrived. First transmissions are in order."""
    oldest_ps = left_ps - int(params.reorder * qp.base_rtt_ps)
    psn = find_clear(transfer.acked, message.una_psn, transfer.new_psn)
    while psn < transfer.new_psn:
        sent_ps = sender.sent_ps[psn % KEPT]
        if sent_ps <= oldest_ps:
            take_as_lost(qp, message, transfer, psn)
        elif psn + 1 < transfer.new_psn and sent_ps <= sender.sent_ps[(psn + 1) % KEPT]:
            return
        psn = find_clear(transfer.acked, psn + 1, transfer.new_psn)


def oldest_packet(sender, message, transfer):
    """Return the packet in flight that was sent first; -1 for none."""
    oldest, first_ps = -1, NEVER
    psn = find_clear(transfer.acked, message.una_psn, transfer.new_psn)
    while psn < transfer.new_psn:
        if not has_bit(transfer.lost, psn) and sender.sent_ps[psn % KEPT] < first_ps:
            oldest, first_ps = psn, sender.sent_ps[psn % KEPT]
        psn = find_clear(transfer.acked, psn + 1, transfer.new_psn)
    return oldest


# Receiver


def acknowledge(message, transfer, psn, reply):
    """Fill in an ACK triggered by a packet."""
    transfer.unacked_bytes = 0
    reply.kind = ACK
    reply.psn = transfer.expected_psn
    reply.map_psn = max(psn - _MAP + 1, transfer.expected_psn + 1)
    bits, place = 0, 1
    for i in range(reply.map_psn, min(reply.map_psn + _MAP, message.packets)):
        if has_bit(transfer.held, i):
            bits |= place
        place <<= 1
    reply.map_bits = bits
