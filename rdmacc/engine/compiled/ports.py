"""Ports of the kernel: queues, transmitter, NIC. Read beside `rdmacc.engine.reference.ports`, name by name."""

from __future__ import annotations

import numpy as np

from rdmacc.engine.compiled.address import call, jit, prefetch, store_i4
from rdmacc.engine.compiled.chance import hash63
from rdmacc.engine.compiled.heap import heap_push
from rdmacc.engine.compiled.rows import (
    DELIVER,
    PACE,
    SHAPE,
    WAKE,
    clock,
    discard,
    host_at,
    ingress_of,
    load_entry,
    message_at,
    new_packet,
    note,
    packet_at,
    port_at,
    qp_at,
    queue_of,
    recycle,
    switch_at,
)  # fmt: skip
from rdmacc.engine.compiled.timers import arm
from rdmacc.records import NEVER
from rdmacc.state import CREDITS, DATA, DATA_CLASS, IDLE, MAC, NUM_CLASSES, PACING, PAUSE, READY, RESUME
from rdmacc.switch.buffer import PFC_FRAME_BYTES
from rdmacc.switch.queueing import ROUTINGS
from rdmacc.trace import SENT

__all__ = [
    "enqueue",
    "fail_port",
    "kick",
    "modulo",
    "next_hop",
    "pause_or_resume",
    "release",
    "schedule",
    "send_next",
    "send_pfc",
]

ECMP, SYMMETRIC, SPRAY_RANDOM, SPRAY_ROUND_ROBIN = range(len(ROUTINGS))


@jit
def lowest(mask):
    """Return the first class of a set of classes."""
    cls = 0
    while not mask & 1:
        mask >>= 1
        cls += 1
    return cls


@jit
def append(g, port_number, cls, number):
    """Append a packet to a port's queue."""
    queue = queue_of(g, port_number, cls)
    packet_at(g, number).next = -1
    if queue.head < 0:
        queue.head = number
    else:
        packet_at(g, queue.tail).next = number
    queue.tail = number


@jit
def wake_at_end(g, port):
    """Wake up when the transmission under way ends."""
    port.is_wake_pending = 1
    heap_push(g, port.busy_until_ps, WAKE + port.number)


@jit
def transmit(g, port, number, now):
    """Put a packet on the link."""
    packet = packet_at(g, number)
    wire = packet.wire_bytes
    end = now + int(wire * port.byte_ps + 0.5)
    port.busy_until_ps = end
    port.tx_bytes += wire
    if packet.kind == DATA:
        port.tx_data_packets += 1
    else:
        port.tx_control_packets += 1
    if g.has_trace:
        note(g, SENT, port.number, number, now)
    arrival = end + port.delay_ps
    packet.arrival_ps = arrival
    packet.next = -1
    if port.flight_head < 0:  # only the head of the packets under way has an event
        port.flight_head = number
        heap_push(g, arrival, DELIVER + port.number)
    else:
        packet_at(g, port.flight_tail).next = number
    port.flight_tail = number


@jit
def enqueue(g, port, number, now):
    """Append a packet to its class's queue and see that it will be sent."""
    packet = packet_at(g, number)
    cls = packet.priority
    if g.has_limits and cls < DATA_CLASS and cls != MAC:
        limit = g.credit_limit_bytes if cls == CREDITS else g.control_limit_bytes
        if limit:
            queue = queue_of(g, port.number, cls)
            if queue.waiting_bytes + packet.wire_bytes > limit:
                port.dropped_packets += 1
                discard(g, number, port.number, now)
                return
            queue.waiting_bytes += packet.wire_bytes
    append(g, port.number, cls, number)
    port.waiting |= 1 << cls
    if cls >= DATA_CLASS:
        port.queue_bytes += packet.wire_bytes
        if port.queue_bytes > port.peak_queue_bytes:
            port.peak_queue_bytes = port.queue_bytes
    if not port.is_wake_pending:
        kick(g, port, now)


@jit
def kick(g, port, now):
    """Send now if the transmitter is free, else wake up when it is."""
    if port.is_down:
        return
    if port.busy_until_ps > now:
        wake_at_end(g, port)
    else:
        send_next(g, port, now)


@jit
def send_next(g, port, now):
    """Send the first packet of the highest class that is not paused."""
    if port.is_nic:
        send_next_nic(g, port, now)
    else:
        send_next_switch(g, port, now)


