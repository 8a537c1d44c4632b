"""Improved Go-Back-N: the claims that do not hold or cannot be judged, and why."""

from __future__ import annotations

from typing import Any

from rdmacc.experiments.framework.claim import Outcome

__all__ = ["KNOWN", "known"]

_TOO_SMALL_AT_QUICK = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}
_DIRECTION_AT_PAPER = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.DIRECTION}

_FEW = "The quick scale has too few messages: one timeout more or less decides."
_FEW_TIMEOUTS = "The quick scale has about ten timeouts, too few for shares."

KNOWN: dict[str, tuple[Outcome | dict[str, Outcome], str]] = {
    "igbn-f2-2": (
        _DIRECTION_AT_PAPER,
        "The paper's 45% is a run of 100 messages with one timeout (igbn-f2-2a). Half of the runs have none and keep"
        " 97%, so the mean is higher.",
    ),
    "igbn-f2-2a": (_TOO_SMALL_AT_QUICK, "At quick scale a run has ten messages, and meets a timeout or not by chance."),
    "igbn-f3-1": (_TOO_SMALL_AT_QUICK, _FEW_TIMEOUTS),
    "igbn-f3-2": (_TOO_SMALL_AT_QUICK, _FEW_TIMEOUTS),
    "igbn-f3-3": (_TOO_SMALL_AT_QUICK, _FEW_TIMEOUTS),
    "igbn-f6a-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6a-3": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6a-4": (
        Outcome.FAILS,
        "At this loss rate one message in some 4,000 meets a timeout, so that nearly every run of 100 has none and"
        " loses 0.2%; the long-run mean is 97%. Nor does 70% agree with the paper's own figure 2.",
    ),
    "igbn-f6a-5": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6b-2": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6c-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6c-2": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6-a": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7a-2": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7a-3": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7b-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7c-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7c-2": (
        _DIRECTION_AT_PAPER,
        "What is left to CE is the lost last packet and its ACK, twice in a hundred messages: 27% in the mean of 1,200."
        " Runs of 100 differ by several points.",
    ),
    "igbn-f7c-3": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7d-1": (
        _DIRECTION_AT_PAPER,
        "With 100 ms as published. With 10 ms half a timeout for each message of 0.9 ms leaves 15%, as it does for"
        " go-back-N, for which the paper itself has 13.2% here.",
    ),
    "igbn-x-4a": (_TOO_SMALL_AT_QUICK, "The quick scale simulates one reading only."),
    "igbn-x-2a": (_TOO_SMALL_AT_QUICK, "The quick scale has too few messages for the rarer losses."),
}
"""By id of the claim: what we expect at each scale, and why."""


def known(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of a claim that is in `KNOWN`."""
    expected, reason = KNOWN[id]
    return {"expect": expected, "why": reason}
