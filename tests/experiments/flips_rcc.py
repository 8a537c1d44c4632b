"""RCC: changes of the stored tables that must change a judge's mind. See `tests.experiments.flips`."""

from __future__ import annotations

from tests.experiments.flips import Change, both, put, times

_EWA, _PID, _RCC = {"scheme": "rcc-ewa"}, {"scheme": "rcc-pid"}, {"scheme": "rcc"}
_DCQCN, _TIMELY, _HPCC = {"scheme": "dcqcn"}, {"scheme": "timely"}, {"scheme": "hpcc"}


def _rates(value: float, **where: str) -> Change:
    """Return a change that gives flows 1 and 2 the same goodput in the last two phases."""
    names = ("flow 1, phase 2", "flow 2, phase 2", "flow 1, phase 3", "flow 2, phase 3")
    return both(*(put(f"goodput of {name}", value, **where) for name in names))


_AS_PRINTED = both(
    *(
        put(name, value, form="accumulating")
        for name, value in (("Jain", 1.0), ("use", 1.0), ("mean queue", 1.0), ("swing", 0.1))
    )
)
"""Equation (4) as printed does what the paper says of it."""

FLIPS: dict[str, list[Change]] = {
    # Figures 1 to 8, 12, 14, table I, and what is beside them.
    "rcc-f1-1": [put("off max-min, phase 2", 11e9, **_DCQCN)],
    "rcc-f1-2": [
        both(put("Jain, phase 2", 0.99, **_TIMELY), put("Jain, phase 3", 0.99, **_TIMELY),
             put("swing in network, phase 2", 0, **_TIMELY), put("swing last hop, phase 3", 0, **_TIMELY))
    ],
    "rcc-f1-2a": [
        both(put("off max-min, phase 2", 0, **_TIMELY), put("off max-min, phase 3", 0, **_TIMELY)),
        times("goodput of flow 2, phase 3", 2, **_TIMELY),
    ],
    "rcc-f2-1a": [put("window in the ACK", 1), put("pace over window / base RTT", 1.1)],
    "rcc-f2-1b": [put("on time: mode", 1), put("late once: mode", 1), put("late, last hop not busy: window", 1.0),
                  put("under PID, then on time and busy: mode", 0)],
    "rcc-f3-1a": [put("largest difference of u", 1e-6), put("largest difference of the window", 37)],
    "rcc-f3-1b": [put("u", 0.0, point="pd"), put("u", 0.0, point="accumulating")],
    "rcc-f4-1": [put("margin of the default", value, point="box") for value in (39.69, 39.91)],
    "rcc-f4-2": [put("phase margin", 31.0, point="box")],
    "rcc-f4-3": [put("phase margin", 29.0, point="box")],
    "rcc-f4-4": [put("phase margin", 31.0, point="box")],
    "rcc-f4-5": [put("R_ref", 6.6e6, point="box")],
    "rcc-f4-6": [put("phase margin", value, point="wide") for value in (10.0, -10.0)],
    "rcc-f4-6a": [put("phase margin", 80.0, point="box, with delay")],
    "rcc-f5-1": [times("goodput with 3, flow 1, flow 3 starts", factor, point="rcc") for factor in (0.96, 1.04)],
    "rcc-f5-2": [put("Jain with 4, flow 4 starts", 0.985, point="rcc")],
    "rcc-f5-3": [times("convergence after flow 2 starts", 4, point="rcc"),
                 times("convergence after flow 2 starts", 0.05, point="hpcc")],
    "rcc-f5-4": [put("Jain with 2, flow 2 starts", 1.0, point="hpcc")],
    "rcc-f5-5": [times("flow 1 complete", factor, point="rcc") for factor in (0.96, 1.04)],
    "rcc-f6-1": [times("goodput", 0.96, **_RCC), times("goodput", 0.95, **_HPCC)],
    "rcc-f6-2": [times("median FCT", factor, **_RCC) for factor in (1.06, 0.85)],
    "rcc-f6-3": [times("p99 FCT", factor, **_RCC) for factor in (1.07, 0.87)],
    "rcc-f6-3a": [times("last FCT", 1.06, **_RCC), times("last FCT", 0.9, **_RCC), put("unfinished", 1, **_HPCC)],
    "rcc-f7-1": [put("steady queue", 40e3, **_RCC)],
    "rcc-f7-1a": [put("steady queue", 40e3, **_RCC)],
    "rcc-f7-2": [put("steady queue", value, **_HPCC) for value in (740e3, 1060e3)],
    "rcc-f7-2a": [put("peak queue", 8e6, **_HPCC), times("peak queue", 10, scheme="rcc", start="request")],
    "rcc-f8-1": [put("goodput of flow 1", 11.4e9, setting="last hop"), put("queue", 5300, setting="last hop")],
    "rcc-f8-2": [put("goodput of flow 2", 12.6e9, setting="in network"), times("queue", 5, setting="in network"),
                 put("swing of flow 1", 0.11, setting="in network")],
    "rcc-f8-2a": [put("goodput of flow 1", 11e9, setting="in network", start="one later")],
    "rcc-f12-1": [times("goodput", 0.95, scheme="rcc-async", late_samples=0)],
    "rcc-f12-2": [times("goodput", factor, scheme="rcc-sender") for factor in (0.96, 1.04)],
    "rcc-f12-3": [times("goodput", 0.95, scheme="rcc-n1")],
    "rcc-f12-4": [times("goodput", 0.96, scheme="rcc-async", late_samples=4)],
    "rcc-f12-4a": [times("goodput", 3, late_samples=1, size="1MB")],
    "rcc-f14-1": [put("settling, phase 2", 1e6, **_PID), put("settling, phase 3", 1e6, **_PID)],
    "rcc-f14-2": [both(_rates(50e9, **_EWA), put("queue in network, phase 2", 10e3, **_EWA))],
    "rcc-f14-2a": [put("queue in network, phase 2", 150e3, **_EWA), _rates(50e9, **_EWA)],
    "rcc-f14-3": [put("queue in network, phase 2", 31e3, **_RCC), put("wrong, flow 1", 1e12, **_RCC)],
    "rcc-f14-3a": [_rates(47.7e9, **_RCC)],
    "rcc-f14-3b": [put("wrong, flow 1", 1e12, **_EWA), put("wrong, flow 3", 1e12, **_PID)],
    "rcc-x-3": [_AS_PRINTED],
    "rcc-x-3a": [_AS_PRINTED, put("use", 0.5, form="pd")],
    "rcc-x-3b": [put("mean queue in bytes", 8e3, delta=0.1)],
    "rcc-m-1a": [both(put("accumulating", 0.1, kd=1e5), put("accumulating: use", 1.0, kd=1e5))],
    "rcc-m-1b": [put("margin, delay 1", 1.0)],
    "rcc-m-2a": [put("fluid", 0.0), put("fluid, delayed", 0.0), put("margin, delay 0", -1.0)],
    "rcc-m-2b": [put("pd", 1.0), put("radius, pd, delay 0", 0.5)],
    "rcc-m-3a": [put("swing", 0.1, gains="tuned", form="accumulating")],
    "rcc-m-3b": [put("swing", 0.001, gains="tuned for delay")],
    "rcc-m-4a": [put("packets", 0.1, form="accumulating"), put("packets", 1.0, form="accumulating", kd=1e5)],
    "rcc-m-4b": [put("packets", 1.0, form="pd", kd=5e4), put("packets", 0.1, form="pd")],
    "rcc-m-4c": [put("packets", 0.5, form="accumulating"), put("packets", 0.1, form="pd")],
    "rcc-t1-1": [put("last_rtt", 4), put("cwnd", 8)],
    "rcc-t1-1a": [both(put("is_iterative", 0), put("late", 0))],
    # Figures 9 to 11 and 13, the baselines' readings, verdicts around one switch.
    "rcc-v-1a": [put("false verdicts", 0.09, reading="n = 3")],
    "rcc-v-2a": [put("cost of the judged", value, reading="n = 3") for value in (0.04, -0.04)],
    "rcc-v-3a": [put("cost of the others", 0.06, reading="n = 3")],
    "rcc-v-4a": [put("false verdicts", 0.02, reading=reading) for reading in ("n = 100", "n = 3 round trips")],
    "rcc-f9-1": [times("all mean", 0.3, scheme="rcc", workload="web_search")],
    "rcc-f9-2": [times("all mean", 0.3, scheme="rcc", workload="data_mining")],
    "rcc-f9-3": [times("all mean", 1.3, scheme="rcc", workload="web_server")],
    "rcc-f9-4": [times("all mean", 0.3, scheme="rcc")],
    "rcc-f9-5a": [put("unfinished", 1), put("dropped", 1), put("least slowdown", 0.98)],
    "rcc-x-1": [times("all mean", 0.5, scheme="rcc")],
    "rcc-x-2": [times("all p99", 0.9, scheme="rcc")],
    "rcc-f11-1": [times("short mean", 2, scheme="rcc"), times("short p99", 5, scheme="rcc")],
    "rcc-f11-2": [times("short mean", 1.1, scheme="rcc"), times("short p99", 1.2, scheme="rcc")],
    "rcc-f11-3a": [times("long mean", 0.9, scheme="rcc")],
    "rcc-f11-4a": [times("long mean", 1.2, scheme="rcc")],
    "rcc-f10-1": [times("long mean", 0.5, scheme="rcc")],
    "rcc-f10-2a": [both(times("short mean", 0.5, scheme="rcc"), times("short p99", 0.5, scheme="rcc"))],
    "rcc-f10-3a": [times("short mean", 2, scheme="rcc"), times("short p99", 3, scheme="rcc")],
    "rcc-f10-4a": [times("short mean", 0.4, scheme="rcc")],
    "rcc-f10-5a": [times("long mean", 0.4, scheme="rcc")],
    "rcc-f13-1": [times("all mean", 0.8, scheme="rcc")],
    "rcc-f13-2a": [times("all mean", 0.8, scheme="rcc")],
    "rcc-f13-3a": [times("all p99", 0.8, scheme="rcc")],
    "rcc-b-1a": [times("all mean", 0.8, scheme="homa", changes="routing ecmp")],
    "rcc-b-2a": [times("all mean", 0.5, scheme="rcc", changes="")],
    "rcc-b-3a": [times("all mean", 1.05, scheme="rcc", changes="late_samples 100")],
}  # fmt: skip
