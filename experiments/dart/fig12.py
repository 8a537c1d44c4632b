"""Dart, figure 12: median latency of four schemes at 1,024 hosts. Setup: `rdmacc.experiments.dart.clos`."""

from ..api import *
from .clos import *
from .loads import *

PUBLISHED_MEDIAN = {
    (mix, load): relative
    for mix, relative in {"typical": 0.7, "light": 0.64, "heavy": 0.71}.items()
    for load in LOADS[mix]
}
"""Dart's median relative to DCQCN's and TIMELY's, the mean over loads (VI-B)."""
_of_baselines = partial(all_runs, schemes=(*BASELINES, "dart"))


def _beside_the_best(rows: pd.DataFrame) -> dict[str, float]:
    medians = {mix: compared(rows, "p50", mix) for mix in LOADS}
    found = {mix: of["Dart"] / of.drop(columns="Dart").min(axis=1) for mix, of in medians.items()}
    return {f"{mix}, {load}": value for mix, ratios in found.items() for load, value in ratios.items()}


class Figure12(LoadFigure):
    name = "dart.fig12"
    quantity, published = "p50", PUBLISHED_MEDIAN
    look = MappingProxyType({"unit": "us", "label": "median of 8 KB flows"})
    claims = (
        claim("dart-f12-1", measure=mean_of("p50", "typical", BASELINES), band=Each(Part(0.3)), direction=IS_GAIN,
              needs=_of_baselines("typical")),
        claim("dart-f12-2", measure=mean_of("p50", "typical", ("dctcp",)), band=At("mean", Part(0.66)),
              direction=IS_GAIN, needs=all_runs("typical", schemes=("dctcp", "dart"))),
        claim("dart-f12-3",
              measure=lambda rows: {mix: mean_of("p50", mix, BASELINES)(rows)["mean"] for mix in ("light", "heavy")},
              band=All({"light": Part(0.36), "heavy": Part(0.29)}), direction=IS_GAIN,
              needs=_of_baselines("light", "heavy")),
        claim("dart-f12-4", measure=_beside_the_best, band=Each(AtMost(0.9), "mix and load"),
              direction=Each(LessThan(1)), needs=all_runs(*LOADS)),
    )  # fmt: skip
