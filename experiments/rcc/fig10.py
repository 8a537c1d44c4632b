"""RCC, figure 10: FCT by flow size under web search. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from ..api import *
from .fat_tree import *
from .fct import *
from .setup import *

_NAME = "web_search"
_claim = partial(claim, direction=LOWER_ON_AVERAGE, needs=cases(SCHEMES, [_NAME], "paper"))
OVER_DCQCN = {
    "short mean": (0.10, 0.25), "short p99": (0.21, 0.50), "long mean": (0.25, 0.31), "long p99": (0.0, 0.37),
}  # fmt: skip
"""V-D-2: short flows in data mining, "similar" in web search; long ones 25 to 31%, and up to 37%."""
BETTER = Each(Each(MoreThan(0), "load"))
"""RCC is better at every load."""
MUCH_LOWER = All({"average": Each(Part(0.10, 0.25), "load"), "99th percentile": Each(Part(0.21, 0.50), "load")})
"""Short flows, relative to DCQCN."""
MUCH_LOWER_LONG = All({"average": Each(Part(0.25, 0.31), "load"), "99th percentile": up_to(Part(0.37))})
"""Long flows, relative to DCQCN."""
LONG_SIGN = All({"average": At("mean", MoreThan(0)), "99th percentile": Some(MoreThan(0), of="the loads")})
_PANELS = {
    "short mean": "(a) short flows: average",
    "short p99": "(b) short flows: 99th percentile",
    "long mean": "(c) long flows: average",
    "long p99": "(d) long flows: 99th percentile",
}


class Breakdown(FatTreeFigure):
    """Four panels over the load: short and long flows of one workload."""

    number: ClassVar[int]
    workload: ClassVar[str]

    def cases(self, scale: str) -> list[FatTreeCase]:
        return cases((*SCHEMES, OTHER_DCQCN), [self.workload], scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        panels = [
            replace(fct_lines(one, SCHEMES, self.workload, title, log="y"), also=partial(self._draw_published, one))
            for one, title in _PANELS.items()
        ]
        words = f"RCC, figure {self.number}: {WORKLOADS[self.workload].name}, flows below 100 KB and above 1 MB"
        figure = draw_panels(panels, rows, size=(3.6, 4.0), legend="outside lower center")
        figure.suptitle(f"{words} (grey: RCC as published, relative to our DCQCN)")
        return figure

    def _draw_published(self, quantity: str, ax: Axes, rows: pd.DataFrame) -> None:
        least, most = OVER_DCQCN[quantity]
        dcqcn = means(rows, quantity, DCQCN, self.workload) / 1e6
        ax.fill_between(dcqcn.index * 100, dcqcn * (1 - most), dcqcn * (1 - least), color="0.5", alpha=0.25)


class Figure10(Breakdown):
    name = "rcc.fig10"
    number = 10
    workload = _NAME
    claims = (
        _claim("rcc-f10-1", measure=partial(mean_and_tail, "long", DCQCN, _NAME), band=MUCH_LOWER_LONG,
               direction=LONG_SIGN),
        _claim("rcc-f10-2", measure=partial(mean_and_tail, "short", "hpcc", _NAME), band=BETTER),
        _claim("rcc-f10-3", measure=partial(mean_and_tail, "short", DCQCN, _NAME), band=MUCH_LOWER),
        _claim("rcc-f10-4", measure=partial(by_scheme, quantity="short mean", name=_NAME),
               band=All({
                   NAMES[one]: Each(MoreThan(0) if one in ("hpcc", "homa") else AtLeast(0.1)) for one in OTHERS
               })),
        _claim("rcc-f10-5", measure=partial(by_scheme, quantity="long mean", name=_NAME), band=BETTER),
    )  # fmt: skip
