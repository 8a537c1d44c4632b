"""Dart, figures 1 and 15: a second flow joins, and both have to find their half of the link.

Three servers and a switch, 10 Gb/s and 5 us (VI-D). The second flow starts 15 RTTs after the first. Schemes:
Dart; RCP with alpha = beta = 0.4; DCQCN and TIMELY as in the evaluation (VI-A). Assumed: flows have converged once
both rates stay within 10% of half the line (RCP's keep swinging by a few percent), and have reached it when they are
first within 5% of it; times count from the arrival of the second flow's first packet. NUMFabric's and
EyeQ's times, which the paper quotes too, are not simulated.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.experiments.base import Claim, Experiment, Point, Verdict, check_scale
from rdmacc.experiments.dart_setup import BUFFER_PER_PORT, DELAY, LINE_BPS, PACKET_PS, RATE, RECEIVER
from rdmacc.experiments.traces import first_within, settled, shown
from rdmacc.plotting.style import COLOURS, draw_trace, style
from rdmacc.presets.base import preset
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.schemes import Scheme, scheme
from rdmacc.sweep.tidy import curve, scalar, tidy
from rdmacc.units import us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure1", "Figure15"]

HALF_BPS = LINE_BPS / 2
RTT_PS = us(20) + 2 * PACKET_PS
"""Propagation, and a full packet on two links; results are in base RTTs, which have the ACK's time too."""
QUOTED = {"RCP": 60, "TIMELY": 50, "NUMFabric": 31, "EyeQ": 27.5}
"""RTTs to converge that the paper quotes (II-B), and EyeQ's 25 to 30 in their middle."""

_JOIN_PS = 15 * RTT_PS
_CONVERGED, _REACHED = 0.1, 0.05
_NAMES = {"dart": "Dart", "rcp": "RCP", "dcqcn": "DCQCN", "timely": "TIMELY"}


def _scheme(name: str) -> Scheme:
    return preset("dart-2020")[name] if name in ("dcqcn", "timely") else scheme(name)


def _points(names: tuple[str, ...], scale: str, seed: int) -> list[Point]:
    """Return a point for each scheme: one flow, then two."""
    rtts = 300 if check_scale(scale) == "quick" else 5000
    points = []
    for name in names:
        scenario = Scenario(
            topology=partial(topology.star, 3, rate=RATE, delay=DELAY, buffer=3 * BUFFER_PER_PORT),
            workload=workload.long_flows([("h1", RECEIVER), ("h2", RECEIVER)], start=[0, _JOIN_PS]),
            scheme=_scheme(name),
            until=_JOIN_PS + rtts * RTT_PS,
            seed=seed,
            probes=(
                *(probes.rate(flow) for flow in range(2)),
                *(probes.field("flow", flow, "received_packets") for flow in range(2)),
                probes.queue("s0", RECEIVER),
            ),
        )
        points.append(Point(name=name, scenario=scenario, labels={"scheme": name}))
    return points


def _measured(point: Point, result: Result) -> pd.DataFrame:
    rtt_ps = int(result.plan.qp_base_rtt_ps.max())
    rates = [result.samples(f"rate {flow}") for flow in range(2)]
    held = [result.samples(f"received_packets {flow}") for flow in range(2)]
    arrival_ps = int(held[1].index[held[1] > 0][0])
    numbers = {
        "base RTT": (rtt_ps, "ps"),
        "join": (arrival_ps, "ps"),
        "watched for": (result.now_ps - arrival_ps, "ps"),
        "converged": (_latest(settled(rate, arrival_ps, HALF_BPS, _CONVERGED) for rate in rates) - arrival_ps, "ps"),
        "reached": (_latest(first_within(rate, arrival_ps, HALF_BPS, _REACHED) for rate in rates) - arrival_ps, "ps"),
        "peak queue": (int(result.counters["peak_queue_bytes"]), "bytes"),
    }
    kept_ps = arrival_ps + 200 * rtt_ps
    curves = {}
    for flow, (rate, packets) in enumerate(zip(rates, held, strict=True), 1):
        curves[f"rate of flow {flow}"] = (shown(rate, 0, min(kept_ps, result.now_ps)), "bps")
        edges = np.arange(0, min(kept_ps, result.now_ps), 2 * rtt_ps)
        counts = packets.to_numpy()[np.searchsorted(packets.index, edges, side="right") - 1]
        payload = 8e12 * result.plan.scheme.payload_bytes
        throughput = pd.Series(np.diff(counts) * payload / (2 * rtt_ps), index=pd.Index(edges[1:], name="time_ps"))
        curves[f"throughput of flow {flow}"] = (throughput, "bps")
    return tidy(point.name, numbers, curves)


