"""The definition of load, and the load that a workload offers.

The load of traffic is measured on *defining links*, a set L of directed links of the network. It is

    load = sum_{l in L} (bytes offered to l per second) * 8 / sum_{l in L} (rate of l in bit/s)

where the traffic of a pair of hosts divides equally at each hop over all links on its shortest paths, as with ECMP and
spraying on average. A load is only defined together with two choices, which a :class:`LoadDefinition` holds: which
links, and whether a message counts with its payload only or with the headers of its packets. ACKs and other replies
never count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.interface import HOST_NIC, IN_NETWORK, LAST_HOP
from rdmacc.topology import Graph
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.routes import levels_of
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.checks import validate
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import PERIOD, Hosts, Objects, as_objects, checked_whole, computation, host_names
from rdmacc.workload.sizes import SizeDistribution

Floats: TypeAlias = npt.NDArray[np.float64]
Network: TypeAlias = Graph | Fabric

LOAD_LINKS = ("host", "receiver", "uplink", "core")
"""Names of the sets of defining links; see :class:`LoadDefinition`."""
MOST_LOAD = 10
"""A higher value is most likely a percentage."""


@dataclass(frozen=True)
class LoadDefinition:
    """The links that a load refers to, and how messages count.

    In a named set, only links that the traffic can use count: in a dumbbell with all senders on the left, "core" is the
    bottleneck from left to right.
    """

    links: str | Sequence[tuple[Any, Any]] = "host"
    """"host": the senders' own links, towards the network. "receiver": the links to the receivers. "uplink": the links
    from switches with hosts to other switches. "core": the links to the switches farthest from the hosts, from below or
    from each other; in leaf-spine networks the same as "uplink". Or (from, to) pairs of node names."""
    counting: str = "wire"
    """"wire": a message counts with the headers of its packets, so the load is the links' utilisation by data.
    "payload": without headers."""
    payload_bytes: int = 1000
    """Payload of a full packet; as in a Scheme."""
    header_bytes: int = 48
    """Headers of a packet; as in a Scheme."""

    def __post_init__(self) -> None:
        if isinstance(self.links, str) and self.links not in LOAD_LINKS:
            allowed = f"one of {', '.join(LOAD_LINKS)}, or (from, to) pairs of nodes"
            raise ConfigError("links", self.links, allowed)
        if not isinstance(self.links, str) and not _are_pairs(self.links):
            raise ConfigError("links", self.links, "at least one (from, to) pair of nodes")
        if not isinstance(self.counting, str) or self.counting not in ("wire", "payload"):
            raise ConfigError("counting", self.counting, "'wire' or 'payload'")
        for name, least in (("payload_bytes", 1), ("header_bytes", 0)):
            checked_whole(name, getattr(self, name), least)

    def mean_bytes(self, sizes: SizeDistribution) -> float:
        """Return the mean number of bytes that count for a message."""
        if self.counting == "payload":
            return sizes.mean
        return sizes.mean_wire_bytes(self.payload_bytes, self.header_bytes)

    def counted_bytes(self, size_bytes: Int64s) -> Int64s:
        """Return the bytes that count for each message, from their payload; shape M."""
        if self.counting == "payload":
            return size_bytes
        return size_bytes + self.header_bytes * -(-size_bytes // self.payload_bytes)

    def ports(self, fabric: Fabric) -> Int64s:
        """Return the numbers of the defining links' ports, used or not."""
        if not isinstance(self.links, str):
            return np.array([fabric.port(*link) for link in self.links], dtype=np.int64)
        if self.links == "host":
            chosen = fabric.port_class == HOST_NIC
        elif self.links == "receiver":
            chosen = (fabric.port_class == LAST_HOP) | fabric.is_host[fabric.port_peer]
        else:
            level = levels_of(fabric.is_host, fabric.port_node, fabric.port_peer)
            level[level == fabric.n_nodes] = -1  # no path to a host
            here, there = level[fabric.port_node], level[fabric.port_peer]
            between = (fabric.port_class == IN_NETWORK) & (here >= 1)
            edge = here == 1 if self.links == "uplink" else there == level.max()
            chosen = between & edge & (there >= here)
        return np.flatnonzero(chosen)


Load: TypeAlias = str | Sequence[tuple[Any, Any]] | LoadDefinition
"""Type of the generators' `of`: a definition, or only its `links`, with defaults for the rest."""


def exact_span_ps(
    load: float, traffic: Traffic, definition: LoadDefinition, src: Int64s, dst: Int64s, size_bytes: Int64s
) -> float:
    """Return the period in ps over which these messages, by node numbers and size, give exactly the load."""
    ports, _ = _used(traffic, definition)
    counted = definition.counted_bytes(size_bytes)
    crossing = port_bytes(traffic.fabric, src, dst, counted)[ports].sum()
    return float(crossing * 8e12 / (load * traffic.fabric.port_rate_bps[ports].sum()))


