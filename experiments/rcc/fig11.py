"""RCC, figure 11: FCT by flow size under data mining. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from rdmacc.experiments.rcc.breakdown import BETTER, LONG_SIGN, MUCH_LOWER, MUCH_LOWER_LONG, Breakdown
from ..api import *
from .fat_tree import *
from .fct import *

_NAME = "data_mining"
_ALL = tuple(FatTreeCase(scheme, _NAME, load) for scheme in SCHEMES for load in LOADS)


@register_experiment
class Figure11(Breakdown):
    name = "rcc.fig11"
    title = "FCT breakdown by flow size, data mining"
    description = "average and 99th percentile FCT of short and of long flows, data mining: RCC and five schemes"
    number = 11
    workload = _NAME
    claims = (
        Claim(
            "rcc-f11-1", "Fig 11a, b", "RCC's reduction of short flows' FCT over DCQCN", "data mining, average; p99",
            "10 to 25%; 21 to 50%",
            quote="RCC improves the average FCT by 10 ~ 25% and improves the 99th percentile FCT by 21 ~ 50% "
            "compared to DCQCN",
            measure=partial(mean_and_tail, "short", DCQCN, _NAME), band=MUCH_LOWER, direction=LOWER_ON_AVERAGE,
            unit="%", expect=Outcome.DIRECTION, too_small=FEW_FLOWS, needs=_ALL,
            why="The average is as published. The tail gains more: 64 to 70%.",
        ),
        Claim(
            "rcc-f11-2", "Fig 11a, b", "RCC's reduction of short flows' FCT over HPCC", "data mining, average and p99",
            "slightly better",
            quote="RCC has a slightly better performance than HPCC both in average FCT and 99th percentile FCT under "
            "the data mining workload",
            measure=partial(mean_and_tail, "short", "hpcc", _NAME), direction=LOWER_ON_AVERAGE,
            band=Each(Each(Between(0, 0.1), "load")), unit="%", chosen=Chosen.BY_RULE, too_small=FEW_FLOWS, needs=_ALL,
            expect=Outcome.DIRECTION,
            why="The averages are equal within 0.3%, and at a load of 30% HPCC's is the lower by 0.02%: both keep the"
            " queues short. The tail is 4 to 5% shorter.",
        ),
        Claim(
            "rcc-f11-3a", "V-D-2", "RCC's reduction of long flows' FCT over DCQCN", "data mining, average; p99",
            "25 to 31%; up to 37%", by=OURS,
            measure=partial(mean_and_tail, "long", DCQCN, _NAME), band=MUCH_LOWER_LONG, direction=LONG_SIGN, unit="%",
            expect=Outcome.DIRECTION,
            why="The average gains 16 to 25%, the tail 7 to 19%, both most at a load of 30%.",
            too_small=FEW_FLOWS, needs=_ALL,
        ),
        Claim(
            "rcc-f11-4", "V-D-2", "RCC's reduction of long flows' FCT over HPCC", "data mining, average and p99",
            "better",
            quote="In the data mining workload, RCC performs better than HPCC in terms of the average FCT and 99th "
            "percentile FCT.",
            measure=partial(mean_and_tail, "long", "hpcc", _NAME), band=BETTER, direction=LOWER_ON_AVERAGE, unit="%",
            too_small=FEW_FLOWS, needs=_ALL,
        ),
    )  # fmt: skip
