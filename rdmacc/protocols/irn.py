"""IRN: selective repeat for an RDMA NIC, without PFC.

Source: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018; the modules of the authors' hardware model
(receiveData, txFree, receiveAck, timeout).

Each side keeps a bitmap of the packets beyond the oldest missing one: the receiver of those that have arrived, the
sender of those that it knows have arrived. The receiver keeps out-of-order packets and answers each with a NAK that
carries the next packet expected and the number of the one that arrived. The sender keeps at most `bdp_cap_packets`
packets between the oldest unacknowledged one and the newest sent. If a retransmission is lost, only the timeout repairs
it.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import bytes_before, packet_bytes


@dataclass(frozen=True, kw_only=True)
class Irn(Component):
    """Selective repeat: NAKs that name the arrived packet, a cap on packets in flight, a short and a long timeout."""

    bdp_cap_packets: int = param(
        Scaled(120, rate="40Gbps", rtt="24us", payload="1000B"),
        "most packets from the oldest unacknowledged one to the newest",
        symbol="BDP cap",
        source="SIGCOMM 2018: the network's BDP, 120 KB at 40 Gb/s and 24 us",
        low=1,
    )
    rto_low_ps: Time = param(
        Scaled("100us", rtt="24us", least="100us"), "timeout with at most N packets in flight",
        symbol="RTO_low", source="SIGCOMM 2018, at an RTT of 24 us", low=1, rtts=1.0,
    )  # fmt: skip
    rto_high_ps: Time = param(
        Scaled("320us", rtt="24us", least="320us"), "timeout with more than N packets in flight",
        symbol="RTO_high", source="SIGCOMM 2018: an RTT of 24 us, and six full buffers of two BDPs", low=1, rtts=1.0,
    )  # fmt: skip
    few_packets: int = param(
        3, "N, most packets in flight for the short timeout", symbol="N", source="SIGCOMM 2018", low=0
    )
    retry_limit: int = param(
        1677,
        "timeouts in a row after which the message fails",
        source="as long as InfiniBand's 7 retries of 67 ms: 8 x 67 ms / RTO_high",
        low=0,
    )

    class Transfer(Record):
        retransmit_timer_ps = Deadline("sender: when it fires, unacknowledged packets are lost")
        is_low = Byte(doc="sender: 1 if the timer was set by RTO_low")
        retries = Int32(doc="sender: timeouts since the last progress")
        new_psn = Int32(doc="sender: next packet to send for the first time")
        in_recovery = Byte(doc="sender: 1 until everything sent before the loss was detected is acknowledged")
        recover_psn = Int32(doc="sender: recovery ends when the packets below this are acknowledged")
        resend_psn = Int32(doc="sender: the packets below this have been resent in this recovery")
        lost_below_psn = Int32(doc="sender: unacknowledged packets below this are lost")
        sacked = Bits("sender: packets that have arrived out of order")
        expected_psn = Int32(doc="receiver: oldest missing packet")
        held = Bits("receiver: packets that have arrived")

    class Header(Record):
        """In NAKs."""

        sack_psn = Int32(doc="the packet that arrived out of order")

    def on_start(params, message):
        message.granted_psn = min(message.packets, params.bdp_cap_packets)

    def on_send(params, qp, message, transfer, packet, now):
        if packet.psn == transfer.new_psn:
            transfer.new_psn += 1
        else:
            transfer.resend_psn = packet.psn + 1
        message.next_psn = transfer.new_psn
        choose_next(qp, message, transfer)
        if transfer.retransmit_timer_ps == NEVER:
            restart_timer(params, message, transfer, now)

    def on_ack(params, qp, message, transfer, packet, now):
        withdraw_choice(qp, message, transfer)
        if message.una_psn < packet.psn <= transfer.new_psn:
            qp.inflight_bytes -= bytes_before(message, packet.psn) - bytes_before(message, message.una_psn)
            message.una_psn = packet.psn
            message.granted_psn = min(message.packets, packet.psn + params.bdp_cap_packets)
            transfer.retries = 0
            restart_timer(params, message, transfer, now)
            if packet.psn >= transfer.recover_psn:
                transfer.in_recovery = 0
        if packet.kind == NAK and message.una_psn < packet.sack_psn < transfer.new_psn:
            set_bit(transfer.sacked, packet.sack_psn)
            if not transfer.in_recovery:
                begin_recovery(message, transfer)
            transfer.lost_below_psn = max(transfer.lost_below_psn, packet.sack_psn)
        choose_next(qp, message, transfer)

    def on_retransmit_timer(params, qp, message, transfer, now):
        under_way = transfer.new_psn - message.una_psn
        if transfer.is_low and under_way > params.few_packets:
            transfer.is_low = 0
            transfer.retransmit_timer_ps = now + max(0, params.rto_high_ps - params.rto_low_ps)
        elif under_way > 0:
            message.timeouts += 1
            transfer.retries += 1
            withdraw_choice(qp, message, transfer)
            if transfer.retries > params.retry_limit:
                message.failed = 1
                forget(qp, message, transfer)
            else:
                begin_recovery(message, transfer)
                transfer.lost_below_psn = transfer.new_psn
                choose_next(qp, message, transfer)
                restart_timer(params, message, transfer, now)

    def on_data(message, transfer, packet, reply):
        psn = packet.psn
        reply.kind = ACK
        if psn >= transfer.expected_psn and not has_bit(transfer.held, psn):
            packet.accepted = 1
            message.received_packets += 1
            set_bit(transfer.held, psn)
            if psn == transfer.expected_psn:
                transfer.expected_psn = find_clear(transfer.held, psn, message.packets)
            else:
                reply.kind = NAK
                reply.sack_psn = psn
        reply.psn = transfer.expected_psn


# Sender. A packet chosen for retransmission counts as lost, not as in flight, until it is sent.


def withdraw_choice(qp, message, transfer):
    """Make the next new packet the next one to send."""
    if message.next_psn < transfer.new_psn:
        qp.inflight_bytes += packet_bytes(message, message.next_psn)
        message.next_psn = transfer.new_psn


def choose_next(qp, message, transfer):
    """In recovery, make the first lost packet that was not yet resent the next one to send."""
    if transfer.in_recovery:
        psn = max(transfer.resend_psn, message.una_psn)
        if psn < transfer.lost_below_psn:
            psn = find_clear(transfer.sacked, psn, transfer.lost_below_psn)
        transfer.resend_psn = psn
        if psn < transfer.lost_below_psn:
            qp.inflight_bytes -= packet_bytes(message, psn)
            message.next_psn = psn


def forget(qp, message, transfer):
    """Clear the packets in flight: the message has failed."""
    qp.inflight_bytes -= bytes_before(message, transfer.new_psn) - bytes_before(message, message.una_psn)
    transfer.new_psn = message.una_psn
    message.next_psn = message.una_psn


def begin_recovery(message, transfer):
    """Start retransmitting from the oldest unacknowledged packet."""
    transfer.in_recovery = 1
    transfer.recover_psn = transfer.new_psn
    transfer.resend_psn = message.una_psn
    transfer.lost_below_psn = message.una_psn


def restart_timer(params, message, transfer, now):
    """Set the timer by the number of packets in flight; stop it if there are none."""
    under_way = transfer.new_psn - message.una_psn
    transfer.is_low = under_way <= params.few_packets
    if under_way == 0:
        transfer.retransmit_timer_ps = NEVER
    elif transfer.is_low:
        transfer.retransmit_timer_ps = now + params.rto_low_ps
    else:
        transfer.retransmit_timer_ps = now + params.rto_high_ps
