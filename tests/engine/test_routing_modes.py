"""Routing modes: spraying, exactly even or random, symmetric paths, and link failures.

ECMP: paths are uniformly distributed and stay with their flow, and switches choose independently of each other.
"""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rdmacc
from rdmacc import ConfigError, LinkDown, topology
from rdmacc.engine.plan import make_plan
from rdmacc.interface import hash63
from tests.support import line_rate

FABRICS = {
    "fat_tree": lambda: topology.fat_tree(4),
    "leaf_spine": lambda: rdmacc.leaf_spine(4, 4, 2),
    "clos": lambda: topology.clos(2, 2, 2, 2, 2),
}


def sent(result, column="tx_data_packets"):
    """Return the packets sent by each port that sent any."""
    counts = result.ports.set_index("port")[column]
    return {port: int(count) for port, count in counts.items() if count}


def spread(engine, routing, packets=400, spines=4, seed=0):
    """Return the data packets of one message on each uplink, up to the end of its first pass."""
    graph = rdmacc.leaf_spine(2, spines, 1)
    work = rdmacc.messages([("h0", "h1", packets * 1000)])
    scheme = line_rate(routing=routing, nak_interval_ps="1s")
    result = rdmacc.simulate(graph, work, scheme, engine=engine, seed=seed, until="10ms")
    counts = sent(result)
    return [counts.get(f"leaf0->spine{i}", 0) for i in range(spines)]


def test_round_robin_spraying_is_even_to_the_packet(engine):
    counts = spread(engine, "spray-round-robin")
    assert sum(counts) >= 400
    assert max(counts) - min(counts) <= 1


def test_random_spraying_is_uniform(engine):
    counts = [spread(engine, "spray-random", seed=seed) for seed in range(3)]
    for found in counts:
        assert stats.chisquare(found).pvalue > 1e-3
        assert max(found) - min(found) > 1


def test_adaptive_routing_takes_the_first_free_port(engine):
    """Exactly even, as only taking turns would be; a link at a quarter of its rate gets a quarter."""
    graph = rdmacc.leaf_spine(2, 4, 4, rate="100Gbps")
    work = rdmacc.messages([(f"h{i}", f"h{4 + i}", "200kB") for i in range(4)])
    scheme = rdmacc.scheme("ndp").replace(routing="adaptive", control=())
    faults = ([], [rdmacc.SlowLink(link=("leaf0", "spine0"), share=0.25)])
    shares = []
    for slow in faults:
        counts = sent(rdmacc.simulate(graph, work, scheme, engine=engine, faults=slow))
        counts = [counts.get(f"leaf0->spine{i}", 0) for i in range(4)]
        shares.append([count / max(counts) for count in counts])
    assert min(shares[0]) > 0.8
    assert shares[1][0] < 0.5
    assert min(shares[1][1:]) > 0.8


def test_flowlets_keep_their_path_while_packets_are_close(engine):
    graph = rdmacc.leaf_spine(2, 4, 1)
    work = rdmacc.messages([("h0", "h1", 400_000)])
    used = {}
    for gap in ("0us", "1us"):
        scheme = line_rate(routing="adaptive", flowlet_gap_ps=gap)
        result = rdmacc.simulate(graph, work, scheme, engine=engine, until="1ms")
        used[gap] = sum(f"leaf0->spine{i}" in sent(result) for i in range(4))
    assert used == {"0us": 4, "1us": 1}


def test_entropy_values_are_hashed_by_switch_and_message(engine):
    """One value: one path per message. Many: all paths, as evenly as a hash spreads them."""
    graph = rdmacc.leaf_spine(2, 4, 1)
    work = rdmacc.messages([("h0", "h1", 1_000_000)])
    for choice, spines in (("ecmp", 1), ("oblivious", 4)):
        result = rdmacc.simulate(graph, work, rdmacc.scheme("nscc", choice=choice), engine=engine)
        counts = [count for port, count in sent(result).items() if port.startswith("leaf0->spine")]
        assert len(counts) == spines


@pytest.mark.parametrize("fabric", FABRICS)
def test_data_and_acks_of_a_message_share_links_when_routing_is_symmetric(engine, fabric):
    """One message at a time: every link that carries its data carries its ACKs back, and no other link does."""
    graph = FABRICS[fabric]()
    hosts = topology.hosts(graph)
    pairs = list(itertools.permutations(hosts, 2))
    rng = np.random.default_rng(5)
    taken = set()
    for number in rng.choice(len(pairs), size=12, replace=False):
        work = rdmacc.messages([(*pairs[number], 5000)])
        result = rdmacc.simulate(graph, work, line_rate(routing="symmetric"), engine=engine, seed=int(number))
        data, acks = sent(result), sent(result, "tx_control_packets")
        assert {"->".join(reversed(port.split("->"))) for port in data} == set(acks)
        assert set(data.values()) == set(acks.values()) == {5}
        taken.add(tuple(data))
    assert len(taken) > 6


def test_symmetric_paths_spread_over_both_tiers(engine):
    """Fat tree: the joint choice of edge and aggregation switch is uniform, so the tiers are not correlated."""
    graph = topology.fat_tree(4)
    hosts = topology.hosts(graph)
    work = rdmacc.long_flows([(hosts[0], hosts[-1])] * 256, 1000, start=[f"{20 * i}us" for i in range(256)])
    for routing in ("symmetric", "ecmp"):
        result = rdmacc.simulate(graph, work, line_rate(routing=routing), engine=engine)
        up = [count for port, count in sent(result).items() if "->core" in port]
        assert len(up) == 4
        assert stats.chisquare(up).pvalue > 1e-3


