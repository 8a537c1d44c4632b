"""Go-back-N: the reliable connection of RoCEv2, and the base of its improvements.

Sources: InfiniBand architecture specification, volume 1, chapter 9; the receiver of the ns-3 RDMA simulators; the
Improved Go-Back-N paper (IGBN, Wang et al. 2019), section II-A and Table I.

Each timeout is counted under one of the paper's causes (III-A, figure 4). An observer that knows both sides decides, in
this order: if the receiver has everything, the last ACK was lost; if nothing beyond the missing packet has arrived, it
and all later ones were lost, including the last packet; if fewer NAKs for it were received than sent, a NAK was lost;
if it was requested and still did not arrive, it was lost twice. Packets in flight count as lost, so even a timeout
shorter than a round trip gets a cause. If the literal NAK interval kept the receiver from sending a NAK at all, none of
the four applies.
"""

from rdmacc.interface import *

TIMEOUT_REASONS = {
    "timeouts_last_packet": "the last packet was lost",
    "timeouts_last_ack": "the last ACK was lost",
    "timeouts_nak": "a NAK was lost",
    "timeouts_twice": "the same packet was lost twice",
    "timeouts_unasked": "the NAK interval kept the receiver silent",
}
"""Fields of `GoBackN.Transfer` that count timeouts, with their causes: the paper's four in its order, and a fifth."""


@dataclass(frozen=True, kw_only=True)
class GoBackN(Component):
    """Cumulative ACKs, NAK on a gap, retransmission of everything from the lost packet onwards, a timeout."""

    ack_every_packets: int = param(
        1,
        "packets between requests for an ACK; the last packet always requests one",
        source="HPCC simulator; 256 in IGBN, II-A",
        low=1,
    )
    nak_interval_ps: Time = param("500us", "least time between NAKs", source="IGBN, Table I")
    nak_per_packet: bool = param(
        True,
        "the interval applies to NAKs for the same packet; False: to any two NAKs, as IGBN, II-A, states literally",
        source="ReceiverCheckSeq in rdma-hw.cc; read literally, goodput collapses at 1% loss",
    )
    timeout_ps: Time = param("100ms", "go back after this time without a reply", source="IGBN, Table I", low=1)
    timer_after_last: bool = param(
        False,
        "the timer runs only if the last packet is the last one sent; False: whenever something is outstanding",
        source="True in the ns-3 RDMA simulators",
    )
    retry_limit: int = param(
        7, "timeouts in a row after which the message fails", source="InfiniBand, 3-bit retry_cnt", low=0
    )

    shared_after_loss = ("gap_psn", "gap_packets", "naks_sent", "naks_taken", "message.received_packets")

    class Transfer(Record):
        retransmit_timer_ps = Deadline("sender: go back when it fires")
        retries = Int32(doc="sender: timeouts since the last progress")
        nak_until_ps = Int(-1, doc="receiver: end of the NAK interval")
        nak_psn = Int32(-1, doc="receiver: packet requested by the last NAK")
        gap_psn = Int32(-1, doc="observer: packet missing at the receiver, the subject of the next three fields")
        gap_packets = Int32(doc="observer: arrivals beyond it")
        naks_sent = Int32(doc="observer: NAKs for it")
        naks_taken = Int32(doc="observer: NAKs for it that have reached the sender")
        timeouts_last_packet = Int32(doc="observer: timeouts because the last packet was lost")
        timeouts_last_ack = Int32(doc="observer: because the last ACK was lost")
        timeouts_nak = Int32(doc="observer: because a NAK was lost")
        timeouts_twice = Int32(doc="observer: because a packet was lost twice")
        timeouts_unasked = Int32(doc="observer: because the NAK interval kept the receiver silent")

    def on_send(params, message, transfer, packet, now):
        start_timer(params, message, transfer, packet, now)

    def on_ack(params, qp, message, transfer, packet, now):
        if packet.psn > message.una_psn:
            acknowledge(qp, message, packet.psn)
            transfer.retries = 0
        if packet.kind == NAK:
            transfer.naks_taken += 1
            rewind(qp, message)
        restart_timer(params, message, transfer, now)

    def on_retransmit_timer(params, qp, message, transfer, now):
        if message.una_psn < message.packets:
            count_timeout(params, message, transfer)
            rewind(qp, message)

    def on_data(params, message, transfer, packet, reply, now):
        expected = message.received_packets
        asks_ack = packet.psn == message.packets - 1 or (packet.psn + 1) % params.ack_every_packets == 0
        if packet.psn == expected:
            packet.accepted = 1
            message.received_packets = expected + 1
            if asks_ack:
                reply.kind = ACK
        elif packet.psn > expected:
            note_gap(transfer, expected)
            transfer.gap_packets += 1
            # One NAK for each expected packet, as in the HPCC simulator's ReceiverCheckSeq (rdma-hw.cc); IGBN, II-A,
            # says "at most one NAK" in an interval, which is `nak_per_packet=False`.
            if now >= transfer.nak_until_ps or (params.nak_per_packet and expected != transfer.nak_psn):
                ask(params, transfer, reply, expected, now)
        elif asks_ack:
            reply.kind = ACK  # a duplicate: the ACK may have been lost
        reply.psn = message.received_packets


