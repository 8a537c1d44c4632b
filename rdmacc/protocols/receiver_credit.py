"""Credit from the receiver: RCCC of Ultra Ethernet, and EQDS, from which it descends.

Sources: Ultra Ethernet Specification 1.0, receiver credit (RCCC), and uet-htsim (`uec.cpp`); Olteanu et al., "An
edge-queued datagram service for all datacenter traffic" (EQDS), NSDI 2022, and csg-htsim (`eqds.cpp`). It runs on
`Uet`, over switches that trim, with packets sprayed (`PathChoice`), alone or beside `Nscc`.

A sender may send while it has credit; a packet costs its bytes, and the last may overdraw. At the start it has
the most that it can have without asking; the first answer ends that. Every data packet says up to which number of units
credit is wanted; credit is counted up from the start, so that one PULL replaces those lost before it. The receiver's
host grants to its messages in turn, a step each, at just less than its link's rate; with nothing wanted, it gives
messages a little more than they asked for ("slow" pulls), up to one maximum, so that who wakes up has credit.

RCCC: what waits to go again is part of what is asked for, and grants stop at what was asked for. EQDS: the receiver
counts what came trimmed and grants for that first (`counts_at_receiver`).

Assumptions: in the simulators a sender divides what it wants by the number of flows that its host has under way; here
it does not, so several receivers of one sender may wait for what it cannot send. An RTS asks for all that the receiver
misses.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdmacc.component import Component, param
from rdmacc.parameters import OptionalSize, Size
from rdmacc.records import NEVER, Byte, Deadline, Int, Int32, Record
from rdmacc.state import CREDIT, NAK, UNLIMITED

__all__ = ["ReceiverCredit"]

_TURN = 2**40
"""A list's keys lie below the next list's."""
_RESENDING, _ACTIVE, _IDLE = 0, _TURN, 2 * _TURN
_LEAST_BYTES = 1024
"""A pull that grants nothing takes the time of so much."""


@dataclass(frozen=True, kw_only=True)
class ReceiverCredit(Component):
    """Paced credit from the receiver."""

    unit_bytes: Size = param("256B", "unit of credit", unit="bytes", source="uet-htsim", low=1)
    units_per_pull: int = param(64, "units that a pull gives", source="uet-htsim: 4 payloads of 4,096 B", low=1)
    rate: float = param(0.99, "grants, as a share of the receiver's link", source="uet-htsim", low=0.01, high=1.0)
    largest: float = param(1.5, "most credit, in BDPs; and the first", source="uet-htsim: 1.5 BDP", low=0.01)
    largest_bytes: OptionalSize = param(
        None, "most credit; 0: by `largest`", unit="bytes", source="csg-htsim: 50 packets"
    )
    mtu_bytes: Size = param("4150B", "full packet on the wire", unit="bytes", source="uet-htsim", low=1)
    header_bytes: Size = param("64B", "of it header", unit="bytes", source="uet-htsim")
    counts_at_receiver: bool = param(
        False, "the receiver counts trimmed packets, and grants for them first", source="csg-htsim: eqds.cpp"
    )

    class Transfer(Record):
        """A message, both sides."""

        credit_bytes = Int(doc="sender: may be below 0 by less than a packet")
        speculates = Byte(doc="sender: 1 until the first answer")
        pulled = Int(doc="sender: highest number of a PULL, units")
        settled_bytes = Int(doc="sender: acknowledged, on the wire")
        granted = Int(doc="receiver: units granted")
        wanted = Int(doc="receiver: units asked for")
        trimmed_units = Int(doc="receiver: of packets that came trimmed, less those granted")
        place = Int(NEVER, doc="receiver: in the lists of its host; NEVER in none")

    class Endpoint(Record):
        """The pacer of a host's pulls, and its lists."""

        pull_timer_ps = Deadline("the next pull")
        next_pull_ps = Int(doc="when it may go at the earliest")
        appended = Int(doc="places given so far")
        waiting = Int32(doc="messages in lists")

    class Header(Record):
        """In data packets what is asked for, in PULLs what is granted."""

        credit_units = Int(doc="number of the last unit")

    # Sender

    @staticmethod
    def on_start(params, qp, transfer):
        transfer.speculates = 1
        transfer.credit_bytes = most_bytes(params, qp)
        allow(qp, transfer)

    @staticmethod
    def on_send(params, qp, message, transfer, packet):
        transfer.credit_bytes -= packet.wire_bytes
        if transfer.credit_bytes <= 0:
            packet.asks_ack = 1
        allow(qp, transfer)
        want = max(0, min(backlog(params, qp, message, transfer), most_bytes(params, qp)) - transfer.credit_bytes)
        if transfer.speculates and message.highest_psn < message.packets:
            want = max(want, params.mtu_bytes)
        packet.credit_units = transfer.pulled + (want + params.unit_bytes - 1) // params.unit_bytes

    @staticmethod
    def on_ack(qp, transfer, packet):
        if packet.kind != NAK:
            transfer.settled_bytes += packet.settled_bytes
        end_speculation(transfer)
        allow(qp, transfer)

    @staticmethod
    def on_credit(params, qp, transfer, packet):
        end_speculation(transfer)
        if packet.credit_units > transfer.pulled:
            more = (packet.credit_units - transfer.pulled) * params.unit_bytes
            transfer.credit_bytes = min(transfer.credit_bytes + more, most_bytes(params, qp))
            transfer.pulled = packet.credit_units
        allow(qp, transfer)

    # Receiver

    @staticmethod
    def on_data(params, endpoint, message, transfer, packet, now):
        has_risen = packet.credit_units > transfer.wanted
        transfer.wanted = max(transfer.wanted, packet.credit_units)
        if message.received_packets == message.packets:
            leave(endpoint, transfer)
            return
        if packet.is_trimmed and params.counts_at_receiver:
            transfer.trimmed_units += (params.mtu_bytes + params.unit_bytes - 1) // params.unit_bytes
            join(endpoint, transfer, _RESENDING, now)
        elif packet.is_trimmed or has_risen:
            join(endpoint, transfer, _ACTIVE, now)

    @staticmethod
    def on_request(params, endpoint, qp, message, transfer, now):
        if message.received_packets < message.packets:
            missing = (message.packets - message.received_packets) * params.mtu_bytes
            want = (min(missing, most_bytes(params, qp)) + params.unit_bytes - 1) // params.unit_bytes
            transfer.wanted = max(transfer.wanted, transfer.granted + want)
            join(endpoint, transfer, _ACTIVE, now)

    @staticmethod
    def on_pull_timer(host, endpoint):
        if endpoint.waiting > 0:
            host.pick = 1

    @staticmethod
    def on_candidate(message, transfer):
        message.key = transfer.place

    @staticmethod
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
        endpoint.next_pull_ps = now + int(cost * 8e12 / (params.rate * host.line_bps))
        endpoint.pull_timer_ps = endpoint.next_pull_ps if endpoint.waiting > 0 else NEVER


