"""Dart: the claims that do not hold or cannot be judged, and why.

At quick scale the figures at 1,024 hosts run one seed, an eighth of the flows, and two loads of the typical mix: too
little to judge any claim on them.
"""

from __future__ import annotations

from typing import Any

from rdmacc.experiments.framework.claim import Outcome

__all__ = ["KNOWN", "known", "known_at_scale"]

_TOO_SMALL_AT_QUICK = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}
_DIRECTION_AT_PAPER = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.DIRECTION}
_FAILS_AT_PAPER = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS}

_PUT_IN = "The emulated CPU's time and the link's rate are taken from the published numbers: nothing is left to find."
_NO_GAIN = (
    "The aggregator's link bounds both: 16 x 256 KB take 0.6 ms of its 56 Gb/s. InfiniBand fills them, DASR apportions"
    " the 43 Gb/s of a host, and gives the long flow its 1/(k+1) throughout, where InfiniBand's marks hold it back."
    " A baseline that is 2.5 times slower must leave the link idle; the paper does not give its settings."
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
        "InfiniBand's long flow climbs back by one step of its table every 0.15 ms, so it loses 6 to 18% of its"
        " throughput; DASR's is back after an RTT. The quick scale's rounds are too close together to judge it.",
    ),
    "dart-f10-6": (_TOO_SMALL_AT_QUICK, "The quick scale has too few rounds to tell them apart."),
    "dart-x-4": (_TOO_SMALL_AT_QUICK, "The quick network deflects too few flows."),
}
"""By id of the claim: what we expect at each scale, and why."""

_QUICK = "The quick scale has one seed, 1 ms of flows and two loads of the typical mix: too few to tell."

_AT_20 = (
    "At 20% the pairs of a group meet again after 0.4 ms on average: DCQCN's cut rates have recovered, and its tail is"
    " the incast's own, 16 flows that cross the receiver's link one after another (108 us at most, beside 30 us of"
    " propagation). They have left before any sender can hear of the others. With 64 groups, which meet twice as often,"
    " Dart's tail is two thirds below DCQCN's at 20% (dart.readings); but the receivers of 64 groups cannot carry 60%."
)
_TIMELY = (
    "TIMELY's kept rates climb back by 1 Mb/s at a time, so its tail is two to four times DCQCN's. If every message"
    " starts fresh the two are within a fifth of each other (dart.readings)."
)
_TIMELY_LONG = (
    "TIMELY's long flows are the faster ones: they start at line rate, each on a pair of its own, and TIMELY throttles"
    " the short ones, which leaves them the links. Fresh, TIMELY and Dart are even."
)
_MEDIAN = (
    "Where rates need not recover, half of the flows meet no queue but their own incast's, the same for all schemes;"
    " detours and look-ahead's bytes cost Dart 2 to 7%."
)
_MARKS = (
    "The size: DASR's window of 6 us knows that the receiver's line is full before a mark arrives, so next to none are"
    " left. With a window of half to one RTT the ratios of the typical and the heavy mix are the published ones within"
    " 20%, which the authors then seem to have had (dart-r-2b)."
)
_DETOURS = (
    "Fewer short flows than in the paper meet 15 kB in the network. The ratio, which is the share of short flows, does"
    " hold."
)

_NOT_FAILED = {
    **dict.fromkeys(
        (
            "dart-f11-3", "dart-f12-3", "dart-f14-5", "dart-f14-10", "dart-f14s-1", "dart-f14s-3",
            "dart-t1-heavy-20", "dart-t1-heavy-40", "dart-t1-light-20",
            "dart-t1-light-40", "dart-t1-light-60", "dart-t1-light-80", "dart-t1-typ-20", "dart-t1-typ-40",
            "dart-t1-typ-60", "dart-t2-heavy-20", "dart-t2-heavy-40", "dart-r-1b",
        ),
        Outcome.DIRECTION,
    ),
}  # fmt: skip
"""Of `_AT_SCALE`: what goes the paper's way all the same."""

