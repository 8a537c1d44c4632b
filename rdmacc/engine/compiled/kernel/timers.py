"""Deadlines in the kernel, and the calls of a sender's hooks, which set them.

Any record may hold some deadlines; an event is pending for each one's earliest value. A compiled hook returns the set
of deadlines that moved before their pending event, one bit each: bits 0-11 for senders, 12-23 receivers, 24-35
transfers, 36-47 endpoints, 48-59 egresses.
"""

from rdmacc.engine.compiled.kernel.events import push_event
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.tables.layout import MAX_SLOTS

_MASK = (1 << MAX_SLOTS) - 1


@jit
def owner_row(g, kind, owner):
    """Return the address of the row that holds a deadline."""
    if kind < 2:
        return qp_row(g, owner)
    if kind == 2:
        return message_row(g, owner)
    return g.hosts + owner * g.host_bytes if kind == 3 else g.ports + owner * g.port_bytes


@jit
def slot_offset(g, kind, slot):
    """Return the offset of a deadline in its owner's row; its `_armed` companion follows it."""
    return load_i8(timer_row(g, kind, slot))


@jit
def arm_slots(g, kind, bits, owner):
    """Schedule an event for each deadline in a set."""
    row, first_rank = owner_row(g, kind, owner), SENDER_TIMER + (kind << RANK_SHIFT) + owner * count_slots(g, kind)
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
    """Schedule the deadlines that a hook has moved; the numbers are those of its records."""
    kind = 0
    while due:
        if due & _MASK:
            owner = qp if kind < 2 else message if kind == 2 else node if kind == 3 else port
            arm_slots(g, kind, due & _MASK, owner)
        due >>= MAX_SLOTS
        kind += 1


@jit
def cancel(g, kind, owner):
    row = owner_row(g, kind, owner)
    for slot in range(count_slots(g, kind)):
        store_i8(row + slot_offset(g, kind, slot), NEVER)


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