# Sender


def most_bytes(params, qp):
    """Return the most credit that a message can have."""
    if params.largest_bytes > 0:
        return params.largest_bytes
    return int(params.largest * qp.line_bps * qp.base_rtt_ps / 8e12)


def allow(qp, transfer):
    """Let packets go while there is credit."""
    qp.credits = UNLIMITED if transfer.credit_bytes > 0 else 0


def backlog(params, qp, message, transfer):
    """Return what waits to be sent, on the wire, and fits into the window with a packet more."""
    if params.counts_at_receiver:
        waiting = (message.packets - message.highest_psn) * params.mtu_bytes
    else:
        under_way = qp.inflight_bytes + on_wire(params, message, qp.inflight_bytes)
        waiting = message.size_bytes + message.packets * params.header_bytes - transfer.settled_bytes - under_way
    if qp.window_bytes < UNLIMITED:
        waiting = min(waiting, qp.window_bytes + on_wire(params, message, qp.window_bytes) + params.mtu_bytes)
    return waiting


def on_wire(params, message, payload):
    """Return the headers of so much payload."""
    return (payload + message.payload_bytes - 1) // message.payload_bytes * params.header_bytes


def end_speculation(transfer):
    """The first answer has come: what is left of the first credit is gone."""
    if transfer.speculates:
        transfer.speculates = 0
        transfer.credit_bytes = min(transfer.credit_bytes, 0)


# Receiver


def join(endpoint, transfer, which, now):
    """Put a message at the end of a list, unless it is in that one or one before; start the pacer."""
    if transfer.place >= which + _TURN:
        leave(endpoint, transfer)
        transfer.place = which + endpoint.appended
        endpoint.appended += 1
        endpoint.waiting += 1
        if endpoint.pull_timer_ps == NEVER:
            endpoint.pull_timer_ps = max(now, endpoint.next_pull_ps)


def leave(endpoint, transfer):
    """Take a message out of the lists."""
    if transfer.place < NEVER:
        transfer.place = NEVER
        endpoint.waiting -= 1