_AT_SCALE = {
    "dart-f11a-2": f"Dart and DCQCN are even at 20%; at 40% Dart gains 64 to 92%. {_AT_20}",
    "dart-f11a-5": _TIMELY,
    "dart-f11-1": f"DCTCP's tail is 450 us above DCQCN's, but TIMELY's is above that. {_TIMELY}",
    "dart-f11-2": "43% at 20 and 40%, 32% at 60%: flows of 1 MB collide on the uplinks. Fresh 59, 53 and 40%.",
    "dart-f11b-1": f"Dart and DCQCN are within 1.2 up to 60%, 1.6 at 80%. TIMELY is not. {_TIMELY}",
    "dart-f11c-2": "Dart's tail grows less than DCQCN's and TIMELY's, but more than DCTCP's, which is 300 us higher.",
    "dart-f11-3": "24% in the light mix, sevenfold in the two others, which differ by less than their seeds.",
    "dart-f12-3": f"In the light mix less than 10%. {_MEDIAN}",
    "dart-f12-4": f"7% above DCQCN's in the light mix, where both wait for nothing. {_MEDIAN}",
    "dart-f13-2": _TIMELY_LONG,
    "dart-f13-3": _TIMELY_LONG,
    "dart-f13-4": f"Over DCQCN it is 92%. {_TIMELY_LONG}",
    "dart-f13-5": (
        "Over DCQCN Dart gains in every mix, but DCTCP's and TIMELY's windows take free bandwidth back faster than"
        " DCQCN's additive steps. And short flows disturb long ones less than other long ones do, so the light mix has"
        " less throughput than the typical one."
    ),
    **dict.fromkeys(
        (
            "dart-t1-typ-20", "dart-t1-typ-40", "dart-t1-typ-60", "dart-t1-heavy-20", "dart-t1-heavy-40",
            "dart-t1-light-20", "dart-t1-light-40", "dart-t1-light-60", "dart-t1-light-80",
        ),
        _MARKS,
    ),
    "dart-t1-y": (
        "Under DCQCN they fall: rates that stay low keep its later incasts below the threshold. Fresh they fall too,"
        " since most are made by the incasts themselves, at any load. In 128 fresh groups they rise (dart.readings)."
    ),
    "dart-t2-heavy-20": _DETOURS,
    "dart-t2-heavy-40": _DETOURS,
    "dart-f14-1": _AT_20,
    "dart-f14-2": _AT_20,
    "dart-f14-3": _AT_20,
    "dart-f14-5": "DASR gains what is published, IOFD a third of it: most of DCQCN's tail is rates, not queues.",
    "dart-f14-7": (
        "Worse than both, as published, but no better than DCQCN: what makes the tail are the short flows' own rates,"
        " which a priority does not raise."
    ),
    "dart-f14-8": (
        "At 20% there is nothing to gain (dart-f14-1). At 60% the tail is 38% lower with look-ahead than without."
    ),
    "dart-f14-10": "Nothing at 20%, a third at 40%, a little less than that at 60%.",
    "dart-f14s-1": (
        "A flow finds more than 20 KB two thirds as often as more than 15 KB: flows that start at line rate exceed the"
        " marking threshold of 22.5 KB before a mark can slow them down."
    ),
    "dart-f14s-2": (
        "It shrinks. At the same load incasts of 6 come 16/6 as often, so the rates of a group have less time to"
        " recover: DCQCN's tail is 2.4 ms with 6 senders, 1.3 ms with 16 and with 26. Dart's is the incast's own, which"
        " grows with its degree: 146, 275 and 409 us."
    ),
    "dart-f14s-3": (
        "77% with 4 KB and 81% with 8 KB, but 31% with 2 KB: 16 flows of that size exceed the marking threshold of"
        " 22.5 KB by little, so DCQCN has fewer cut rates to recover from."
    ),
    "dart-x-3": (
        "The first deflection has found a shorter queue already: four tokens make 68% more deflections than one, but no"
        " shorter tail; eight make it 5% longer, which is within what seeds differ by."
    ),
    "dart-r-1b": (
        "The incast has left before anybody hears of it, and queues in the network add little: no scheme can take away"
        " what is not there. Dart's tail is 5% below that of the others."
    ),
}  # fmt: skip
"""Figures 11 to 14, the tables, the readings and the sensitivity study: why a claim does not hold at paper scale."""


def known(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of a claim that is in `KNOWN`."""
    expected, reason = KNOWN[id]
    return {"expect": expected, "why": reason}


def known_at_scale(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of any claim on 1,024 hosts."""
    outcome = _NOT_FAILED.get(id, Outcome.FAILS) if id in _AT_SCALE else Outcome.HOLDS
    return {"expect": {"quick": Outcome.NOT_JUDGED, "paper": outcome}, "why": _AT_SCALE.get(id, _QUICK)}
