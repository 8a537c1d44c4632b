"""REN, figure 10: the stages of a switch's port, drawn from the simulated one.

The paper's switch is a DPDK program of three modules: receiving, marking, transmitting, with a logical queue for each
port that drops above a threshold. Nothing of DPDK is here. A port of the simulator has the same three stages; that
they work as the paper says is checked on the packets of figure 3's bursts, followed one by one through a switch.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx
import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.bursts import burst_point
from rdmacc.experiments.ren.setup import BUFFER_BYTES, BUFFER_PACKETS, PACKET_BYTES, RTT_PS, TESTBED
from rdmacc.plotting.style import COLOURS, style
from rdmacc.results.result import Result
from rdmacc.sweep.tidy import scalar, tidy
from rdmacc.units import ms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure10"]

POINT = "port"
_END = ms(3)


def _stages(table: pd.DataFrame) -> Verdict:
    came, left, dropped, waiting = (
        scalar(table, POINT, name) for name in ("received", "transmitted", "dropped", "waiting")
    )
    early = scalar(table, POINT, "transmitted before received")
    measured = (
        f"{came:.0f} packets received: {left:.0f} transmitted, {dropped:.0f} dropped, {waiting:.0f} waiting;"
        f" {early:.0f} out of turn"
    )
    return Verdict(measured, came == left + dropped + waiting and early == 0 and left > 0)


def _threshold(table: pd.DataFrame) -> Verdict:
    peak, least = scalar(table, POINT, "peak queue"), scalar(table, POINT, "shortest queue that dropped")
    measured = f"longest queue {peak:.0f} bytes of {BUFFER_BYTES}; the shortest that dropped a packet {least:.0f}"
    return Verdict(measured, peak <= BUFFER_BYTES < least + PACKET_BYTES and scalar(table, POINT, "dropped") > 0)


def _base_rtt(table: pd.DataFrame) -> Verdict:
    way, links = scalar(table, POINT, "propagation, there and back"), scalar(table, POINT, "links, there and back")
    return Verdict(f"{links:.0f} x {way / links / 1e6:g} us = {way / 1e6:g} us", way == RTT_PS and links == 6)


@register_experiment
class Figure10(Experiment):
    """A port's three stages, and a burst that goes through them."""

    name = "ren.fig10"
    title = "REN's DPDK implementation, and the simulator's port"
    description = "REN, figure 10: receiving, marking, transmitting; a module diagram, no DPDK"
    claims = (
        Claim(
            id="ren-f3-s",
            place="5.2",
            quantity="base RTT of the testbed",
            condition="three links of 8 us, there and back",
            published="48 us",
            words="exact, by the links that f0 passes",
            judge=_base_rtt,
        ),
        Claim(
            id="ren-f10-a",
            place="5.1",
            quantity="packets through the stages of S0's port",
            condition="two bursts, 64 KB",
            published="received, then marked, then transmitted",
            words="every packet received is transmitted later, dropped, or still waits",
            judge=_stages,
        ),
        Claim(
            id="ren-f10-b",
            place="5.1",
            quantity="drops",
            condition="two bursts, 64 KB",
            published="arrivals are dropped if the logical queue is larger than the threshold",
            words="the queue never exceeds it; packets are dropped only where they would make it",
            judge=_threshold,
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        burst = burst_point("ren", 2, "quick", seed)
        assert burst.scenario is not None
        return [
            replace(burst, name=POINT, scenario=replace(burst.scenario, until=_END, trace=True, probes=(), faults=()))
        ]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        trace = result.packet_trace
        assert trace is not None
        data = trace[trace["kind"] == "data"]
        came = data[(data["peer"] == "s0") & (data["what"] == "arrived")]
        at_port = data[(data["node"] == "s0") & (data["peer"] == "s1")]
        left, dropped = (at_port[at_port["what"] == what] for what in ("sent", "dropped"))
        pairs = came.merge(left, on=["message", "psn"], suffixes=("_in", "_out"))
        # A packet sent again counts once here: what matters is the order of a packet's first two events.
        first = pairs.groupby(["message", "psn"])[["time_ps_in", "time_ps_out"]].min()
        steps = pd.concat([
            came.assign(change=came["wire_bytes"]), left.assign(change=-left["wire_bytes"]),
            dropped.assign(change=-dropped["wire_bytes"]),
        ]).sort_index()  # fmt: skip
        queue = steps["change"].cumsum()
        behind = queue[steps["what"] == "dropped"]
        assert point.scenario is not None
        graph = point.scenario.network()
        path = nx.shortest_path(graph, *result.flows.loc[0, ["src", "dst"]])
        delays = [graph.edges[link]["delay_ps"] for link in pairwise(path)]
        numbers = {
            "propagation, there and back": (2 * sum(delays), "ps"),
            "links, there and back": (2 * len(delays), ""),
            "received": (len(came), "packets"),
            "transmitted": (len(left), "packets"),
            "dropped": (len(dropped), "packets"),
            "waiting": (int(queue.iloc[-1]) // PACKET_BYTES, "packets"),
            "transmitted before received": (int((first["time_ps_out"] < first["time_ps_in"]).sum()), "packets"),
            "peak queue": (int(queue[steps["what"] != "arrived"].max()), "bytes"),
            "shortest queue that dropped": (float(behind.min()), "bytes"),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt
        from matplotlib.patches import Rectangle

        marker = type(TESTBED["ren"].switch[0]).__name__
        came, left, dropped = (scalar(table, POINT, name) for name in ("received", "transmitted", "dropped"))
        stages = (
            ("receiving", f"route, then DropTail:\nup to {BUFFER_PACKETS:.1f} packets\n{marker}.on_enqueue", "blue"),
            (
                "marking",
                f"{marker}.on_period_timer:\nqueue against idle time\n{marker}.on_dequeue:\ntwo bits",
                "orange",
            ),
            ("transmitting", "strict priorities,\ngrants first; the link", "green"),
        )
        with style():
            figure, ax = plt.subplots(figsize=(10, 3.4))
            for number, (title, words, colour) in enumerate(stages):
                x = 1.25 * number
                ax.add_patch(Rectangle((x, 0.2), 1, 0.6, facecolor="none", edgecolor=COLOURS[colour], linewidth=2))
                ax.text(x + 0.5, 0.7, title, ha="center", weight="bold")
                ax.text(x + 0.5, 0.42, words, ha="center", va="center", fontsize=9, family="monospace")
                if number:
                    ax.annotate("", (x, 0.5), (x - 0.25, 0.5), arrowprops={"arrowstyle": "->"})
            ax.annotate(f"{came:.0f} packets", (0, 0.5), (-0.55, 0.5), arrowprops={"arrowstyle": "->"}, va="center")
            ax.annotate("", (0.5, 0.02), (0.5, 0.2), arrowprops={"arrowstyle": "->"})
            ax.annotate("", (3.75, 0.5), (3.5, 0.5), arrowprops={"arrowstyle": "->"})
            ax.text(3.78, 0.5, f"{left:.0f}", va="center")
            ax.text(0.55, 0.08, f"{dropped:.0f} dropped", fontsize=9)
            ax.set(xlim=(-0.6, 4.0), ylim=(-0.02, 0.95), title=f"REN, figure 10: {self.title}")
            ax.axis("off")
        return figure
