"""Dart: the claims that do not hold or cannot be judged, and why.

At quick scale the figures at 1,024 hosts run one seed, an eighth of the flows, and two loads of the typical mix: too
little to judge any claim on them.
"""

from __future__ import annotations

from typing import Any

from rdmacc.experiments.base import Outcome

__all__ = ["KNOWN", "known", "known_at_scale"]

_TOO_SMALL_AT_QUICK = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}
_DIRECTION_AT_PAPER = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.DIRECTION}
_FAILS_AT_PAPER = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS}

_PUT_IN = "The emulated CPU's time and the link's rate are taken from the published numbers: nothing is left to find."
_NO_GAIN = (
    "The aggregator's link bounds both: 16 x 256 KB take 0.8 ms of it. InfiniBand's marks hold the long flow back most,"
    " which leaves the incast more than its share, whereas DASR gives the long flow 1/(k+1) throughout. DASR's shares"
    " fill the line, so whatever queues up before the senders hear of each other is never drained: after some rounds"
    " every message waits for about 0.2 ms. A baseline that is 2.5 times slower must leave the link idle; the paper"
    " does not give its settings."
)

KNOWN: dict[str, tuple[Outcome | dict[str, Outcome], str]] = {
    "dart-f1-1": (
        Outcome.DIRECTION,
        "At the paper's parameters TIMELY never settles within 10% of half the line: it has no single fixed point. RCP,"
        " whose update interval is not given, takes less than half of what is quoted.",
    ),
    "dart-f15-1": (
        Outcome.DIRECTION,
        "RCP's convergence depends on its update interval and on how it averages the RTT; the paper gives neither.",
    ),
    "dart-f5-2a": (
        Outcome.FAILS,
        "With eight flows the marks arrive before the receivers have measured their throughput, which takes five"
        " packets. Until then they take the congestion for their own.",
    ),
    "dart-f6-2a": (
        {"quick": Outcome.HOLDS, "paper": Outcome.FAILS},
        "Lanes take turns on a link, so a message that comes back on a lane of its own does not wait for the whole"
        " queue: it gains up to 5 us where more packets are queued than it has itself.",
    ),
    "dart-f7-3": (_TOO_SMALL_AT_QUICK, "The quick networks deflect fewer packets than the band asks for."),
    "dart-f9a-1": (Outcome.NOT_JUDGED, _PUT_IN),
    "dart-f9b-1": (Outcome.NOT_JUDGED, _PUT_IN),
    "dart-f9b-2": (Outcome.NOT_JUDGED, _PUT_IN),
    "dart-f9b-3": (Outcome.NOT_JUDGED, _PUT_IN),
    "dart-f9b-5": (Outcome.NOT_JUDGED, _PUT_IN),
    "dart-f9b-4": (
        Outcome.DIRECTION,
        "What R's clock can measure includes t_f', the way of a packet that waits at R's port behind what both senders"
        " sent at full rate before they heard of each other. The paper takes that path to be free.",
    ),
    "dart-f9b-6": (
        Outcome.NOT_JUDGED,
        "The paper quotes TIMELY's own numbers. TIMELY's convergence in this simulator is in figure 1.",
    ),
    "dart-f10-1": (Outcome.FAILS, _NO_GAIN),
    "dart-f10-2": (Outcome.FAILS, _NO_GAIN),
    "dart-f10-4": (
        _FAILS_AT_PAPER,
        "InfiniBand's long flow climbs back by one step of its table every 0.15 ms, so it loses up to 20 ms of each"
        " 100 ms; DASR's is back after an RTT. The quick scale's rounds are too close together to judge it.",
    ),
    "dart-f10-6": (
        _FAILS_AT_PAPER,
        "Under both schemes the first senders to start have the link to themselves and are done early. DASR then gives"
        " the long flow its 1/(k+1), while InfiniBand holds it back; what queued up meanwhile stays in the queue until"
        " the next round. The quick scale has too few rounds to tell them apart.",
    ),
    "dart-x-4": (_TOO_SMALL_AT_QUICK, "The quick network deflects too few flows."),
}
"""By id of the claim: what we expect at each scale, and why."""

_QUICK = "The quick scale has one seed, 1 ms of flows and two loads of the typical mix: too few to tell."

_INCAST = (
    "The tail is the incast's own: 16 senders' flows cross the receiver's link one after another (up to 108 us, beside"
    " 30 us of propagation), and have left before any sender can hear of the others. DCQCN's queues in the network add"
    " little at these loads, so there is little that a scheme could take away. The paper does not say what its load is"
    " a fraction of; it must have had standing queues. Long flows of 1 GB change nothing (dart.sensitivity)."
)
_MEDIAN = (
    "Half of the flows meet no queue but their own incast's, the same for all schemes; detours and look-ahead's bytes"
    " cost Dart 2 to 3%."
)
_MARKS = (
    "An incast of 16 x 4.7 kB exceeds the threshold of 22.5 kB at the receiver's port under any scheme, and makes up"
    " half of all packets at every load. Only the marks inside the network become fewer."
)
_DETOURS = (
    "Fewer flows than in the paper meet 15 kB in the network: its queues there were longer (see figure 11). The ratio,"
    " which is the share of short flows, does hold."
)

