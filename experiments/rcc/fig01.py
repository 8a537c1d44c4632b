"""RCC, figure 1: DCQCN and TIMELY with two bottlenecks."""

from ..api import *
from .fat_tree import DCQCN, OTHER_DCQCN
from .multi_bottleneck import *
from .setup import *

_SCHEMES = (DCQCN, "timely")


_LONG = AtLeast(10e9)


def _off(rows: pd.DataFrame, scheme: str) -> dict[str, float]:
    """Return the shortest time over seeds, in ps, for which a scheme is 20% or more off max-min shares."""
    own = chosen(rows, scheme=scheme)
    return {f"after flow {phase}": own[f"off max-min, phase {phase}"].min() for phase in (2, 3)}


def _steadiness(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    own = chosen(rows, scheme="timely")
    return {
        f"{phase} flows": {
            "Jain's index": own[f"Jain, phase {phase}"].max(),
            "swing of the queue over its mean": (
                own[f"swing {place}, phase {phase}"] / own[f"queue {place}, phase {phase}"].clip(1.0)
            ).min(),
        }
        for phase, place in ((2, "in network"), (3, "last hop"))
    }


def _against_dcqcn(rows: pd.DataFrame) -> Measured:
    both = [f"goodput of flow {flow}, phase {phase}" for phase in (2, 3) for flow in (1, 2)]
    rates = {scheme: sum(sum(chosen(rows, scheme=scheme)[name]) for name in both) for scheme in _SCHEMES}
    off = {scheme: sum(_off(rows, scheme).values()) for scheme in _SCHEMES}
    ratios = {"use of the link": rates["timely"] / rates[DCQCN], "time off max-min": off["timely"] / off[DCQCN]}
    return Measured(ratios, f"{off['timely'] / 1e9:.1f} ms against {off[DCQCN] / 1e9:.1f} ms off max-min")


class Figure1(MultiBottleneck):
    name = "rcc.fig1"
    seeding = Seeding.POOLED
    schemes, seeds = (OTHER_DCQCN, "timely", DCQCN), 3
    starts_ms, end_ms, quick = (0, 100, 200), 300, 10
    claims = (
        claim("rcc-f1-1", measure=lambda rows: _off(rows, DCQCN), band=Each(_LONG), direction=Some(_LONG)),
        claim("rcc-f1-2", measure=_steadiness,
              band=Each(AnyOf({"Jain's index": LessThan(0.97), "swing of the queue over its mean": MoreThan(0.5)}))),
        claim("rcc-f1-2a", measure=_against_dcqcn,
              band=All({"use of the link": AtMost(1.02), "time off max-min": AtLeast(0.9)})),
    )  # fmt: skip

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        if reading != "DCQCN of HPCC's simulator":
            return super().under(table, reading)
        return in_place(table, {"scheme": DCQCN}, {"scheme": OTHER_DCQCN})

    def plot(self, table: pd.DataFrame) -> Figure:
        network = Sketch(title="(a) network", how=lambda ax, _: topology.draw(topology.rcc_multi_bottleneck(), ax))
        panels = [network, *(goodput_panel(table, *one) for one in zip(_SCHEMES, "bc", strict=True))]
        return self.drawn(panels, table, " (dotted: max-min shares)", size=(4, 3.4))
