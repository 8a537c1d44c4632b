"""The order of simultaneous events: fixed, and the same in both engines.

Two events of the same instant run by their ranks: first by class, then by the number of the message, port, queue
pair or host that they belong to, never by who scheduled first.

With a tick (`Scheme.tick_ps`) ties are common, and simulators that have one break them by who scheduled first. So
arrivals, ends of transmissions and pacing times then go by the order of the transmissions that they come from, or in
which they were set; the number comes after that.
"""

from __future__ import annotations

__all__ = ["NUMBER_BITS", "ORDER_MASK", "RANK_CLASSES", "RANK_SHIFT"]

RANK_SHIFT = 58
"""An event's rank is its class, counted from 1, shifted by so much, plus the number of what it belongs to."""

NUMBER_BITS = 28
"""With a tick the order stands above the number, which has so many bits (of ports and queue pairs)."""

ORDER_MASK = (1 << RANK_SHIFT - NUMBER_BITS) - 1
"""The order starts anew behind this."""

RANK_CLASSES = (
    "start", "deliver", "wake", "shape", "pace", "sender_timer", "receiver_timer", "transfer_timer", "endpoint_timer",
    "egress_timer", "probe",
)  # fmt: skip
"""Classes of events, first to last."""
