"""All shortest paths between hosts at once, hop by hop."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rdmacc.interface import IN_NETWORK
from rdmacc.interface.chance import MIX1, MIX2
from rdmacc.topology.fabric import Fabric, Int64s
from rdmacc.topology.routes import Bools


class Hop(NamedTuple):
    """The ports that pairs of hosts may use as their n-th hop."""

    pair: Int64s  # pair that may use each port
    ports: Int64s
    origin: Int64s  # index of the port's node among `nodes` of the hop before
    into: Int64s  # index of the node that the port leads to among the hop's own `nodes`
    nodes: Int64s  # nodes that the ports lead to, once per pair
    owner: Int64s  # the pair of each node


def hops_of(fabric: Fabric, src: Int64s, dst: Int64s, is_every: bool, ports: Int64s | None = None) -> Iterator[Hop]:
    """Yield the hops of all shortest paths, or of the first only; `ports` are those by which they leave `src`."""
    pair = origin = np.arange(len(dst))
    if ports is None:
        origin, ports = _onward(fabric, src, dst, is_every)
        pair = origin
    while len(pair):
        nodes, owner, into = fabric.port_peer[ports].astype(np.int64), pair, np.arange(len(pair))
        if is_every:
            keys, into = np.unique(pair * fabric.n_nodes + nodes, return_inverse=True)
            owner, nodes = np.divmod(keys, fabric.n_nodes)
        yield Hop(pair, ports, origin, into, nodes, owner)
        on = np.flatnonzero(nodes != dst[owner])
        origin, ports = _onward(fabric, nodes[on], dst[owner[on]], is_every)
        origin = on[origin]
        pair = owner[origin]


def _onward(fabric: Fabric, nodes: Int64s, dst: Int64s, is_every: bool) -> tuple[Int64s, Int64s]:
    """Return the ports towards hosts, and the index of each port's node."""
    ports = fabric.first_ports(nodes, dst).astype(np.int64)
    origin = np.arange(len(nodes))
    if not is_every or not len(nodes):
        return origin, ports
    counts = choices(fabric, nodes, dst)
    origin = np.repeat(origin, counts)
    nth = np.arange(len(origin)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = fabric.route_first[fabric.route_row[nodes], fabric.attach[dst]][origin]
    several = (counts > 1)[origin]
    return origin, np.where(several, fabric.route_ports[np.where(several, first + nth, 0)], ports[origin])


def choices(fabric: Fabric, nodes: Int64s, dst: Int64s) -> Int64s:
    columns = fabric.attach[dst]
    counts = fabric.route_count[fabric.route_row[nodes], columns].astype(np.int64)
    ends = fabric.attachments[columns] == nodes
    hangs = fabric.is_host[nodes] & (fabric.attachments[fabric.attach[nodes]] != nodes)
    return np.where(ends | hangs, 1, counts)


def has_equal_ways(fabric: Fabric) -> bool:
    """Return whether all shortest paths between two nodes have the same rates and delays, link by link."""
    return fabric.kept.get(has_equal_ways, lambda: _are_alike(fabric) or _ways_match(fabric))


def _are_alike(fabric: Fabric) -> bool:
    """Return whether all links between switches are alike, and each host has one."""
    inner = np.flatnonzero(fabric.port_class == IN_NETWORK)
    alike = [len(np.unique(each[inner])) <= 1 for each in (fabric.port_rate_bps, fabric.port_delay_ps)]
    is_single = (np.diff(fabric.node_first_port)[fabric.hosts] == 1).all()
    return bool(not fabric.is_nic.any() and is_single and all(alike))


def _ways_match(fabric: Fabric) -> bool:
    """Compare the paths from every node to every attachment by a hash of their links, the nearest nodes first."""
    hops = fabric.hops()
    hashes = np.zeros(hops.shape, dtype=np.uint64)
    rates, delays = fabric.port_rate_bps.view(np.uint64), fabric.port_delay_ps.view(np.uint64)
    for distance in range(1, int(hops.max(initial=0)) + 1):
        rows, columns = np.nonzero(hops == distance)
        counts = fabric.route_count[rows, columns].astype(np.int64)
        begins = np.cumsum(counts) - counts
        origin = np.repeat(np.arange(len(rows)), counts)
        nth = np.arange(len(origin)) - begins[origin]
        ports = fabric.route_ports[fabric.route_first[rows, columns][origin] + nth]
        found = hashes[fabric.route_row[fabric.port_peer[ports]], columns[origin]]
        found = (found + rates[ports]) * np.uint64(MIX1)
        found = ((found ^ (found >> np.uint64(29))) + delays[ports]) * np.uint64(MIX2)
        firsts = found[begins]
        same: Bools = found == firsts[origin]
        if not same.all():
            return False
        hashes[rows, columns] = firsts ^ (firsts >> np.uint64(32))
    return True
