"""The order of simultaneous events: fixed, and the same in both engines.

Two events of the same instant run by their ranks: first by class, then by the number of the message, port, queue
pair or host that they belong to, never by who scheduled first.

With a tick (`Scheme.tick_ps`) ties are common, and the simulators that have one, such as ns-3, break them by who
scheduled first. So both engines then count what they schedule, and this order stands above class and number: an
arrival and the end of its transmission have that of the transmission, a timer that of the last time it was set.
Messages start after whatever else is due at the time, and probes look last.
"""

from __future__ import annotations

__all__ = [
    "LAST_ORDER",
    "ORDER_MASK",
    "ORDER_SHIFT",
    "RANKS",
    "RANK_CLASSES",
    "RANK_SHIFT",
    "TICK_RANKS",
    "TICK_SHIFT",
    "class_and_number",
]

RANK_SHIFT = 58
"""An event's rank is its class, counted from 1, shifted by so much, plus the number of what it belongs to."""

TICK_SHIFT, ORDER_SHIFT = 28, 32
"""With a tick: so far the class is shifted, and the order above it."""

ORDER_MASK = (1 << 63 - ORDER_SHIFT) - 1
LAST_ORDER = ORDER_MASK
"""Comes after all others of its instant."""

RANK_CLASSES = (
    "start", "deliver", "wake", "shape", "pace", "sender_timer", "receiver_timer", "transfer_timer", "endpoint_timer",
    "egress_timer", "probe",
)  # fmt: skip
"""Classes of events, first to last."""

RANKS = {name: (number + 1) << RANK_SHIFT for number, name in enumerate(RANK_CLASSES)}
"""First rank of each class; SimPy's own priorities, 0 and 1, come before."""

TICK_RANKS = {name: (number + 1) << TICK_SHIFT for number, name in enumerate(RANK_CLASSES)}
"""With a tick: first rank of each class in any order."""

for _name in ("start", "probe"):
    TICK_RANKS[_name] += LAST_ORDER << ORDER_SHIFT


def class_and_number(rank: int, tick_ps: int) -> tuple[str, int]:
    """Return the class of an event and the number of what it belongs to."""
    shift, classes = (TICK_SHIFT, rank & (1 << ORDER_SHIFT) - 1) if tick_ps else (RANK_SHIFT, rank)
    return RANK_CLASSES[(classes >> shift) - 1], classes & (1 << shift) - 1
