"""RCC, figure 14: what explicit windows and the PID each do, with two bottlenecks.

Setup and assumptions: `rdmacc.experiments.rcc.multi_bottleneck`. Flows start at 0, 200 and 300 ms (V-E-3); the run ends
at 400 ms. At quick scale fifty times as fast. Crosses are RCC's own verdicts on where congestion is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.rcc.known import known
from rdmacc.experiments.rcc.multi_bottleneck import (
    FLOWS,
    draw_goodput,
    draw_types,
    measure_flows,
    point_for,
    point_name,
)
from rdmacc.experiments.rcc.setup import BDP_BYTES, GOODPUT_BPS, LOOKS, PAYLOAD_BYTES, TARGET_QUEUE_BYTES, WIRE_BYTES
from rdmacc.plotting.style import COLOURS, style
from rdmacc.results.result import Result
from rdmacc.sweep.tidy import curve, scalar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure14"]

SCHEMES = ("rcc-pid", "rcc-ewa", "rcc")


def _number(table: pd.DataFrame, scheme: str, quantity: str) -> float:
    return scalar(table, point_name(table, scheme), quantity)


def _rates(table: pd.DataFrame, scheme: str, phase: int) -> list[float]:
    """Return the goodput of each flow of a phase, bit/s."""
    return [_number(table, scheme, f"goodput of flow {flow}, phase {phase}") for flow in range(1, phase + 1)]


def _in_gbps(rates: list[float]) -> str:
    return " / ".join(f"{rate / 1e9:.1f}" for rate in rates)


def _settling(table: pd.DataFrame, scheme: str) -> list[float]:
    """Return RTTs until all paces have come within 5% of their later means, after flows 2 and 3."""
    rtt = _number(table, scheme, "base RTT")
    return [_number(table, scheme, f"settling, phase {phase}") / rtt for phase in (2, 3)]


def _iterations(table: pd.DataFrame) -> Verdict:
    pid, both = _settling(table, "rcc-pid"), _settling(table, "rcc")
    measured = f"RCC-PID {pid[0]:.0f} and {pid[1]:.0f} RTT after flows 2 and 3; RCC {both[0]:.0f} and {both[1]:.0f}"
    slow = [not value < 3 for value in pid]  # NaN: never
    return Verdict(measured, all(slow), any(slow))


def _unfair(table: pd.DataFrame) -> Verdict:
    rates = _rates(table, "rcc-ewa", 3)
    queues = [_number(table, "rcc-ewa", f"queue in network, phase {phase}") for phase in (2, 3)]
    ratio = rates[1] / rates[0]
    measured = (
        f"{_in_gbps(rates)} Gb/s, flow 2 to flow 1 {ratio:.2f}; queue in the network {queues[0] / 1e3:.0f} kB with two"
        f" flows, {queues[1] / 1e3:.0f} kB with three"
    )
    return Verdict(measured, max(ratio, 1 / ratio) >= 1.5 or min(queues) >= 0.4 * BDP_BYTES)


def _as_windows_say(table: pd.DataFrame) -> Verdict:
    bdp = _number(table, "rcc-ewa", "base RTT") * 100e9 / 8e12
    windows = bdp * WIRE_BYTES / PAYLOAD_BYTES  # windows count payload
    expected = [2 * windows - bdp, 1.5 * windows - bdp]
    found = [_number(table, "rcc-ewa", f"queue in network, phase {phase}") for phase in (2, 3)]
    rates = _rates(table, "rcc-ewa", 3)
    ratio = rates[1] / rates[0]
    off = max(abs(one / other - 1) for one, other in zip(found, expected, strict=True))
    measured = (
        f"{found[0] / 1e3:.1f} and {found[1] / 1e3:.1f} kB, by windows {expected[0] / 1e3:.1f} and"
        f" {expected[1] / 1e3:.1f}; flow 2 to flow 1 {ratio:.2f}"
    )
    return Verdict(measured, off <= 0.05 and abs(ratio / 2 - 1) <= 0.08)


def _right(table: pd.DataFrame, scheme: str) -> tuple[float, float]:
    """Return for how long right and wrong verdicts stood, all flows together, in ps."""
    right, wrong = (
        sum(_number(table, scheme, f"{word}, flow {flow}") for flow in FLOWS) for word in ("right", "wrong")
    )
    return right, wrong


def _near_zero(table: pd.DataFrame) -> Verdict:
    queues = [
        _number(table, "rcc", f"queue {place}, phase {phase}")
        for phase in (1, 2, 3)
        for place in ("in network", "last hop")
    ]
    right, wrong = _right(table, "rcc")
    three = _rates(table, "rcc", 3)
    measured = (
        f"queues of {max(queues) / 1e3:.1f} kB at most on average (target {TARGET_QUEUE_BYTES / 1e3:.0f} kB); verdicts"
        f" right {right / max(right + wrong, 1):.0%} of their time; {_in_gbps(_rates(table, 'rcc', 2))}, then"
        f" {_in_gbps(three)} Gb/s"
    )
    is_low = max(queues) <= 2 * TARGET_QUEUE_BYTES
    return Verdict(measured, is_low and right > 0 and right >= 0.9 * (right + wrong), is_low)


def _correct_rates(table: pd.DataFrame) -> Verdict:
    off = max(
        abs(rate / (GOODPUT_BPS / (2 if phase > 1 else 1)) - 1)
        for phase in (1, 2, 3)
        for rate in _rates(table, "rcc", phase)
    )
    measured = f"{_in_gbps(_rates(table, 'rcc', 2))}, then {_in_gbps(_rates(table, 'rcc', 3))} Gb/s: {off:.0%} off"
    return Verdict(measured, off <= 0.1, off <= 0.25)


def _all_right(table: pd.DataFrame) -> Verdict:
    shares = {}
    for scheme in SCHEMES:
        right, wrong = _right(table, scheme)
        shares[scheme] = right / max(right + wrong, 1.0)
    measured = ", ".join(f"{LOOKS[scheme][0]} {share:.1%}" for scheme, share in shares.items())
    return Verdict(
        f"verdicts right for {measured} of their time", min(shares.values()) >= 0.9, min(shares.values()) > 0.5
    )


@register_experiment
class Figure14(Experiment):
    """Explicit windows and the PID, alone and together, with two bottlenecks."""

    name = "rcc.fig14"
    title = "RCC deep dive with multi-bottleneck topology"
    description = "RCC, figure 14: RCC, RCC-PID and RCC-EWA with two bottlenecks, and the congestion that they detect"
    claims = (
        Claim(
            id="rcc-f14-1",
            place="V-E-3, figure 14a",
            quantity="time to the proper rate",
            condition="RCC-PID, after each change",
            published="several iterations",
            words="3 RTTs or more until all paces are within 5% of their later means; direction: after one change",
            judge=_iterations,
            **known("rcc-f14-1"),
        ),
        Claim(
            id="rcc-f14-2",
            place="V-E-3, figure 14b, d",
            quantity="shares of flows 1 and 2, queue",
            condition="RCC-EWA",
            published="unfair, large queue",
            words="ratio 1.5 or more, or queue of 0.4 BDP or more",
            judge=_unfair,
            **known("rcc-f14-2"),
        ),
        Claim(
            id="rcc-f14-2a",
            place="(follows from III-D)",
            quantity="queue in the network, shares",
            condition="RCC-EWA",
            published="(2, then 1.5 windows of a BDP on one link)",
            words="queues within 5%, ratio of 2 within 8%",
            judge=_as_windows_say,
            **known("rcc-f14-2a"),
        ),
        Claim(
            id="rcc-f14-3",
            place="V-E-3, figure 14c, d",
            quantity="queues and verdicts",
            condition="RCC",
            published="near-zero queue, types as constructed",
            words="mean queues <= 2x target, 90% or more of the verdicts right",
            judge=_near_zero,
            **known("rcc-f14-3"),
        ),
        Claim(
            id="rcc-f14-3a",
            place="V-E-3, figure 14c",
            quantity="rates",
            condition="RCC",
            published="handles both kinds of congestion perfectly",
            words="goodput within 10% of max-min in every phase; direction: within 25%",
            judge=_correct_rates,
            **known("rcc-f14-3a"),
        ),
        Claim(
            id="rcc-f14-3b",
            place="V-E-3, figure 14a to c",
            quantity="verdicts",
            condition="RCC-PID, RCC-EWA, RCC",
            published="as constructed",
            words="90% or more right in each; direction: more right than wrong",
            judge=_all_right,
            **known("rcc-f14-3b"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        check_scale(scale)
        return [point_for(name, scale, seed, (0, 200, 300), 400, quick=50) for name in SCHEMES]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_flows(point, result)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, axes = plt.subplots(2, 2, figsize=(11, 6.4), sharex=True)
            for ax, scheme, letter in zip(axes.flat, SCHEMES, "abc", strict=False):
                point = point_name(table, scheme)
                draw_goodput(ax, table, point)
                draw_types(ax, table, point)
                ax.set_title(f"({letter}) {LOOKS[scheme][0]}")
            axes[0, 0].legend(ncols=3, loc="lower left", fontsize=8)
            below = axes[1, 1]
            for scheme in SCHEMES:
                name, colour = LOOKS[scheme]
                for place, look in (("in network", "-"), ("last hop", ":")):
                    queue = curve(table, point_name(table, scheme), f"queue {place}")
                    below.plot(queue.index / 1e9, queue / 1e3, look, color=COLOURS[colour], linewidth=1.2,
                               label=f"{name}, {place}")  # fmt: skip
            below.set(title="(d) queues, means", xlabel="time (ms)", ylabel="queue (kB)")
            below.set_ylim(bottom=0)
            below.legend(fontsize=7, ncols=1, loc="upper left")
            figure.suptitle(
                f"RCC, figure 14: {self.title}\n(crosses: congestion as each flow's receiver judged it; dotted: max-min"
                " shares)", x=0.01, ha="left", fontsize=11,
            )  # fmt: skip
        return figure
