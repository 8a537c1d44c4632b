"""REN, figure 16: web search, four panels over the load."""

from ..api import *
from .leaf_spine import *
from .loads import *

PUBLISHED = {"AFCT": dict(zip(BASELINES, (0.06, 0.41, 0.22, 0.02, 0.08, 0.11), strict=True))}
"""Reductions at a load of 0.7, by quantity and scheme (6.1)."""


class Figure16(WorkloadFigure):
    name = "ren.fig16"
    workload = "web_search"
    published = PUBLISHED
    read_at = ONE_GRANT_FIRST
    claims = (short_flows_claim("ren-f16-1a", "web_search"), reduction_claim("ren-f16d-1", "web_search", PUBLISHED))
