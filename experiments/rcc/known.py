"""RCC: the claims that do not hold or cannot be judged, and why."""

from __future__ import annotations

from typing import Any

from rdmacc.experiments.framework.claim import Outcome

__all__ = ["KNOWN", "known"]

_FEWER_SENDERS = "At quick scale 200 senders: other shares, and other queues."
_SHORT = "At quick scale too few gains and too little time."
_BUSY = (
    "No effect at all. The last hop is never less than 95% busy in this incast, so algorithm 1, line 10, takes the fair"
    " share and looks at no sample; and a share of 150 bytes is the PID's least window too. `rcc-f12-4a` has shares of"
    " three packets: there jitter and n do what the paper says."
)

KNOWN: dict[str, tuple[Outcome | dict[str, Outcome], str]] = {
    # Figures 1 to 8, 12, 14, table I, and what is beside them.
    "rcc-f1-1": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.DIRECTION},
        "Two flows are within 20% of their shares after 1 ms: the published result may have had another network. With"
        " three, flow 1 is marked at two ports and stays off its share for 76 of 100 ms.",
    ),
    "rcc-f4-2": (
        Outcome.FAILS,
        "By the paper's own equation (12), in seconds: four fifths of the box, on logarithmic axes, are above 30"
        " degrees; the margin is negative where K_p is more than twice K_d. It needs the advice of the next sentence,"
        " K_p one or two orders below K_d (rcc-f4-3).",
    ),
    "rcc-f7-1": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS},
        "Shares below a packet are paced, and add up to all of the link. So nothing drains what came before all flows"
        " were counted: each of the first ones was given more. At 97% of the link the queue is empty in the steady"
        f" phase, at the price of 3% of the goodput. {_FEWER_SENDERS}",
    ),
    "rcc-f7-1a": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.DIRECTION},
        f"Half of HPCC's queue with shares of all of the link, none with 97% of it: see rcc-f7-1. {_FEWER_SENDERS}",
    ),
    "rcc-f7-2": ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, _FEWER_SENDERS),
    "rcc-x-3": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.DIRECTION},
        "As printed each flow sums up its own errors, and the differences between the sums stay for good: with four"
        " flows shares drift apart, with eight or more windows run from one bound to the other and the queue to a MB."
        f" Without u(t - 1), for which table I has no room, two to sixteen flows get equal shares. {_SHORT}",
    ),
    "rcc-x-3a": ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, _SHORT),
    "rcc-x-3b": (
        Outcome.DIRECTION,
        "The target halves, but a queue as short as that runs empty with every swing. So as printed it oscillates (0.74"
        " of the full target, 0.13 with round trips), about a mean above the new target.",
    ),
    "rcc-m-1a": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.DIRECTION},
        "Equation (12) has no delay, and packets have about one RTT of it: at K_d = 1e5 and small K_p the margin is 46"
        f" degrees without, below 0 with it (rcc-m-1b), and the queue oscillates. {_SHORT}",
    ),
    "rcc-m-1b": ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, _SHORT),
    "rcc-m-2a": ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, _SHORT),
    "rcc-m-2b": ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, _SHORT),
    "rcc-m-3a": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS},
        "Calm at 12 and 40 us, not at 4 us. With the delay that packets have, these gains have a margin of -17 degrees;"
        " at 4 us a packet is a fifth of the target, and samples that coarse keep the queue swinging. The paper's own"
        f" gains swing by four targets at 40 us. {_SHORT}",
    ),
    "rcc-m-3b": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.DIRECTION},
        "All six are calm. At 4 us without u(t - 1) two flows are just as calm without the delay in mind, until a"
        f" third one joins. {_SHORT}",
    ),
    "rcc-m-4a": ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, _SHORT),
    "rcc-m-4b": ({"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}, _SHORT),
    "rcc-f8-2a": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS},
        "In the network shares take some 10 ms to become equal, longer than the quick run.",
    ),
    "rcc-f12-1": (Outcome.FAILS, _BUSY),
    "rcc-f12-3": (Outcome.FAILS, _BUSY),
    "rcc-f14-3a": (
        Outcome.DIRECTION,
        "With two flows 47.7 and 45.3 Gb/s on average, but shares wander by a quarter to both sides over tens of ms:"
        " the flows' updates fall at different instants of the queue's oscillation. With three, flow 1's swings upwards"
        " are cut off at its share of the last hop, so it gets 40 Gb/s on average and flow 2 the rest.",
    ),
}
"""By id of the claim: what we expect at each scale, and why."""


