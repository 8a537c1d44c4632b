"""REN: the claims that do not hold or cannot be judged, and why."""

from __future__ import annotations

from typing import Any

from rdmacc.experiments.base import Outcome

__all__ = ["KNOWN", "known", "known_at_scale"]

KNOWN: dict[str, tuple[Outcome | dict[str, Outcome], str]] = {}
"""By id of the claim: what we expect at each scale, and why."""


def known(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of a claim; none if it is not in `KNOWN`."""
    if id not in KNOWN:
        return {}
    expected, reason = KNOWN[id]
    return {"expected": expected, "reason": reason}


# Leaf-spine networks: figures 14 to 19, what they gain together, the sensitivity study

_QUICK = "A hundred messages on 12 or 36 hosts with one seed: too little to judge."

_AT_SCALE: dict[str, tuple[Outcome, str]] = {}
"""Why a claim does not hold at paper scale, or only in its direction."""


def known_at_scale(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of any claim on the leaf-spine networks."""
    outcome, reason = _AT_SCALE.get(id, (Outcome.HOLDS, _QUICK))
    return {"expected": {"quick": Outcome.NOT_JUDGED, "paper": outcome}, "reason": reason}
