"""REN, figure 15: data mining, four panels over the load.

Setup and assumptions: `rdmacc.experiments.ren.leaf_spine`. Claims on all four workloads are judged in
`rdmacc.experiments.ren.gains`.
"""

from rdmacc.experiments.ren.leaf_spine_readings import FEWEST
from ..api import *
from .leaf_spine import *
from .loads import *

PUBLISHED = {"p99 FCT, short": dict(zip(BASELINES, (0.73, 0.68, 0.52, 0.33, 0.56, 0.28), strict=True))}
"""Reductions at a load of 0.7, by quantity and scheme (6.1)."""


@register_experiment
class Figure15(WorkloadFigure):
    name = "ren.fig15"
    title = "Data Mining application"
    description = "FCT of short flows, throughput of long ones and AFCT of all over the load, data mining"
    workload = "data_mining"
    published = PUBLISHED
    read_at = MappingProxyType({FEWEST: (0.5, 0.7), **WorkloadFigure.read_at})
    claims = (
        short_flows_claim(15, "data_mining", f"{THEY_SCHEDULE} The four are within 8% of each other."),
        reduction_claim(
            "ren-f15b-1", "data_mining", PUBLISHED,
            "REN reduces the 99th percentile FCT for short flows by ~73%, ~68%, ~52%, ~33%, ~56% and ~28% at 0.7 load"
            " over DCTCP, pHost, Homa, NDP, ExpressPass and Aeolus, respectively",
            f"{THEY_SCHEDULE} REN is 44% below DCTCP, 94% below ExpressPass and 31% below Aeolus, 6% below NDP, 7 and"
            " 12% above pHost and Homa.",
        ),
    )  # fmt: skip
