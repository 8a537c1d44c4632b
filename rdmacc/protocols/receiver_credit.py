"""Credit from the receiver: Ultra Ethernet's RCCC, and its ancestor EQDS.

Sources: Ultra Ethernet Specification 1.0, receiver credit (RCCC), and uet-htsim (`uec.cpp`); Olteanu et al., "An
edge-queued datagram service for all datacenter traffic" (EQDS), NSDI 2022, and csg-htsim (`eqds.cpp`). It runs on
`Uet`, over trimming switches, with sprayed packets (`PathChoice`), alone or together with `Nscc`.

A sender may send while it has credit; a packet costs its bytes, and the last one may overdraw. It starts with the
maximum credit without a request, which expires with the first answer. Every data packet states the cumulative number of
units of credit requested; because numbers are cumulative, one PULL replaces lost predecessors. The receiving host
grants to its messages in turn, one step each, at slightly less than its link's rate. If there are no requests, it gives
messages a little more than they requested ("slow" pulls), up to a maximum, so that a sender that wakes up has credit.

RCCC: requests include packets that wait for retransmission, and grants stop at the request. EQDS: the receiver counts
trimmed packets and grants for them first (`counts_at_receiver`).

Where the network is oversubscribed, receivers may also follow congestion in the core (`core_control`).

In uet-htsim a sender divides its request by the number of queue pairs that wait for its link, itself included, so that
it does not reserve several receivers that it cannot serve at once (`divides_request`).

Assumption: an RTS requests everything that the receiver misses.
"""

from rdmacc.interface import *
from rdmacc.protocols.core_control import CoreRate, decide, note_arrival, plan_decision

_TURN = 2**40  # offset between the keys of two lists
_RESENDING, _ACTIVE, _IDLE = 0, _TURN, 2 * _TURN
_LEAST_BYTES = 1024  # a pull without a grant takes the time of this size


@dataclass(frozen=True, kw_only=True)
class ReceiverCredit(Component):
    """Paced credit from the receiver."""

    unit_bytes: Size = param("256B", "unit of credit", source="uet-htsim", low=1)
    units_per_pull: int = param(64, "units granted per pull", source="uet-htsim: 4 payloads of 4,096 B", low=1)
    rate: float = param(0.99, "grants, as a share of the receiver's link", source="uet-htsim", low=0.01, high=1.0)
    largest: float = param(1.5, "maximum and initial credit, in BDPs", source="uet-htsim: 1.5 BDP", low=0.01)
    largest_bytes: OptionalSize = param(
        None, "maximum credit; 0: from `largest`", unit="bytes", source="csg-htsim: 50 packets"
    )
    counts_at_receiver: bool = param(
        False, "the receiver counts trimmed packets, and grants for them first", source="csg-htsim: eqds.cpp"
    )
    divides_request: bool = param(
        True, "a request is divided by the queue pairs that wait for the sender's link", source="uec.cpp: activeSources"
    )
    oversubscription: float = param(
        1.0, "of the network; above 1, receivers grant less while the core is congested", source="uet-htsim", low=1.0
    )
    core_target: float = param(
        0.3, "average share of marked packets to allow then", source="oversubscribed_cc.cpp", low=0.0, high=1.0
    )
    core_gain: float = param(0.5, "gain of that average", source="oversubscribed_cc.cpp: alpha", low=0.0, high=1.0)
    core_decrease: float = param(
        0.5, "share to cut for each unit of excess marks", source="oversubscribed_cc.cpp: Md", low=0.0, high=1.0
    )
    core_increase: float = param(
        0.01, "first increase, as a share of the link", source="oversubscribed_cc.cpp: Ai", low=0.0, high=1.0
    )

    class Transfer(Record):
        credit_bytes = Int(doc="sender: credit, which may be below 0 by less than a packet")
        speculates = Byte(doc="sender: 1 until the first answer")
        pulled = Int(doc="sender: highest number of a PULL, units")
        settled_bytes = Int(doc="sender: acknowledged wire bytes")
        granted = Int(doc="receiver: units granted")
        wanted = Int(doc="receiver: units requested")
        trimmed_units = Int(doc="receiver: units of trimmed packets, less those granted")
        place = Int(NEVER, doc="receiver: position in the lists of its host; NEVER if in none")

    class Endpoint(CoreRate):
        """The pacer of a host's pulls, its lists, and its view of the core."""

        pull_timer_ps = Deadline("the next pull")
        next_pull_ps = Int(doc="earliest time of the next pull")
        appended = Int(doc="positions assigned so far")
        waiting = Int32(doc="messages in lists")

    class Header(Record):
        """The request in data packets, the grant in PULLs."""

        credit_units = Int(doc="number of the last unit")

    # Sender

    def on_start(params, qp, transfer):
        transfer.speculates = 1
        transfer.credit_bytes = most_bytes(params, qp)
        allow(qp, transfer)

    def on_send(params, qp, message, transfer, packet):
        transfer.credit_bytes -= packet.wire_bytes
        if transfer.credit_bytes <= 0:
            packet.asks_ack = 1
        allow(qp, transfer)
        want = max(0, min(backlog(params, qp, message, transfer), most_bytes(params, qp)) - transfer.credit_bytes)
        if transfer.speculates and message.highest_psn < message.packets:
            want = max(want, qp.wire_bytes)
        if params.divides_request:
            want = (want + qp.contenders) // (qp.contenders + 1)
        packet.credit_units = transfer.pulled + (want + params.unit_bytes - 1) // params.unit_bytes

    def on_ack(qp, transfer, packet):
        if packet.kind != NAK:
            transfer.settled_bytes += packet.settled_bytes
        end_speculation(transfer)
        allow(qp, transfer)

    def on_credit(params, qp, transfer, packet):
        end_speculation(transfer)
        if packet.credit_units > transfer.pulled:
            more = (packet.credit_units - transfer.pulled) * params.unit_bytes
            transfer.credit_bytes = min(transfer.credit_bytes + more, most_bytes(params, qp))
            transfer.pulled = packet.credit_units
        allow(qp, transfer)

    # Receiver

    def on_data(params, host, endpoint, qp, message, transfer, packet, now):
        if params.oversubscription > 1.0:
            note_arrival(host, endpoint, qp, packet, now)
        has_risen = packet.credit_units > transfer.wanted
        transfer.wanted = max(transfer.wanted, packet.credit_units)
        if message.received_packets == message.packets:
            leave(endpoint, transfer)
            return
        if packet.is_trimmed and params.counts_at_receiver:
            transfer.trimmed_units += (qp.wire_bytes + params.unit_bytes - 1) // params.unit_bytes
            join(endpoint, transfer, _RESENDING, now)
        elif packet.is_trimmed or has_risen:
            join(endpoint, transfer, _ACTIVE, now)

    def on_request(params, endpoint, qp, message, transfer, now):
        if message.received_packets < message.packets:
            missing = (message.packets - message.received_packets) * qp.wire_bytes
            want = (min(missing, most_bytes(params, qp)) + params.unit_bytes - 1) // params.unit_bytes
            transfer.wanted = max(transfer.wanted, transfer.granted + want)
            join(endpoint, transfer, _ACTIVE, now)

    def on_pull_timer(host, endpoint):
        if endpoint.waiting > 0:
            host.pick = 1

    def on_core_timer(params, host, endpoint, now):
        is_active = endpoint.arrivals > 0 or endpoint.core_rate < 1.0
        decide(params, endpoint)
        if is_active:
            plan_decision(host, endpoint, now)

    def on_candidate(message, transfer):
        message.key = transfer.place

    def on_pick(params, host, endpoint, qp, message, transfer, reply, now):
        units = params.units_per_pull
        is_idle = transfer.place >= _IDLE
        if not is_idle and not params.counts_at_receiver:
            units = max(0, min(units, transfer.wanted - transfer.granted))
        transfer.granted += units
        transfer.trimmed_units = max(0, transfer.trimmed_units - units)
        reply.kind = CREDIT
        reply.psn = message.received_packets
        reply.credit_units = transfer.granted
        leave(endpoint, transfer)
        if transfer.trimmed_units > 0:
            join(endpoint, transfer, _RESENDING, now)
        elif transfer.granted < transfer.wanted:
            join(endpoint, transfer, _ACTIVE, now)
        elif (transfer.granted - transfer.wanted) * params.unit_bytes < most_bytes(params, qp):
            join(endpoint, transfer, _IDLE, now)
        cost = units * params.unit_bytes if units > 0 else _LEAST_BYTES
        endpoint.next_pull_ps = now + int(cost * 8e12 / (params.rate * endpoint.core_rate * host.line_bps))
        endpoint.pull_timer_ps = endpoint.next_pull_ps if endpoint.waiting > 0 else NEVER


