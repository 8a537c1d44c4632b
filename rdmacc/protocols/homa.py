"""Homa: the receiver grants the shortest messages, and packets have priorities in the network.

Source: Montazeri et al., "Homa: a receiver-driven low-latency transport protocol using network priorities", SIGCOMM
2018; where it is silent, the Linux implementation (PlatformLab/HomaModule) and the authors' simulator
(PlatformLab/HomaSimulation).

A sender transmits the first RTTbytes of a message at once, at a priority by the message's size (3.4). The rest needs
grants. On each arriving packet, the receiver ranks the incoming messages by remaining size, and keeps RTTbytes granted
but not received for the first K, at most one per sender (3.3, 3.5). Their packets get the lowest priorities, so that a
newcomer finds higher ones free. Each host's link serves the message with the fewest packets left (`nic_order`), and
packets use all paths (`routing`).

A receiver that misses packets for `resend_interval_ps` requests the first missing ones with a RESEND; the sender
retransmits them, or replies BUSY if it has not sent them yet (3.7). The unit here is a message, not an RPC: an
acknowledgment of the whole message replaces the RPC's response, and a sender that has heard nothing for
`ping_interval_ps` queries the state of its message, as a client would for its response.

Level 0 is the highest. Messages are ranked by packets left; ties are broken by the order of their latest packets, as in
a list sorted by insertion. Grants have their own class above all data (`ack_priority`). Not modelled: the control of
incasts by counting RPCs (3.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdmacc.interface import *
from rdmacc.protocols.homa_cutoffs import unscheduled_cutoffs, unscheduled_levels
from rdmacc.units import Quantity, size_bytes

if TYPE_CHECKING:
    from rdmacc import SizeDistribution

MAX_LEVELS = NUM_CLASSES - DATA_CLASS
"""Priority levels: the data classes."""

_MOST_GRANTED = 16
_ARRIVALS = 2**31


@dataclass(frozen=True, kw_only=True)
class Homa(Component):
    """Unscheduled packets, grants to the K shortest messages, priorities, RESEND."""

    rtt_bytes: OptionalSize = param(
        None,
        "unscheduled bytes of a message, and bytes granted but not received; 0: line rate times base RTT",
        unit="bytes",
        symbol="RTTbytes",
        source="section 3.2",
    )
    overcommit: int = param(
        7,
        "messages granted at the same time",
        symbol="K",
        source="section 3.5: the number of scheduled levels",
        low=1,
        high=_MOST_GRANTED,
    )
    levels: int = param(8, "priority levels", source="section 3.4: 8 in switches", low=2, high=MAX_LEVELS)
    cutoffs: Sizes = param(
        (),
        "largest message of each unscheduled level except the last, such as '200B 2800B'",
        unit="bytes",
        source="section 3.4: from the workload, see Homa.for_sizes; web search has one level",
    )
    lowest_levels: bool = param(
        True,
        "granted messages use the lowest levels; otherwise the highest scheduled ones",
        source="section 3.4",
    )
    separates_levels: bool = param(
        True, "each level has its own class; otherwise all packets share one, and levels have no effect",
        source="section 3.4; ns-3 port, ipv4-l3-protocol.cc: removes the tag that queues read",
    )  # fmt: skip
    grant_sets_level: bool = param(
        False,
        "a grant's level also applies to unscheduled packets not yet sent",
        source="homa-l4-protocol.cc of the ns-3 port",
    )
    resend_interval_ps: Time = param(
        answer_timer("5ms"),
        "receiver: time without an expected packet before a RESEND",
        unit="ps",
        source="section 3.7: a few ms; HomaModule: 5 ticks of 1 ms",
        low=1,
        rtts=1.0,
    )
    ping_interval_ps: Time = param(
        answer_timer("5ms"),
        "sender: time of silence before it queries a message",
        unit="ps",
        source="assumed: as RESEND, which a client sends for a response",
        low=1,
        rtts=1.0,
    )
    retry_limit: int = param(
        20, "unanswered RESENDs, or queries, in a row before the message fails",
        source="HomaModule: timeout_ticks 100, a RESEND every 5", low=0,
    )  # fmt: skip
    responsive_fraction: float = param(
        1.0, "share of the hosts that obey grants; the others only send unscheduled packets",
        source="REN, figure 20", low=0.0, high=1.0,
    )  # fmt: skip

    class Transfer(Record):
        ping_timer_ps = Deadline("sender: query the message")
        heard_ps = Int(doc="sender: when the receiver's last packet arrived")
        pings = Int32(doc="sender: queries since then")
        new_psn = Int32(doc="sender: next packet to send for the first time")
        unscheduled_psn = Int32(doc="sender: packets below this are unscheduled")
        lost = Bits("sender: packets to resend")
        lost_packets = Int32(doc="sender: their number")
        unscheduled_level = Byte(doc="sender: by the message's size")
        scheduled_level = Byte(-1, doc="sender: of the last grant, -1 before")
        resend_level = Byte(doc="sender: level of packets to resend")
        resend_timer_ps = Deadline("receiver: request missing packets")
        held = Bits("receiver: packets that have arrived")
        granted_packets = Int32(doc="receiver: packets granted, including unscheduled ones; 0 before the first packet")
        regranted_packets = Int32(doc="receiver: packets known to be lost, to be granted again (Aeolus)")
        granted_level = Byte(doc="receiver: level of the last grant")
        last_arrival = Int(doc="receiver: packet count of the host when the last packet arrived")
        resends = Int32(doc="receiver: RESENDs since then")

    class Endpoint(Record):
        """A receiving host: state of one round of grants."""

        arrivals = Int(doc="packets that have arrived")
        waiting_n = Int32(doc="number of senders whose messages need grants, at most K")
        waiting = Ints(_MOST_GRANTED, doc="these senders")
        served_n = Int32(doc="senders that were ranked in this round")
        served = Ints(_MOST_GRANTED, doc="these senders")

    class Header(Record):
        """In grants, whose psn is one past the last packet that may be sent, in RESENDs and requests."""

        end_psn = Int32(doc="RESEND: requests the packets from its psn up to, but excluding, this")
        level = Byte(doc="grant, RESEND: priority level of the packets")
        is_busy = Byte(doc="request: BUSY, otherwise a query")

    def __post_init__(self) -> None:
        super().__post_init__()
        if list(self.cutoffs) != sorted(self.cutoffs):
            raise ConfigError("Homa.cutoffs", self.cutoffs, "must ascend")
        if len(self.cutoffs) > self.levels - 2:
            raise ConfigError("Homa.cutoffs", self.cutoffs, f"at most levels - 2 = {self.levels - 2} sizes")

    @property
    def unscheduled_levels(self) -> int:
        """Number of levels for unscheduled packets, the highest ones."""
        return len(self.cutoffs) + 1

    @classmethod
    def for_sizes(cls, sizes: SizeDistribution, rtt_bytes: Quantity, *, levels: int = 8, **others: Any) -> Homa:
        """Return Homa with levels and overcommitment for the sizes of a workload.

        >>> from rdmacc.workload import SIZES
        >>> homa = Homa.for_sizes(SIZES["cache_follower"], "9.7kB")
        >>> homa.unscheduled_levels, homa.overcommit
        (1, 7)
        """
        count = unscheduled_levels(sizes, rtt_bytes, levels)
        cutoffs = unscheduled_cutoffs(sizes, rtt_bytes, count)
        parameters: dict[str, Any] = {"cutoffs": cutoffs, "overcommit": levels - count} | others
        return cls(rtt_bytes=size_bytes(rtt_bytes, field="rtt_bytes"), levels=levels, **parameters)

    @property
    def classes(self) -> frozenset[int]:
        """Priority classes that packets may have."""
        return frozenset(range(DATA_CLASS, DATA_CLASS + (self.levels if self.separates_levels else 1)))

    # Sender

    def on_start(params, qp, message, transfer, now):
        start_message(params, qp, message, transfer, now)
        message.granted_psn = transfer.unscheduled_psn

    def on_send(params, message, transfer, packet):
        packet.priority = DATA_CLASS + level_of(params, transfer, packet.psn)
        note_sent(message, transfer, packet.psn)
        choose_next(message, transfer)

    def on_credit(params, qp, message, transfer, packet, now):
        hear(transfer, now)
        if is_responsive(params, qp) and packet.psn > message.granted_psn:
            message.granted_psn = packet.psn
            transfer.scheduled_level = packet.level

    def on_ack(params, qp, message, transfer, packet, request, now):
        hear(transfer, now)
        if packet.kind == NAK:
            resend(message, transfer, packet, request)
            if is_responsive(params, qp):
                message.granted_psn = max(message.granted_psn, packet.end_psn)
            choose_next(message, transfer)
        else:
            close_message(qp, message)

    def on_ping_timer(params, message, transfer, request, now):
        ping(params, message, transfer, request, now)

    # Receiver

    def on_data(params, host, endpoint, qp, message, transfer, packet, reply, now):
        meet(params, endpoint, qp, message, transfer)
        take(message, transfer, packet)
        if message.received_packets == message.packets:
            reply.kind = ACK
            reply.psn = message.packets
        watch(params, message, transfer, now)
        begin_round(params, host, endpoint)

    def on_request(params, host, endpoint, qp, message, transfer, packet, reply, now):
        meet(params, endpoint, qp, message, transfer)
        answer(params, message, transfer, packet, reply, now)
        begin_round(params, host, endpoint)

    def on_candidate(params, endpoint, message, transfer):
        if transfer.granted_packets < message.packets + transfer.regranted_packets and not message.failed:
            left = message.packets - message.received_packets
            message.key = left * _ARRIVALS + transfer.last_arrival
            note_waiting(params, endpoint, message.src)

    def on_pick(params, host, endpoint, qp, message, transfer, reply, now):
        for i in range(endpoint.served_n):
            if endpoint.served[i] == message.src:
                host.pick += 1  # one message per sender: pick another one
                return
        rank = endpoint.served_n
        endpoint.served[rank] = message.src
        endpoint.served_n = rank + 1
        due = message.received_packets + transfer.regranted_packets + rtt_packets(params, qp, message)
        due = min(due, message.packets + transfer.regranted_packets)
        if due > transfer.granted_packets:
            transfer.granted_packets = due
            transfer.granted_level = level_of_rank(params, rank, endpoint.waiting_n)
            grant(transfer, reply)
            watch(params, message, transfer, now)

    def on_resend_timer(params, message, transfer, reply, now):
        missing = find_clear(transfer.held, 0, message.packets)
        end = min(transfer.granted_packets, message.packets)
        if missing < end:
            message.timeouts += 1
            transfer.resends += 1
            if transfer.resends > params.retry_limit:
                message.failed = 1
                return
            reply.kind = NAK
            reply.psn = missing
            reply.end_psn = find_set(transfer.held, missing, end)
            transfer.resend_timer_ps = now + params.resend_interval_ps


# Both sides


def rtt_packets(params, qp, message):
    window = params.rtt_bytes
    if window == 0:
        window = int(qp.line_bps * qp.base_rtt_ps / 8e12)
    return max(1, (window + message.payload_bytes - 1) // message.payload_bytes)


# Sender


def start_message(params, qp, message, transfer, now):
    """Initialise the sender's state of a message."""
    transfer.unscheduled_psn = min(message.packets, rtt_packets(params, qp, message))
    transfer.unscheduled_level = level_of_size(params, message.size_bytes)
    transfer.heard_ps = now
    transfer.ping_timer_ps = now + params.ping_interval_ps


