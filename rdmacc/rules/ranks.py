"""The order of simultaneous events: fixed, and the same in both engines.

Two events of the same instant run by their ranks: first by class, then by the number of the message, port, queue
pair or host that they belong to, never by who scheduled first.

With a tick (`Scheme.tick_ps`) ties are common, and the simulators that have one, such as ns-3, break them by who
scheduled first. So both engines then count what they schedule, and this order stands above class and number: an
arrival and the end of its transmission have that of the transmission, a timer that of the last time it was set.
Messages start after whatever else is due at the time, and probes look last. An `agenda` has the `tick_ps`, 0 for none,
and `order`, the count: the SimPy engine's environment, the kernel's globals.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

RANK_SHIFT = 58
"""An event's rank: its class, counted from 1, shifted by this, plus the number of its message, port or other owner."""

_TICK_SHIFT, ORDER_SHIFT = 28, 32  # with a tick: bit offset of the class; the order sits above it

RANK_MASK = (1 << RANK_SHIFT) - 1
_TICK_NUMBERS, _TICK_CLASSES = (1 << _TICK_SHIFT) - 1, (1 << ORDER_SHIFT - _TICK_SHIFT) - 1

LAST_ORDER = _ORDER_MASK = (1 << 63 - ORDER_SHIFT) - 1
"""The order of what comes last in its instant."""

_CLASSES = (
    "start", "deliver", "wake", "shape", "pace", "sender_timer", "receiver_timer", "transfer_timer", "endpoint_timer",
    "egress_timer", "probe",
)  # fmt: skip

(
    START, DELIVER, WAKE, SHAPE, PACE, SENDER_TIMER, RECEIVER_TIMER, TRANSFER_TIMER, ENDPOINT_TIMER, EGRESS_TIMER,
    PROBE,
) = ((number + 1) << RANK_SHIFT for number in range(len(_CLASSES)))  # fmt: skip
"""First rank of each class; SimPy's own priorities, 0 and 1, come before."""

TIMERS = {
    "Sender": SENDER_TIMER, "Receiver": RECEIVER_TIMER, "Transfer": TRANSFER_TIMER, "Endpoint": ENDPOINT_TIMER,
    "Egress": EGRESS_TIMER,
}  # fmt: skip
"""First rank of the deadlines of each kind of record."""


def next_order(agenda):
    """Count what is scheduled, if simultaneous events go by it."""
    if agenda.tick_ps:
        agenda.order = (agenda.order + 1) & _ORDER_MASK
    return agenda.order


def rank_in(agenda, rank, order):
    """Return the rank of an event: as it is, or, with a tick, in its order."""
    if agenda.tick_ps:
        return (order << ORDER_SHIFT) + ((rank >> RANK_SHIFT) << _TICK_SHIFT) + (rank & RANK_MASK)
    return rank


def rank_without_order(agenda, rank):
    """Return the rank that an event would have without a tick: `rank_in` undone."""
    if agenda.tick_ps:
        return (((rank >> _TICK_SHIFT) & _TICK_CLASSES) << RANK_SHIFT) + (rank & _TICK_NUMBERS)
    return rank


def numbers_of_starts(scheme: Any, ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return what starts or ends by each event, by its number; -1 where an event is none of these."""
    shift, classes, numbers = RANK_SHIFT, -1, RANK_MASK
    if scheme.tick_ps:
        shift, classes, numbers = _TICK_SHIFT, _TICK_CLASSES, _TICK_NUMBERS
    return np.where((ranks >> shift) & classes == START >> RANK_SHIFT, ranks & numbers, -1)


def class_and_number(scheme: Any, rank: int) -> tuple[str, int]:
    """Return the class of an event and the number of what it belongs to."""
    rank = rank_without_order(scheme, rank)
    return _CLASSES[(rank >> RANK_SHIFT) - 1], rank & RANK_MASK
