"""Other simulators' files: schedules worked out by hand, written and read back, and files that are refused.

Hostile files raise a ConfigError before anything large is allocated.
"""

import dataclasses
import gzip
import json
import tracemalloc

import networkx as nx
import pandas as pd
import pytest

import rdmacc
from rdmacc import topology
from rdmacc.errors import ConfigError
from rdmacc.formats import operations, to_hpcc, to_htsim
from tests.support import refused

US = 10**6

MATRIX = """\
Nodes 4
Connections 5
Triggers 2
# two first steps, a join, then a chain
0->1 id 1 start 0 size 300000 recv_done_trigger 7
2->1 id 2 start 3 size 120000 recv_done_trigger 7
1->3 id 3 trigger 7 size 64000 send_done_trigger 8
1->0 id 4 trigger 7 size 64000
3->2 id 5 trigger 8 size 1
trigger id 7 barrier count 2
trigger id 8 oneshot
"""

FAT_TREE = """\
# 24 hosts, 2 pods of 12, 2:1 at the ToR
Nodes 24
Tiers 3
Podsize 12
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 500
Oversubscribed 2
Tier 1
Downlink_speed_Gbps 100
Radix_Down 3
Radix_Up 3
Downlink_Latency_ns 800
Tier 2
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
"""

SMALL_MATRIX = "Nodes 2\nConnections 1\n0->1 start 0 size 5\n"

GOAL = """\
num_ranks 2
/* a block
   comment */
rank 0 {
c: calc 4000
s: send 65536b to 1 tag 3
s requires c
r: recv 16b from 1 tag 4
r requires s
}
// and rank 1
rank 1 {
a: recv 65536b from 0 tag 3
w: calc 1500 cpu 1
w requires a
b: send 16 b to 0 tag 4
b requires w
}
"""

FLOWS = """\
3
0 3 3 100 250000 2.0
1 3 3 100 250000 2.0
2 4 3 100 1000 2.000010
the shipped files have help here
"""

TWO_RACKS = """\
7 2 6
5 6
0 5 100Gbps 0.001ms 0
1 5 100Gbps 0.001ms 0
2 5 12.5GB/s 1us 0
3 6 100Gbps 1us 0
4 6 25Gbps 1us 0.0001
5 6 400Gbps 1500ns 0
"""


LAYERS = """\
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4
2
embed -1 1000 ALLREDUCE 100000 2000 NONE 0 3000 ALLREDUCE 400000 50
mlp -1 5000 ALLGATHER 200000 7000 REDUCESCATTER 200000 9000 REDUCESCATTER 400000 50
"""


def written(folder, name, text):
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder / name


def goal(folder, text, **options):
    return rdmacc.from_goal(written(folder, "a.goal", text), **options)


def htsim(folder, text, topo=None, hosts=4, **options):
    network = written(folder, "a.topo", topo) if topo else rdmacc.star(hosts)
    return rdmacc.from_htsim(written(folder, "a.cm", text), network, **options)


def fat_tree(folder, text, **options):
    return htsim(folder, "Nodes 24\nConnections 1\n0->23 start 0 size 5\n", text, **options).network


def hpcc(folder, flows, topology):
    return rdmacc.from_hpcc(written(folder, "f.txt", flows), written(folder, "t.txt", topology))


def racks(folder, topology):
    return hpcc(folder, FLOWS, topology)


def two_racks(folder, flows):
    return hpcc(folder, flows, TWO_RACKS)


def simai(folder, text):
    return rdmacc.from_simai(written(folder, "w.txt", text))


def chakra(folder, data):
    written(folder, "a.0.et", data)
    return rdmacc.from_chakra(folder / "a")


def graphml(folder, graph=None, **options):
    nx.write_graphml(graph or nx.Graph([("a", "b", {"rate": "1Gbps"})]), folder / "a.graphml")
    return topology.from_graphml(folder / "a.graphml", **options)


def node_link(folder, text, **options):
    return topology.from_node_link(written(folder, "a.json", text), **options)


def times(net, work, engine):
    flows = rdmacc.simulate(net, work, "line-rate", engine=engine).flows.set_index("flow")
    return flows["start_ps"].to_dict(), (flows["start_ps"] + flows["fct_ps"]).to_dict(), flows["fct_acked_ps"]


# htsim


def test_triggers_start_flows_when_their_activators_finish(tmp_path, engine):
    net, work, faults = htsim(tmp_path, MATRIX)
    start, end, acked = times(net, work, engine)
    assert start[1] == 3 * US
    assert start[2] == start[3] == max(end[0], end[1]), "3 and 4 start when 1 and 2 have come to host 1"
    assert start[4] == start[2] + acked[2], "5 starts when the sender of 3, another host, has its last ACK"
    assert faults == ()


