"""NDP: a first window at line rate, then one packet per pull, paced by the receiver; switches trim payloads.

Sources: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance",
SIGCOMM 2017, section 3; its simulator and the later fork of it, csg-htsim (`sim/ndp.cpp`, `sim/compositequeue.cpp`).

The receiver answers each packet at once, with an ACK, or with a NACK if only its header arrived, and owes the sender a
pull. A host sends pulls at the rate at which full packets fit on its link, to its messages in turn; an ACK or NACK
carries the pull if no other is waiting. Pulls are numbered cumulatively, so each one replaces lost predecessors. A pull
releases a trimmed packet, otherwise a new one; if there is neither, it is kept until a packet is trimmed or the next
pull arrives (csg-htsim, `processNack`, `pull_packets`). The first window goes before anything else. The switch's part
is `PayloadTrimming`, and the choice of paths is `ScoredPaths`.

Assumptions: trimmed packets are resent lowest number first, as in csg-htsim, after the last returned one. One timer
covers several packets: the first one sent and those sent within an eighth of the timeout, each of which restarts it; it
moves on to the next packets once all of these are answered. If only pulls can be missing, one packet is sent after a
longer timeout.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import packet_bytes

_HISTORY = 12
_JOINING = 8
_TURN = 2**31


@dataclass(frozen=True, kw_only=True)
class Ndp(Component):
    """ACKs, NACKs and paced pulls."""

    one_message: ClassVar[bool] = True

    initial_window: int = param(
        30, "packets sent before the first pull", symbol="IW", source="NDP, evaluation: 30 packets in a FatTree", low=1
    )
    pull_bytes: Size = param(
        "9000B", "wire size of a full packet, which a pull requests", source="NDP: jumbo frames", low=1
    )
    pull_rate: float = param(1.0, "share of the receiver's link to fill with pulls", low=0.01, high=1.0)
    timeout_ps: OptionalTime = param(
        answer_timer("1ms"),
        "time after which an unanswered packet is resent; 0: never",
        unit="ps",
        is_optional=True,
        symbol="RTO",
        source="NDP",
        low=0,
        rtts=1.0,
    )
    pull_timeout_ps: Time = param(
        answer_timer("10ms"),
        "time without a pull, with everything answered, after which a packet is sent",
        unit="ps",
        source="assumed",
        low=1,
        rtts=1.0,
    )
    retry_limit: int = param(
        7, "timeouts in a row after which the message fails", source="InfiniBand, 3-bit retry_cnt", low=0
    )

    class Transfer(Record):
        retransmit_timer_ps = Deadline("sender: resends the oldest unanswered packets")
        retries = Int32(doc="sender: timeouts since the last answer")
        new_psn = Int32(doc="sender: next packet to send for the first time")
        acked = Bits("sender: packets that have arrived")
        lost = Bits("sender: packets waiting to be resent")
        lost_packets = Int32(doc="sender: their number")
        awaited = Bits("sender: packets covered by the timer")
        awaited_packets = Int32(doc="sender: their number")
        awaited_since_ps = Int(doc="sender: when the first of them was sent, or the previous ones were all answered")
        returned_psn = Int32(-1, doc="sender: packet whose header was returned last, to be sent first")
        highest_pull = Int32(doc="sender: highest number of a pull")
        used_pulls = Int32(doc="sender: pulls that released a packet")
        pulls_expected = Int32(doc="sender: ACKs and NACKs less pulls")
        first_window = Int32(doc="sender: unanswered packets of the first window")
        recent_acks = Int32(doc="sender: kinds of the latest answers, one bit each, set for ACKs")
        answers = Int(doc="sender: ACKs, NACKs and returned headers")
        held = Bits("receiver: packets that have arrived")
        expected_psn = Int32(doc="receiver: oldest missing packet")
        pull_number = Int32(doc="receiver: pulls sent")
        owed_pulls = Int32(doc="receiver: pulls waiting for their turn")

    class Endpoint(Record):
        """The pacer of a host's pulls."""

        pull_timer_ps = Deadline("the next pull")
        last_pull_ps = Int(-NEVER)
        waiting_pulls = Int32(doc="of all messages")
        last_pulled = Int32(-1, doc="last message pulled")

    class Header(Record):
        """In ACKs, NACKs and pulls."""

        pull_number = Int32(doc="pulls sent to this message; 0 in an answer without a pull")
        cumulative_psn = Int32(doc="ACK: all packets below this have arrived")

    # Sender

    def on_start(params, qp, message, transfer):
        qp.credits = min(params.initial_window, message.packets)
        transfer.first_window = qp.credits

    def on_send(params, qp, message, transfer, packet, now):
        if packet.psn == transfer.new_psn:
            transfer.new_psn += 1
        else:
            clear_bit(transfer.lost, packet.psn)
            transfer.lost_packets -= 1
        if transfer.awaited_packets > 0 and now < transfer.awaited_since_ps + params.timeout_ps // _JOINING:
            set_bit(transfer.awaited, packet.psn)
            transfer.awaited_packets += 1
            transfer.retransmit_timer_ps = now + params.timeout_ps
        proceed(params, qp, message, transfer, now)

    def on_ack(params, qp, message, transfer, packet, now):
        transfer.first_window -= 1
        transfer.pulls_expected += 1
        note_answer(transfer, packet.kind == ACK)
        if packet.kind == ACK:
            settle(qp, message, transfer, packet.psn)
            while message.una_psn < packet.cumulative_psn:
                settle(qp, message, transfer, message.una_psn)
                message.una_psn += 1
        else:
            take_as_lost(qp, message, transfer, packet.psn)
        if packet.pull_number > 0:
            pull(qp, message, transfer, packet.pull_number)
        elif packet.kind == NAK:
            use_pulls(qp, message, transfer)  # its pull may have arrived first, on another path
        proceed(params, qp, message, transfer, now)

    def on_credit(params, qp, message, transfer, packet, now):
        transfer.retries = 0
        pull(qp, message, transfer, packet.pull_number)
        proceed(params, qp, message, transfer, now)

    def on_return(params, qp, message, transfer, packet, now):
        transfer.first_window -= 1
        note_answer(transfer, False)
        take_as_lost(qp, message, transfer, packet.psn)
        transfer.returned_psn = packet.psn
        is_last = transfer.pulls_expected == 0 and transfer.first_window <= 1  # the message gets no pull
        if is_last or is_bad_path(transfer):
            qp.credits += 1
        proceed(params, qp, message, transfer, now)

    def on_retransmit_timer(params, qp, message, transfer, now):
        message.timeouts += 1
        transfer.retries += 1
        if transfer.retries > params.retry_limit:
            message.failed = 1
            message.next_psn = message.una_psn
            qp.inflight_bytes = 0
            return
        if transfer.awaited_packets == 0:
            qp.credits += 1
        psn = find_set(transfer.awaited, message.una_psn, transfer.new_psn)
        while psn < transfer.new_psn:
            take_as_lost(qp, message, transfer, psn)
            qp.credits += 1
            psn = find_set(transfer.awaited, psn, transfer.new_psn)
        proceed(params, qp, message, transfer, now)

    # Receiver

    def on_data(params, host, endpoint, message, transfer, packet, reply, now):
        reply.psn = packet.psn
        if packet.is_trimmed:
            reply.kind = NAK
        else:
            reply.kind = ACK
            if not has_bit(transfer.held, packet.psn):
                set_bit(transfer.held, packet.psn)
                packet.accepted = 1
                message.received_packets += 1
                transfer.expected_psn = find_clear(transfer.held, transfer.expected_psn, message.packets)
        reply.cumulative_psn = transfer.expected_psn
        if message.received_packets == message.packets:
            endpoint.waiting_pulls -= transfer.owed_pulls
            transfer.owed_pulls = 0
        elif endpoint.waiting_pulls == 0 and now >= endpoint.last_pull_ps + pull_gap_ps(params, host):
            send_pull(endpoint, transfer, reply, now)
        else:
            transfer.owed_pulls += 1
            endpoint.waiting_pulls += 1
            if endpoint.pull_timer_ps == NEVER:
                endpoint.pull_timer_ps = endpoint.last_pull_ps + pull_gap_ps(params, host)

    def on_pull_timer(host, endpoint):
        if endpoint.waiting_pulls > 0:  # otherwise the messages were already complete
            host.pick = 1

    def on_candidate(endpoint, message, transfer):
        if transfer.owed_pulls > 0:
            message.key = message.number - endpoint.last_pulled
            if message.key <= 0:
                message.key += _TURN

    def on_pick(params, host, endpoint, message, transfer, reply, now):
        reply.kind = CREDIT
        reply.psn = transfer.pull_number + 1
        send_pull(endpoint, transfer, reply, now)
        transfer.owed_pulls -= 1
        endpoint.waiting_pulls -= 1
        endpoint.last_pulled = message.number
        if endpoint.waiting_pulls > 0:
            endpoint.pull_timer_ps = now + pull_gap_ps(params, host)


