"""Adaptive routing: a switch sends a packet by the port with the shortest queue.

A pure function over records, called by both engines. The packet on the link does not count: whose end comes first would
decide between empty queues, and flows at line rate would keep to one port each, as if it were chosen for good.
"""

from __future__ import annotations

from rdmacc.records import NEVER

__all__ = ["ENTROPY_BITS", "wait_ps"]

ENTROPY_BITS = 16
"""Of a packet's `path`, where a hash of it chooses the way."""


def wait_ps(port):
    """Return how long the data in a port's queue take; NEVER if its link is down.

    Parameters
    ----------
    port : object
        The port.
    """
    if port.is_down:
        return NEVER
    return int(port.queue_bytes * port.byte_ps)
