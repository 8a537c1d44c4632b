"""DASR: direct apportioning of sending rates, the receiver half of Dart.

Source: Xue et al., "Dart: Divide and Specialize for Fast Response to Congestion in RDMA-based Datacenter Networks",
IEEE/ACM ToN 2020, section III. The receiver counts its active senders and tells each its share of the line. It
suppresses ECN marks while its own link is the bottleneck; otherwise they are left to DCQCN (a separate component, which
follows this one).

Assumptions where the paper is silent:

- One rate per (sender, destination): the sender is counted once, so its messages to a receiver share one queue pair, in
  FIFO order (III-B).
- n is advertised in the states "no congestion" and "receiver congestion", and is 1 in "non-receiver congestion":
  advertising 1 without marks would make the rates oscillate each time the queue drains (III-C, figure 5).
- Receive throughput counts all bytes on the host's link, over half to all of `window_ps`, longer if that would hold
  fewer than `full_packets`; measurement restarts after an idle base RTT. "Equal to the line rate" means at least 0.95
  of it. Until the window holds that many packets, marks count as receiver congestion, unless the state is already
  "non-receiver congestion". If the window is longer than an incast takes to fill the queue up to the marking threshold,
  it still covers the time before the incast when the first mark arrives, and the receiver mistakes its own congestion
  for the network's.
- Non-receiver congestion ends after 50 us (DCQCN's CNP interval), or one base RTT if that is longer, without marks, or
  when the line is full again.
- A message starts at line rate, unless an advert arrived since its sender was last active (III-A, III-D).
"""

from rdmacc.interface import *

NO_CONGESTION, RECEIVER_CONGESTION, NON_RECEIVER_CONGESTION = range(3)

_UNSEEN, _OPEN, _ENDED = range(3)
_LONG_AGO = -NEVER


@dataclass(frozen=True, kw_only=True)
class Dasr(Component):
    """The receiver advertises n in every ACK; each sender sends at line / n."""

    pairwise: ClassVar[bool] = True

    look_ahead: bool = param(True, "the first message of a group announces all its senders", source="III-D")
    sender_id_bytes: Size = param("2B", "bytes for each sender in the announcement", source="III-D")
    idle_ps: Time = param("2s", "a sender leaves the set after being idle this long", source="III-B", low=1)
    announced_idle_ps: Time = param(
        "2s", "an announced sender that sends nothing leaves the set after this time", source="III-B", low=1
    )
    full_fraction: float = param(
        0.95, "throughput of at least this fraction of the line rate counts as 'equal to the line'", low=0.0, high=1.0
    )
    window_ps: OptionalTime = param(
        None, "throughput is averaged over half to all of this time; 0: one base RTT", unit="ps", low=0
    )
    full_packets: int = param(10, "least number of packets in the window", low=1)
    unmarked_ps: Time = param("50us", "non-receiver congestion ends after this time without marks", low=1)

    class Sender(Record):
        rate_bps = Float(doc="line / n")
        has_advert = Byte(doc="1 if an advert arrived while nothing was active")

    class Receiver(Record):
        """A sender's entry in the active unique sender set (AUSS)."""

        open_messages = Int32(doc="messages in flight; the sender is in the set while it is positive")
        epoch = Int32(doc="evictions so far")
        weight = Float(doc="the sender's weight while it is in the set")
        expires_ps = Int(doc="the sender leaves the set if nothing arrives by then")
        idle_timer_ps = Deadline()

    class Transfer(Record):
        phase = Byte(_UNSEEN)
        epoch = Int32(doc="the sender's epoch when the message was counted")

    class Endpoint(Record):
        """A receiver: size of its AUSS, state machine, throughput measurement."""

        auss_n = Int32(doc="|AUSS|")
        auss_weight = Float(doc="sum of the weights")
        congestion = Byte(NO_CONGESTION, "state of figure 5")
        marked_ps = Int(_LONG_AGO, doc="when the last marked packet arrived")
        data_ps = Int(_LONG_AGO, doc="when the last data packet arrived")
        old_start_ps = Int(doc="start of the throughput window")
        old_bytes = Int()
        old_packets = Int()
        new_start_ps = Int(doc="start of the next window")
        new_bytes = Int()
        new_packets = Int()

    class Header(Record):
        """In ACKs, NAKs and adverts."""

        auss_n = Int32(doc="n, for probes; the sender uses share")
        share = Float(doc="fraction of the receiver's line, w / sum of w")

    def extra_bytes(self, group_size: int) -> int:
        return group_size * self.sender_id_bytes if self.look_ahead else 0

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_start(qp, sender):
        if qp.active_messages == 1:
            if not sender.has_advert:
                sender.rate_bps = qp.line_bps
            sender.has_advert = 0

    def on_send(params, message, packet):
        if params.look_ahead and message.group >= 0 and packet.psn == 0:
            packet.wire_bytes += message.group_size * params.sender_id_bytes

    def on_ack(qp, sender, packet):
        sender.rate_bps = min(qp.line_bps, qp.peer_line_bps * packet.share)

    def on_advert(qp, sender, packet):
        sender.rate_bps = min(qp.line_bps, qp.peer_line_bps * packet.share)
        if qp.active_messages == 0:
            sender.has_advert = 1

    def on_data(params, host, endpoint, receiver, message, transfer, packet, reply, now):
        # Count a start before building the ACK and an end after it, so that this ACK still includes the message.
        if transfer.phase != _ENDED:
            if params.look_ahead and message.group >= 0 and packet.psn == 0 and transfer.phase == _UNSEEN:
                host.announce = 1
            open_message(endpoint, receiver, message, transfer)
            receiver.expires_ps = now + params.idle_ps
            receiver.idle_timer_ps = min(receiver.idle_timer_ps, receiver.expires_ps)
        classify(params, host, endpoint, packet, now)
        if endpoint.congestion == RECEIVER_CONGESTION:
            packet.ce = 0
        advertise(endpoint, receiver, reply)
        if message.received_packets == message.packets and transfer.phase == _OPEN:
            transfer.phase = _ENDED
            receiver.open_messages -= 1
            if receiver.open_messages == 0:
                leave(endpoint, receiver)

    def on_announce(params, endpoint, receiver, message, transfer, now):
        if transfer.phase == _UNSEEN:
            open_message(endpoint, receiver, message, transfer)
            receiver.expires_ps = max(receiver.expires_ps, now + params.announced_idle_ps)
            receiver.idle_timer_ps = min(receiver.idle_timer_ps, receiver.expires_ps)

    def on_advertise(endpoint, receiver, reply):
        if receiver.open_messages > 0:
            reply.kind = ADVERT
            advertise(endpoint, receiver, reply)

    def on_idle_timer(endpoint, receiver, now):
        if receiver.open_messages > 0:
            if receiver.expires_ps > now:
                receiver.idle_timer_ps = receiver.expires_ps
            else:
                receiver.open_messages = 0
                receiver.epoch += 1  # a later packet of one of its messages counts as a new start
                leave(endpoint, receiver)


