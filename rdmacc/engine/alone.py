"""Times of messages alone in the network: the ideal FCT, and the base RTT of their queue pairs.

The path of a message is known if the workload gives it, or if a hash chooses it for all its packets. Packets that the
routing shares out over several shortest paths have the slowest of these in their base RTT.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rdmacc.interface import Links
from rdmacc.interface.chance import hash63_of
from rdmacc.schemes import Scheme
from rdmacc.schemes.composition import links_of
from rdmacc.topology.base_times import Step, base_fct_ps, largest_rtt_ps, least_fct_ps, longest_ps, packet_ps
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.ways import choices, has_equal_ways
from rdmacc.workload.paths import Paths

Ints = npt.NDArray[np.int64]


_FEW_HOSTS = 32
"""Up to this many hosts, computing all pairs is as fast as computing the pairs that messages use."""


class Messages(NamedTuple):
    """What determines the paths of M messages."""

    src: Ints
    dst: Ints
    size_bytes: Ints
    qp: Ints
    ports: tuple[Ints, Ints]  # first ports of each queue pair's data and replies
    paths: Paths
    hash_as: npt.NDArray[np.int32]
    salts: Ints  # by node number
    symmetric_salt: int
    distance: Ints


class Alone(NamedTuple):
    """Picoseconds, by message and by queue pair."""

    ideal_fct_ps: Ints
    base_rtt_ps: Ints
    base_delay_ps: Ints


def times_alone(fabric: Fabric, scheme: Scheme, messages: Messages, qp_src: Ints, qp_dst: Ints) -> Alone:
    src, dst, size = messages.src, messages.dst, messages.size_bytes
    payload, header, ack, tick = scheme.payload_bytes, scheme.header_bytes, scheme.ack_bytes, scheme.tick_ps
    is_alike, is_hashed = has_equal_ways(fabric), scheme.routing in ("ecmp", "symmetric")
    is_hashed &= not any("on_route" in part.handlers() for part in scheme.components)
    if is_alike and not len(messages.paths.ports):
        there, rtt = _of_pairs(fabric, scheme, qp_src, qp_dst)
        if is_hashed:
            ideal = base_fct_ps(fabric, src, dst, size, payload, header, tick_ps=tick)
        else:
            first = messages.ports[0][messages.qp]
            ideal = least_fct_ps(fabric, src, dst, first, size, payload, header, tick)
        return Alone(ideal, _of_scheme(fabric, scheme, rtt, messages.paths), there)
    ideal = np.zeros(len(src), np.int64)
    ways = np.zeros((2, len(src)), np.int64)
    own = messages.paths
    given = np.diff(own.first).reshape(-1, 2).T > 0 if len(own.ports) else np.zeros(ways.shape, bool)
    for back, (here, end, wire) in enumerate(((src, dst, payload + header), (dst, src, ack))):
        first = messages.ports[back][messages.qp]
        known = np.flatnonzero(given[back] | is_hashed)
        spread = np.flatnonzero(~given[back] & (not is_hashed))
        step = _step(fabric, scheme, messages, known, end[known], first[known], back)
        ways[back, known] = base_fct_ps(fabric, here[known], end[known], wire, wire, 0, step)
        ways[back, spread] = longest_ps(fabric, here[spread], end[spread], packet_ps(fabric, wire), first[spread])
        if not back:
            ideal[known] = base_fct_ps(fabric, src[known], dst[known], size[known], payload, header, step, tick)
            parts = src[spread], dst[spread], first[spread], size[spread]
            ideal[spread] = least_fct_ps(fabric, *parts, payload, header, tick)
    rtt = ways.sum(axis=0)
    order = np.lexsort((rtt, messages.qp))
    slowest = order[np.searchsorted(messages.qp[order], np.arange(len(qp_src)), side="right") - 1]
    return Alone(ideal, _of_scheme(fabric, scheme, rtt[slowest], messages.paths), ways[0, slowest])


def _of_pairs(fabric: Fabric, scheme: Scheme, src: Ints, dst: Ints) -> tuple[Ints, Ints]:
    """Return a packet's one-way and round-trip times; a small network has a table of all pairs."""
    payload, header, ack, hosts = scheme.payload_bytes, scheme.header_bytes, scheme.ack_bytes, fabric.hosts

    def times(src: Ints, dst: Ints) -> tuple[Ints, Ints]:
        there = base_fct_ps(fabric, src, dst, payload, payload, header)
        return there, there + base_fct_ps(fabric, dst, src, ack, ack, 0)

    def table() -> tuple[Ints, Ints] | None:
        pairs = np.stack(np.meshgrid(hosts, hosts, indexing="ij")).reshape(2, -1).astype(np.int64)
        pairs = pairs[:, fabric.reachable_many(*pairs) & (pairs[0] != pairs[1])]
        found = np.zeros((2, fabric.n_nodes, fabric.n_nodes), np.int64)
        if fabric.reachable_many(*pairs[::-1]).all():
            found[:, pairs[0], pairs[1]] = times(*pairs)
            return found[0], found[1]
        return None

    if len(hosts) > _FEW_HOSTS:
        return times(src, dst)
    known = fabric.kept.get((_of_pairs, payload, header, ack), table)
    return (known[0][src, dst], known[1][src, dst]) if known else times(src, dst)


