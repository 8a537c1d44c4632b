"""Deadlines in the kernel, and the calls of a sender's hooks, which set them.

Any record may hold some deadlines; an event is pending for each one's earliest value. A compiled hook returns the set
of deadlines that moved before their pending event, one bit each: bits 0-11 for senders, 12-23 receivers, 24-35
transfers, 36-47 endpoints, 48-59 egresses.
"""

from rdmacc.engine.compiled.kernel.events import push_event
from rdmacc.engine.compiled.kernel.rows import *

MAX_SLOTS = 12  # deadlines of one record kind in a scheme, at most

KINDS = ("Sender", "Receiver", "Transfer", "Endpoint", "Egress")
"""Record kinds with deadlines, in the order of their bits and of the rows of `g.timers`."""

_MASK = (1 << MAX_SLOTS) - 1


@jit
def slot_offset(g, kind, slot):
    """Return the offset of a deadline in its owner's row; its `_armed` companion follows it."""
    return load_i8(g.timers + (kind * MAX_SLOTS + slot) * 16)


@jit
def arm_slots(g, kind, bits, row, first_rank):
    """Schedule an event for each deadline in a set."""
    slot = 0
    while bits:
        if bits & 1:
            at = row + slot_offset(g, kind, slot)
            time_ps = max(load_i8(at), g.now_ps)
            store_i8(at + 8, time_ps)
            push_event(g, time_ps, rank_now(g, first_rank + slot))
        bits >>= 1
        slot += 1


@jit
def arm(g, due, qp, message, node, port):
    """Schedule what a hook's return value asks for; the numbers are those of the records it was called with."""
    bits = due & _MASK
    if bits:
        arm_slots(g, 0, bits, g.qps + qp * g.qp_bytes, SENDER_TIMER + qp * g.n_sender_slots)
    bits = (due >> MAX_SLOTS) & _MASK
    if bits:
        arm_slots(g, 1, bits, g.qps + qp * g.qp_bytes, RECEIVER_TIMER + qp * g.n_receiver_slots)
    bits = (due >> 2 * MAX_SLOTS) & _MASK
    if bits:
        arm_slots(g, 2, bits, g.messages + message * g.message_bytes, TRANSFER_TIMER + message * g.n_transfer_slots)
    bits = (due >> 3 * MAX_SLOTS) & _MASK
    if bits:
        arm_slots(g, 3, bits, g.hosts + node * g.host_bytes, ENDPOINT_TIMER + node * g.n_endpoint_slots)
    bits = (due >> 4 * MAX_SLOTS) & _MASK
    if bits:
        arm_slots(g, 4, bits, g.ports + port * g.port_bytes, EGRESS_TIMER + port * g.n_egress_slots)


@jit
def cancel(g, kind, count, row, never):
    for slot in range(count):
        store_i8(row + slot_offset(g, kind, slot), never)


@jit
def new_request(g):
    return new_packet(g) if g.has_requests else -1


@jit
def call_sender(g, hook, qp, message, packet, now):
    """Call a hook of a sender; return the request that it may have filled in, -1 for none."""
    request = new_request(g)
    row = packet_row(g, request) if request >= 0 else 0
    due = call(hook, g.params, 0, qp_row(g, qp), message_row(g, message), packet, 0, row, now)
    if due:
        arm(g, due, qp, message, 0, 0)
    return request


@jit
def complete_request(g, number, qp_number, message_number, now):
    request = packet_at(g, number)
    if request.kind == 0:
        recycle(g, number)
        return False
    qp = qp_at(g, qp_number)
    address_request(g, request, qp, message_at(g, message_number))
    request.sent_ps = read_clock(host_at(g, qp.src), g.clock_jitter_ps, now) if g.has_clocks else now
    g.requests += 1
    if g.explains:
        note(g, QUEUED, qp.nic, number, now)
    return True
