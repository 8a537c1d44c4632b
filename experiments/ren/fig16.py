"""REN, figure 16: web search, four panels over the load.

Setup and assumptions: `rdmacc.experiments.ren.leaf_spine`. Claims on all four workloads are judged in
`rdmacc.experiments.ren.gains`.
"""

from __future__ import annotations

from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.leaf_spine import BASELINES, cases
from rdmacc.experiments.ren.loads import WorkloadFigure, all_reduced, claim, short_flows_claim

__all__ = ["PUBLISHED", "Figure16"]

PUBLISHED = {"AFCT": dict(zip(BASELINES, (0.06, 0.41, 0.22, 0.02, 0.08, 0.11), strict=True))}
"""Reductions at a load of 0.7, by quantity and scheme (6.1)."""


@register_experiment
class Figure16(WorkloadFigure):
    """FCT of short flows, throughput of long ones and AFCT of all over the load, web search."""

    name = "ren.fig16"
    title = "Web Search application"
    description = "FCT of short flows, throughput of long ones and AFCT of all over the load, web search"
    workload = "web_search"
    published = PUBLISHED
    claims = (
        short_flows_claim(16, "web_search"),
        claim(
            "ren-f16d-1", "Fig 16d", "reduction of all flows' AFCT", "web search, load 0.7", "6, 41, 22, 2, 8, 11%",
            "each >= -3%, pHost and Homa >= 10%; direction: each positive",
            all_reduced("AFCT", "web_search", 0.7, dict.fromkeys(BASELINES, -0.03) | {"phost": 0.1, "homa": 0.1}),
            cases(["web_search"], [0.7]),
        ),
    )  # fmt: skip
