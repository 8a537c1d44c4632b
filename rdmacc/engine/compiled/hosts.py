"""Switches and hosts of the kernel. Read beside `rdmacc.engine.reference.nodes` and `network`, name by name."""

from __future__ import annotations

from rdmacc.engine.compiled.address import call, jit, load_i8, store_i8
from rdmacc.engine.compiled.chance import hash63
from rdmacc.engine.compiled.heap import heap_push
from rdmacc.engine.compiled.ports import (
    enqueue,
    modulo,
    next_hop,
    pause_or_resume,
    release,
    run_port_hook,
    schedule,
    send_pfc,
)  # fmt: skip
from rdmacc.engine.compiled.rows import (
    EGRESS_TIMER,
    ENDPOINT_TIMER,
    RECEIVER_TIMER,
    SENDER_TIMER,
    START,
    TRANSFER_TIMER,
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
from rdmacc.engine.compiled.timers import MAX_SLOTS, arm, arm_slots, cancel, slot_offset
from rdmacc.records import NEVER
from rdmacc.state import (
    ACCEPT,
    ACK,
    ADVERT,
    CNP,
    CREDIT,
    DATA,
    DATA_CLASS,
    DEFLECT,
    DROP,
    IN_NETWORK,
    NAK,
    PAUSE,
    REQUEST,
    TRIM,
    TRIM_TAIL,
)  # fmt: skip
from rdmacc.trace import TRIMMED

__all__ = ["expire", "host_receive", "start", "switch_receive"]


@jit
def switch_receive(g, number, node, in_port_number, now):
    """Queue a packet at its next hop, or obey a PFC frame."""
    packet = packet_at(g, number)
    kind = packet.kind
    if kind >= PAUSE:
        pause_or_resume(g, port_at(g, in_port_number), number, now)
        return
    key = packet.message * 2
    if kind != DATA and kind != REQUEST:
        key += 1
    hop = next_hop(g, node, packet.dst, key)
    if hop < 0:  # a link has failed and no path is left
        before = port_at(g, in_port_number).reverse
        port_at(g, before).lost_packets += 1
        discard(g, number, before, now)
        return
    if g.on_route and kind == DATA:
        hop = reroute(g, number, node, in_port_number, hop, now)
    port = port_at(g, hop)
    if packet.priority >= DATA_CLASS:
        if g.on_enqueue:
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
    if packet.priority >= DATA_CLASS:
        packet.in_port = in_port_number
        if not admit(g, packet, node, port, now):
            discard(g, number, hop, now)
            return
    enqueue(g, port, number, now)


@jit
def reroute(g, number, node, in_port_number, hop, now):
    """Let switch features send a data packet another way than its route; return its port."""
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
            if may_deflect(g, other, hop, in_port_number):
                count += 1
        if count:
            drawn = modulo(hash63(switch.salt, (1 << 40) + switch.deflections), count)
            switch.deflections += 1
            port_at(g, hop).deflected_packets += 1
            for other in range(first, last):
                if may_deflect(g, other, hop, in_port_number):
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
def may_deflect(g, other, hop, in_port_number):
    """Tell whether a packet may be deflected to a port: to a switch, not back and not where it is crowded."""
    port = port_at(g, other)
    return port.link_class == IN_NETWORK and other != hop and other != in_port_number and not port.is_down


@jit
def call_route(g, hook, hop, node, number, now):
    """Call on_route or on_deflect."""
    call(
        hook, g.params, g.ports + hop * g.port_bytes, g.switches + node * g.switch_bytes,
        message_row(g, packet_at(g, number).message), packet_row(g, number), 0, 0, now,
    )  # fmt: skip


@jit
def trim(g, number, port, now):
    """Cut a packet's payload off."""
    packet = packet_at(g, number)
    g.trimmed_bytes += packet.payload_bytes
    packet.payload_bytes = 0
    packet.wire_bytes = g.trimmed_wire_bytes
    packet.priority = g.trimmed_priority
    packet.is_trimmed = 1
    packet.verdict = ACCEPT
    port.trimmed_packets += 1
    if g.has_trace:
        note(g, TRIMMED, port.number, number, now)


@jit
def trim_tail(g, number, node, port, now):
    """Cut the payload of the last packet of the queue off in place of this packet's."""
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
    enqueue(g, port, tail, now)


@jit
def admit(g, packet, node, port, now):
    """Account a data packet to the buffer; return whether it fits."""
    switch = switch_at(g, node)
    wire = packet.wire_bytes
    if not g.is_lossless:
        queued = port.queue_bytes + wire
        free = switch.shared_bytes - switch.used_bytes
        if queued > g.alpha * free or wire > free or (g.limit_bytes and queued > g.limit_bytes):
            port.dropped_packets += 1
            return False
    else:
        cls = packet.priority
        in_port = port_at(g, packet.in_port)
        account = ingress_of(g, packet.in_port, cls)
        reserve = g.buffer_reserve_bytes
        after = account.used_bytes + wire
        from_shared = min(wire, max(0, after - reserve))
        free = switch.shared_bytes - switch.shared_used
        if after - reserve > g.alpha * free or from_shared > free:
            if account.headroom_used + wire > in_port.headroom_bytes:
                port_at(g, in_port.reverse).violations += 1
                return False
            account.headroom_used += wire
        else:
            account.used_bytes = after
            switch.shared_used += from_shared
        if not in_port.pause_sent & (1 << cls):
            taken = max(0, account.used_bytes - reserve)
            threshold = g.alpha * (switch.shared_bytes - switch.shared_used)
            if account.headroom_used > 0 or taken >= threshold:
                in_port.pause_sent |= 1 << cls
                send_pfc(g, in_port, PAUSE, cls, now)
    switch.used_bytes += wire
    if switch.used_bytes > switch.peak_bytes:
        switch.peak_bytes = switch.used_bytes
    return True


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
def host_receive(g, number, node, in_port_number, now):
    """Take a packet from the link at a host."""
    packet = packet_at(g, number)
    kind = packet.kind
    if kind >= PAUSE:
        pause_or_resume(g, port_at(g, in_port_number), number, now)
        return
    host = host_at(g, node)
    host.rx_wire_bytes += packet.wire_bytes
    host.rx_packets += 1
    host.clock_ps = clock(g, host, now) if g.has_clocks else now
    if kind in (DATA, REQUEST):
        on_arrival(g, host, node, number, now)
    else:
        hook = g.on_ack
        if kind == CNP:
            hook = g.on_cnp
        elif kind == CREDIT:
            hook = g.on_credit
        elif kind == ADVERT:
            hook = g.on_advert
        if hook and not qp_at(g, packet.qp).closed:  # a closed queue pair has no use for late replies
            qp, message = packet.qp, packet.message
            due = call(hook, g.params, 0, qp_row(g, qp), message_row(g, message), packet_row(g, number), 0, 0, now)
            if due:
                arm(g, due, qp, message, node, 0)
            after_sender(g, qp, message, now)
    recycle(g, number)


@jit
def on_arrival(g, host, node, number, now):
    """Run the receiver's handlers on a packet of a sender and send what they filled in."""
    packet = packet_at(g, number)
    message_number = packet.message
    message = message_at(g, message_number)
    qp = message.qp
    reply = new_packet(g)
    if g.spare < 0:
        g.spare = new_packet(g)
        g.live_packets -= 1
    notice = g.spare
    if g.on_candidate and not message.is_incoming and message.delivered_ps < 0:
        message.is_incoming = 1
        message.next_incoming = -1
        if host.first_incoming < 0:
            host.first_incoming = message_number
        else:
            message_at(g, host.last_incoming).next_incoming = message_number
        host.last_incoming = message_number
    hook = g.on_data if packet.kind == DATA else g.on_request
    if packet.kind == DATA and packet.ce:
        g.marked_arrivals += 1
    if hook:
        due = call(
            hook, g.params, g.hosts + node * g.host_bytes, qp_row(g, qp), message_row(g, message_number),
            packet_row(g, number), packet_row(g, reply), packet_row(g, notice), now,
        )  # fmt: skip
        if due:
            arm(g, due, qp, message_number, node, 0)
    if packet.kind == DATA:
        if packet.accepted:
            g.accepted_bytes += packet.payload_bytes
            if message.received_packets == message.packets and message.delivered_ps < 0:
                message.delivered_ps = now
                if message.is_incoming:
                    forget_incoming(g, host, message_number)
                if g.has_dependents:
                    count_down(g, message_number, now, False)
        else:
            g.discarded_bytes += packet.payload_bytes
    send(g, reply, qp, message_number, now)
    if packet_at(g, notice).kind:
        g.spare = -1
        g.live_packets += 1
        send(g, notice, qp, message_number, now)
    if host.announce:
        host.announce = 0
        announce_group(g, node, message_number, now)
    if host.pick:
        pick_messages(g, host, now)


@jit
def forget_incoming(g, host, number):
    """Take a delivered message out of its host's list."""
    message = message_at(g, number)
    message.is_incoming = 0
    if host.first_incoming == number:
        host.first_incoming = message.next_incoming
        return
    before = host.first_incoming
    while message_at(g, before).next_incoming != number:
        before = message_at(g, before).next_incoming
    message_at(g, before).next_incoming = message.next_incoming
    if host.last_incoming == number:
        host.last_incoming = before


@jit
def pick_messages(g, host, now):
    """Serve the incoming message with the lowest key, as long as handlers ask for it."""
    host_row = g.hosts + host.node * g.host_bytes
    while host.pick:
        host.pick = 0
        best, best_key = -1, NEVER
        number = host.first_incoming
        while number >= 0:
            message = message_at(g, number)
            message.key = NEVER
            qp = message.qp
            due = call(g.on_candidate, g.params, host_row, qp_row(g, qp), message_row(g, number), 0, 0, 0, now)
            if due:
                arm(g, due, qp, number, host.node, 0)
            if message.key < NEVER and (message.key < best_key or (message.key == best_key and number < best)):
                best, best_key = number, message.key
            number = message.next_incoming
        if best < 0:
            return
        reply = new_packet(g)
        qp = message_at(g, best).qp
        if g.on_pick:
            due = call(
                g.on_pick, g.params, host_row, qp_row(g, qp), message_row(g, best), 0, packet_row(g, reply), 0, now
            )
            if due:
                arm(g, due, qp, best, host.node, 0)
        send(g, reply, qp, best, now)


@jit
def announce_group(g, node, message_number, now):
    """Tell the handlers of every message of the group to this host, then let them tell the senders."""
    host_row = g.hosts + node * g.host_bytes
    if g.on_announce:
        first = load_entry(g.member_first, message_number)
        for i in range(load_entry(g.member_count, message_number)):
            number = load_entry(g.members, first + i)
            qp = message_at(g, number).qp
            due = call(g.on_announce, g.params, host_row, qp_row(g, qp), message_row(g, number), 0, 0, 0, now)
            if due:
                arm(g, due, qp, number, node, 0)
    if g.on_advertise:
        for i in range(load_entry(g.qps_to_first, node), load_entry(g.qps_to_first, node + 1)):
            qp = load_entry(g.qps_to, i)
            number = qp_at(g, qp).first_message
            reply = new_packet(g)
            due = call(
                g.on_advertise, g.params, host_row, qp_row(g, qp), message_row(g, number), 0, packet_row(g, reply),
                0, now,
            )  # fmt: skip
            if due:
                arm(g, due, qp, number, node, 0)
            send(g, reply, qp, number, now)


@jit
def send(g, number, qp_number, message_number, now):
    """Send a reply to the queue pair's sender, if a handler filled it in."""
    reply = packet_at(g, number)
    kind = reply.kind
    if kind == 0:
        recycle(g, number)
        return
    qp = qp_at(g, qp_number)
    reply.message = message_number
    reply.qp = qp_number
    reply.dst = qp.src
    reply.payload_bytes = 0
    if reply.wire_bytes == 0:
        reply.wire_bytes = g.cnp_bytes if kind == CNP else g.ack_bytes
    reply.sent_ps = clock(g, host_at(g, qp.dst), now) if g.has_clocks else now
    if kind == ACK:
        g.acks += 1
    elif kind == NAK:
        g.naks += 1
    elif kind == CNP:
        g.cnps += 1
    elif kind == CREDIT:
        g.credits += 1
    elif kind == ADVERT:
        g.adverts += 1
    enqueue(g, port_at(g, qp.reply_nic), number, now)


@jit
def start(g, number, now):
    """Start a message at its sender."""
    message = message_at(g, number)
    qp = qp_at(g, message.qp)
    if g.start_delay_ps and not message.is_delayed:
        message.is_delayed = 1
        message.start_ps = now
        heap_push(g, now + g.start_delay_ps, START + number)
        return
    if not message.is_delayed:
        message.start_ps = now
    message.is_open = 1
    qp.remaining -= 1
    qp.active_messages += 1
    message.next_pending = -1
    if qp.first_pending < 0:
        qp.first_pending = number
    else:
        message_at(g, qp.last_pending).next_pending = number
    qp.last_pending = number
    if g.on_start:
        due = call(g.on_start, g.params, 0, qp_row(g, qp.number), message_row(g, number), 0, 0, 0, now)
        if due:
            arm(g, due, qp.number, number, 0, 0)
    schedule(g, message.qp, now)


@jit
def after_sender(g, qp_number, message_number, now):
    """Finish a message that is acknowledged or given up; let the queue pair send what it now may."""
    message = message_at(g, message_number)
    if message.is_open:
        if message.una_psn >= message.packets:
            message.acked_ps = now
            finish(g, qp_number, message_number, now)
        elif message.failed:
            finish(g, qp_number, message_number, now)
    schedule(g, qp_number, now)


@jit
def finish(g, qp_number, number, now):
    """Take a message out of its queue pair; release what waits for it."""
    qp, message = qp_at(g, qp_number), message_at(g, number)
    message.is_open = 0
    if qp.first_pending == number:
        qp.first_pending = message.next_pending
    else:
        before = qp.first_pending
        while message_at(g, before).next_pending != number:
            before = message_at(g, before).next_pending
        message_at(g, before).next_pending = message.next_pending
        if qp.last_pending == number:
            qp.last_pending = before
    qp.active_messages -= 1
    if message.failed:
        unacknowledged = min(message.next_psn * message.payload_bytes, message.size_bytes)
        qp.inflight_bytes -= unacknowledged - min(message.una_psn * message.payload_bytes, message.size_bytes)
        if g.has_dependents:
            fail_dependents(g, number)
    if g.has_dependents:
        count_down(g, number, now, True)
    cancel(g, 2, g.n_transfer_slots, message_row(g, number), NEVER)
    if qp.active_messages == 0 and qp.remaining == 0:
        qp.closed = 1
        cancel(g, 0, g.n_sender_slots, qp_row(g, qp_number), NEVER)
    g.unfinished -= 1


@jit
def count_down(g, number, now, is_acked):
    """Release what waits for a message: at its sender when acknowledged, elsewhere when delivered."""
    message = message_at(g, number)
    if message.failed:
        return
    for i in range(load_entry(g.dependent_first, number), load_entry(g.dependent_first, number + 1)):
        waiting_number = load_entry(g.dependents, i)
        waiting = message_at(g, waiting_number)
        if (waiting.src == message.src) == is_acked:
            waiting.waits_for -= 1
            if waiting.waits_for == 0:
                heap_push(g, max(now, waiting.start_ps), START + waiting_number)


@jit
def fail_dependents(g, number):
    """Fail everything that waits, directly or not, for a message; `next_pending` chains what is still to visit."""
    todo = number
    message_at(g, number).next_pending = -1
    while todo >= 0:
        here = todo
        todo = message_at(g, here).next_pending
        for i in range(load_entry(g.dependent_first, here), load_entry(g.dependent_first, here + 1)):
            waiting_number = load_entry(g.dependents, i)
            waiting = message_at(g, waiting_number)
            if not waiting.failed and waiting.waits_for > 0:
                waiting.failed = 1
                waiting.waits_for = -1
                g.unfinished -= 1
                waiting.next_pending = todo
                todo = waiting_number


@jit
def expire(g, kind, owner, slot, now):
    """Serve a timer event: it may be stale or early, since deadlines move without moving the event."""
    row, first_rank = owner_row(g, kind, owner)
    at = row + slot_offset(g, kind, slot)
    if load_i8(at + 8) != now:
        return
    store_i8(at + 8, NEVER)
    deadline = load_i8(at)
    if deadline > now:
        if deadline < NEVER:
            arm_slots(g, kind, 1 << slot, row, first_rank)
        return
    store_i8(at, NEVER)
    handler = load_i8(g.timers + (kind * MAX_SLOTS + slot) * 16 + 8)
    if kind == 0:
        due = call(handler, g.params, 0, row, 0, 0, 0, 0, now)
        if due:
            arm(g, due, owner, 0, 0, 0)
        schedule(g, owner, now)
    elif kind == 4:
        due = call(handler, g.params, row, 0, 0, 0, 0, 0, now)
        if due:
            arm(g, due, 0, 0, 0, owner)
    else:
        reply = new_packet(g)
        qp, message, node = owner, 0, owner
        if kind == 1:
            message = qp_at(g, owner).first_message
            node = qp_at(g, owner).dst
            due = call(handler, g.params, g.hosts + node * g.host_bytes, row, 0, 0, packet_row(g, reply), 0, now)
        elif kind == 2:
            qp, message = message_at(g, owner).qp, owner
            node = message_at(g, owner).dst
            due = call(handler, g.params, 0, qp_row(g, qp), row, 0, packet_row(g, reply), 0, now)
        else:
            due = call(handler, g.params, row, 0, 0, 0, packet_row(g, reply), 0, now)
            message = packet_at(g, reply).message
            qp = message_at(g, message).qp
        if due:
            arm(g, due, qp, message, node, 0)
        send(g, reply, qp, message, now)
        if host_at(g, node).pick:
            pick_messages(g, host_at(g, node), now)
        if kind == 2:
            after_sender(g, qp, message, now)


@jit
def owner_row(g, kind, owner):
    """Return the row of a timer's owner and the rank of its first timer."""
    if kind == 0:
        return g.qps + owner * g.qp_bytes, SENDER_TIMER + owner * g.n_sender_slots
    if kind == 1:
        return g.qps + owner * g.qp_bytes, RECEIVER_TIMER + owner * g.n_receiver_slots
    if kind == 2:
        return g.messages + owner * g.message_bytes, TRANSFER_TIMER + owner * g.n_transfer_slots
    if kind == 3:
        return g.hosts + owner * g.host_bytes, ENDPOINT_TIMER + owner * g.n_endpoint_slots
    return g.ports + owner * g.port_bytes, EGRESS_TIMER + owner * g.n_egress_slots
