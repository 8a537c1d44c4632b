"""Deadlines: any record may hold some, an event is pending for each deadline's earliest value."""

from __future__ import annotations

from typing import Any

from rdmacc.engine.hooks import Slot
from rdmacc.engine.ranks import RANKS
from rdmacc.engine.reference.events import push
from rdmacc.engine.reference.messages import after_sender
from rdmacc.records import NEVER

__all__ = ["arm", "expire"]


def arm(net: Any, owner: Any, slot: Slot) -> None:
    """Schedule an event for a deadline that is earlier than the one pending."""
    record = getattr(owner, f"{slot.kind.lower()}{slot.component}")
    at = max(getattr(record, slot.field.name), net.env._now)
    setattr(record, slot.field.armed_name, at)
    count = len(net.timers[slot.kind])
    number = owner.node if slot.kind == "Endpoint" else owner.number
    rank = RANKS[f"{slot.kind.lower()}_timer"] + number * count + slot.number
    push(net.env, at, rank, lambda _: expire(net, owner, record, slot))


def expire(net: Any, owner: Any, record: Any, slot: Slot) -> None:
    """Serve a timer event: it may be stale or early, since deadlines move without moving the event."""
    now, name = net.env._now, slot.field.name
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
        function(owner, now)
        owner.nic.schedule(owner, now)
    elif slot.kind == "Egress":
        function(owner, now)
    else:
        reply = net.new_packet()
        if slot.kind == "Receiver":
            host, qp, message = net.nodes[owner.dst], owner, net.messages[net.first_message[owner.number]]
            function(host, qp, reply, now)
        elif slot.kind == "Transfer":
            host, qp, message = net.nodes[owner.dst], owner.queue_pair, owner
            function(qp, message, reply, now)
        else:
            host = owner
            function(host, reply, now)
            message = net.messages[reply.message]
            qp = message.queue_pair
        host.send(reply, qp, message, now)
        if host.pick:
            host.pick_messages(now)
        if slot.kind == "Transfer":
            after_sender(net, qp, message, now)