_NOT_FAILED = {
    **dict.fromkeys(
        (
            "dart-f11-2", "dart-f13-2", "dart-f13-3", "dart-f13-4", "dart-f14-4", "dart-f14s-1", "dart-t1-heavy-40",
            "dart-t1-light-60", "dart-t1-light-80", "dart-t1-typ-40", "dart-t1-typ-60", "dart-t1-x",
            "dart-t2-heavy-20", "dart-t2-heavy-40", "dart-t2-typ-20", "dart-t2-y",
        ),
        Outcome.DIRECTION,
    ),
    **dict.fromkeys(("dart-f14s-2", "dart-f14s-3", "dart-x-3"), Outcome.NOT_JUDGED),
}  # fmt: skip
"""Of `_AT_SCALE`: what goes the paper's way all the same, or was not run with seeds enough."""

_TIMELY = (
    "The size is TIMELY's: in the stored runs its minimum RTT is 20 us, where the base RTT of this Clos is 60 us, so"
    " its gradient is three times as steep as it should be and its long flows get a fifth of Dart's throughput."
)
_ONE_SEED = "Differences of a few percent between two tails, of which one seed was run."

_AT_SCALE = {
    "dart-f11a-1": _INCAST,
    "dart-f11a-2": f"{_INCAST} TIMELY's tail is lower still, since its long flows get a fifth of Dart's throughput.",
    "dart-f11a-3": _INCAST,
    "dart-f11a-4": "No scheme saturates at 60% of the uplinks; Dart's tail is 17% below DCQCN's.",
    "dart-f11-2": "59% at 20%, but with more load more marks are made on uplinks, where flows of 1 MB collide.",
    "dart-f11b-1": "Comparable up to 40%. At 80% DCQCN's tail doubles, as nine tenths of the bytes are long flows.",
    "dart-f11c-1": _INCAST,
    "dart-f11c-2": "No scheme saturates at 40% of the heavy mix: 10 to 12% more for all but DCTCP.",
    "dart-f11-3": "The opposite: what makes DCQCN's tail grow is the long flows' queues, not more incasts.",
    "dart-f12-1": _MEDIAN,
    "dart-f12-3": _MEDIAN,
    "dart-f12-4": f"Within 2% at 20% load, 7% at the highest. {_MEDIAN}",
    "dart-f13-2": _TIMELY,
    "dart-f13-3": _TIMELY,
    "dart-f13-4": _TIMELY,
    "dart-f13-5": (
        "Dart is first among the rate-based schemes, but DCTCP's windows take free bandwidth back within a few RTTs,"
        " where DCQCN's additive steps and TIMELY's 1 Mb/s take tens of ms. And short flows disturb long ones less than"
        " other long ones do, so the light mix has less throughput than the typical one."
    ),
    "dart-t1-typ-20": _MARKS,
    "dart-t1-typ-40": _MARKS,
    "dart-t1-typ-60": _MARKS,
    "dart-t1-heavy-20": _MARKS,
    "dart-t1-heavy-40": _MARKS,
    "dart-t1-light-20": _MARKS,
    "dart-t1-light-40": _MARKS,
    "dart-t1-light-60": _MARKS,
    "dart-t1-light-80": _MARKS,
    "dart-t1-x": _MARKS,
    "dart-t1-y": (
        "They fall, by up to a quarter: most marks are made by the incasts themselves at the receivers' ports, at any"
        " load (dart-t1-typ-20)."
    ),
    "dart-t2-typ-20": _DETOURS,
    "dart-t2-heavy-20": _DETOURS,
    "dart-t2-heavy-40": _DETOURS,
    "dart-t2-y": _DETOURS,
    "dart-f14-1": _INCAST,
    "dart-f14-2": _INCAST,
    "dart-f14-3": _INCAST,
    "dart-f14-4": f"A fifth of the published reduction. {_INCAST}",
    "dart-f14-5": (
        "IOFD does take 21% off the tail, but DASR alone adds 9% to it. Likely cause: long flows that may send at line"
        " rate to a free receiver build queues in the network that DCQCN would have prevented. IOFD sends short flows"
        " around these."
    ),
    "dart-f14-7": "Two priorities keep short flows out of the long ones' queues altogether, and gain most.",
    "dart-f14-8": "Flows of 8 KB have left before look-ahead can throttle any sender: the same tail within 1%.",
    "dart-f14s-1": (
        "A flow finds more than 20 KB two thirds as often as more than 15 KB: flows that start at line rate exceed the"
        " marking threshold of 22.5 KB before a mark can slow them down."
    ),
    "dart-f14s-2": _ONE_SEED,
    "dart-f14s-3": _ONE_SEED,
    "dart-x-3": _ONE_SEED,
}
"""Figures 11 to 14, the tables and the sensitivity study: why a claim does not hold at paper scale."""


def known(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of a claim that is in `KNOWN`."""
    expected, reason = KNOWN[id]
    return {"expected": expected, "reason": reason}


def known_at_scale(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of any claim on 1,024 hosts."""
    outcome = _NOT_FAILED.get(id, Outcome.FAILS) if id in _AT_SCALE else Outcome.HOLDS
    return {"expected": {"quick": Outcome.NOT_JUDGED, "paper": outcome}, "reason": _AT_SCALE.get(id, _QUICK)}
