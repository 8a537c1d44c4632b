"""Dart, figure 13: throughput of all flows at 1,024 hosts; in a reading, of long flows.

Setup: `rdmacc.experiments.dart.clos`.
"""

from ..api import *
from .clos import *
from .loads import *

PUBLISHED_GOODPUT = {
    (mix, load): relative for mix, relative in {"typical": 1.48, "heavy": 2.73}.items() for load in LOADS[mix]
}
"""Dart's throughput relative to DCQCN's, the mean over loads; in the heavy mix to DCQCN's and TIMELY's (VI-B)."""

_GOODPUT, _GOODPUT_OF_LONG = "goodput of all", "goodput"

_IMPROVEMENT = (
    "The mean improvement in throughput is 48% and 68%, (mean across all load levels) over DCQCN and TIMELY,"
    " respectively."
)
_HEADLINE = "79% (4.8x) lower 99th-percentile latency and 58% higher throughput, on average, than TIMELY and DCQCN"
_HARDLY_OVER_DCQCN = (
    "Most flows are short, and Dart shortens their tail rather than their median, which is 7% below DCQCN's. Over"
    " DCQCN's long flows Dart's gain 58%."
)


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


@register_experiment
class Figure13(LoadFigure):
    name = "dart.fig13"
    title = "Throughput"
    description = "Mean goodput of a flow over the load, set up as figure 11"
    quantity, published = _GOODPUT, PUBLISHED_GOODPUT
    look = MappingProxyType({"unit": "Gb/s", "label": "goodput of a flow"})
    claims = (
        *(
            clos_claim(
                f"dart-f13-{number}", place, f"throughput gain vs {whom}", "typical mix, mean over loads",
                f"{published:.0%}", quote=quote,
                measure=_gain("typical", *others), band=_has_size(published), direction=IS_GAIN,
                unit="%", needs=all_runs("typical", schemes=(*others, "dart")), expect=expect, why=why,
                chosen=Chosen.IN_SIGHT if number == 2 else None,
            )
            for number, (place, whom, others, published, quote, expect, why) in enumerate(
                (
                    ("Fig 13a", "DCQCN", ("dcqcn",), 0.48, _IMPROVEMENT, Outcome.DIRECTION, _HARDLY_OVER_DCQCN),
                    ("Fig 13a", "TIMELY", ("timely",), 0.68, _IMPROVEMENT, Outcome.HOLDS, ""),
                    ("abstract", "DCQCN and TIMELY", BASELINES, 0.58, _HEADLINE, Outcome.DIRECTION, _HARDLY_OVER_DCQCN),
                ),
                1,
            )
        ),
        clos_claim(
            "dart-f13-4", "Fig 13c", "throughput gain", "heavy mix, DCQCN and TIMELY", "173%",
            quote="With the heavy mix (Figure 13(c)), Dart is 173% better (on average) than DCQCN and TIMELY.",
            measure=_gain_heavy, band=All({"gain": _has_size(1.73)}, _MORE), direction=All({"gain": IS_GAIN}, _MORE),
            unit="%", needs=all_runs("typical", "heavy", schemes=(*BASELINES, "dart")), expect=Outcome.DIRECTION,
            why="Dart gains 28% over DCQCN, whose median stays near Dart's, and 138% over TIMELY. If TIMELY's minimum"
            " RTT is 20 us instead of 60, the latter is 329%, and the claim holds.",
        ),
        clos_claim(
            "dart-f13-5", "Fig 13", "order", "all mixes", "Dart > DCQCN, TIMELY > DCTCP; light above typical",
            quote="DCQCN and TIMELY outperform DCTCP in throughput ... Though the relative ordering with the light "
            "mix (Figure 13(b)) remains the same as that with the typical mix, the absolute throughputs are higher",
            measure=_order, band=All(_IN_ORDER | {"every load": Each(MoreThan(1))}), direction=All(_IN_ORDER), unit="x",
            needs=all_runs(*LOADS), expect=Outcome.DIRECTION,
            why="On the mean over loads the order is the published one. In the light mix, most of which is long flows,"
            " TIMELY is faster than Dart at 20 and 40%, as its long flows are in every mix.",
        ),
    )  # fmt: skip

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the rows of a reading; for long flows' throughput, that in the place of all flows'."""
        if reading != LONG_FLOWS:
            return super().under(table, reading)
        if not having(table, quantity=_GOODPUT_OF_LONG).any():
            return None
        rows = super().under(table[~having(table, quantity=_GOODPUT)], DEFAULT)
        return None if rows is None else rows.replace({"quantity": {_GOODPUT_OF_LONG: _GOODPUT}})
