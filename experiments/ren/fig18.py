"""REN, figure 18: cache follower, four panels over the load."""

from ..api import *
from .leaf_spine import *
from .loads import *

PUBLISHED = {"AFCT": dict(zip(BASELINES, (0.36, 0.43, 0.30, 0.09, 0.17, 0.21), strict=True))}
"""Reductions at a load of 0.7, by quantity and scheme (6.1)."""


class Figure18(WorkloadFigure):
    name = "ren.fig18"
    workload = "cache_follower"
    published = PUBLISHED
    read_at = ONE_GRANT_FIRST
    claims = (
        short_flows_claim("ren-f18-1a", "cache_follower"),
        reduction_claim("ren-f18d-1", "cache_follower", PUBLISHED),
    )
