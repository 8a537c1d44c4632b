"""Hosts as users give them: a network, a list of names, or how many to draw."""

from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any, TypeAlias

from rdmacc.errors import ConfigError
from rdmacc.show.described import named_with
from rdmacc.topology.base import Graph
from rdmacc.topology.fabric import Fabric
from rdmacc.workload.frame import Host, checked_whole, host_names, hosts_in, stream

Hosts: TypeAlias = Graph | Fabric | Sequence[Any]
"""A network, which stands for all its hosts in their order, or a list of hosts."""
SomeHosts: TypeAlias = int | Graph | Fabric | Sequence[Any]
"""Like `Hosts`, or how many hosts to draw from ``hosts=``."""
generator = named_with(
    network="networkx.Graph or Fabric: The network.",
    size="number or str: Size of each message.",
    of="str, sequence of (from, to), or LoadDefinition: What `load` is a fraction of.",
    start="number or str: Start of the first messages; for random arrivals, start of the period.",
    jitter="number or str: Largest random delay of a message's start, which is uniform.",
    rounds="int: Number of rounds.",
    hosts="network or sequence, optional: Hosts to draw from, for arguments that are a number of hosts.",
    group="int: Group of the first messages; each further incast, round or step gets the next number.",
    seed="int: Seed of all random choices.",
)
"""Decorates functions that make a workload."""


def chosen(
    field: str, given: SomeHosts, hosts: Hosts | None, without: Collection[Host], seed: int, purpose: int
) -> list[Host]:
    """Return different hosts, at least one: those given, or that many drawn from `hosts`, in the order of `hosts`."""
    if isinstance(given, str | bool):
        raise ConfigError(field, given, "a list of hosts, a network, or how many to draw from hosts=")
    if not isinstance(given, int | Integral):
        everyone = hosts_in(given)
        names = host_names(field, given) if everyone is None else [name for name in everyone if name not in without]
        if not names or len(set(names)) < len(names):
            raise ConfigError(field, names, "different hosts, at least one")
        return names
    if hosts is None:
        raise ConfigError(field, given, "a list of hosts; to draw this many at random, also pass hosts=")
    pool = [host for host in host_names("hosts", hosts) if host not in without]
    count = checked_whole(field, int(given), 1)
    if count > len(pool):
        raise ConfigError(field, given, f"at most {len(pool)}, the number of other hosts in hosts=")
    drawn = stream(seed, purpose).choice(len(pool), size=count, replace=False)
    return [pool[i] for i in sorted(drawn.tolist())]
