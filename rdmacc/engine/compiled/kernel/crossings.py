"""Windows on several threads: packets that leave for a node of another thread, and the end of a window.

A thread works in a window on its own nodes only. What it sends to another thread's node is chained apart, at the port
that sends, and the port in a chain for that thread. There are two such chains, for even windows and for odd ones. All
threads end a window together, at a barrier; then each takes in what was sent to it, while the others may already fill
the chains of the next window.
"""

from rdmacc.engine.compiled.kernel.events import wheel_event
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.tables.layout import CACHE_LINE, CROSSING

_crossing = record_at(CROSSING)
_CROSSING_BYTES = CROSSING.itemsize
_LINE = CACHE_LINE
_SPINS = 4_000  # looks before a thread that waits lets others run: some 20 us


@jit
def globals_of(g, thread):
    """Return the row of globals of one of the threads; the first one's holds what all share."""
    return globals_at(load_i8(g.pool + 8 * thread))


@jit
def crossing_at(g, port):
    """Return what a port has sent to another thread in a window like this, even or odd."""
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
    """Append what other threads have sent to this one, in the window that has ended, to the packets under way."""
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
    """Come to the barrier; return whether this thread is the last one, which decides while the others wait."""
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
