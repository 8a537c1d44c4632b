"""What is known of the claims on Dart at scale: those that do not hold at paper scale, and why.

At quick scale a point has one seed and an eighth of the flows, and only the typical mix at two loads is run: nothing is
expected of it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["known"]

_QUICK = "at quick scale: one seed, 1 ms of flows, two loads of the typical mix: too few to tell"

_INCAST = (
    "the tail is the incast's own: 16 senders' flows cross the receiver's link one after another (up to 108 us beside "
    "30 us of propagation), and have left before anybody can hear of the others. DCQCN's queues in the network add "
    "little at these loads, so there is little that a scheme could take away. The paper does not say what its load "
    "is a fraction of; it must have had standing queues. With its flows of 1 GB it is the same (dart.sensitivity)"
)
_MEDIAN = (
    "half of the flows meet no queue but their own incast's, the same for all schemes; detours and look-ahead's bytes "
    "cost Dart 2 to 3%"
)
_MARKS = (
    "an incast of 16 x 4.7 kB is over the threshold of 22.5 kB at the receiver's port whatever a scheme does, and "
    "makes for half of all packets at every load; only marks in the network become fewer"
)
_DETOURS = (
    "fewer flows meet 15 kB in the network than the paper's did: its queues there were longer (see figure 11); the "
    "ratio, the share of short flows, does hold"
)
_ALONE = f"as in figure 11, {_INCAST}"

_FAILS = {
    "dart-f11a-1": _INCAST,
    "dart-f11a-2": _INCAST + ". TIMELY's tail is lower still since its long flows get a fifth of Dart's throughput",
    "dart-f11a-3": _INCAST,
    "dart-f11a-4": "no scheme saturates at 60% of the uplinks; Dart's tail is 17% below DCQCN's",
    "dart-f11-2": "59% at 20%, but with the load more marks are made on uplinks, where flows of 1 MB collide",
    "dart-f11b-1": "comparable up to 40%; at 80% DCQCN's tail doubles, as nine tenths of the bytes are long flows",
    "dart-f11c-1": _INCAST,
    "dart-f11c-2": "no scheme saturates at 40% of the heavy mix: 10 to 12% more for all but DCTCP",
    "dart-f11-3": "the other way around: what makes DCQCN's tail grow is the long flows' queues, not more incasts",
    "dart-f12-1": _MEDIAN,
    "dart-f12-3": _MEDIAN,
    "dart-f12-4": f"within 2% at 20% load, 7% at the highest: {_MEDIAN}",
    "dart-f13-5": (
        "Dart is first among the rate-based ones, but DCTCP's windows take free bandwidth back within a few RTTs where "
        "DCQCN's additive steps and TIMELY's 1 Mb/s take tens of ms; and short flows disturb long ones less here than "
        "other long ones do, so the light mix has less throughput than the typical one"
    ),
    "dart-t1-typ-20": _MARKS,
    "dart-t1-typ-40": _MARKS,
    "dart-t1-typ-60": _MARKS,
    "dart-t1-heavy-20": _MARKS,
    "dart-t1-heavy-40": _MARKS,
    "dart-t1-x": _MARKS,
    "dart-t2-typ-20": _DETOURS,
    "dart-t2-heavy-20": _DETOURS,
    "dart-t2-heavy-40": _DETOURS,
    "dart-t2-y": _DETOURS,
    "dart-f14-1": _ALONE,
    "dart-f14-2": _ALONE,
    "dart-f14-3": _ALONE,
    "dart-f14-4": _ALONE,
    "dart-f14-5": (
        "IOFD does take 21% off the tail, but DASR alone adds 9% to it, likely since long flows that may send at line "
        "rate to a free receiver make queues in the network that DCQCN had cut; IOFD sends short flows around these"
    ),
    "dart-f14-7": "two priorities keep short flows out of the long ones' queues altogether, and gain most",
    "dart-f14s-1": (
        "a flow finds more than 20 KB two thirds as often as more than 15 KB: flows that start at line rate go past "
        "the marking threshold of 22.5 KB before a mark can slow them down"
    ),
    "dart-f14s-2": (
        "the other way around: the larger an incast, the more of its tail is its own time on the receiver's link; Dart "
        "gains 20% with 6 senders"
    ),
    "dart-f14-8": "flows of 8 KB have left before look-ahead can throttle anybody: the same tail within 1%",
}


def known(id: str) -> dict[str, Any]:
    """Return a claim's `expected` and `reason`."""
    return {"expected": {"quick": None, "paper": id not in _FAILS}, "reason": _FAILS.get(id, _QUICK)}