# Sender


def bytes_before(message, psn):
    """Return the payload bytes of the packets below `psn`; all are full except the last."""
    if psn >= message.packets:
        return message.size_bytes
    return psn * message.payload_bytes


def packet_bytes(message, psn):
    return bytes_before(message, psn + 1) - bytes_before(message, psn)


def acknowledge(qp, message, psn):
    """Record the packets below `psn` as received."""
    if message.next_psn < psn:
        qp.inflight_bytes += bytes_before(message, psn) - bytes_before(message, message.next_psn)
        message.next_psn = psn
    qp.inflight_bytes -= bytes_before(message, psn) - bytes_before(message, message.una_psn)
    message.una_psn = psn


def rewind(qp, message):
    """Make the oldest unacknowledged packet the next one to send."""
    qp.inflight_bytes -= bytes_before(message, message.next_psn) - bytes_before(message, message.una_psn)
    message.next_psn = message.una_psn


def start_timer(params, message, transfer, packet, now):
    """Start the timer when a packet is sent, unless it is already running."""
    is_due = packet.psn == message.packets - 1 or not params.timer_after_last
    if is_due and transfer.retransmit_timer_ps == NEVER:
        transfer.retransmit_timer_ps = now + params.timeout_ps


def restart_timer(params, message, transfer, now):
    """Restart the timer at every reply while something is outstanding; with `timer_after_last` once all is sent."""
    is_due = message.next_psn == message.packets or not params.timer_after_last
    if is_due and message.una_psn < message.next_psn:
        transfer.retransmit_timer_ps = now + params.timeout_ps
    else:
        transfer.retransmit_timer_ps = NEVER


def count_timeout(params, message, transfer):
    """Count a timeout under its cause; give up the message after too many in a row."""
    message.timeouts += 1
    note_reason(message, transfer)
    transfer.retries += 1
    if transfer.retries > params.retry_limit:
        message.failed = 1


# Receiver


def ask(params, transfer, reply, psn, now):
    """Reply with a NAK for a packet."""
    reply.kind = NAK
    transfer.nak_psn = psn
    transfer.nak_until_ps = now + params.nak_interval_ps
    transfer.naks_sent += 1


# Observer


def note_gap(transfer, psn):
    """Start counting NAKs for a packet found missing."""
    if transfer.gap_psn != psn:
        transfer.gap_psn = psn
        transfer.gap_packets = 0
        transfer.naks_sent = 0
        transfer.naks_taken = 0


def note_reason(message, transfer):
    """Count a timeout under its cause, tested in the order given in the module docstring."""
    if message.received_packets == message.packets:
        transfer.timeouts_last_ack += 1
    elif transfer.gap_psn != message.received_packets or transfer.gap_packets == 0:
        transfer.timeouts_last_packet += 1
    elif transfer.naks_sent > transfer.naks_taken:
        transfer.timeouts_nak += 1
    elif transfer.naks_sent > 0:
        transfer.timeouts_twice += 1
    else:
        transfer.timeouts_unasked += 1
