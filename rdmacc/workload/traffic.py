"""Random pairs of hosts, and the division of their traffic over the links of a network."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rdmacc.errors import ConfigError, unknown
from rdmacc.topology import Graph
from rdmacc.topology.fabric import Fabric
from rdmacc.workload.choice import Hosts
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import Objects, as_objects, host_names

Network: TypeAlias = Graph | Fabric
Floats: TypeAlias = npt.NDArray[np.float64]


class Traffic:
    """Random pairs of senders and receivers on a network, and the links that they use."""

    def __init__(
        self,
        network: Network,
        senders: Hosts | None = None,
        receivers: Hosts | None = None,
        is_incast: bool = False,
    ) -> None:
        self.fabric = as_fabric(network)
        self.senders = _nodes(self.fabric, "senders", senders)
        self.receivers = _nodes(self.fabric, "receivers", receivers)
        both = np.isin(self.receivers, self.senders)
        others = len(self.senders) - both
        if not others.any():
            raise ConfigError("receivers", receivers, "must leave a sender other than the receiver")
        weight = 1 / np.maximum(others, 1) if is_incast else np.ones(len(others))
        self.is_loop = both
        self._weight = np.where(others > 0, weight, 0.0)
        self._others = others

    def port_shares(self) -> Floats:
        """Return, for each port, the expected fraction of all bytes that crosses it; shape P."""
        fabric, rows = self.fabric, self.fabric.route_row
        columns = fabric.attach[self.receivers]
        towards = np.bincount(columns, weights=self._weight, minlength=len(fabric.attachments))
        per_row = np.bincount(rows[self.senders], minlength=len(fabric.route_count))
        mass = np.outer(per_row, towards)
        loops = self.receivers[self.is_loop]
        np.subtract.at(mass, (rows[loops], columns[self.is_loop]), self._weight[self.is_loop])
        mass[np.abs(mass) < 1e-12] = 0.0
        leaving, arriving = np.zeros(fabric.n_nodes), np.zeros(fabric.n_nodes)
        leaving[self.senders] = towards.sum()
        leaving[loops] -= self._weight[self.is_loop]
        arriving[self.receivers] = self._weight * self._others
        total = arriving.sum()
        return _spread(fabric, mass / total, leaving / total, arriving / total)

    def pairs(self, rng: np.random.Generator, count: int) -> tuple[Int64s, Int64s]:
        """Return node numbers of `count` random senders and receivers, uniform over all pairs."""
        src = rng.integers(len(self.senders), size=count)
        dst = rng.integers(len(self.receivers), size=count)
        again = np.flatnonzero(self.senders[src] == self.receivers[dst])
        while len(again):
            src[again] = rng.integers(len(self.senders), size=len(again))
            dst[again] = rng.integers(len(self.receivers), size=len(again))
            again = again[self.senders[src[again]] == self.receivers[dst[again]]]
        return self.senders[src], self.receivers[dst]

    def names(self, nodes: Int64s) -> Objects:
        return as_objects(self.fabric.names)[nodes]


def as_fabric(network: Network) -> Fabric:
    return network if isinstance(network, Fabric) else Fabric.from_graph(network)


def _nodes(fabric: Fabric, field: str, names: Hosts | None) -> Int64s:
    """Return the node numbers of different hosts; all hosts for None."""
    if names is None:
        return fabric.hosts.astype(np.int64)
    names = host_names(field, names)
    nodes = [fabric.index.get(name, -1) for name in names]
    if not nodes or len(set(names)) < len(names):
        raise ConfigError(field, names, "different hosts, at least one")
    for name, node in zip(names, nodes, strict=True):
        if node < 0 or not fabric.is_host[node]:
            raise unknown(field, name, [fabric.names[host] for host in fabric.hosts], "a host of the network")
    return np.array(nodes, dtype=np.int64)


def port_bytes(fabric: Fabric, src: Int64s, dst: Int64s, counted: Int64s) -> Floats:
    """Return the bytes that cross each port, for messages given by node numbers and bytes; shape P."""
    shape = (len(fabric.route_count), len(fabric.attachments))
    place = fabric.route_row[src].astype(np.int64) * shape[1] + fabric.attach[dst]
    mass = _sums(place, counted, shape[0] * shape[1]).reshape(shape)
    return _spread(fabric, mass, _sums(src, counted, fabric.n_nodes), _sums(dst, counted, fabric.n_nodes))


def _sums(place: Int64s, values: Int64s | Floats, count: int) -> Floats:
    return np.bincount(place, weights=values, minlength=count).astype(np.float64, copy=False)


def _spread(fabric: Fabric, mass: Floats, leaving: Floats, arriving: Floats) -> Floats:
    """Return the traffic through each port, split equally over the shortest paths."""
    columns = mass.shape[1]
    crossing = np.zeros(fabric.n_ports)
    here = mass.copy()
    attached = fabric.attachments
    ends = (fabric.route_row[attached], np.arange(columns))
    while True:
        here[ends] = 0.0
        row, column = np.nonzero(here)
        if not len(row):
            break
        counts = fabric.route_count[row, column].astype(np.int64)
        if not counts.all():
            lost = int(np.argmin(counts))
            sender = int(np.flatnonzero((fabric.route_row == row[lost]) & (leaving > 0))[0])
            receiver = int(np.flatnonzero((fabric.attach == column[lost]) & (arriving > 0))[0])
            raise ConfigError("receivers", fabric.names[receiver], f"reachable from {fabric.names[sender]!r}")
        origin = np.repeat(np.arange(len(row)), counts)
        nth = np.arange(len(origin)) - np.repeat(np.cumsum(counts) - counts, counts)
        ports = fabric.route_ports[fabric.route_first[row, column][origin] + nth]
        share = (here[row, column] / counts)[origin]
        crossing += _sums(ports, share, fabric.n_ports)
        place = fabric.route_row[fabric.port_peer[ports]].astype(np.int64) * columns + column[origin]
        here = _sums(place, share, here.size).reshape(here.shape)
    last = fabric.last_port
    hangs = last >= 0
    crossing[last[hangs]] += arriving[hangs]
    nics = fabric.port_reverse[last[hangs]]
    crossing[nics] += leaving[hangs]
    return crossing
