"""The hooks of a sender in the kernel, and the request that they may fill in. See `rdmacc.engine.reference.network`."""

from __future__ import annotations

from rdmacc.engine.compiled.address import call, jit
from rdmacc.engine.compiled.rows import (
    host_at,
    message_at,
    message_row,
    new_packet,
    note,
    packet_at,
    packet_row,
    qp_at,
    qp_row,
    recycle,
)
from rdmacc.engine.compiled.rules import address_request as write_request
from rdmacc.engine.compiled.rules import read_clock
from rdmacc.engine.compiled.timers import arm
from rdmacc.engine.trace import QUEUED


@jit
def new_request(g):
    """Return a packet for a sender's handlers to fill in, -1 if none of the scheme asks for one."""
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
def address_request(g, number, qp_number, message_number, now):
    """Address a request to the receiver; if no handler filled it in, recycle it and return False."""
    request = packet_at(g, number)
    if request.kind == 0:
        recycle(g, number)
        return False
    qp = qp_at(g, qp_number)
    write_request(g, request, qp, message_at(g, message_number))
    request.sent_ps = read_clock(host_at(g, qp.src), g.clock_jitter_ps, now) if g.has_clocks else now
    g.requests += 1
    if g.explains:
        note(g, QUEUED, qp.nic, number, now)
    return True
