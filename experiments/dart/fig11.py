"""Dart, figure 11: tail latency of four schemes at 1,024 hosts. Setup: `rdmacc.experiments.dart.clos`."""

from __future__ import annotations

from ..api import *
from .clos import *
from .loads import *

PUBLISHED_TAIL = {
    ("typical", 0.2): 0.16, ("typical", 0.4): 0.21, ("typical", 0.6): 0.07,
    **{("light", load): 1.0 for load in LOADS["light"]}, **{("heavy", load): 0.2 for load in LOADS["heavy"]},
}  # fmt: skip
"""Dart's p99 relative to DCQCN's: 84% and 93% less at 20% and 60% (VI-C), 79% less than DCQCN and TIMELY at 20 and 40%,
comparable in the light mix, 77 to 83% less in the heavy one (VI-B)."""


def _each_reduction(rows: pd.DataFrame, mix: str = "typical") -> dict[str, float]:
    found = over(rows, "p99", mix, OTHERS, (0.2, 0.4))
    return {f"{name}, {load:.0%}": value for load, row in found.to_dict("index").items() for name, value in row.items()}


def _from_40_to_60(rows: pd.DataFrame) -> Measured:
    p99 = compared(rows, "p99", "typical")
    at_60 = p99.loc["60%"]
    shares = ", ".join(f"{at_60['Dart'] / at_60[NAMES[one]]:.0%} of {NAMES[one]}'s" for one in OTHERS)
    return Measured(at_60 / p99.loc["40%"], f"at 60% Dart's is {shares}")


def _timely(rows: pd.DataFrame) -> pd.Series[float]:
    p99 = compared(rows, "p99", "typical")
    return p99["TIMELY"] / p99["DCQCN"]


def _overhead(rows: pd.DataFrame) -> dict[str, float]:
    p99 = compared(rows, "p99", "typical").loc[["20%", "40%"]]
    return {
        f"above {NAMES[one]}, {load}": of["DCTCP"] - of[NAMES[one]] for load, of in p99.iterrows() for one in BASELINES
    }


def _last_hop(rows: pd.DataFrame) -> Measured:
    share = compared(rows, "marks at last hop", "typical")["DCTCP"]
    return Measured(share.mean(), ", ".join(f"{value:.0%} at {load}" for load, value in share.items()))


def _farthest(rows: pd.DataFrame) -> pd.Series[float]:
    p99 = compared(rows, "p99", "light")[["DCQCN", "TIMELY", "Dart"]]
    return p99.max(axis=1) / p99.min(axis=1)


def _growth(rows: pd.DataFrame, mix: str) -> Any:
    p99 = compared(rows, "p99", mix)
    return p99.loc["40%"] / p99.loc["20%"]


def _growths(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    growth = {mix: _growth(rows, mix) for mix in ("light", "typical", "heavy")}
    return {name: {mix: each[name] for mix, each in growth.items()} for name in (NAMES[one] for one in OTHERS)}


_OTHERS_SATURATE = dict.fromkeys((NAMES[one] for one in OTHERS), AtLeast(1.5))
_TYPICAL, _HEAVY = all_runs("typical"), all_runs("heavy")
_OF_BASELINES = all_runs("typical", schemes=(*BASELINES, "dart"))


class Figure11(LoadFigure):
    name = "dart.fig11"
    quantity, published = "p99", PUBLISHED_TAIL
    look = MappingProxyType({"unit": "us", "label": "p99 of 8 KB flows", "log": "y"})
    claims = (
        claim("dart-f11a-1", measure=mean_of("p99", "typical", OTHERS, (0.2, 0.4)),
              band=All({"mean": Part(0.82)}, Each(MoreThan(0))), direction=IS_GAIN, needs=_TYPICAL),
        claim("dart-f11a-2", measure=_each_reduction, band=Each(Part(0.79, 0.89)), direction=IS_GAIN, needs=_TYPICAL),
        claim("dart-f11a-3", measure=mean_of("p99", "typical", BASELINES, (0.2, 0.4)), band=At("mean", Part(0.79)),
              direction=IS_GAIN, needs=_OF_BASELINES),
        claim("dart-f11a-4", measure=_from_40_to_60,
              band=All(_OTHERS_SATURATE, {"Dart": LessThan(1.5)}, Lowest("Dart")), direction=Lowest("Dart"),
              needs=_TYPICAL),
        claim("dart-f11a-5", measure=_timely, band=Each(Between(1 / 1.1, 1.1), "load"),
              needs=all_runs("typical", schemes=BASELINES)),
        claim("dart-f11-1", measure=_overhead, band=Each(MoreThan(0)), needs=all_runs("typical", schemes=OTHERS)),
        claim("dart-f11-2", measure=_last_hop, band=Part(0.72), direction=MoreThan(0.5),
              needs=all_runs("typical", schemes=("dctcp",))),
        claim("dart-f11b-1", measure=_farthest, band=Each(AtMost(1.1), "load"),
              needs=all_runs("light", schemes=(*BASELINES, "dart"))),
        claim("dart-f11c-1", measure=partial(_each_reduction, mix="heavy"), band=Each(Part(0.77, 0.83)),
              direction=IS_GAIN, needs=_HEAVY),
        claim("dart-f11c-2", measure=lambda rows: _growth(rows, "heavy"), band=All(_OTHERS_SATURATE, Lowest("Dart")),
              direction=Lowest("Dart"), needs=_HEAVY),
        claim("dart-f11-3", measure=_growths, band=Each(Ordered("<="), "scheme"),
              direction=Some(Ordered("<="), count=2), needs=all_runs(*LOADS, schemes=OTHERS)),
    )  # fmt: skip
