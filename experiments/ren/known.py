"""REN: the claims that do not hold or cannot be judged, and why."""

from __future__ import annotations

from typing import Any

from rdmacc.experiments.framework.claim import Outcome

__all__ = ["KNOWN", "known", "known_at_scale"]

_AT_PAPER_SCALE = {"quick": Outcome.NOT_JUDGED, "paper": Outcome.HOLDS}

KNOWN: dict[str, tuple[Outcome | dict[str, Outcome], str]] = {
    # Figures 1 to 13 and 20 to 22
    "ren-f3b-1": (
        Outcome.FAILS,
        "pHost loses nothing: its receivers pace tokens at the rate of their links, whatever was lost (CoNEXT 2015,"
        " section 3), so f0 has the whole link again at once. Homa on one queue does lose what the paper says, and so"
        " does what REN describes as both (section 2: a grant for each packet that comes), ren-f3-a",
    ),
    "ren-f3-a": (_AT_PAPER_SCALE, "five runs are too few: chance decides how much f0 loses"),
    "ren-f11b-1": (
        Outcome.FAILS,
        "as ren-f3b-1: pHost loses nothing, Homa on one queue and one grant for one packet (ren-f11-a) lose more with"
        " each burst",
    ),
    "ren-f13-2": (
        Outcome.NOT_JUDGED,
        "shares of CPU cycles belong to the authors' DPDK switch; operations are counted instead",
    ),
    "ren-f20-1": (_AT_PAPER_SCALE, "one run; chance decides which messages Homa's receivers prefer"),
    "ren-f20-2": (
        Outcome.DIRECTION,
        "the link is in use, but 53 packets wait when all answer: a safeguard that the paper does not have keeps one"
        " packet of each of 80 flows in flight, and the link holds 38. Without it the queue has a packet (ren-f20-a)",
    ),
    "ren-f21-1": (_AT_PAPER_SCALE, "the quick scale has 20 servers and 2 MB, over before losses are made good"),
    "ren-f21-2": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS},
        "NDP and REN are within 1% of each other, pHost within 4%. Homa falls below 60%:"
        " what an incast loses at its start waits for a RESEND after 1 ms, message by message, and it is not modelled"
        " that Homa limits incasts by counting RPCs",
    ),
    "ren-f21-a": (_AT_PAPER_SCALE, "2 MB are over before losses at the start are made good"),
    "ren-f22-1": (
        {"quick": Outcome.HOLDS, "paper": Outcome.DIRECTION},
        "AFCT varies by 14%, p99 by 43%, from 35 to 49 us",
    ),
    "ren-f22-2": (
        {"quick": Outcome.HOLDS, "paper": Outcome.DIRECTION},
        "at load 0.8, bursts of 10-50 KB at line rate beside two long flows overflow 128 KB at any period: p99 is that"
        " of losses, 444 us at 1 RTT and 503 us at 8. Where the buffer holds them, the tail grows with the period as"
        " the paper says: 6.1 times at load 0.2, 3.6 times with flows of 5-15 KB",
    ),
    "ren-f22-3": (
        Outcome.FAILS,
        "a short period does lose utilisation (ren-f22-a: 70% instead of 85% at load 0.2), but what the long flows do"
        " not use is room for the short ones, whose AFCT is lower for it, under every reading of the marks",
    ),
    "ren-f11-a": (
        {"quick": Outcome.NOT_JUDGED, "paper": Outcome.FAILS},
        "The loss does grow with the bursts (5, 43, 46, 50%), but two bursts cost 10 points more than in slots of one"
        " packet, and three or four less: packets of one burst come closer together than slots have them.",
    ),
}
"""By id of the claim: what we expect at each scale, and why."""


