"""Networks that are refused, and the error messages."""

import networkx as nx
import pytest

from rdmacc import messages, topology, workload
from rdmacc.topology.base_times import base_fct_ps
from rdmacc.topology.direct import dragonfly_route
from rdmacc.topology.fabric import Fabric
from tests.support import refused


def paths_on(graph, routing):
    return workload.dragonfly_paths(messages([("h0", "h1", 1)]), graph, routing)


def fct_ps(size, payload=1000, header=48):
    return base_fct_ps(Fabric.from_graph(topology.star(2)), 0, 1, size, payload, header)


STAR = Fabric.from_graph(topology.star(3))
MISTAKES = [
    # Builders
    (lambda: topology.star(0), "hosts = 0: must be a whole number, at least 1"),
    (lambda: topology.star(2, rate=0), "rate = 0: must be at least 1 Mb/s"),
    (lambda: topology.star(2, delay="0us"), "delay = '0us': must be at least 1 ns"),
    (lambda: topology.star(2, buffer=0), "buffer = 0: must be at least 1 byte"),
    (lambda: topology.fat_tree(3), "k = 3: must be even, at least 2"),
    (lambda: topology.clos(2, 2, 2, 2, 3), "cores = 3: must be a multiple of aggs_per_pod = 2"),
    (lambda: topology.dart_clos(buffer_per_port=0), "buffer_per_port = 0: must be at least 1 byte"),
    (lambda: topology.star(2, rate="8.1Tbps"), "rate = '8.1Tbps': must be at most 8 Tb/s: a byte takes"),
    (lambda: topology.dart_testbed(37), "hosts = 37: must be at most 36, the switch's ports"),
    (lambda: topology.star(2_000_000), "at most 1000000"),
    (lambda: topology.leaf_spine(11_135, 1, 11_135), "at most 1000000"),
    (lambda: topology.fat_tree(400), "at most 1000000"),
    (lambda: topology.add_link(topology.star(2), "h0", "h7", "1Gbps", "1us"), "node = 'h7': must be a node of the"),
    # Graphs
    (lambda: topology.validate(nx.Graph()), "network = 'Graph with 0 nodes and 0 edges': must have at least one node"),
    (lambda: topology.validate(nx.DiGraph([(0, 1)])), "network = 'DiGraph': must be an undirected networkx.Graph"),
    (lambda: topology.validate(nx.MultiGraph([(0, 1)])), "network = 'MultiGraph': must be an undirected networkx"),
    (lambda: topology.validate({"a": 1}), "network = 'dict': must be a networkx.Graph"),
    # Times, ports and measures
    (lambda: fct_ps(0), "size_bytes = 0: must be at least 1 byte"),
    (lambda: fct_ps([5, 0]), "size_bytes = 0: must be at least 1 byte"),
    (lambda: fct_ps(1, payload=0), "payload_bytes = 0: must be at least 1 byte"),
    (lambda: fct_ps(1, header=-1), "header_bytes = -1: must be at least 0 bytes"),
    (lambda: STAR.port("h0", "h1"), "port = 'h0->h1': must be a link of the network"),
    (lambda: STAR.path(0, 1, lambda node, ports: -7), "choose = -7: must return one of"),
    (lambda: topology.base_rtt_ps(topology.star(2), "h9", "h1"), "src = 'h9': must be a host of the network: h0, h1"),
    (lambda: topology.bdp_bytes(topology.star(2), "h0", "s0"), "dst = 's0': must be a host of the network: h0, h1"),
    (lambda: topology.bdp_bytes(topology.star(2), "h0", "h0"), "dst = 'h0': must differ from src = 'h0'"),
    (lambda: topology.describe(topology.star(1)), "network = 'star(1)': must have two hosts that a path joins"),
    (lambda: topology.describe(topology.star(2), -1), "data_bytes = -1: must be a whole number of bytes"),
    (lambda: topology.bisection_bps(topology.star(1)), "must have at least two hosts"),
    (lambda: topology.bisection_bps(nx.DiGraph([(0, 1)])), "network = 'DiGraph': must be an undirected networkx.Graph"),
    # Dragonflies
    (lambda: topology.dragonfly(2, 1, 10**6), "must be at most"),
    (lambda: dragonfly_route(topology.star(2), "h0", "h1"), "made by topology.dragonfly"),
    (lambda: dragonfly_route(topology.dragonfly(2, 1, 1), "h0", "h9"), "a host of the network"),
    (lambda: dragonfly_route(topology.dragonfly(2, 1, 1), "h0", "h3", through=0), "other than those of the hosts"),
    (lambda: paths_on(topology.dragonfly(2, 1, 1), "zigzag"), "routing"),
    (lambda: paths_on(topology.dragonfly(1, 1, 1), "valiant"), "three groups"),
]


@pytest.mark.parametrize(("wrong", "text"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_a_mistake_is_named(wrong, text):
    refused(wrong, text)
