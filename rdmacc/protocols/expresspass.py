"""ExpressPass: the receiver paces credits, one per data packet, and uses the loss of credits as feedback.

Sources: Cho, Jang and Han, "Credit-scheduled delay-bounded congestion control for datacenters", SIGCOMM 2017
("paper"); the authors' simulator, kaist-ina/ns2-xpass, `xpass/xpass.cc` ("ns2-xpass").

The sender requests credits and stops them once its last packet is covered. The receiver sends them at a separate rate
for each message. Every port limits credits so that the data they trigger fit on the reverse link
(`Queueing.credit_fraction`), and drops the excess. A data packet echoes its credit's number, so the receiver measures
the fraction of lost credits and adjusts its rate to keep it small. Data and credits must take the same path
(`routing`).

Two feedback laws (`feedback`): the simulator's, which other papers compare with, targets a loss that shrinks as the
rate grows, and cuts to the rate that got through; the paper's (algorithm 1) targets a fixed loss.

Assumptions, so that no single loss stalls a message: a stop carries the number of packets sent; a receiver that misses
one requests it at once, and one that has all of them replies with an ACK (absent in the simulator); a sender that gets
neither repeats the stop. A sender without credits for `idle_timeout_ps` sends its request again, and a receiver that
has heard nothing for ten times as long stops. Credits that arrive at a sender without data are wasted.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import acknowledge, rewind

CREDIT_SHARE = 84 / (84 + 1538)
"""Share of a link for credits: one of 84 B per full packet of 1,538 B in the other direction (paper, section 3.1)."""

Feedback = Literal["simulator", "paper"]

_NEW, _ASKING, _RECEIVING, _STOPPED = range(4)

_PENDING = 32
_SILENT = 10


@dataclass(frozen=True, kw_only=True)
class ExpressPass(Component):
    """Credits at a rate controlled by credit loss, one data packet per credit, go-back-N."""

    one_message: ClassVar[bool] = True

    feedback: Feedback = param("simulator", "simulator or paper", choices=get_args(Feedback))
    initial_fraction: float = param(
        0.5,
        "initial rate, as a fraction of the maximum",
        symbol="alpha",
        source="paper, section 5: 1/2 to 1/32",
        low=1e-6,
        high=1.0,
    )
    initial_weight: float = param(
        0.5, "initial weight of the maximum rate in an increase", symbol="w_init", source="ns2-xpass", low=0.0, high=1.0
    )
    least_weight: float = param(0.01, "least weight", symbol="w_min", source="paper, section 5", low=0.0, high=1.0)
    most_weight: float = param(0.5, "largest weight", symbol="w_max", source="paper, section 3.2", low=0.0, high=1.0)
    weight_step: float = param(
        0.05, "increment of the weight (simulator)", source="ns2-xpass, credit_feedback_control", low=0.0
    )
    target_loss: float = param(
        0.125,
        "target loss of credits; the simulator's law scales it by 1 - rate / maximum",
        source="ns2-xpass: target_loss_scaling; 0.1 in the paper",
        low=0.0,
        high=1.0,
    )
    credit_share: float = param(
        CREDIT_SHARE, "maximum rate of credits, as a share of the line", source="paper, section 3.1", low=1e-6, high=1.0
    )
    least_credit_bytes: Size = param("84B", "smallest credit on the wire", source="paper, 3.1", low=1)
    most_credit_bytes: Size = param(
        "84B", "largest credit; sizes are random in between", source="paper, 3.1: least Ethernet frame", low=1
    )
    jitter: float = param(
        0.1, "random variation of the gap between credits, to either side", source="ns2-xpass", low=0.0, high=1.0
    )
    scaled_packets: int = param(
        40, "messages with fewer packets start at a proportionally lower rate; 0: never", source="ns2-xpass", low=0
    )
    early_stop: bool = param(
        True, "stop once a round trip has brought as many credits as there are packets left", source="ns2-xpass"
    )
    retransmit_timeout_ps: Time = param(
        answer_timer("100us"),
        "a request or NAK without effect is repeated after this",
        unit="ps",
        source="ns2-xpass, fat-tree script; 100 ms in ns-default.tcl",
        low=1,
        rtts=1.0,
    )
    idle_timeout_ps: Time = param(
        answer_timer("2ms"),
        "a sender without credits repeats its request after this",
        unit="ps",
        source="assumed: ns2-xpass's stop timeout",
        low=1,
        rtts=1.0,
    )
    retry_limit: int = param(100, "timeouts in a row after which the message fails", source="assumed", low=0)

    class Transfer(Record):
        """A message: the sender's side, and the receiver's timer for missing packets."""

        nack_timer_ps = Deadline("receiver: requests the missing packet again")
        state = Byte(_NEW)
        retry_timer_ps = Deadline("sender: repeats the request or the stop")
        retries = Int32(doc="timeouts since the last packet from the receiver")
        asked_ps = Int(doc="time of the last request")
        rtt_ps = Int(doc="from a request to its first credit")
        round_ps = Int(doc="start of the round trip in which credits are counted")
        round_credits = Int32(doc="credits of that round trip")
        is_last = Byte(doc="1 if the stop follows the last packet with a credit")
        wasted_credits = Int32(doc="credits that arrived without data to send")
        first_pending = Int32(doc="number of the oldest unused credit, in order of arrival")
        pending_numbers = Ints(_PENDING, doc="numbers of unused credits, a ring")
        pending_ps = Ints(_PENDING, doc="sending times of unused credits")

    class Receiver(Record):
        """The receiver's side of a message, which has its own queue pair."""

        credit_timer_ps = Deadline("the next credit")
        is_crediting = Byte()
        credit_bps = Float(doc="current rate of credits")
        weight = Float()
        may_grow = Byte(doc="1 if the last update was an increase, so the next one may raise the weight")
        updated_ps = Int(doc="time of the last rate update")
        next_credit = Int32(doc="number of the next credit to send")
        expected_credit = Int32(doc="number of the credit that the next packet is expected to echo")
        total_credits = Int32(doc="credits accounted for since the last update")
        lost_credits = Int32(doc="credits among them that brought no packet")
        rtt_ps = Float(doc="smoothed time from a credit to its packet; 0 before the first")
        heard_ps = Int(doc="when the sender's last packet arrived")
        draws = Int32(doc="random numbers used")

    class Header(Record):
        """In requests, credits and data."""

        credit_number = Int32(doc="credit, data: which credit")
        credit_ps = Int(doc="credit, data: when the credit was sent")
        left_packets = Int32(doc="request: packets to send; 0 in a stop")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most_credit_bytes < self.least_credit_bytes:
            allowed = f"at least least_credit_bytes, {self.least_credit_bytes}"
            raise ConfigError("ExpressPass.most_credit_bytes", self.most_credit_bytes, allowed)

    # Sender

    def on_open(qp):
        qp.credits = 0

    def on_start(params, message, transfer, request, now):
        ask(params, message, transfer, request, now)

    def on_credit(params, qp, message, transfer, packet, request, now):
        transfer.retries = 0
        transfer.round_credits += 1
        if transfer.state == _ASKING:
            transfer.state = _RECEIVING
            transfer.rtt_ps = now - transfer.asked_ps
            transfer.round_ps = now
        if transfer.state == _RECEIVING:
            transfer.retry_timer_ps = now + params.idle_timeout_ps
        if message.next_psn + qp.credits < message.packets and qp.credits < _PENDING:
            place = (transfer.first_pending + qp.credits) % _PENDING
            transfer.pending_numbers[place] = packet.credit_number
            transfer.pending_ps[place] = packet.credit_ps
            qp.credits += 1
        else:
            transfer.wasted_credits += 1
        if transfer.state == _RECEIVING:
            left = message.packets - message.next_psn - qp.credits
            if left <= 0:
                transfer.is_last = 1
            elif params.early_stop and now - transfer.round_ps >= transfer.rtt_ps:
                if transfer.round_credits >= left:
                    transfer.is_last = 1
                transfer.round_credits = 0
                transfer.round_ps = now
            if transfer.is_last and qp.credits == 0:
                stop(message, transfer, request, now)

    def on_send(qp, message, transfer, packet, request, now):
        place = transfer.first_pending % _PENDING
        packet.credit_number = transfer.pending_numbers[place]
        packet.credit_ps = transfer.pending_ps[place]
        transfer.first_pending += 1
        if transfer.is_last and qp.credits == 0:
            stop(message, transfer, request, now)
        elif transfer.state == _STOPPED:
            transfer.retry_timer_ps = now + 2 * transfer.rtt_ps

    def on_ack(params, qp, message, transfer, packet, request, now):
        if packet.psn < message.una_psn:
            return
        transfer.retries = 0
        acknowledge(qp, message, packet.psn)
        if packet.kind == NAK:
            rewind(qp, message)
            transfer.is_last = 0
            if transfer.state == _STOPPED:
                ask(params, message, transfer, request, now)

    def on_retry_timer(params, qp, message, transfer, request, now):
        has_more = message.next_psn + qp.credits < message.packets
        if transfer.state == _STOPPED and has_more:  # stopped too early: too few credits were in flight
            ask(params, message, transfer, request, now)
            return
        message.timeouts += 1
        transfer.retries += 1
        if transfer.retries > params.retry_limit:
            message.failed = 1
        elif transfer.state == _ASKING or has_more:
            ask(params, message, transfer, request, now)
        else:
            stop(message, transfer, request, now)
            transfer.retry_timer_ps = now + params.retransmit_timeout_ps

    # Receiver

    def on_request(params, qp, receiver, message, transfer, packet, reply, now):
        receiver.heard_ps = now
        if packet.left_packets == 0:
            receiver.is_crediting = 0
            receiver.credit_timer_ps = NEVER
        if message.received_packets == message.packets:
            reply.kind = ACK
            reply.psn = message.packets
        else:
            if message.received_packets < packet.psn and transfer.nack_timer_ps == NEVER:
                ask_again(params, message, transfer, reply, now)
            if packet.left_packets > 0 and not receiver.is_crediting:
                begin_credits(params, qp, receiver, packet, now)

    def on_data(params, receiver, message, transfer, packet, reply, now):
        receiver.heard_ps = now
        count_credits(receiver, packet, now)
        if packet.psn == message.received_packets and not packet.is_trimmed:
            packet.accepted = 1
            message.received_packets += 1
            transfer.nack_timer_ps = NEVER
            if message.received_packets == message.packets and not receiver.is_crediting:
                reply.kind = ACK  # a repeated stop
                reply.psn = message.packets
        elif packet.psn >= message.received_packets and transfer.nack_timer_ps == NEVER:
            ask_again(params, message, transfer, reply, now)

    def on_nack_timer(params, message, transfer, reply, now):
        ask_again(params, message, transfer, reply, now)

    def on_credit_timer(params, qp, receiver, reply, now):
        if now - receiver.heard_ps > _SILENT * params.idle_timeout_ps:
            receiver.is_crediting = 0
            return
        update_rate(params, qp, receiver, now)
        reply.kind = CREDIT
        reply.priority = CREDITS
        reply.wire_bytes = params.least_credit_bytes
        if params.most_credit_bytes > params.least_credit_bytes:
            sizes = params.most_credit_bytes - params.least_credit_bytes + 1
            reply.wire_bytes += int(draw(qp, receiver) * sizes)
        reply.psn = receiver.next_credit
        reply.credit_number = receiver.next_credit
        reply.credit_ps = now
        receiver.next_credit += 1
        gap_ps = mean_credit_bits(params) * 1e12 / receiver.credit_bps
        if params.jitter > 0.0:
            gap_ps *= 1.0 + params.jitter * (2.0 * draw(qp, receiver) - 1.0)
        receiver.credit_timer_ps = now + max(1, int(gap_ps))