@jit
def next_class(g, port, now):
    """Return the class to serve, -1 for none: by priority, but for weighted and rate-limited classes."""
    sendable = port.waiting & ~port.paused
    if g.credit_fraction > 0.0 and sendable & (1 << CREDITS):
        ready = credit_ready_ps(g, port, now)
        if ready > now:
            sendable ^= 1 << CREDITS
            if not sendable and not port.is_shape_pending:
                port.is_shape_pending = 1
                heap_push(g, ready, SHAPE + port.number)
    if not sendable:
        return -1
    cls = lowest(sendable)
    if g.wrr_ratio and cls == g.wrr_first and sendable & (1 << g.wrr_second):
        if port.wrr_count >= g.wrr_ratio:
            port.wrr_count = 0
            return g.wrr_second
        port.wrr_count += 1
    return cls


@jit
def credit_ready_ps(g, port, now):
    """Fill the token bucket; return when it holds enough for the first credit."""
    earned = (now - port.credit_updated_ps) / port.byte_ps * g.credit_fraction
    port.credit_tokens = min(g.credit_burst_bytes, port.credit_tokens + earned)
    port.credit_updated_ps = now
    first = queue_of(g, port.number, CREDITS).head
    missing = packet_at(g, first).wire_bytes - port.credit_tokens
    if missing <= 0.0:
        return now
    return now + int(missing * port.byte_ps / g.credit_fraction) + 1


@jit
def take(g, port, queue, cls):
    """Remove the first packet of a class's queue; return its number."""
    number = queue.head
    following = packet_at(g, number).next
    queue.head = following
    if following >= 0:
        prefetch(g.packets + following * g.packet_bytes)  # its turn comes soon, and it has left the cache
    if cls < DATA_CLASS and g.has_limits:
        wire = packet_at(g, number).wire_bytes
        if (g.credit_limit_bytes if cls == CREDITS else g.control_limit_bytes) and cls != MAC:
            queue.waiting_bytes -= wire
        if cls == CREDITS:
            port.credit_tokens -= wire
    return number


@jit
def send_next_switch(g, port, now):
    """Send the next packet of a switch's output."""
    cls = next_class(g, port, now)
    if cls >= 0:
        queue = queue_of(g, port.number, cls)
        number = take(g, port, queue, cls)
        if queue.head < 0:
            port.waiting ^= 1 << cls
        if cls >= DATA_CLASS:
            packet = packet_at(g, number)
            port.queue_bytes -= packet.wire_bytes
            if g.on_dequeue:
                was_marked = packet.ce
                run_port_hook(g, g.on_dequeue, port, number, now)
                if packet.ce and not was_marked:
                    port.marked_packets += 1
            release(g, port.node, number, now)
        transmit(g, port, number, now)
        if port.waiting & ~port.paused:
            wake_at_end(g, port)


@jit
def run_port_hook(g, hook, port, number, now):
    """Call on_enqueue or on_dequeue."""
    row = g.ports + port.number * g.port_bytes
    due = call(hook, g.params, row, 0, 0, g.packets + number * g.packet_bytes, 0, 0, now)
    if due:
        arm(g, due, 0, 0, 0, port.number)


@jit
def release(g, node, number, now):
    """Give a departing packet's bytes back to the switch's buffer; resume a neighbour if it is time."""
    switch = switch_at(g, node)
    packet = packet_at(g, number)
    wire = packet.wire_bytes
    switch.used_bytes -= wire
    if g.is_lossless:
        cls, reserve = packet.priority, g.buffer_reserve_bytes
        account = ingress_of(g, packet.in_port, cls)
        from_headroom = min(account.headroom_used, wire)
        before = account.used_bytes
        from_shared = min(wire - from_headroom, max(0, before - reserve))
        account.headroom_used -= from_headroom
        account.used_bytes = before - (wire - from_headroom)
        switch.shared_used -= from_shared
        in_port = port_at(g, packet.in_port)
        if in_port.pause_sent & (1 << cls) and account.headroom_used == 0:
            taken = max(0, account.used_bytes - reserve)
            threshold = g.alpha * (switch.shared_bytes - switch.shared_used)
            if taken == 0 or taken + g.xon_offset_bytes <= threshold:
                in_port.pause_sent ^= 1 << cls
                send_pfc(g, in_port, RESUME, cls, now)


@jit
def send_pfc(g, port, kind, cls, now):
    """Send a PFC frame to the neighbour behind a port, ahead of everything else."""
    number = new_packet(g)
    frame = packet_at(g, number)
    frame.kind = kind
    frame.psn = cls
    frame.wire_bytes = PFC_FRAME_BYTES
    frame.priority = MAC
    frame.payload_bytes = 0
    if not port.is_wake_pending and port.busy_until_ps <= now and not port.is_down:
        transmit(g, port, number, now)  # idle: nothing that may be sent waits
        return
    append(g, port.number, MAC, number)
    port.waiting |= 1 << MAC
    if not port.is_wake_pending and not port.is_down:
        wake_at_end(g, port)


