"""REN, figure 17: Hadoop cluster, four panels over the load."""

from ..api import *
from .loads import *


class Figure17(WorkloadFigure):
    name = "ren.fig17"
    workload = "hadoop"
    claims = (short_flows_claim("ren-f17-1a", "hadoop"),)
