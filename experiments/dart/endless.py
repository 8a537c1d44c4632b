"""Dart, figures 11 to 14 with long flows as VI-A has them: one of 1 GB from each host, from the start on.

The load then sets the short flows alone, and long flows fill whatever is left: "each server initiates a long flow of
size 1 GB". The figures assume flows of 1 MB that arrive at a rate, so that the load is one. Flows arrive for 10 ms, and
the run ends at 16 ms. Three seeds in the typical mix, one in the others. Setup: `rdmacc.experiments.dart.clos`.
"""

from __future__ import annotations

from rdmacc.experiments.dart.clos import LOADS, ClosCase, ClosFigure, cases, means
from rdmacc.experiments.dart.loads import BASELINES, NAMES, VARIANTS, all_runs
from ..api import *

ENDLESS = "long flows of 1 GB"
_TYPICAL = [("typical", load) for load in LOADS["typical"]]


def endless(scale: str) -> list[ClosCase]:
    """Return the runs of figures 11 to 14 with long flows of 1 GB; at quick scale two."""
    if scale == "quick":
        return cases(("dcqcn", "dart"), [("typical", 0.2)], is_persistent=True)
    runs = [replace(case, is_persistent=True) for case in all_runs(*LOADS)]
    return list(dict.fromkeys([*runs, *cases(tuple(VARIANTS), _TYPICAL, is_persistent=True)]))


def _of(rows: pd.DataFrame, quantity: str, scheme: str, mix: str = "typical") -> pd.Series[float]:
    return means(rows, quantity, scheme, mix, ENDLESS)


def _tail(rows: pd.DataFrame) -> dict[str, float]:
    dart = _of(rows, "p99", "dart")
    return {NAMES[one]: float(reduction(dart, _of(rows, "p99", one)).mean()) for one in BASELINES}


def _long_flows(rows: pd.DataFrame) -> dict[str, float]:
    dart = _of(rows, "goodput", "dart")
    return {NAMES[one]: float((dart / _of(rows, "goodput", one) - 1).mean()) for one in BASELINES}


_ALL = tuple(endless("paper"))


@register_experiment
class Endless(ClosFigure):
    name = "dart.endless"
    title = "Long flows of 1 GB"
    description = "Dart, figures 11 to 14 with a long flow of 1 GB from each host, as VI-A has them"
    claims = (
        claim("dart-e-1a", measure=_tail, band=Each(Part(0.79)), direction=Each(AtLeast(0.05)), needs=_ALL),
        claim("dart-e-2a", measure=_long_flows, band=All({"DCQCN": Size(0.48), "TIMELY": Size(0.68)}),
              direction=Each(AtLeast(0.05)), needs=_ALL),
        claim("dart-e-3a", measure=lambda rows: named(_of(rows, "marked", "dcqcn"), "{:.0%}"),
              band=All({"20%": Part(0.17), "40%": Part(0.41), "60%": Part(0.67)}), direction=Rises(), needs=_ALL),
    )  # fmt: skip

    def seeds_of(self, case: Any) -> int:
        return self.seeds if case.mix == "typical" else 1

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        return table if reading == DEFAULT else None

    def cases(self, scale: str) -> list[ClosCase]:
        return endless(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        names = zip({**NAMES, **VARIANTS}.items(), [*COLOURS] * 2, "so^DPvX*")
        looks = {one: (name, colour, f"{mark}-") for (one, name), colour, mark in names}
        over = partial(Lines, looks=looks, over="load", where={"mix": "typical", "changes": ENDLESS}, percent=True)
        panels = [
            over("p99", unit="us", title="p99 of 8 KB flows", log="y"),
            over("p50", unit="us", title="median of 8 KB flows", log="y"),
            over("goodput", unit="Gb/s", title="goodput of a long flow"),
            over("marked", title="share of short flows' packets marked"),
        ]
        return self.drawn(panels, rows, " from each host, typical mix", size=(3.4, 3.8), legend="outside right upper")
