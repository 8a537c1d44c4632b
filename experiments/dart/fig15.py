"""Dart, figure 15: two flows' throughput under RCP and under Dart as the second one joins."""

from rdmacc.experiments.dart.convergence import ABOUT_ONE, NAMES, measure_convergence, points_for, rtts
from rdmacc.experiments.validation.joining import TEN, TWO, WEIGHTS, joining_point, measure_joining
from ..api import *

_WINDOW_RTTS = {TWO: 2, TEN: 10}
EXPRESSPASS_RTTS = (4, 20)
"""RTTs until ExpressPass converges with two flows on a dumbbell, and with ten senders on a fat tree (VI-D)."""


def _rcp(table: pd.DataFrame) -> Measured:
    reached, own = rtts(table, "rcp", "reached"), rtts(table, "dart", "reached")
    return Measured(
        {"RCP": reached, "RCP / Dart": reached / own}, f"within 10% for good after {rtts(table, 'rcp'):.1f}"
    )


def expresspass(table: pd.DataFrame) -> pd.DataFrame:
    """Return ExpressPass's RTTs to converge: rows by initial weight and seed, columns by case."""
    rows = wide(table)
    rows = rows[rows["scheme"] == "expresspass"]
    names = [name for name in table["quantity"].unique() if name.startswith("goodput ")]
    is_curve = table["quantity"].isin(names) & table["time_ps"].notna()
    curves: dict[Any, pd.DataFrame] = dict(iter(table[is_curve].groupby("point", sort=False)))
    taken = [_until_fair(curves[point], row["join"], _WINDOW_RTTS[row["case"]]) for point, row in rows.iterrows()]
    return rows.assign(taken=taken).pivot(index=["weight", "seed"], columns="case", values="taken")


def _taken(table: pd.DataFrame) -> pd.DataFrame:
    return expresspass(table)[[TWO, TEN]].melt(value_name="taken", ignore_index=False).reset_index()


def _until_fair(curves: pd.DataFrame, join_ps: float, window_rtts: int) -> float:
    """Return the RTTs until the first flow's share is at most 1.1 times an equal one over a window."""
    goodput = pivoted(curves, "time_ps")
    means = goodput[goodput.index > join_ps].rolling(window_rtts).mean().iloc[window_rtts - 1 :]
    fair = np.flatnonzero(means["goodput 0"] <= 1.1 * means.mean(axis=1))
    return float(fair[0] + 1) if len(fair) else float("nan")


def _means(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    means = expresspass(table).groupby("weight").mean()
    return {str(weight): {"2:2": row[TWO], "10:1": row[TEN]} for weight, row in means.iterrows()}


_TIMES_DART = At("RCP / Dart", MoreThan(5, "x"))


class Figure15(Experiment):
    name = "dart.fig15"
    seed_stride = 20
    claims = (
        claim("dart-f15-1", measure=_rcp, band=All({"RCP": Size(60)}, _TIMES_DART),
              direction=All({"RCP": AtLeast(10)}, _TIMES_DART)),
        claim("dart-f15-2", measure=lambda table: rtts(table, "dart"), band=ABOUT_ONE),
        claim("dart-x-1", measure=_means, band=Each(All({"2:2": Size(4), "10:1": Size(20)}), "first weight"),
              direction=Each(Ordered("<"), "first weight")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        seeds = range(seed, seed + (40 if scale == "paper" else 2))
        joining = [
            joining_point(case, "10G", weight, one, {"scheme": "expresspass", "seed": one})
            for case in (TWO, TEN)
            for weight in WEIGHTS
            for one in seeds
        ]
        return [*points_for(("rcp", "dart"), scale, seed), *joining]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        if point.labels["scheme"] == "expresspass":
            return measure_joining(point, result)
        return measure_convergence(point, result)

    def plot(self, table: pd.DataFrame) -> Figure:
        panels: list[Panel] = []
        for name, letter in (("rcp", "a"), ("dart", "b")):
            rtt, join = (scalar(table, name, quantity) for quantity in ("base RTT", "join"))
            flows = ((1, "blue", "-"), (2, "vermilion", "--"))
            looks = {(name, f"throughput of flow {flow}"): (f"flow {flow}", *look) for flow, *look in flows}
            time: dict[str, Any] = {"clock": lambda *_, rtt=rtt: (rtt, rtt or np.nan), "time_unit": "RTTs"}
            time |= {"verticals": {"_": join / (rtt or np.nan)}, "axes": {"xlim": (0, 100), "ylim": (0, 10.5)}}
            words: dict[str, Any] = {"title": f"({letter}) {NAMES[name]}", "unit": "Gb/s", "label": "throughput"}
            panels.append(Traces("", looks, by=("point", "quantity"), **words, **time))
        bars = {
            one: (f"first weight {one.removeprefix('w ')}", colour) for one, colour in zip(WEIGHTS, ("sky", "orange"))
        }
        published = {one: dict(zip((TWO, TEN), EXPRESSPASS_RTTS)) for one in WEIGHTS}
        words = {"title": "ExpressPass (VI-D)", "label": "RTTs to converge", "published": published}
        panels.append(Bars("taken", bars, by="weight", of=_taken, over="case", **words))
        return self.drawn(panels, table, size=(4, 3.8))
