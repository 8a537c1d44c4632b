"""A scanning NIC of the kernel. Read with `rdmacc.engine.reference.scanning_nic`, name by name."""

from rdmacc.engine.compiled.kernel.bit_trees import following, leave, qp_in_place
from rdmacc.engine.compiled.kernel.events import push_event
from rdmacc.engine.compiled.kernel.nic import join, note_stop, send_data, send_queued, unsent_message
from rdmacc.engine.compiled.kernel.queues import next_class, wake_at_end
from rdmacc.engine.compiled.kernel.rows import *

LINE = DATA_CLASS  # all queue pairs with packets left are in the line of this class, whatever theirs is


@jit
def has_work(g, port):
    return backlog_of(g, port.number, LINE).ready != 0 or (port.waiting & ~port.paused) != 0


@cold
def join_scanned_line(g, qp, now):
    if g.explains:
        note_stop(g, qp, now)
    if qp.state != READY and unsent_message(g, qp) >= 0:
        qp.state = READY
        join(g, port_at(g, qp.nic), LINE, qp)


@jit
def leave_line(g, port, qp):
    qp.state = IDLE
    leave(port, backlog_of(g, port.number, LINE), LINE, qp.place)
    port.queue_bytes -= g.wire_bytes


@cold
def send_next_scanning(g, port, now):
    cls = next_class(g, port, now)
    if cls >= 0:
        queue = queue_of(g, port.number, cls)
        send_queued(g, port, queue, cls, now)
        if queue.head < 0:
            port.waiting &= ~(1 << cls)  # the line is no part of it
    else:
        place = turn(g, port, now)
        if place < 0:
            set_timer(g, port, now)
            return
        port.served = place
        qp = qp_in_place(g, port, place)
        send_data(g, port, qp, unsent_message(g, qp), now)
        if g.explains:
            note_stop(g, qp, now)
        if unsent_message(g, qp) < 0:
            leave_line(g, port, qp)
    if has_work(g, port) and not port.is_wake_pending:
        wake_at_end(g, port)


@jit
def turn(g, port, now):
    """Return the place of the queue pair that may send and whose turn it is, -1 for none."""
    backlog = backlog_of(g, port.number, LINE)
    chosen, fewest = -1, NEVER
    place, first = port.served, -1
    while backlog.ready:
        place = following(port, backlog, LINE, place)
        if place == first:
            break
        qp = qp_in_place(g, port, place)
        number = unsent_message(g, qp)
        if number < 0:
            leave_line(g, port, qp)
            continue
        if first < 0:
            first = place
        message = message_at(g, number)
        if not port.paused & (1 << message.priority) and may_send(qp) and next_start_ps(g, qp, now) <= now:
            if not g.is_srpt:
                return place
            left = message.packets - message.next_psn
            if left < fewest:
                chosen, fewest = place, left
    return chosen


@jit
def set_timer(g, port, now):
    backlog = backlog_of(g, port.number, LINE)
    if port.timer_ps != NEVER or not backlog.ready:
        return
    start, place, first = NEVER, -1, -1
    while True:
        place = following(port, backlog, LINE, place)
        if place == first:
            break
        if first < 0:
            first = place
        qp = qp_in_place(g, port, place)
        if qp.credits > 0:
            start = min(start, next_start_ps(g, qp, now))
    if now < start < NEVER:
        push_timer(g, port, start)


@jit
def push_timer(g, port, at_ps):
    rank = rank_now(g, PACE + port.number)
    port.timer_ps = at_ps
    port.timer_order = rank >> ORDER_SHIFT
    push_event(g, at_ps, rank)


@cold
def advance(g, qp, now):
    port = port_at(g, qp.nic)
    start = next_start_ps(g, qp, now)
    if start < port.timer_ps < NEVER:
        push_timer(g, port, max(start, now))
