"""Receiver-driven transmission clocked by grants: one BDP at line rate, then one packet for each grant.

Source: "REN: Receiver-driven congestion control using explicit notification for data center" (Li et al., IEEE TCC
2021), which calls this traditional receiver-driven transmission (section 2, figures 1 and 2) and builds on it (3.1).
The receiver answers each data packet with a grant, in order of arrival, and the sender answers each grant with a
packet. So the number of packets in flight never changes: a queue persists, and capacity that others free stays unused.

A grant names its packet, so it is also an acknowledgment, and packets may arrive in any order (spraying).

Assumptions, since the paper does not cover losses: a packet without a grant for three base RTTs is lost. Resending it
uses a grant, like a new packet, but it goes first; so each loss leaves one packet fewer in flight. A sender with
nothing in flight sends one lost packet without a grant. A grant that arrives when there is nothing to send is
discarded. The timer covers everything that was in flight when it was set, and is set again once all of that is granted.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import packet_bytes

_SHORTEST_PS = 100_000  # shortest base RTT allowed; papers have 10 us or more


@dataclass(frozen=True, kw_only=True)
class GrantClock(Component):
    """One unscheduled BDP, a grant for each packet, a packet for each grant; selective repeat on a timeout."""

    one_message: ClassVar[bool] = True

    unscheduled_packets: int = param(
        0, "packets sent at line rate without a grant; 0: the line rate times the base RTT", source="REN, 2.1", low=0
    )
    base_rtt_ps: OptionalTime = param(
        None, "base round trip; 0: the queue pair's own", unit="ps", source="REN, 6", low=0
    )
    mss_bytes: Size = param("1500B", "packet size for expressing the BDP in packets", source="REN, 4.1 and 6", low=1)
    timeout_rtts: float = param(
        3.0,
        "number of base RTTs after which a packet without a grant is lost",
        source="assumed; REN says nothing",
        low=1.0,
    )
    least_timeout_ps: Time = param("0s", "shortest time after which it is lost", source="assumed", low=0)
    retry_limit: int = param(100, "recoveries without a grant before the message fails", source="assumed", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < self.base_rtt_ps < _SHORTEST_PS:
            name = f"{type(self).__name__}.base_rtt_ps"
            raise ConfigError(name, self.base_rtt_ps, f"0, or at least {_SHORTEST_PS} ps: it sets the period of timers")

    class Transfer(Record):
        loss_timer_ps = Deadline("sender: when it fires, the packets it was set for are lost")
        timed_psn = Int32(doc="sender: the timer covers packets below this that were in flight")
        timed_packets = Int32(doc="sender: packets under the timer that are still in flight")
        in_flight = Int32(doc="sender: packets sent that are neither granted nor lost")
        lost_packets = Int32(doc="sender: packets lost and not yet resent")
        retries = Int32(doc="sender: recoveries since the last grant")
        granted = Bits("sender: packets whose grant has arrived")
        lost = Bits("sender: packets lost and not yet resent")
        resent = Bits("sender: packets resent since the timer was set")
        held = Bits("receiver: packets that have arrived")

    # Sender

    def on_open(params, qp):
        qp.credits = params.unscheduled_packets
        if qp.credits == 0:
            bdp = qp.line_bps * base_rtt(params, qp) / (8e12 * params.mss_bytes)
            qp.credits = max(1, int(bdp + 0.999))

    def on_send(params, qp, message, transfer, packet, now):
        transfer.in_flight += 1
        if has_bit(transfer.lost, packet.psn):
            clear_bit(transfer.lost, packet.psn)
            set_bit(transfer.resent, packet.psn)
            transfer.lost_packets -= 1
        choose_next(message, transfer)
        if transfer.loss_timer_ps == NEVER:
            set_timer(params, qp, message, transfer, now)

    def on_credit(params, qp, message, transfer, packet, now):
        if not has_bit(transfer.granted, packet.psn):
            take_grant(qp, message, transfer, packet.psn)
            if transfer.timed_packets == 0:
                set_timer(params, qp, message, transfer, now)
        if message.next_psn < message.packets:
            qp.credits += 1

    def on_loss_timer(params, qp, message, transfer, now):
        message.timeouts += 1
        recover(params, qp, message, transfer, now)

    # Receiver

    def on_data(message, transfer, packet, reply):
        if packet.is_trimmed:
            return
        if not has_bit(transfer.held, packet.psn):
            set_bit(transfer.held, packet.psn)
            packet.accepted = 1
            message.received_packets += 1
        reply.kind = CREDIT
        reply.psn = packet.psn


def base_rtt(params, qp):
    return params.base_rtt_ps if params.base_rtt_ps > 0 else qp.base_rtt_ps


def timeout(params, qp):
    """Return the time in ps after which a packet without a grant is lost."""
    return max(params.least_timeout_ps, int(params.timeout_rtts * base_rtt(params, qp)))


def choose_next(message, transfer):
    """Make the first lost packet the next one to send, otherwise the first new packet."""
    message.next_psn = message.highest_psn
    if transfer.lost_packets > 0:
        message.next_psn = find_set(transfer.lost, message.una_psn, message.highest_psn)


def take_grant(qp, message, transfer, psn):
    """Record a packet as received."""
    set_bit(transfer.granted, psn)
    transfer.retries = 0
    if has_bit(transfer.lost, psn):  # it was late, not lost
        clear_bit(transfer.lost, psn)
        transfer.lost_packets -= 1
    else:
        transfer.in_flight -= 1
        qp.inflight_bytes -= packet_bytes(message, psn)
        if psn < transfer.timed_psn and not has_bit(transfer.resent, psn):
            transfer.timed_packets -= 1
    message.una_psn = find_clear(transfer.granted, message.una_psn, message.packets)
    choose_next(message, transfer)


def recover(params, qp, message, transfer, now):
    """Mark packets under the timer without a grant as lost; set the timer for the rest."""
    if message.next_psn == message.packets:
        qp.credits = 0  # discard grants that found nothing to send
    psn = find_clear(transfer.granted, message.una_psn, transfer.timed_psn)
    while psn < transfer.timed_psn:
        if not has_bit(transfer.lost, psn) and not has_bit(transfer.resent, psn):
            set_bit(transfer.lost, psn)
            transfer.lost_packets += 1
            transfer.in_flight -= 1
            qp.inflight_bytes -= packet_bytes(message, psn)
        psn = find_clear(transfer.granted, psn + 1, transfer.timed_psn)
    choose_next(message, transfer)
    set_timer(params, qp, message, transfer, now)
    transfer.retries += 1
    if transfer.retries > params.retry_limit:
        message.failed = 1
        message.next_psn = message.una_psn
        qp.inflight_bytes = 0
    elif transfer.in_flight == 0 and qp.credits == 0:
        qp.credits = 1


def set_timer(params, qp, message, transfer, now):
    """Set the timer for everything in flight now; stop it if nothing is."""
    psn = find_set(transfer.resent, message.una_psn, transfer.timed_psn)
    while psn < transfer.timed_psn:
        clear_bit(transfer.resent, psn)
        psn = find_set(transfer.resent, psn + 1, transfer.timed_psn)
    transfer.timed_psn = message.highest_psn
    transfer.timed_packets = transfer.in_flight
    transfer.loss_timer_ps = NEVER
    if transfer.in_flight > 0:
        transfer.loss_timer_ps = now + timeout(params, qp)
