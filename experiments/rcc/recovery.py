"""RCC, figure 13: a PID whose windows recover, and Homa with a receiver that accepts packets only in order."""

from rdmacc.experiments.rcc.fat_tree import FatTreeCase, FatTreeFigure, scheme_for, sizes_of
from rdmacc.experiments.rcc.oversubscribed import FabricCase
from rdmacc.experiments.rcc.receivers import OrderedHoma, ReturningRcc
from ..api import *

_NAME = "web_search"
BACK, IN_ORDER = "windows come back", "takes packets in order"
_LOADS = {"1:1": 0.5, "2:1": 0.3}
"""Load by fabric; each load has only one fabric."""


@dataclass(frozen=True)
class Changed(FatTreeCase):
    """A run of RCC or Homa with its modified receiver."""

    @property
    def identity(self) -> dict[str, Any]:
        return super().identity | {"changes": BACK if self.scheme == "rcc" else IN_ORDER}

    def point(self, scale: str, seed: int) -> Point:
        point = super().point(scale, seed)
        own = scheme_for(self.scheme, sizes_of(self.workload, scale))
        assert point.scenario is not None
        if self.scheme == "rcc":
            own = replace(own, control=(ReturningRcc(**vars(own.control[0])),))
            scenario = replace(point.scenario, scheme=own)
        else:
            own = replace(own, recovery=OrderedHoma(**vars(own.recovery)))
            scenario = replace(point.scenario, scheme=own, until=ms(30))
        return replace(point, scenario=scenario)


class ChangedFabric(Changed, FabricCase):
    """The same on the fabric of half the rate."""


def _times(rows: pd.DataFrame, scheme: str, fabric: str, changes: str = "") -> float:
    at = by_load(rows, "all mean", scheme=scheme, workload=_NAME, changes=changes).mean()
    return float(at[_LOADS[fabric]])


def _below_ewa(rows: pd.DataFrame) -> dict[str, float]:
    return {words: 1 - _times(rows, "rcc", "2:1", changes) / _times(rows, "rcc-ewa", "2:1") for words, changes in
            (("as published", ""), (BACK, BACK))}  # fmt: skip


def _of_homa(rows: pd.DataFrame) -> float:
    first = rows[rows["seed"] == 0]
    if not having(first, scheme="homa", changes="").any():
        raise NotJudged("one seed decides it")
    return _times(first, "homa", "1:1", IN_ORDER) / _times(first, "homa", "1:1")


def _beside() -> list[FatTreeCase]:
    found: list[FatTreeCase] = [FatTreeCase(one, _NAME, _LOADS["1:1"]) for one in ("homa", "rcc-ewa", "rcc")]
    return [*found, *(FabricCase(one, _NAME, _LOADS["2:1"]) for one in ("rcc-ewa", "rcc"))]


_OWN = (
    Changed("homa", _NAME, _LOADS["1:1"]), ChangedFabric("rcc", _NAME, _LOADS["2:1"]),
    Changed("rcc", _NAME, _LOADS["1:1"]),
)  # fmt: skip


class Recovery(FatTreeFigure):
    name = "rcc.recovery"
    claims = (
        claim("rcc-r-1a", measure=_below_ewa, band=At(BACK, Part(0.19)), direction=At(BACK, MoreThan(0))),
        claim("rcc-r-2a", measure=lambda rows: _times(rows, "rcc", "1:1", BACK) / _times(rows, "rcc-ewa", "1:1"),
              band=Within(1, by=0.05)),
        claim("rcc-r-3a", measure=_of_homa, band=Between(1.4, 2), direction=MoreThan(1)),
    )  # fmt: skip

    panels = tuple(
        Bars(
            quantity="all mean", by=("scheme", "changes"), where={"load": load}, is_flat=True, unit="us", legend=None,
            label="average FCT", title=f"{fabric} fabric, load {load:.0%}",
            looks={
                ("rcc-ewa", ""): ("RCC-EWA", "vermilion"), ("rcc", ""): ("RCC", "blue"),
                ("rcc", BACK): (f"RCC, {BACK}", "sky"), ("homa", ""): ("Homa", "green"),
                ("homa", IN_ORDER): (f"Homa, {IN_ORDER}", "yellow"),
            },
        )
        for fabric, load in _LOADS.items()
    )  # fmt: skip

    def seeds_of(self, case: FatTreeCase) -> int:
        return 1 if isinstance(case, Changed) and case.scheme == "homa" else self.seeds

    under = Experiment.under

    def cases(self, scale: str) -> list[FatTreeCase]:
        return [*_beside(), *_OWN]
