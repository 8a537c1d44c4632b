"""RCC's PID, read in different ways: equation (4) with and without its memory, and what "RTT" means.

Setup and assumptions: `rdmacc.experiments.rcc.loops`; 2 to 16 flows through one link. Equation (4) is run as printed
and without u(t - 1), with an update in each current RTT, as in the fluid model, or in each base RTT, as table I's timer
has it. *One way*: the paper measures one-way delays (III-B), yet its 12 us and 13.2 us are round trips of its network.
With one-way values, 6 us and 6.6 us, a queue is late and on target at half the length: the same as half of delta.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Seeding
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.rcc.known import known
from rdmacc.experiments.rcc.loops import FORMS, OSCILLATES, loop_scenario, measure_queue
from rdmacc.experiments.rcc.setup import DELTA, PAYLOAD_BYTES, jain
from rdmacc.plotting.style import COLOURS, style
from rdmacc.results.result import Result
from rdmacc.sweep.tidy import scalar, tidy
from rdmacc.units import ms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Readings"]

_FLOWS = {"quick": (2, 4), "paper": (2, 4, 8, 16)}
_LASTS_PS = {"quick": ms(3), "paper": ms(10)}
PERIODS = {"rtt": "in each RTT", "base-rtt": "in each base RTT"}
_LOOKS = {
    ("accumulating", "rtt"): ("vermilion", "o-"), ("accumulating", "base-rtt"): ("orange", "o--"),
    ("pd", "rtt"): ("sky", "s-"), ("pd", "base-rtt"): ("blue", "s--"),
}  # fmt: skip


def _point(flows: int, form: str, period: str, delta: float = DELTA) -> str:
    return f"{flows} flows, {form}, {period}" + (", one way" if delta != DELTA else "")


def _numbers(table: pd.DataFrame, form: str, period: str, quantity: str) -> pd.Series:
    """Return a number by the number of flows."""
    counts = sorted(table["flows"].unique())
    return pd.Series({int(n): scalar(table, _point(int(n), form, period), quantity) for n in counts})


def _works(table: pd.DataFrame, form: str, period: str) -> pd.Series:
    """Return, by the number of flows, whether windows come out equal, the link is used and the queue does not grow."""
    index, use, queue = (_numbers(table, form, period, name) for name in ("Jain", "use", "mean queue"))
    return (index >= 0.95) & (use >= 0.9) & (queue <= 2.0)


def _fixed_point(table: pd.DataFrame) -> Verdict:
    words = []
    for form, period in product(FORMS, PERIODS):
        index, use = (_numbers(table, form, period, name) for name in ("Jain", "use"))
        words.append(f"{form}, {period}: Jain {index.min():.2f}, use {use.min():.0%} at least")
    printed = [_works(table, "accumulating", period) for period in PERIODS]
    shown = [_works(table, "pd", period) for period in PERIODS]
    calm = _numbers(table, "accumulating", "rtt", "swing").max() < OSCILLATES
    holds = any(bool(one.all()) for one in printed) and calm
    return Verdict("; ".join(words), holds, any(bool(one.all()) for one in shown))


def _more_flows(table: pd.DataFrame) -> Verdict:
    words, broken = [], []
    for period in PERIODS:
        found = {name: _numbers(table, "accumulating", period, name) for name in ("Jain", "use", "mean queue")}
        many = [n for n in found["Jain"].index if n >= 4]
        broken += [not works for works in _works(table, "accumulating", period)[many]]
        words += [
            f"{n} flows, {period}: Jain {found['Jain'][n]:.2f}, use {found['use'][n]:.0%}, queue"
            f" {found['mean queue'][n]:.0f} targets"
            for n in many
        ]
    shown = all(bool(_works(table, "pd", period).all()) for period in PERIODS)
    tail = f"without memory {'nothing' if shown else 'something'} of the kind"
    return Verdict(f"as printed, {'; '.join(words)}; {tail}", all(broken) and shown, any(broken) and shown)


def _one_way(table: pd.DataFrame) -> Verdict:
    found = {
        delta: scalar(table, _point(2, "accumulating", "rtt", delta), "mean queue in bytes")
        for delta in (DELTA, DELTA / 2)
    }
    use = [scalar(table, _point(2, "pd", "base-rtt", delta), "use") for delta in (DELTA, DELTA / 2)]
    ratio = found[DELTA / 2] / found[DELTA]
    measured = (
        f"mean queue {found[DELTA] / 1e3:.1f} kB as round trips, {found[DELTA / 2] / 1e3:.1f} kB as one-way delays"
        f" (ratio {ratio:.2f}); use without memory {use[0]:.1%} and {use[1]:.1%}"
    )
    return Verdict(measured, 0.4 <= ratio <= 0.65, ratio < 1)


@register_experiment
class Readings(Experiment):
    """Shares, use and queue of flows under the PID alone, by how equation (4) and RTT are read."""

    name = "rcc.readings"
    title = "The PID by how equation (4) is read"
    description = (
        "RCC: equation (4) as printed and without its memory, for 2 to 16 flows; round trips or one-way delays"
    )
    seeding = Seeding.NONE
    claims = (
        Claim(
            id="rcc-x-3",
            place="III-E, equations (10), (11)",
            quantity="W* of the discrete update",
            condition="2 to 16 flows through one link, equation (4) as printed",
            published="a unique fixed point, with equal windows",
            words="Jain >= 0.95, use >= 90%, queue <= 2x target and calm; direction: without u(t - 1)",
            judge=_fixed_point,
            **known("rcc-x-3"),
        ),
        Claim(
            id="rcc-x-3a",
            place="equation (4)",
            quantity="shares, use and queue",
            condition="4 flows or more through one link",
            published="(not in the paper)",
            words="as printed Jain < 0.95, use < 90% or queue > 2x target, without memory never; direction: once",
            judge=_more_flows,
            **known("rcc-x-3a"),
        ),
        Claim(
            id="rcc-x-3b",
            place="III-B, V-A",
            quantity="mean queue",
            condition="RTTs as round trips, or as the one-way delays that receivers measure",
            published="(12 us and 13.2 us are called one-way)",
            words="one-way delays: 0.4 to 0.65 of the queue; direction: less",
            judge=_one_way,
            **known("rcc-x-3b"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        lasts_ps = _LASTS_PS[check_scale(scale)]
        cases = [(n, form, period, DELTA) for n in _FLOWS[scale] for form in FORMS for period in PERIODS]
        cases += [(2, "accumulating", "rtt", DELTA / 2), (2, "pd", "base-rtt", DELTA / 2)]
        return [
            Point(
                name=_point(*case),
                scenario=loop_scenario(lasts_ps, flows=case[0], pid_form=case[1], period=case[2], delta=case[3]),
                labels={"flows": case[0], "form": case[1], "period": case[2], "delta": case[3]},
            )
            for case in cases
        ]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        half = result.now_ps // 2
        flows = [result.samples(f"received_packets {i}") for i in range(point.labels["flows"])]
        got = pd.Series([float(one.iloc[-1] - one[one.index <= half].iloc[-1]) for one in flows]) * PAYLOAD_BYTES
        queue = result.samples("queue s0->s1")
        numbers = measure_queue(result) | {
            "Jain": (jain(got), ""),
            "least share": (got.min() / got.mean(), ""),
            "mean queue in bytes": (queue[queue.index > half].mean(), "bytes"),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        panels = {"Jain": "Jain's index", "use": "use of the link", "mean queue": "mean queue (targets)"}
        with style():
            figure, axes = plt.subplots(1, 3, figsize=(13, 3.8))
            for ax, (quantity, label) in zip(axes, panels.items(), strict=True):
                for (form, period), (colour, look) in _LOOKS.items():
                    found = _numbers(table, form, period, quantity)
                    ax.plot(found.index, found, look, color=COLOURS[colour], markersize=5,
                            label=f"{FORMS[form]}, {PERIODS[period]}")  # fmt: skip
                ax.set(xlabel="flows through the link", title=label, xscale="log")
                ax.set_xticks(found.index, [str(n) for n in found.index])
                ax.minorticks_off()
                ax.set_ylim(bottom=0)
            axes[0].legend(fontsize=7, loc="lower left")
            figure.suptitle(f"RCC: {self.title}, gains of the paper", x=0.01, ha="left", fontsize=12)
        return figure