@pytest.mark.parametrize(("text", "start_ps"), [("0.7", 0), ("16777217", 16_777_216 * US), ("12", 12 * US)])
def test_starts_are_those_of_a_32_bit_float(tmp_path, text, start_ps):
    matrix = SMALL_MATRIX.replace("start 0", f"start {text}")
    for unit, expected in (("us", start_ps), ("ps", start_ps // US)):
        assert htsim(tmp_path, matrix, hosts=2, unit=unit).workload["start_ps"].tolist() == [expected]


def test_a_fat_tree_is_wired_as_in_htsim(tmp_path):
    net = fat_tree(tmp_path, FAT_TREE)
    assert [sum(str(node).startswith(kind) for node in net) for kind in ("h", "leaf", "agg", "core")] == [24, 6, 4, 6]
    assert net.number_of_edges() == 48
    path = nx.shortest_path(net, "h0", "h23")
    assert sum(net.edges[link]["delay_ps"] for link in zip(path, path[1:])) == 4_600_000
    assert sorted(peer for peer in net["core4"]) == ["agg0", "agg2"]
    assert topology.describe(net).oversubscription == 2


def test_a_bundle_becomes_one_link_of_the_total_rate_on_request(tmp_path):
    """Two links from each ToR to each of two aggs, three from each agg to each of two cores."""
    text = FAT_TREE.replace("Radix_Up 2", "Radix_Up 4").replace("Oversubscribed 2\n", "")
    text = text.replace("Tier 1\n", "Tier 1\nBundle 2\n").replace(
        "Radix_Down 3\nRadix_Up 3", "Radix_Down 6\nRadix_Up 6"
    )
    text = text.replace("Tier 2\n", "Tier 2\nBundle 3\n").replace("Radix_Down 2\n", "Radix_Down 6\n")
    net = fat_tree(tmp_path, text, bundles="merged")
    assert net.number_of_edges() == 24 + 6 * 2 + 4 * 2
    assert (net.edges["leaf0", "agg1"]["rate_bps"], net.edges["agg1", "core3"]["rate_bps"]) == (200e9, 300e9)
    assert topology.describe(net).oversubscription == 1
    refused(lambda: fat_tree(tmp_path, text), 'bundles="merged"')


def test_half_a_switchs_latency_is_added_to_each_of_its_links(tmp_path):
    net = fat_tree(tmp_path, FAT_TREE.replace("Radix_Up", "Switch_Latency_ns 301\nRadix_Up"))
    path = nx.shortest_path(net, "h0", "h23")
    assert sum(net.edges[link]["delay_ps"] for link in zip(path, path[1:])) == 4_600_000 + 4 * 301_000


def test_a_failed_link_is_down_from_the_start(tmp_path):
    text = "Nodes 24\nConnections 1\nFailures 1\n0->23 start 0 size 5\nfailure switch_type AGG switch_id 2 link_id 1\n"
    assert htsim(tmp_path, text, FAT_TREE).faults == (rdmacc.LinkDown(link=("agg2", "core2"), at_ps=0),)
    refused(lambda: htsim(tmp_path, text.replace("switch_id 2", "switch_id 4"), FAT_TREE), "AGG 4")


def test_htsims_files_are_written_and_read_back(tmp_path, engine):
    net = rdmacc.leaf_spine(2, 2, 4, delay="500ns")
    work = rdmacc.ring_all_reduce([f"h{i}" for i in range(8)], "80kB")
    to_htsim(work, net, tmp_path / "ring.cm", tmp_path / "ring.topo")
    back = rdmacc.from_htsim(tmp_path / "ring.cm", tmp_path / "ring.topo")
    assert nx.is_isomorphic(back.network, net, edge_match=lambda one, other: one == other)
    columns = ["src", "dst", "size_bytes", "start_ps", "after"]
    pd.testing.assert_frame_equal(back.workload[columns], work[columns])


# GOAL


def test_a_goal_file_gives_the_times_worked_out_by_hand(tmp_path, engine):
    work = goal(tmp_path, GOAL)
    result = rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine=engine)
    flows, computation = result.flows.set_index("flow"), result.computation.set_index("row")
    come = 4 * US + flows["fct_ps"][1]
    assert flows["start_ps"].to_dict() == {1: 4 * US, 3: come + 1_500_000}
    last = max(flows["start_ps"][3] + flows["fct_ps"][3], 4 * US + flows["fct_acked_ps"][1])
    assert computation["end_ps"].to_dict() == {0: 4 * US, 2: come + 1_500_000, 4: last}


def test_a_cpu_computes_one_thing_at_a_time(tmp_path, engine):
    calcs = "calc 1000\ncalc 2000\ncalc 4000 cpu 1\n"
    text = f"num_ranks 2\nrank 0 {{\n{calcs}send 5b to 1\n}}\nrank 1 {{\nrecv 5b from 0\n}}\n"
    work = goal(tmp_path, text, hosts=["h2", "h0"])
    result = rdmacc.simulate(rdmacc.star(3), work, "line-rate", engine=engine)
    assert result.computation["end_ps"].tolist() == [US, 3 * US, 4 * US]
    assert set(result.computation["host"]) == {"h2"}


def test_hosts_may_only_compute(tmp_path, engine):
    work = goal(tmp_path, "num_ranks 1\nrank 0 {\nl1: calc 1000\nl2: calc 2000\nl2 requires l1\n}\n")
    result = rdmacc.simulate(rdmacc.star(2), work, "rccc", engine=engine)
    assert result.computation["end_ps"].tolist() == [US, 3 * US]
    assert (len(result.flows), result.now_ps, result.summary().flows) == (0, 3 * US, 0)
    refused(lambda: rdmacc.offered_load(work, rdmacc.star(2)), "computation only")


def test_dependents_of_a_send_may_wait_only_for_its_start(tmp_path, engine):
    text = "num_ranks 2\nrank 0 {\ns: send 5000b to 1\nc: calc 10\nc requires s\n}\nrank 1 {\nrecv 5000b from 0\n}\n"
    ends = []
    for send_done in ("acknowledged", "start"):
        work = goal(tmp_path, text, send_done=send_done)
        ends.append(rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine=engine).computation["end_ps"][0])
    acked = rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine=engine).flows["fct_acked_ps"][0]
    assert ends == [acked + 10_000, 10_000]


