"""REN and RCC: tables at the ends of the claims' bands. See `tests.experiments.edges`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from rdmacc.experiments import Outcome
from rdmacc.experiments.rcc.fig05 import PUBLISHED_BPS
from rdmacc.experiments.rcc.setup import BDP_BYTES, WIRE_BYTES
from rdmacc.experiments.ren.fig20 import KEPT, NOT_KEPT
from rdmacc.experiments.ren.fig21 import SLOW_TIMER
from tests.experiments.flips import Change, both, put

Edge = tuple[Change, Outcome]
YES, SOME, NO = Outcome.HOLDS, Outcome.DIRECTION, Outcome.FAILS
_RECEIVERS = ("phost", "homa", "ndp")


def ends(change: Callable[[float], Change], *found: tuple[float, Outcome]) -> list[Edge]:
    """Return the edges that a change makes of some values."""
    return [(change(value), outcome) for value, outcome in found]


def beside(quantity: str, scheme: str, unit: float = 1.0, **where: Any) -> Callable[[float], Change]:
    """Return a change that gives a scheme a multiple of what all schemes have."""
    return lambda factor: both(put(quantity, unit, **where), put(quantity, factor * unit, scheme=scheme, **where))


def named(prefix: str, value: float, point: str) -> Change:
    """Return a change that puts a value in all of a point's quantities whose name begins with something."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        rows = table["quantity"].str.startswith(prefix) & (table["point"] == point)
        assert rows.any(), prefix
        return table.assign(value=table["value"].mask(rows, value))

    return change


def _lost(share: float) -> Change:
    """PHost and Homa lose a share of the link with their grants."""
    names = ("phost", "homa-2-levels")
    before = [put("throughput before", 1e10, scheme=one) for one in names]
    return both(*before, *(put("throughput after", (1 - share) * 1e10, scheme=one) for one in names))


def _long_flows(large: float, small: float, once: float) -> Change:
    """REN's long flows over the others' in the workloads of large flows and of small ones, there at one load `once`."""
    name = "throughput, long"
    each = [put(name, large, scheme="ren", workload=one) for one in ("data_mining", "web_search")]
    for one in ("hadoop", "cache_follower"):
        each += [put(name, small, scheme="ren", workload=one), put(name, once, scheme="ren", workload=one, load=0.1)]
    return both(put(name, 1.0), *each)


def _forms(**broken: int) -> Change:
    """Equation (4) as printed, and without memory, works with any number of flows but one, at either period."""
    numbers = {"Jain": 1.0, "use": 1.0, "mean queue": 1.0, "swing": 0.1}
    each = [put(name, value) for name, value in numbers.items()]
    return both(*each, *(put("Jain", 0.94, form=form, flows=flows) for form, flows in broken.items()))


def _queues_of_models(ratio: float) -> Change:
    return both(put("queue", 10.0, protocol="REN"), put("queue", 10.0 * ratio, protocol="traditional"))


def _fan_in(name: str) -> Callable[[float, float], Change]:
    return lambda use, queue: both(put("utilisation", use, scheme=name), put("mean queue", queue, scheme=name))


def _rounds(time: float, use: float) -> Change:
    return both(put("RCT", 2e10), put("RCT", time * 2e10, scheme="ren"), put("utilisation", use))


def _periods(mean: float, tail: float) -> Change:
    """By how much a sampling period of two RTTs differs from one, at a load of 20%."""
    where = {"scheme": "ren", "load": 0.2}
    level = both(*(put(name, 1e8, **where) for name in ("AFCT", "p99 FCT")))
    return both(level, put("AFCT", mean * 1e8, period=2.0, **where), put("p99 FCT", tail * 1e8, period=2.0, **where))


def _long_period(ratio: float) -> Change:
    where = {"scheme": "ren", "load": 0.8}
    return both(put("p99 FCT", 1e8, **where), put("p99 FCT", ratio * 1e8, period=8.0, **where))


def _short_period(quantity: str) -> Callable[[float, float], Change]:
    def change(light: float, heavy: float) -> Change:
        each = [
            put(quantity, value, scheme="ren", load=load, period=0.25) for value, load in ((light, 0.2), (heavy, 0.8))
        ]
        return both(put(quantity, 1.0, scheme="ren"), *each)

    return change


def _off_max_min(second: float, third: float) -> Change:
    return both(
        put("off max-min, phase 2", second * 1e9, scheme="dcqcn"),
        put("off max-min, phase 3", third * 1e9, scheme="dcqcn"),
    )


def _timely(jain: float, swing: float) -> Change:
    """Jain's index in both phases; the queues' swing relative to their mean."""
    where = {"scheme": "timely"}
    queues = [(f"queue {place}, phase {phase}", f"swing {place}, phase {phase}")
              for phase, place in ((2, "in network"), (3, "last hop"))]  # fmt: skip
    return both(
        put("Jain, phase 2", jain, **where), put("Jain, phase 3", 0.99, **where),
        *(put(mean, 100.0, **where) for mean, _ in queues), *(put(width, 100 * swing, **where) for _, width in queues),
    )  # fmt: skip


