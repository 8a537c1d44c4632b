"""A host's NIC in the kernel: which queue pair sends next. Read beside `rdmacc.engine.reference.nic`."""

from __future__ import annotations

from rdmacc.engine.compiled.address import jit
from rdmacc.engine.compiled.heap import heap_push
from rdmacc.engine.compiled.queues import join_class, join_queue, next_class, run_port_hook, take, transmit, wake_at_end
from rdmacc.engine.compiled.rows import (
    PACE,
    clock,
    host_at,
    message_at,
    new_packet,
    ordered,
    pace_order,
    packet_at,
    port_at,
    qp_at,
    queue_of,
    whole_ps,
)
from rdmacc.engine.compiled.senders import address_request, call_sender
from rdmacc.records import NEVER
from rdmacc.state import DATA, DATA_CLASS, IDLE, PACING, READY

__all__ = ["join_line", "move_shortest_first", "next_start_ps", "send_data", "send_next_nic", "sendable_message"]


@jit
def sendable_message(g, qp):
    """Return the first message with a packet to send, -1 if there is none or window or credits allow none."""
    if qp.inflight_bytes >= qp.window_bytes or qp.credits <= 0:
        return -1
    number = qp.first_pending
    while number >= 0:
        message = message_at(g, number)
        if message.next_psn < message.granted_psn:
            return number
        number = message.next_pending
    return -1


@jit
def next_start_ps(g, qp, now):
    """Return when the pacing rate lets the next packet start."""
    if qp.last_wire_bytes == 0:
        return now
    if qp.rate_bps <= 0.0:
        return NEVER
    return qp.last_start_ps + whole_ps(qp.last_wire_bytes * 8e12 / qp.rate_bps, g.tick_ps)


@jit
def arm_pacing(g, port, qp, start, now):
    """See to it that there is an event when the next packet may leave."""
    is_later = g.tick_ps and port.busy_until_ps > now and start > qp.pace_timer_armed  # it was not set before
    if start < qp.pace_timer_armed or is_later:
        qp.pace_timer_armed = start
        order = 0
        if g.tick_ps:
            order = pace_order((start - max(now, port.busy_until_ps)) // g.tick_ps, port.order)
        heap_push(g, start, PACE + ordered(order, qp.number))


@jit
def join_line(g, qp, now):
    """As `schedule`, without waking the NIC; return whether the queue pair joined the line."""
    if qp.state == READY:
        return False
    message_number = sendable_message(g, qp)
    start = next_start_ps(g, qp, now) if message_number >= 0 else NEVER
    port = port_at(g, qp.nic)
    if start >= NEVER:
        qp.state = IDLE
        qp.pace_timer_ps = NEVER
        if g.tick_ps and next_start_ps(g, qp, now) > max(now, port.busy_until_ps):
            arm_pacing(g, port, qp, next_start_ps(g, qp, now), now)  # its place does not wait for the window
        return False
    if start <= now or start <= port.busy_until_ps:
        qp.state = READY
        qp.pace_timer_ps = NEVER
        cls = message_at(g, message_number).priority
        queue = queue_of(g, port.number, cls)
        qp.next_ready = -1
        if queue.ready_head < 0:
            queue.ready_head = qp.number
        else:
            qp_at(g, queue.ready_tail).next_ready = qp.number
        queue.ready_tail = qp.number
        port.waiting |= 1 << cls
        port.queue_bytes += g.wire_bytes
        if port.queue_bytes > port.peak_queue_bytes:
            port.peak_queue_bytes = port.queue_bytes
        return True
    qp.state = PACING
    qp.pace_timer_ps = start
    arm_pacing(g, port, qp, start, now)
    return False


@jit
def send_next_nic(g, port, now):
    """Send a waiting packet, or the next one of the queue pair at the head of the line."""
    while True:
        cls = next_class(g, port, now)
        if cls < 0:
            break
        queue = queue_of(g, port.number, cls)
        if queue.head >= 0:
            number = take(g, port, queue, cls)
            if queue.head < 0 and queue.ready_head < 0:
                port.waiting ^= 1 << cls
            if cls >= DATA_CLASS:
                port.queue_bytes -= packet_at(g, number).wire_bytes
            transmit(g, port, number, now)
            break
        if g.is_srpt:
            move_shortest_first(g, queue)
        qp = qp_at(g, queue.ready_head)
        queue.ready_head = qp.next_ready
        if queue.ready_head < 0:
            port.waiting ^= 1 << cls
        port.queue_bytes -= g.wire_bytes
        qp.state = IDLE
        number = sendable_message(g, qp)
        if number < 0 or next_start_ps(g, qp, now) > now:  # its rate or window has changed since it queued
            join_line(g, qp, now)
            continue
        send_data(g, port, qp, number, now)
        join_line(g, qp, now)
        break
    if port.waiting & ~port.paused and not port.is_wake_pending:
        wake_at_end(g, port)


@jit
def move_shortest_first(g, queue):
    """Bring the queue pair whose message has the fewest packets left to the head of the line."""
    best, before_best, best_left = queue.ready_head, -1, NEVER
    before, number = -1, queue.ready_head
    while number >= 0:
        qp = qp_at(g, number)
        left = NEVER
        message_number = sendable_message(g, qp)
        if message_number >= 0:
            message = message_at(g, message_number)
            left = message.packets - message.next_psn
        if left < best_left or (left == best_left and number < best):
            best, before_best, best_left = number, before, left
        before = number
        number = qp.next_ready
    if before_best >= 0:
        qp = qp_at(g, best)
        qp_at(g, before_best).next_ready = qp.next_ready
        if queue.ready_tail == best:
            queue.ready_tail = before_best
        qp.next_ready = queue.ready_head
        queue.ready_head = best


@jit
def send_data(g, port, qp, message_number, now):
    """Make the message's next packet and put it on the link."""
    message = message_at(g, message_number)
    psn = message.next_psn
    number = new_packet(g)
    packet = packet_at(g, number)
    packet.kind = DATA
    packet.priority = message.priority
    packet.message = message_number
    packet.qp = qp.number
    packet.dst = qp.dst
    packet.psn = psn
    payload = g.payload_bytes
    if psn == message.packets - 1:
        payload = message.size_bytes - psn * payload
    packet.payload_bytes = payload
    packet.wire_bytes = max(payload + g.header_bytes, g.least_wire_bytes)
    packet.sent_ps = clock(g, host_at(g, port.node), now) if g.has_clocks else now
    message.next_psn = psn + 1
    if psn < message.highest_psn:
        message.retransmissions += 1
    else:
        message.highest_psn = psn + 1
    qp.inflight_bytes += payload
    qp.credits -= 1
    g.sent_bytes += payload
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
    if request >= 0 and address_request(g, request, qp.number, message_number, now):
        if packet_at(g, request).priority < DATA_CLASS:  # the caller sees to its turn
            join_queue(g, port, request, now)
        else:
            join_class(g, port, request, message.priority)  # here it stays with its message, whatever its class
