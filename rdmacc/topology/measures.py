"""Static measures of a network: round-trip times, BDP, bisection bandwidth, oversubscription."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.show.tables import html_table, text_table
from rdmacc.topology.base import Graph, completed, hosts, port_rate_bps, validate
from rdmacc.topology.base_times import longest_ps, packet_ps
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.routes import in_order, levels_of
from rdmacc.topology.ways import has_equal_ways, hops_of
from rdmacc.units import format_rate, format_size, format_time

_MOST_BYTES = 2**40


@dataclass(frozen=True)
class TopologyInfo:
    """The measures of a network, as returned by :func:`describe`.

    RTT and BDP are for the farthest pair of hosts, the one with the longest base RTT, and for the slowest of its
    shortest paths if they differ.
    """

    name: str
    """The graph's name."""
    hosts: int
    """Number of hosts."""
    switches: int
    """Number of switches."""
    links: int
    """Number of links."""
    farthest: tuple[Any, Any]
    """The first pair of hosts (source, destination) with the longest base RTT."""
    hops: int
    """Number of links on the farthest pair's shortest path."""
    mean_hops: float
    """Number of links on the shortest path, averaged over all pairs of different hosts."""
    propagation_rtt_ps: int
    """Round-trip propagation time of the farthest pair."""
    base_rtt_ps: int
    """Round-trip time of the farthest pair, including the transmission of one packet and its ACK on every link."""
    bdp_bytes: int
    """Rate of the slowest link between the farthest pair, times `base_rtt_ps`."""
    bisection_bps: float
    """Rate at which one half of the hosts can send to the other half; see :func:`bisection_bps`."""
    oversubscription: float
    """Total rate of the host links of one half (the smaller of both halves), over `bisection_bps`."""

    def rows(self) -> list[list[str]]:
        return [
            ["hosts", str(self.hosts)],
            ["switches", str(self.switches)],
            ["links", str(self.links)],
            ["farthest pair", f"{self.farthest[0]} to {self.farthest[1]}, {self.hops} hops"],
            ["mean path", f"{self.mean_hops:.2f} hops"],
            ["propagation, round trip", format_time(self.propagation_rtt_ps)],
            ["base RTT", format_time(self.base_rtt_ps)],
            ["BDP", format_size(self.bdp_bytes)],
            ["bisection", format_rate(self.bisection_bps)],
            ["oversubscription", f"{self.oversubscription:.3g}"],
        ]

    def __str__(self) -> str:
        return text_table([self.name, ""], self.rows())

    def _repr_html_(self) -> str:
        return html_table(["", ""], self.rows(), caption=self.name)


@typed
def describe(network: Graph, data_bytes: int = 1048, ack_bytes: int = 64) -> TopologyInfo:
    """Return the measures of a network.

    Parameters
    ----------
    network : networkx.Graph
        A valid network with at least two connected hosts.
    data_bytes, ack_bytes : int
        Wire sizes of the packet and the ACK in the base RTT. With 0 and 0 it is propagation only, which papers usually
        call base RTT.

    Examples
    --------
    >>> from rdmacc.topology import rcc_fat_tree
    >>> paper = describe(rcc_fat_tree(), data_bytes=0, ack_bytes=0)
    >>> paper.base_rtt_ps, paper.bdp_bytes
    (12000000, 150000)
    """
    network = completed(network)
    fabric = Fabric.from_graph(network)
    src, dst, weight = _host_pairs(fabric)
    if not len(src):
        raise ConfigError("network", str(network.graph.get("name", "")), "must have two hosts that a path joins")
    hops, propagation, rtt, slowest = _path_measures(fabric, src, dst, data_bytes, ack_bytes)
    far = int(np.argmax(rtt))
    bisection = bisection_bps(network)
    first, second = _halves(network)
    half = min(_uplinks_bps(network, first), _uplinks_bps(network, second))
    return TopologyInfo(
        name=fabric.name,
        hosts=len(fabric.hosts),
        switches=fabric.n_nodes - len(fabric.hosts),
        links=network.number_of_edges(),
        farthest=(fabric.names[src[far]], fabric.names[dst[far]]),
        hops=int(hops[far]),
        mean_hops=float(np.average(hops, weights=weight)),
        propagation_rtt_ps=int(propagation[far]),
        base_rtt_ps=int(rtt[far]),
        bdp_bytes=round(float(slowest[far]) * int(rtt[far]) / 8e12),
        bisection_bps=bisection,
        oversubscription=half / bisection if bisection else float("inf"),
    )


@typed
def base_rtt_ps(network: Graph, src: Hashable, dst: Hashable, data_bytes: int = 1048, ack_bytes: int = 64) -> int:
    """Return the round-trip time in ps of one packet and its ACK alone in the network, by their sizes on the wire.

    Store-and-forward: the packet takes a shortest path, the slowest if they differ, and the ACK returns along it.
    """
    return int(_path_measures(*_pair(network, src, dst), data_bytes, ack_bytes)[2][0])


@typed
def bdp_bytes(network: Graph, src: Hashable, dst: Hashable, data_bytes: int = 1048, ack_bytes: int = 64) -> int:
    """Return the bandwidth-delay product in bytes: the slowest link's rate times :func:`base_rtt_ps`."""
    *_, rtt, slowest = _path_measures(*_pair(network, src, dst), data_bytes, ack_bytes)
    return round(float(slowest[0]) * int(rtt[0]) / 8e12)


