"""Dart, table II: the cost of deflection, in load and in path length.

Both compare Dart with DCQCN, which has the same flows. Load increase counts the hops of all data packets; path dilation
counts the links that a short flow's packet crosses. Setup: `rdmacc.experiments.dart.clos`.
"""

from __future__ import annotations

from ..api import *

from rdmacc.experiments.dart.clos import LOADS, ClosCase, ClosFigure, claim, means
from rdmacc.experiments.dart.tables import ALL_RUNS, draw_bars, table_claims, table_runs
from rdmacc.workload import DART_MIXES

PUBLISHED_DILATION = {
    ("typical", 0.2): (3, 8), ("typical", 0.4): (6, 15), ("typical", 0.6): (9, 23),
    ("light", 0.2): (0.4, 4), ("light", 0.4): (0.8, 8), ("light", 0.6): (1.4, 14), ("light", 0.8): (3, 26),
    ("heavy", 0.2): (11, 15), ("heavy", 0.4): (15, 21),
}  # fmt: skip
"""Table II: percent of load increase and of path dilation."""


def detours(rows: pd.DataFrame, mix: str, load: float) -> tuple[float, float]:
    """Return load increase and path dilation in percent."""
    increase, dilation = (
        100 * (float(means(rows, quantity, "dart", mix)[load] / means(rows, quantity, "dcqcn", mix)[load]) - 1)
        for quantity in ("data hops", "path")
    )
    return increase, dilation


_NAMES = ("load increase", "path dilation")
_OF_SHARE = "increase / dilation / share of short flows"
_SHARE = Within(1, by=0.25)
_DETOURS = (
    "Fewer short flows than in the paper find 15 kB queued in the network. The ratio, which is the share of short"
    " flows, holds."
)


def _cell(rows: pd.DataFrame, mix: str, load: float) -> dict[str, float]:
    increase, dilation = detours(rows, mix, load)
    ratio = increase / dilation / DART_MIXES[mix] if dilation else float("nan")
    return {"load increase": increase, "path dilation": dilation, _OF_SHARE: ratio}


def _published_cell(mix: str, increase: float, dilation: float) -> Band:
    return All({"path dilation": Within(dilation, factor=2.5), _OF_SHARE: _SHARE})


def _shares(rows: pd.DataFrame) -> dict[str, float]:
    found = {mix: np.mean([np.divide(*detours(rows, mix, load)) for load in LOADS[mix]]) for mix in DART_MIXES}
    return {mix: found[mix] / share for mix, share in DART_MIXES.items()}


def _averages(rows: pd.DataFrame) -> dict[str, float]:
    found = [detours(rows, mix, load) for mix in ("typical", "heavy") for load in LOADS[mix]]
    return dict(zip(_NAMES, np.mean(found, axis=0), strict=True))


def _trends(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    by_load = {
        f"{name}, {mix}": {f"{load:.0%}": detours(rows, mix, load)[place] for load in loads}
        for mix, loads in LOADS.items()
        for place, name in enumerate(_NAMES)
    }
    by_mix = {
        f"load increase, {load:.0%}": {mix: detours(rows, mix, load)[0] for mix in DART_MIXES} for load in (0.2, 0.4)
    }

    return by_load | by_mix


@register_experiment
class Table2(ClosFigure):
    """Increase of packet-hops, and of links that a short flow's packet crosses, over DCQCN."""

    name = "dart.table2"
    title = "IOFD's load increase and path dilation"
    description = "Increase of packet-hops, and of links that a short flow's packet crosses, over DCQCN, in percent"
    claims = (
        *table_claims(
            2, PUBLISHED_DILATION, "load increase %; path dilation %", _cell, _published_cell,
            {"heavy": {"expect": Outcome.DIRECTION, "why": _DETOURS}},
            direction=All(dict.fromkeys(_NAMES, MoreThan(0))),
        ),
        claim(
            "dart-t2-x", "Table II", "share of short flows that the table implies / their share in the"
            " mix", "light; typical; heavy",
            "0.10; 0.40; 0.70 (derived)", by=OURS, measure=_shares, band=Each(_SHARE, "mix"), needs=ALL_RUNS,
        ),
        claim(
            "dart-t2-y", "VI-B", "average load increase; dilation, in percent", "typical and heavy",
            "7%; 16% (~1 hop of 5.8)",
            quote="For typical and heavy mixes, Dart increases the network load by 7% (geometric mean over the load "
            "settings) and dilates short-flow paths by 16% which is roughly one hop (our topology has 5.8 hops "
            "on average).",
            measure=_averages,
            band=All({"load increase": Within(7, factor=2.5), "path dilation": Within(16, factor=2.5)}),
            direction=Each(MoreThan(0)), needs=ALL_RUNS,
        ),
        claim(
            "dart-t2-z", "Table II", "trend, in percent", "mixes and loads", "rise with load and share",
            quote="Both the load and path dilation increase with more short flows (i.e., light < typical < heavy) "
            "and at higher loads.",
            measure=_trends, band=Each(Ordered("<=")), needs=ALL_RUNS,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[ClosCase]:
        return table_runs(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return draw_bars(
            rows,
            PUBLISHED_DILATION,
            detours,
            _NAMES,
            "Dart, table II: the cost of deflection",
        )