def test_data_and_acks_take_the_given_paths(engine):
    """Any path of the network, even a longer one; a message without one is routed as usual."""
    graph = rdmacc.leaf_spine(2, 4, 2)
    one, other = topology.hosts(graph)[0], topology.hosts(graph)[2]
    work = rdmacc.messages([(one, other, 5000), (one, other, 3000)])
    work["path"] = [f"{one} leaf0 spine2 leaf1 {other}", None]
    work["ack_path"] = [(other, "leaf1", "spine3", "leaf0", one), None]
    result = rdmacc.simulate(graph, work, line_rate(), engine=engine, trace=True)
    hops = result.packet_trace
    hops = hops[(hops["what"] == "sent") & (hops["message"] == 0)]
    assert set(hops.loc[hops["kind"] == "data", "node"]) == {one, "leaf0", "spine2", "leaf1"}
    assert set(hops.loc[hops["kind"] == "ack", "node"]) == {other, "leaf1", "spine3", "leaf0"}
    assert (result.flows["status"] == "finished").all()


def test_a_path_through_a_failed_link_is_left_to_the_routing(engine):
    graph = rdmacc.leaf_spine(2, 2, 1)
    work = rdmacc.messages([("h0", "h1", 400_000)]).assign(path="h0 leaf0 spine1 leaf1 h1")
    down = LinkDown(link=("leaf0", "spine1"), at_ps="10us")
    result = rdmacc.simulate(graph, work, line_rate(timeout_ps="100us"), engine=engine, faults=[down])
    assert result.flows["status"].tolist() == ["finished"]
    assert sent(result)["leaf0->spine0"] > 0
    assert sent(result)["leaf0->spine1"] > 0


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("h0 leaf0 spine0 leaf1", "must lead from 'h0' to 'h1'"),
        ("h1 leaf1 spine0 leaf0 h0", "must lead from 'h0' to 'h1'"),
        (7, "must lead from 'h0' to 'h1'"),
        ("h0 leaf0 leaf1 h1", "must follow links, and none joins 'leaf0' and 'leaf1'"),
        ("h0 leaf0 moon leaf1 h1", "must follow links, and none joins 'leaf0' and 'moon'"),
        ("h0 leaf0 spine0 leaf0 spine1 leaf1 h1", "must not visit a node twice"),
    ],
)
def test_invalid_paths_are_refused(path, why):
    work = rdmacc.messages([("h0", "h1", 1000)]).assign(path=[path])
    with pytest.raises(ConfigError, match=f"path = .*row 0.*{why}"):
        rdmacc.simulate(rdmacc.leaf_spine(2, 2, 1), work, line_rate())


def salts(seed, graph=None):
    graph = graph or rdmacc.leaf_spine(4, 4, 2)
    work = rdmacc.messages([tuple(topology.hosts(graph)[:2]) + (1000,)])
    return make_plan(graph, work, rdmacc.scheme("line-rate"), seed=seed).ecmp_salt.tolist()


@pytest.mark.parametrize("paths", [2, 4, 8])
def test_switches_choose_independently(paths):
    """No polarisation: the joint choice of two switches is uniform over all pairs (chi-square, 1e-3).

    So is the joint choice of data and replies at one switch.
    """
    found = salts(0)
    for one, two, reply in ((found[0], found[1], 0), (found[2], found[-1], 0), (found[0], found[0], 1)):
        table = np.zeros((paths, paths))
        for flow in range(10_000):
            table[hash63(one, 2 * flow) % paths, hash63(two, 2 * flow + reply) % paths] += 1
        assert stats.chisquare(table.ravel()).pvalue > 1e-3


def test_every_switch_and_every_seed_has_a_different_salt():
    found = [salt for seed in range(20) for salt in salts(seed)]
    assert len(set(found)) == len(found)


@given(seed=st.integers(0, 2**32), size=st.integers(1, 60))
def test_all_packets_of_a_message_take_one_path(engine, seed, size):
    """Retransmissions too."""
    work, faults = rdmacc.messages([("h0", "h1", size * 1000)]), [rdmacc.Loss(data=0.02, links=(("leaf1", "h1"),))]
    graph = rdmacc.leaf_spine(2, 4, 1)
    counts = sent(rdmacc.simulate(graph, work, "line-rate", engine=engine, seed=seed, faults=faults))
    (port,) = (port for port in counts if port.startswith("leaf0->spine"))
    assert counts[port] == counts[f"{port.split('->')[1]}->leaf1"] >= size


def test_a_host_with_two_links_uses_both(engine):
    """Data of different queue pairs leave by either link, and so do replies; each queue pair uses one link only."""
    graph = nx.Graph(name="two links")
    for switch in ("s0", "s1"):
        topology.add_switch(graph, switch, "10MB")
        for host in ("h0", "h1"):
            topology.add_host(graph, host)
            topology.add_link(graph, host, switch, "10Gbps", "1us")
    work = rdmacc.long_flows([("h0", "h1")] * 40, 3000, start=[f"{i * 50}us" for i in range(40)])
    result = rdmacc.simulate(graph, work, "line-rate", engine=engine)
    data = [sent(result)[f"h0->{switch}"] for switch in ("s0", "s1")]
    assert sum(data) == 120
    assert all(count % 3 == 0 and count > 30 for count in data)
    assert min(sent(result, "tx_control_packets")[f"h1->{switch}"] for switch in ("s0", "s1")) > 30
    assert result.flows["fct_ps"].nunique() == 1
