"""A host's NIC in the kernel: which queue pair sends next. Mirrors `rdmacc.engine.reference.nic`."""

from rdmacc.engine.compiled.kernel.bit_trees import enter, following, leave, qp_in_place
from rdmacc.engine.compiled.kernel.events import push_event
from rdmacc.engine.compiled.kernel.queues import join_queue, next_class, run_port_hook, take, transmit, wake_at_end
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.kernel.timers import call_sender, complete_request


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
    """Return the place of the queue pair whose turn it is: the next one, or with the fewest packets to send."""
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
