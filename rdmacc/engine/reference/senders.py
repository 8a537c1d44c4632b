"""The hooks of a sender, and the request that they may fill in: a packet that is not data."""

from __future__ import annotations

from typing import Any

from rdmacc.rules import addressing
from rdmacc.state import DATA, NONE, REQUEST

__all__ = ["FROM_SENDER", "address_request", "call_sender", "new_request", "send_request"]

FROM_SENDER = (DATA, REQUEST)
"""Kinds of packets that are on their way from a sender to its receiver."""


def new_request(net: Any) -> Any:
    """Return a packet for a sender's handlers to fill in, None if none of the scheme asks for one."""
    return net.new_packet() if net.has_requests else None


def call_sender(net: Any, hook: Any, qp: Any, message: Any, packet: Any, now: int) -> Any:
    """Call a hook of a sender; return the request that it may have filled in."""
    request = new_request(net)
    hook(qp, message, packet, request, now)
    return request


def address_request(net: Any, request: Any, qp: Any, message: Any, now: int) -> bool:
    """Address a request to the receiver; return False, and take it back, if no handler filled it in."""
    if request is None:
        return False
    if request.kind == NONE:
        net.recycle(request)
        return False
    addressing.address_request(net.plan.scheme, request, qp, message)
    request.sent_ps = now if not net.has_clocks else net.nodes[qp.src].clock(now)
    net.reply_counts[REQUEST] += 1
    return True


def send_request(net: Any, request: Any, qp: Any, message: Any, now: int) -> None:
    """Send what a sender's handlers filled in to the queue pair's receiver, if they did."""
    if address_request(net, request, qp, message, now):
        qp.nic.enqueue(request, request.priority, now)