def _latest(times: Iterable[float]) -> float:
    return float(np.max([*times]))  # NaN if one of them is


def _rtts(table: pd.DataFrame, name: str, quantity: str = "converged") -> float:
    return scalar(table, name, quantity) / scalar(table, name, "base RTT")


def _words(table: pd.DataFrame, name: str) -> str:
    """Return how long a scheme took, or for how long it was watched."""
    rtts = _rtts(table, name)
    if not np.isnan(rtts):
        return f"{_NAMES[name]} {rtts:.1f} RTT"
    return f"{_NAMES[name]} not in {_rtts(table, name, 'watched for'):.0f} RTT"


def _at_least(table: pd.DataFrame, name: str) -> float:
    """Return a scheme's time to converge, or for how long it did not."""
    rtts = _rtts(table, name)
    return _rtts(table, name, "watched for") if np.isnan(rtts) else rtts


def _iterative(table: pd.DataFrame) -> Verdict:
    holds = _at_least(table, "rcp") >= 10 and _at_least(table, "timely") >= 15
    return Verdict(f"{_words(table, 'rcp')}, {_words(table, 'timely')}", holds)


def _fast(table: pd.DataFrame) -> Verdict:
    return Verdict(_words(table, "dart"), _rtts(table, "dart") <= 2)


def _order(table: pd.DataFrame) -> Verdict:
    own = max(_rtts(table, "dart"), 1.0)
    others = ("rcp", "timely", "dcqcn")
    measured = ", ".join(_words(table, name) for name in ("dart", *others))
    return Verdict(measured, all(_at_least(table, name) >= 5 * own for name in others))


def _rcp(table: pd.DataFrame) -> Verdict:
    reached, own = _rtts(table, "rcp", "reached"), _rtts(table, "dart", "reached")
    measured = f"{reached:.1f} RTT (Dart {own:.1f}); within 10% for good after {_rtts(table, 'rcp'):.1f}"
    return Verdict(measured, 10 <= reached <= 100 and reached > 5 * own)


def _pending(table: pd.DataFrame) -> Verdict:
    return Verdict("not measured", False)


