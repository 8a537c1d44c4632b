"""RCC, figure 11: FCT by flow size under data mining. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from __future__ import annotations

from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.rcc.breakdown import Breakdown
from rdmacc.experiments.rcc.fat_tree import LOADS, SCHEMES, Case, claim
from rdmacc.experiments.rcc.fct import lower_than
from rdmacc.experiments.rcc.fig10 import long_flows

__all__ = ["Figure11"]

_NAME = "data_mining"
_ALL = [Case(scheme, _NAME, load) for scheme in SCHEMES for load in LOADS]


@register_experiment
class Figure11(Breakdown):
    """FCT of short and of long flows over the load: RCC and five schemes, data mining."""

    name = "rcc.fig11"
    title = "FCT breakdown by flow size, data mining"
    description = "average and 99th percentile FCT of short and of long flows, data mining: RCC and five schemes"
    number = 11
    workload = _NAME
    claims = (
        claim(
            "rcc-f11-1", "Fig 11a, b", "RCC's reduction of short flows' FCT over DCQCN", "data mining, average; p99",
            "10 to 25%; 21 to 50%", ">= 5%; >= 10% at every load; direction: > 0 on average",
            lower_than(_NAME, {"short mean": 0.05, "short p99": 0.10}, ["dcqcn"]), _ALL,
        ),
        claim(
            "rcc-f11-2", "Fig 11a, b", "RCC's reduction of short flows' FCT over HPCC", "data mining, average and p99",
            "slightly better", ">= -3% at every load; direction: > 0 on average",
            lower_than(_NAME, {"short mean": -0.03, "short p99": -0.03}, ["hpcc"]), _ALL,
        ),
        claim(
            "rcc-f11-3a", "V-D-2", "RCC's reduction of long flows' FCT over DCQCN", "data mining, average; p99",
            "25 to 31%; up to 37%", "average >= 5% at every load, p99 >= 5% at some; direction: > 0",
            long_flows(_NAME), _ALL,
        ),
        claim(
            "rcc-f11-4a", "V-D-2", "RCC's reduction of long flows' FCT over HPCC", "data mining, average and p99",
            "better", ">= -3% at every load; direction: > 0 on average",
            lower_than(_NAME, {"long mean": -0.03, "long p99": -0.03}, ["hpcc"]), _ALL,
        ),
    )  # fmt: skip