@typed
def bisection_bps(network: Graph) -> float:
    """Return the highest rate (bit/s) at which one half of the hosts can send to the other half: a maximum flow.

    Hosts do not forward; all paths count, not only the shortest. The halves are the sides of a
    :func:`~rdmacc.topology.dumbbell`, otherwise the first and the second half of the hosts by name (h2 before h10). For
    networks from the builders this split minimises the flow; for other graphs it may not.
    """
    network = completed(network)
    validate(network)
    left, right = map(set, _halves(network))
    if not left:
        raise ConfigError("network", str(network.graph.get("name", "")), "must have at least two hosts")
    source, sink = object(), object()
    flow: nx.DiGraph[Any] = nx.DiGraph()
    flow.add_nodes_from([source, sink])
    for link in network.edges:
        for tail, head in (link, link[::-1]):
            if tail not in right and head not in left:
                ends = source if tail in left else tail, sink if head in right else head
                before = flow.edges[ends]["capacity"] if flow.has_edge(*ends) else 0.0
                flow.add_edge(*ends, capacity=before + port_rate_bps(network, tail, head))
    return float(nx.maximum_flow_value(flow, source, sink))


def uplink_shortage(fabric: Fabric) -> float:
    """Return the ratio of the rate from below to the rate of the uplinks, multiplied over the tiers.

    A tier is the switches with equal hops to their nearest host; its worst switch counts. uet-htsim configures
    receivers by this oversubscription; unlike that of :func:`describe`, it needs no maximum flow.
    """
    node, level = fabric.port_node, levels_of(fabric.is_host, fabric.port_node, fabric.port_peer)
    goes_down = level[fabric.port_peer] < level[node]
    down = np.bincount(node, fabric.port_rate_bps * goes_down, minlength=fabric.n_nodes)
    up = np.bincount(node, fabric.port_rate_bps * ~goes_down, minlength=fabric.n_nodes)
    product = 1.0
    for tier in range(1, int(level.max()) + 1):
        among = (level == tier) & (up > 0)
        if among.any():
            product *= max(1.0, float((down[among] / up[among]).max()))
    return product


def _halves(graph: Graph) -> tuple[list[Any], list[Any]]:
    """Return the sides of a dumbbell, or the first and the second half of the hosts."""
    names = [name for name in in_order(graph) if graph.nodes[name]["kind"] == "host"]
    sides = graph.graph.get("sides")
    if sides is not None and all(sides) and sorted(map(str, chain(*sides))) == sorted(map(str, names)):
        return list(sides[0]), list(sides[1])
    middle = len(names) // 2
    return names[:middle], names[middle:]


def _uplinks_bps(graph: Graph, names: list[Any]) -> float:
    return sum(port_rate_bps(graph, name, peer) for name in names for peer in graph[name])


def _host_pairs(
    fabric: Fabric,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return representative pairs of hosts, and the number of ordered pairs that each represents.

    The first of several equivalent hosts represents all of them, and the first two represent the pairs among them.
    """
    members = fabric.alike_hosts()
    count = np.array([len(names) for names in members], dtype=np.float64)
    first = np.array([names[0] for names in members], dtype=np.int64)
    second = np.array([names[min(1, len(names) - 1)] for names in members], dtype=np.int64)
    src, dst = np.repeat(first, len(first)), np.tile(first, len(first))
    same = src == dst
    dst[same] = second
    weight = np.outer(count, count).ravel()
    weight[same] -= count
    joined = (weight > 0) & (src != dst)
    joined[joined] = fabric.reachable_many(src[joined], dst[joined])
    return src[joined], dst[joined], weight[joined]


def _path_measures(
    fabric: Fabric, src: npt.NDArray[np.int64], dst: npt.NDArray[np.int64], data_bytes: int, ack_bytes: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return hops, round-trip propagation (ps), base RTT (ps) and slowest rate (bit/s) of each pair."""
    for field, value in (("data_bytes", data_bytes), ("ack_bytes", ack_bytes)):
        if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= value < _MOST_BYTES:
            raise ConfigError(field, value, f"a whole number of bytes, at least 0 and below {_MOST_BYTES}")
    there, back = packet_ps(fabric, data_bytes), packet_ps(fabric, ack_bytes)[fabric.port_reverse]
    hops = longest_ps(fabric, src, dst, np.ones(fabric.n_ports, np.int64))
    propagation = longest_ps(fabric, src, dst, 2 * fabric.port_delay_ps)
    slowest = np.full(len(src), np.inf)
    for hop in hops_of(fabric, src, dst, not has_equal_ways(fabric)):
        np.minimum.at(slowest, hop.pair, fabric.port_rate_bps[hop.ports])
    return hops, propagation, longest_ps(fabric, src, dst, there + back), slowest


def _pair(graph: Graph, src: Hashable, dst: Hashable) -> tuple[Fabric, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    graph = completed(graph)
    fabric = Fabric.from_graph(graph)
    for field, name in (("src", src), ("dst", dst)):
        if name not in graph or graph.nodes[name]["kind"] != "host":  # unlike a dict, a graph accepts unhashable names
            raise unknown(field, name, hosts(graph), "a host of the network")
    one, other = (np.array([fabric.index[name]], np.int64) for name in (src, dst))
    fabric.check_paths(one, other)
    return fabric, one, other
