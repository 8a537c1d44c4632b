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


_MEDIAN = (
    "Where rates need not recover, half of the flows meet only their own incast's queue, which is the same for all"
    " schemes; detours and look-ahead's bytes cost Dart 2 to 7%."
)


def _beside_the_best(rows: pd.DataFrame) -> dict[str, float]:
    medians = {mix: compared(rows, "p50", mix) for mix in LOADS}
    found = {mix: of["Dart"] / of.drop(columns="Dart").min(axis=1) for mix, of in medians.items()}
    return {f"{mix}, {load}": value for mix, ratios in found.items() for load, value in ratios.items()}


def _of_baselines(*mixes: str) -> list[ClosCase]:
    return all_runs(*mixes, schemes=(*BASELINES, "dart"))


@register_experiment
class Figure12(LoadFigure):
    name = "dart.fig12"
    title = "Median flow completion latency"
    description = "Median FCT of flows of 8 KB over the load, set up as figure 11"
    quantity, published = "p50", PUBLISHED_MEDIAN
    look = MappingProxyType({"unit": "us", "label": "median of 8 KB flows"})
    claims = (
        clos_claim(
            "dart-f12-1", "Fig 12a", "mean median reduction vs DCQCN and TIMELY", "typical mix", "30% (1.4x)",
            quote="On average, Dart achieves 30% (1.4x) lower latency than DCQCN and TIMELY",
            measure=mean_of("p50", "typical", BASELINES), band=Each(Part(0.3)), direction=IS_GAIN, unit="%",
            chosen=Chosen.IN_SIGHT, needs=_of_baselines("typical"), expect=Outcome.DIRECTION,
            why="The mean is 35%, but of a DCQCN with no queue to remove and of a TIMELY whose kept rates are two to"
            " four times too slow (dart-f11a-5).",
        ),
        clos_claim(
            "dart-f12-2", "Fig 12a", "mean median reduction vs DCTCP", "typical mix", "66% (3x)",
            quote="66% (3x) lower latency than DCTCP for the typical load mix",
            measure=mean_of("p50", "typical", ("dctcp",)), band=At("mean", Part(0.66)), direction=IS_GAIN, unit="%",
            needs=all_runs("typical", schemes=("dctcp", "dart")),
        ),
        clos_claim(
            "dart-f12-3", "Fig 12bc", "mean median reduction vs DCQCN and TIMELY", "light, heavy mix", "36%, 29%",
            quote="For the light mix and the heavy mix (Figure 12(b) and Figure 12(c), respectively), the latency "
            "reductions are 36% and 29%, respectively.",
            measure=lambda rows: {mix: mean_of("p50", mix, BASELINES)(rows)["mean"] for mix in ("light", "heavy")},
            band=All({"light": Part(0.36), "heavy": Part(0.29)}), direction=IS_GAIN, unit="%",
            needs=_of_baselines("light", "heavy"),
            expect=Outcome.FAILS, why=f"Dart gains nothing in the light mix, and 59% in the heavy one. {_MEDIAN}",
        ),
        clos_claim(
            "dart-f12-4", "Fig 12", "Dart's median / the lowest of the others", "all mixes and loads",
            "significantly lower",
            quote="Dart achieves significantly lower median latency at all load levels and load mixes as well",
            measure=_beside_the_best, band=Each(AtMost(0.9), "mix and load"), direction=Each(LessThan(1)),
            needs=all_runs(*LOADS), chosen=Chosen.BY_RULE, expect=Outcome.FAILS,
            why=f"It is 7% above DCQCN's in the light mix, where neither waits for anything. {_MEDIAN}",
        ),
    )  # fmt: skip
