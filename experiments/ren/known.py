"""REN: the claims that do not hold or cannot be judged, and why."""

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