def test_irequires_waits_for_the_dependencies_of_the_other_operation(tmp_path):
    assert goal(tmp_path, GOAL.replace("r requires s\n", "r irequires s\n"))["after"].tolist()[-1] == (0, 3)


def ring(ranks, rounds):
    """A ring with one tag: sends wait for the data of the previous round, receives are in order."""
    for r in range(ranks):
        yield f"rank {r} {{"
        for k in range(rounds):
            yield f"s{k}: send 1000b to {(r + 1) % ranks} tag 0"
            yield from [f"s{k} requires r{k - 1}"] if k else []
            yield f"r{k}: recv 1000b from {(r - 1) % ranks} tag 0"
        yield "}"


def beside(_, rounds):
    """A computing stream beside a sending one, which occasionally waits for it."""
    yield "rank 0 {"
    for k in range(rounds):
        yield f"c{k}: calc 10"
        yield f"s{k}: send 1000b to 1"
        if k:
            yield from [f"c{k} requires c{k - 1}", f"s{k} requires s{k - 1}", f"s{k} requires c{k - k % 2}"]
    yield "}\nrank 1 {"
    for k in range(rounds):
        yield f"r{k}: recv 1000b from 0"
        yield from [f"r{k} requires r{k - 1}"] if k else []
    yield "}"


def there_and_back(_, rounds):
    """Each answer has its own tag, so only the other rank's order determines that of the sends."""
    yield "rank 0 {"
    for k in range(rounds):
        yield f"s{k}: send 1000b to 1"
        yield from [f"s{k} requires r{k - 1}"] if k else []
        yield f"r{k}: recv 1b from 1 tag {k + 1}"
    yield "}\nrank 1 {"
    for k in range(rounds):
        yield f"a{k}: recv 1000b from 0\nb{k}: send 1b to 0 tag {k + 1}\nb{k} requires a{k}"
    yield "}"


@pytest.mark.parametrize(("lines", "ranks", "messages"), [(ring, 4, 4), (beside, 2, 1), (there_and_back, 2, 2)])
def test_dependencies_may_order_messages_with_the_same_tag(tmp_path, monkeypatch, lines, ranks, messages):
    """The search for that order visits each operation at most a few times, however long the file."""
    steps = []
    known = operations._Order._known
    monkeypatch.setattr(operations._Order, "_known", lambda *args: steps.append(args) or known(*args))
    work = goal(tmp_path, "\n".join([f"num_ranks {ranks}", *lines(ranks, 200)]) + "\n")
    assert (work["size_bytes"] >= 1).sum() == 200 * messages
    assert len(steps) < 8 * 200 * ranks
    if lines is ring:
        assert all(len(one) <= 1 for one in work["after"])


# HPCC


def test_flows_and_topology_of_the_hpcc_simulator(tmp_path):
    net, work, faults = racks(tmp_path, TWO_RACKS)
    rows = work[["src", "dst", "size_bytes", "start_ps"]].to_numpy().tolist()
    assert rows == [["h0", "h3", 250_000, 0], ["h1", "h3", 250_000, 0], ["h2", "h4", 1_000, 10 * US]]
    assert net.edges["h2", "s5"] == {"rate_bps": 1e11, "delay_ps": US}
    assert net.edges["s5", "s6"] == {"rate_bps": 4e11, "delay_ps": 1_500_000}
    assert faults == (rdmacc.Loss(data=1e-4, control=1e-4, links=(("h4", "s6"), ("s6", "h4"))),)


def test_hpccs_files_are_written_and_read_back(tmp_path):
    net = rdmacc.leaf_spine(2, 2, 4, delay="1500ns")
    work = rdmacc.poisson(net, "web_search", 0.3, count=50).iloc[::-1]
    to_hpcc(work, net, tmp_path / "flow.txt", tmp_path / "topology.txt")
    back = rdmacc.from_hpcc(tmp_path / "flow.txt", tmp_path / "topology.txt")
    assert nx.is_isomorphic(back.network, net, edge_match=lambda one, other: one == other)
    columns = ["src", "dst", "size_bytes", "start_ps"]
    assert back.workload[columns].to_numpy().tolist() == work[columns].iloc[::-1].to_numpy().tolist()


