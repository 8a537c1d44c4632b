"""Hosts that send on several links at once: each gets an extra node that chooses among them.

The node is the part of the NIC between the queue pairs and the ports. The host's only port leads to it, as fast as the
links together; queue pairs take turns and are paced there. The node stores and forwards packets, with a queue for each
port. Unlike a switch, it marks, trims and drops nothing, and avoids ports that are down.
"""

import numpy as np

from rdmacc.errors import ConfigError
from rdmacc.topology.bounds import checked_rate, default_buffer_bytes
from rdmacc.topology.fabric import Fabric, routed
from rdmacc.topology.routes import sorted_ports
from rdmacc.units import format_rate


def joined(fabric: Fabric) -> Fabric:
    """Return a network in which each host with several links sends on all of them.

    The new nodes come last. Each is named after its host, with ".nic" appended, and is the end of the host's links.
    """
    several = fabric.hosts[np.diff(fabric.node_first_port)[fabric.hosts] > 1]
    if not len(several):
        return fabric
    own = [slice(*fabric.node_first_port[host : host + 2]) for host in several]
    there = np.array([fabric.port_rate_bps[ports].sum() for ports in own])
    back = np.array([fabric.port_rate_bps[fabric.port_reverse[ports]].sum() for ports in own])
    names = [f"{fabric.names[host]}.nic" for host in several]
    for host, links, rate, name in zip(several, own, there, names, strict=True):
        _check(fabric, host, fabric.port_rate_bps[links], float(rate), name)
    stands = np.arange(fabric.n_nodes)
    stands[several] = fabric.n_nodes + np.arange(len(several))
    both = np.flatnonzero(np.arange(fabric.n_ports) < fabric.port_reverse)
    ends = np.stack([stands[fabric.port_node[both]], stands[fabric.port_peer[both]]], axis=1)
    rates = fabric.port_rate_bps
    ports = sorted_ports(
        np.concatenate([ends, np.stack([several, stands[several]], axis=1)]),
        np.concatenate([rates[both], there]),
        np.concatenate([rates[fabric.port_reverse[both]], back]),
        np.concatenate([fabric.port_delay_ps[both], np.ones(len(several), np.int64)]),
    )
    is_new = np.arange(fabric.n_nodes + len(several)) >= fabric.n_nodes
    is_host = np.concatenate([fabric.is_host, np.zeros(len(several), np.bool_)])
    buffers = [*fabric.buffer_bytes.tolist(), *(default_buffer_bytes(rate) for rate in there.tolist())]
    return routed(fabric.name, [*fabric.names, *names], is_host, is_new, buffers, ports)


def _check(fabric: Fabric, host: int, rates: np.ndarray, rate: float, name: str) -> None:
    """Raise a ConfigError if a host cannot send on all its links."""
    links = f"links of {fabric.names[host]}"
    if (rates != rates[0]).any():
        shown = ", ".join(map(format_rate, rates.tolist()))
        raise ConfigError(f"rates of the {links}", shown, "equal, since the scheme shares packets out equally")
    checked_rate(f"rate of the {links} together", rate)
    if name in fabric.index:
        raise ConfigError("node", name, f"another name: it is that of the NIC of {fabric.names[host]}")
