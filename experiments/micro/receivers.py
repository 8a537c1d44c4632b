"""Micro-benchmarks of the receiver-driven schemes, with their registered defaults, on one common stage.

A leaf-spine network of 144 hosts (9 racks of 16, 4 spines; hosts at 100 Gb/s, uplinks at 400 Gb/s, 200 ns a link): web
search at 50% and 80% of the hosts' links, 2,000 messages, and an incast of 64 messages of 64 kB. At quick scale 16
hosts (4 racks of 4, 2 spines, uplinks at 200 Gb/s), 30 messages, and an incast of 8.

Slowdown is the completion time over that of the same message alone in the network, with the scheme's own packets. The
queue is the longest of all ports of switches, in data bytes. Goodput is of web search what one host receives on average
from the first start to the last completion, of the incast what the receiver does.

Assumed: switches with 2 MB a host; links' rate and delay, the incast's size.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd

from rdmacc import topology, workload
from rdmacc.experiments.base import Claim, Experiment, Point, Verdict, check_scale, register_experiment
from rdmacc.experiments.validation.flows import by_size, completion, percentiles, plot_by_size
from rdmacc.plotting.style import COLOURS, style
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import tidy, wide

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RECEIVERS", "ReceiverSchemes"]

RECEIVERS = ("expresspass", "expresspass-aeolus", "homa", "homa-aeolus", "ndp", "phost", "ren", "rcc")
LOADS = (50, 80)
INCAST_BYTES = 64_000
INCAST = "incast"


def _network(scale: str) -> nx.Graph[Any]:
    leaves, spines, each, uplink = (4, 2, 4, "200Gbps") if scale == "quick" else (9, 4, 16, "400Gbps")
    return topology.leaf_spine(
        leaves, spines, each, rate="100Gbps", spine_rate=uplink, delay="200ns", buffer=leaves * each * 2_000_000
    )


def _web_search(scale: str, load: int, seed: int) -> pd.DataFrame:
    count = 30 if scale == "quick" else 2000
    return workload.poisson(_network(scale), "web_search", load / 100, count=count, seed=seed)


def _incast(senders: int) -> pd.DataFrame:
    return workload.incast([f"h{i}" for i in range(1, senders + 1)], "h0", INCAST_BYTES)


def _all_finish(table: pd.DataFrame) -> Verdict:
    rows = wide(table)
    unfinished = int(rows["unfinished"].sum())
    return Verdict(f"{unfinished} messages not finished in {len(rows)} runs", unfinished == 0)


@register_experiment
class ReceiverSchemes(Experiment):
    """Web search at two loads and an incast, for each scheme."""

    name = "micro.receivers"
    title = "Receiver-driven schemes"
    description = "Micro-benchmarks: web search at 50% and 80% and an incast under every receiver-driven scheme"
    claims = (
        Claim(
            id="micro-receivers-1a", place="all schemes", quantity="messages not finished", condition="all runs",
            published="none", band="0", verdict=_all_finish,
        ),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        senders = 8 if check_scale(scale) == "quick" else 64
        cases = {f"web search, {load}%": partial(_web_search, scale, load, seed) for load in LOADS}
        cases[INCAST] = partial(_incast, senders)
        points = []
        for name in RECEIVERS:
            for case, work in cases.items():
                scenario = Scenario(topology=partial(_network, scale), workload=work, scheme=name, seed=seed)
                labels = {"scheme": name, "case": case, "senders": senders}
                cost = 1.0 if case == INCAST else 20.0
                points.append(Point(name=f"{name}, {case}", scenario=scenario, labels=labels, cost=cost))
        return points

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, ports = result.flows, result.ports
        slowdown = flows["slowdown"].to_numpy(np.float64)
        is_incast = point.labels["case"] == INCAST
        receivers = 1 if is_incast else int(result.plan.fabric.is_host.sum())
        span = (flows["start_ps"] + flows["fct_ps"]).max() - flows["start_ps"].min()
        numbers = {
            "queue, peak": (ports.loc[ports["link_class"] != "host_nic", "peak_queue_bytes"].max(), "bytes"),
            "goodput": (flows["size_bytes"].sum() * 8e12 / span / receivers, "bps"),
            "unfinished": (int((flows["status"] != "finished").sum()), ""),
            **percentiles("slowdown", slowdown, ""),
        }
        if not is_incast:
            numbers |= by_size("slowdown", slowdown, flows["size_bytes"], "")
        return tidy(point.name, numbers | completion(flows))

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        rows = wide(table)
        colours = dict(zip(RECEIVERS, COLOURS.values()))
        cases = list(rows["case"].unique())
        with style():
            figure, axes = plt.subplots(2, 3, figsize=(13, 7), layout="constrained")
            for axis, case in zip(axes[0, :2], cases):
                for name in RECEIVERS:
                    plot_by_size(axis, rows.loc[f"{name}, {case}"], "slowdown", color=colours[name], label=name)
                axis.set(title=case, ylabel="slowdown, p50 and p99 (dashed)")
            panels = (
                (axes[0, 2], "slowdown, p50", 1.0, "slowdown, p50 and p99", (INCAST,)),
                (axes[1, 0], "queue, peak", 1e3, "longest queue (kB)", cases),
                (axes[1, 1], "goodput", 1e9, "goodput of a host (Gb/s)", cases[:2]),
                (axes[1, 2], "goodput", 1e9, "goodput of the receiver (Gb/s)", (INCAST,)),
            )
            marks = dict(zip(cases, "os^"))
            for axis, quantity, scale, title, which in panels:
                for case in which:
                    here = rows[rows["case"] == case].set_index("scheme").loc[list(RECEIVERS)]
                    places, label = range(len(RECEIVERS)), "p50" if axis is axes[0, 2] else case
                    axis.plot(places, here[quantity] / scale, marks[case], color=COLOURS["blue"], label=label)
                    if quantity == "slowdown, p50":
                        axis.plot(places, here["slowdown, p99"], marks[case], color=COLOURS["vermilion"], label="p99")
                axis.set(ylabel=title, xticks=range(len(RECEIVERS)), ylim=(0, 1.3 * axis.dataLim.y1))
                axis.set_xticklabels(RECEIVERS, rotation=40, ha="right")
                if axis is not axes[1, 2]:
                    axis.legend(loc="upper right", ncols=3, fontsize=7)
            axes[0, 2].set_title(f"incast of {rows['senders'].iloc[0]:.0f}")
            figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(RECEIVERS))
            figure.suptitle(self.title)
        return figure
