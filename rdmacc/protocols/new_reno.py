"""TCP's loss recovery without selective acknowledgments: New Reno, with a reordering buffer at the receiver.

Sources: RFC 5681 (duplicate ACKs, fast retransmit), RFC 6582 (New Reno: partial ACKs, `recover`), RFC 3042 (limited
transmit), RFC 6298 (retransmission timer, RTTs by timestamps as in RFC 7323). The congestion window belongs to the
control component that follows: it sees the third duplicate ACK as a NAK, and a timeout in `message.timeouts`.

Each packet is acknowledged at once. Where TCP inflates the window, this reduces `qp.inflight_bytes` instead, by one
packet per duplicate ACK. A single retransmitted packet does not wait for the window.

Assumptions: the receiver's buffer has room for the message; after a timeout everything unacknowledged is resent unless
an ACK arrives first; until the first sample the timeout is at least what a sample of the base RTT would give.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import bytes_before

_FIRST_RTTS = 3  # RTO after the first sample, in units of it: RTT and four times its half (RFC 6298, 2.2)


@dataclass(frozen=True, kw_only=True)
class NewReno(Component):
    """Duplicate ACKs, fast retransmit and recovery, partial ACKs, a retransmission timer with back-off."""

    duplicate_acks: int = param(3, "number of duplicate ACKs that signal a loss", source="RFC 5681", low=1)
    min_timeout_ps: Time = param("10ms", "shortest and initial timeout", symbol="RTO_min", source="Dart, VI-A", low=1)
    max_timeout_ps: Time = param("60s", "longest timeout", source="RFC 6298, 2.5", low=1)
    retry_limit: int = param(15, "timeouts in a row after which the message fails", source="Linux, tcp_retries2", low=0)

    class Transfer(Record):
        retransmit_timer_ps = Deadline("sender: go back when it fires")
        timeout_ps = Int(doc="sender: RTO; 0 before the first packet")
        rtt_ps = Float(doc="sender: smoothed RTT; 0 before the first sample")
        rtt_deviation_ps = Float(doc="sender: its mean deviation")
        retries = Int32(doc="sender: timeouts since the last progress")
        duplicates = Int32(doc="sender: duplicate ACKs since the last progress")
        recovering = Byte(doc="sender: 1 in fast recovery")
        partial_acks = Int32(doc="sender: partial ACKs of this recovery")
        recover_psn = Int32(-1, doc="sender: duplicate ACKs up to this signal no new loss")
        resume_psn = Int32(-1, doc="sender: packet to continue with after the retransmitted one; -1 for none")
        left_bytes = Int(doc="sender: bytes that have left the network according to duplicate ACKs")
        counted_bytes = Int(doc="sender: this message's part of qp.inflight_bytes")
        expected_psn = Int32(doc="receiver: first missing packet")
        held = Bits("receiver: packets that have arrived")

    class Header(Record):
        """TCP's timestamps."""

        stamp_ps = Int(doc="when the packet left, returned in its ACK")

    def on_start(params, qp, transfer):
        transfer.timeout_ps = max(params.min_timeout_ps, _FIRST_RTTS * qp.base_rtt_ps)

    def on_send(qp, message, transfer, packet, now):
        packet.stamp_ps = now
        qp.inflight_bytes -= packet.payload_bytes  # counted below
        if transfer.resume_psn >= 0:
            message.next_psn = max(message.next_psn, transfer.resume_psn)
            transfer.resume_psn = -1
        count_inflight(qp, message, transfer)
        if transfer.retransmit_timer_ps == NEVER:
            transfer.retransmit_timer_ps = now + transfer.timeout_ps

    def on_ack(params, qp, message, transfer, packet, now):
        if packet.psn > message.una_psn:
            advance(params, message, transfer, packet, now)
        elif packet.psn == message.una_psn and message.una_psn < message.highest_psn:
            duplicate(params, message, transfer, packet)
        count_inflight(qp, message, transfer)

    def on_retransmit_timer(params, qp, message, transfer):
        if message.una_psn < message.packets:
            message.timeouts += 1
            transfer.retries += 1
            if transfer.retries > params.retry_limit:
                message.failed = 1
            transfer.timeout_ps = min(2 * transfer.timeout_ps, params.max_timeout_ps)
            transfer.recover_psn = message.highest_psn
            transfer.recovering = transfer.duplicates = transfer.left_bytes = 0
            transfer.resume_psn = -1
            message.next_psn = message.una_psn
            count_inflight(qp, message, transfer)

    def on_data(message, transfer, packet, reply):
        if not packet.is_trimmed and not has_bit(transfer.held, packet.psn):
            packet.accepted = 1
            message.received_packets += 1
            set_bit(transfer.held, packet.psn)
            transfer.expected_psn = find_clear(transfer.held, transfer.expected_psn, message.packets)
        reply.kind = ACK
        reply.psn = transfer.expected_psn
        reply.stamp_ps = packet.stamp_ps


