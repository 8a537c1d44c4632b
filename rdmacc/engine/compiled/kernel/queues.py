"""The queues of a port, its transmitter, and the buffer behind it. See `rdmacc.engine.reference.ports` and `switches`.

In windows on several threads, a thread works on its own nodes only. What it sends to another thread's node is chained
apart, at the port that sends, and the port in a chain for that thread. There are two such chains, for even windows and
for odd ones. All threads end a window together, at a barrier; then each takes in what was sent to it, while the others
may already fill the chains of the next window.
"""

from rdmacc.engine.compiled.kernel.events import push_event, wheel_event
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.kernel.timers import arm
from rdmacc.engine.compiled.tables.layout import CACHE_LINE, CROSSING

_crossing = record_at(CROSSING)
_CROSSING_BYTES = CROSSING.itemsize
_LINE = CACHE_LINE
_SPINS = 4_000  # looks before a thread that waits lets others run: some 20 us


@jit
def globals_of(g, thread):
    """Return a thread's row of globals; the first thread's row holds the shared state."""
    return globals_at(load_i8(g.pool + 8 * thread))


@jit
def crossing_at(g, port):
    """Return the chain of packets that a port has sent to another thread, for even or odd windows."""
    return _crossing(g.crossings + (g.turn & 1) * g.crossings_bytes + port * _CROSSING_BYTES)


@cold
def cross_over(g, port, number):
    crossing = crossing_at(g, port.number)
    if crossing.first < 0:
        crossing.first = number
        box = g.outbox + 8 * ((g.turn & 1) * g.n_threads + port.crosses - 1)
        crossing.next_port = load_i8(box)
        store_i8(box, port.number)
        g.handed_ps = min(g.handed_ps, packet_at(g, number).arrival_ps)
    else:
        packet_at(g, crossing.last).next = number
    crossing.last = number


@cold
def receive_crossings(g):
    """Append the packets that other threads sent in the window just ended to those in flight."""
    for thread in range(g.n_threads):
        box = globals_of(g, thread).outbox + 8 * ((g.turn & 1) * g.n_threads + g.thread)
        number = load_i8(box)
        if number >= 0:
            store_i8(box, -1)
        while number >= 0:
            port, crossing = port_at(g, number), crossing_at(g, number)
            first = crossing.first
            crossing.first = -1
            if port.flight_head < 0:
                packet = packet_at(g, first)
                port.flight_head = first
                port.flight_next = packet.next
                wheel_event(g, packet.arrival_ps, rank_in(g, DELIVER + number, packet.order))
            else:
                if port.flight_next < 0:
                    port.flight_next = first
                packet_at(g, port.flight_tail).next = first
            port.flight_tail = crossing.last
            number = crossing.next_port
    g.handed_ps = NEVER


@cold
def wait_for_all(g):
    """Wait at the barrier; return True in the last thread to arrive, which decides while the others wait."""
    generation = load_shared(g.meeting + _LINE)
    if count_up(g.meeting) == g.n_threads - 1:
        return True
    spins = 0
    while load_shared(g.meeting + _LINE) == generation:
        spins += 1
        if spins < _SPINS:
            relax()
        elif g.yield_thread:
            call(g.yield_thread, 0, 0, 0, 0, 0, 0, 0, 0)
    return False


@jit
def release_all(g):
    store_i8(g.meeting, 0)
    store_shared(g.meeting + _LINE, load_i8(g.meeting + _LINE) + 1)


@jit
def append(g, port_number, cls, number):
    queue = queue_of(g, port_number, cls)
    packet_at(g, number).next = -1
    if queue.head < 0:
        queue.head = number
    else:
        packet_at(g, queue.tail).next = number
    queue.tail = number


