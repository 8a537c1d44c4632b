"""Access to the kernel's rows by number, and the pool of packets.

Everything that the kernel is written with comes in one import, ``from rdmacc.engine.compiled.kernel.rows import *``:
memory by address, rows, the compiled rules and the constants of both engines.
"""

from rdmacc.engine.compiled.kernel.rules import *
from rdmacc.engine.compiled.machine_code.address import *
from rdmacc.engine.compiled.machine_code.units import *
from rdmacc.engine.compiled.tables import layout
from rdmacc.engine.trace import *
from rdmacc.interface.state import *

_packet = record_at(layout.PACKET)
_message = record_at(layout.MESSAGE)
_computation = record_at(layout.COMPUTATION)
_COMPUTATION_BYTES = layout.COMPUTATION.itemsize
_qp = record_at(layout.QP)
_host = record_at(layout.HOST)
_port = record_at(layout.PORT)
_switch = record_at(layout.SWITCH)
_queue = record_at(layout.QUEUE)
_backlog = record_at(layout.BACKLOG)
_ingress = record_at(layout.INGRESS)
watch_at = record_at(layout.WATCH)
sample_at = record_at(layout.SAMPLE)
added_at = record_at(layout.ADDED)

_QUEUE_BYTES = layout.QUEUE.itemsize
_BACKLOG_BYTES = layout.BACKLOG.itemsize
_INGRESS_BYTES = layout.INGRESS.itemsize
_trace_row = record_at(ROW)
_TRACE_BYTES = ROW.itemsize
_QUEUES_AT, _CACHE_LINE, _MAX_SLOTS = layout.QUEUES_AT, layout.CACHE_LINE, layout.MAX_SLOTS


@jit
def packet_at(g, number):
    return _packet(g.packets + number * g.packet_bytes)


@jit
def message_at(g, number):
    return _message(g.messages + number * g.message_bytes)


@jit
def computation_at(g, number):
    return _computation(g.computation + (number - g.n_messages) * _COMPUTATION_BYTES)


@jit
def qp_at(g, number):
    return _qp(g.qps + number * g.qp_bytes)


@jit
def host_at(g, node):
    return _host(g.hosts + node * g.host_bytes)


@jit
def port_at(g, number):
    return _port(g.ports + number * g.port_bytes)


@jit
def switch_at(g, node):
    return _switch(g.switches + node * g.switch_bytes)


@jit
def qp_row(g, number):
    return g.qps + number * g.qp_bytes


@jit
def message_row(g, number):
    return g.messages + number * g.message_bytes


@jit
def packet_row(g, number):
    return g.packets + number * g.packet_bytes


@jit
def ingress_row(g, number):
    return g.ingresses + number * _INGRESS_BYTES


@jit
def fetch_port(g, number):
    """Prefetch the part of a port's row that events touch."""
    row = g.ports + number * g.port_bytes
    prefetch(row)
    prefetch(row + _CACHE_LINE)
    prefetch(row + _QUEUES_AT)


@jit
def queue_of(g, port, cls):
    return _queue(g.ports + port * g.port_bytes + _QUEUES_AT + cls * _QUEUE_BYTES)


@jit
def backlog_of(g, port, cls):
    """Return the backlog of a port's class: of a NIC's queue pairs, or of a queue that is limited."""
    return _backlog(g.backlogs + (port * NUM_CLASSES + cls) * _BACKLOG_BYTES)


@jit
def ingress_at(g, number):
    """Return a PFC account: of what came in through port `number // NUM_CLASSES` in class `number % NUM_CLASSES`."""
    return _ingress(ingress_row(g, number))


@jit
def timer_row(g, kind, slot):
    """Return the table row of a record kind's deadline; row `MAX_SLOTS` holds their number."""
    return g.timers + (kind * (_MAX_SLOTS + 1) + slot) * 16


@jit
def count_slots(g, kind):
    return load_i8(timer_row(g, kind, _MAX_SLOTS))


@jit
def load_entry(table, index):
    return load_i4(table + index * 4)


@jit
def new_packet(g):
    """Take a packet with its reply fields and headers at their defaults; return its number."""
    number = g.free_head
    if number >= 0:
        packet = packet_at(g, number)
        g.free_head = packet.next
        g.free_count -= 1
    else:
        number = g.packet_count
        g.packet_count = number + 1
        packet = packet_at(g, number)
        copy_words(g.packet_template, packet_row(g, number), g.packet_bytes >> 3)
    g.live_packets += 1
    packet.kind = 0
    packet.ce = 0
    packet.accepted = 0
    packet.verdict = 0
    packet.is_trimmed = 0
    packet.wire_bytes = 0
    packet.psn = 0
    packet.path = 0
    packet.priority = g.ack_priority
    copy_words(g.packet_template + g.header_offset, packet_row(g, number) + g.header_offset, g.header_words)
    return number


@jit
def copy_words(source, target, count):
    for word in range(count):
        store_i8(target + word * 8, load_i8(source + word * 8))


@jit
def recycle(g, number):
    packet = packet_at(g, number)
    packet.qp = -1
    packet.next = g.free_head
    g.free_head = number
    g.free_count += 1
    g.live_packets -= 1


@cold
def note(g, what, port, number, now):
    packet = packet_at(g, number)
    if g.explains == 2 and packet.kind < PAUSE and not message_at(g, packet.message).is_explained:
        if what != SENT or not port_at(g, port).is_watched:
            return
    row = _trace_row(g.traces + g.trace_count * _TRACE_BYTES)
    row.time_ps = now
    row.port = port
    row.message = packet.message if packet.kind < PAUSE else -1
    row.psn = packet.psn
    row.wire_bytes = packet.wire_bytes
    row.what = what
    row.kind = packet.kind
    row.priority = packet.priority
    row.ce = packet.ce
    g.trace_count += 1


@cold
def note_change(g, port, qp, stop, now):
    row = _trace_row(g.traces + g.trace_count * _TRACE_BYTES)
    row.time_ps = now
    row.port = port
    row.message = -1
    row.psn = qp
    row.wire_bytes = 0
    row.what = STOPPED
    row.kind = stop
    row.priority = 0
    row.ce = 0
    g.trace_count += 1


@jit
def discard(g, number, port, now):
    if g.has_trace:
        note(g, DROPPED, port, number, now)
    g.dropped_bytes += packet_at(g, number).payload_bytes
    recycle(g, number)


@jit
def rank_now(g, rank):
    return rank_in(g, rank, next_order(g))


@jit
def rank_last(g, rank):
    return rank_in(g, rank, LAST_ORDER)