def level_of_size(params, size):
    """Return the level of a message's unscheduled packets (section 3.4)."""
    level = 0
    while level < len(params.cutoffs) and size > params.cutoffs[level]:
        level += 1
    return level


def level_of(params, transfer, psn):
    if not params.separates_levels:
        return 0
    if psn < transfer.new_psn:
        return transfer.resend_level
    if psn >= transfer.unscheduled_psn or (params.grant_sets_level and transfer.scheduled_level >= 0):
        return transfer.scheduled_level
    return transfer.unscheduled_level


def note_sent(message, transfer, psn):
    """Record that a packet was sent, for the first time or again."""
    if psn == transfer.new_psn:
        transfer.new_psn += 1
    elif has_bit(transfer.lost, psn):
        clear_bit(transfer.lost, psn)
        transfer.lost_packets -= 1


def choose_next(message, transfer):
    """Make the first packet to resend the next one, otherwise the first new packet."""
    message.next_psn = transfer.new_psn
    if transfer.lost_packets > 0:
        message.next_psn = find_set(transfer.lost, 0, transfer.new_psn)


def is_responsive(params, qp):
    """Return whether a host obeys grants: the given share of any consecutive hosts does."""
    share = params.responsive_fraction
    return share >= 1.0 or int((qp.src + 1) * share + 1e-9) > int(qp.src * share + 1e-9)


