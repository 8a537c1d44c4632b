"""pHost: the receiver sends tokens, one per packet, shortest message first; unused tokens expire.

Sources: Gao et al., "pHost: Distributed near-optimal datacenter transport over commodity network fabric", CoNEXT 2015;
the authors' simulator, NetSys/simulator, `ext/capabilityflow.cpp` and `ext/capabilityhost.cpp` ("YAPS"; a capability is
a token).

A sender announces a message (RTS) and may send its first packets with free tokens. The receiver sends one token per
packet time, to the message with the fewest packets left among those that have used enough of their tokens. A token
names a packet and is lost if the sender is busy with others. The only ACK is for the whole message: if all packets have
had a token and some have not arrived, the receiver sends tokens for these after a while.

A parameter of 0 is derived from the round trip as in the authors' experiments, where that was 8 packet times.

Free tokens (`free_rule`): for the first packets of each message (paper), or for messages that need no others
(simulator). The receiver sends no tokens during the packet times in which free packets arrive. A token applies to the
time one round trip later (two packet times less than that of a full packet and its ACK); the simulator assumes zero.

Assumptions: a sender that hears nothing for `ask_timeout_ps` announces the message again, and the receiver answers with
the ACK if it has the whole message, otherwise with a NAK; in the simulator neither RTS nor ACK is ever lost. The NIC
serves the message with the fewest packets left after the one that its next token names. A sender keeps at most 16
tokens per message.
"""

import math

from rdmacc.interface import *

FreeRule = Literal["paper", "simulator"]

_MOST = 1e6  # upper bound of all timers, in packet times

_TOKENS = 16


