"""REN, figure 21: incasts in closed loops, by the number of servers.

Leaf-spine, three leaves, with section 6's links. M hosts under each of the first two leaves are servers; two hosts
under the third are clients. The paper lets each client ask "M servers under the first two leaf switches": assumed, one
client asks all servers of the first leaf, the other one those of the second. Each server answers with 100 MB / M in one
flow; a client asks again when it has all answers. Assumed: a request has 100 bytes. The paper repeats it 100 times; at
paper scale each client asks once in each of three runs, which hardly differ; the quick scale asks for 2 MB, twice.

REN also runs with a timer of 100 us for losses, with one seed: the preset's 50 us are not far above the 37 us that a
round trip through one full buffer takes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc import topology, workload
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Seeding
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.ren.known import known
from rdmacc.experiments.ren.setup import (
    LOOKS,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    SEEDS,
    SIMULATED,
    SIMULATED_LINE_BPS,
)
from rdmacc.plotting.style import style
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import tidy, wide
from rdmacc.units import MB, ms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure21"]

SLOW_TIMER = "ren, timer 100 us"
_SCHEMES = ("phost", "homa", "ndp", "ren")
_BESIDE = ("traditional", SLOW_TIMER)
_REQUEST = "100B"
_CLIENTS = 2


def _rounds(servers: int, total_bytes: int, rounds: int) -> pd.DataFrame:
    loops = [
        workload.partition_aggregate(
            f"h{2 * servers + client}", [f"h{client * servers + i}" for i in range(servers)], _REQUEST,
            total_bytes // servers, rounds=rounds, group=client * rounds,
        )
        for client in range(_CLIENTS)
    ]  # fmt: skip
    return workload.combine(*loops)


def _label(name: str) -> str:
    return "REN, timer of 100 µs" if name == SLOW_TIMER else LOOKS[name][0]


def _means(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    return wide(table).pivot_table(index="servers", columns="scheme", values=quantity)


def _uses(table: pd.DataFrame) -> Verdict:
    use = _means(table, "utilisation")
    others = use[["phost", "homa", "ndp"]].max(axis=1)
    words = "; ".join(f"{_label(name)} {', '.join(f'{v:.0%}' for v in use[name])}" for name in _SCHEMES)
    return Verdict(words, bool((use["ren"] >= others - 0.01).all()))


def _fastest(table: pd.DataFrame) -> Verdict:
    time, use = _means(table, "RCT") / 1e9, _means(table, "utilisation")
    words = "; ".join(f"{_label(name)} {', '.join(f'{v:.2f}' for v in time[name])} ms" for name in _SCHEMES)
    least = bool((time["ren"] <= time[["phost", "homa", "ndp"]].min(axis=1)).all())
    collapsed = [f"{_label(name)} {use[name].min():.0%}" for name in _SCHEMES if use[name].min() < 0.6]
    measured = f"{words}; below 60% of the link: {', '.join(collapsed) or 'none'}"
    return Verdict(measured, least and not collapsed, least)


def _bound(table: pd.DataFrame) -> Verdict:
    rows = wide(table)
    least = rows["total_bytes"] * 8e12 / SIMULATED_LINE_BPS
    ratio = (rows["fastest round"] / least).min()
    measured = (
        f"the fastest round takes {ratio:.3f} of what the link needs for the payload, {least.iloc[0] / 1e9:.2f} ms"
    )
    return Verdict(measured, ratio >= 1 and rows["unfinished"].max() == 0)


def _timer(table: pd.DataFrame) -> Verdict:
    use = _means(table, "utilisation")
    words = "; ".join(
        f"{_label(name)} {', '.join(f'{v:.0%}' for v in use[name])}" for name in (SLOW_TIMER, "ndp", "ren")
    )
    return Verdict(words, bool((use[SLOW_TIMER] >= use["ndp"] - 0.01).all()))


@register_experiment
class Figure21(Experiment):
    """Use of the clients' links, and request completion times."""

    name = "ren.fig21"
    title = "Incast performance"
    description = "REN, figure 21: two clients ask 50 to 200 servers each for 100 MB, again and again"
    seeding = Seeding.POOLED
    claims = (
        Claim(
            id="ren-f21-1",
            place="6.3",
            quantity="link utilisation",
            condition="50 to 200 servers",
            published="REN's the highest",
            words="at most a point below any other",
            judge=_uses,
            **known("ren-f21-1"),
        ),
        Claim(
            id="ren-f21-2",
            place="6.3",
            quantity="request completion time",
            condition="50 to 200 servers",
            published="REN's the lowest; none collapses",
            words="lowest at every number; all use at least 60% of the link; direction: lowest",
            judge=_fastest,
            **known("ren-f21-2"),
        ),
        Claim(
            id="ren-f21-3",
            place="6.3",
            quantity="request completion time",
            condition="100 MB to a client, 40 Gb/s",
            published="(follows: at least 20 ms)",
            words="no round is faster than its payload on the link, and all end",
            judge=_bound,
        ),
        Claim(
            id="ren-f21-a",
            place="6.3",
            quantity="link utilisation",
            condition="REN with a timer of 100 us for losses, assumed, against NDP",
            published="(REN's the highest)",
            words="at most a point below NDP's",
            judge=_timer,
            **known("ren-f21-a"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        is_quick = check_scale(scale) == "quick"
        servers, total, rounds = ((20,), MB(2), 2) if is_quick else ((50, 100, 150, 200), MB(100), 1)
        points = []
        for name in (*_SCHEMES, *_BESIDE):
            scheme = SIMULATED["ren" if name == SLOW_TIMER else name]
            if name == SLOW_TIMER:
                scheme = scheme.replace(**{"GrantClock.least_timeout_ps": "100us"})
            for count in servers:
                for one in range(seed, seed + (1 if name in _BESIDE else SEEDS[scale])):
                    scenario = Scenario(
                        topology=partial(topology.ren_leaf_spine, hosts_per_leaf=count, leaves=3),
                        workload=partial(_rounds, count, total, rounds),
                        scheme=scheme,
                        until=ms(200 * rounds),
                        seed=one,
                    )
                    labels = {"scheme": name, "servers": count, "total_bytes": total, "seed": one}
                    points.append(
                        Point(name=f"{name}, {count} servers, seed {one}", scenario=scenario, labels=labels, cost=count)
                    )
        return points

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        answers = result.flows[result.flows["group"].notna()]
        group = answers["group"].astype(int)
        ends = (answers["start_ps"] + answers["fct_ps"].astype(np.float64)).groupby(group).max()
        # Requests start a round: the first of a client at 0, then when the round before is complete.
        rounds = len(ends) // _CLIENTS
        starts = pd.Series(
            [0.0 if number % rounds == 0 else ends.iloc[number - 1] for number in range(len(ends))], ends.index
        )
        times = ends - starts
        wire_ps = point.labels["total_bytes"] * PACKET_BYTES / PAYLOAD_BYTES * 8e12 / SIMULATED_LINE_BPS
        numbers = {
            "RCT": (float(times.mean()), "ps"),
            "fastest round": (float(times.min()), "ps"),
            "slowest round": (float(times.max()), "ps"),
            "utilisation": (float(wire_ps / times.mean()), ""),
            "unfinished": (int((result.flows["status"] != "finished").sum()), ""),
            "drops": (int(result.counters["dropped_packets"]), "packets"),
            "timeouts": (int(result.counters["timeouts"]), ""),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        rows = wide(table)
        with style():
            figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
            for ax, quantity, factor in zip(axes, ("utilisation", "RCT"), (100, 1e-9), strict=True):
                for name in (*_SCHEMES, *_BESIDE):
                    _, colour, marker = LOOKS["ren" if name == SLOW_TIMER else name]
                    found = rows[rows["scheme"] == name].groupby("servers")[quantity]
                    mean = found.mean() * factor
                    line = "--" if name in _BESIDE else "-"
                    face = "white" if name in _BESIDE else colour
                    ax.plot(
                        mean.index,
                        mean,
                        marker + line,
                        color=colour,
                        markerfacecolor=face,
                        label=_label(name),
                        markersize=5,
                    )
                    ax.fill_between(mean.index, found.min() * factor, found.max() * factor, color=colour, alpha=0.2)
                ax.set(xlabel="servers of a client", xticks=sorted(rows["servers"].unique()))
            least_ms = rows["total_bytes"].iloc[0] * 8e3 / SIMULATED_LINE_BPS
            axes[1].axhline(least_ms, color="0.5", linestyle=":", linewidth=1, label="payload on the link")
            axes[0].set(title="(a) use of the client's link", ylabel="utilisation (%)", ylim=(0, 104))
            axes[1].set(title="(b) average request completion time", ylabel="RCT (ms)")
            axes[1].set_ylim(bottom=0)
            axes[1].legend(fontsize=8)
            figure.suptitle(f"REN, figure 21: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
