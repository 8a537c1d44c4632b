"""A host's NIC in the kernel: which queue pair sends next. Mirrors `rdmacc.engine.reference.nic`.

Queue pairs that wait are in lines: sets of places, in which the next one after any place is found at once. A set is a
tree of 64-bit words: a bit of the lowest level for each of the NIC's queue pairs, and above it a bit for each word that
is not 0. The top word lies in the class's backlog, so that a NIC with up to 64 queue pairs has no other.
"""

from rdmacc.engine.compiled.kernel.events import push_event
from rdmacc.engine.compiled.kernel.queues import join_queue, next_class, run_port_hook, take, transmit, wake_at_end
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.kernel.timers import call_sender, complete_request


def line_depth(count: int) -> int:
    return max(1, -(-(max(count, 1) - 1).bit_length() // 6))


def line_bytes(count: int) -> int:
    """Return the size in bytes of the levels below the top."""
    total, words = 0, -(-count // 64)
    for _ in range(line_depth(count) - 1):
        total += words * 8
        words = -(-words // 64)
    return total


@jit
def qp_in_place(g, port, place):
    return qp_at(g, load_entry(g.places, port.first_place + place))


@jit
def level_of(port, cls):
    """Return the address of the lowest level of a class's line, if it is not the top."""
    words, total = port.line_words, 0
    for _ in range(port.line_depth - 1):
        total += words
        words = (words + 63) >> 6
    return port.line + (cls - DATA_CLASS) * total * 8


@jit
def enter(port, backlog, cls, place):
    if port.line_depth > 1:
        level, words = level_of(port, cls), port.line_words
        for _ in range(port.line_depth - 1):
            at = level + (place >> 6) * 8
            store_i8(at, load_i8(at) | (1 << (place & 63)))
            level += words * 8
            words = (words + 63) >> 6
            place >>= 6
    backlog.ready |= 1 << place


@jit
def leave(port, backlog, cls, place):
    if port.line_depth > 1:
        level, words = level_of(port, cls), port.line_words
        for _ in range(port.line_depth - 1):
            at = level + (place >> 6) * 8
            word = load_i8(at) & ~(1 << (place & 63))
            store_i8(at, word)
            if word:
                return
            level += words * 8
            words = (words + 63) >> 6
            place >>= 6
    backlog.ready &= ~(1 << place)


@jit
def following(port, backlog, cls, place):
    """Return the first place of a non-empty line after a place (-1: from the start), wrapping around."""
    if port.line_depth == 1:
        later = backlog.ready & (-2 << place) if place >= 0 else backlog.ready
        return lowest_bit(later if later else backlog.ready)
    return following_below(port, backlog, cls, place)


@jit
def following_below(port, backlog, cls, place):
    """As `following`, with levels below the top: up to a word with a later place, then down by the lowest bits."""
    level, words = level_of(port, cls), port.line_words
    top = port.line_depth - 1
    height, at = 0, place
    if place < 0:
        height, at = top, lowest_bit(backlog.ready)
        for _ in range(top):
            level += words * 8
            words = (words + 63) >> 6
    else:
        while True:
            word = backlog.ready if height == top else load_i8(level + (at >> 6) * 8)
            later = word & (-2 << (at & 63))
            if later:
                at = (at & ~63) + lowest_bit(later)
                break
            if height == top:
                at = lowest_bit(backlog.ready)
                break
            at >>= 6
            level += words * 8
            words = (words + 63) >> 6
            height += 1
    level = level_of(port, cls)
    while height > 0:
        height -= 1
        below, words = level, port.line_words
        for _ in range(height):
            below += words * 8
            words = (words + 63) >> 6
        at = (at << 6) + lowest_bit(load_i8(below + at * 8))
    return at


@jit
def sendable_message(g, qp):
    """Return the first message with a packet to send, -1 if there is none or window or credits allow none."""
    return unsent_message(g, qp) if may_send(qp) else -1


@jit
def unsent_message(g, qp):
    number = qp.first_pending
    while number >= 0:
        message = message_at(g, number)
        if message.next_psn < message.granted_psn:
            return number
        number = message.next_pending
    return -1


@cold
def note_stop(g, qp, now):
    start = next_start_ps(g, qp, now)
    stop = what_stops(qp, unsent_message(g, qp) >= 0, start, port_at(g, qp.nic).busy_until_ps, now)
    if stop != qp.stopped_by:
        qp.stopped_by = stop
        if g.explains == 1 or message_at(g, qp.first_message).is_explained:
            note_change(g, qp.nic, qp.number, stop, now)


@jit
def join_line(g, qp, now):
    if g.explains:
        note_stop(g, qp, now)
    if qp.state == READY:
        return False
    message_number = sendable_message(g, qp)
    start = next_start_ps(g, qp, now) if message_number >= 0 else NEVER
    port = port_at(g, qp.nic)
    state = wait_for_turn(qp, start, port.busy_until_ps, now)
    if state == READY:
        cls = message_at(g, message_number).priority
        port.waiting |= 1 << cls
        join(g, port, cls, qp)
        return True
    if state == PACING and arm_pace(qp):
        push_event(g, start, rank_now(g, PACE + qp.number))
    return False


@jit
def join(g, port, cls, qp):
    enter(port, backlog_of(g, port.number, cls), cls, qp.place)
    port.queue_bytes += g.wire_bytes
    if port.queue_bytes > port.peak_queue_bytes:
        port.peak_queue_bytes = port.queue_bytes


@jit
def send_next_nic(g, port, now):
    while True:
        cls = next_class(g, port, now)
        if cls < 0:
            break
        queue = queue_of(g, port.number, cls)
        if queue.head >= 0:
            send_queued(g, port, queue, cls, now)
            break
        backlog = backlog_of(g, port.number, cls)
        place = next_turn(g, port, backlog, cls)
        qp = qp_in_place(g, port, place)
        leave(port, backlog, cls, place)
        if not backlog.ready:
            port.waiting ^= 1 << cls
        port.queue_bytes -= g.wire_bytes
        qp.state = IDLE
        number = sendable_message(g, qp)
        if number < 0 or next_start_ps(g, qp, now) > now:  # its rate or window has changed since it queued
            join_line(g, qp, now)
            continue
        port.served = place
        send_data(g, port, qp, number, now)
        join_line(g, qp, now)
        break
    # A credit that must wait for tokens has an event of its own.
    if port.waiting & ~port.paused and not port.is_wake_pending and port.busy_until_ps > now:
        wake_at_end(g, port)


@jit
def send_queued(g, port, queue, cls, now):
    number = take(g, port, queue, cls)
    if queue.head < 0 and not backlog_of(g, port.number, cls).ready:
        port.waiting ^= 1 << cls
    if cls >= DATA_CLASS:
        port.queue_bytes -= packet_at(g, number).wire_bytes
    transmit(g, port, number, now)


@jit
def remaining_packets(g, qp):
    number = sendable_message(g, qp)
    if number < 0:
        return NEVER
    message = message_at(g, number)
    return message.packets - message.next_psn


@jit
def next_turn(g, port, backlog, cls):
    """Return the place of the next queue pair in turn, or of the one with the fewest packets left."""
    place = following(port, backlog, cls, port.served)
    if not g.is_srpt:
        return place
    first, best, fewest = place, place, NEVER
    while True:
        left = remaining_packets(g, qp_in_place(g, port, place))
        if left < fewest or (left == fewest and place < best):
            best, fewest = place, left
        place = following(port, backlog, cls, place)
        if place == first:
            return best


@cold
def note_out_of_order(g, message, psn):
    highest = message.highest_psn
    bits = g.skipped + 8 * load_entry(g.skipped_first, message.number)
    if psn > highest:
        for skipped in range(highest, min(psn, message.packets)):
            set_bit(bits, skipped)
        message.highest_psn = psn + 1
    elif psn >= 0 and has_bit(bits, psn):
        clear_bit(bits, psn)
    else:
        message.retransmissions += 1


@jit
def send_data(g, port, qp, message_number, now):
    message = message_at(g, message_number)
    psn = message.next_psn
    number = new_packet(g)
    packet = packet_at(g, number)
    write_data(g, packet, qp, message)
    if g.explains:
        paced_ps = next_start_ps(g, qp, now)
        if paced_ps < now:
            note(g, RELEASED, port.number, number, paced_ps)
    packet.sent_ps = read_clock(host_at(g, port.node), g.clock_jitter_ps, now) if g.has_clocks else now
    if not sends_in_order(message, psn):
        note_out_of_order(g, message, psn)
    qp.inflight_bytes += packet.payload_bytes
    qp.credits -= 1
    qp.contenders = port.queue_bytes // g.wire_bytes
    g.sent_bytes += packet.payload_bytes
    request = -1
    if g.on_send:
        request = call_sender(g, g.on_send, qp.number, message_number, g.packets + number * g.packet_bytes, now)
    if g.marks_at_nic:
        if g.on_enqueue:
            run_port_hook(g, g.on_enqueue, port, number, now)
        if g.on_dequeue:
            run_port_hook(g, g.on_dequeue, port, number, now)
        if packet.ce:
            port.marked_packets += 1
    qp.last_start_ps = now
    qp.last_wire_bytes = packet.wire_bytes
    transmit(g, port, number, now)
    if request >= 0 and complete_request(g, request, qp.number, message_number, now):
        join_queue(g, port, request, request_class(packet_at(g, request), message), now)  # the caller sees to its turn


# A scanning NIC

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
    """Return the place of the first queue pair in turn that may send; -1 if none may."""
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
