"""The order of simultaneous events: fixed, and the same in both engines.

Two events of the same instant run by their ranks: first by class, then by the number of the message, port, queue
pair or host that they belong to, never by who scheduled first.
"""

from __future__ import annotations

__all__ = ["RANK_CLASSES", "RANK_SHIFT"]

RANK_SHIFT = 40
"""An event's rank is its class, counted from 1, shifted by so much, plus the number of what it belongs to."""

RANK_CLASSES = (
    "start", "deliver", "wake", "shape", "pace", "sender_timer", "receiver_timer", "transfer_timer", "endpoint_timer",
    "egress_timer", "probe",
)  # fmt: skip
"""Classes of events, first to last."""
