"""Adaptive routing: a switch sends a packet by the port that is free first.

A pure function over records, called by both engines.
"""

from __future__ import annotations

from rdmacc.records import NEVER

__all__ = ["ENTROPY_BITS", "wait_ps"]

ENTROPY_BITS = 16
"""Of a packet's `path`, where a hash of it chooses the way."""


def wait_ps(port, now):
    """Return how long a packet would wait for a port's data ahead of it; NEVER if its link is down.

    Parameters
    ----------
    port : object
        The port.
    now : int
        Time in ps.
    """
    if port.is_down:
        return NEVER
    return int(port.queue_bytes * port.byte_ps) + max(0, port.busy_until_ps - now)
