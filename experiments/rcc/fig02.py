"""RCC, figure 2: the framework, drawn from the implementation.

An arrow is there if one of a block's functions calls one of the other's, or writes the header that the other reads:
both are read from the functions' own code. The paths of algorithm 1 are walked by the handlers alone: each case is a
flow among three whose samples are on time or late while its last hop is busy or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Run, Seeding
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.rcc.blocks import calls_in, draw_blocks, rows_of_calls
from rdmacc.experiments.rcc.known import known
from rdmacc.experiments.rcc.receiver import RccReceiver
from rdmacc.experiments.rcc.setup import BASE_RTT_PS, BDP_BYTES, THRESHOLD_RTT_PS
from rdmacc.plotting.style import COLOURS, style
from rdmacc.protocols import rcc
from rdmacc.sweep.tidy import scalar, tidy
from rdmacc.units import us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BLOCKS", "CASES", "Figure2"]

BLOCKS = {
    "sender": (("on_ack", "on_start", "allow"), "Sender: takes the window,\npaces it out over a base RTT"),
    "data": (("on_data", "window"), "Receiver: algorithm 1,\nfor each data packet"),
    "types": (("detect", "measure", "received"), "Differentiating congestion types\n(III-C)"),
    "ewa": (("count", "fair_share"), "Explicit window assignment\n(III-D)"),
    "pid": (("update", "target", "is_due"), "PID-based congestion control\n(III-E)"),
}
"""The paper's blocks: functions of `rdmacc.protocols.rcc`, and a caption."""

FLOWS = 3
_LATE = THRESHOLD_RTT_PS + us(1)
CASES = {
    "on time": ((BASE_RTT_PS,) * 5, 0.5, "lines 16-17"),
    "late, last hop busy": ((_LATE,) * 5, 1.0, "lines 10-11"),
    "late, last hop not busy": ((_LATE,) * 5, 0.5, "lines 13-15"),
    "late once": ((_LATE, BASE_RTT_PS) * 3, 0.5, "lines 16-17, equation (1)"),
    "under PID, then on time and busy": ((_LATE,) * 5 + (BASE_RTT_PS,) * 500, 0.5, "lines 6-9"),
}
"""Samples, use of the last hop, and the lines of algorithm 1 that they take."""

_EXPECTED = {
    "on time": (0, 1.0),
    "late, last hop busy": (0, 1.0),
    "late, last hop not busy": (1, None),
    "late once": (0, 1.0),
    "under PID, then on time and busy": (1, 1.0),
}
"""Whether the flow is under PID at the end, and its window as a part of the fair share; None: below 1."""