# Sender


def most_bytes(params, qp):
    """Return the maximum credit of a message."""
    if params.largest_bytes > 0:
        return params.largest_bytes
    return int(params.largest * qp.line_bps * qp.base_rtt_ps / 8e12)


def allow(qp, transfer):
    """Release packets while there is credit."""
    qp.credits = UNLIMITED if transfer.credit_bytes > 0 else 0


def backlog(params, qp, message, transfer):
    """Return the wire bytes that wait to be sent and fit into the window plus one packet."""
    if params.counts_at_receiver:
        waiting = (message.packets - message.highest_psn) * qp.wire_bytes
    else:
        under_way = qp.inflight_bytes + on_wire(qp, qp.inflight_bytes)
        header_bytes = qp.wire_bytes - qp.payload_bytes
        waiting = message.size_bytes + message.packets * header_bytes - transfer.settled_bytes - under_way
    if qp.window_bytes < UNLIMITED:
        waiting = min(waiting, qp.window_bytes + on_wire(qp, qp.window_bytes) + qp.wire_bytes)
    return waiting


def on_wire(qp, payload):
    """Return the header bytes for a payload."""
    return (payload + qp.payload_bytes - 1) // qp.payload_bytes * (qp.wire_bytes - qp.payload_bytes)


def end_speculation(transfer):
    """Handle the first answer: the rest of the initial credit expires."""
    if transfer.speculates:
        transfer.speculates = 0
        transfer.credit_bytes = min(transfer.credit_bytes, 0)


# Receiver


def join(endpoint, transfer, which, now):
    """Append a message to a list, unless it is in that or an earlier one; start the pacer."""
    if transfer.place >= which + _TURN:
        leave(endpoint, transfer)
        transfer.place = which + endpoint.appended
        endpoint.appended += 1
        endpoint.waiting += 1
        if endpoint.pull_timer_ps == NEVER:
            endpoint.pull_timer_ps = max(now, endpoint.next_pull_ps)


def leave(endpoint, transfer):
    """Remove a message from the lists."""
    if transfer.place < NEVER:
        transfer.place = NEVER
        endpoint.waiting -= 1