def open_message(endpoint, receiver, message, transfer):
    """Count a message; its sender joins the set with its first one (figure 4a)."""
    if transfer.phase != _OPEN or transfer.epoch != receiver.epoch:
        transfer.phase = _OPEN
        transfer.epoch = receiver.epoch
        receiver.open_messages += 1
        if receiver.open_messages == 1:
            receiver.weight = message.weight
            endpoint.auss_n += 1
            endpoint.auss_weight += message.weight


def leave(endpoint, receiver):
    """Remove a sender from the set (figure 4b)."""
    endpoint.auss_n -= 1
    endpoint.auss_weight -= receiver.weight
    receiver.idle_timer_ps = NEVER


def advertise(endpoint, receiver, reply):
    """Write n and the sender's share into a reply."""
    reply.auss_n = endpoint.auss_n
    reply.share = 1.0
    if endpoint.congestion == NON_RECEIVER_CONGESTION:
        reply.auss_n = 1
    elif receiver.open_messages > 0:
        reply.share = receiver.weight / endpoint.auss_weight


def classify(params, host, endpoint, packet, now):
    """Run the state machine of figure 5 on one data packet."""
    rtt_ps = host.base_rtt_ps
    window_ps = params.window_ps if params.window_ps > 0 else rtt_ps
    if now - endpoint.data_ps > rtt_ps:  # the link was idle: measure from this packet's first bit
        endpoint.new_start_ps = now - int(packet.wire_bytes * 8e12 / host.line_bps + 0.5)
        endpoint.new_bytes = host.rx_wire_bytes - packet.wire_bytes
        endpoint.new_packets = host.rx_packets - 1
        endpoint.old_start_ps = endpoint.new_start_ps
        endpoint.old_bytes = endpoint.new_bytes
        endpoint.old_packets = endpoint.new_packets
    elif (
        now - endpoint.new_start_ps >= window_ps // 2 and host.rx_packets - endpoint.new_packets >= params.full_packets
    ):
        endpoint.old_start_ps = endpoint.new_start_ps
        endpoint.old_bytes = endpoint.new_bytes
        endpoint.old_packets = endpoint.new_packets
        endpoint.new_start_ps = now
        endpoint.new_bytes = host.rx_wire_bytes
        endpoint.new_packets = host.rx_packets
    endpoint.data_ps = now
    if packet.ce:
        endpoint.marked_ps = now
    unmarked_ps = now - endpoint.marked_ps
    if endpoint.congestion == NON_RECEIVER_CONGESTION:
        is_marked = unmarked_ps < max(params.unmarked_ps, rtt_ps)
    else:
        is_marked = unmarked_ps < rtt_ps
    if not is_marked:
        endpoint.congestion = NO_CONGESTION
    elif host.rx_packets - endpoint.old_packets >= params.full_packets:
        line_bytes = (now - endpoint.old_start_ps) * host.line_bps / 8e12
        is_full = host.rx_wire_bytes - endpoint.old_bytes >= params.full_fraction * line_bytes
        endpoint.congestion = RECEIVER_CONGESTION if is_full else NON_RECEIVER_CONGESTION
    elif endpoint.congestion == NO_CONGESTION:
        endpoint.congestion = RECEIVER_CONGESTION
