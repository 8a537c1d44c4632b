"""ECMP: paths spread as a fair die would, stay with their flow, and switches choose independently of each other.

Theory: n flows over k equal paths are multinomial; k flows over k paths do not collide with probability k! / k^k.
"""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rdmacc
from rdmacc import topology
from rdmacc.chance import hash63
from rdmacc.engine.plan import make_plan


def salts(seed, graph=None):
    graph = graph or rdmacc.leaf_spine(4, 4, 2)
    work = rdmacc.messages([tuple(topology.hosts(graph)[:2]) + (1000,)])
    return make_plan(graph, work, rdmacc.scheme("line-rate"), seed=seed).ecmp_salt.tolist()


@pytest.mark.parametrize("paths", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("direction", [0, 1])
def test_flows_spread_evenly(paths, direction):
    """Fact 1: chi-square at 1e-3 over 10,000 flows."""
    salt = salts(0)[0]
    counts = np.bincount([hash63(salt, 2 * flow + direction) % paths for flow in range(10_000)], minlength=paths)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("paths", [2, 4, 8])
def test_switches_choose_independently(paths):
    """No polarisation: the joint choice of two switches is uniform over all pairs (chi-square, 1e-3)."""
    found = salts(0)
    for one, two in ((found[0], found[1]), (found[2], found[-1])):
        table = np.zeros((paths, paths))
        for flow in range(10_000):
            table[hash63(one, 2 * flow) % paths, hash63(two, 2 * flow) % paths] += 1
        assert stats.chisquare(table.ravel()).pvalue > 1e-3


def test_data_and_replies_choose_independently():
    salt, table = salts(0)[0], np.zeros((4, 4))
    for flow in range(10_000):
        table[hash63(salt, 2 * flow) % 4, hash63(salt, 2 * flow + 1) % 4] += 1
    assert stats.chisquare(table.ravel()).pvalue > 1e-3


def test_every_switch_and_every_seed_has_its_own_salt():
    found = [salt for seed in range(20) for salt in salts(seed)]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("k", [4, 8])
def test_chance_of_no_collision(k):
    """Fact 2: k! / k^k, over 8,000 seeds' worth of salts, within 4 sigma."""
    n, p = 8_000, math.factorial(k) / k**k
    free = 0
    for trial in range(n):
        salt = hash63(99, trial)
        free += len({hash63(salt, 2 * flow) % k for flow in range(k)}) == k
    assert abs(free - n * p) < 4 * math.sqrt(n * p * (1 - p))


# In the simulator


def uplinks(result, leaf="leaf0"):
    """Return the data packets on each uplink of a leaf."""
    ports = result.ports.set_index("port")["tx_data_packets"]
    return {port: int(count) for port, count in ports.items() if port.startswith(f"{leaf}->spine")}


@given(seed=st.integers(0, 2**32), size=st.integers(1, 60))
def test_all_packets_of_a_message_take_one_path(engine, seed, size):
    """Fact 4."""
    graph = rdmacc.leaf_spine(2, 4, 1)
    work = rdmacc.messages([("h0", "h1", size * 1000)])
    result = rdmacc.simulate(graph, work, "line-rate", engine=engine, seed=seed)
    assert sorted(uplinks(result).values()) == [0, 0, 0, size]
    spine = next(port for port, count in uplinks(result).items() if count).split("->")[1]
    assert result.ports.set_index("port")["tx_data_packets"][f"{spine}->leaf1"] == size


def test_retransmissions_take_the_same_path(engine):
    graph = rdmacc.leaf_spine(2, 4, 1)
    work = rdmacc.messages([("h0", "h1", 100_000)])
    result = rdmacc.simulate(
        graph, work, "line-rate", engine=engine, faults=[rdmacc.Loss(data=0.02, links=(("leaf1", "h1"),))]
    )
    assert result.flows["retransmissions"][0] > 0
    assert sorted(uplinks(result).values())[:3] == [0, 0, 0]


def test_tiers_do_not_polarise(engine):
    """Fat tree: of the flows that an edge switch sends to one aggregation switch, that one uses both its cores."""
    graph = topology.fat_tree(4)
    hosts = topology.hosts(graph)
    work = rdmacc.long_flows([(hosts[0], hosts[-1])] * 64, 1000, start=[f"{i}us" for i in range(64)])
    result = rdmacc.simulate(graph, work, "line-rate", engine=engine)
    ports = result.ports
    up = ports[(ports["tx_data_packets"] > 0) & ports["port"].str.contains("->core")]
    assert len(up) == 4
    assert (up["tx_data_packets"] > 4).all()


def test_a_host_with_two_links_uses_both(engine):
    """Data of different queue pairs leave by either link, replies too; each by one link only."""
    graph = nx.Graph(name="two links")
    for host in ("h0", "h1"):
        topology.add_host(graph, host)
    for switch in ("s0", "s1"):
        topology.add_switch(graph, switch, "10MB")
        topology.add_link(graph, "h0", switch, "10Gbps", "1us")
        topology.add_link(graph, "h1", switch, "10Gbps", "1us")
    work = rdmacc.long_flows([("h0", "h1")] * 40, 3000, start=[f"{i * 50}us" for i in range(40)])
    result = rdmacc.simulate(graph, work, "line-rate", engine=engine)
    ports = result.ports.set_index("port")
    sent = ports["tx_data_packets"][["h0->s0", "h0->s1"]]
    assert sent.sum() == 120
    assert (sent % 3 == 0).all()
    assert (sent > 30).all()
    assert (ports["tx_control_packets"][["h1->s0", "h1->s1"]] > 30).all()
    assert result.flows["fct_ps"].nunique() == 1