STAR = "5 1 4\n4\n" + "".join(f"{host} 4 100Gbps 1us 0\n" for host in range(4))


def test_priority_groups_take_turns_behind_group_0(tmp_path, engine):
    """Four flows to one host: that of group 0 is first, the others end together; also when written and read back."""
    flows = [(0, 3, 4, 10**5), (1, 3, 3, 10**6), (2, 3, 0, 10**6), (0, 3, 3, 9 * 10**5)]
    text = f"{len(flows)}\n" + "".join(f"{src} {dst} {group} 100 {size} 2\n" for src, dst, group, size in flows)
    read = hpcc(tmp_path, text, STAR)
    result = rdmacc.simulate(read.network, read.workload, "line-rate", engine=engine)
    end = result.flows.set_index("flow")["fct_us"]
    byte_us = 8e-5 * (1048 + 64) / 1000
    assert end[2] < 1.03 * 10**6 * byte_us
    assert end[0] == pytest.approx(end[2] + 2 * 10**5 * byte_us, rel=0.1), "one packet of two until it ends"
    assert max(end) == pytest.approx(3 * 10**6 * byte_us, rel=0.05)
    to_hpcc(read.workload, read.network, tmp_path / "f", tmp_path / "t")
    again = rdmacc.from_hpcc(tmp_path / "f", tmp_path / "t").workload
    columns = ["src", "dst", "size_bytes", "priority", "in_turn"]
    assert again[columns].to_numpy().tolist() == read.workload[columns].to_numpy().tolist()


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"priority": [3, 4, 5], "in_turn": [True, False, True]}, "above or below the classes in turn"),
        ({"priority": [3, 4, 5], "in_turn": ["yes", None, True]}, "in_turn = 'yes'"),
        ({"priority": [6, 8, 6], "in_turn": True}, "the lanes of"),
    ],
)
def test_classes_that_cannot_take_turns_are_errors(changes, match):
    work = rdmacc.messages([("h1", "h0", 5), ("h2", "h0", 5), ("h1", "h0", 5)]).assign(**changes)
    scheme = rdmacc.scheme("dcqcn")
    scheme = dataclasses.replace(scheme, queueing=scheme.queueing.replace(lanes=2))
    refused(lambda: rdmacc.Simulation(rdmacc.star(3), work, scheme if "lanes" in match else "dcqcn"), match)


FORKS = {
    "PowerTCP: ToRs": (STAR.replace("5 1 4", "5 1 1 4"), "0 1 3 100 1000000 2"),
    "Reverie: capacities": (STAR.replace("5 1 4", "5 1 1 4 25 100"), "0 1 3 100 1000000 2"),
    "SimAI: GPUs, NVSwitches, type": (STAR.replace("5 1 4", "5 4 0 1 4 H100"), "0 1 3 100 1000000 2"),
    "plain bit/s": (STAR.replace("100Gbps", "100000000000"), "0 1 3 100 1000000 2"),
    "ConWeave: no port": (STAR, "0 1 3 1000000 2.0"),
}


@pytest.mark.parametrize("name", FORKS)
def test_forks_of_the_hpcc_simulator_are_read(tmp_path, name):
    text, flow = FORKS[name]
    net, work, _ = hpcc(tmp_path, f"1\n{flow}\n", text)
    plain = hpcc(tmp_path, "1\n0 1 3 100 1000000 2\n", STAR)
    assert list(net.edges(data=True)) == list(plain.network.edges(data=True))
    pd.testing.assert_frame_equal(work, plain.workload)
    large = hpcc(tmp_path, f"1\n{flow.replace('000000 ', '000000000000 ')}\n", text)
    assert large.workload["size_bytes"].tolist() == [10**12], "sizes have 64 bits"


def test_gpus_with_an_nvswitch_use_it_inside_their_server(tmp_path, engine):
    """Two servers of two GPUs, all also on one switch, so both ways have as many hops: 2,880 Gb/s and 400 Gb/s."""
    links = [f"{gpu} {4 + gpu // 2} 2880Gbps 25ns 0\n{gpu} 6 400Gbps 500ns 0\n" for gpu in range(4)]
    text = "7 2 2 1 8 H100\n4 5 6\n" + "".join(links)
    read = hpcc(tmp_path, "2\n0 2 3 100 10000000 2\n3 2 3 100 10000000 2\n", text)
    flows = rdmacc.simulate(read.network, read.workload, "line-rate", engine=engine).flows
    expected = [8e6 * 10**7 / rate for rate in (400e9, 2880e9)]
    assert flows.sort_values("flow")["fct_us"].tolist() == pytest.approx(expected, rel=0.08)


# SimAI


