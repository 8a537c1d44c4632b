"""RCC, figure 7: the queue of an incast of 1,000, under RCC and HPCC, and what the figure must have left out.

Setup and assumptions: `rdmacc.experiments.rcc.incast`. Flows that start at line rate (III-B) fill any buffer: 1,000
first windows are 150 MB. A queue of 900 KB is what HPCC keeps in its steady phase, where no window can be below a
packet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.rcc.fig06 import HPCC, RCC
from rdmacc.experiments.rcc.incast import LONG, REQUEST, Case, IncastFigure, mean, needs, points_in
from rdmacc.experiments.rcc.known import known
from rdmacc.experiments.rcc.setup import BDP_BYTES, LINE_BPS
from rdmacc.plotting.style import COLOURS, style
from rdmacc.sweep.tidy import curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure7"]

STEADY = {
    "hpcc": Case("hpcc", size=LONG),
    "rcc": Case("rcc", size=LONG),
    "rcc, 0.97": Case("rcc", eta=0.97, size=LONG),
}
"""Messages of 2 MB: long enough to see what is left once the first windows have gone."""
REQUESTED, KEPT_BACK = Case("rcc", REQUEST), Case("rcc", REQUEST, 0.97)
PUBLISHED_BYTES = 900_000
NEAR_ZERO_BYTES = 50_000


def _kb(value: float) -> str:
    return f"{value / 1e3:,.0f} kB"


@needs(REQUESTED, KEPT_BACK, RCC, STEADY["rcc"], STEADY["rcc, 0.97"])
def _near_zero(table: pd.DataFrame) -> Verdict:
    own = {
        case: mean(table, case, "steady queue") for case in (REQUESTED, STEADY["rcc"], KEPT_BACK, STEADY["rcc, 0.97"])
    }
    full = [own[REQUESTED], own[STEADY["rcc"]]]
    kept = [own[KEPT_BACK], own[STEADY["rcc, 0.97"]]]
    measured = (
        f"shares of all of the link: {_kb(full[0])} with the share in the request, {_kb(full[1])} in the middle of 2 MB"
        f" from line rate; of 97% of it: {_kb(kept[0])} and {_kb(kept[1])}"
    )
    return Verdict(measured, max(full) <= NEAR_ZERO_BYTES, False)


@needs(REQUESTED, KEPT_BACK, STEADY["hpcc"], STEADY["rcc"], STEADY["rcc, 0.97"])
def _below_hpcc(table: pd.DataFrame) -> Verdict:
    hpcc = mean(table, STEADY["hpcc"], "steady queue")
    full, kept = (mean(table, STEADY[name], "steady queue") for name in ("rcc", "rcc, 0.97"))
    measured = f"HPCC {_kb(hpcc)}, RCC {_kb(full)}, with 97% of the link {_kb(kept)}"
    return Verdict(measured, full <= 0.1 * hpcc, full < hpcc and kept <= 0.1 * hpcc)


@needs(STEADY["hpcc"])
def _hpcc(table: pd.DataFrame) -> Verdict:
    found = mean(table, STEADY["hpcc"], "steady queue")
    senders = float(table["senders"].iloc[0]) + 1
    packet, rtt = (mean(table, STEADY["hpcc"], name) for name in ("packet on the wire", "base RTT"))
    least = senders * packet - LINE_BPS * rtt / 8e12
    measured = f"{_kb(found)}; a packet of each sender less a BDP is {_kb(least)}"
    return Verdict(measured, 750e3 <= found <= 1050e3, abs(found / least - 1) <= 0.02)


@needs(RCC, HPCC)
def _line_rate(table: pd.DataFrame) -> Verdict:
    peaks = [mean(table, case, "peak queue") for case in (RCC, HPCC)]
    pauses = [mean(table, case, "PFC pauses") for case in (RCC, HPCC)]
    requested = mean(table, REQUESTED, "peak queue")
    windows = (float(table["senders"].iloc[0]) + 1) * BDP_BYTES
    measured = (
        f"first windows of {windows / 1e6:.0f} MB: peaks of {peaks[0] / 1e6:.0f} MB (RCC) and {peaks[1] / 1e6:.0f} MB"
        f" (HPCC), {pauses[0]:.0f} and {pauses[1]:.0f} pauses; {requested / 1e6:.2f} MB if the request carries RCC's"
        " share"
    )
    return Verdict(measured, min(peaks) >= 10 * PUBLISHED_BYTES and requested < 0.1 * min(peaks))


@register_experiment
class Figure7(IncastFigure):
    """The queue at the last hop, by how flows start and by what RCC gives away."""

    name = "rcc.fig7"
    title = "Queuing length under Incast scenario"
    description = "RCC, figure 7: the last hop's queue in an incast of 1,000; from line rate, and in the steady phase"
    claims = (
        Claim(
            id="rcc-f7-1",
            place="V-B-3, figure 7",
            quantity="queue",
            condition="RCC, shares of all of the link (III-D)",
            published="near zero",
            words="<= 50 kB in the steady phase, however flows start",
            judge=_near_zero,
            **known("rcc-f7-1"),
        ),
        Claim(
            id="rcc-f7-1a",
            place="V-B-3, figure 7",
            quantity="queue",
            condition="RCC against HPCC, steady phase",
            published="near zero against 900 KB",
            words="RCC a tenth of HPCC's; direction: less, and a tenth with 97% of the link",
            judge=_below_hpcc,
            **known("rcc-f7-1a"),
        ),
        Claim(
            id="rcc-f7-2",
            place="V-B-3, figure 7",
            quantity="queue",
            condition="HPCC, steady phase",
            published="900 KB",
            words="750-1050 kB; direction: a packet of each sender less a BDP, within 2%",
            judge=_hpcc,
            **known("rcc-f7-2"),
        ),
        Claim(
            id="rcc-f7-2a",
            place="III-B against figure 7",
            quantity="peak queue",
            condition="flows that start at line rate",
            published="(first windows of 150 MB)",
            words="10 times the published 900 KB or more; a tenth of that if the request carries the share",
            judge=_line_rate,
            **known("rcc-f7-2a"),
        ),
    )

    def cases(self, scale: str) -> list[Case]:
        return [RCC, HPCC, REQUESTED, KEPT_BACK, *STEADY.values()]

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        panels = {
            "(a) from line rate, 200 KB each": [(HPCC, "vermilion", "-"), (RCC, "blue", "-")],
            "(b) share in the request, 200 KB each": [(REQUESTED, "blue", "-"), (KEPT_BACK, "green", "-")],
            "(c) from line rate, 2 MB each": [
                (STEADY["hpcc"], "vermilion", "-"), (STEADY["rcc"], "blue", "-"), (STEADY["rcc, 0.97"], "green", "-"),
            ],
        }  # fmt: skip
        with style():
            figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), sharey=True)
            for ax, (title, cases) in zip(axes, panels.items(), strict=True):
                for case, colour, look in cases:
                    for point in points_in(table, case)[:1]:
                        queue = curve(table, point, "queue")
                        ax.plot(queue.index / 1e9, queue / 1e3, look, color=COLOURS[colour], linewidth=1.2,
                                label=case.label)  # fmt: skip
                ax.axhline(PUBLISHED_BYTES / 1e3, color="0.5", linewidth=1, linestyle=":", zorder=0)
                ax.set_yscale("symlog", linthresh=1)
                ax.set(title=title, xlabel="time (ms)", ylim=(0, 3e5))
                ax.legend(fontsize=8, loc="upper right")
            axes[0].set_ylabel("queue (kB), log scale above 1")
            senders = int(table["senders"].iloc[0])
            figure.suptitle(
                f"RCC, figure 7: {self.title}, {senders:,} senders (dotted: HPCC's 900 KB as published)", x=0.01,
                ha="left", fontsize=12,
            )  # fmt: skip
        return figure
