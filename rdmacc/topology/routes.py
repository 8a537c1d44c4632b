"""From a graph to arrays: ports, attachments, the shortest paths, and which links lead up."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rdmacc.topology.base import Graph

__all__ = ["Bools", "Int8s", "Int32s", "attach_of", "climbs_of", "ports_of", "routes_of"]

Bools: TypeAlias = npt.NDArray[np.bool_]
Int8s: TypeAlias = npt.NDArray[np.int8]
Int32s: TypeAlias = npt.NDArray[np.int32]


def ports_of(graph: Graph, index: dict[Any, int]) -> dict[str, Any]:
    """Return the arrays of the ports, sorted by node and peer.

    Parameters
    ----------
    graph : Graph
        The network.
    index : dict
        Number of each node, by name.
    """
    links = [
        (index[one], index[other], float(link["rate_bps"]), int(link["delay_ps"]))
        for one, other, link in graph.edges(data=True)
    ]
    ends = np.array([link[:2] for link in links], dtype=np.int32).reshape(-1, 2)
    node, peer = np.concatenate([ends, ends[:, ::-1]]).T
    order = np.lexsort((peer, node))
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    rate = np.tile(np.array([link[2] for link in links], dtype=np.float64), 2)[order]
    delay = np.tile(np.array([link[3] for link in links], dtype=np.int64), 2)[order]
    return {
        "port_node": np.ascontiguousarray(node[order]),
        "port_peer": np.ascontiguousarray(peer[order]),
        "port_reverse": np.roll(place, len(links))[order],
        "port_rate_bps": rate,
        "port_delay_ps": delay,
        "port_byte_ps": 8e12 / rate,
    }


def attach_of(is_host: Bools, first: Int32s, peer: Int32s, reverse: Int32s) -> tuple[Int32s, Int32s, Int32s]:
    """Return `attachments`, `attach` and `last_port`.

    Parameters
    ----------
    is_host : ndarray of bool
        Which nodes are hosts; shape N.
    first : ndarray of int
        First port of each node; shape N + 1.
    peer : ndarray of int
        Node that each port leads to; shape P.
    reverse : ndarray of int
        Port at the other end of each port's link; shape P.
    """
    hosts = np.flatnonzero(is_host)
    nic = first[hosts]
    hangs = (np.diff(first)[hosts] == 1) & ~is_host[peer[nic]]
    where = np.where(hangs, peer[nic], hosts)
    attachments, columns = np.unique(where, return_inverse=True)
    attach = np.full(len(is_host), -1, dtype=np.int32)
    attach[hosts] = columns
    last_port = np.full(len(is_host), -1, dtype=np.int32)
    last_port[hosts[hangs]] = reverse[nic[hangs]]
    return attachments.astype(np.int32), attach, last_port


def _hops(is_host: Bools, first: Int32s, peer: Int32s, attachments: Int32s) -> Int32s:
    """Return the hops from each node to each attachment, -1 if none; shape A x N."""
    hops = np.full((len(attachments), len(is_host)), -1, dtype=np.int32)
    hops[np.arange(len(attachments)), attachments] = 0
    linked = np.flatnonzero(np.diff(first))
    level = 0
    frontier = hops == 0
    while linked.size and frontier.any():
        level += 1
        near = np.logical_or.reduceat(frontier[:, peer], first[linked], axis=1)
        new = np.zeros_like(frontier)
        new[:, linked] = near & (hops[:, linked] < 0)
        hops[new] = level
        frontier = new & ~is_host
    return hops


def routes_of(
    is_host: Bools, first: Int32s, node: Int32s, peer: Int32s, attachments: Int32s
) -> tuple[Int32s, Int32s, Int32s]:
    """Return `route_first`, `route_count` and `route_ports`.

    Parameters
    ----------
    is_host : ndarray of bool
        Which nodes are hosts; shape N.
    first : ndarray of int
        First port of each node; shape N + 1.
    node : ndarray of int
        Node of each port; shape P.
    peer : ndarray of int
        Node that each port leads to; shape P.
    attachments : ndarray of int
        Nodes to route to; shape A.
    """
    hops = _hops(is_host, first, peer, attachments)
    forwards = ~is_host[peer] | (peer == attachments[:, None])
    nearer = (hops[:, node] > 0) & (hops[:, peer] == hops[:, node] - 1) & forwards
    shape = (len(is_host), len(attachments))
    route_first, route_count = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    lists: list[Int32s] = []
    stored = 0
    for v in range(len(is_host)):
        low, high = first[v], first[v + 1]
        packed = np.packbits(nearer[:, low:high], axis=1)
        seen: dict[bytes, tuple[int, int]] = {}
        for a in np.flatnonzero(packed.any(axis=1)):
            key = packed[a].tobytes()
            if key not in seen:
                ports = (low + np.flatnonzero(nearer[a, low:high])).astype(np.int32)
                lists.append(ports)
                seen[key] = (stored, len(ports))
                stored += len(ports)
            route_first[v, a], route_count[v, a] = seen[key]
    return route_first, route_count, np.concatenate(lists) if lists else np.zeros(1, dtype=np.int32)


def climbs_of(is_host: Bools, first: Int32s, node: Int32s, peer: Int32s) -> Int8s:
    """Return, for each port, 1 if its link leads up: to a node with more hops to the nearest host.

    Of two nodes with equal hops the one with the higher number is above. So links up never form a cycle, and neither
    do links down: paths that go up and then down cannot wait on each other in a cycle.

    Parameters
    ----------
    is_host : ndarray of bool
        Which nodes are hosts; shape N.
    first : ndarray of int
        First port of each node; shape N + 1.
    node : ndarray of int
        Node of each port; shape P.
    peer : ndarray of int
        Node that each port leads to; shape P.
    """
    level = np.full(len(is_host), len(is_host), dtype=np.int64)
    level[is_host] = 0
    for hops in range(1, len(is_host)):
        new = np.unique(node[(level[peer] == hops - 1) & (level[node] > hops)])
        if not new.size:
            break
        level[new] = hops
    above = (level[peer] > level[node]) | ((level[peer] == level[node]) & (peer > node))
    return np.asarray(above, dtype=np.int8)