def bytes_per_second(load: float, traffic: Traffic, definition: LoadDefinition) -> float:
    """Return the rate of messages, in bytes as defined, that gives the load."""
    if isinstance(load, bool) or not isinstance(load, Real) or not 0 < load <= MOST_LOAD:
        raise ConfigError("load", load, f"a fraction of the links' rate, above 0 and at most {MOST_LOAD}: 0.3 for 30%")
    ports, shares = _used(traffic, definition)
    return float(load) * float(traffic.fabric.port_rate_bps[ports].sum() / (8 * shares.sum()))


@typed
def offered_load(
    workload: pd.DataFrame,
    network: Network,
    of: Load = "host",
    duration: Quantity | None = None,
    senders: Hosts | None = None,
    receivers: Hosts | None = None,
) -> float:
    """Return the load that a workload offers, however it was generated.

    Parameters
    ----------
    workload : DataFrame
        Messages; those that wait for others count like any other.
    network : Graph or Fabric
        The network.
    of : str, sequence or LoadDefinition
        Definition of the load.
    duration : number or str, optional
        Period to average over. Default: the period that the generator used (`poisson`, `incasts` and combinations of
        their workloads keep it in ``attrs["period_ps"]``), otherwise from the first start to the last.
    senders, receivers : network or sequence of host, optional
        Possible senders and receivers; a link that their traffic cannot use does not count. Default: all hosts.

    Returns
    -------
    float
        A fraction: 1 is the full capacity of the defining links.

    Raises
    ------
    ConfigError
        If the workload is not valid, all messages start at once and no period is known, or the traffic uses none of
        the defining links.
    """
    definition = as_definition(of)
    fabric = as_fabric(network)
    ports, _ = _used(Traffic(fabric, senders, receivers), definition)
    frame = port_loads(workload, fabric, definition, duration)
    return float(frame["offered_bps"].to_numpy()[ports].sum() / fabric.port_rate_bps[ports].sum())


@typed
def port_loads(
    workload: pd.DataFrame, network: Network, of: Load = "host", duration: Quantity | None = None
) -> pd.DataFrame:
    """Return the load that a workload offers to each port, split equally over the shortest paths.

    Parameters are those of :func:`offered_load`; only the counting of the definition matters. One row per port,
    in their order: ``port, link_class, rate_bps, offered_bps, load``.
    """
    definition, fabric = as_definition(of), as_fabric(network)
    frame = validate(workload, fabric)
    frame = frame[~computation(frame)]
    if frame.empty:
        raise ConfigError("workload", "computation only", "must have at least one message")
    node_of = pd.Series(fabric.index)
    src, dst = (frame[end].map(node_of).to_numpy(np.int64) for end in ("src", "dst"))
    counted = definition.counted_bytes(frame["size_bytes"].to_numpy(np.int64))
    offered = port_bytes(fabric, src, dst, counted) * 8e12 / _span_ps(frame, duration)
    return pd.DataFrame(
        {
            "port": [fabric.port_name(port) for port in range(fabric.n_ports)],
            "link_class": [fabric.link_class(port) for port in range(fabric.n_ports)],
            "rate_bps": fabric.port_rate_bps,
            "offered_bps": offered,
            "load": offered / fabric.port_rate_bps,
        }
    )


def as_definition(of: Load) -> LoadDefinition:
    return of if isinstance(of, LoadDefinition) else LoadDefinition(of)


def _used(traffic: Traffic, definition: LoadDefinition) -> tuple[Int64s, Floats]:
    """Return the ports of the defining links that the traffic uses, and the expected fraction of all bytes on each."""
    shares = traffic.port_shares()
    ports = definition.ports(traffic.fabric)
    used = ports[shares[ports] > 0]
    if not len(used):
        raise ConfigError("links", definition.links, "links that the traffic crosses; it crosses none of these")
    return used, shares[used]


def _span_ps(frame: pd.DataFrame, duration: Quantity | None) -> int:
    if duration is None:
        begin, end = frame.attrs.get(PERIOD, (frame["start_ps"].min(), frame["start_ps"].max()))
        span = int(end - begin)
        if span < 1:
            raise ConfigError("duration", None, "given, because all messages start at once")
        return span
    return time_ps(duration, field="duration", least=1)


def _are_pairs(links: Any) -> bool:
    if not isinstance(links, Sequence) or isinstance(links, bytes):
        return False
    return bool(links) and all(
        isinstance(link, Sequence) and not isinstance(link, str) and len(link) == 2 for link in links
    )


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
