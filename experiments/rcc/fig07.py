"""RCC, figure 7: the queue of an incast of 1,000, under RCC and HPCC, and what the figure must omit."""

from rdmacc.experiments.rcc.fig06 import HPCC, RCC, RCC_TOGETHER
from ..api import *
from .incast import *
from .setup import *

STEADY = {
    "hpcc": IncastCase("hpcc", size=LONG),
    "rcc": IncastCase("rcc", size=LONG),
    "rcc, 0.99": IncastCase("rcc", eta=0.99, size=LONG),
}
"""Messages of 2 MB: long enough to see the queue after the first windows have gone."""
RCC_LONG = STEADY["rcc"]
TOGETHER_LONG = together(RCC_LONG)
REQUESTED, KEPT_BACK = IncastCase("rcc", REQUEST), IncastCase("rcc", REQUEST, 0.99)
PUBLISHED_BYTES = 900_000
NEAR_ZERO_BYTES = 50_000
_steady = partial(mean, quantity="steady queue")
_REQUESTED = "share in the request over the lower one"


def _below_hpcc(rows: pd.DataFrame) -> Measured:
    hpcc = _steady(rows, STEADY["hpcc"])
    return Measured(_steady(rows, RCC_LONG) / hpcc, f"HPCC {hpcc / 1e3:.0f} KB")


def _hpcc(rows: pd.DataFrame) -> Measured:
    words = f"{mean(rows, HPCC, 'peak queue') / 1e6:.0f} MB at the peak"
    return Measured(_steady(rows, HPCC), f"{words}; with 2 MB each {_steady(rows, STEADY['hpcc']) / 1e3:.0f} KB")


def _least(rows: pd.DataFrame) -> float:
    case = STEADY["hpcc"]
    packet, rtt = (mean(rows, case, name) for name in ("packet on the wire", "base RTT"))
    return _steady(rows, case) / ((float(rows["senders"].iloc[0]) + 1) * packet - LINE_BPS * rtt / 8e12)


def _line_rate(rows: pd.DataFrame) -> Measured:
    peaks = {NAMES[case.scheme]: mean(rows, case, "peak queue") / PUBLISHED_BYTES for case in (RCC, HPCC)}
    requested = mean(rows, REQUESTED, "peak queue") / PUBLISHED_BYTES / min(peaks.values())
    first = (float(rows["senders"].iloc[0]) + 1) * BDP_BYTES / 1e6
    pauses = " and ".join(f"{mean(rows, case, 'PFC pauses'):.0f}" for case in (RCC, HPCC))
    return Measured(peaks | {_REQUESTED: requested}, f"first windows of {first:.0f} MB; {pauses} pauses")


class Figure7(IncastFigure):
    name = "rcc.fig7"
    claims = (
        claim("rcc-f7-1",
              measure=lambda rows: Measured(
                  _steady(rows, RCC), f"with 2 MB each {_steady(rows, RCC_LONG) / 1e3:.0f} KB"
              ),
              band=AtMost(NEAR_ZERO_BYTES)),
        claim("rcc-f7-1a", measure=_below_hpcc, band=AtMost(0.1), direction=LessThan(1)),
        claim("rcc-f7-2", measure=_hpcc, band=Size(PUBLISHED_BYTES)),
        claim("rcc-f7-2b", measure=_least, band=Within(1, by=0.02)),
        claim("rcc-f7-2a", measure=_line_rate,
              band=All(dict.fromkeys(("RCC", "HPCC"), AtLeast(10)), {_REQUESTED: LessThan(0.1)})),
    )  # fmt: skip

    def cases(self, scale: str) -> list[IncastCase]:
        others = [IncastCase("rcc", eta=0.99), IncastCase("rcc", REQUEST, size=LONG)]
        return [RCC, HPCC, REQUESTED, KEPT_BACK, *STEADY.values(), *others, RCC_TOGETHER, TOGETHER_LONG]

    def plot(self, table: pd.DataFrame) -> Figure:
        cases = {
            "(a) from line rate, 200 KB each": {HPCC: "vermilion", RCC: "sky"},
            "(b) share in the request, 200 KB each": {REQUESTED: "sky", RCC_TOGETHER: "blue"},
            "(c) 2 MB each": {STEADY["hpcc"]: "vermilion", RCC_LONG: "sky", TOGETHER_LONG: "blue"},
        }
        panels = [
            Traces(
                quantity="queue", unit="KB", time_unit="ms", title=title, levels={"_": PUBLISHED_BYTES},
                looks={one: (case.label, colour) for case, colour in of.items() for one in points_in(table, case)[:1]},
                axes={"yscale": "symlog", "ylim": (0, 3e5)},
            )
            for title, of in cases.items()
        ]  # fmt: skip
        words = f", {int(table['senders'].iloc[0]):,} senders (dotted: HPCC's 900 KB as published)"
        return self.drawn(panels, table, words, sharey=True)
