"""Files that nobody writes by accident: our error, before anything large is allocated."""

from __future__ import annotations

import gzip
import tracemalloc

import networkx as nx
import pytest

import rdmacc
from rdmacc.errors import ConfigError

DIGITS = "9" * 5000
MANY = 2_000_000_000
GOAL = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"
MATRIX = "Nodes 2\nConnections 1\n0->1 start 0 size 5\n"
TOPO = (
    "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 1\nDownlink_Latency_ns 1\nRadix_Down 2\nRadix_Up 2\n"
    "Tier 1\nDownlink_speed_Gbps 1\nDownlink_Latency_ns 1\nRadix_Down 2\n"
)
STAR = "3 1 2\n2\n0 2 25Gbps 1us 0\n1 2 25Gbps 1us 0\n"
FLOW = "1\n0 1 3 100 1000 2\n"
CALC = "num_ranks 1\nrank 0 {\ncalc 5\n}\n"


def goal(folder, text, **arguments):
    (folder / "a.goal").write_bytes(text.encode() if isinstance(text, str) else text)
    return rdmacc.from_goal(folder / "a.goal", **arguments)


def htsim(folder, text, topo=None):
    (folder / "a.cm").write_text(text)
    (folder / "a.topo").write_text(topo or "")
    return rdmacc.from_htsim(folder / "a.cm", folder / "a.topo" if topo else rdmacc.star(2))


def hpcc(folder, flows, topology=STAR):
    (folder / "f.txt").write_text(flows)
    (folder / "t.txt").write_text(topology)
    return rdmacc.from_hpcc(folder / "f.txt", folder / "t.txt")


def chakra(folder, data):
    (folder / "a.0.et").write_bytes(data)
    return rdmacc.from_chakra(folder / "a")


def graphml(folder, rate="1Gbps", **arguments):
    nx.write_graphml(nx.Graph([("a", "b", {"rate": rate})]), folder / "a.graphml")
    return rdmacc.topology.from_graphml(folder / "a.graphml", delay="1us", **arguments)


def node_link(folder, text):
    (folder / "a.json").write_text(text)
    return rdmacc.topology.from_node_link(folder / "a.json", rate="1Gbps", delay="1us")


NODE_OF_5_GIB = bytes([3, 10, 1, 48, 255, 255, 255, 255, 15])  # metadata, then a message of 4 GiB that is not there
CASES = {
    "goal: digits of ranks": lambda f: goal(f, GOAL.replace("num_ranks 2", f"num_ranks {DIGITS}")),
    "goal: ranks": lambda f: goal(f, GOAL.replace("num_ranks 2", f"num_ranks {MANY}")),
    "goal: digits of a size": lambda f: goal(f, GOAL.replace("8b", f"{DIGITS}b")),
    "goal: size": lambda f: goal(f, GOAL.replace("8b", f"{2**63}b")),
    "goal: digits of a calc": lambda f: goal(f, CALC.replace("5", DIGITS)),
    "goal: calc beyond time": lambda f: goal(f, CALC.replace("5", "999999999"), unit="s"),
    "goal: zipped": lambda f: goal(f, gzip.compress(bytes(10**7))),
    "htsim: nodes": lambda f: htsim(f, MATRIX.replace("Nodes 2", f"Nodes {MANY}")),
    "htsim: connections": lambda f: htsim(f, MATRIX.replace("ons 1", f"ons {MANY}")),
    "htsim: digits of a size": lambda f: htsim(f, MATRIX.replace("size 5", f"size {DIGITS}")),
    "htsim: digits of a start": lambda f: htsim(f, MATRIX.replace("start 0", f"start {DIGITS}")),
    "htsim: start beyond time": lambda f: htsim(f, MATRIX.replace("start 0", "start 9e18")),
    "htsim: start is not a number": lambda f: htsim(f, MATRIX.replace("start 0", "start nan")),
    "htsim: hosts of a topology": lambda f: htsim(
        f, MATRIX, TOPO.replace("Nodes 4", f"Nodes {MANY}").replace("Podsize 4", f"Podsize {MANY}")
        .replace("Down 2\nRadix_Up 2", f"Down {MANY}\nRadix_Up {MANY}").replace("Down 2", "Down 1"),
    ),
    "htsim: digits of a topology": lambda f: htsim(f, MATRIX, TOPO.replace("Nodes 4", f"Nodes {DIGITS}")),
    "htsim: rate of a topology": lambda f: htsim(f, MATRIX, TOPO.replace("Gbps 1", f"Gbps {MANY}")),
    "hpcc: nodes": lambda f: hpcc(f, FLOW, STAR.replace("3 1 2", f"{MANY} 1 2")),
    "hpcc: switches": lambda f: hpcc(f, FLOW, STAR.replace("3 1 2", f"3 {MANY} 2")),
    "hpcc: links": lambda f: hpcc(f, FLOW, STAR.replace("3 1 2", f"3 1 {MANY}")),
    "hpcc: flows": lambda f: hpcc(f, FLOW.replace("1\n", f"{MANY}\n", 1)),
    "hpcc: digits of a rate": lambda f: hpcc(f, FLOW, STAR.replace("25Gbps", f"{DIGITS}Gbps")),
    "hpcc: dots of a rate": lambda f: hpcc(f, FLOW, STAR.replace("25Gbps", "2.5.0Gbps")),
    "hpcc: delay": lambda f: hpcc(f, FLOW, STAR.replace("1us", "1e999999us")),
    "hpcc: error": lambda f: hpcc(f, FLOW, STAR.replace("1us 0", "1us 1e-999999999")),
    "hpcc: digits of a start": lambda f: hpcc(f, FLOW.replace(" 2\n", f" {DIGITS}\n")),
    "hpcc: start": lambda f: hpcc(f, FLOW.replace(" 2\n", " 1e999999\n")),
    "hpcc: start beyond time": lambda f: hpcc(f, FLOW.replace(" 2\n", " 1e25\n")),
    "hpcc: size": lambda f: hpcc(f, FLOW.replace("1000", str(2**63))),
    "chakra: zipped": lambda f: chakra(f, gzip.compress(bytes(9 * 10**7))),
    "chakra: cut off": lambda f: chakra(f, gzip.compress(bytes(1000))[:-9]),
    "chakra: message": lambda f: chakra(f, NODE_OF_5_GIB),
    "graphml: digits": lambda f: graphml(f, f"{DIGITS}Gbps"),
    "graphml: hosts": lambda f: graphml(f, hosts=MANY),
    "node-link: digits": lambda f: node_link(f, '{"nodes": [{"id": 0}], "edges": []}'.replace("0", DIGITS)),
    "node-link: depth": lambda f: node_link(f, "[" * 100_000),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_hostile_files_are_our_errors_at_once(tmp_path, name):
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError) as caught:
            CASES[name](tmp_path)
        largest = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 1000
    assert largest < 2 * 10**8
