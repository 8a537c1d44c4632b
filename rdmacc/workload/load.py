"""The definition of load, and the load that a workload offers.

The load of traffic is measured on *defining links*, a set L of directed links of the network. It is

    load = sum_{l in L} (bytes offered to l per second) * 8 / sum_{l in L} (rate of l in bit/s)

where the traffic of a pair of hosts divides equally at each hop over all links on its shortest paths, as with ECMP and
spraying on average. A load is only defined together with two choices, which a :class:`LoadDefinition` holds: which
links, and whether a message counts with its payload only or with the headers of its packets. ACKs and other replies
never count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.state import HOST_NIC, IN_NETWORK, LAST_HOP
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.routes import levels_of
from rdmacc.typed import typed
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.checks import validate
from rdmacc.workload.choice import Hosts
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import PERIOD, checked_whole, computation
from rdmacc.workload.sizes import SizeDistribution
from rdmacc.workload.traffic import Network, Traffic, as_fabric, port_bytes

Floats: TypeAlias = npt.NDArray[np.float64]

LOAD_LINKS = ("host", "receiver", "uplink", "core")
MOST_LOAD = 10
"""A higher value is most likely a percentage."""
"""Names of the sets of defining links; see :class:`LoadDefinition`."""


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
