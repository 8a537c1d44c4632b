"""The dragonfly's experiment: closed forms beside a count over all paths, and claims that refuse other tables."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from rdmacc import topology
from rdmacc.experiments.framework.registry import EXPERIMENTS, load_summary
from rdmacc.experiments.micro.dragonfly import (
    GLOBAL_LINKS,
    HOSTS,
    ROUTERS,
    TRAFFICS,
    links_on_average,
    most_load,
)
from rdmacc.topology.direct import dragonfly_route

GROUPS = ROUTERS * GLOBAL_LINKS + 1
GROUP = ROUTERS * HOSTS


@pytest.mark.parametrize("traffic", TRAFFICS)
@pytest.mark.parametrize("routing", ["minimal", "Valiant"])
def test_closed_forms_are_what_all_paths_give(traffic, routing):
    """Every pair of hosts, and every third group, with equal weights: the busiest link, and links on a path."""
    graph = topology.dragonfly(ROUTERS, HOSTS, GLOBAL_LINKS)
    names = topology.hosts(graph)
    loads, links = Counter(), 0.0
    for one, src in enumerate(names):
        others = [i for i in range(len(names)) if i != one]
        if traffic == "adversarial":
            others = [(one + GROUP) % len(names)]
        for other in others:
            ends = {one // GROUP, other // GROUP}
            through = [None] if routing == "minimal" or len(ends) == 1 else sorted(set(range(GROUPS)) - ends)
            for third in through:
                path = dragonfly_route(graph, src, names[other], third)
                weight = 1 / len(others) / len(through)
                links += weight * (len(path) - 1) / len(names)
                for link in pairwise(path):
                    loads[link] += weight
    assert most_load(traffic, routing) == pytest.approx(1 / max(loads.values()))
    assert links_on_average(traffic, routing) == pytest.approx(links)


def verdicts(table):
    return {row["id"][-2:]: row["verdict"] for row in EXPERIMENTS["micro.dragonfly"].judge(table, "paper")}


@pytest.mark.parametrize(
    ("claim", "rows", "quantity", "change"),
    [
        ("1a", "point", "missing", lambda values: values + 1),
        ("2a", "share < 0.85", "accepted", lambda values: values * 0.95),
        ("2a", "share < 0.85", "accepted", lambda values: values * 1.05),
        ("2b", "routing == 'minimal'", "accepted", lambda values: values * 2),
        ("2b", "routing == 'Valiant'", "accepted", lambda values: values / 2),
        ("2b", "routing == 'Valiant' and traffic == 'uniform'", "accepted", lambda values: values * 1.8),
        ("2c", "routing == 'Valiant' and traffic == 'adversarial'", "accepted", lambda values: values / 4),
        ("2c", "routing == 'minimal' and traffic == 'adversarial'", "accepted", lambda values: values * 3),
        ("3a", "share == 0.1", "latency, mean", lambda values: values * 1.2),
        ("3a", "routing == 'Valiant'", "latency, mean", lambda values: values * 0.7),
    ],
)
def test_a_claim_says_no(claim, rows, quantity, change):
    table = load_summary("micro.dragonfly")
    assert verdicts(table)[claim] == "holds"
    chosen = (table["quantity"] == quantity) & (table.eval(rows) if rows != "point" else np.True_)
    table.loc[chosen, "value"] = change(table.loc[chosen, "value"])
    assert verdicts(table)[claim] == "does not hold"