def hear(transfer, now):
    transfer.heard_ps = now
    transfer.pings = 0


def resend(message, transfer, packet, request):
    """Answer a RESEND: retransmit, or reply BUSY if its first packet is still waiting to be sent (section 3.7)."""
    if packet.psn >= transfer.new_psn or has_bit(transfer.lost, packet.psn):
        request.kind = REQUEST
        request.is_busy = 1
    transfer.resend_level = packet.level
    for psn in range(packet.psn, min(packet.end_psn, transfer.new_psn)):
        if not has_bit(transfer.lost, psn):
            set_bit(transfer.lost, psn)
            transfer.lost_packets += 1


def close_message(qp, message):
    message.una_psn = message.packets
    message.next_psn = message.packets
    qp.inflight_bytes = 0


def ping(params, message, transfer, request, now):
    """Query the message if the receiver was silent, but not before the first packet was sent."""
    quiet_ps = transfer.heard_ps + params.ping_interval_ps
    if transfer.new_psn == 0:
        quiet_ps = now + params.ping_interval_ps
    if quiet_ps > now:
        transfer.ping_timer_ps = quiet_ps
        return
    transfer.pings += 1
    if transfer.pings > params.retry_limit:
        message.failed = 1
        return
    request.kind = REQUEST
    transfer.ping_timer_ps = now + params.ping_interval_ps


