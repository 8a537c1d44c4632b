"""What is known of the claims on Dart at scale: those that do not hold at paper scale, and why.

At quick scale a point has one seed and a third of the flows, and only the typical mix at two loads is run: nothing is
expected of it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["known"]

_QUICK = "one seed, 1 ms of flows, two loads of the typical mix: too few to tell"

_FAILS: dict[str, str] = {}


def known(id: str) -> dict[str, Any]:
    """Return a claim's `expected` and `reason`."""
    return {
        "expected": {"quick": None, "paper": id not in _FAILS},
        "reason": _FAILS.get(id, f"at quick scale: {_QUICK}"),
    }
