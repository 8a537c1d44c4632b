"""Micro-benchmarks: closed forms, and measurements on results with a known outcome.

Schemes modified by experiments: both engines agree, and the modification has its effect.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

import rdmacc
from rdmacc import topology
from rdmacc.experiments.micro.dragonfly import GLOBAL_LINKS, HOSTS, ROUTERS, TRAFFICS, links_on_average, most_load
from rdmacc.experiments.rcc.receivers import OrderedHoma, ReturningRcc
from rdmacc.experiments.rcc.recovery import BACK, IN_ORDER
from rdmacc.experiments.ren.handicaps import LEAST, PATHS, Variation
from rdmacc.protocols.rcc import Rcc
from rdmacc.topology.direct import dragonfly_route

GROUPS = ROUTERS * GLOBAL_LINKS + 1
GROUP = ROUTERS * HOSTS


@pytest.mark.parametrize("traffic", TRAFFICS)
@pytest.mark.parametrize("routing", ["minimal", "Valiant"])
def test_closed_forms_equal_a_sum_over_all_paths(traffic, routing):
    """All pairs of hosts and every third group, with equal weights: the busiest link, and the links on a path."""
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


_NETWORK = partial(rdmacc.leaf_spine, 3, 2, 3, rate="40Gbps", delay="1us")
_WORK = partial(rdmacc.poisson, _NETWORK(), "web_search", 0.8, count=25, seed=3)


def _changed(words):
    if words in (LEAST, PATHS):
        return Variation("ren", "web_search", 0.5, part=words).run_as(), rdmacc.preset("ren-2021")["ren"]
    own = rdmacc.preset("rcc-2021")["rcc" if words == BACK else "homa"].replace(routing="spray-random")
    if words == BACK:
        one = ReturningRcc(**{**vars(own.control[0]), "late_samples": 1})
        return replace(own, control=(one,)), replace(own, control=(Rcc(**vars(one)),))
    return replace(own, recovery=OrderedHoma(**vars(own.recovery))), own


def _run(scheme, engine="compiled"):
    return rdmacc.simulate(_NETWORK(), _WORK(), scheme, until="20ms", engine=engine)


@pytest.mark.parametrize("words", [LEAST, PATHS, BACK, IN_ORDER])
def test_both_engines_agree_on_a_variation_that_differs_from_the_original(words):
    variation, original = _changed(words)
    found = _run(variation)
    assert found.digest() == _run(variation, "simpy").digest()
    assert found.digest() != _run(original).digest()
    assert (found.flows["status"] == "finished").all()


def test_an_in_order_receiver_rejects_reordered_packets():
    """So senders send more packets than the messages have, although none is lost."""
    variation, original = _changed(IN_ORDER)
    again, before = (_run(one).flows["retransmissions"].sum() for one in (variation, original))
    assert again > before == 0