# Receiver


def meet(params, endpoint, qp, message, transfer):
    """Record a packet of a message; with the first one, its unscheduled packets count as granted."""
    if transfer.granted_packets == 0:
        transfer.granted_packets = min(message.packets, rtt_packets(params, qp, message))
    endpoint.arrivals += 1
    transfer.last_arrival = endpoint.arrivals
    transfer.resends = 0


def take(message, transfer, packet):
    """Record a packet, unless it is a duplicate."""
    if not packet.is_trimmed and not has_bit(transfer.held, packet.psn):
        set_bit(transfer.held, packet.psn)
        packet.accepted = 1
        message.received_packets += 1


def watch(params, message, transfer, now):
    """Restart the RESEND timer if a packet is expected: granted but not received."""
    held = message.received_packets + transfer.regranted_packets
    if message.received_packets < message.packets and held < transfer.granted_packets:
        transfer.resend_timer_ps = now + params.resend_interval_ps
    else:
        transfer.resend_timer_ps = NEVER


def answer(params, message, transfer, packet, reply, now):
    """Answer a sender's query: everything has arrived, nothing has arrived, or repeat the current grant."""
    if packet.is_busy or transfer.resend_timer_ps == NEVER:
        watch(params, message, transfer, now)
    if message.received_packets == message.packets:
        reply.kind = ACK
        reply.psn = message.packets
    elif not packet.is_busy:
        if message.received_packets == 0:
            reply.kind = NAK
            reply.end_psn = min(transfer.granted_packets, message.packets)
        else:
            grant(transfer, reply)


def grant(transfer, reply):
    reply.kind = CREDIT
    reply.psn = transfer.granted_packets
    reply.level = transfer.granted_level


def begin_round(params, host, endpoint):
    """Have the engine rank the incoming messages and serve the first K (section 3.5)."""
    endpoint.waiting_n = 0
    endpoint.served_n = 0
    host.pick = params.overcommit


def note_waiting(params, endpoint, src):
    """Count the senders of messages that need grants, up to K."""
    count = endpoint.waiting_n
    if count == params.overcommit:
        return
    for i in range(count):
        if endpoint.waiting[i] == src:
            return
    endpoint.waiting[count] = src
    endpoint.waiting_n = count + 1


def level_of_rank(params, rank, count):
    """Return the level of the message with a given rank (section 3.4): the last of n messages has the lowest level."""
    first, last = len(params.cutoffs) + 1, params.levels - 1
    if params.lowest_levels:
        return min(max(first, last - (count - 1) + rank), last)
    return min(first + rank, last)
