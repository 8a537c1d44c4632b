"""The kernel's event loop: pop, dispatch, repeat."""

from rdmacc.engine.compiled.kernel.events import (
    EVENT_BYTES,
    node_of,
    pop_event,
    push_event,
    refill,
    replace_event,
    wheel_event,
)
from rdmacc.engine.compiled.kernel.hosts import expire, host_receive
from rdmacc.engine.compiled.kernel.messages import end_computation, give_up, start
from rdmacc.engine.compiled.kernel.ports import (
    expire_nic_timer,
    fail_port,
    kick,
    restore_port,
    resume_work,
    schedule,
    send_next,
    storm,
)
from rdmacc.engine.compiled.kernel.probes import WATCH_BYTES, look_at_changes, record_sample, value_of
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.kernel.rules import is_lost as is_lost_by_chance
from rdmacc.engine.compiled.kernel.switches import next_hop, route_entry, switch_receive
from rdmacc.engine.compiled.kernel.timers import arm

DOWN, UP, WORK, STORM, CALM = range(5)  # what `fault_port` does

STOPPED, PAUSED, MORE_PACKETS, MORE_EVENTS, MORE_SAMPLES, MORE_TRACE, MORE_QUEUE_PAIRS, LEFT, AGAIN = range(9)
"""Why the kernel returns: it has reached its time or has no event left; it has run its number of events; a table is
full; windows must pause here, or have gone too far."""


@jit
def look_ahead(g):
    """Prefetch what the next events will need; the rows of their ports were prefetched when their step began.

    The next event is at the heap's root, and most of those after it are among the root's children. In a large network
    each of these accesses misses the cache. So we prefetch packets while their event is a child, and what the packets
    refer to while it is the root.
    """
    rank = rank_at(g, 0)
    if DELIVER <= rank < SHAPE:
        number = first_packet(g, rank)
        if number >= 0:
            if g.prefetch_depth > 1:
                fetch_onward(g, rank, packet_at(g, number))
            else:
                prefetch(packet_row(g, number))
        if rank < WAKE:
            following = port_at(g, rank & RANK_MASK).flight_next
            if following >= 0:
                prefetch(packet_row(g, following))
    if g.prefetch_depth > 1:
        for child in range(1, 5):
            rank = rank_at(g, child)
            if DELIVER <= rank < SHAPE:
                number = first_packet(g, rank)
                if number >= 0:
                    prefetch(packet_row(g, number))


@jit
def rank_at(g, place):
    """Return the rank, without its order, of a heap entry; entries past the end hold events that never come."""
    rank = load_i8(g.heap + place * EVENT_BYTES + 8)
    return rank_without_order(g, rank)


@jit
def first_packet(g, rank):
    """Return the packet that arrives or that is likely to be sent next; -1 for none."""
    number = rank & RANK_MASK
    port = port_at(g, number)
    if rank < WAKE:
        return port.flight_head
    return queue_of(g, number, lowest_bit(port.waiting)).head if port.waiting else -1


@jit
def fetch_onward(g, rank, packet):
    """Prefetch what a packet touches as it arrives or leaves a queue: its message, route and buffer account."""
    port = port_at(g, rank & RANK_MASK)
    if rank >= WAKE:
        prefetch(ingress_row(g, packet.ingress))
    elif port.peer_is_host:
        prefetch(message_row(g, packet.message))
        prefetch(qp_row(g, packet.qp))
    else:
        prefetch(route_entry(g, port.peer, packet.dst))