# Sender


def ask(params, message, transfer, request, now):
    """Request credits for the remaining packets."""
    request.kind = REQUEST
    request.psn = message.next_psn
    request.left_packets = message.packets - message.next_psn
    transfer.state = _ASKING
    transfer.asked_ps = now
    transfer.is_last = 0
    transfer.retry_timer_ps = now + params.retransmit_timeout_ps


def stop(message, transfer, request, now):
    """Tell the receiver to stop sending credits, and how many packets were sent."""
    request.kind = REQUEST
    request.psn = message.next_psn
    request.left_packets = 0
    transfer.state = _STOPPED
    transfer.is_last = 0
    transfer.retry_timer_ps = now + 2 * transfer.rtt_ps


# Receiver


def ask_again(params, message, transfer, reply, now):
    """Request the missing packet and all after it."""
    reply.kind = NAK
    reply.psn = message.received_packets
    transfer.nack_timer_ps = now + params.retransmit_timeout_ps


def begin_credits(params, qp, receiver, packet, now):
    """Start sending credits at the initial rate."""
    fraction = params.initial_fraction
    if packet.left_packets < params.scaled_packets:
        fraction *= packet.left_packets / params.scaled_packets
    receiver.is_crediting = 1
    receiver.weight = params.initial_weight
    receiver.credit_bps = fraction * params.credit_share * qp.peer_line_bps
    receiver.updated_ps = now
    receiver.credit_timer_ps = now