def test_layers_pass_forward_then_backward(tmp_path):
    """Collectives of weight gradients delay only their update; sizes are those of the larger buffer."""
    work = simai(tmp_path, LAYERS)
    assert work["size_bytes"].sum() == 2 * (2 * 10**5 + 2 * 2 * 10**5) + 2 * (2 * 4 * 10**5 + 4 * 10**5)
    result = rdmacc.simulate(rdmacc.star(4), work, "line-rate")
    table = result.collectives.groupby("operation")[["start_ps", "time_ps"]].agg(list)
    forward, scattered = table.loc["all-reduce"], table.loc["reduce-scatter"]
    gathered = table.loc["all-gather"]
    assert forward["start_ps"].count(US) == 2, "one for each tensor-parallel group"
    assert set(gathered["start_ps"]) == {US + int(forward["time_ps"][0]) + 5 * US}
    backward = next(iter(gathered["start_ps"])) + int(gathered["time_ps"][0]) + 7 * US
    assert min(scattered["start_ps"]) == backward
    weights = backward + int(scattered["time_ps"][0]) + 9 * US
    assert max(scattered["start_ps"]) == weights
    assert max(forward["start_ps"]) == weights + 5 * US, "it does not wait for the weights of the layer before"


# Graphs


PAIR = {
    "directed": False, "multigraph": False, "graph": {"name": "pair"},
    "nodes": [{"id": "a", "kind": "host"}, {"id": "b", "kind": "host"},
              {"id": "s", "kind": "switch", "buffer_bytes": 1048576}],
    "edges": [{"source": "a", "target": "s", "rate": "100Gbps", "delay": "1us"},
              {"source": "b", "target": "s", "rate_bps": 25000000000, "delay_ps": 500000}],
}  # fmt: skip


@pytest.mark.parametrize("key", ["edges", "links"])
def test_node_link_json(tmp_path, key):
    content = dict(PAIR)
    content[key] = content.pop("edges")
    net = node_link(tmp_path, json.dumps(content))
    assert net.edges["a", "s"] == {"rate_bps": 1e11, "delay_ps": US}
    assert net.edges["b", "s"] == {"rate_bps": 25e9, "delay_ps": 500_000}
    assert net.nodes["s"] == {"kind": "switch", "buffer_bytes": 1048576}
    assert topology.hosts(net) == ["a", "b"]


def test_graphml_as_written_by_networkx(tmp_path):
    graph = nx.relabel_nodes(rdmacc.star(3), {"h0": 0, "h1": 1, "h2": 2, "s0": 3})
    del graph.graph["tiers"]  # GraphML has no lists
    net = graphml(tmp_path, graph, node_type=int)
    assert topology.hosts(net) == [0, 1, 2]
    assert net.edges[0, 3] == {"rate_bps": 1e11, "delay_ps": US}


def test_attributes_with_other_names_are_read_in_their_unit(tmp_path):
    graph = nx.Graph()
    for host in ("a", "b"):
        graph.add_edge(host, "s", LinkSpeedRaw=25_000_000_000, latency="2us")
    net = graphml(tmp_path, graph, rate=("LinkSpeedRaw", "bps"), delay="latency")
    assert net.edges["a", "s"] == {"rate_bps": 25e9, "delay_ps": 2 * US}
    for rate, words in (("LinkSpeedRaw", "a string with a unit"), ("speed", "stored as 'speed'"), (None, "edge")):
        refused(lambda: graphml(tmp_path, graph, rate=rate, delay="latency"), words, "a.graphml, edge")


@pytest.fixture
def cities(tmp_path):
    """A file like those in public collections: rates on some links, positions of most nodes, two parallel links."""
    graph = nx.MultiGraph()
    graph.add_node("Bern", Latitude=46.948, Longitude=7.447)
    graph.add_node("Roma", Latitude=41.893, Longitude=12.483)
    graph.add_node("Sea", hyperedge=1)
    graph.add_node("alone")
    graph.add_edge("Bern", "Roma", LinkSpeedRaw=2.5e9)
    graph.add_edge("Bern", "Roma", LinkSpeedRaw=10e9)
    graph.add_edge("Roma", "Sea")
    graph.add_edge("Sea", "Sea")
    nx.write_graphml(graph, tmp_path / "cities.graphml")
    return tmp_path / "cities.graphml"


def test_a_public_network_loads_in_one_line_and_runs(cities):
    net = topology.from_graphml(cities, rate=("LinkSpeedRaw", "bps", "40Gbps"), delay="1ms", hosts=2)
    assert topology.hosts(net) == [f"h{number}" for number in range(6)]
    assert topology.switches(net) == ["Bern", "Roma", "Sea", "alone"]
    assert net.edges["Roma", "Sea"] == {"rate_bps": 40e9, "delay_ps": 10**9}
    assert net.edges["Bern", "Roma"]["rate_bps"] == 12.5e9, "the sum"
    assert net.edges["Bern", "Roma"]["delay_ps"] == pytest.approx(690 / 200_000 * 1e12, rel=0.01), "690 km, by air"
    assert net.edges["h0", "Bern"] == {"rate_bps": 12.5e9, "delay_ps": US}
    flows = rdmacc.simulate(net, rdmacc.messages([("h0", "h5", "1MB")]), "line-rate").flows
    assert flows["status"].tolist() == ["finished"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"rate": "1Gbps", "delay": "1ms", "parallel": "fastest"}, 1e9),
        ({"rate": ("LinkSpeedRaw", "bps", "1Gbps"), "delay": "1ms", "parallel": "fastest"}, 10e9),
        ({"rate": "1Gbps", "delay": "1ms"}, 2e9),
        ({"rate": "1Gbps", "delay": "1ms", "parallel": "refused"}, "there are several links"),
        ({"rate": "1Gbps", "delay": "1ms", "parallel": "both"}, "parallel = 'both'"),
        ({"rate": ("LinkSpeedRaw", "bps"), "delay": "1ms"}, "stored as 'LinkSpeedRaw'"),
        ({"rate": "1Gbps"}, "edge Roma-Sea): must be set on every link, such as delay='1us'"),
        ({"rate": "1Gbps", "delay": "1ms", "hosts": 2 * 10**9}, "hosts = 2000000000"),
    ],
)
def test_missing_values_of_a_public_network_are_given_or_an_error(cities, arguments, expected):
    if isinstance(expected, str):
        refused(lambda: topology.from_graphml(cities, **arguments), expected)
    else:
        assert topology.from_graphml(cities, **arguments).edges["Bern", "Roma"]["rate_bps"] == expected


