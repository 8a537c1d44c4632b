"""Networks from files: GraphML and node-link JSON, as written by networkx and other tools.

There is no standard for attribute names. The names of :func:`~rdmacc.topology.completed` work directly: a link's
``rate`` and ``delay`` as strings with units, or ``rate_bps`` and ``delay_ps``; a node's ``kind`` and ``buffer``, or
``buffer_bytes``. For other names, pass arguments that give the name and the unit.

Public collections of networks, such as the Topology Zoo, have rates on some links, positions of most nodes, no delays
and no hosts: ``from_graphml(path, rate=("LinkSpeedRaw", "bps", "10Gbps"), delay="1ms", hosts=1)``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree.ElementTree import ParseError

import networkx as nx

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.interface.described import describes
from rdmacc.topology.base import NODE_ATTRIBUTES, Graph, add_host, add_link, completed, validate
from rdmacc.topology.bounds import checked_delay, checked_rate
from rdmacc.units import ps

_KNOWN = {"rate": "rate_bps", "delay": "delay_ps"}
_READ: Mapping[str, Any] = {"rate": lambda given: checked_rate("rate", given), "delay": checked_delay}
_EARTH_KM, _FIBRE_KM_PER_S = 6371.0, 200_000.0
_MOST_HOSTS = 1_000_000


Attribute: TypeAlias = str | tuple[str, str] | tuple[str, str, str]


_described = describes(
    path="path: The file.",
    rate="str, (str, str) or (str, str, str), optional: Name of the link attribute; with the unit of its numbers, "
    '``("LinkSpeedRaw", "bps")``; with a value for links that lack it, ``("LinkSpeedRaw", "bps", "10Gbps")``. A '
    'quantity, such as ``"10Gbps"``, is for all links that have none under the usual names.',
    delay="str, (str, str) or (str, str, str), optional: Like `rate`. Links between nodes with ``Latitude`` and "
    "``Longitude`` have the delay of their great circle at 200,000 km/s, unless the file or an attribute gives one.",
    hosts="int, optional: Hosts to attach to each node that has links, named h0, h1, ... in the nodes' order: by links "
    "with the rate of the node's fastest one and 1 us of delay. All nodes are switches then, unless the file says "
    "otherwise.",
    parallel='str: What becomes of several links between two nodes: "summed" to one with the sum of their rates, or '
    'the "fastest" alone, with the shortest delay; or "refused".',
)


@typed
@_described
def from_graphml(
    path: str | PathLike[str],
    rate: Attribute | None = None,
    delay: Attribute | None = None,
    node_type: type[Any] = str,
    hosts: int | None = None,
    parallel: str = "summed",
) -> Graph:
    """Return the network in a GraphML file.

    Parameters
    ----------
    node_type : type
        Conversion of the nodes' names, which are strings in GraphML: ``int`` for numbers.
    """
    try:
        graph = nx.read_graphml(Path(path), node_type=node_type)
    except (OSError, ParseError, nx.NetworkXException, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError("file", str(path), f"a GraphML file ({error})") from None
    return _network(graph, path, {"rate": rate, "delay": delay}, hosts, parallel)


@typed
@_described
def from_node_link(
    path: str | PathLike[str],
    rate: Attribute | None = None,
    delay: Attribute | None = None,
    hosts: int | None = None,
    parallel: str = "summed",
) -> Graph:
    """Return the network in a node-link JSON file, with its links under ``edges`` or ``links``; lists become tuples."""
    try:
        content = json.loads(Path(path).read_text("utf-8-sig"), parse_constant=_no_constant)
        if not isinstance(content, Mapping):
            raise TypeError("not a JSON object")
        key = next(name for name in ("edges", "links") if name in content)
        graph = nx.node_link_graph(dict(content), edges=key)
    except (
        OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError, nx.NetworkXException,
    ) as error:  # fmt: skip
        reason = "no edges and no links" if isinstance(error, StopIteration) else error
        raise ConfigError("file", str(path), f"a node-link JSON file ({reason})") from None
    return _network(graph, path, {"rate": rate, "delay": delay}, hosts, parallel)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


def _network(
    graph: nx.Graph[Any],
    path: str | PathLike[str],
    names: Mapping[str, Attribute | None],
    per_node: int | None,
    parallel: str,
) -> Graph:
    if graph.is_directed():
        raise ConfigError("file", str(path), "a file without directed links")
    if parallel not in ("summed", "fastest", "refused"):
        raise ConfigError("parallel", parallel, '"summed", "fastest" or "refused"')
    if per_node is not None and not 1 <= per_node * len(graph) <= _MOST_HOSTS:
        raise ConfigError("hosts", per_node, f"at least 1, and at most {_MOST_HOSTS} in all")
    network: Graph = nx.Graph(name=str(graph.graph.get("name") or Path(path).stem))
    try:
        for node, attributes in graph.nodes(data=True):
            network.add_node(node, **{key: attributes[key] for key in attributes if key in NODE_ATTRIBUTES})
            if per_node:
                network.nodes[node].setdefault("kind", "switch")
        for one, other, attributes in graph.edges(data=True):
            if graph.is_multigraph() and one == other:
                continue
            place = f"edge {one}-{other}"
            apart_ps = _apart_ps(graph.nodes[one], graph.nodes[other])
            link = {
                _KNOWN[name]: _READ[name](_written(place, attributes, name, given, apart_ps))
                for name, given in names.items()
            }
            if network.has_edge(one, other):
                if parallel == "refused":
                    raise ConfigError("parallel", parallel, '"summed" or "fastest": there are several links', place)
                rates = link["rate_bps"], network.edges[one, other]["rate_bps"]
                link["rate_bps"] = sum(rates) if parallel == "summed" else max(rates)
                link["delay_ps"] = min(link["delay_ps"], network.edges[one, other]["delay_ps"])
            network.add_edge(one, other, **link)
        network = completed(network)
        if per_node:
            _attach(network, per_node)
        validate(network)
    except ConfigError as error:
        where = f"{path}, {error.where}" if error.where else str(path)
        raise ConfigError(error.field, error.value, error.allowed, where) from None
    return network


def _attach(network: Graph, per_node: int) -> None:
    nodes = [node for node in network if network.nodes[node]["kind"] == "switch" and network[node]]
    for number in range(len(nodes) * per_node):
        name, node = f"h{number}", nodes[number // per_node]
        if name in network:
            raise ConfigError("hosts", per_node, f"left out: a node of the file has the name of a host, {name}")
        fastest = max(network.edges[node, peer]["rate_bps"] for peer in network[node])
        add_host(network, name)
        add_link(network, node, name, fastest, "1us")


def _apart_ps(one: Mapping[str, Any], other: Mapping[str, Any]) -> int | None:
    """Return the delay of a fibre along the great circle between two nodes, None without their positions."""
    try:
        north, east, north_2, east_2 = (
            math.radians(float(node[name])) for node in (one, other) for name in ("Latitude", "Longitude")
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    half = math.sin((north - north_2) / 2) ** 2
    half += math.cos(north) * math.cos(north_2) * math.sin((east - east_2) / 2) ** 2
    if not 0 <= half <= 1:
        return None
    return round(2 * _EARTH_KM * math.asin(math.sqrt(half)) / _FIBRE_KM_PER_S * 1e12)


def _written(
    place: str, attributes: Mapping[str, Any], name: str, given: Attribute | None, apart_ps: int | None
) -> Any:
    """Return a link's rate or delay: as stored, otherwise from the nodes' positions, otherwise the default."""
    constant = None
    if isinstance(given, str) and _is_quantity(name, given):
        given, constant = None, given
    elif isinstance(given, tuple) and len(given) == 3:
        constant = given[2]
    key, unit = (given, "") if given is None or isinstance(given, str) else given[:2]
    for known in (name, _KNOWN[name]) if key is None else (key,):
        if known in attributes:
            value = attributes[known]
            if known == _KNOWN[name]:
                return ps(value) if name == "delay" and isinstance(value, int) else value
            if not isinstance(value, str) and not unit:
                allowed = f"or {_KNOWN[name]}" if key is None else f"or pass {name}=({key!r}, its unit)"
                raise ConfigError(known, value, f"a string with a unit, {allowed}", place)
            return f"{value}{unit}"
    if name == "delay" and apart_ps and apart_ps >= 1000 and (key is None or constant is not None):
        return ps(apart_ps)
    if constant is not None:
        return constant
    example = {"rate": "25Gbps", "delay": "1us"}[name]
    allowed = f"set on every link, such as {name}={example!r}" if key is None else f"stored as {key!r}"
    raise ConfigError(name, None, f"{allowed}; the file has {sorted(attributes)}", place)


def _is_quantity(name: str, text: str) -> bool:
    """Return whether a text is a rate or a time, not the name of an attribute."""
    try:
        _READ[name](text)
    except ConfigError:
        return False
    return True
