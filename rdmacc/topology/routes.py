"""Compute arrays from a graph: ports, attachments, shortest paths, and the direction (up or down) of links."""

import re
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rdmacc.topology.base import Graph

Bools: TypeAlias = npt.NDArray[np.bool_]
Int8s: TypeAlias = npt.NDArray[np.int8]
Int32s: TypeAlias = npt.NDArray[np.int32]


_DIGITS = re.compile(r"(\d+)")


def node_levels(graph: Graph) -> dict[Any, int]:
    """Return each node's hops to the nearest host, by name; the number of nodes if there is no path."""
    names = list(graph)
    index = {name: i for i, name in enumerate(names)}
    is_host = np.array([node["kind"] == "host" for _, node in graph.nodes(data=True)], dtype=np.bool_)
    ends = np.array([(index[one], index[other]) for one, other in graph.edges], dtype=np.int32).reshape(-1, 2)
    level = levels_of(is_host, np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]]))
    return dict(zip(names, level.tolist(), strict=True))


def in_order(graph: Graph) -> list[Any]:
    """Return the names of the nodes, those nearest to hosts first, then by name: h2 before h10."""
    levels = node_levels(graph)
    return sorted(levels, key=lambda name: (levels[name], _name_key(name)))


def _name_key(name: Any) -> tuple[Any, ...]:
    """Return the sort key of a name: its digits as numbers, then its type and text."""
    text = name if isinstance(name, str) else repr(name) if isinstance(name, int | float | tuple) else ""
    parts: list[Any] = _DIGITS.split(text)
    parts[1::2] = map(int, parts[1::2])
    return parts, type(name).__name__, text


def ports_of(graph: Graph, index: dict[Any, int]) -> dict[str, Any]:
    links = [*graph.edges(data=True)]
    ends = np.array([(index[one], index[other]) for one, other, _ in links], dtype=np.int32).reshape(-1, 2)
    rates = np.array([float(link["rate_bps"]) for *_, link in links])
    own = np.array([float(graph.nodes[name].get("rate_bps", np.inf)) for name in index])
    there, back = np.minimum(rates, own[ends[:, 0]]), np.minimum(rates, own[ends[:, 1]])
    return sorted_ports(ends, there, back, [int(link["delay_ps"]) for *_, link in links])


def sorted_ports(ends: npt.NDArray[Any], there: Any, back: Any, delay: Any) -> dict[str, Any]:
    """Return the arrays of the ports of links, sorted by node and peer."""
    node, peer = np.concatenate([ends, ends[:, ::-1]]).astype(np.int32).T
    order = np.lexsort((peer, node))
    place = np.empty_like(order, dtype=np.int32)
    place[order] = np.arange(len(order))
    rate = np.concatenate([np.asarray(there, np.float64), np.asarray(back, np.float64)])[order]
    return {
        "port_node": np.ascontiguousarray(node[order]),
        "port_peer": np.ascontiguousarray(peer[order]),
        "port_reverse": np.roll(place, len(ends))[order],
        "port_rate_bps": rate,
        "port_delay_ps": np.tile(np.asarray(delay, dtype=np.int64), 2)[order],
        "port_byte_ps": 8e12 / rate,
    }


def attach_of(is_host: Bools, first: Int32s, peer: Int32s, reverse: Int32s) -> tuple[Int32s, Int32s, Int32s]:
    """Return `attachments`, `attach` and `last_port`."""
    hosts = np.flatnonzero(is_host)
    nic = first[hosts]
    hangs = (np.diff(first)[hosts] == 1) & ~is_host[peer[nic]]
    where = np.where(hangs, peer[nic], hosts)
    is_attachment = np.zeros(len(is_host), dtype=np.bool_)
    is_attachment[where] = True
    attachments = np.flatnonzero(is_attachment)
    attach = np.full(len(is_host), -1, dtype=np.int32)
    attach[hosts] = np.cumsum(is_attachment)[where] - 1
    last_port = np.full(len(is_host), -1, dtype=np.int32)
    last_port[hosts[hangs]] = reverse[nic[hangs]]
    return attachments.astype(np.int32), attach, last_port


def rows_of(is_host: Bools, attachments: Int32s, attach: Int32s) -> Int32s:
    """Return `route_row`: switches and attachments have their own rows; other hosts share their attachment's."""
    row = np.full(len(is_host), -1, dtype=np.int32)
    nodes = _with_rows(is_host, attachments)
    row[nodes] = np.arange(len(nodes))
    row[is_host] = row[attachments[attach[is_host]]]
    return row


def _with_rows(is_host: Bools, attachments: Int32s) -> npt.NDArray[np.int64]:
    has_row = ~is_host
    has_row[attachments] = True
    return np.flatnonzero(has_row)


