"""Go-back-N: the reliable connection of RoCEv2.

Sources: InfiniBand architecture specification, volume 1, chapter 9; the receiver of the ns-3 RDMA simulators; the
Improved Go-Back-N paper (Wang et al. 2019), section II-A and Table I.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdmacc.component import Component, param
from rdmacc.records import NEVER, Deadline, Int, Int32, Record
from rdmacc.state import ACK, NAK

__all__ = ["GoBackN"]


@dataclass(frozen=True, kw_only=True)
class GoBackN(Component):
    """Cumulative ACKs, NAK on a gap, retransmission of everything from the lost packet on, a timeout."""

    ack_every_packets: int = param(
        1,
        "the sender asks for an ACK every so many packets, and on the last",
        source="HPCC simulator; 256 in IGBN, II-A",
        low=1,
    )
    nak_interval_ps: int = param(
        "500us", "least time between NAKs for the same packet", unit="ps", source="IGBN, Table I"
    )
    timeout_ps: int = param("100ms", "without a reply for so long, go back", unit="ps", source="IGBN, Table I", low=1)
    retry_limit: int = param(
        7, "timeouts in a row after which the message fails", source="InfiniBand, 3-bit retry_cnt", low=0
    )

    class Transfer(Record):
        """Loss recovery of one message: the sender's timer, the receiver's memory of its last NAK."""

        retransmit_timer_ps = Deadline("sender: go back when it fires")
        retries = Int32(doc="sender: timeouts since the last progress")
        nak_until_ps = Int(-1, doc="receiver: no second NAK for the same packet before this time")
        nak_psn = Int32(-1, doc="receiver: packet that the last NAK asked for")

    @staticmethod
    def on_send(params, transfer, now):
        if transfer.retransmit_timer_ps == NEVER:
            transfer.retransmit_timer_ps = now + params.timeout_ps

    @staticmethod
    def on_ack(params, qp, message, transfer, packet, now):
        if packet.psn > message.una_psn:
            acknowledge(qp, message, packet.psn)
            transfer.retries = 0
        if packet.kind == NAK:
            rewind(qp, message)
        if message.una_psn < message.next_psn:  # every reply restarts the timer (M-G5)
            transfer.retransmit_timer_ps = now + params.timeout_ps
        else:
            transfer.retransmit_timer_ps = NEVER

    @staticmethod
    def on_retransmit_timer(params, qp, message, transfer, now):
        if message.una_psn < message.packets:
            message.timeouts += 1
            transfer.retries += 1
            if transfer.retries > params.retry_limit:
                message.failed = 1
            rewind(qp, message)

    @staticmethod
    def on_data(params, message, transfer, packet, reply, now):
        expected = message.received_packets
        asks_ack = packet.psn == message.packets - 1 or (packet.psn + 1) % params.ack_every_packets == 0
        if packet.psn == expected:
            packet.accepted = 1
            message.received_packets = expected + 1
            if asks_ack:
                reply.kind = ACK
        elif packet.psn > expected:
            # Suppression is per expected packet, as in the public ns-3 receiver (M-G2).
            if expected != transfer.nak_psn or now >= transfer.nak_until_ps:
                reply.kind = NAK
                transfer.nak_psn = expected
                transfer.nak_until_ps = now + params.nak_interval_ps
        elif asks_ack:
            reply.kind = ACK  # a duplicate: the ACK may have been lost
        reply.psn = message.received_packets


def bytes_before(message, psn):
    """Return the payload bytes of the packets below `psn`: all are full but the last."""
    if psn >= message.packets:
        return message.size_bytes
    return psn * message.payload_bytes


def acknowledge(qp, message, psn):
    """Take the packets below `psn` as received."""
    if message.next_psn < psn:
        qp.inflight_bytes += bytes_before(message, psn) - bytes_before(message, message.next_psn)
        message.next_psn = psn
    qp.inflight_bytes -= bytes_before(message, psn) - bytes_before(message, message.una_psn)
    message.una_psn = psn


def rewind(qp, message):
    """Make the oldest packet that is not acknowledged the next one to send."""
    qp.inflight_bytes -= bytes_before(message, message.next_psn) - bytes_before(message, message.una_psn)
    message.next_psn = message.una_psn
