"""Micro-benchmarks: closed forms, and measurements on results with a known outcome."""

from collections import Counter
from itertools import pairwise

import pytest

from rdmacc import topology
from rdmacc.experiments import experiment
from rdmacc.experiments.micro.dragonfly import (
    GLOBAL_LINKS,
    HOSTS,
    ROUTERS,
    TRAFFICS,
    links_on_average,
    most_load,
)
from rdmacc.sweep.tidy import wide
from rdmacc.topology.direct import dragonfly_route
from tests.experiments.quick import quick_table

EXPERIMENT = experiment("micro.senders")


@pytest.fixture(scope="module")
def table():
    """Return the whole table, by the compiled engine."""
    return quick_table(EXPERIMENT.name)


@pytest.mark.slow
def test_rcp_shares_equally_and_line_rate_fills_the_buffer(table):
    """RCP gives all flows of a link one rate; without control PFC bounds the queue, and nothing is lost."""
    rows = wide(table)
    assert rows.loc["rcp, convergence of 4", "Jain's index"] > 0.99
    assert rows.loc["rcp, RTT fairness of 2", "near over far"] == pytest.approx(1.0, abs=0.02)
    assert rows.loc["line-rate, convergence of 4", "PFC pauses"] > 0
    assert rows.loc["line-rate, incast of 32", "queue, peak"] > rows.loc["hpcc, incast of 32", "queue, peak"]
    assert rows.loc["line-rate, incast of 32", "FCT, p99 over the link's"] == pytest.approx(1.0, abs=0.01)


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