def known(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of a claim; none if it is not in `KNOWN`."""
    if id not in KNOWN:
        return {}
    expected, reason = KNOWN[id]
    return {"expect": expected, "why": reason}


# Leaf-spine networks: figures 14 to 19, what they gain together, the sensitivity study

_QUICK = "A hundred messages on 12 or 36 hosts with one seed: too little to judge."

_THEY_SCHEDULE = (
    "pHost and Homa send the shortest flow first, and Homa's priorities take short flows past every queue; REN serves"
    " packets as they come. All start at line rate, and sprayed over eight cores they wait for little up to a load of"
    " 0.7, so that there is not much for marks to take away."
)

_ALL_FLOWS = (
    "Short flows gain, the mean of all does not: a packet that finds a queue at any of its ports takes one from its"
    " flow, and only where all its ports have room does the flow get one more. Long flows pass many short queues and"
    " end up with less in flight than they started with."
)

_AT_SCALE: dict[str, tuple[Outcome, str]] = {
    "ren-f14-1": (
        Outcome.FAILS,
        f"{_ALL_FLOWS} In the largest tenth of data mining REN's p99 slowdown is less than half of DCTCP's and"
        " ExpressPass's, and about twice that of the others.",
    ),
    "ren-f14-2": (
        Outcome.FAILS,
        f"{_ALL_FLOWS} REN is 61% below DCTCP and 71% below ExpressPass, 10 to 22% above the others.",
    ),
    "ren-f14-3": (
        Outcome.FAILS,
        f"{_THEY_SCHEDULE} Homa has the lowest in 23 of the 40 tenths, pHost in 14.",
    ),
    "ren-f14-4": (
        Outcome.FAILS,
        "The gain comes from DCTCP and ExpressPass, and these cost short flows the most: they wait in queues that marks"
        " leave, or for the first credit.",
    ),
    "ren-f15-1": (
        Outcome.FAILS,
        f"{_THEY_SCHEDULE} REN has the lowest in web search at 0.7 alone.",
    ),
    "ren-f15-1a": (Outcome.FAILS, f"{_THEY_SCHEDULE} The four are within 8% of each other."),
    "ren-f15b-1": (
        Outcome.FAILS,
        f"{_THEY_SCHEDULE} REN is 44% below DCTCP, 94% below ExpressPass and 31% below Aeolus, 6% below NDP, 7 and 12%"
        " above pHost and Homa.",
    ),
    "ren-f15c-1": (Outcome.FAILS, f"{_ALL_FLOWS} REN's are up to 6% slower than pHost's, up to 11% than Homa's."),
    "ren-f15c-2": (Outcome.FAILS, "There is no gain over pHost and Homa (ren-f15c-1), and so no order of gains."),
    "ren-f15d-2": (
        Outcome.FAILS,
        "It grows up to a load of 0.4 to 0.6, and is at 0.7 what it was at 0.3, or less: marks take more from long"
        " flows than queues would (ren-x-1c).",
    ),
    "ren-x-1": (
        Outcome.FAILS,
        f"{_ALL_FLOWS} In the body 68% is another quantity: the p99 of short flows, over pHost, in data mining. REN"
        " gets there with one path for each flow, or 128 KB of buffer for a whole switch (`ren.sensitivity`,"
        " `ren.buffers`).",
    ),
    "ren-x-3a": (
        Outcome.FAILS,
        "So it is in data mining and Hadoop; by the public distributions not in the other two.",
    ),
    "ren-f16-1a": (
        Outcome.FAILS,
        f"{_THEY_SCHEDULE} REN has the lowest at 0.7, where Homa's unscheduled packets begin to wait for each other.",
    ),
    "ren-f16d-1": (
        Outcome.FAILS,
        f"{_ALL_FLOWS} REN is 48% below DCTCP and 56% below ExpressPass, within 3% of Homa and Aeolus, and 18 and"
        " 23% above NDP and pHost.",
    ),
    "ren-f18-1a": (
        Outcome.FAILS,
        f"{_THEY_SCHEDULE} REN is 11% above Homa at 0.7, 18% below NDP.",
    ),
    "ren-f18d-1": (
        Outcome.FAILS,
        f"{_ALL_FLOWS} REN is 50% below DCTCP and 64% below ExpressPass, 7% above Homa, 16% above Aeolus, 26% above"
        " NDP and pHost. With 128 KB of buffer for a whole switch it is 50% below pHost, 60% and more below"
        " Homa (`ren.buffers`).",
    ),
    "ren-f17-1a": (
        Outcome.FAILS,
        f"{_THEY_SCHEDULE} REN is 53% below DCTCP and 84% below ExpressPass at 0.7, within 4% of NDP and pHost.",
    ),
    "ren-f19-1": (
        Outcome.FAILS,
        "Without oversubscription the receivers' links are the bottleneck. Homa loses packets there and waits for its"
        " timer: REN gains 64% over it and Aeolus, more than published; but only 11% over pHost, and nothing over NDP.",
    ),
    "ren-x-1c": (Outcome.FAILS, _ALL_FLOWS),
    "ren-x-1b": (
        Outcome.FAILS,
        "Where queues are short and sprayed over eight ports few marks are made twice. On a single bottleneck the"
        " literal reading leaves a quarter of the link unused.",
    ),
}
"""Why a claim does not hold at paper scale, or only in its direction."""


def known_at_scale(id: str) -> dict[str, Any]:
    """Return the arguments `expected` and `reason` of any claim on the leaf-spine networks."""
    outcome, reason = _AT_SCALE.get(id, (Outcome.HOLDS, _QUICK))
    return {"expect": {"quick": Outcome.NOT_JUDGED, "paper": outcome}, "why": reason}
