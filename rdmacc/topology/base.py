"""Nodes and links of a network, and the check that rdmacc can simulate it."""

from collections.abc import Callable, Hashable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.topology.bounds import (
    SLOWEST_BPS,
    check_rate,
    checked_buffer,
    checked_delay,
    checked_rate,
    default_buffer_bytes,
    is_whole,
)
from rdmacc.units import Quantity, size_bytes

if TYPE_CHECKING:
    Graph: TypeAlias = nx.Graph[Any]
else:
    Graph = nx.Graph  # not subscriptable


@typed
def add_host(network: Graph, name: Hashable, rate: Quantity | None = None) -> None:
    """Add a host to `network`; `rate`, such as ``"43Gbps"``, is its highest sending rate on a link (default: the
    link's).
    """
    network.add_node(name, kind="host")
    if rate is not None:
        network.nodes[name]["rate_bps"] = checked_rate("rate", rate)


@typed
def add_switch(network: Graph, name: Hashable, buffer: Quantity) -> None:
    """Add a switch to `network`, with a shared buffer such as ``"32MiB"``; a bare number is bytes."""
    network.add_node(name, kind="switch", buffer_bytes=size_bytes(buffer, field="buffer"))


@typed
def add_link(network: Graph, one: Hashable, other: Hashable, rate: Quantity, delay: Quantity) -> None:
    """Join two nodes of `network` by a full-duplex link; the rate is that of each direction."""
    for node in (one, other):
        if node not in network:
            raise unknown("node", node, network, "a node of the network")
    network.add_edge(one, other, rate_bps=checked_rate("rate", rate), delay_ps=checked_delay(delay))


@typed
def hosts(network: Graph) -> list[Any]:
    """Return the names of the hosts, in the order of ``network.nodes``."""
    return [name for name, node in network.nodes(data=True) if _kind(network, name, node) == "host"]


@typed
def switches(network: Graph) -> list[Any]:
    """Return the names of the switches, in the order of ``network.nodes``."""
    return [name for name, node in network.nodes(data=True) if _kind(network, name, node) == "switch"]


def completed(network: Graph) -> Graph:
    """Return a network from any networkx graph: `network` itself if it is complete, otherwise a completed copy.

    A link's ``rate`` and ``delay`` with units become `rate_bps` and `delay_ps`. A node without a ``kind`` is a host if
    it has one link, otherwise a switch. A switch's ``buffer`` becomes `buffer_bytes`; the default follows from its
    links (see :func:`default_buffer_bytes`).

    Examples
    --------
    >>> import networkx as nx
    >>> plain = nx.Graph()
    >>> plain.add_edge("a", "s", rate="25Gbps", delay="1us")
    >>> plain.add_edge("b", "s", rate="100Gbps", delay="1us")
    >>> network = completed(plain)
    >>> network.nodes["a"], network.nodes["s"]
    ({'kind': 'host'}, {'kind': 'switch', 'buffer_bytes': 33554432})
    """
    if not isinstance(network, nx.Graph) or network.is_directed() or network.is_multigraph():
        return network  # `validate` reports the error
    _check_attributes(network)
    nodes, edges = network.nodes(data=True), network.edges(data=True)
    if all(
        "kind" in node and ("buffer_bytes" in node or _kind(network, name, node) != "switch") and "rate" not in node
        for name, node in nodes
    ) and all("rate_bps" in link and "delay_ps" in link for *_, link in edges):
        return network
    whole = network.copy()
    for one, other, link in whole.edges(data=True):
        written = dict(link)
        for (name, base, convert), example in zip(_WRITTEN, ("25Gbps", "1us")):
            if base not in link:
                link[base] = convert(_given(written, name, example, f"edge {one}-{other}"))
                del link[name]
    for name, node in whole.nodes(data=True):
        node["kind"] = _kind(whole, name, node)
        if "rate" in node:
            node["rate_bps"] = checked_rate("rate", node.pop("rate"))
        buffer = checked_buffer(node.pop("buffer", None)) if node["kind"] == "switch" else None
        if buffer is not None:
            node.setdefault("buffer_bytes", buffer)
    fill_buffers(whole)
    return whole


def fill_buffers(network: Graph, fastest_bps: float = SLOWEST_BPS) -> None:
    """Give each switch without a buffer the default for its links."""
    for name, node in network.nodes(data=True):
        if node.get("kind") == "switch" and "buffer_bytes" not in node:
            for peer, link in network[name].items():
                _check_link(name, peer, link)
            links = [(link["rate_bps"], link["delay_ps"]) for link in network[name].values()]
            node["buffer_bytes"] = default_buffer_bytes(max([fastest_bps, *(rate for rate, _ in links)]), links)


def _check_attributes(network: Graph) -> None:
    """Raise a ConfigError for attributes that would be ignored: misspelt ones, and pairs that contradict each other."""
    for one, other, link in network.edges(data=True):
        if link.keys() != _BASE_UNITS:  # the common case, kept fast: a large network has many links
            _check_written(f"edge {one}-{other}", link, _LINK_ATTRIBUTES)
    for name, node in network.nodes(data=True):
        if node.keys() - _NODE_BASE_UNITS:
            _check_written(f"node {name}", node, NODE_ATTRIBUTES)


