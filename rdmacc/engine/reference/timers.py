"""Deadlines: any record may have some, and each has an event pending at its earliest value."""

from functools import partial
from typing import Any

from rdmacc.engine.reference.core import Core, Message, QueuePair
from rdmacc.engine.reference.hosts import Host
from rdmacc.engine.reference.messages import after_sender
from rdmacc.handlers.hooks import Slot
from rdmacc.interface import NEVER
from rdmacc.rules import *


def arm(net: Core, hosts: dict[int, Host], owner: Any, slot: Slot) -> None:
    """Schedule an event for a deadline that has moved before its pending event (with a tick: to any other time)."""
    record = getattr(owner, f"{slot.kind.lower()}{slot.component}")
    at = max(getattr(record, slot.field.name), net.env.now)
    setattr(record, slot.field.armed_name, at)
    number = owner.node if slot.kind == "Endpoint" else owner.number
    rank = TIMERS[slot.kind] + number * len(net.binding.timers[slot.kind]) + slot.number
    net.env.call(at, rank, partial(_expire, net, hosts, owner, record, slot))


def _expire(net: Core, hosts: dict[int, Host], owner: Any, record: Any, slot: Slot, now: int) -> None:
    """Serve a timer event, which may be stale or early, because a deadline moves without its event."""
    name = slot.field.name
    if getattr(record, slot.field.armed_name) != now:
        return
    setattr(record, slot.field.armed_name, NEVER)
    deadline = getattr(record, name)
    if deadline > now:
        if deadline < NEVER:
            arm(net, hosts, owner, slot)
        return
    setattr(record, name, NEVER)
    hook = net.binding.timers[slot.kind][slot.number][1]
    if slot.kind == "Sender":
        _serve_sender(net, hook, owner, now)
    elif slot.kind == "Receiver":
        _serve_receiver(net, hook, hosts[owner.dst], owner, now)
    elif slot.kind == "Transfer":
        _serve_transfer(net, hook, hosts[owner.dst], owner, now)
    elif slot.kind == "Endpoint":
        _serve_endpoint(net, hook, owner, now)
    else:
        hook(owner, now)


def _serve_sender(net: Core, hook: Any, qp: QueuePair, now: int) -> None:
    before = qp.rate_bps, qp.window_bytes, qp.credits
    request = net.new_request()
    hook(qp, request, now)
    qp.nic.send_request(request, qp, qp.first_message, now)
    qp.nic.heed_timer(qp, before, now)


def _serve_receiver(net: Core, hook: Any, host: Host, qp: QueuePair, now: int) -> None:
    reply = net.new_packet()
    hook(host, qp, reply, now)
    host.send(reply, qp, qp.first_message, now)
    if host.pick:
        host.pick_messages(now)


def _serve_transfer(net: Core, hook: Any, host: Host, message: Message, now: int) -> None:
    qp, reply, request = message.queue_pair, net.new_packet(), net.new_request()
    hook(qp, message, reply, request, now)
    host.send(reply, qp, message, now)
    qp.nic.send_request(request, qp, message, now)
    if host.pick:
        host.pick_messages(now)
    after_sender(net, qp, message, now)


def _serve_endpoint(net: Core, hook: Any, host: Host, now: int) -> None:
    reply = net.new_packet()
    hook(host, reply, now)
    message = net.messages[reply.message]
    host.send(reply, message.queue_pair, message, now)
    if host.pick:
        host.pick_messages(now)
