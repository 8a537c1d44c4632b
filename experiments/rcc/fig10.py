"""RCC, figure 10: FCT by flow size under web search. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.rcc.breakdown import Breakdown
from rdmacc.experiments.rcc.fat_tree import LOADS, SCHEMES, Case, claim
from rdmacc.experiments.rcc.fct import OTHERS, by_scheme, in_words, lower_than

__all__ = ["Figure10"]

_NAME = "web_search"
_ALL = [Case(scheme, _NAME, load) for scheme in SCHEMES for load in LOADS]


def long_flows(name: str) -> Callable[[pd.DataFrame], Verdict]:
    """Return the judge of long flows against DCQCN: averages at every load, tails at some."""

    def verdict(rows: pd.DataFrame) -> Verdict:
        average = by_scheme(rows, "long mean", name, ["dcqcn"])
        tail = by_scheme(rows, "long p99", name, ["dcqcn"])
        least, most = float(average["dcqcn"].min()), float(tail["dcqcn"].max())
        words = f"average: {in_words(average)}; 99th percentile: {in_words(tail)}"
        return Verdict(words, least >= 0.05 and most >= 0.05, float(average["dcqcn"].mean()) > 0 and most > 0)

    return verdict


@register_experiment
class Figure10(Breakdown):
    """FCT of short and of long flows over the load: RCC and five schemes, web search."""

    name = "rcc.fig10"
    title = "FCT breakdown by flow size, web search"
    description = "average and 99th percentile FCT of short and of long flows, web search: RCC and five schemes"
    number = 10
    workload = _NAME
    claims = (
        claim(
            "rcc-f10-1", "V-D-2", "RCC's reduction of long flows' FCT over DCQCN", "web search, average; p99",
            "25 to 31%; up to 37%", "average >= 5% at every load, p99 >= 5% at some; direction: > 0",
            long_flows(_NAME), _ALL,
        ),
        claim(
            "rcc-f10-2a", "V-D-2", "RCC's reduction of short flows' FCT over HPCC", "web search, average and p99",
            "better", ">= -3% at every load; direction: > 0 on average",
            lower_than(_NAME, {"short mean": -0.03, "short p99": -0.03}, ["hpcc"]), _ALL,
        ),
        claim(
            "rcc-f10-3a", "V-D-2", "RCC's reduction of short flows' FCT over DCQCN", "web search, average; p99",
            "as under data mining: 10 to 25%; 21 to 50%", ">= 5%; >= 10% at every load; direction: > 0 on average",
            lower_than(_NAME, {"short mean": 0.05, "short p99": 0.10}, ["dcqcn"]), _ALL,
        ),
        claim(
            "rcc-f10-4a", "V-D-2", "RCC's reduction of short flows' FCT over each", "web search, average",
            "better than Homa and HPCC, much better than the others", "> 0 at every load; direction: on average",
            lower_than(_NAME, {"short mean": 0.0}, OTHERS), _ALL,
        ),
        claim(
            "rcc-f10-5a", "V-D-2", "RCC's reduction of long flows' FCT over each", "web search, average",
            "better than all", ">= 0 at every load; direction: on average",
            lower_than(_NAME, {"long mean": 0.0}, OTHERS), _ALL,
        ),
    )  # fmt: skip