def known(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of a claim; none if it is not in `KNOWN`."""
    if id not in KNOWN:
        return {}
    expected, reason = KNOWN[id]
    return {"expect": expected, "why": reason}


# The figures at 320 hosts: 9, 10, 11, 13, the baselines' readings; verdicts around one switch.

_QUICK = "The quick network has 32 hosts, two loads and a few hundred flows of one seed: too few to tell."
_HOMA = (
    "Homa is the fastest throughout: it sends the shortest message first, and its priorities hold all the way. Short"
    " flows take 8.5 us, whatever the load."
)
_UNDER_PID = (
    "Flows that were once judged congested in the network stay under the PID to their end, with a window that grows by"
    " 1% in a round trip. Of the long ones a seventh (at 30%) to a half (at 70%) is judged so wrongly (`rcc.verdicts`)."
    " With n = 100 samples, or three of a round trip each, hardly any is; n = 100 lowers the average by 6%, to 2% above"
    " RCC-EWA's (`rcc.baselines`)."
)
_HOMA_ALONE = f"{_HOMA} Over the other four RCC's averages are lower at every load."

_AT_320_HOSTS = {
    "rcc-f9-1": (Outcome.DIRECTION, _HOMA_ALONE),
    "rcc-f9-2": (Outcome.DIRECTION, _HOMA_ALONE),
    "rcc-f9-3": (Outcome.HOLDS, ""),
    "rcc-f9-4": (Outcome.FAILS, _HOMA),
    "rcc-x-1": (
        Outcome.FAILS,
        f"{_HOMA} Over the other four RCC's averages are lower by 14% at least somewhere; on web server traffic DCQCN"
        " and TIMELY are up to 8% ahead.",
    ),
    "rcc-x-2": (
        Outcome.DIRECTION,
        "14% of the tail over DCQCN, at most, with the timers of the simulator that RCC started from; on web server"
        " traffic DCQCN's tail is shorter.",
    ),
    "rcc-f10-1": (
        Outcome.DIRECTION,
        "4% at the load of 70%, with the timers of the simulator that RCC started from; the readings of DCQCN differ by"
        " more than that (`rcc.baselines`).",
    ),
    "rcc-f10-2a": (
        Outcome.FAILS,
        "Equal on average, within 3%; the tail is 4% shorter at a load of 30% and 9% longer at 70%.",
    ),
    "rcc-f10-3a": (Outcome.HOLDS, ""),
    "rcc-f10-4a": (Outcome.FAILS, _HOMA),
    "rcc-f10-5a": (Outcome.FAILS, _HOMA),
    "rcc-f11-1": (Outcome.HOLDS, ""),
    "rcc-f11-2": (Outcome.HOLDS, ""),
    "rcc-f11-3a": (Outcome.DIRECTION, "9, 7 and 4% at the three loads."),
    "rcc-f11-4a": (Outcome.HOLDS, ""),
    "rcc-f13-1": (Outcome.FAILS, _UNDER_PID),
    "rcc-f13-2a": (Outcome.FAILS, _UNDER_PID),
    "rcc-f13-3a": (Outcome.FAILS, _UNDER_PID),
    "rcc-b-1a": (Outcome.FAILS, "Spraying does not harm Homa: one path for each flow makes it slower."),
    "rcc-b-2a": (
        Outcome.FAILS,
        "With the timers of its own paper DCQCN recovers from a cut six times as fast: its long flows are ahead of"
        " RCC's, its short ones take twice as long.",
    ),
    "rcc-b-3a": (Outcome.FAILS, "n decides how many flows come under the PID, see `rcc-f13-1`; the others do little."),
}
for _id, (_outcome, _why) in _AT_320_HOSTS.items():
    KNOWN[_id] = ({"quick": Outcome.NOT_JUDGED, "paper": _outcome}, f"{_why} {_QUICK}".strip())
_FALSE = (
    "Three packets are late in a row as soon as a new flow's burst meets a link that was not full in the round before:"
    " 0.25 us of lateness beside a B_R over 12 us. Such a flow stays under the PID, capped by its share, and takes"
    " bandwidth back at 1% in a round trip. With n = 100 packets 0.2% at most are judged wrongly."
)
KNOWN["rcc-v-1a"] = (Outcome.FAILS, _FALSE)
KNOWN["rcc-v-2a"] = (Outcome.FAILS, _FALSE)
