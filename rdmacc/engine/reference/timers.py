"""Deadlines: any record may hold some, an event is pending for each deadline's earliest value."""

from __future__ import annotations

from functools import partial
from typing import Any

from rdmacc.engine.reference.events import push
from rdmacc.engine.reference.messages import after_sender
from rdmacc.engine.reference.senders import new_request, send_request
from rdmacc.handlers.hooks import Slot
from rdmacc.records import NEVER

__all__ = ["arm", "expire"]


def arm(net: Any, owner: Any, slot: Slot) -> None:
    """Schedule an event for a deadline that is earlier than the one pending (with a tick: for any other)."""
    record = getattr(owner, f"{slot.kind.lower()}{slot.component}")
    at = max(getattr(record, slot.field.name), net.env._now)
    setattr(record, slot.field.armed_name, at)
    count = len(net.timers[slot.kind])
    number = owner.node if slot.kind == "Endpoint" else owner.number
    rank = net.rank(f"{slot.kind.lower()}_timer", number * count + slot.number)
    push(net.env, at, rank, partial(expire, net, owner, record, slot))


def expire(net: Any, owner: Any, record: Any, slot: Slot, now: int) -> None:
    """Serve a timer event: it may be stale or early, since deadlines move without moving the event."""
    name = slot.field.name
    if getattr(record, slot.field.armed_name) != now:
        return
    setattr(record, slot.field.armed_name, NEVER)
    deadline = getattr(record, name)
    if deadline > now:
        if deadline < NEVER:
            arm(net, owner, slot)
        return
    setattr(record, name, NEVER)
    function = net.timers[slot.kind][slot.number][1]
    if slot.kind == "Sender":
        before = owner.rate_bps, owner.window_bytes, owner.credits
        request = new_request(net)
        function(owner, request, now)
        send_request(net, request, owner, net.messages[net.first_message[owner.number]], now)
        owner.nic.after_timer(owner, before, now)
    elif slot.kind == "Egress":
        function(owner, now)
    else:
        reply, request = net.new_packet(), None
        if slot.kind == "Receiver":
            host, qp, message = net.nodes[owner.dst], owner, net.messages[net.first_message[owner.number]]
            function(host, qp, reply, now)
        elif slot.kind == "Transfer":
            host, qp, message = net.nodes[owner.dst], owner.queue_pair, owner
            request = new_request(net)
            function(qp, message, reply, request, now)
        else:
            host = owner
            function(host, reply, now)
            message = net.messages[reply.message]
            qp = message.queue_pair
        host.send(reply, qp, message, now)
        send_request(net, request, qp, message, now)
        if host.pick:
            host.pick_messages(now)
        if slot.kind == "Transfer":
            after_sender(net, qp, message, now)
