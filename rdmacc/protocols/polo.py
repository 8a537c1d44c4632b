"""Polo: a packet that circulates in the high class divides time into epochs; each adjusts the packets in flight.

Source: Ruan et al., "Polo: Receiver-driven congestion control for low latency over commodity network fabric", ICPP
2020, from its description: there is no public code, and its speed scaling is unknown. Data packets are marked above a
small queue (ECN). The receiver answers each with a drive (a grant), and keeps D additional packets in flight:

- first epoch: D is the number of packets that arrived unmarked;
- later: D grows by one if none was marked, otherwise it falls by half the number of marked packets.

An epoch is a round trip of the adjoint packet, which has priority over data. It carries the number of the first packet
that was sent less than a round trip before; if the receiver misses an earlier one, its answer says so, and the sender
treats packets without a grant as lost. So no timeout is needed while the adjoint packet survives.

Assumptions: D is a persistent number, so an epoch only drives the increase in D. (If D were driven again in each epoch,
the rate would grow by D per round trip, and packets in flight would swing between one and four BDPs.) The adjoint's
answer carries the increase; if D falls, that many packets are not driven, and their grants only serve as
acknowledgments. Halves are rounded down, so some packet is always driven. A lost adjoint packet is resent after the
loss timeout.
"""

from rdmacc.interface import *
from rdmacc.protocols.grant_clock import GrantClock, recover, timeout

_take = GrantClock.on_credit
_receive = GrantClock.on_data


@dataclass(frozen=True, kw_only=True)
class Polo(GrantClock):
    """The grant clock, with more or fewer packets in each round trip of the adjoint packet."""

    class Transfer(GrantClock.Transfer):
        adjoint_timer_ps = Deadline("sender: resend the adjoint packet")
        adjoint = Int32(doc="sender: number of the adjoint packet in flight")
        adjoint_psn = Int32(doc="sender: value of `timed_psn` when it was sent")
        answered = Int32(doc="receiver: number of the last one answered")
        extra = Int32(doc="receiver: D, additional packets in flight")
        change = Int32(doc="receiver: change of D at the end of the last epoch")
        came = Int32(doc="receiver: data packets of this epoch")
        came_marked = Int32(doc="receiver: marked packets of this epoch")
        withhold = Int32(doc="receiver: drives still to withhold in this epoch")

    class Header(Record):
        """In adjoint packets, their answers and grants."""

        adjoint = Int32(doc="adjoint packet, answer: its number")
        drives = Int32(doc="answer, grant: packets that it releases")
        misses = Byte(doc="answer: 1 if a packet below its psn has not arrived")

    # Sender

    def on_start(params, qp, transfer, request, now):
        send_adjoint(params, qp, transfer, request, now)

    def on_adjoint_timer(params, qp, transfer, request, now):
        transfer.adjoint -= 1  # repeat the lost one
        send_adjoint(params, qp, transfer, request, now)

    def on_advert(params, qp, message, transfer, packet, request, now):
        if packet.adjoint != transfer.adjoint:
            return
        if message.next_psn < message.packets:
            qp.credits += packet.drives
        if packet.misses and packet.psn == transfer.timed_psn:
            recover(params, qp, message, transfer, now)
        send_adjoint(params, qp, transfer, request, now)

    def on_credit(params, qp, message, transfer, packet, now):
        _take(params, qp, message, transfer, packet, now)
        is_last = qp.inflight_bytes == 0 and qp.credits == 1
        if packet.drives == 0 and qp.credits > 0 and not is_last:
            qp.credits -= 1

    # Receiver

    def on_data(message, transfer, packet, reply):
        _receive(message, transfer, packet, reply)
        transfer.came += 1
        transfer.came_marked += packet.ce
        if reply.kind == CREDIT:
            reply.drives = 1
            if transfer.withhold > 0:
                transfer.withhold -= 1
                reply.drives = 0

    def on_request(message, transfer, packet, reply):
        if packet.adjoint > transfer.answered:
            end_epoch(transfer)
            transfer.answered = packet.adjoint
        reply.kind = ADVERT
        reply.psn = packet.psn
        reply.adjoint = packet.adjoint
        reply.drives = max(0, transfer.change)
        reply.misses = find_clear(transfer.held, 0, packet.psn) < packet.psn


def send_adjoint(params, qp, transfer, request, now):
    """Send the adjoint packet, which covers the packets in flight when the last one was sent."""
    request.kind = REQUEST
    transfer.adjoint += 1
    request.adjoint = transfer.adjoint
    request.psn = transfer.timed_psn if transfer.timed_psn == transfer.adjoint_psn else 0
    transfer.adjoint_psn = transfer.timed_psn
    transfer.adjoint_timer_ps = now + timeout(params, qp)


def end_epoch(transfer):
    """Update D from the packets of the epoch; packets before the first adjoint packet do not form one."""
    transfer.change = 0
    if transfer.answered == 1:
        transfer.change = transfer.came - transfer.came_marked
    elif transfer.answered > 1 and transfer.came_marked == 0:
        transfer.change = 1
    elif transfer.answered > 1:
        transfer.change = -(transfer.came_marked // 2)
    transfer.extra += transfer.change
    transfer.withhold = max(0, -transfer.change)
    transfer.came = 0
    transfer.came_marked = 0