def walk(case: str) -> dict[str, float]:
    """Return the mode and the window, over the fair share, that the handlers reach in a case."""
    samples, used, _ = CASES[case]
    one = RccReceiver(flows=FLOWS, used=used)
    cwnd = 0
    for rtt_ps in samples:
        if rtt_ps <= BASE_RTT_PS and one.receiver.is_iterative:
            one.used = 1.0
        cwnd = one.take(rtt_ps)
    return {"mode": one.receiver.is_iterative, "window": cwnd / (BDP_BYTES // FLOWS)}


def _paths(table: pd.DataFrame) -> Verdict:
    good = 0
    for case, (mode, share) in _EXPECTED.items():
        window = scalar(table, "handlers", f"{case}: window")
        good += scalar(table, "handlers", f"{case}: mode") == mode and (window == share if share else 0 < window < 1)
    return Verdict(f"{good} of {len(_EXPECTED)} paths of algorithm 1", good == len(_EXPECTED))


def arrows_in(table: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the pairs of blocks of which one calls the other."""
    calls = table[table["quantity"] == "calls"]
    block_of = {name: block for block, (names, _) in BLOCKS.items() for name in names}
    pairs = zip(calls["caller"].map(block_of), calls["called"].map(block_of), strict=True)
    return {(one, other) for one, other in pairs if isinstance(one, str) and isinstance(other, str) and one != other}


def _modules(table: pd.DataFrame) -> Verdict:
    found = arrows_in(table)
    wanted = {("data", block) for block in ("types", "ewa", "pid")}
    carried = scalar(table, "handlers", "window in the ACK")
    paced = scalar(table, "handlers", "pace over window / base RTT")
    measured = (
        f"algorithm 1 calls {len(found & wanted)} of 3 blocks; a window of {carried:.0f} bytes is paced at {paced:.3f}"
        " of W / RTT"
    )
    return Verdict(measured, wanted <= found and carried == BDP_BYTES // FLOWS and paced == 1.0)


@register_experiment
class Figure2(Experiment):
    """What tells congestion types apart, what assigns windows, what adjusts them, and who calls whom."""

    name = "rcc.fig2"
    title = "The overview of RCC framework"
    description = "RCC, figure 2: the framework, drawn from the implementation; every path of algorithm 1 walked"
    seeding = Seeding.NONE
    claims = (
        Claim(
            id="rcc-f2-1a",
            place="III-B, figure 2",
            quantity="modules",
            condition="types, explicit windows, PID, window in the ACK, pacing",
            published="three functions at the receiver, windows in ACKs, senders that pace",
            words="exact",
            judge=_modules,
            **known("rcc-f2-1a"),
        ),
        Claim(
            id="rcc-f2-1b",
            place="algorithm 1",
            quantity="mode and window",
            condition="samples on time or late, last hop busy or not",
            published="lines 6 to 19",
            words="exact",
            judge=_paths,
            **known("rcc-f2-1b"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        check_scale(scale)  # the same at both: no simulation
        return [Point(name="handlers")]

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        numbers: dict[str, tuple[float, str]] = {}
        for case in CASES:
            numbers |= {f"{case}: {name}": (value, "") for name, value in walk(case).items()}
        one = RccReceiver(flows=FLOWS)
        ack = type("Ack", (), {"cwnd_bytes": one.take()})()
        one.acknowledge(ack)
        numbers["window in the ACK"] = (ack.cwnd_bytes, "bytes")
        pace = ack.cwnd_bytes * 8e12 / BASE_RTT_PS
        numbers["pace over window / base RTT"] = (one.sender.rate_bps / pace, "")
        roots = {name: getattr(rcc.Rcc, name) for name in ("on_data", "on_ack", "on_start")}
        return pd.concat(
            [tidy(point.name, numbers), rows_of_calls(point.name, calls_in(rcc, roots))], ignore_index=True
        )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        places = {"sender": (0.0, 1.2), "data": (3.6, 1.2), "types": (7.6, 2.4), "ewa": (7.6, 1.2), "pid": (7.6, 0.0)}
        colours = dict(zip(BLOCKS, ("sky", "orange", "green", "blue", "vermilion"), strict=True))
        boxes = {
            name: (*places[name], f"{caption}\n{', '.join(functions)}", COLOURS[colours[name]])
            for name, (functions, caption) in BLOCKS.items()
        }
        arrows = [(one, other, "") for one, other in sorted(arrows_in(table)) if one == "data"]
        with style():
            figure, ax = plt.subplots(figsize=(10, 3.6))
            draw_blocks(ax, boxes, arrows, (1.35, 0.42))
            for height, text, tail, head in ((1.38, "data: time stamp", 1.4, 2.2), (1.02, "ACK: window", 2.2, 1.4)):
                look = {"arrowstyle": "-|>", "color": "0.3", "linewidth": 1.2}
                ax.annotate("", (head, height), (tail, height), arrowprops=look)
                ax.text(1.8, height + (0.1 if head > tail else -0.25), text, ha="center", fontsize=7, color="0.3")
            ax.set(xlim=(-1.6, 9.2), ylim=(-0.6, 3.0))
            ax.set_title(f"RCC, figure 2: {self.title} (arrows: calls found in the code)")
        return figure
