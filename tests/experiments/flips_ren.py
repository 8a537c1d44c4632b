"""REN: changes of the stored tables that must change a judge's mind. See `tests.experiments.flips`."""

from __future__ import annotations

import pandas as pd

from rdmacc.experiments.ren.bursts import LARGE_BUFFER
from rdmacc.experiments.ren.fig14 import PUBLISHED
from rdmacc.experiments.ren.fig20 import KEPT, NOT_KEPT
from rdmacc.experiments.ren.fig21 import SLOW_TIMER
from rdmacc.experiments.ren.leaf_spine import TENTHS
from tests.experiments.flips import Change, both, put, times

_GROWING = {1: 0.05, 2: 0.25, 3: 0.35, 4: 0.45}
"""A loss of utilisation by bursts as the paper describes it."""


_SLOTS = {1: 0.0, 2: 0.33, 3: 0.49, 4: 0.58}
"""The same in a model in slots of one packet."""


def _nothing_at_ports(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(place=table["place"].replace("port", "sender"))


def _loses(scheme: str, losses: dict[int, float]) -> Change:
    return both(*(put("throughput after", 1e10 * (1 - lost), scheme=scheme, bursts=n) for n, lost in losses.items()))


def _slowdowns_at(workload: str) -> Change:
    """Return a change to the published gains of figure 14: all these flows are among the largest tenth."""
    published = PUBLISHED[workload][1]
    of_others = (
        put("p99 slowdown, 10", 1 / (1 - one), scheme=name, workload=workload) for name, one in published.items()
    )
    return both(put("p99 slowdown, 10", 1, scheme="ren", workload=workload), *of_others)


FLIPS: dict[str, list[Change]] = {
    # Figures 1 to 13 and 20 to 22
    "ren-f1-1": [put("in flight", 3), put("queue", 1), put("packets", 1)],
    "ren-f2-1": [put("packets", 5), put("packets", 3)],
    "ren-f5-1": [
        put("queue", 2, scheme="ren"),
        put("grants marked over", 3, scheme="ren"),
        put("in flight", 4, scheme="ren"),
        put("packets", 1, scheme="ren"),
    ],
    "ren-f5-2": [put("largest grant", 41, scheme="ren"), put("grants marked over", 0, scheme="ren")],
    "ren-f5-a": [put("grants marked over", 2, scheme="ren-literal")],
    "ren-f6-1": [
        put("packets", 3, scheme="ren"),
        put("grants marked under", 3, scheme="ren"),
        put("queue", 1, scheme="ren"),
    ],
    "ren-f6-a": [put("grants marked under", 2, scheme="ren-literal"), put("queue", 0, scheme="ren-literal")],
    "ren-f7-1": [put("marks after S2", 1), put("packets for four grants", 4)],
    "ren-f7-a": [put("higher marks won", 8), put("marks that fell", 1)],
    "ren-f4-a": [put("packets for 00", 1), put("marks copied", 2), put("packets marked 10", 2)],
    "ren-f4-b": [_nothing_at_ports],
    "ren-f10-a": [put("transmitted before received", 1), put("waiting", 1)],
    "ren-f10-b": [put("peak queue", 64_001), put("shortest queue that dropped", 50_000), put("dropped", 0)],
    "ren-f13-1": [put("stated state", 20), put("stated state, 32 ports", 640)],
    "ren-f13-2": [times("comparisons, enqueue", 2, scheme="ren", flows=100)],
    "ren-f13-a": [put("own state", 999, scheme="ren", flows=100)],
    "ren-f3a-1": [put("drops", 0, scheme="phost"), put("peak queue", 41, scheme="homa-2-levels")],
    "ren-f3a-2": [put("peak queue", 10, scheme="ndp"), put("trimmed", 0, scheme="ndp")],
    "ren-f3a-3": [times("mean queue", 0.79, scheme="phost"), put("mean queue", 6.3, scheme="ndp")],
    "ren-f3a-4": [put("drained after", 6.1, scheme="ren"), put("mean queue", 2.1, scheme="ren")],
    "ren-f3b-1": [put("throughput after", 7.5e9, scheme="phost")],
    "ren-f3b-2": [put("f0 recovered after", 10.1, scheme="ndp"), put("f0 recovered after", 10.1, scheme="ren")],
    "ren-f3b-3": [put("f0 before", 9.6e9, scheme="homa-2-levels")],
    "ren-f3-s": [put("propagation, there and back", 49e6), put("links, there and back", 4)],
    "ren-f3-a": [
        put("throughput after", 9.1e9, scheme="traditional"),
        times("throughput after", 0.9, scheme="traditional"),
    ],
    "ren-f3-b": [
        put("throughput during", 9.9e9, scheme="ren-literal", buffer=LARGE_BUFFER),
        put("throughput during", 9.4e9, scheme="ren", buffer=LARGE_BUFFER),
        put("throughput after", 1e9, scheme="ren-literal-unsafe", buffer=LARGE_BUFFER),
    ],
    "ren-f3-c": [put("drained after", 5, scheme="ren-packet"), put("mean queue", 2.1, scheme="ren-packet")],
    "ren-f8-1": [put("rounds from 0.25 C", 3)],
    "ren-f8-2": [put("FCT", 1e11, scheme="ren"), put("FCT, REN", 1e12)],
    "ren-f8-a": [
        put("rounds to 95% of the link", 4, scheme="ren"),
        put("rounds to 95% of the link", 9, scheme="traditional"),
    ],
    "ren-f9a-1": [times("queue", 1.2, protocol="REN")],
    "ren-f9a-2": [put("queue", 50.0, protocol="traditional", strength=0.5)],
    "ren-f9b-1": [put("utilisation", 0.6, protocol="REN", strength=0.5)],
    "ren-f9b-2": [put("utilisation", 0.7, protocol="REN", strength=1.0)],
    "ren-f9b-3": [put("utilisation", 0.5, protocol="traditional", case=30.0, strength=1.0)],
    "ren-f9-4": [times("BDP", 1.002)],
    "ren-f9-a": [put("queue, packets", 1e4, protocol="REN", strength=0.6)],
    "ren-f9-b": [
        put("utilisation, packets", 0.2, protocol="REN", strength=1.0),
        put("utilisation, packets", 0.3, protocol="traditional", strength=0.2),
    ],
    "ren-f20-1": [put("mean queue", 0.0, scheme="Homa, K = 8"), put("utilisation", 0.5, scheme="Homa, K = 8")],
    "ren-f20-2": [put("mean queue", 1.0, scheme=KEPT)],
    "ren-f20-a": [put("mean queue", 5.1, scheme=NOT_KEPT), put("utilisation", 0.89, scheme=NOT_KEPT)],
    "ren-f21-1": [put("utilisation", 0.98, scheme="ren")],
    "ren-f21-2": [both(put("RCT", 2.05e10, scheme="ren"), put("utilisation", 0.95))],
    "ren-f21-3": [put("fastest round", 1.9e10), put("unfinished", 1)],
    "ren-f21-a": [put("utilisation", 0.9, scheme=SLOW_TIMER)],
    "ren-f22-1": [put("p99 FCT", 4e7, scheme="ren", load=0.2)],
    "ren-f22-2": [times("p99 FCT", 1.5, scheme="ren", load=0.8, period=8.0)],
    "ren-f22-3": [times("AFCT", 1.3, scheme="ren", period=0.25)],
    "ren-f22-a": [put("utilisation", 0.99, period=0.25)],
    "ren-f11a-1": [put("occupancy", 0.11, scheme="ren"), put("occupancy", 0.0, scheme="ndp")],
    "ren-f11b-1": [both(_loses("phost", _GROWING), _loses("homa-2-levels", _GROWING))],
    "ren-f11-a": [_loses("traditional", _SLOTS)],
    "ren-f12-1": [times("FCT", 0.15, scheme="ndp", size_bytes=60_000)],
    "ren-f12-2": [times("FCT", 0.1, scheme="ndp", size_bytes=40_000)],
    "ren-f12-a": [put("timeouts", 1, scheme="ren")],
    # Leaf-spine networks: figures 14 to 19 and what belongs to them
    "ren-f14-1": [_slowdowns_at("data_mining")],
    "ren-f14-2": [_slowdowns_at("cache_follower")],
    "ren-f14-3": [both(*(times(f"p99 slowdown, {k}", 0.1, scheme="ren") for k in TENTHS))],
    "ren-f14-4": [both(*(times(f"p99 slowdown, {k}", 2.2 - 0.2 * k, scheme="ren") for k in TENTHS))],
    "ren-f15-1": [times("AFCT, short", 0.5, scheme="ren")],
    "ren-f15-1a": [times("AFCT, short", 0.5, scheme="ren")],
    "ren-f15b-1": [times("p99 FCT, short", 0.5, scheme="ren")],
    "ren-f15c-1": [times("throughput, long", 1.2, scheme="ren")],
    "ren-f15c-2": [
        both(*(times("throughput, long", 1.3, scheme="ren", workload=one) for one in ("data_mining", "web_search"))),
    ],
    "ren-f15c-3": [times("throughput, long", 2, scheme="expresspass")],
    "ren-f15d-2": [times("AFCT", 0.5, scheme="ren", load=0.7)],
    "ren-x-1": [times("AFCT", 0.38, scheme="ren")],
    "ren-x-2": [put("oversubscription", 5)],
    "ren-x-3": [times("flows, long", 0.5, workload="data_mining")],
    "ren-x-3a": [put("bytes in the largest tenth", 0.95)],
    "ren-f19-1": [times("AFCT", 0.7, scheme="ren")],
    "ren-f16-1a": [times("AFCT, short", 0.5, scheme="ren")],
    "ren-f16d-1": [times("AFCT", 0.5, scheme="ren")],
    "ren-f17-1a": [times("AFCT, short", 0.5, scheme="ren")],
    "ren-f18-1a": [times("AFCT, short", 0.5, scheme="ren")],
    "ren-f18d-1": [times("AFCT", 0.5, scheme="ren")],
    "ren-x-1a": [put("unfinished", 1, scheme="ren"), put("unfinished", 0, scheme="ren-literal-unsafe")],
    "ren-x-1b": [times("AFCT", 1.08, scheme="ren-literal")],
    "ren-x-1c": [
        both(*(times(one, 1.5, scheme="traditional") for one in ("AFCT", "AFCT, short", "p99 FCT, short"))),
    ],
    "ren-x-4a": [both(*(times("AFCT", 0.3, scheme=one) for one in ("phost", "homa", "ndp")))],
    "ren-x-4b": [times("AFCT", 100, scheme="ren")],
}
