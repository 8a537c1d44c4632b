"""REN, figure 18: cache follower, four panels over the load.

Setup and assumptions: `rdmacc.experiments.ren.leaf_spine`. Claims on all four workloads are judged in
`rdmacc.experiments.ren.gains`.
"""

from __future__ import annotations

from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.leaf_spine import BASELINES, cases
from rdmacc.experiments.ren.loads import WorkloadFigure, all_reduced, claim, short_flows_claim

__all__ = ["PUBLISHED", "Figure18"]

PUBLISHED = {"AFCT": dict(zip(BASELINES, (0.36, 0.43, 0.30, 0.09, 0.17, 0.21), strict=True))}
"""Reductions at a load of 0.7, by quantity and scheme (6.1)."""


@register_experiment
class Figure18(WorkloadFigure):
    """FCT of short flows, throughput of long ones and AFCT of all over the load, cache follower."""

    name = "ren.fig18"
    title = "Cache Follower application"
    description = "FCT of short flows, throughput of long ones and AFCT of all over the load, cache follower"
    workload = "cache_follower"
    published = PUBLISHED
    claims = (
        short_flows_claim(18, "cache_follower"),
        claim(
            "ren-f18d-1", "Fig 18d", "reduction of all flows' AFCT", "cache follower, load 0.7",
            "36, 43, 30, 9, 17, 21%", "each >= 5%, NDP positive; direction: each positive",
            all_reduced("AFCT", "cache_follower", 0.7, dict.fromkeys(BASELINES, 0.05) | {"ndp": 0.0}),
            cases(["cache_follower"], [0.7]),
        ),
    )  # fmt: skip
