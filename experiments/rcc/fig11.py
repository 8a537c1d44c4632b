"""RCC, figure 11: FCT by flow size under data mining. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from rdmacc.experiments.rcc.fig10 import BETTER, LONG_SIGN, MUCH_LOWER, MUCH_LOWER_LONG, Breakdown
from ..api import *
from .fat_tree import *
from .fct import *

_NAME = "data_mining"
_claim = partial(claim, direction=LOWER_ON_AVERAGE, needs=cases(SCHEMES, [_NAME], "paper"))


class Figure11(Breakdown):
    name = "rcc.fig11"
    number = 11
    workload = _NAME
    claims = (
        _claim("rcc-f11-1", measure=partial(mean_and_tail, "short", DCQCN, _NAME), band=MUCH_LOWER),
        _claim("rcc-f11-2", measure=partial(mean_and_tail, "short", "hpcc", _NAME),
               band=Each(Each(Between(0, 0.1), "load"))),
        _claim("rcc-f11-3a", measure=partial(mean_and_tail, "long", DCQCN, _NAME), band=MUCH_LOWER_LONG,
               direction=LONG_SIGN),
        _claim("rcc-f11-4", measure=partial(mean_and_tail, "long", "hpcc", _NAME), band=BETTER),
    )  # fmt: skip