@jit
def join_queue(g, port, number, cls, now):
    packet = packet_at(g, number)
    if g.has_limits and cls < DATA_CLASS:
        limit = queue_limit_bytes(g, cls)
        if limit:
            backlog = backlog_of(g, port.number, cls)
            if not fits_queue(backlog.waiting_bytes, packet.wire_bytes, limit):
                port.dropped_packets += 1
                discard(g, number, port.number, now)
                return False
            backlog.waiting_bytes += packet.wire_bytes
    append(g, port.number, cls, number)
    port.waiting |= 1 << cls
    if cls >= DATA_CLASS:
        port.queue_bytes += packet.wire_bytes
        if port.queue_bytes > port.peak_queue_bytes:
            port.peak_queue_bytes = port.queue_bytes
    return True


@jit
def wake_at_end(g, port):
    port.is_wake_pending = 1
    push_event(g, port.busy_until_ps, rank_in(g, WAKE + port.number, port.order))


@jit
def transmit(g, port, number, now):
    packet = packet_at(g, number)
    put_on_link(port, packet, g, now)
    if g.has_trace:
        note(g, SENT, port.number, number, now)
    packet.next = -1
    if g.node_bits and port.crosses:
        cross_over(g, port, number)
        return
    if port.flight_head < 0:  # only the head of the packets under way has an event
        port.flight_head = number
        push_event(g, packet.arrival_ps, rank_in(g, DELIVER + port.number, packet.order))
    else:
        if port.flight_next < 0:
            port.flight_next = number
        packet_at(g, port.flight_tail).next = number
    port.flight_tail = number


@jit
def next_class(g, port, now):
    sendable = port.waiting & ~port.paused
    if g.credit_fraction > 0.0 and sendable & (1 << CREDITS):
        first = queue_of(g, port.number, CREDITS).head
        ready = credit_ready_ps(g, port, packet_at(g, first).wire_bytes, now)
        if ready > now:
            sendable ^= 1 << CREDITS
            if not sendable and not port.is_shape_pending:
                port.is_shape_pending = 1
                push_event(g, ready, rank_now(g, SHAPE + port.number))
    if not sendable:
        return -1
    return choose_class(g, port, sendable)


@jit
def take(g, port, queue, cls):
    number = queue.head
    following = packet_at(g, number).next
    queue.head = following
    if following >= 0:
        prefetch(g.packets + following * g.packet_bytes)  # its turn comes soon, and it has left the cache
    if cls < DATA_CLASS and g.has_limits:
        wire = packet_at(g, number).wire_bytes
        if queue_limit_bytes(g, cls):
            backlog_of(g, port.number, cls).waiting_bytes -= wire
        if cls == CREDITS:
            spend_credit(port, wire)
    return number


@jit
def run_port_hook(g, hook, port, number, now):
    row = g.ports + port.number * g.port_bytes
    due = call(hook, g.params, row, 0, 0, g.packets + number * g.packet_bytes, 0, 0, now)
    if due:
        arm(g, due, 0, 0, 0, port.number)


@jit
def release(g, node, number, now):
    switch = switch_at(g, node)
    packet = packet_at(g, number)
    if not g.is_lossless:
        if not switch.is_nic:
            release_lossy(switch, packet.wire_bytes)
        return
    account = ingress_at(g, packet.ingress)
    release_lossless(g, switch, account, packet.wire_bytes)
    if account.pause_sent and may_resume(g, switch, account):
        account.pause_sent = 0
        send_pfc(g, packet.ingress, RESUME, now)


@cold
def send_pfc(g, ingress, kind, now):
    port = port_at(g, ingress // NUM_CLASSES)
    if port.is_down:
        return
    number = new_packet(g)
    write_frame(g, packet_at(g, number), kind, ingress % NUM_CLASSES)
    if not port.is_wake_pending and not is_busy(g, port, now):
        transmit(g, port, number, now)  # idle: no packet waits, but for credits whose time has not come
        if port.waiting & ~port.paused:
            wake_at_end(g, port)
        return
    append(g, port.number, MAC, number)
    port.waiting |= 1 << MAC
    if not port.is_wake_pending:
        wake_at_end(g, port)