def _four_flows(factor: float) -> Change:
    return both(*(named(f"goodput with {n},", factor * PUBLISHED_BPS / n, "rcc") for n in (1, 2, 3, 4)))


def _incast(own: float, other: float) -> Change:
    return both(put("goodput", own * 1e9, scheme="rcc"), put("goodput", other * 1e9, scheme="hpcc"))


def _steady(rcc: float) -> Change:
    return both(put("steady queue", 1e6, scheme="hpcc"), put("steady queue", rcc * 1e6, scheme="rcc"))


def _peaks(at_line_rate: float, requested: float) -> Change:
    first = [put("peak queue", at_line_rate, scheme=one) for one in ("rcc", "hpcc")]
    return both(*first, put("peak queue", requested, scheme="rcc", start="request"))


def _two_flows(setting: str, one: float, other: float = 12.0, **numbers: float) -> Change:
    rates = [put(f"goodput of flow {flow}", rate * 1e9, setting=setting) for flow, rate in ((1, one), (2, other))]
    return both(*rates, *(put(name.replace("_", " "), value, setting=setting) for name, value in numbers.items()))


def _later(last_hop: float, network: float) -> Change:
    return both(_two_flows("last hop", last_hop, last_hop), _two_flows("in network", network, network))


def _ewa(ratio: float, queue: float) -> Change:
    where = {"scheme": "rcc-ewa"}
    rates = [put(f"goodput of flow {flow}, phase 3", rate, **where) for flow, rate in ((1, 4e10), (2, ratio * 4e10))]
    return both(*rates, *(put(f"queue in network, phase {phase}", queue * BDP_BYTES, **where) for phase in (2, 3)))


def _mean_fct(rcc: float, hpcc: float = 1.0) -> Change:
    return both(
        put("all mean", 1e6), put("all mean", hpcc * 1e6, scheme="hpcc"), put("all mean", rcc * 1e6, scheme="rcc")
    )


def _mean_and_tail(mean: float, tail: float) -> Change:
    return both(beside("all mean", "rcc", 1e6)(mean), beside("all p99", "rcc", 1e6)(tail))


