"""When a queue pair may send its next packet: window, credits, and the pacing rate.

`agenda` knows the scheme's tick (`rdmacc.rules.ranks`).
"""

from rdmacc.interface import IDLE, NEVER, PACING, READY
from rdmacc.units import cut_ps

NOTHING, NO_CREDIT, WINDOW, RATE, FREE = range(5)
"""What stops a queue pair: nothing to send, no credit, its window, its pacing rate; nothing but others at its NIC."""


def may_send(qp):
    """Return whether window and credits allow a packet."""
    return qp.inflight_bytes < qp.window_bytes and qp.credits > 0


def next_start_ps(agenda, qp, now):
    """Return when the pacing rate lets the next packet start; NEVER at rate 0."""
    wire, rate_bps = qp.last_wire_bytes, qp.rate_bps
    if wire == 0:
        return now
    if rate_bps <= 0.0:
        return NEVER
    if agenda.tick_ps:
        return qp.last_start_ps + cut_ps(wire, rate_bps, agenda.tick_ps)
    return qp.last_start_ps + int(wire * 8e12 / rate_bps + 0.5)


def what_stops(qp, has_unsent, start_ps, busy_until_ps, now):
    """Return what keeps a queue pair from sending; one that would start while its link is busy anyway is not paced."""
    if not has_unsent:
        return NOTHING
    if qp.credits <= 0:
        return NO_CREDIT
    if qp.inflight_bytes >= qp.window_bytes:
        return WINDOW
    if start_ps > now and (start_ps > busy_until_ps or qp.stopped_by == RATE):
        return RATE
    return FREE


def wait_for_turn(qp, start_ps, busy_until_ps, now):
    """Set and return what a queue pair waits for: nothing, its turn or, if that is later, its pacing time."""
    qp.pace_timer_ps = NEVER
    if start_ps >= NEVER:
        qp.state = IDLE
    elif start_ps <= now or start_ps <= busy_until_ps:
        qp.state = READY
    else:
        qp.state = PACING
        qp.pace_timer_ps = start_ps
    return qp.state


def arm_pace(qp):
    """Return whether the pacing time needs an event: one earlier than that pending, which then counts as pending."""
    if qp.pace_timer_ps >= qp.pace_timer_armed:
        return False
    qp.pace_timer_armed = qp.pace_timer_ps
    return True


def expire_pace(qp, now):
    """Return whether a queue pair no longer paces: an event may be early or stale, since deadlines move without it."""
    if now != qp.pace_timer_armed:
        return False
    qp.pace_timer_armed = NEVER
    if qp.pace_timer_ps >= NEVER:
        return False
    qp.state = IDLE
    return True
