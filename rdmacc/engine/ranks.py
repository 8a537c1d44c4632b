"""The order of simultaneous events: fixed, and the same in both engines.

Two events of the same instant run by their ranks: first by class, then by the number of the message, port, queue
pair or host that they belong to, never by who scheduled first.

With a tick (`Scheme.tick_ps`) ties are common, and simulators that have one break them by who scheduled first. So
arrivals and ends of transmissions then go by the order in which their transmissions began, and pacing times by when
the NIC could set them, at the end of the transmission under way. The number comes after that.
"""

from __future__ import annotations

__all__ = ["NUMBER_BITS", "ORDER_BITS", "RANKS", "RANK_CLASSES", "RANK_SHIFT", "pace_order"]

RANK_SHIFT = 58
"""An event's rank is its class, counted from 1, shifted by so much, plus the number of what it belongs to."""

NUMBER_BITS = 24
"""With a tick the order stands above the number, which has so many bits (of ports and queue pairs)."""

ORDER_BITS = RANK_SHIFT - NUMBER_BITS
_AGE_BITS = ORDER_BITS // 2


def pace_order(age_ticks: int, order: int) -> int:
    """Return the order of a pacing time that was set so many ticks before, after the transmission of that order."""
    oldest = (1 << _AGE_BITS) - 1
    return ((oldest - min(age_ticks, oldest)) << ORDER_BITS - _AGE_BITS) + (order & (1 << ORDER_BITS - _AGE_BITS) - 1)


RANK_CLASSES = (
    "start", "deliver", "wake", "shape", "pace", "sender_timer", "receiver_timer", "transfer_timer", "endpoint_timer",
    "egress_timer", "probe",
)  # fmt: skip
"""Classes of events, first to last."""

RANKS = {name: (number + 1) << RANK_SHIFT for number, name in enumerate(RANK_CLASSES)}
"""First rank of each class; SimPy's own priorities, 0 and 1, come before."""
