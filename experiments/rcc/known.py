"""RCC: the claims that do not hold or cannot be judged, and why."""

from __future__ import annotations

from typing import Any

from rdmacc.experiments.base import Outcome

__all__ = ["KNOWN", "known"]

KNOWN: dict[str, tuple[Outcome | dict[str, Outcome], str]] = {}
"""By id of the claim: what we expect at each scale, and why."""


def known(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of a claim; none if it is not in `KNOWN`."""
    if id not in KNOWN:
        return {}
    expected, reason = KNOWN[id]
    return {"expected": expected, "reason": reason}


# The figures at 320 hosts: 9, 10, 11, 13, and the readings.

_TOO_SMALL = "The quick network has 32 hosts, two loads and a few hundred flows of one seed: too few to tell."

for _id in (
    "rcc-f9-1", "rcc-f9-2", "rcc-f9-3", "rcc-f9-4", "rcc-x-1", "rcc-x-2", "rcc-f10-1", "rcc-f10-2a", "rcc-f10-3a",
    "rcc-f10-4a", "rcc-f10-5a", "rcc-f11-1", "rcc-f11-2", "rcc-f11-3a", "rcc-f11-4a", "rcc-f13-1", "rcc-f13-2a",
    "rcc-f13-3a", "rcc-r-1a", "rcc-r-2a", "rcc-r-3a",
):  # fmt: skip
    KNOWN[_id] = ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, _TOO_SMALL)

_FALSE = (
    "Three packets are late in a row as soon as a new flow's burst meets a link that was not full in the round before:"
    " 0.25 us of lateness beside a B_R over 12 us. Such a flow stays under the PID, capped by its share, and takes"
    " bandwidth back at 1% in a round trip. With n = 100 packets none is judged wrongly."
)
KNOWN["rcc-v-1a"] = (Outcome.FAILS, _FALSE)
KNOWN["rcc-v-2a"] = (Outcome.FAILS, _FALSE)