def _check_written(place: str, attributes: Mapping[str, Any], known: frozenset[str]) -> None:
    for name in attributes.keys() - known:
        if get_close_matches(str(name).lower(), known, n=1, cutoff=0.8):
            raise unknown("attribute", name, sorted(known), "one that rdmacc knows", where=place)
    for name, base, convert in _WRITTEN:
        if name in attributes and base in attributes and convert(attributes[name]) != attributes[base]:
            raise ConfigError(base, attributes[base], f"equal to {name} = {attributes[name]!r}", where=place)


_BASE_UNITS = frozenset({"rate_bps", "delay_ps"})
_NODE_BASE_UNITS = frozenset({"kind", "buffer_bytes", "rate_bps"})
_LINK_ATTRIBUTES = frozenset({"rate", "rate_bps", "delay", "delay_ps"})
NODE_ATTRIBUTES = frozenset({"kind", "buffer", "buffer_bytes", "rate", "rate_bps"})
_WRITTEN: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("rate", "rate_bps", lambda value: checked_rate("rate", value)),
    ("delay", "delay_ps", lambda value: checked_delay(value)),
    ("buffer", "buffer_bytes", lambda value: size_bytes(value, field="buffer")),
)
"""Attributes that users write with a unit, by their counterpart in base units."""


def _kind(network: Graph, name: Hashable, node: Mapping[str, Any]) -> Any:
    kind = node.get("kind", "host" if network.degree[name] == 1 else "switch")
    if not isinstance(kind, str):
        raise ConfigError("kind", kind, "'host' or 'switch'", where=f"node {name}")
    return kind


def _given(link: Mapping[str, Any], name: str, example: str, place: str) -> Any:
    if name not in link:
        has = f"; it has {', '.join(map(str, link))}" if link else ""
        raise ConfigError(name, None, f"set on every link, such as {name}='{example}'{has}", where=place)
    return link[name]


def validate(network: Graph) -> None:
    """Raise a ConfigError unless rdmacc can simulate a network that :func:`completed` returns.

    It must be an undirected graph without loops, each node with a known ``kind`` and each host with a link; rates from
    1 Mb/s to 8 Tb/s, delays of whole picoseconds, and for each switch a positive integer ``buffer_bytes``.
    """
    if not isinstance(network, nx.Graph):
        raise ConfigError("network", type(network).__name__, "a networkx.Graph")
    if network.is_directed() or network.is_multigraph():
        allowed = "an undirected networkx.Graph with one link per pair of nodes"
        raise ConfigError("network", type(network).__name__, allowed)
    if not len(network):
        raise ConfigError("network", str(network), "must have at least one node")
    if not network.number_of_edges():
        raise ConfigError("network", str(network), "must have at least one link")
    for name, node in network.nodes(data=True):
        _check_node(network, name, node)
    for one, other, link in network.edges(data=True):
        _check_link(one, other, link)


def _check_link(one: Hashable, other: Hashable, link: Mapping[str, Any]) -> None:
    place = f"edge {one}-{other}"
    if one == other:
        raise ConfigError("edge", (one, other), "must join two different nodes", where=place)
    check_rate(link.get("rate_bps"), place)
    _check_whole(link, "delay_ps", "picoseconds", place)


def _check_whole(attributes: Mapping[str, Any], name: str, unit: str, place: str) -> None:
    value = attributes.get(name)
    if not is_whole(value) or not 1 <= int(value or 0) < 2**63:
        raise ConfigError(name, value, f"a whole number of {unit}, at least 1", where=place)


def port_rate_bps(network: Graph, node: Hashable, peer: Hashable) -> float:
    """Return the rate at which a node sends to a neighbour: the lower of the link's rate and the host's own."""
    rate = float(network.edges[node, peer]["rate_bps"])
    return min(rate, float(network.nodes[node].get("rate_bps", rate)))


def _check_node(network: Graph, name: Hashable, node: Mapping[str, Any]) -> None:
    place = f"node {name}"
    kind = node.get("kind")
    if not isinstance(kind, str) or kind not in ("host", "switch"):
        raise ConfigError("kind", kind, "'host' or 'switch'", where=place)
    if "rate_bps" in node:
        check_rate(node["rate_bps"], place)
    if kind == "host":
        if not network.degree[name]:
            raise ConfigError("host", name, "must have at least one link")
        for written in ("buffer", "buffer_bytes"):
            if written in node:
                raise ConfigError(written, node[written], "set only on switches: a host has no buffer", where=place)
        return
    _check_whole(node, "buffer_bytes", "bytes", place)


def named(network: Graph, name: str) -> Graph:
    network.graph["name"] = name
    return network


def per_port_buffers(network: Graph, buffer_per_port: Quantity) -> Graph:
    """Give every switch of `network` a shared buffer of `buffer_per_port` bytes for each of its ports; return it."""
    per_port = size_bytes(buffer_per_port, field="buffer_per_port", least=1)
    for name in switches(network):
        network.nodes[name]["buffer_bytes"] = per_port * network.degree[name]
    return network
