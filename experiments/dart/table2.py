"""Dart, table II: the cost of deflection, in load and in path length."""

from rdmacc.experiments.dart.table1 import ALL_RUNS, TableFigure, table_claims
from rdmacc.workload import DART_MIXES
from ..api import *
from .clos import *

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
_SHARE = Within(1, by=0.25)


def _cell(rows: pd.DataFrame, mix: str, load: float) -> dict[str, float]:
    return dict(zip(_NAMES, detours(rows, mix, load), strict=True))


def _published_cell(mix: str, increase: float, dilation: float) -> Band:
    return All({"load increase": Part(increase, whole=100), "path dilation": Part(dilation, whole=100)})


def _shares(rows: pd.DataFrame) -> dict[str, float]:
    found = {mix: np.mean([np.divide(*detours(rows, mix, load)) for load in LOADS[mix]]) for mix in DART_MIXES}
    return {mix: found[mix] / share for mix, share in DART_MIXES.items()}


def _averages(rows: pd.DataFrame) -> dict[str, float]:
    found = [detours(rows, mix, load) for mix in ("typical", "heavy") for load in LOADS[mix]]
    increases, dilations = np.transpose(found)
    geometric = np.exp(np.log(np.clip(increases, 1e-9, None)).mean())
    return {"load increase": float(geometric), "path dilation": float(dilations.mean())}


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


class Table2(TableFigure):
    name = "dart.table2"
    published, names = PUBLISHED_DILATION, _NAMES
    measured = staticmethod(detours)
    claims = (
        *table_claims(2, PUBLISHED_DILATION, _cell, _published_cell, All(dict.fromkeys(_NAMES, MoreThan(0)))),
        claim("dart-t2-x", measure=_shares, band=Each(_SHARE, "mix"), needs=ALL_RUNS),
        claim("dart-t2-y", measure=_averages,
              band=All({"load increase": Part(7, whole=100), "path dilation": Part(16, whole=100)}),
              direction=Each(MoreThan(0)), needs=ALL_RUNS),
        claim("dart-t2-z", measure=_trends, band=Each(Ordered("<=")), needs=ALL_RUNS),
    )  # fmt: skip
