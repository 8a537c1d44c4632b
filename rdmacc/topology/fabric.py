"""The network as arrays, as both engines read it.

Nodes are numbered by their hops to the nearest host, then by name (h2 before h10), so that nothing depends on the order
in which a graph lists its nodes and links: hashes, chances and the order of simultaneous events use these numbers. A
*port* is one direction of a link: the output of one node towards one neighbour. The ports of a node are contiguous and
ordered by the neighbour's number.

Routing uses every shortest path by hop count; hosts do not forward. Hosts with a single link to the same switch share
that switch's routes: the switch is their *attachment*. The tables have one column per attachment instead of one per
host, and no rows for such hosts, which have only one port.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt

from rdmacc.caching.lifetimes import Kept, content_of, frozen
from rdmacc.errors import ConfigError
from rdmacc.interface import HOST_NIC, IN_NETWORK, LAST_HOP, LINK_CLASSES
from rdmacc.topology.base import Graph, completed, validate
from rdmacc.topology.routes import Bools, Int8s, Int32s, attach_of, climbs_of, in_order, ports_of, routes_of, rows_of

Int64s: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Choice: TypeAlias = Callable[[int, tuple[int, ...]], int]

_NETWORKS = Kept(4)


@dataclass(frozen=True, eq=False, repr=False)
class Fabric:
    """A network of N nodes, H hosts, P ports and A attachments. Treat the arrays as read-only.

    At switch v, row r = ``route_row[v]``, the ports towards host d are ``last_port[d]`` if v is the attachment of d.
    Otherwise they are ``route_count[r, attach[d]]`` entries of `route_ports` from ``route_first[r, attach[d]]`` on; a
    count of 0 means that d cannot be reached from v. See :meth:`candidates`.
    """

    name: str  # the graph's name
    names: list[Any]  # node names, by node number; length N
    index: dict[Any, int]  # node numbers, by node name
    is_host: Bools  # shape N
    is_nic: Bools
    """Whether a node is the part of a host's NIC that has its links (:func:`rdmacc.topology.nics.joined`); shape N."""
    hosts: Int32s  # node numbers of the hosts, ascending; shape H
    buffer_bytes: Int64s  # shared buffer of each switch, 0 for a host; shape N
    node_first_port: Int32s
    """Ports of node v: ``node_first_port[v]`` up to, but excluding, ``node_first_port[v + 1]``; shape N + 1."""
    port_node: Int32s  # node that a port belongs to; shape P
    port_peer: Int32s  # node that a port leads to; shape P
    port_reverse: Int32s  # port of the link's other direction; shape P
    port_rate_bps: Floats  # shape P, bit/s
    port_delay_ps: Int64s  # propagation delay; shape P, ps
    port_byte_ps: Floats  # time of one byte, ``8e12 / rate``; shape P, ps
    port_class: Int8s  # HOST_NIC (leaves a host), LAST_HOP (switch to host) or IN_NETWORK (switch to switch); shape P
    port_climbs: Int8s
    """1 if the link leads up, to a node farther from the hosts (or, if equally far, with a higher number); shape P."""
    attachments: Int32s  # node number of each attachment; shape A
    attach: Int32s  # a host's attachment, as an index into `attachments`; -1 for a switch; shape N
    last_port: Int32s
    """Port from a host's attachment switch to the host; -1 for a switch or a host without one; shape N."""
    route_row: Int32s  # row of the routing tables: a switch's own row; for a host, its attachment's; shape N
    route_first: Int32s  # first candidate towards an attachment, as an index into `route_ports`; shape R x A, R rows
    route_count: Int32s  # number of candidates; shape R x A
    route_ports: Int32s  # lists of candidate ports, each ascending; equal lists of a node are stored once
    down_ports: frozenset[int] = frozenset()  # failed ports, which no route uses
    kept: Kept = field(default_factory=Kept, init=False)  # cache of what was derived from this network

    @classmethod
    def from_graph(cls, graph: Graph) -> Fabric:
        """Return the arrays of `graph`, cached by its content."""
        content = None
        if type(graph) is nx.Graph:
            parts: Any = graph
            content = content_of(graph.graph.get("name"), parts._node, parts._adj)  # views take three times as long
        return _NETWORKS.get(content, lambda: frozen(cls._from_graph(graph)))

    @classmethod
    def _from_graph(cls, graph: Graph) -> Fabric:
        graph = completed(graph)
        validate(graph)
        names = in_order(graph)
        index = {name: i for i, name in enumerate(names)}
        nodes = [graph.nodes[name] for name in names]
        is_host = np.array([node["kind"] == "host" for node in nodes], dtype=np.bool_)
        buffers = [0 if node["kind"] == "host" else int(node["buffer_bytes"]) for node in nodes]
        is_nic = np.zeros(len(names), np.bool_)
        return routed(str(graph.graph.get("name", "")), names, is_host, is_nic, buffers, ports_of(graph, index))

    def without(self, ports: Sequence[int]) -> Fabric:
        """Return the fabric with the routes that remain after ports have failed; the numbering stays the same."""
        down = self.down_ports | set(ports)
        gone = np.array(sorted(down), dtype=np.int64)
        peer = self.port_peer.copy()
        peer[gone] = self.port_node[gone]  # leads nowhere
        first, count, routes = routes_of(self.is_host, self.node_first_port, peer, self.attachments)
        last_port = np.where(np.isin(self.last_port, gone), -1, self.last_port).astype(np.int32)
        return replace(
            self, route_first=first, route_count=count, route_ports=routes, last_port=last_port, down_ports=down
        )

    def __repr__(self) -> str:
        counts = f"{len(self.hosts)} hosts, {self.n_nodes - len(self.hosts)} switches, {self.n_ports} ports"
        return f"<Fabric {self.name!r}: {counts}>"

    @property
    def n_nodes(self) -> int:
        return len(self.names)

    @property
    def n_ports(self) -> int:
        return len(self.port_node)

    def names_of(self, nodes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.object_]:
        return np.fromiter(self.names, np.object_, self.n_nodes)[nodes]

    def port_name(self, port: int) -> str:
        """Return a port's name, such as "leaf0->h3"."""
        return f"{self.names[self.port_node[port]]}->{self.names[self.port_peer[port]]}"

    def port(self, node: Hashable, peer: Hashable) -> int:
        """Return the port that leads from one node to another, both given by name."""
        try:
            here, there = self.index.get(node), self.index.get(peer)
        except TypeError:  # unhashable, such as a tuple with a list in it
            here = there = None
        if here is not None and there is not None:
            for one, other in ((here, there), (self.outer(here), self.outer(there))):
                low, high = self.node_first_port[one : one + 2]
                found = low + int(np.searchsorted(self.port_peer[low:high], other))
                if found < high and self.port_peer[found] == other:
                    return int(found)
        raise ConfigError("port", f"{node}->{peer}", "a link of the network")

    def outer(self, node: int) -> int:
        """Return the node that has a host's links: the host unless its NICs are :func:`rdmacc.topology.nics.joined`."""
        first, last = self.node_first_port[node : node + 2]
        beyond = int(self.port_peer[first]) if self.is_host[node] and last > first else node
        return beyond if self.is_nic[beyond] else node

    def link_class(self, port: int) -> str:
        """Return "host_nic", "last_hop" or "in_network"."""
        return LINK_CLASSES[self.port_class[port]]

    def candidates(self, node: int, dst: int) -> tuple[int, ...]:
        """Return the ports of `node` that lie on a shortest path to host `dst`, ascending."""
        column = self.attach[dst]
        if node == self.attachments[column]:
            return () if node == dst or self.last_port[dst] < 0 else (int(self.last_port[dst]),)
        if node == dst or not self.reachable(node, dst):
            return ()
        if self._hangs(node):
            return (int(self.node_first_port[node]),)
        row = self.route_row[node]
        first = self.route_first[row, column]
        return tuple(self.route_ports[first : first + self.route_count[row, column]].tolist())

    def alike_hosts(self) -> list[list[int]]:
        """Return the hosts in groups: those whose links lead to the same switches at the same rates and delays."""
        nic = self.node_first_port[self.hosts]
        back = self.port_reverse[nic]
        columns = (self.attach[self.hosts], self.port_rate_bps[nic], self.port_rate_bps[back], self.port_delay_ps[nic])
        groups: dict[tuple[Any, ...], list[int]] = {}
        for host, *kind in zip(self.hosts.tolist(), *(column.tolist() for column in columns), strict=True):
            outer = self.outer(host)
            if outer != host:
                ports = range(*self.node_first_port[outer : outer + 2].tolist())
                kind = [self._kind(port) for port in ports if self.port_peer[port] != host]
            groups.setdefault(tuple(kind), []).append(host)
        return list(groups.values())

    def _kind(self, port: int) -> tuple[float, ...]:
        """Return a link's properties: its far end, both rates and the delay."""
        rates = self.port_rate_bps[[port, self.port_reverse[port]]].tolist()
        return (int(self.port_peer[port]), *rates, int(self.port_delay_ps[port]))

    def reachable(self, src: int, dst: int) -> bool:
        return bool(self.reachable_many(np.array([src]), np.array([dst]))[0])

    def reachable_many(self, src: npt.ArrayLike, dst: npt.ArrayLike) -> Bools:
        """Return, elementwise, whether node `src` has a path to host `dst`."""
        sources, targets = np.asarray(src), np.asarray(dst)
        columns, ends = self.attach[targets], self.attachments[self.attach[sources]]
        hangs = self.is_host[sources] & (ends != sources)
        start = np.where(hangs, ends, sources)
        found = (start == self.attachments[columns]) | (self.route_count[self.route_row[sources], columns] > 0)
        if self.down_ports:
            found &= ~(hangs & np.isin(self.node_first_port[sources], list(self.down_ports)))
        return np.asarray(found | (sources == targets))

    def first_ports(self, nodes: npt.ArrayLike, dst: npt.ArrayLike) -> Int32s:
        """Return, elementwise, the first of the :meth:`candidates`, which must not be empty."""
        here, targets = np.asarray(nodes), np.asarray(dst)
        columns = self.attach[targets]
        ports = self.route_ports[self.route_first[self.route_row[here], columns]]
        ports = np.where(self._hangs(here), self.node_first_port[here], ports)
        return np.where(here == self.attachments[columns], self.last_port[targets], ports)

    def hops(self) -> Int64s:
        """Return the hops from each row of the tables to each attachment, 0 if there is no path; shape R x A."""
        columns, ends = np.arange(len(self.attachments)), self.route_row[self.attachments]
        onward = self.route_row[self.port_peer[self.route_ports[self.route_first]]]
        hops = np.zeros(onward.shape, dtype=np.int64)
        here = np.repeat(np.arange(len(onward))[:, None], len(columns), axis=1)
        under_way = self.route_count > 0
        while under_way.any():
            hops += under_way
            here = np.where(under_way, onward[here, columns], here)
            under_way &= here != ends
        return hops

    def _hangs(self, nodes: Any) -> Any:
        """Return which nodes are hosts with a single link, to a switch."""
        return self.is_host[nodes] & (self.attachments[self.attach[nodes]] != nodes)

    def check_path(self, src: int, dst: int) -> None:
        """Raise a ConfigError unless `src` and `dst` are two different, connected hosts."""
        for end, node in (("src", src), ("dst", dst)):
            if not 0 <= node < self.n_nodes:
                raise ConfigError(end, node, f"a node number, 0 to {self.n_nodes - 1}")
            if not self.is_host[node]:
                raise ConfigError(end, self.names[node], "a host, not a switch")
        if src == dst:
            raise ConfigError("dst", self.names[dst], f"must differ from src = {self.names[src]!r}")
        if not self.reachable(src, dst):
            raise ConfigError("dst", self.names[dst], self.without_path(src, dst))

    def without_path(self, src: int, dst: int) -> str:
        """Return the error text for two hosts without a path between them."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(self.n_ports, np.int8)
        links = csr_array((ones, (self.port_node, self.port_peer)), shape=(self.n_nodes, self.n_nodes))
        _, parts = connected_components(links, directed=False)
        text = f"reachable from src = {self.names[src]!r}"
        return text if parts[src] != parts[dst] else f"{text} through switches: hosts do not forward"

    def check_paths(self, src: Int64s, dst: Int64s) -> None:
        """Raise the ConfigError of :meth:`check_path` for the first invalid pair."""
        good = (src >= 0) & (src < self.n_nodes) & (dst >= 0) & (dst < self.n_nodes)
        inside = slice(None) if good.all() else good.copy()
        a, b = src[inside], dst[inside]
        good[inside] = self.is_host[a] & self.is_host[b] & (a != b) & self.reachable_many(a, b)
        if not good.all():
            worst = int(np.argmin(good))
            self.check_path(int(src[worst]), int(dst[worst]))

    def path(self, src: int, dst: int, choose: Choice = lambda node, cands: cands[0]) -> list[int]:
        """Return the ports on a path from host `src` to host `dst`."""
        self.check_path(src, dst)
        ports: list[int] = []
        node = src
        while node != dst:
            candidates = self.candidates(node, dst)
            port = choose(node, candidates)
            if port not in candidates:
                raise ConfigError("choose", port, f"must return one of {candidates} at {self.names[node]}")
            ports.append(int(port))
            node = int(self.port_peer[port])
        return ports


def routed(
    name: str, names: list[Any], is_host: Bools, is_nic: Bools, buffers: list[int], ports: dict[str, Any]
) -> Fabric:
    node, peer = ports["port_node"], ports["port_peer"]
    first = np.zeros(len(names) + 1, dtype=np.int32)
    np.cumsum(np.bincount(node, minlength=len(names)), out=first[1:])
    attachments, attach, last_port = attach_of(is_host, first, peer, ports["port_reverse"])
    route_first, route_count, route_ports = routes_of(is_host, first, peer, attachments)
    leaves, enters = is_host[node] | is_nic[node] & ~is_host[peer], is_host[peer] | is_nic[peer]
    port_class = np.where(leaves, HOST_NIC, np.where(enters, LAST_HOP, IN_NETWORK))
    return Fabric(
        name=name,
        names=names,
        index={name: i for i, name in enumerate(names)},
        is_host=is_host,
        is_nic=is_nic,
        hosts=np.flatnonzero(is_host).astype(np.int32),
        buffer_bytes=np.array(buffers, dtype=np.int64),
        node_first_port=first,
        port_class=port_class.astype(np.int8),
        port_climbs=climbs_of(is_host, node, peer),
        attachments=attachments,
        attach=attach,
        last_port=last_port,
        route_row=rows_of(is_host, attachments, attach),
        route_first=route_first,
        route_count=route_count,
        route_ports=route_ports,
        **ports,
    )