# Mistakes


FAILURE = "failure switch_type AGG switch_id 0 link_id 1\n"
MISTAKES = {
    (htsim, MATRIX, "a.cm, line "): [
        ("comments stand in the header only", "oneshot\n", "oneshot\n# late\n"),
        ("must be 2: with fewer its flows would never start", "120000 recv_done_trigger 7", "120000"),
        ("one flow and one activator", "barrier count 2", "multishot"),
        ("rdmacc does not reuse connections", "id 2", "id 1"),
        ("left out: rdmacc does not reuse", "start 0 size", "start 0 msg size"),
        ("run up to until=", "size 300000", "size 0"),
        ("htsim would read memory", " size 300000", ""),
        ("given, or a trigger", " start 0", ""),
        ("Connections = '0'", "Connections 5", "Connections 0"),
        ("start = 'twice'", "start 0", "start 5 start 0"),
        ("start = '1_0'", "start 0", "start 1_0"),
        ("Nodes = 'twice'", "Nodes 4", "Nodes 4\nNodes 4"),
        ("must not stand behind trigger", "id 4 trigger 7", "id 4 trigger 7 start 5"),
        ("behind the flow's id", "id 4 trigger 7", "trigger 7"),
        ("a whole number from 0 to 3", "3->2", "4->2"),
        ("start = 'soon'", "start 0", "start soon"),
        ("two different nodes", "3->2", "3->3"),
        ("fires without a flow", "3->2 id 5 trigger 8 size 1\n", "", "ons 5", "ons 4"),
        ("must be failure switch_type AGG", "oneshot\n", "oneshot\nfailure AGG 0\n"),
        ("three tiers from a topology", "oneshot\n", f"oneshot\n{FAILURE}", "Triggers", "Failures 1\nTriggers"),
        ("must be one of addon", "id 4", "colour 4"),
    ],
    (fat_tree, FAT_TREE, "a.topo"): [
        ("a whole number", "Radix_Down 2", "Radix_Down 4"),
        ("Oversubscribed", "Radix_Up 2", "Radix_Up 3"),
        ("at least 1", "Downlink_Latency_ns 500", "Downlink_Latency_ns 0"),
        ("one link between two switches", "Radix_Down 3", "Bundle 2\nRadix_Down 3"),
        ("the number of tier blocks", "Tiers 3", "Tiers 2"),
        ("a key and a value", "Radix_Down 4", "Radix_Sideways 4"),
        ("given once", "Podsize 12", "Podsize 12\nPodsize 12"),
        ("2 or 3", "Tiers 3", "Tiers 4"),
    ],
    (goal, GOAL, "a.goal, line "): [
        ("num_ranks N", "num_ranks 2", "ranks 2"),
        ("rank 1 {", "rank 1 {", "rank 2 {"),
        ("defined above", "w requires a", "w requires z"),
        ("which operation a wildcard matches", "from 0", "from -1"),
        ("chooses its link by hash", "cpu 1", "cpu 1 nic 2"),
        ("alone on its line", "calc 4000", "calc 4000 // four"),
        ("size = 17 ", "recv 16b", "recv 17b"),
        ("equal numbers of sends and receives", "recv 16b from 1 tag 4", "recv 16b from 1 tag 5"),
        ("which one matches would depend on time", "r requires s", "recv 1b from 1 tag 4",
         "b requires w", "b requires w\nv: calc 9 cpu 2\nd: send 1b to 0 tag 4\nd requires v"),
        ("must not make operations wait", "s: send", "r: recv 16b from 1 tag 4\ns: send",
         "s requires c\nr: recv 16b from 1 tag 4\nr requires s", "s requires r"),
    ],
    (goal, GOAL, "a.goal"): [("num_ranks = 3", "num_ranks 2", "num_ranks 3"), ("not 2", "num_ranks 2", "num_ranks 1",
        "s: send 65536b to 1 tag 3", "s: calc 1", "r: recv 16b from 1 tag 4", "r: calc 1",
        "a: recv 65536b from 0 tag 3", "a: calc 1", "b: send 16 b to 0 tag 4", "b: calc 1")],
    (two_racks, FLOWS, "f.txt, line "): [
        ("ends before", "2 4 3 100 1000 2.000010\nthe shipped files have help here\n", "2 4 3 100"),
        ("at least 2 s", "1 3 3 100 250000 2.0", "1 3 3 100 250000 1.0"),
        ("start = '2_0'", "0 3 3 100 250000 2.0", "0 3 3 100 250000 2_0"),
        ("no earlier than", "0 3 3 100 250000 2.0", "0 3 3 100 250000 2.1"),
        ("a host, not a switch", "0 3 3", "0 5 3"),
        ("a whole number from 0 to 7", "0 3 3", "0 3 9"),
    ],
    (racks, TWO_RACKS, "t.txt, line "): [
        ("delay = '0.001'", "0.001ms", "0.001 ms"),
        ("as ns-3 has it", "100Gbps", "100Gigabits"),
        ("between two nodes", "1 5 100Gbps", "0 5 100Gbps"),
        ("the number of those listed", "7 2 6\n5 6\n", "7 2 6\n5\n"),
        ("different from the others", "5 6\n", "5 5\n"),
        ("a probability", "0.0001", "2"),
        ("a whole number of ps", "0.001ms", "0.0000000001ms"),
        ("at least 1 Mb/s", "25Gbps", "0Gbps"),
    ],
    (simai, LAYERS, "w.txt"): [
        ("pp: = '4'", "pp: 1", "pp: 4"),
        ("a multiple of 2", "all_gpus: 4", "all_gpus: 5"),
        ("layers = 3", "2\n", "3\n"),
        ("collective of input gradient", "NONE", "BROADCAST"),
        ("time of weight gradient", "9000", "-1"),
        ("at most", "all_gpus: 4", "all_gpus: 900000"),
        ("of 12 words", " 50\n", "\n"),
        ("all_gpus: =", "all_gpus: 4", ""),
    ],
    (node_link, json.dumps(PAIR), "a.json"): [
        ("directed links", '"directed": false', '"directed": true'),
        ("edge a-s): must be a string with a unit", '"100Gbps"', "100000000000"),
        ("a node-link JSON file", '"nodes": [', '"nodes": 5, "others": ['),
        ("a node-link JSON file", '"pair"', "NaN"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "words", "changes"), [(table, row[0], row[1:]) for table, rows in MISTAKES.items() for row in rows]
)
def test_an_error_names_its_file_and_line(tmp_path, table, words, changes):
    read, text, place = table
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new, 1)
    said = str(refused(lambda: read(tmp_path, text), words, place))
    assert read is node_link or str(tmp_path / place) in said  # a graph's path is shortened