def advance(params, message, transfer, packet, now):
    """Process an ACK of new data (RFC 6582, section 3.2, steps 3 and 5)."""
    acked = bytes_before(message, packet.psn) - bytes_before(message, message.una_psn)
    message.una_psn = packet.psn
    message.next_psn = max(message.next_psn, packet.psn)
    sample_rtt(params, transfer, now - packet.stamp_ps)
    transfer.retries = transfer.duplicates = 0
    restarts_timer = True
    if transfer.recovering and packet.psn < transfer.recover_psn:  # partial: the next packet was lost too
        transfer.left_bytes = max(0, transfer.left_bytes - acked + message.payload_bytes)
        transfer.partial_acks += 1
        restarts_timer = transfer.partial_acks == 1  # "impatient"
        send_again(message, transfer)
    else:
        if transfer.recovering:
            transfer.recover_psn = -1
        transfer.recovering = transfer.left_bytes = 0
        if transfer.resume_psn >= 0:
            message.next_psn = max(message.next_psn, transfer.resume_psn)
            transfer.resume_psn = -1
    if message.una_psn == message.highest_psn:
        transfer.retransmit_timer_ps = NEVER
    elif restarts_timer:
        transfer.retransmit_timer_ps = now + transfer.timeout_ps


def duplicate(params, message, transfer, packet):
    """Process a duplicate ACK: the third signals a loss, unless the packet was already resent after a timeout."""
    transfer.duplicates += 1
    if message.una_psn <= transfer.recover_psn and not transfer.recovering:
        return
    transfer.left_bytes += message.payload_bytes
    if not transfer.recovering and transfer.duplicates >= params.duplicate_acks:
        packet.kind = NAK
        transfer.recovering = 1
        transfer.partial_acks = 0
        transfer.recover_psn = message.highest_psn
        send_again(message, transfer)


def send_again(message, transfer):
    """Make the first unacknowledged packet the next to send, then continue as before."""
    if transfer.resume_psn < 0:
        transfer.resume_psn = message.next_psn
    message.next_psn = message.una_psn


def count_inflight(qp, message, transfer):
    """Update the bytes in flight; count none while a retransmission waits, so that no window blocks it."""
    others = qp.inflight_bytes - transfer.counted_bytes
    if transfer.resume_psn >= 0:
        transfer.counted_bytes = -others
    else:
        sent = bytes_before(message, message.next_psn) - bytes_before(message, message.una_psn)
        transfer.counted_bytes = max(0, sent - transfer.left_bytes)
    qp.inflight_bytes = others + transfer.counted_bytes


def sample_rtt(params, transfer, rtt_ps):
    """Update the smoothed RTT and the timeout (RFC 6298, section 2)."""
    if transfer.rtt_ps <= 0.0:
        transfer.rtt_ps = float(rtt_ps)
        transfer.rtt_deviation_ps = rtt_ps / 2.0
    else:
        transfer.rtt_deviation_ps += (abs(transfer.rtt_ps - rtt_ps) - transfer.rtt_deviation_ps) / 4.0
        transfer.rtt_ps += (rtt_ps - transfer.rtt_ps) / 8.0
    timeout_ps = int(transfer.rtt_ps + 4.0 * transfer.rtt_deviation_ps)
    transfer.timeout_ps = min(max(timeout_ps, params.min_timeout_ps), params.max_timeout_ps)