# Sender


def proceed(params, qp, message, transfer, now):
    """Choose the next packet; restart the timer once the packets that it covers are answered."""
    qp.credits = min(qp.credits, transfer.lost_packets + message.packets - transfer.new_psn)
    message.next_psn = transfer.new_psn
    if transfer.lost_packets > 0 and transfer.new_psn >= min(params.initial_window, message.packets):
        if transfer.returned_psn >= 0 and has_bit(transfer.lost, transfer.returned_psn):
            message.next_psn = transfer.returned_psn
        else:
            message.next_psn = find_set(transfer.lost, message.una_psn, transfer.new_psn)
    if transfer.awaited_packets == 0 and params.timeout_ps > 0:
        psn = find_clear(transfer.acked, message.una_psn, transfer.new_psn)
        while psn < transfer.new_psn:
            if not has_bit(transfer.lost, psn):
                set_bit(transfer.awaited, psn)
                transfer.awaited_packets += 1
            psn = find_clear(transfer.acked, psn + 1, transfer.new_psn)
        transfer.awaited_since_ps = now
        wait_ps = params.timeout_ps if transfer.awaited_packets > 0 else params.pull_timeout_ps
        transfer.retransmit_timer_ps = now + wait_ps


def settle(qp, message, transfer, psn):
    """Record a packet as received."""
    if not has_bit(transfer.acked, psn):
        set_bit(transfer.acked, psn)
        if has_bit(transfer.lost, psn):
            clear_bit(transfer.lost, psn)
            transfer.lost_packets -= 1
        else:
            qp.inflight_bytes -= packet_bytes(message, psn)
    await_no_longer(message, transfer, psn)