@jit
def deliver(g, number, now):
    port = port_at(g, number)
    packet_number = port.flight_head
    if packet_number < 0:  # the link went down
        pop_event(g)
        return
    packet = packet_at(g, packet_number)
    if packet.arrival_ps != now:  # the event is of a packet that was lost when the link went down
        pop_event(g)
        return
    is_lost = (port.has_loss and is_lost_by_chance(port, packet)) or (
        g.n_scripts and port.is_nic and is_scripted_loss(g, packet)
    )
    hop = -1
    if not is_lost and not port.peer_is_host and packet.kind < PAUSE:
        hop = next_hop(g, port.peer, packet, route_key(packet))
        if hop >= 0:  # needed as soon as the next event has been found
            fetch_port(g, hop)
            prefetch(ingress_row(g, port.reverse * NUM_CLASSES + packet.priority))
    following = port.flight_next
    port.flight_head = following
    if following >= 0:
        upcoming = packet_at(g, following)
        port.flight_next = upcoming.next
        replace_event(g, upcoming.arrival_ps, rank_in(g, DELIVER + number, upcoming.order))
    else:
        pop_event(g)
    if g.prefetch_depth:
        look_ahead(g)
    if is_lost:
        port.lost_packets += 1
        discard(g, packet_number, number, now)
        return
    if g.has_trace and (port.peer_is_host or packet.kind >= PAUSE or g.has_trace > 1):
        note(g, ARRIVED, number, packet_number, now)
    if port.peer_is_host:
        host_receive(g, packet_number, port.peer, port.reverse, now)
    else:
        switch_receive(g, packet_number, port.peer, port.reverse, hop, now)


@cold
def is_scripted_loss(g, packet):
    is_lost = False
    for i in range(g.n_scripts):
        row = g.scripts + i * 40
        psn = load_i8(row + 16)
        if load_i8(row) == packet.message and load_i8(row + 8) == packet.kind and (psn < 0 or psn == packet.psn):
            count = load_i8(row + 32) + 1
            store_i8(row + 32, count)
            is_lost = is_lost or count == load_i8(row + 24)
    return is_lost


@jit
def pace(g, number, now):
    qp = qp_at(g, number)
    if expire_pace(qp, now):
        schedule(g, number, now)


