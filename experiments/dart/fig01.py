"""Dart, figure 1: RTTs until two flows share a link, if rates are found step by step or sent by the receiver."""

from rdmacc.experiments.dart.convergence import ABOUT_ONE, NAMES, measure_convergence, points_for, rtts, rtts_or_watched
from ..api import *
from .setup import *

QUOTED = {"RCP": 60, "TIMELY": 50, "NUMFabric": 31, "EyeQ": 27.5}
"""RTTs to converge that the paper quotes (II-B), and EyeQ's 25 to 30 in their middle."""


def _slower_than_dart(table: pd.DataFrame) -> Measured:
    own, others = rtts(table, "dart"), rtts_or_watched(table, "rcp", "timely", "dcqcn")
    ratios = {name: value / max(own, 1.0) for name, value in others.numbers.items()}
    return Measured(ratios, "; ".join(filter(None, [f"Dart takes {own:.2g} RTT", others.note])))


def _since_join(table: pd.DataFrame, point: str) -> tuple[float, float]:
    return scalar(table, point, "join"), scalar(table, point, "base RTT")


def _over_line(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(value=table["value"].mask(table["unit"] == "bps", 100 * table["value"] / LINE_BPS))


def _draw_quoted(ax: Axes, _: pd.DataFrame) -> None:
    for name, quoted in QUOTED.items():
        ax.plot(quoted, 50, "|", color="0.3", markersize=12)
        ax.annotate(name, (quoted, 50), (0, -15 if name == "EyeQ" else 9), textcoords="offset points", ha="center",
                    fontsize=8)  # fmt: skip


class Figure1(Experiment):
    name = "dart.fig1"
    claims = (
        claim("dart-f1-1", measure=lambda table: rtts_or_watched(table, "rcp", "timely"),
              band=All({name: Size(QUOTED[name]) for name in ("RCP", "TIMELY")}), direction=Each(AtLeast(10))),
        claim("dart-f1-2", measure=lambda table: rtts(table, "dart"), band=ABOUT_ONE),
        claim("dart-f1-3", measure=_slower_than_dart, band=Each(AtLeast(5), "scheme")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        return points_for(("dart", "rcp", "dcqcn", "timely"), scale, seed)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_convergence(point, result)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {"rcp": "vermilion", "timely": "green", "dcqcn": "orange", "dart": "blue"}
        panels = []
        for schemes, also in ((("rcp", "timely", "dcqcn"), _draw_quoted), (("dart",), None)):
            panels.append(
                Traces(
                    "rate of flow 1", {one: (NAMES[one], looks[one]) for one in schemes}, unit="% of line",
                    label="sending rate", of=_over_line, clock=_since_join, is_step=True, levels={"_": 50.0}, also=also,
                    time_unit="RTTs since the second flow's first packet arrives",
                    axes={"ylim": (0, 108), "xlim": (-5, 100)},
                )
            )  # fmt: skip
        return self.drawn(panels, table, " (bars: convergence as quoted)", columns=1, size=(8, 2.6), sharex=True)
