"""Hosts of the kernel, and timers. Mirrors `Host` of `rdmacc.engine.reference.hosts`, function by function."""

from rdmacc.engine.compiled.kernel.messages import after_sender, count_down, note_end
from rdmacc.engine.compiled.kernel.nic import advance
from rdmacc.engine.compiled.kernel.ports import enqueue, pause_or_resume, schedule, send_request
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.kernel.timers import arm, arm_slots, call_sender, new_request, owner_row


@jit
def host_receive(g, number, node, in_port_number, now):
    packet = packet_at(g, number)
    kind = packet.kind
    if kind >= PAUSE:
        pause_or_resume(g, port_at(g, in_port_number), number, now)
        return
    host = host_at(g, node)
    host.rx_wire_bytes += packet.wire_bytes
    host.rx_packets += 1
    host.clock_ps = read_clock(host, g.clock_jitter_ps, now) if g.has_clocks else now
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
        elif kind == RETURN:
            hook = g.on_return
        if hook and not qp_at(g, packet.qp).closed:  # a closed queue pair has no use for late replies
            qp, message = packet.qp, packet.message
            rate_bps = qp_at(g, qp).rate_bps
            request = call_sender(g, hook, qp, message, packet_row(g, number), now)
            if g.has_scanning_nics and qp_at(g, qp).rate_bps != rate_bps:
                advance(g, qp_at(g, qp), now)
            if request >= 0:
                send_request(g, request, qp, message, now)
            after_sender(g, qp, message, now)
    recycle(g, number)


@jit
def on_arrival(g, host, node, number, now):
    packet = packet_at(g, number)
    message_number = packet.message
    message = message_at(g, message_number)
    qp = message.qp
    reply = new_packet(g)
    if g.notice_packet < 0:
        g.notice_packet = new_packet(g)
        g.live_packets -= 1
    notice = g.notice_packet
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
            if is_delivered(message, now):
                g.undelivered -= message.failed == 0
                note_end(g, message_number)
                if message.is_incoming:
                    forget_incoming(g, host, message_number)
                if g.has_dependents:
                    count_down(g, message_number, now, False)
        else:
            g.discarded_bytes += packet.payload_bytes
    send(g, reply, qp, message_number, now)
    if packet_at(g, notice).kind:
        g.notice_packet = -1
        g.live_packets += 1
        send(g, notice, qp, message_number, now)
    if host.announce:
        host.announce = 0
        announce_group(g, node, message_number, now)
    if host.pick:
        pick_messages(g, host, now)


@cold
def forget_incoming(g, host, number):
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


@cold
def pick_messages(g, host, now):
    host_row = g.hosts + host.node * g.host_bytes
    number = host.first_incoming
    while number >= 0:
        message = message_at(g, number)
        message.key = NEVER
        qp = message.qp
        due = call(g.on_candidate, g.params, host_row, qp_row(g, qp), message_row(g, number), 0, 0, 0, now)
        if due:
            arm(g, due, qp, number, host.node, 0)
        number = message.next_incoming
    while host.pick > 0:
        best = first_by_key(g, host)
        if best < 0:
            break
        message_at(g, best).key = NEVER
        host.pick -= 1
        reply = new_packet(g)
        qp = message_at(g, best).qp
        if g.on_pick:
            due = call(
                g.on_pick, g.params, host_row, qp_row(g, qp), message_row(g, best), 0, packet_row(g, reply), 0, now
            )
            if due:
                arm(g, due, qp, best, host.node, 0)
        send(g, reply, qp, best, now)
    host.pick = 0


@jit
def first_by_key(g, host):
    """Return the incoming message with the lowest key, ties broken by number; -1 if none has a key."""
    best, best_key = -1, NEVER
    number = host.first_incoming
    while number >= 0:
        message = message_at(g, number)
        key = message.key
        if key < best_key or (key == best_key and key < NEVER and number < best):
            best, best_key = number, key
        number = message.next_incoming
    return best


@cold
def announce_group(g, node, message_number, now):
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
    reply = packet_at(g, number)
    kind = reply.kind
    if kind == 0:
        recycle(g, number)
        return
    qp = qp_at(g, qp_number)
    address_reply(g, reply, qp, message_at(g, message_number))
    reply.sent_ps = read_clock(host_at(g, qp.dst), g.clock_jitter_ps, now) if g.has_clocks else now
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
    if g.explains:
        note(g, QUEUED, qp.reply_nic, number, now)
    enqueue(g, port_at(g, qp.reply_nic), number, reply_class(g, reply), now)


@jit
def expire(g, kind, owner, slot, now):
    row, timer = owner_row(g, kind, owner), timer_row(g, kind, slot)
    at = row + load_i8(timer)
    if load_i8(at + 8) != now:
        return
    store_i8(at + 8, NEVER)
    deadline = load_i8(at)
    if deadline > now:
        if deadline < NEVER:
            arm_slots(g, kind, 1 << slot, owner)
        return
    store_i8(at, NEVER)
    handler = load_i8(timer + 8)
    if kind == 0:
        qp = qp_at(g, owner)
        rate_bps, window_bytes, credits = qp.rate_bps, qp.window_bytes, qp.credits
        request = new_request(g)
        request_row = packet_row(g, request) if request >= 0 else 0
        due = call(handler, g.params, 0, row, 0, 0, 0, request_row, now)
        if due:
            arm(g, due, owner, 0, 0, 0)
        if request >= 0:
            send_request(g, request, owner, qp_at(g, owner).first_message, now)
        if not g.has_scanning_nics:
            schedule(g, owner, now)
            return
        if qp.rate_bps != rate_bps:
            advance(g, qp, now)
        if qp.window_bytes != window_bytes or qp.credits != credits:
            schedule(g, owner, now)
    elif kind == 4:
        due = call(handler, g.params, row, 0, 0, 0, 0, 0, now)
        if due:
            arm(g, due, 0, 0, 0, owner)
    else:
        reply, request = new_packet(g), -1
        qp, message, node = owner, 0, owner
        if kind == 1:
            message = qp_at(g, owner).first_message
            node = qp_at(g, owner).dst
            due = call(handler, g.params, g.hosts + node * g.host_bytes, row, 0, 0, packet_row(g, reply), 0, now)
        elif kind == 2:
            qp, message = message_at(g, owner).qp, owner
            node = message_at(g, owner).dst
            request = new_request(g)
            request_row = packet_row(g, request) if request >= 0 else 0
            due = call(handler, g.params, 0, qp_row(g, qp), row, 0, packet_row(g, reply), request_row, now)
        else:
            due = call(handler, g.params, row, 0, 0, 0, packet_row(g, reply), 0, now)
            message = packet_at(g, reply).message
            qp = message_at(g, message).qp
        if due:
            arm(g, due, qp, message, node, 0)
        send(g, reply, qp, message, now)
        if request >= 0:
            send_request(g, request, qp, message, now)
        if kind == 2:
            after_sender(g, qp, message, now)
        elif host_at(g, node).pick:
            pick_messages(g, host_at(g, node), now)