class Figure1(Experiment):
    """Rates that senders infer step by step, and one that the receiver tells."""

    name = "dart.fig1"
    title = "Dart's fast, one-RTT convergence"
    description = "Dart, figure 1: from line rate to half of it, by RCP, TIMELY and DCQCN step by step, by Dart at once"
    claims = (
        Claim(
            id="dart-f1-1",
            place="II-B",
            quantity="RTTs to converge to 50% after a second flow",
            condition="RCP / TIMELY / NUMFabric / EyeQ",
            published="60 / 50 / 31 / 25-30 RTT",
            band="RCP >= 10 RTT, TIMELY >= 15 RTT; the others are quoted",
            verdict=_iterative,
        ),
        Claim(
            id="dart-f1-2",
            place="II-B, I",
            quantity="RTTs to converge",
            condition="Dart (DASR)",
            published="1 RTT",
            band="<= 2 RTT from arrival of the second flow's first packet at the receiver",
            verdict=_fast,
        ),
        Claim(
            id="dart-f1-3",
            place="II-B",
            quantity="order of convergence time",
            condition="Dart vs iterative schemes",
            published="Dart << DCQCN, TIMELY, RCP",
            band="Dart at least 5x faster (1 RTT at least counted for Dart)",
            verdict=_order,
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return _points(("dart", "rcp", "dcqcn", "timely"), scale, seed)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return _measured(point, result)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        looks = {"rcp": "vermilion", "timely": "green", "dcqcn": "orange", "dart": "blue"}
        with style():
            figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5.2), sharex=True, sharey=True)
            for name, colour in looks.items():
                ax = below if name == "dart" else above
                rate = curve(table, name, "rate of flow 1")
                rtt, join = scalar(table, name, "base RTT"), scalar(table, name, "join")
                draw_trace(ax, rate.index - join, rate, unit_ps=rtt, scale=LINE_BPS / 100, label=_NAMES[name],
                           color=COLOURS[colour])  # fmt: skip
            for name, rtts in QUOTED.items():
                above.plot(rtts, 50, "|", color="0.3", markersize=12)
                place = {"xytext": (0, -15 if name == "EyeQ" else 9), "textcoords": "offset points"}
                above.annotate(name, (rtts, 50), ha="center", fontsize=8, **place)
            for ax in (above, below):
                ax.axhline(50, color="0.5", linewidth=1, linestyle=":", zorder=0)
                ax.set(ylabel="sending rate (% of line)", ylim=(0, 108), xlim=(-5, 100))
                ax.legend(loc="upper right")
            above.set_title(f"Dart, figure 1: {self.title} (bars: convergence as quoted)")
            below.set_xlabel("time since the second flow's first packet arrives (RTTs)")
        return figure


class Figure15(Experiment):
    """Two flows under RCP and under Dart."""

    name = "dart.fig15"
    title = "Convergence time for RCP and Dart"
    description = "Dart, figure 15: the second of two flows joins; RCP takes tens of RTTs to 5 Gb/s each, Dart one"
    claims = (
        Claim(
            id="dart-f15-1",
            place="VI-D",
            quantity="RTTs for RCP to reach 5 Gb/s after the join",
            condition="2 flows, 10 Gb/s, 5 us links",
            published="about 60 RTT (15 to 75)",
            band="10-100 RTT, strictly > 5x Dart",
            verdict=_rcp,
        ),
        Claim(
            id="dart-f15-2",
            place="VI-D",
            quantity="RTTs for Dart",
            condition="same",
            published="1 RTT",
            band="<= 2 RTT",
            verdict=_fast,
        ),
        Claim(
            id="dart-x-1",
            place="VI-D",
            quantity="ExpressPass convergence",
            condition="dumbbell 2:2 / fat tree 10:1",
            published="4 RTT / 20 RTT",
            band="10:1 slower than 2:2",
            verdict=_pending,
            expected={"quick": None, "paper": None},
            reason="Pending: ExpressPass is not there yet.",
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return _points(("rcp", "dart"), scale, seed)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return _measured(point, result)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
            for ax, name, panel in zip(axes, ("rcp", "dart"), "ab", strict=True):
                rtt = scalar(table, name, "base RTT")
                for flow, colour, line in ((1, "blue", "-"), (2, "vermilion", "--")):
                    throughput = curve(table, name, f"throughput of flow {flow}")
                    ax.plot((throughput.index - rtt) / rtt, throughput / 1e9, line, color=COLOURS[colour],
                            label=f"flow {flow}")  # fmt: skip
                join = scalar(table, name, "join") / rtt
                ax.axvline(join, color="0.6", linewidth=1, linestyle=":")
                ax.set(title=f"({panel}) {_NAMES[name]}", xlabel="time (RTTs)", xlim=(0, 100), ylim=(0, 10.5))
            axes[0].set_ylabel("throughput (Gb/s)")
            axes[0].legend(loc="upper right")
            figure.suptitle(f"Dart, figure 15: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