def take_as_lost(qp, message, transfer, psn):
    """Queue a packet for retransmission."""
    await_no_longer(message, transfer, psn)
    if not has_bit(transfer.acked, psn) and not has_bit(transfer.lost, psn):
        set_bit(transfer.lost, psn)
        transfer.lost_packets += 1
        qp.inflight_bytes -= packet_bytes(message, psn)


def await_no_longer(message, transfer, psn):
    """Handle an answer about a packet, or its timeout."""
    if has_bit(transfer.awaited, psn):
        clear_bit(transfer.awaited, psn)
        transfer.awaited_packets -= 1


def pull(qp, message, transfer, number):
    """Record a pull, which also stands for lost predecessors."""
    transfer.pulls_expected -= 1
    transfer.highest_pull = max(transfer.highest_pull, number)
    use_pulls(qp, message, transfer)


def use_pulls(qp, message, transfer):
    """Release as many packets as there are unused pulls."""
    sendable = transfer.lost_packets + message.packets - transfer.new_psn - qp.credits
    pulled = min(transfer.highest_pull - transfer.used_pulls, sendable)
    qp.credits += pulled
    transfer.used_pulls += pulled


def note_answer(transfer, is_ack):
    transfer.retries = 0
    transfer.answers += 1
    transfer.recent_acks = (transfer.recent_acks << 1 | (1 if is_ack else 0)) & ((1 << _HISTORY) - 1)


def is_bad_path(transfer):
    """Return whether more than a quarter of the latest answers were ACKs: then only this path is bad."""
    acks = 0
    for place in range(_HISTORY):
        acks += transfer.recent_acks >> place & 1
    return acks > 0 and min(transfer.answers, _HISTORY) // acks <= 3


# Receiver


def pull_gap_ps(params, host):
    return int(params.pull_bytes * 8e12 / host.line_bps / params.pull_rate)


def send_pull(endpoint, transfer, reply, now):
    """Attach the next pull to a packet to the sender."""
    transfer.pull_number += 1
    reply.pull_number = transfer.pull_number
    endpoint.last_pull_ps = now