@jit
def pause_or_resume(g, port, number, now):
    """Obey a PFC frame that came back over the link."""
    frame = packet_at(g, number)
    bit = 1 << frame.psn
    if frame.kind == PAUSE:
        port.pauses += 1
        if not port.paused:
            port.paused_since_ps = now
        port.paused |= bit
    elif port.paused & bit:
        port.paused ^= bit
        if not port.paused:
            port.paused_ps += now - port.paused_since_ps
        if not port.is_wake_pending:
            kick(g, port, now)
    recycle(g, number)


@jit
def next_hop(g, node, dst, key):
    """Return the port towards a host: the only one, or one chosen for the message or for this packet; -1 for none."""
    column = load_entry(g.attach, dst)
    if load_entry(g.attachments, column) == node:
        return load_entry(g.last_port, dst)
    cell = node * g.n_attachments + column
    first, count = load_entry(g.route_first, cell), load_entry(g.route_count, cell)
    if count <= 1:
        return load_entry(g.route_ports, first) if count else -1
    switch = switch_at(g, node)
    if g.routing == ECMP:
        chosen = modulo(hash63(switch.salt, key), count)
    elif g.routing == SYMMETRIC:  # the same at equal distance, there and back, and another one at each tier
        chosen = modulo(hash63(g.symmetric_salt, (key >> 1) * 64 + load_entry(g.distance, cell)), count)
    elif g.routing == SPRAY_RANDOM:
        chosen = modulo(hash63(switch.salt, switch.spray_count), count)
        switch.spray_count += 1
    else:
        turn = load_entry(g.spray_counts, cell)
        chosen = modulo(hash63(switch.salt, column) + turn, count)
        store_i4(g.spray_counts + cell * 4, np.int32(turn + 1))
    return load_entry(g.route_ports, first + chosen)


@jit
def modulo(number, count):
    """Return number % count, quickly for powers of two."""
    if count & (count - 1) == 0:
        return number & (count - 1)
    return number % count


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
def next_start_ps(qp, now):
    """Return when the pacing rate lets the next packet start."""
    if qp.last_wire_bytes == 0:
        return now
    if qp.rate_bps <= 0.0:
        return NEVER
    return qp.last_start_ps + int(qp.last_wire_bytes * 8e12 / qp.rate_bps + 0.5)


@jit
def schedule(g, number, now):
    """Put a queue pair in line, or wait for its pacing time, or for what it lacks; then wake its NIC."""
    qp = qp_at(g, number)
    if join_line(g, qp, now):
        port = port_at(g, qp.nic)
        if not port.is_wake_pending:
            kick(g, port, now)


@jit
def join_line(g, qp, now):
    """As `schedule`, without waking the NIC; return whether the queue pair joined the line."""
    if qp.state == READY:
        return False
    message_number = sendable_message(g, qp)
    start = next_start_ps(qp, now) if message_number >= 0 else NEVER
    port = port_at(g, qp.nic)
    if start >= NEVER:
        qp.state = IDLE
        qp.pace_timer_ps = NEVER
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
    if start < qp.pace_timer_armed:
        qp.pace_timer_armed = start
        heap_push(g, start, PACE + qp.number)
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
        if number < 0 or next_start_ps(qp, now) > now:  # its rate or window has changed since it queued
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
def fail_port(g, number):
    """Lose what is under way and what waits at a port; send nothing any more."""
    port, now = port_at(g, number), g.now_ps
    port.is_down = 1
    packet = port.flight_head
    port.flight_head = -1
    while packet >= 0:
        following = packet_at(g, packet).next
        port.lost_packets += 1
        discard(g, packet, number, now)
        packet = following
    for cls in range(NUM_CLASSES):
        queue = queue_of(g, number, cls)
        while queue.head >= 0:
            packet = take(g, port, queue, cls)
            if cls >= DATA_CLASS:
                port.queue_bytes -= packet_at(g, packet).wire_bytes
                if not port.is_nic:
                    release(g, port.node, packet, now)
            port.lost_packets += 1
            discard(g, packet, number, now)


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
    packet.wire_bytes = payload + g.header_bytes
    packet.sent_ps = clock(g, host_at(g, port.node), now) if g.has_clocks else now
    message.next_psn = psn + 1
    if psn < message.highest_psn:
        message.retransmissions += 1
    else:
        message.highest_psn = psn + 1
    qp.inflight_bytes += payload
    qp.credits -= 1
    g.sent_bytes += payload
    if g.on_send:
        due = call(
            g.on_send, g.params, 0, g.qps + qp.number * g.qp_bytes, g.messages + message_number * g.message_bytes,
            g.packets + number * g.packet_bytes, 0, 0, now,
        )  # fmt: skip
        if due:
            arm(g, due, qp.number, message_number, 0, 0)
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