@dataclass(frozen=True, kw_only=True)
class PHost(Component):
    """Announcements, tokens by fewest packets left, expiring tokens, skipped senders."""

    free_rule: FreeRule = param(
        "paper", "which messages have free tokens: paper or simulator", choices=get_args(FreeRule)
    )
    free_packets: int = param(
        0, "free tokens per message; in the simulator, packets of the largest message with any; 0: a round trip's",
        source="paper, section 3: a bandwidth-delay product", low=0,
    )  # fmt: skip
    packet_bytes: Size = param("1500B", "bytes sent in a packet time", source="paper", low=1)
    token_bytes: Size = param("1500B", "bytes sent in the time between tokens", source="paper", low=1)
    expiry_packets: float = param(
        1.5, "packet times after which a token is lost", source="paper; YAPS, capability_timeout", low=0.0, high=_MOST
    )
    window_packets: int = param(0, "most unused tokens of a message; 0: one round trip's", source="YAPS: 8 of 8", low=0)
    window_timeout_packets: float = param(
        0.0, "packet times after the last token until unused tokens count as lost; 0: three round trips",
        source="YAPS: 25, of 8 in a round trip", low=0.0, high=_MOST,
    )  # fmt: skip
    resend_packets: float = param(
        0.0, "packet times after the last token until missing packets get new ones; 0: one more than a round trip",
        source="YAPS: 9, of 8 in a round trip", low=0.0,
    )  # fmt: skip
    free_resend_ps: OptionalTime = param(
        None, "the same if only free tokens were used, for each of them; 0: as for other tokens", unit="ps",
        source="YAPS, set_capability_count",
    )  # fmt: skip
    downgrade_rtts: float = param(
        3.0, "round trips for which a sender that left its tokens unused is skipped; 0: never",
        source="paper, section 3", low=0.0,
    )  # fmt: skip
    holds_slots: bool = param(
        False, "pause tokens for as many packet times as a message has free packets, without subtracting a round trip",
        source="YAPS, CAPABILITY_HOLD",
    )  # fmt: skip
    wakes_on_data: bool = param(
        True,
        "a packet that makes room for a token ends the receiver's wait; in YAPS only a timeout does",
        source="paper",
    )
    short_packets: int = param(
        8,
        "messages of up to this many packets use the higher of two classes",
        source="YAPS, capability_prio_thresh",
        low=0,
    )
    ask_timeout_ps: Time = param(
        answer_timer("1ms"), "time of silence after which a sender announces again", unit="ps", source="assumed", low=1,
        rtts=1.0,
    )  # fmt: skip
    retry_limit: int = param(100, "announcements in a row before the message fails", source="assumed", low=0)

    class Transfer(Record):
        ask_timer_ps = Deadline("sender: announces again")
        retries = Int32(doc="sender: announcements since the receiver's last word")
        expiry_timer_ps = Deadline("sender: tokens expire")
        free_left = Int32(doc="sender: free tokens")
        free_until_ps = Int(doc="sender: when they expire")
        first_token = Int32(doc="sender: number of the oldest token held, in order of arrival")
        held_tokens = Int32(doc="sender: number of tokens held")
        token_psn = Ints(_TOKENS, doc="sender: packets that the tokens name, a ring")
        token_number = Ints(_TOKENS, doc="sender: the receiver's numbers of the tokens")
        token_until_ps = Ints(_TOKENS, doc="sender: when they expire")
        expired_tokens = Int32(doc="sender: expired tokens")
        is_known = Byte(doc="receiver: 1 once anything has arrived")
        held = Bits("receiver: packets that have arrived")
        tokens = Int32(doc="receiver: tokens sent, including free ones")
        goal = Int32(doc="receiver: tokens to send before waiting for missing packets")
        last_psn = Int32(-1, doc="receiver: packet named by the last token")
        used_token = Int32(-1, doc="receiver: highest number of a token that was used or counted as lost")
        last_token_ps = Int(doc="receiver: when it sent the last token")
        resume_ps = Int(doc="receiver: earliest time of the next token")
        is_resuming = Byte(doc="receiver: 1 if it waits for missing packets")
        downgrades = Int32(doc="receiver: number of times the sender was skipped")

    class Endpoint(Record):
        """The pacer of a host's tokens."""

        token_timer_ps = Deadline("time of the next token, or the end of a wait")
        next_token_ps = Int(doc="earliest time of the next token")
        is_waiting = Byte(doc="1 if the timer ends a wait")
        held_slots = Int32(doc="packet times reserved for free tokens")

    class Header(Record):
        """In tokens and data."""

        token_number = Int32(doc="tokens sent to the message before this one")

    @property
    def classes(self) -> frozenset[int]:
        """Priority classes of data: short messages, long ones."""
        return frozenset({DATA_CLASS, DATA_CLASS + 1})

    # Sender

    def on_start(params, qp, message, transfer, request, now):
        transfer.free_left = free_tokens(params, qp, message)
        packets = transfer.free_left + params.expiry_packets
        transfer.free_until_ps = now + packet_times_ps(params, packets, qp.line_bps)
        announce(params, message, transfer, request, now)
        choose(qp, message, transfer)

    def on_credit(params, qp, message, transfer, packet, now):
        transfer.retries = 0
        transfer.ask_timer_ps = now + params.ask_timeout_ps
        if transfer.held_tokens < _TOKENS:
            place = (transfer.first_token + transfer.held_tokens) % _TOKENS
            transfer.token_psn[place] = packet.psn
            transfer.token_number[place] = packet.token_number
            transfer.token_until_ps[place] = now + packet_times_ps(params, params.expiry_packets, qp.line_bps)
            transfer.held_tokens += 1
        else:
            transfer.expired_tokens += 1
        choose(qp, message, transfer)

    def on_send(params, qp, message, transfer, packet):
        packet.priority = DATA_CLASS if message.packets <= params.short_packets else DATA_CLASS + 1
        if transfer.free_left > 0:
            packet.token_number = packet.psn
            transfer.free_left -= 1
        else:
            packet.token_number = transfer.token_number[transfer.first_token % _TOKENS]
            transfer.first_token += 1
            transfer.held_tokens -= 1
        choose(qp, message, transfer)

    def on_expiry_timer(qp, message, transfer, now):
        if transfer.free_left > 0 and transfer.free_until_ps < now:
            transfer.expired_tokens += transfer.free_left
            transfer.free_left = 0
        while transfer.held_tokens > 0 and transfer.token_until_ps[transfer.first_token % _TOKENS] < now:
            transfer.first_token += 1
            transfer.held_tokens -= 1
            transfer.expired_tokens += 1
        choose(qp, message, transfer)

    def on_ack(message, transfer, packet):
        transfer.retries = 0
        if packet.kind == ACK:
            message.una_psn = message.packets

    def on_ask_timer(params, message, transfer, request, now):
        message.timeouts += 1
        transfer.retries += 1
        if transfer.retries > params.retry_limit:
            message.failed = 1
            message.next_psn = message.packets
        else:
            announce(params, message, transfer, request, now)

    # Receiver

    def on_request(params, host, endpoint, qp, message, transfer, reply, now):
        if message.received_packets == message.packets:
            reply.kind = ACK
            reply.psn = message.packets
        elif transfer.is_known:
            reply.kind = NAK
            reply.psn = message.received_packets
        else:
            learn(params, host, endpoint, qp, message, transfer, now)

    def on_data(params, host, endpoint, qp, message, transfer, packet, reply, now):
        learn(params, host, endpoint, qp, message, transfer, now)
        if not packet.is_trimmed:
            transfer.used_token = max(transfer.used_token, packet.token_number)
            if not has_bit(transfer.held, packet.psn):
                set_bit(transfer.held, packet.psn)
                packet.accepted = 1
                message.received_packets += 1
        if message.received_packets == message.packets:
            reply.kind = ACK
            reply.psn = message.packets
        elif params.wakes_on_data and endpoint.is_waiting:
            wake(endpoint, now)

    def on_token_timer(params, host, endpoint, now):
        endpoint.is_waiting = 0
        if endpoint.held_slots > 0:
            endpoint.held_slots -= 1
            pace(params, host, endpoint, now)
        else:
            host.pick = 1

    def on_candidate(params, host, endpoint, qp, message, transfer, now):
        if not transfer.is_known:
            return
        if now >= transfer.resume_ps:
            if transfer.is_resuming:
                transfer.is_resuming = 0
                transfer.goal += message.packets - message.received_packets
            if transfer.tokens - transfer.used_token - 1 < window(params, qp):
                message.key = message.packets - message.received_packets
                return
            wait_packets = params.window_timeout_packets
            if wait_packets == 0.0:
                wait_packets = 3.0 * rtt_packets(params, qp)
            lost_ps = transfer.last_token_ps + packet_times_ps(params, wait_packets, host.line_bps)
            if now < lost_ps:
                wait_until(endpoint, lost_ps)
            elif params.downgrade_rtts > 0.0:
                transfer.downgrades += 1
                transfer.used_token = transfer.tokens - 1
                transfer.resume_ps = now + int(params.downgrade_rtts * qp.base_rtt_ps)
            else:
                transfer.used_token = transfer.tokens - window(params, qp)
                message.key = message.packets - message.received_packets
        if now < transfer.resume_ps:
            wait_until(endpoint, transfer.resume_ps)

    def on_pick(params, host, endpoint, qp, message, transfer, reply, now):
        reply.kind = CREDIT
        reply.psn = next_psn(message, transfer)
        reply.token_number = transfer.tokens
        transfer.last_psn = reply.psn
        transfer.tokens += 1
        transfer.last_token_ps = now
        if transfer.tokens == transfer.goal:
            transfer.is_resuming = 1
            transfer.resume_ps = now + packet_times_ps(params, resend_wait(params, qp), host.line_bps)
        pace(params, host, endpoint, now)