def test_wrong_counts_units_and_damaged_graphs_are_errors(tmp_path):
    six, none = (MATRIX.replace("Connections 5\n", other) for other in ("Connections 6\n", ""))
    refused(lambda: htsim(tmp_path, six), "Connections = 6 ", "a.cm, line 2", "must be 5")
    refused(lambda: htsim(tmp_path, none), "Connections = None ", "must be in the header")
    refused(lambda: htsim(tmp_path, MATRIX, unit="ms"), "unit = 'ms'")
    refused(lambda: topology.from_graphml(written(tmp_path, "b.graphml", "<graphml")), "a GraphML file")


PAIRS = [("h0", "h1", 1), ("h1", "h0", 1)]
THREE = [("h1", "h0", 5), ("h2", "h0", 5), ("h1", "h0", 5)]


@pytest.mark.parametrize(
    ("write", "rows", "changes", "words"),
    [
        (to_htsim, [{"src": "h0", "dst": "h1", "size": 1}, {"src": "h0", "duration": "1us"}], {}, "no computation"),
        (to_htsim, PAIRS, {"after": [(), (0,)], "delay_ps": [(), (1,)]}, "no delays"),
        (to_htsim, [("h0", "h1", 1, "0.5us")], {}, "32-bit float"),
        (to_htsim, PAIRS, {"after": [(), (0,)], "start_ps": [0, 2 * US]}, "starts a triggered flow at once"),
        (to_htsim, [*PAIRS, *[("h1", "h2", 1)] * 2], {"after": [(), (), (0,), (0, 1)]}, "one trigger"),
        (to_hpcc, PAIRS, {"after": [(), (0,)]}, "do not wait for each other"),
        *((write, PAIRS, {"weight": [1, 2]}, "weight = 2") for write in (to_htsim, to_hpcc)),
        *((write, PAIRS, {"queue_pair": [7, 7]}, "queue_pair = 7") for write in (to_htsim, to_hpcc)),
        *((write, PAIRS, {"path": [None, ("s0",)]}, "path = ") for write in (to_htsim, to_hpcc)),
        (to_htsim, PAIRS, {"priority": [None, 4]}, "priority = 4"),
        (to_htsim, PAIRS, {"after": [(), (9,)]}, "after = 9"),
        (to_htsim, PAIRS, {"after": [(1,), (0,)]}, "in a cycle"),
        *((write, [("h0", "h0", 1)], {}, "must differ from src") for write in (to_htsim, to_hpcc)),
        *((write, [], {}, "at least one message") for write in (to_htsim, to_hpcc)),
        (to_hpcc, [{"src": "h0", "duration": "1us"}], {}, "no computation"),
        (to_hpcc, THREE, {"priority": [3, 4, 5]}, "one class before the others"),
        (to_hpcc, THREE, {"priority": [3, 3, 4], "in_turn": [True, False, True]}, "one class before the others"),
    ],
)  # fmt: skip
def test_what_a_simulator_does_not_support_is_not_written(tmp_path, write, rows, changes, words):
    work = rdmacc.messages(rows).assign(**changes)
    refused(lambda: write(work, rdmacc.star(3), tmp_path / "a", tmp_path / "b"), words)
    third = rdmacc.star(3, rate=1e11 / 3)
    refused(lambda: to_hpcc(rdmacc.messages(PAIRS), third, tmp_path / "a", tmp_path / "b"), "rate_bps", "link h0-s0")
    refused(lambda: write(rdmacc.messages(PAIRS), third, tmp_path / "a", tmp_path / "x" / ".." / "a"), "another file")
    assert not list(tmp_path.iterdir())


