"""REN, figure 17: Hadoop cluster, four panels over the load.

Setup and assumptions: `rdmacc.experiments.ren.leaf_spine`. The paper gives no numbers for this figure alone; claims on
all four workloads are judged in `rdmacc.experiments.ren.gains`.
"""

from ..api import *
from .loads import *


@register_experiment
class Figure17(WorkloadFigure):
    name = "ren.fig17"
    title = "Hadoop Cluster application"
    description = "FCT of short flows, throughput of long ones and AFCT of all over the load, Hadoop cluster"
    workload = "hadoop"
    claims = (short_flows_claim("ren-f17-1a", "hadoop"),)
