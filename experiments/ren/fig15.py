"""REN, figure 15: data mining, four panels over the load."""

from ..api import *
from .leaf_spine import *
from .loads import *

PUBLISHED = {"p99 FCT, short": dict(zip(BASELINES, (0.73, 0.68, 0.52, 0.33, 0.56, 0.28), strict=True))}
"""Reductions at a load of 0.7, by quantity and scheme (6.1)."""


class Figure15(WorkloadFigure):
    name = "ren.fig15"
    workload = "data_mining"
    published = PUBLISHED
    claims = (short_flows_claim("ren-f15-1a", "data_mining"), reduction_claim("ren-f15b-1", "data_mining", PUBLISHED))