def test_a_byte_order_mark_is_ignored(tmp_path):
    for read, text in ((goal, GOAL), (node_link, json.dumps(PAIR)), (racks, TWO_RACKS)):
        read(tmp_path, "\ufeff" + text)


@pytest.mark.parametrize("write", [lambda *given: to_hpcc(*given, given[-1] / "topology"), to_htsim])
def test_an_unwritable_file_is_named(tmp_path, write):
    refused(lambda: write(rdmacc.messages(PAIRS), rdmacc.star(3), tmp_path), str(tmp_path), "can be written")


# Files that nobody writes by accident


DIGITS = "9" * 5000
MANY = 2_000_000_000
SMALL_GOAL = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"
TOPO = (
    "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 1\nDownlink_Latency_ns 1\nRadix_Down 2\nRadix_Up 2\n"
    "Tier 1\nDownlink_speed_Gbps 1\nDownlink_Latency_ns 1\nRadix_Down 2\n"
)
SMALL_STAR = "3 1 2\n2\n0 2 25Gbps 1us 0\n1 2 25Gbps 1us 0\n"
FLOW = "1\n0 1 3 100 1000 2\n"
CALC = "num_ranks 1\nrank 0 {\ncalc 5\n}\n"


NODE_OF_5_GIB = bytes([3, 10, 1, 48, 255, 255, 255, 255, 15])  # metadata, then a message of 4 GiB that is missing
CASES = {
    "goal: digits of ranks": lambda f: goal(f, SMALL_GOAL.replace("num_ranks 2", f"num_ranks {DIGITS}")),
    "goal: calc beyond time": lambda f: goal(f, CALC.replace("5", "999999999"), unit="s"),
    "goal: zipped": lambda f: goal(f, gzip.compress(bytes(10**7))),
    "htsim: nodes": lambda f: htsim(f, SMALL_MATRIX.replace("Nodes 2", f"Nodes {MANY}"), hosts=2),
    "htsim: start beyond time": lambda f: htsim(f, SMALL_MATRIX.replace("start 0", "start 9e18"), hosts=2),
    "htsim: hosts of a topology": lambda f: htsim(
        f, SMALL_MATRIX, TOPO.replace("Nodes 4", f"Nodes {MANY}").replace("Podsize 4", f"Podsize {MANY}")
        .replace("Down 2\nRadix_Up 2", f"Down {MANY}\nRadix_Up {MANY}").replace("Down 2", "Down 1"),
    ),
    "htsim: rate of a topology": lambda f: htsim(f, SMALL_MATRIX, TOPO.replace("Gbps 1", f"Gbps {MANY}")),
    "hpcc: nodes": lambda f: hpcc(f, FLOW, SMALL_STAR.replace("3 1 2", f"{MANY} 1 2")),
    "hpcc: digits of a rate": lambda f: hpcc(f, FLOW, SMALL_STAR.replace("25Gbps", f"{DIGITS}Gbps")),
    "hpcc: delay": lambda f: hpcc(f, FLOW, SMALL_STAR.replace("1us", "1e999999us")),
    "hpcc: start beyond time": lambda f: hpcc(f, FLOW.replace(" 2\n", " 1e25\n"), SMALL_STAR),
    "chakra: zipped": lambda f: chakra(f, gzip.compress(bytes(9 * 10**7))),
    "chakra: name": lambda _: rdmacc.from_chakra("x" * 300),
    "chakra: message": lambda f: chakra(f, NODE_OF_5_GIB),
    "graphml: hosts": lambda f: graphml(f, delay="1us", hosts=MANY),
    "node-link: digits": lambda f: node_link(f, f'{{"nodes": [{{"id": {DIGITS}}}], "edges": []}}'),
    "node-link: depth": lambda f: node_link(f, "[" * 100_000),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_hostile_files_are_refused_at_once(tmp_path, name):
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError) as caught:
            CASES[name](tmp_path)
        largest = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 1000
    assert largest < 2 * 10**8