def routes_of(is_host: Bools, first: Int32s, peer: Int32s, attachments: Int32s) -> tuple[Int32s, Int32s, Int32s]:
    """Return `route_first`, `route_count` and `route_ports`.

    This computes the shortest paths to all attachments at once: a set of attachments is a row of bits, and each node
    takes the union of its neighbours' sets. A port of node v leads to an attachment if v reached it one level after the
    port's peer did.
    """
    nodes = _with_rows(is_host, attachments)
    row = np.full(len(is_host), -1)
    row[nodes] = np.arange(len(nodes))
    degree = first[nodes + 1] - first[nodes]
    ports = np.repeat(first[nodes] - np.cumsum(degree) + degree, degree) + np.arange(degree.sum())
    inner = row[peer[ports]] >= 0  # a host with one link is not on the path to any other host
    ports = ports[inner]
    here, there = np.repeat(row[nodes], degree)[inner], row[peer[ports]]
    ends = np.searchsorted(here, np.arange(len(nodes) + 1))
    found = _levels(here, there, row[attachments], is_host[nodes])
    shape = (len(nodes), len(attachments))
    route_first, route_count = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    lists: list[Int32s] = []
    stored = 0
    for v in range(len(nodes)):
        low, high = ends[v], ends[v + 1]
        leads = np.unpackbits(found[low:high].view(np.uint8), axis=1, count=len(attachments))
        choices, which = _distinct_columns(leads)
        counts = choices.sum(axis=0)
        starts = stored + np.cumsum(counts) - counts
        lists.append(ports[low:high][np.nonzero(choices.T)[1]].astype(np.int32))
        stored += len(lists[-1])
        route_first[v], route_count[v] = starts[which], counts[which]
    route_first[route_count == 0] = 0
    return route_first, route_count, np.concatenate([*lists, np.zeros(1, dtype=np.int32)])


def _levels(here: Any, there: Any, ends: Any, is_host: Bools) -> npt.NDArray[np.uint64]:
    """Return, for each port from row `here` to row `there`, the attachments that it leads to, as a row of bits."""
    width = -(-len(ends) // 64)
    bits = np.zeros((len(is_host), width * 64), dtype=np.uint8)
    bits[ends, np.arange(len(ends))] = 1
    frontier = np.packbits(bits, axis=1).view(np.uint64)
    seen, found = frontier.copy(), np.zeros((len(here), width), dtype=np.uint64)
    begins = np.flatnonzero(np.diff(here, prepend=-1))  # rows are in order
    linked = here[begins]
    while len(linked) and frontier.any():
        reached = frontier[there]
        new = np.zeros_like(seen)
        new[linked] = np.bitwise_or.reduceat(reached, begins, axis=0) & ~seen[linked]
        found |= reached & new[here]
        seen |= new
        frontier = np.where(is_host[:, None], np.uint64(0), new)
    return found


def _distinct_columns(leads: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], Any]:
    """Return the distinct columns of a matrix of bits, and which of them each column is."""
    if leads.shape[1] == 1:
        return leads, [0]
    packed = np.packbits(leads, axis=0)
    words = np.zeros((max(-(-len(packed) // 8), 1) * 8, leads.shape[1]), dtype=np.uint8)
    words[: len(packed)] = packed
    keys = np.ascontiguousarray(words.T).view(np.uint64)
    key = keys[:, 0] if keys.shape[1] == 1 else keys.view([("", np.uint64)] * keys.shape[1])[:, 0]
    _, firsts, which = np.unique(key, return_index=True, return_inverse=True)
    return leads[:, firsts], which


def levels_of(is_host: Bools, node: Int32s, peer: Int32s) -> npt.NDArray[np.int64]:
    """Return each node's hops to the nearest host; 0 for hosts."""
    level = np.full(len(is_host), len(is_host), dtype=np.int64)
    level[is_host] = 0
    for hops in range(1, len(is_host)):
        new = node[(level[peer] == hops - 1) & (level[node] > hops)]
        if not new.size:
            break
        level[new] = hops
    return level


def climbs_of(is_host: Bools, node: Int32s, peer: Int32s) -> Int8s:
    """Return for each port 1 if its link leads up, to a node with more hops to the nearest host, otherwise 0.

    Of two nodes with equal hops, the one with the higher number is above. So neither the upward links nor the downward
    links form a cycle, and paths that go up and then down cannot wait on each other in a cycle.
    """
    level = levels_of(is_host, node, peer)
    above = (level[peer] > level[node]) | ((level[peer] == level[node]) & (peer > node))
    return np.asarray(above, dtype=np.int8)
