"""RCC, figure 13: RCC without one of its two control laws, web search. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from ..api import *
from .fat_tree import *
from .fct import *
from .setup import *

_NAME = "web_search"
_PARTS = ("rcc-pid", "rcc-ewa")
PUBLISHED = {"rcc-pid": (0.28,), "rcc-ewa": (0.19,)}
"""Largest reductions of the average FCT by RCC (V-E-2)."""
_SIZES = All({NAMES[one]: up_to(Part(*size)) for one, size in PUBLISHED.items()})
_below = partial(by_scheme, name=_NAME, schemes=_PARTS)
_claim = partial(claim, direction=LOWER_AT_SOME_LOAD, needs=cases(VARIANTS, [_NAME], "paper"))


class Figure13(FatTreeFigure):
    name = "rcc.fig13"
    claims = (
        _claim("rcc-f13-1", measure=partial(_below, quantity="all mean"), band=_SIZES),
        _claim("rcc-f13-2", measure=partial(_below, quantity="all mean"), band=Each(Each(MoreThan(0), "load")),
               direction=LOWER_ON_AVERAGE),
        _claim("rcc-f13-3", measure=partial(_below, quantity="all p99"), band=_SIZES),
        _claim("rcc-f13-4a", measure=partial(_below, quantity="all slowdown"), band=LOWER_AT_SOME_LOAD, direction=None),
        _claim("rcc-f13-5a", measure=partial(_below, quantity="short slowdown"), band=LOWER_ON_AVERAGE),
    )  # fmt: skip

    def cases(self, scale: str) -> list[FatTreeCase]:
        return cases(VARIANTS, [_NAME], scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        over = "FCT over the ideal"
        panels = [
            fct_lines("all mean", VARIANTS, _NAME, "average"),
            fct_lines("all p99", VARIANTS, _NAME, "99th percentile"),
            reduction_lines("all mean", _PARTS, _NAME, PUBLISHED, title="average: RCC below the variant"),
            fct_lines("all slowdown", VARIANTS, _NAME, "mean slowdown", over, ""),
            fct_lines("short slowdown", VARIANTS, _NAME, "mean slowdown, flows below 100 KB", over, ""),
            reduction_lines("all slowdown", _PARTS, _NAME, {}, title="slowdown: RCC below variant"),
        ]
        more = " (hollow: largest published)"
        return self.drawn(panels, rows, more, columns=3, size=(3.7, 3.3), legend="outside lower center")
