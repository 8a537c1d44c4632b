"""Ports of the kernel. Mirrors `rdmacc.engine.reference.ports`, function by function."""

from rdmacc.engine.compiled.kernel.nic import has_work, join_line, join_scanned_line, send_next_nic, send_next_scanning
from rdmacc.engine.compiled.kernel.queues import (
    join_queue,
    next_class,
    release,
    run_port_hook,
    send_pfc,
    take,
    transmit,
    wake_at_end,
)
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.kernel.timers import complete_request


@jit
def enqueue(g, port, number, cls, now):
    if join_queue(g, port, number, cls, now) and not port.is_wake_pending:
        kick(g, port, now)


@jit
def forward(g, port, number, cls, now):
    """`enqueue` at a switch: a packet that finds nothing waiting skips the queue."""
    is_held = port.waiting or port.paused & (1 << cls) or port.is_wake_pending or port.is_down
    if is_held or is_busy(g, port, now) or (g.has_limits and cls < DATA_CLASS):
        enqueue(g, port, number, cls, now)
        return
    if cls >= DATA_CLASS:
        packet = packet_at(g, number)
        if packet.wire_bytes > port.peak_queue_bytes:
            port.peak_queue_bytes = packet.wire_bytes
        if g.lanes:
            count_lane(g, port, cls)
        depart(g, port, number, now)
    transmit(g, port, number, now)


@jit
def kick(g, port, now):
    if port.is_down:
        return
    if is_busy(g, port, now):
        wake_at_end(g, port)
    else:
        send_next(g, port, now)


@jit
def send_next(g, port, now):
    if not port.is_nic:
        send_next_switch(g, port, now)
    elif g.has_scanning_nics:
        send_next_scanning(g, port, now)
    else:
        send_next_nic(g, port, now)


@jit
def send_next_switch(g, port, now):
    cls = next_class(g, port, now)
    if cls >= 0:
        queue = queue_of(g, port.number, cls)
        number = take(g, port, queue, cls)
        if queue.head < 0:
            port.waiting ^= 1 << cls
        if cls >= DATA_CLASS:
            port.queue_bytes -= packet_at(g, number).wire_bytes
            depart(g, port, number, now)
        transmit(g, port, number, now)
        if port.waiting & ~port.paused:
            wake_at_end(g, port)


@jit
def depart(g, port, number, now):
    if g.on_dequeue and not switch_at(g, port.node).is_nic:
        packet = packet_at(g, number)
        was_marked = packet.ce
        run_port_hook(g, g.on_dequeue, port, number, now)
        if packet.ce and not was_marked:
            port.marked_packets += 1
    release(g, port.node, number, now)


@jit
def schedule(g, number, now):
    qp = qp_at(g, number)
    if g.has_scanning_nics:
        join_scanned_line(g, qp, now)
        look(g, port_at(g, qp.nic), now)
    elif join_line(g, qp, now):
        port = port_at(g, qp.nic)
        if not port.is_wake_pending:
            kick(g, port, now)


@jit
def look(g, port, now):
    """Wake a scanning NIC, now or when its transmitter is free."""
    if has_work(g, port) and not port.is_wake_pending:
        kick(g, port, now)


@cold
def expire_nic_timer(g, number, now):
    """With a tick: serve a NIC's timer, unless it has been replaced."""
    port = port_at(g, number)
    if g.order_now == port.timer_order and port.timer_ps == now:
        port.timer_ps = NEVER
        look(g, port, now)


@jit
def send_request(g, number, qp, message, now):
    if complete_request(g, number, qp, message, now):
        enqueue(g, port_at(g, qp_at(g, qp).nic), number, packet_at(g, number).priority, now)


@cold
def pause_or_resume(g, port, number, now):
    if obey(port, packet_at(g, number), now) and not port.is_wake_pending:
        kick(g, port, now)
    recycle(g, number)


@jit
def fail_port(g, number):
    port, now = port_at(g, number), g.now_ps
    port.is_down = 1
    packet = port.flight_head
    port.flight_head = port.flight_next = -1
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
        if g.has_scanning_nics or backlog_of(g, number, cls).ready == 0:
            port.waiting &= ~(1 << cls)


@jit
def restore_port(g, number):
    port, now = port_at(g, number), g.now_ps
    port.is_down = 0
    end_pause(port, now)
    for ingress in range(number * NUM_CLASSES, (number + 1) * NUM_CLASSES):
        if ingress_at(g, ingress).pause_sent:
            send_pfc(g, ingress, PAUSE, now)


@jit
def resume_work(g, number):
    port, now = port_at(g, number), g.now_ps
    if g.has_scanning_nics and port.is_nic:
        look(g, port, now)
    elif port.waiting and not port.is_wake_pending:
        kick(g, port, now)


@jit
def storm(g, number, kind):
    for cls in range(DATA_CLASS, NUM_CLASSES):
        send_pfc(g, number * NUM_CLASSES + cls, kind, g.now_ps)
