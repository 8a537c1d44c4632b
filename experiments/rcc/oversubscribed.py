"""RCC, figure 13 on a fabric with links of half the rate, so each tier is oversubscribed by 2."""

from ..api import *
from .fat_tree import *
from .fct import *
from .setup import *

_NAME = "web_search"
_FABRIC = "200Gbps"
_LOADS = {"quick": (0.3,), "paper": (0.3, 0.4, 0.5)}
_PARTS = VARIANTS[1:]
_TREES: dict[str, Callable[[], Graph]] = {
    "quick": partial(quick_tree, fabric_rate=_FABRIC),
    "paper": partial(topology.rcc_fat_tree, fabric_rate=_FABRIC),
}


class FabricCase(FatTreeCase):
    """A run with slower links between the switches."""

    trees = _TREES

    def point(self, scale: str, seed: int) -> Point:
        point = super().point(scale, seed)
        return replace(point, name=f"{point.name}, 2:1")


_ALL = tuple(FabricCase(scheme, _NAME, load) for load in _LOADS["paper"] for scheme in VARIANTS)


def _claim(id: str, quantity: str) -> Claim:
    return claim(id, measure=partial(by_scheme, quantity=quantity, name=_NAME, schemes=_PARTS), band=LOWER_ON_AVERAGE,
                 needs=_ALL)  # fmt: skip


class Oversubscribed(FatTreeFigure):
    name = "rcc.oversubscribed"
    claims = (
        _claim("rcc-o-1a", "all slowdown"),
        _claim("rcc-o-2a", "short slowdown"),
        _claim("rcc-o-3a", "all mean"),
    )

    def cases(self, scale: str) -> list[FabricCase]:
        return [FabricCase(scheme, _NAME, load) for load in _LOADS[scale] for scheme in VARIANTS]

    def draw(self, rows: pd.DataFrame) -> Figure:
        looks = {scheme: LOOKS[scheme] for scheme in VARIANTS}
        kinds = (
            ("all slowdown", "all flows", "mean slowdown", ""),
            ("short slowdown", "flows below 100 KB", "mean slowdown", ""),
            ("all mean", "all flows", "average FCT", "us"),
        )
        panels = [
            Bars(quantity=quantity, looks=looks, over="load", title=title, label=label, unit=unit)
            for quantity, title, label, unit in kinds
        ]
        return self.drawn(panels, rows, ", web search", size=(3.6, 3.6), legend="outside lower center")