# Sender


def packet_times_ps(params, packets, rate_bps):
    """Return the time in which a link sends a number of packets."""
    return int(packets * params.packet_bytes * 8e12 / rate_bps)


def rtt_packets(params, qp):
    """Return the round trip in packet times of the sender's link, rounded up."""
    return math.ceil(qp.base_rtt_ps * qp.line_bps / (params.packet_bytes * 8e12))


def free_tokens(params, qp, message):
    """Return the number of packets of a message that need no token from the receiver."""
    most = params.free_packets
    if most == 0:
        most = rtt_packets(params, qp)
    if params.free_rule == "paper":
        return min(most, message.packets)
    return message.packets if message.packets <= most else 0


def announce(params, message, transfer, request, now):
    request.kind = REQUEST
    request.psn = message.packets
    transfer.ask_timer_ps = now + params.ask_timeout_ps


def choose(qp, message, transfer):
    """Make the packet named by the oldest token the next one; set the timer for its expiry."""
    qp.credits = transfer.free_left + transfer.held_tokens
    transfer.expiry_timer_ps = NEVER
    if transfer.free_left > 0:
        message.next_psn = message.highest_psn  # free tokens name the first packets in order
        transfer.expiry_timer_ps = transfer.free_until_ps + 1
    elif transfer.held_tokens > 0:
        place = transfer.first_token % _TOKENS
        message.next_psn = transfer.token_psn[place]
        transfer.expiry_timer_ps = transfer.token_until_ps[place] + 1


# Receiver


def learn(params, host, endpoint, qp, message, transfer, now):
    """Record a new message; its free tokens count as sent."""
    if transfer.is_known:
        return
    transfer.is_known = 1
    free = free_tokens(params, qp, message)
    transfer.tokens = free
    transfer.goal = message.packets
    transfer.last_psn = free - 1
    transfer.last_token_ps = now
    endpoint.held_slots += free
    if not params.holds_slots:
        endpoint.held_slots -= min(free, max(0, rtt_packets(params, qp) - 3))
    if transfer.tokens == transfer.goal:
        transfer.is_resuming = 1
        wait_ps = packet_times_ps(params, free + resend_wait(params, qp), host.line_bps)
        if params.free_resend_ps > 0:
            wait_ps = free * params.free_resend_ps
        transfer.resume_ps = now + wait_ps
    if endpoint.is_waiting or endpoint.token_timer_ps == NEVER:
        wake(endpoint, now)


def window(params, qp):
    """Return the number of a message's tokens that may be unused."""
    return params.window_packets if params.window_packets > 0 else rtt_packets(params, qp)


def resend_wait(params, qp):
    """Return the packet times to wait for missing packets."""
    return params.resend_packets if params.resend_packets > 0.0 else 1.0 + rtt_packets(params, qp)


def wake(endpoint, now):
    """Choose a message for a token as soon as the pace allows."""
    endpoint.is_waiting = 0
    endpoint.token_timer_ps = max(now, endpoint.next_token_ps)


def pace(params, host, endpoint, now):
    """Continue after a packet time."""
    endpoint.next_token_ps = now + int(params.token_bytes * 8e12 / host.line_bps)
    endpoint.token_timer_ps = endpoint.next_token_ps
    endpoint.is_waiting = 0


def wait_until(endpoint, at_ps):
    """Check again at a later time if no message gets a token now."""
    endpoint.is_waiting = 1
    endpoint.token_timer_ps = min(endpoint.token_timer_ps, at_ps)


def next_psn(message, transfer):
    """Return the packet for the next token: the next missing one, cyclically."""
    psn = find_clear(transfer.held, transfer.last_psn + 1, message.packets)
    return psn if psn < message.packets else find_clear(transfer.held, 0, message.packets)
