"""Switches of the kernel. Mirrors `rdmacc.engine.reference.switches`, function by function."""

import numpy as np

from rdmacc.engine.compiled.kernel.ports import enqueue, forward, pause_or_resume
from rdmacc.engine.compiled.kernel.queues import release, run_port_hook, send_pfc
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.tables.layout import ROUTE_COUNT, ROUTE_IN_ROW, ROUTE_SHIFT


@jit
def switch_receive(g, number, node, in_port_number, hop, now):
    packet = packet_at(g, number)
    kind, ingress = packet.kind, in_port_number * NUM_CLASSES + packet.priority
    if kind >= PAUSE:
        pause_or_resume(g, port_at(g, in_port_number), number, now)
        return
    if hop < 0:  # a link has failed and no path is left
        before = port_at(g, in_port_number).reverse
        port_at(g, before).lost_packets += 1
        discard(g, number, before, now)
        return
    if g.on_route and kind == DATA and not switch_at(g, node).is_nic:
        hop = reroute(g, number, node, in_port_number, hop, now)
    port = port_at(g, hop)
    if port.is_down:  # routes do not know yet
        port.lost_packets += 1
        discard(g, number, hop, now)
        return
    if packet.priority >= DATA_CLASS:
        if g.on_enqueue and not switch_at(g, node).is_nic:
            was_marked = packet.ce
            run_port_hook(g, g.on_enqueue, port, number, now)
            if packet.ce and not was_marked:
                port.marked_packets += 1
            if packet.verdict == DROP:
                port.dropped_packets += 1
                discard(g, number, hop, now)
                return
            if packet.verdict == TRIM:
                trim(g, number, port, now)
            elif packet.verdict == TRIM_TAIL:
                trim_tail(g, number, node, port, now)
    if g.returns_headers and packet.is_trimmed:
        port = turn_back(g, number, node, port)
    if packet.priority >= DATA_CLASS:
        packet.ingress = ingress
        if not admit(g, packet, node, port, now):
            discard(g, number, port.number, now)
            return
    if g.explains == 2 and message_at(g, packet.message).is_explained:
        port.is_watched = 1
    forward(g, port, number, packet.priority, now)


@cold
def turn_back(g, number, node, port):
    packet = packet_at(g, number)
    limit = queue_limit_bytes(g, packet.priority)
    if packet.kind == DATA and limit:
        if not fits_queue(backlog_of(g, port.number, packet.priority).waiting_bytes, packet.wire_bytes, limit):
            packet.kind = RETURN
            packet.dst = message_at(g, packet.message).src
            hop = next_hop(g, node, packet, packet.message * 2 + 1)
            if hop >= 0:
                return port_at(g, hop)
    return port


@jit
def next_hop(g, node, packet, key):
    if g.has_paths:
        hop = own_hop(g, node, key)
        if hop >= 0 and not port_at(g, hop).is_down:
            return hop
    dst = packet.dst
    column = load_entry(g.attach, dst)
    if load_entry(g.attachments, column) == node:
        return load_entry(g.last_port, dst)
    switch = switch_at(g, node)
    cell = switch.route_row * g.n_attachments + column
    entry = load_i8(g.routes + cell * 8)
    count, first = entry & ROUTE_COUNT, entry >> ROUTE_SHIFT
    if count <= 1:
        return first if count else -1
    if g.hash_as:
        key = 2 * load_entry(g.hash_as, key >> 1) + (key & 1)
    if g.routing == SYMMETRIC:
        chosen = way_by_distance(g.symmetric_salt, key, load_entry(g.distance, cell), count)
    elif g.routing == ADAPTIVE:
        chosen = adapt(g, switch, entry, key)
    elif g.routing == SPRAY_ROUND_ROBIN:
        turn = load_entry(g.spray_counts, cell)
        chosen = way_in_turn(switch, column, turn, count)
        store_i4(g.spray_counts + cell * 4, np.int32(turn + 1))
    else:
        chosen = way_by_packet(g.routing, switch, packet, key, count)
    if switch.is_nic:
        chosen = first_up(g, entry, chosen)
    return choice_of(g, entry, chosen)


@jit
def choice_of(g, entry, chosen):
    """Return a route's candidate port by index."""
    first = entry >> ROUTE_SHIFT
    return first + chosen if entry & ROUTE_IN_ROW else load_entry(g.route_ports, first + chosen)


@cold
def first_up(g, entry, chosen):
    """Return the first candidate from `chosen` on, cyclically, whose port is up; `chosen` itself if all are down."""
    count = entry & ROUTE_COUNT
    for turn in range(count):
        other = modulo(chosen + turn, count)
        if not port_at(g, choice_of(g, entry, other)).is_down:
            return other
    return chosen


