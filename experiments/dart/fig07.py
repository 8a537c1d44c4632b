"""Dart, figure 7: the deflected flow table (DFT), by its handlers alone and in networks.

Setup: `rdmacc.experiments.dart.setup`. Also assumed: "order" has messages of up to 100 KB between random hosts of a fat
tree, enough to congest it in many places. To put the table under stress, all of them may be deflected, not just those
of up to 8 KB. "typical" is the evaluation's mix, without its warm-up: at quick scale on a small Clos with the same
oversubscription of 4 and long flows of 200 KB, so that some start in 0.5 ms, at paper scale on the evaluation's own.
Deflections, order, lanes and the entries in use are all read from the packet trace.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc import topology, workload
from rdmacc.experiments.dart.flow_table import (
    DEFLECTION,
    DRAWN,
    EXPECTED_STEPS,
    ROUTED,
    STEP,
    draw_steps,
    right_steps,
    walk,
)
from rdmacc.experiments.dart.known import known
from rdmacc.experiments.dart.paths import disorders, entries, hops, occupancy, visits
from rdmacc.experiments.dart.setup import BUFFER_PER_PORT, DELAY, PRESET, RATE, fat_tree
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Run
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.plotting.style import COLOURS, style
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import scalar, tidy, wide
from rdmacc.switch.deflection import ENTRIES, FlowDeflection
from rdmacc.units import ps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure7"]

_UP_TO_100_KB = PRESET["dart"].replace(**{"FlowDeflection.short_bytes": "100kB"})


def _networks(table: pd.DataFrame) -> pd.DataFrame:
    rows = wide(table)
    return rows[rows.index != "handlers"]


def _lookup(table: pd.DataFrame) -> Verdict:
    port = scalar(table, "handlers", "0xBC goes on, no queue: port")
    miss = scalar(table, "handlers", "0x5A goes on, long queue: port")
    words = "by its route" if miss == ROUTED else f"by port {miss:.0f}"
    return Verdict(f"0xBC leaves by port {port:.0f}, 0x5A {words}", port == DRAWN and miss == ROUTED)


def _rules(table: pd.DataFrame) -> Verdict:
    right = len(right_steps(table))
    most = _networks(table)["most entries in use"].max()
    measured = f"{right} of {len(EXPECTED_STEPS)} steps as stated; {most:.0f} entries of a switch in use at most"
    return Verdict(measured, right == len(EXPECTED_STEPS) and most <= ENTRIES)


_ENOUGH = 100_000


def _in_order(table: pd.DataFrame) -> Verdict:
    rows = _networks(table)
    wrong = int(rows["out of order"].sum() + rows["discarded bytes"].sum())
    deflected, split = rows["deflected packets"].sum(), int(rows["messages that went two ways"].sum())
    measured = f"{wrong} out of order and {split} messages that went two ways, of {deflected:,.0f} deflected packets"
    return Verdict(measured, wrong == split == 0 and deflected >= _ENOUGH)


def _tokens(table: pd.DataFrame) -> Verdict:
    most = _networks(table)["most deflections of a packet"].max()
    return Verdict(f"{most:.0f} at most", most <= 4)


def _before_ecn(table: pd.DataFrame) -> Verdict:
    deflects, marks = (scalar(table, "handlers", name) for name in ("deflection threshold", "ECN threshold"))
    return Verdict(f"{deflects / 1e3:g} kB, {marks / 1e3:g} kB", (deflects, marks) == (15e3, 22.5e3))


def _long_flows(table: pd.DataFrame) -> Verdict:
    rows = _networks(table)
    packets, wrong = rows["long flows' packets"].sum(), rows["long flows' deflections"].sum()
    return Verdict(f"{wrong:.0f} deflections of {packets:,.0f} packets", packets > 0 and wrong == 0)


def _no_deadlock(table: pd.DataFrame) -> Verdict:
    rows = _networks(table)
    stuck, back = rows["unfinished"].sum(), rows["steps back to a lane"].sum()
    pauses, lanes = rows["PFC pauses"].sum(), rows["lanes used"].max()
    measured = f"{stuck:.0f} messages stuck, {back:.0f} steps back in {lanes:.0f} lanes, {pauses:.0f} pauses by PFC"
    return Verdict(measured, stuck == back == 0)


def _occupied(table: pd.DataFrame) -> Verdict:
    rows = _networks(table)
    rows = rows[rows["load"].notna() & rows["entries, p99"].notna()]
    words = [
        f"{row['load']:.0%} load: median {row['entries, median']:.0f}, p99 {row['entries, p99']:.0f}, "
        f"4 to 8 for {row['entries, 4 or more']:.0%}, all 8 for {row['entries, full']:.1%}"
        for _, row in rows.iterrows()
    ]
    if rows.empty:
        return Verdict.not_judged("no entries")
    # A full table hides how many more there would be.
    high, full = rows["entries, p99"], rows["entries, full"]
    return Verdict("; ".join(words), bool(high.between(4, 8).all() and (full < 0.01).all()), bool((full < 0.05).all()))


@register_experiment
class Figure7(Experiment):
    """The table that every packet asks for its way, and what follows from its rules."""

    name = "dart.fig7"
    title = "Packet routing with DFT lookup"
    description = "Dart, figure 7: 8 entries send a deflected message's packets the same way, in order"
    seed_stride = 8
    claims = (
        Claim(
            id="dart-f7-1",
            place="IV-A",
            quantity="DFT lookup",
            condition="match id 0xBC",
            published="port 12",
            words="exact",
            judge=_lookup,
        ),
        Claim(
            id="dart-f7-2",
            place="IV-A",
            quantity="DFT rules",
            condition="8 entries, no overwrite, alloc on start, free on end",
            published="stated",
            words="exact",
            judge=_rules,
        ),
        Claim(
            id="dart-f7-3",
            place="IV-A",
            quantity="in-order delivery under IOFD",
            condition="any deflection pattern",
            published="no reordering, no false positive/negative",
            words="0 out-of-order packets in >= 1e5 deflected packets",
            judge=_in_order,
            **known("dart-f7-3"),
        ),
        Claim(
            id="dart-f7-4",
            place="IV-A, VI-A",
            quantity="max misroutes per packet",
            condition="4 tokens",
            published="<= 4",
            words="exact",
            judge=_tokens,
        ),
        Claim(
            id="dart-x-4",
            place="IV-A",
            quantity="overlapping deflected short flows per switch",
            condition="typical mix, <= 40% load",
            published="4 to 8",
            words="p99 of the entries in use 4 to 8, all 8 for less than 1%; direction: less than 5%",
            judge=_occupied,
            **known("dart-x-4"),
        ),
        Claim(
            id="dart-x-5",
            place="IV-B, VI-A",
            quantity="order of responses",
            condition="IOFD before ECN",
            published="deflection threshold 15 KB < ECN 22.5 KB",
            words="exact",
            judge=_before_ecn,
        ),
        Claim(
            id="dart-x-6",
            place="IV-B",
            quantity="long flows",
            condition="IOFD",
            published="never deflected (0 tokens)",
            words="0 deflections",
            judge=_long_flows,
        ),
        Claim(
            id="dart-x-7",
            place="IV-B",
            quantity="deadlock",
            condition="virtual lanes",
            published="none",
            words="no stalled packets; a lane that was left is never entered again",
            judge=_no_deadlock,
        ),
    )

    loads = (0.2, 0.4)

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        is_quick = check_scale(scale) == "quick"
        tree, count, runs = (4, 100, 1) if is_quick else (8, 1000, 8)
        duration, long = ("0.5ms", "200kB") if is_quick else ("1ms", "1MB")
        clos = (
            partial(topology.clos, 4, 2, 8, 2, 4, rate=RATE, delay=DELAY, buffer=10 * BUFFER_PER_PORT)
            if is_quick
            else topology.dart_clos
        )
        points = [Point(name="handlers")]
        for number in range(runs):
            scenario = Scenario(
                topology=fat_tree(tree), workload=partial(_random_messages, tree**3 // 4, count, seed + number),
                scheme=_UP_TO_100_KB, seed=seed + number, trace=True,
            )  # fmt: skip
            points.append(Point(name=f"order {number}", scenario=scenario))
        for load in self.loads:
            scenario = Scenario(
                topology=clos,
                workload=partial(_typical_mix, clos, load, duration, long, seed),
                scheme=PRESET["dart"],
                seed=seed,
                trace=True,
            )
            labels = {"load": load}
            points.append(Point(name=f"typical {load:.0%}", scenario=scenario, labels=labels, cost=1 + 10 * load))
        return points

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        return self._measure_handlers() if point.name == "handlers" else super().execute(point, run)

    def _measure_handlers(self) -> pd.DataFrame:
        numbers: dict[str, tuple[float, str]] = {}
        for event, port, used in walk():
            numbers |= {f"{event}: port": (port, ""), f"{event}: entries": (used, "")}
        numbers["deflection threshold"] = (DEFLECTION.threshold_bytes, "bytes")
        numbers["ECN threshold"] = (STEP.kmin_bytes, "bytes")
        return tidy("handlers", numbers)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        plan = result.plan
        passed = visits(result)
        paths = hops(passed)
        sizes = plan.size_bytes[paths.index.get_level_values("message")]
        deflection = next(part for part in plan.scheme.switch if isinstance(part, FlowDeflection))
        is_long = sizes > deflection.short_bytes
        # All packets of a message must leave a switch by the same port.
        ways = passed.groupby(["message", "node", "visit"])["port"].nunique()
        steps = passed.sort_values(["message", "psn", "sent_ps"]).groupby(["message", "psn"])["lane"].diff()
        used = entries(result, passed)
        in_use = occupancy(used)
        deflected = paths["deflections"] > 0
        numbers: dict[str, tuple[float, str]] = {
            "deflected packets": (int(deflected.sum()), ""),
            "deflected messages": (int(paths[deflected].index.get_level_values("message").nunique()), ""),
            "packets": (len(paths), ""),
            "out of order": (disorders(result), ""),
            "discarded bytes": (int(result.counters["discarded_bytes"]), "bytes"),
            "messages that went two ways": (int((ways > 1).sum()), ""),
            "most deflections of a packet": (int(paths["deflections"].max()), ""),
            "long flows' packets": (int(is_long.sum()), ""),
            "long flows' deflections": (int(paths["deflections"][is_long].sum()), ""),
            "steps back to a lane": (int((steps < 0).sum()), ""),
            "lanes used": (int(passed["lane"].nunique()), ""),
            "unfinished": (int((result.flows["status"] != "finished").sum()), ""),
            "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
            "most entries in use": (int(in_use.max(initial=0)), ""),
        }
        if len(in_use):
            numbers |= {
                "entries, median": (float(np.median(in_use)), ""),
                "entries, p99": (float(np.percentile(in_use, 99)), ""),
                "entries, 4 or more": (float((in_use >= 4).mean()), ""),
                "entries, full": (float((in_use == ENTRIES).mean()), ""),
            }
        for number in range(1, ENTRIES + 1):
            numbers[f"entries, {number}"] = (int((in_use == number).sum()), "")
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        rows = _networks(table)
        rows = rows[rows["load"].notna()]
        with style():
            figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(1.25, 1))
            draw_steps(left, table)
            numbers = np.arange(1, ENTRIES + 1)
            for shift, colour, (_, row) in zip((-0.2, 0.2), ("sky", "blue"), rows.iterrows(), strict=True):
                counts = np.array([row[f"entries, {number}"] for number in numbers])
                label = f"{row['load']:.0%} load"
                right.bar(
                    numbers + shift, 100 * counts / max(counts.sum(), 1), 0.38, color=COLOURS[colour], label=label
                )
            right.set(title="As entries are made, typical mix", xticks=numbers)
            right.set(xlabel="entries of the switch in use", ylabel="share of the entries made (%)")
            right.legend()
        return figure


def _random_messages(hosts: int, count: int, seed: int) -> pd.DataFrame:
    """Return messages of up to 100 KB between random hosts, as fast as three in four of them can send."""
    rng = workload.stream(seed, workload.PAIRS)
    size = rng.integers(1, 100_000, size=count, endpoint=True)
    window_ps = round(size.sum() * 8e12 / (0.75 * hosts * 10e9))
    src = rng.integers(hosts, size=count)
    dst = (src + rng.integers(1, hosts, size=count)) % hosts
    start = rng.integers(window_ps, size=count)
    rows = zip(src.tolist(), dst.tolist(), size.tolist(), start.tolist(), strict=True)
    return workload.messages([(f"h{one}", f"h{other}", length, ps(begin)) for one, other, length, begin in rows])


def _typical_mix(network: Any, load: float, duration: str, long: str, seed: int) -> pd.DataFrame:
    return workload.dart_mix(network(), load, "typical", duration=duration, long=long, seed=seed)
