"""Aeolus: first packets need no credit and switches drop them first; lost ones are resent with credit.

Source: Hu et al., "Aeolus: a building block for proactive transport in datacenters", SIGCOMM 2020, section 3.

A new message sends a burst at line rate before it has credit. These packets are flagged as unscheduled, and a switch
drops them instead of letting its queue grow (`rdmacc.switch.selective_drop`), which protects scheduled packets from
loss. The receiver acknowledges each unscheduled packet; a probe after the last one, in the same class, reveals which
were lost. A credit sends one packet: first one that is known to be lost, then a new one, then an unscheduled one whose
fate is unknown. Retransmissions are scheduled, so each loss costs one credit.

On Homa (`HomaAeolus`): the burst is RTTbytes, and grants accumulate to credits. On a probe, the receiver grants lost
packets again. Unscheduled packets keep their priority by size, above scheduled ones. The burst is always sent in full,
even if a grant arrives before its end. RESEND still repairs losses that the probe cannot.

Assumption: if a probe overtakes earlier packets on another path, they are sent once more.
"""

from rdmacc.interface import *
from rdmacc.protocols.homa import (
    Homa,
    answer,
    begin_round,
    close_message,
    hear,
    is_responsive,
    level_of,
    meet,
    note_sent,
    resend,
    start_message,
    take,
    watch,
)


class Burst(Record):
    """State of a message's unscheduled packets, on both sides."""

    unknown = Bits("sender: unscheduled packets whose fate is unknown")
    counted_packets = Int32(doc="sender: grants converted to credits, including unscheduled packets")
    probed_psn = Int32(doc="receiver: packets below this were sent, according to the probe; 0 before it")


@dataclass(frozen=True, kw_only=True)
class HomaAeolus(Homa):
    """Homa whose unscheduled packets may be dropped early."""

    one_message: ClassVar[bool] = True

    infers_from_gaps: bool = param(
        False,
        "an ACK implies that earlier unscheduled packets are lost; requires in-order delivery",
        source="section 3.3",
    )
    probe_bytes: Size = param("64B", "a probe on the wire", source="section 3.3", low=1)

    class Transfer(Homa.Transfer, Burst):
        """Both sides of a message."""

    class Header(Homa.Header):
        """What the receiver knows of unscheduled packets. The flag is in `SelectiveDrop`."""

        acked_psn = Int32(-1, doc="ACK: this unscheduled packet has arrived")
        probe_psn = Int32(doc="probe: the packets below this were sent; ACK: those not acknowledged are lost")

    # Sender

    def on_start(params, qp, message, transfer, now):
        start_message(params, qp, message, transfer, now)
        message.granted_psn = message.packets
        transfer.counted_packets = transfer.unscheduled_psn
        qp.credits = transfer.unscheduled_psn

    def on_send(params, message, transfer, packet, request):
        psn = packet.psn
        packet.priority = DATA_CLASS + level_of(params, transfer, psn)
        if psn < transfer.new_psn:
            clear_bit(transfer.unknown, psn)
            if transfer.scheduled_level >= 0:
                packet.priority = DATA_CLASS + transfer.scheduled_level
        elif psn < transfer.unscheduled_psn:
            packet.unscheduled = 1
            set_bit(transfer.unknown, psn)
            if psn == transfer.unscheduled_psn - 1:
                request.kind = REQUEST
                request.priority = packet.priority  # the probe stays behind the burst
                request.wire_bytes = params.probe_bytes
                request.probe_psn = transfer.unscheduled_psn
        note_sent(message, transfer, psn)
        choose_scheduled(message, transfer)

    def on_credit(params, qp, message, transfer, packet, now):
        hear(transfer, now)
        if is_responsive(params, qp) and packet.psn > transfer.counted_packets:
            qp.credits += packet.psn - transfer.counted_packets
            transfer.counted_packets = packet.psn
            transfer.scheduled_level = packet.level
        choose_scheduled(message, transfer)

    def on_ack(params, qp, message, transfer, packet, request, now):
        hear(transfer, now)
        if packet.kind == NAK:
            resend(message, transfer, packet, request)
            if is_responsive(params, qp):  # may send everything that the RESEND requests
                unsent = max(0, packet.end_psn - transfer.new_psn)
                qp.credits = max(qp.credits, transfer.lost_packets + unsent)
        elif packet.psn == message.packets:
            close_message(qp, message)
            return
        else:
            learn(params, message, transfer, packet)
        choose_scheduled(message, transfer)

    # Receiver

    def on_data(params, host, endpoint, qp, message, transfer, packet, reply, now):
        meet(params, endpoint, qp, message, transfer)
        take(message, transfer, packet)
        if packet.unscheduled:
            reply.kind = ACK
            reply.acked_psn = packet.psn
            if packet.accepted and packet.psn < transfer.probed_psn:
                transfer.regranted_packets -= 1  # it was not lost
        elif not packet.accepted:
            transfer.regranted_packets += 1  # a duplicate used up a grant
        if message.received_packets == message.packets:
            reply.kind = ACK
            reply.psn = message.packets
        watch(params, message, transfer, now)
        begin_round(params, host, endpoint)

    def on_request(params, host, endpoint, qp, message, transfer, packet, reply, now):
        meet(params, endpoint, qp, message, transfer)
        if packet.probe_psn > 0 and message.received_packets < message.packets:
            reply.kind = ACK
            reply.probe_psn = packet.probe_psn
            transfer.probed_psn = packet.probe_psn
            transfer.regranted_packets = missing_before(message, transfer, packet.probe_psn)
            watch(params, message, transfer, now)
        else:
            answer(params, message, transfer, packet, reply, now)
        begin_round(params, host, endpoint)


# Sender


def choose_scheduled(message, transfer):
    """Choose the next packet: of the burst, then lost, then new, then unscheduled with unknown fate."""
    if transfer.lost_packets > 0 and transfer.new_psn >= transfer.unscheduled_psn:
        message.next_psn = find_set(transfer.lost, 0, transfer.new_psn)
    elif transfer.new_psn < message.packets:
        message.next_psn = transfer.new_psn
    else:
        psn = find_set(transfer.unknown, 0, transfer.unscheduled_psn)
        message.next_psn = psn if psn < transfer.unscheduled_psn else message.packets


def learn(params, message, transfer, packet):
    """Process an ACK of the burst: that of a probe (all unknown packets are lost) or of a packet (it arrived)."""
    if packet.probe_psn > 0:
        lose_unknown(message, transfer, packet.probe_psn)
    else:
        clear_bit(transfer.unknown, packet.acked_psn)
        if params.infers_from_gaps:
            lose_unknown(message, transfer, packet.acked_psn)


def lose_unknown(message, transfer, end):
    """Mark unscheduled packets below `end` with unknown fate as lost."""
    psn = find_set(transfer.unknown, 0, end)
    while psn < end:
        clear_bit(transfer.unknown, psn)
        if not has_bit(transfer.lost, psn):
            set_bit(transfer.lost, psn)
            transfer.lost_packets += 1
        psn = find_set(transfer.unknown, psn + 1, end)


# Receiver


def missing_before(message, transfer, end):
    """Count the packets below `end` that have not arrived."""
    count = 0
    for psn in range(end):
        if not has_bit(transfer.held, psn):
            count += 1
    return count