def links_with(fabric: Fabric, scheme: Scheme, paths: Paths) -> Links:
    """Return the properties of a network that parameters scale with; the RTT is that of a given path if longer."""
    links, longest = links_of(fabric, scheme), _longest_rtt_ps(fabric, paths, scheme.wire_bytes, 0)
    return Links(links.rate_bps, lambda: max(links.rtt_ps, longest), lambda: links.oversubscription)


def rtt_of_scheme(fabric: Fabric, scheme: Scheme) -> int:
    header, ack = (0, 0) if scheme.base_rtt == "network" else (scheme.header_bytes, scheme.ack_bytes)
    return largest_rtt_ps(fabric, scheme.payload_bytes, header, ack)


def _of_scheme(fabric: Fabric, scheme: Scheme, rtt: Ints, paths: Paths) -> Ints:
    if scheme.base_rtt == "pair":
        return rtt
    header, ack = (0, 0) if scheme.base_rtt == "network" else (scheme.header_bytes, scheme.ack_bytes)
    longest = rtt_of_scheme(fabric, scheme)
    own = _longest_rtt_ps(fabric, paths, scheme.payload_bytes + header, ack)
    return np.full(len(rtt), max(longest, own), np.int64)


def _longest_rtt_ps(fabric: Fabric, paths: Paths, wire_bytes: int, ack_bytes: int) -> int:
    """Return the longest round trip of messages with a path of their own, 0 if none has one."""
    if not len(paths.ports):
        return 0
    forth, back = (packet_ps(fabric, wire) for wire in (wire_bytes, ack_bytes))
    there, here = (np.r_[0, np.cumsum(port_ps[paths.ports])] for port_ps in (forth, back))
    begin, turn, end = paths.first[np.flatnonzero(np.diff(paths.first)[::2]) * 2 + np.arange(3)[:, None]]
    found = there[turn] - there[begin] + here[end] - here[turn]
    bare = np.flatnonzero(turn == end)
    src, dst = fabric.port_node[paths.ports[begin[bare]]], fabric.port_peer[paths.ports[turn[bare] - 1]]
    found[bare] += longest_ps(fabric, dst.astype(np.int64), src.astype(np.int64), back)
    return int(found.max(initial=0))


def _step(
    fabric: Fabric, scheme: Scheme, messages: Messages, numbers: Ints, ends: Ints, first: Ints, back: int
) -> Step:
    """Return the function that picks each message's next port: its own path, or the switches' hash."""
    begins = messages.paths.first[back:-1:2] if len(messages.paths.ports) else np.zeros(len(messages.src), np.int64)
    lengths = messages.paths.first[back + 1 :: 2] - begins if len(messages.paths.ports) else np.zeros_like(begins)
    keys = np.arange(len(messages.src)) if not len(messages.hash_as) else messages.hash_as.astype(np.int64)

    def step(hop: int, active: Ints, nodes: Ints) -> Ints:
        if not hop:
            return first[active]
        which, dst, nodes = numbers[active], ends[active], nodes.astype(np.int64)
        counts = choices(fabric, nodes, dst)
        ports = fabric.first_ports(nodes, dst).astype(np.int64)
        some = np.flatnonzero(counts > 1)
        row, column = fabric.route_row[nodes[some]], fabric.attach[dst[some]]
        if scheme.routing == "symmetric":
            drawn = hash63_of(messages.symmetric_salt, keys[which[some]] * 64 + messages.distance[row, column])
        else:
            drawn = hash63_of(messages.salts[nodes[some]], 2 * keys[which[some]] + back)
        ports[some] = fabric.route_ports[fabric.route_first[row, column] + drawn % counts[some]]
        own = np.flatnonzero(hop < lengths[which])
        ports[own] = messages.paths.ports[begins[which[own]] + hop]
        return ports

    return step