@cold
def adapt(g, switch, entry, key):
    """Return the port with the shortest queue; while the message's flowlet is active, its port."""
    count = entry & ROUTE_COUNT
    place = g.flowlets + (switch.route_row * FLOWLETS + flowlet_place(key)) * 16
    if g.flowlet_gap_ps > 0 and g.now_ps - load_i8(place) < g.flowlet_gap_ps:
        store_i8(place, g.now_ps)
        return modulo(load_i8(place + 8), count)
    first_way = first_in_scan(switch, count)
    best, least = first_way, NEVER
    for turn in range(count):
        chosen = first_way + turn
        if chosen >= count:
            chosen -= count
        port = port_at(g, choice_of(g, entry, chosen))
        wait = wait_ps(port)
        if wait < least:
            best, least = chosen, wait
    if g.flowlet_gap_ps > 0:
        store_i8(place, g.now_ps)
        store_i8(place + 8, best)
    return best


@jit
def route_entry(g, node, dst):
    """Return the address of a switch's entry in the table of routes; the switch of the host itself has none to use."""
    return g.routes + (switch_at(g, node).route_row * g.n_attachments + load_entry(g.attach, dst)) * 8


@cold
def own_hop(g, node, key):
    for step in range(load_entry(g.path_first, key), load_entry(g.path_first, key + 1)):
        if load_entry(g.path_nodes, step) == node:
            return load_entry(g.path_ports, step)
    return -1


@jit
def reroute(g, number, node, in_port_number, hop, now):
    packet = packet_at(g, number)
    packet.route = -1
    packet.verdict = ACCEPT
    call_route(g, g.on_route, hop, node, number, now)
    if packet.verdict == DEFLECT:
        packet.verdict = ACCEPT
        switch = switch_at(g, node)
        first, last = load_entry(g.node_first_port, node), load_entry(g.node_first_port, node + 1)
        count = 0
        for other in range(first, last):
            if is_deflection_port(port_at(g, other), hop, in_port_number):
                count += 1
        if count:
            drawn = draw_deflection(switch, count)
            port_at(g, hop).deflected_packets += 1
            for other in range(first, last):
                if is_deflection_port(port_at(g, other), hop, in_port_number):
                    if drawn == 0:
                        hop = other
                        break
                    drawn -= 1
            if g.on_deflect:
                call_route(g, g.on_deflect, hop, node, number, now)
    elif packet.route >= 0:
        hop = packet.route
    return hop


@jit
def call_route(g, hook, hop, node, number, now):
    call(
        hook, g.params, g.ports + hop * g.port_bytes, g.switches + node * g.switch_bytes,
        message_row(g, packet_at(g, number).message), packet_row(g, number), 0, 0, now,
    )  # fmt: skip


@cold
def trim(g, number, port, now):
    packet = packet_at(g, number)
    g.trimmed_bytes += packet.payload_bytes
    cut_payload(packet, g.trimmed_wire_bytes, g.trimmed_priority)
    port.trimmed_packets += 1
    if g.has_trace:
        note(g, TRIMMED, port.number, number, now)


@cold
def trim_tail(g, number, node, port, now):
    packet = packet_at(g, number)
    cls = packet.priority
    queue = queue_of(g, port.number, cls)
    if queue.head < 0:
        trim(g, number, port, now)
        return
    packet.verdict = ACCEPT
    tail, before, here = queue.tail, -1, queue.head
    while here != tail:
        before = here
        here = packet_at(g, here).next
    if before < 0:
        queue.head = -1
        port.waiting ^= 1 << cls
    else:
        packet_at(g, before).next = -1
        queue.tail = before
    port.queue_bytes -= packet_at(g, tail).wire_bytes
    release(g, node, tail, now)
    trim(g, tail, port, now)
    if g.returns_headers:
        port = turn_back(g, tail, node, port)
    enqueue(g, port, tail, packet_at(g, tail).priority, now)


@jit
def admit(g, packet, node, port, now):
    switch = switch_at(g, node)
    if not g.is_lossless:
        if switch.is_nic or admit_lossy(g, switch, port.queue_bytes, packet.wire_bytes):
            return True
        port.dropped_packets += 1
        return False
    account = ingress_at(g, packet.ingress)
    if not admit_lossless(g, switch, account, packet.wire_bytes):
        port_at(g, port_at(g, packet.ingress // NUM_CLASSES).reverse).violations += 1
        return False
    if not account.pause_sent and must_pause(g, switch, account):
        account.pause_sent = 1
        send_pfc(g, packet.ingress, PAUSE, now)
    return True
