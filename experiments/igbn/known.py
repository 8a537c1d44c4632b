"""Improved Go-Back-N: the claims that do not hold or cannot be judged, and why."""

from __future__ import annotations

from typing import Any

__all__ = ["KNOWN", "known"]

_NOT_JUDGED: dict[str, bool | None] = {"quick": None, "paper": None}
_TOO_SMALL_AT_QUICK: dict[str, bool | None] = {"quick": None, "paper": True}
_FAILS_AT_PAPER: dict[str, bool | None] = {"quick": None, "paper": False}

_FEW = "The quick scale has too few messages: one timeout more or less decides."
_FEW_TIMEOUTS = "The quick scale has about ten timeouts, too few for shares."

KNOWN: dict[str, tuple[bool | dict[str, bool | None], str]] = {
    "igbn-f2-2": (
        _NOT_JUDGED,
        "Half of the runs of 100 messages meet no timeout and reach 97%, the others reach 46% or less: on which side"
        " the median lies is chance. 45% is a run with one timeout (igbn-f2-2a).",
    ),
    "igbn-f2-2a": (_TOO_SMALL_AT_QUICK, "At quick scale a run has ten messages, and meets a timeout or not by chance."),
    "igbn-f3-1": (_TOO_SMALL_AT_QUICK, _FEW_TIMEOUTS),
    "igbn-f3-2": (_TOO_SMALL_AT_QUICK, _FEW_TIMEOUTS),
    "igbn-f3-3": (_TOO_SMALL_AT_QUICK, _FEW_TIMEOUTS),
    "igbn-f6a-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6a-3": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6a-4": (
        False,
        "At this loss rate one message in some 4,000 meets a timeout, so that nearly every run of 100 has none and"
        " loses 0.2%; the long-run mean is 97%. Nor does 70% agree with the paper's own figure 2.",
    ),
    "igbn-f6a-5": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6b-2": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6c-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f6c-2": (
        _FAILS_AT_PAPER,
        "The timer, restarted by every reply, goes back as soon as CE would ask. With a timer that starts with the last"
        " packet, as in the public ns-3 sender, the gain is there (igbn-f6c-2a).",
    ),
    "igbn-f6-a": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7a-2": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7a-3": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7b-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7c-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7c-2": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7c-3": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7d-1": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-f7d-1a": (
        _FAILS_AT_PAPER,
        "Half a timeout of 10 ms for each message of 0.9 ms leaves 15%, as it does for go-back-N, for which the paper"
        " itself has 13.2% here.",
    ),
    "igbn-x-1": (
        _FAILS_AT_PAPER,
        "Improved Go-Back-N reaches 4.4%, slightly above the band. The reading is rejected all the same, since 60% is"
        " published (igbn-x-1a).",
    ),
    "igbn-f6c-2a": (_TOO_SMALL_AT_QUICK, _FEW),
    "igbn-x-2a": (_TOO_SMALL_AT_QUICK, "The quick scale has too few messages for the rarer losses."),
}
"""By id of the claim: what we expect at each scale, and why."""


def known(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of a claim that is in `KNOWN`."""
    expected, reason = KNOWN[id]
    return {"expected": expected, "reason": reason}
