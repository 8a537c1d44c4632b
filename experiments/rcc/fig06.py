"""RCC, figure 6: goodput and completion times of an incast of 1,000, under RCC and HPCC."""

from ..api import *
from .incast import *
from .setup import *

RCC, HPCC = IncastCase("rcc"), IncastCase("hpcc")
RCC_TOGETHER = together(RCC)
_READINGS = (RCC, IncastCase("rcc", REQUEST), IncastCase("rcc", eta=0.99), IncastCase("rcc", REQUEST, 0.99))
"""Readings of RCC's first window and of the bandwidth that it assigns."""
_DRAWN = ((RCC, "blue", "-"), (HPCC, "vermilion", "-"), (RCC_TOGETHER, "sky", "--"), (_READINGS[1], "green", "--"))
PUBLISHED_GBPS, PUBLISHED_MEDIAN, PUBLISHED_P99 = 94.98, 0.052, 0.041


_RATE = {"RCC (Gb/s)": Between(92, 96)}


def _goodput(rows: pd.DataFrame) -> Measured:
    own, other = (mean(rows, case, "goodput") / 1e9 for case in (RCC, HPCC))
    payload = 1000 / mean(rows, HPCC, "packet on the wire") * LINE_BPS / 1e9
    note = f"HPCC {other:.2f} Gb/s of {payload:.1f} that a link full of its packets with telemetry carries"
    return Measured({"RCC (Gb/s)": own, "HPCC over RCC": other / own}, note)


def _reduction(quantity: str, rows: pd.DataFrame) -> Measured:
    each = 1 - values(rows, RCC, quantity) / values(rows, HPCC, quantity)
    note = f"{each.min():.1%} to {each.max():.1%} by seed"
    return Measured(case_reduction(rows, RCC, HPCC, quantity), note)


def _last(rows: pd.DataFrame) -> Measured:
    last, least = mean(rows, RCC, "last FCT"), float(rows["bound_ps"].iloc[0])
    numbers = {
        "last completion over the link's bound": last / least,
        "unfinished messages": sum(values(rows, case, "unfinished").sum() for case in (RCC, HPCC)),
    }
    return Measured(numbers, f"{last / 1e9:.2f} ms against {least / 1e9:.2f}")


class Figure6(IncastFigure):
    name = "rcc.fig6"
    claims = (
        claim("rcc-f6-1", measure=_goodput, band=All(_RATE, {"HPCC over RCC": Within(1, by=0.05)}),
              direction=All(_RATE)),
        claim("rcc-f6-2", measure=partial(_reduction, "median FCT"), band=Part(0.052), direction=MoreThan(0)),
        claim("rcc-f6-3", measure=partial(_reduction, "p99 FCT"), band=Part(0.041), direction=MoreThan(0)),
        claim("rcc-f6-3a", measure=_last,
              band=All({"last completion over the link's bound": Between(1, 1.05), "unfinished messages": Exactly(0)})),
    )  # fmt: skip

    def cases(self, scale: str) -> list[IncastCase]:
        return [RCC_TOGETHER, HPCC, *(_READINGS if scale == "paper" else _READINGS[:2])]

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {points_in(table, case)[0]: (case.label, *look) for case, *look in _DRAWN if points_in(table, case)}
        rate = Traces(
            "goodput over time", looks, time_unit="ms", unit="Gb/s", label="goodput", title="(a) goodput of the incast",
            levels={f"published, {PUBLISHED_GBPS} Gb/s": PUBLISHED_GBPS * 1e9}, axes={"ylim": (0, 105)}, width=1.0,
            legend={"fontsize": 8, "loc": "lower left"},
        )  # fmt: skip
        axes = {"xlabel": "FCT (ms)", "ylabel": "share of the flows", "ylim": (0, 1.02)}
        times = Sketch(title="(b) completion times", how=_draw_times, axes=axes)
        senders = int(table["senders"].iloc[0])
        return self.drawn([rate, times], table, f", {senders:,} senders", size=(5.5, 3.8))


def _draw_times(ax: Axes, table: pd.DataFrame) -> None:
    for case, colour, look in (one for one in _DRAWN if points_in(table, one[0])):
        levels = [curve(table, point, "FCT by level") for point in points_in(table, case)]
        share, times = levels[0].index / 1000, np.array(levels) / 1e9
        ax.plot(times.mean(axis=0), share, look, color=COLOURS[colour], label=case.label)
        ax.fill_betweenx(share, times.min(axis=0), times.max(axis=0), color=COLOURS[colour], alpha=0.2, linewidth=0)
    median, tail = (mean(wide(table), HPCC, f"{name} FCT") / 1e9 for name in ("median", "p99"))
    words = f"published RCC: median −{PUBLISHED_MEDIAN:.1%}, p99 −{PUBLISHED_P99:.1%}, by our HPCC"
    published = [median * (1 - PUBLISHED_MEDIAN), tail * (1 - PUBLISHED_P99)]
    ax.plot(published, [0.5, 0.99], "o", color=COLOURS["black"], markersize=5, label=words)