def count_credits(receiver, packet, now):
    """Account for the credits up to the one that a packet echoes; skipped ones are lost."""
    lost = packet.credit_number - receiver.expected_credit
    if lost >= 0:  # otherwise it was overtaken and already counted as lost
        receiver.total_credits += lost + 1
        receiver.lost_credits += lost
        receiver.expected_credit = packet.credit_number + 1
    sample_ps = now - packet.credit_ps
    receiver.rtt_ps = 0.8 * receiver.rtt_ps + 0.2 * sample_ps if receiver.rtt_ps > 0.0 else float(sample_ps)


def update_rate(params, qp, receiver, now):
    """Once a round trip, adjust the rate by the fraction of lost credits."""
    elapsed_ps = now - receiver.updated_ps
    if receiver.rtt_ps <= 0.0 or elapsed_ps < receiver.rtt_ps or receiver.total_credits == 0:
        return
    most_bps = params.credit_share * qp.peer_line_bps
    loss = receiver.lost_credits / receiver.total_credits
    if params.feedback == "paper":
        update_by_paper(params, receiver, loss, most_bps)
    else:
        through_bps = mean_credit_bits(params) * 1e12 * (receiver.total_credits - receiver.lost_credits) / elapsed_ps
        update_by_simulator(params, receiver, loss, most_bps, through_bps)
    receiver.credit_bps = max(receiver.credit_bps, mean_credit_bits(params) * 1e12 / receiver.rtt_ps)
    receiver.total_credits = 0
    receiver.lost_credits = 0
    receiver.updated_ps = now


