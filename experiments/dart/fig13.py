"""Dart, figure 13: throughput of all flows, or of long flows, at 1,024 hosts. Setup: `rdmacc.experiments.dart.clos`."""

from ..api import *
from .clos import *
from .loads import *

PUBLISHED_GOODPUT = {
    (mix, load): relative for mix, relative in {"typical": 1.48, "heavy": 2.73}.items() for load in LOADS[mix]
}
"""Dart's throughput relative to DCQCN's, the mean over loads; in the heavy mix to DCQCN's and TIMELY's (VI-B)."""

_GOODPUT, _GOODPUT_OF_LONG = "goodput of all", "goodput"


def _gain(mix: str, *others: str) -> Callable[[pd.DataFrame], dict[str, float]]:
    def measure(rows: pd.DataFrame) -> dict[str, float]:
        goodput = compared(rows, _GOODPUT, mix)
        gains = {NAMES[one]: (goodput["Dart"] / goodput[NAMES[one]] - 1).mean() for one in others}
        return {"mean": float(np.mean([*gains.values()])), **(gains if len(others) > 1 else {})}

    return measure


def _has_size(published: float) -> Band:
    return All({"mean": Size(published)}, IS_GAIN)


def _gain_heavy(rows: pd.DataFrame) -> dict[str, Any]:
    heavy, typical = (_gain(mix, *BASELINES)(rows) for mix in ("heavy", "typical"))
    return {"gain": heavy, "above the typical mix": heavy["mean"] - typical["mean"]}


def _order(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    means: dict[str, float] = {}
    least: dict[str, float] = {}
    goodput = {mix: compared(rows, _GOODPUT, mix) for mix in LOADS}
    for mix, by_load in goodput.items():
        for found, of in ((means, by_load.mean().to_frame().T), (least, by_load)):
            baselines = of[[NAMES[one] for one in BASELINES]]
            found[f"{mix}: Dart / faster baseline"] = (of["Dart"] / baselines.max(axis=1)).min()
            found[f"{mix}: slower baseline / DCTCP"] = (baselines.min(axis=1) / of["DCTCP"]).min()
    means["Dart: light / typical"] = goodput["light"]["Dart"].mean() / goodput["typical"]["Dart"].mean()
    return {"mean": means, "every load": least}


_IN_ORDER = {"mean": Each(MoreThan(1))}
_MORE = At("above the typical mix", MoreThan(0))


def _mean_gain(id: str, published: float, *others: str) -> Claim:
    return claim(id, published=f"{published:.0%}", measure=_gain("typical", *others), band=_has_size(published),
                 direction=IS_GAIN, needs=all_runs("typical", schemes=(*others, "dart")))  # fmt: skip


class Figure13(LoadFigure):
    name = "dart.fig13"
    quantity, published = _GOODPUT, PUBLISHED_GOODPUT
    look = MappingProxyType({"unit": "Gb/s", "label": "goodput of a flow"})
    claims = (
        _mean_gain("dart-f13-1", 0.48, "dcqcn"),
        _mean_gain("dart-f13-2", 0.68, "timely"),
        _mean_gain("dart-f13-3", 0.58, *BASELINES),
        claim("dart-f13-4", measure=_gain_heavy, band=All({"gain": _has_size(1.73)}, _MORE),
              direction=All({"gain": IS_GAIN}, _MORE),
              needs=all_runs("typical", "heavy", schemes=(*BASELINES, "dart"))),
        claim("dart-f13-5", measure=_order, band=All(_IN_ORDER | {"every load": Each(MoreThan(1))}),
              direction=All(_IN_ORDER), needs=all_runs(*LOADS)),
    )  # fmt: skip

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the rows of a reading; `LONG_FLOWS` replaces the throughput of all flows."""
        if reading != LONG_FLOWS:
            return super().under(table, reading)
        if not having(table, quantity=_GOODPUT_OF_LONG).any():
            return None
        rows = super().under(table[~having(table, quantity=_GOODPUT)], DEFAULT)
        return None if rows is None else rows.replace({"quantity": {_GOODPUT_OF_LONG: _GOODPUT}})