EDGES: dict[str, list[Edge]] = {
    "ren-f3b-1": ends(_lost, (0.11, YES), (0.44, YES), (0.09, SOME), (0.46, SOME), (0.021, SOME), (0.019, NO)),
    "ren-f15c-2": [(_long_flows(1.1, 0.9, 1.3), YES), (_long_flows(1.1, 1.11, 1.11), NO),
                   (_long_flows(0.98, 0.9, 0.9), SOME)],
    "rcc-x-3": [(_forms(), YES), *((_forms(accumulating=flows), SOME) for flows in (2, 4, 8, 16)),
                *((_forms(accumulating=flows, pd=flows), NO) for flows in (2, 4, 8, 16))],
    "ren-f9a-1": ends(_queues_of_models, (5.01, YES), (4.99, SOME), (1.01, SOME), (0.99, NO)),
    "ren-f20-2": [(_fan_in(KEPT)(0.901, 4.9), YES), (_fan_in(KEPT)(0.901, 5.1), SOME), (_fan_in(KEPT)(0.899, 1), NO)],
    "ren-f20-a": [(_fan_in(NOT_KEPT)(0.901, 4.9), YES), (_fan_in(NOT_KEPT)(0.901, 5.1), SOME),
                  (_fan_in(NOT_KEPT)(0.899, 1), NO)],
    "ren-f21-1": ends(beside("utilisation", "ren", 0.9), (0.991, YES), (0.987, NO)),
    "ren-f21-2": [(_rounds(0.99, 0.61), YES), (_rounds(0.99, 0.59), SOME), (_rounds(1.01, 0.61), NO)],
    "ren-f21-a": ends(beside("utilisation", SLOW_TIMER, 0.9), (0.991, YES), (0.987, NO)),
    "ren-f22-1": [(_periods(1.19, 1.19), YES), (_periods(1.19, 1.21), SOME), (_periods(1.21, 1.19), NO)],
    "ren-f22-2": ends(_long_period, (1.21, YES), (1.19, SOME), (1.03, SOME), (1.01, NO)),
    "ren-f22-3": [(_short_period("AFCT")(0.981, 0.981), YES), (_short_period("AFCT")(0.979, 0.981), SOME),
                  (_short_period("AFCT")(0.979, 0.979), NO)],
    "ren-f22-a": [(_short_period("utilisation")(0.989, 0.989), YES), (_short_period("utilisation")(0.989, 0.991), NO)],
    "ren-f11a-1": ends(lambda share: both(put("occupancy", 0.2), put("occupancy", share, scheme="ren")),
                       (0.099, YES), (0.101, SOME), (0.21, NO)),
    "ren-f12-1": ends(beside("FCT", "ren", 1e8, size_bytes=60_000), (0.849, YES), (0.851, SOME), (0.999, SOME),
                      (1.001, NO)),
    "ren-f12-2": ends(beside("FCT", "ren", 1e8), (1.049, YES), (1.051, NO)),
    "rcc-f1-1": [(_off_max_min(10.1, 10.1), YES), (_off_max_min(10.1, 9.9), SOME), (_off_max_min(9.9, 9.9), NO)],
    "rcc-f1-2": [(_timely(0.969, 0), YES), (_timely(0.971, 0), NO), (_timely(0.99, 0.51), YES),
                 (_timely(0.99, 0.49), NO)],
    "rcc-f5-1": ends(_four_flows, (1.029, YES), (0.971, YES), (1.031, SOME), (0.969, SOME), (1.099, SOME),
                     (0.901, SOME), (1.101, NO), (0.899, NO)),
    "rcc-f5-2": ends(lambda jain: named("Jain with", jain, "rcc"), (0.991, YES), (0.989, NO)),
    "rcc-f6-1": [(_incast(92.1, 92.1), YES), (_incast(91.9, 91.9), NO), (_incast(95.9, 95.9), YES),
                 (_incast(96.1, 96.1), NO), (_incast(94, 98.6), YES), (_incast(94, 98.8), SOME),
                 (_incast(94, 89.4), YES), (_incast(94, 89.2), SOME)],
    "rcc-f7-1a": ends(_steady, (0.099, YES), (0.101, NO)),
    "rcc-f7-2": ends(lambda size: put("steady queue", size, scheme="hpcc"), (751e3, YES), (1049e3, YES), (749e3, NO),
                     (1051e3, NO)),
    "rcc-f7-2a": [(_peaks(9.01e6, 0.89e6), YES), (_peaks(8.99e6, 0.5e6), NO), (_peaks(9.01e6, 0.92e6), NO)],
    "rcc-f8-1": [(_two_flows("last hop", 11.51, 12.49, queue=4.9 * WIRE_BYTES), YES),
                 (_two_flows("last hop", 11.51, 12.49, queue=5.1 * WIRE_BYTES), SOME),
                 (_two_flows("last hop", 11.49), NO), (_two_flows("last hop", 12, 12.51), NO)],
    "rcc-f8-2": [(_two_flows("in network", 11.01, 12.49, swing_of_flow_1=0.099), YES),
                 (_two_flows("in network", 11.01, 12.49, swing_of_flow_1=0.101), SOME),
                 (_two_flows("in network", 12, queue=1.99e5, target_queue=1e5), YES),
                 (_two_flows("in network", 12, queue=2.01e5, target_queue=1e5), SOME),
                 (_two_flows("in network", 10.99), NO), (_two_flows("in network", 12, 12.51), NO)],
    "rcc-f8-2a": [(_later(11.41, 12.59), YES), (_later(11.39, 12), SOME), (_later(12, 12.61), SOME),
                  (_later(11.39, 12.61), NO)],
    "rcc-f14-2": [(_ewa(1.51, 0), YES), (_ewa(1 / 1.51, 0), YES), (_ewa(1.49, 0), NO), (_ewa(1, 0.41), YES),
                  (_ewa(1, 0.39), NO)],
    "rcc-v-2a": ends(lambda cost: put("cost of the judged", cost), (0.049, YES), (-0.049, YES), (0.051, NO),
                     (-0.051, NO)),
    "rcc-v-3a": ends(lambda cost: put("cost of the others", cost), (0.049, YES), (0.051, NO)),
    **{
        f"rcc-f9-{number}": [(_mean_fct(0.99), YES), (_mean_fct(0.99, 0.945), YES), (_mean_fct(0.99, 0.94), SOME),
                             (_mean_fct(1.01, 1.01), NO)]
        for number in (1, 2)
    },
    "rcc-f9-3": ends(_mean_fct, (0.999, YES), (1.001, NO)),
    "rcc-f9-4": ends(_mean_fct, (1.049, YES), (1.051, NO)),
    "rcc-f9-5a": ends(lambda least: put("least slowdown", least), (0.991, YES), (0.989, NO)),
    "rcc-x-1": [(_mean_fct(0.604), YES), (_mean_fct(0.606), SOME), (_mean_fct(0.5, 0.522), YES),
                (_mean_fct(0.5, 0.52), SOME), (_mean_fct(0.5, 0.499), NO)],
    "rcc-x-2": [(_mean_and_tail(0.899, 0.849), YES), (_mean_and_tail(0.901, 0.849), SOME),
                (_mean_and_tail(0.899, 0.851), SOME), (_mean_and_tail(1.001, 0.849), NO),
                (_mean_and_tail(0.899, 1.001), NO)],
    "rcc-f13-1": ends(beside("all mean", "rcc", 1e6), (0.999, YES), (1.001, NO)),
    "rcc-f13-2a": ends(beside("all mean", "rcc", 1e6), (0.999, YES), (1.001, NO)),
    "rcc-f13-3a": ends(beside("all p99", "rcc", 1e6), (0.999, YES), (1.001, NO)),
}  # fmt: skip
"""By id of the claim: changes of the stored table, and what must become of it."""