def update_by_simulator(params, receiver, loss, most_bps, through_bps):
    """Feedback of ns2-xpass, `credit_feedback_control`."""
    target = (1.0 - receiver.credit_bps / most_bps) * params.target_loss
    if loss > target:
        receiver.credit_bps = min(receiver.credit_bps, through_bps * (1.0 + target))
        receiver.weight = max(receiver.weight / 2.0, params.least_weight)
        receiver.may_grow = 0
    else:
        if receiver.may_grow:
            receiver.weight = min(receiver.weight + params.weight_step, params.most_weight)
        receiver.may_grow = 1
        receiver.credit_bps += receiver.weight * (most_bps - receiver.credit_bps)
    receiver.credit_bps = min(receiver.credit_bps, most_bps)


def update_by_paper(params, receiver, loss, most_bps):
    """Feedback of the paper, algorithm 1."""
    if loss > params.target_loss:
        receiver.credit_bps *= (1.0 - loss) * (1.0 + params.target_loss)
        receiver.weight = max(receiver.weight / 2.0, params.least_weight)
        receiver.may_grow = 0
    else:
        if receiver.may_grow:
            receiver.weight = (receiver.weight + params.most_weight) / 2.0
        receiver.may_grow = 1
        aim_bps = most_bps * (1.0 + params.target_loss)
        receiver.credit_bps += receiver.weight * (aim_bps - receiver.credit_bps)


def mean_credit_bits(params):
    return 4.0 * (params.least_credit_bytes + params.most_credit_bytes)


def draw(qp, receiver):
    receiver.draws += 1
    return uniform(qp.reply_chance_key, receiver.draws)
