"""RCC, figure 10: FCT by flow size under web search. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from rdmacc.experiments.rcc.breakdown import BETTER, LONG_SIGN, MUCH_LOWER, MUCH_LOWER_LONG, Breakdown
from ..api import *
from .fat_tree import *
from .fct import *

_NAME = "web_search"
_ALL = tuple(FatTreeCase(scheme, _NAME, load) for scheme in SCHEMES for load in LOADS)


@register_experiment
class Figure10(Breakdown):
    name = "rcc.fig10"
    title = "FCT breakdown by flow size, web search"
    description = "average and 99th percentile FCT of short and of long flows, web search: RCC and five schemes"
    number = 10
    workload = _NAME
    claims = (
        claim("rcc-f10-1", measure=partial(mean_and_tail, "long", DCQCN, _NAME), band=MUCH_LOWER_LONG,
              direction=LONG_SIGN, needs=_ALL),
        claim("rcc-f10-2", measure=partial(mean_and_tail, "short", "hpcc", _NAME), band=BETTER,
              direction=LOWER_ON_AVERAGE, needs=_ALL),
        claim("rcc-f10-3", measure=partial(mean_and_tail, "short", DCQCN, _NAME), band=MUCH_LOWER,
              direction=LOWER_ON_AVERAGE, needs=_ALL),
        claim("rcc-f10-4", measure=partial(by_scheme, quantity="short mean", name=_NAME),
              band=All({NAMES[one]: Each(MoreThan(0) if one in ("hpcc", "homa") else AtLeast(0.1)) for one in OTHERS}),
              direction=LOWER_ON_AVERAGE, needs=_ALL),
        claim("rcc-f10-5", measure=partial(by_scheme, quantity="long mean", name=_NAME), band=BETTER,
              direction=LOWER_ON_AVERAGE, needs=_ALL),
    )  # fmt: skip