@jit
def dispatch_timer(g, rank, now):
    kind = (rank - SENDER_TIMER) >> RANK_SHIFT
    number = rank & RANK_MASK
    count = count_slots(g, kind)
    expire(g, kind, number // count, number % count, now)


@jit
def events_with_room(g):
    """Return how many events are sure to find memory, whatever they do."""
    room = min(packet_room(g) // g.reserve_packets, event_room(g) // g.reserve_events)
    if g.n_watches:
        room = min(room, (g.sample_capacity - g.sample_count) // g.n_watches)
    if g.has_trace:
        room = min(room, (g.trace_capacity - g.trace_count) // g.reserve_events)
    return room


@jit
def full_table(g):
    """Return which table lacks room for one more event, 0 if none does."""
    if packet_room(g) < g.reserve_packets:
        return MORE_PACKETS
    if event_room(g) < g.reserve_events:
        return MORE_EVENTS
    if g.sample_capacity - g.sample_count < g.n_watches:
        return MORE_SAMPLES
    return MORE_TRACE


@jit
def packet_room(g):
    return g.packet_capacity - g.packet_count + g.free_count


@jit
def event_room(g):
    return g.event_capacity - g.heap_length - g.wheel_count


def run_kernel(address, until_ps, max_events):
    """Process events before `until_ps`, at most `max_events`; return why it stopped."""
    g = globals_at(address)
    events = g.events
    last_event, next_look = events + max_events, events
    reason = STOPPED
    while g.heap_length > 0 and g.unfinished > 0:
        now = load_i8(g.heap)
        if now >= until_ps:
            break
        if events >= next_look:
            if events >= last_event:
                reason = PAUSED
                break
            room = events_with_room(g)
            if room < 1:
                reason = full_table(g)
                break
            next_look = min(last_event, events + room)
        rank = load_i8(g.heap + 8)
        if g.tick_ps:
            g.order_now = rank >> ORDER_SHIFT
        rank = rank_without_order(g, rank)
        g.now_ps = now
        events += 1
        number = rank & RANK_MASK
        if rank < WAKE:
            if rank >= DELIVER:
                deliver(g, number, now)
            else:
                if g.n_ready <= g.next_start < g.n_starts:
                    events -= 1
                    reason = MORE_QUEUE_PAIRS
                    break
                pop_event(g)
                if g.next_start < g.n_starts and load_entry(g.starts, g.next_start) == number:
                    g.next_start += 1
                    if g.next_start < g.n_starts:
                        upcoming = load_entry(g.starts, g.next_start)
                        push_event(g, message_at(g, upcoming).start_ps, rank_last(g, START + upcoming))
                if number < g.n_messages:
                    start(g, number, now)
                else:
                    end_computation(g, number, now)
        else:
            serve(g, rank, number, now)
        if g.n_changes:
            look_at_changes(g, now)
    g.events = events
    return reason


@jit
def serve(g, rank, number, now):
    """Dispatch an event that is neither a start nor an arrival."""
    pop_event(g)
    if g.prefetch_depth:
        look_ahead(g)
    if rank < SHAPE:
        port = port_at(g, number)
        port.is_wake_pending = 0
        if not port.is_down:
            send_next(g, port, now)
    elif rank < PACE:
        port = port_at(g, number)
        port.is_shape_pending = 0
        if not port.is_wake_pending:
            kick(g, port, now)
    elif rank < SENDER_TIMER:
        if g.has_scanning_nics:
            expire_nic_timer(g, number, now)
        else:
            pace(g, number, now)
    elif rank < PROBE:
        dispatch_timer(g, rank, now)
    else:
        watch = watch_at(g.watches + number * WATCH_BYTES)
        record_sample(g, number, value_of(watch), now)
        push_event(g, now + watch.every_ps, rank_last(g, PROBE + number))


def push_events(address, events, count):
    """Schedule events, from rows of time and rank."""
    g = globals_at(address)
    for _ in range(count):
        time_ps, rank = load_i8(events), load_i8(events + 8)
        if g.node_bits:
            wheel_event(g, time_ps, rank)
        else:
            push_event(g, time_ps, rank)
        events += 16
    if g.heap_length == 0 and g.wheel_count > 0 and not g.node_bits:
        refill(g)


def find_nodes(address, events, nodes, count):
    """Write the node of each event, given rows of time and rank."""
    g = globals_at(address)
    for number in range(count):
        store_i8(nodes + 8 * number, node_of(g, load_i8(events + 16 * number + 8)))


def move_packets(source, target, count):
    """Move `count` rows from one thread's free list to another's; the source has at least `count`."""
    a, b = globals_at(source), globals_at(target)
    first = last = a.free_head
    for _ in range(count - 1):
        last = packet_at(a, last).next
    a.free_head = packet_at(a, last).next
    packet_at(a, last).next = b.free_head
    b.free_head = first
    a.free_count -= count
    b.free_count += count


def call_rows(address, hook, base, stride, rows, count, is_armed):
    """Call on_open or on_port for rows of a table; schedule the timers that they set, or not; return which they set.

    Queue pairs and ports are both passed, a hook takes its own.
    """
    g = globals_at(address)
    dues = 0
    for _ in range(count):
        number = load_i8(rows)
        row = base + number * stride
        due = call(hook, g.params, row, row, 0, 0, 0, 0, 0)
        dues |= due
        if due and is_armed:
            arm(g, due, number, 0, 0, number)
        rows += 8
    return dues


def fail_message(address, number, reason):
    g = globals_at(address)
    give_up(g, number, reason, g.now_ps)


def fault_port(address, number, what):
    """Take a port down, bring it back and wake it, or make it send PFC frames."""
    g = globals_at(address)
    if what == DOWN:
        fail_port(g, number)
    elif what == UP:
        restore_port(g, number)
    elif what == WORK:
        resume_work(g, number)
    else:
        storm(g, number, RESUME if what == CALM else PAUSE)
