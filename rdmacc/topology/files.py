"""Networks from files: GraphML and node-link JSON, as written by networkx and other tools.

There is no standard for attribute names. The names of :func:`~rdmacc.topology.completed` work directly: a link's
``rate`` and ``delay`` as strings with units, or ``rate_bps`` and ``delay_ps``; a node's ``kind`` and ``buffer``, or
``buffer_bytes``. For other names, pass arguments that give the name and the unit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from rdmacc.errors import ConfigError
from rdmacc.topology.base import Graph, completed, validate
from rdmacc.typed import typed

_KNOWN = {"rate": "rate_bps", "delay": "delay_ps"}
_NODE_KNOWN = ("kind", "buffer", "buffer_bytes", "rate", "rate_bps")


@typed
def from_graphml(
    path: str | PathLike[str],
    rate: str | tuple[str, str] | None = None,
    delay: str | tuple[str, str] | None = None,
    node_type: type[Any] = str,
) -> Graph:
    """Return the network in a GraphML file.

    Parameters
    ----------
    path : path
        The file.
    rate, delay : str or (str, str), optional
        Name of the link attribute, and the unit of its numbers: ``("LinkSpeedRaw", "bps")``.
    node_type : type
        Conversion of the nodes' names, which are strings in GraphML: ``int`` for numbers.

    Returns
    -------
    networkx.Graph
        Complete and checked.

    Raises
    ------
    ConfigError
        If the file is not GraphML, has parallel or directed links, or lacks a rate or a delay with its unit.
    """
    try:
        graph = nx.read_graphml(Path(path), node_type=node_type)
    except (OSError, ParseError, nx.NetworkXException, ValueError, KeyError, TypeError) as error:
        raise ConfigError("file", str(path), f"a GraphML file ({error})") from None
    return _network(graph, path, {"rate": rate, "delay": delay})


@typed
def from_node_link(
    path: str | PathLike[str],
    rate: str | tuple[str, str] | None = None,
    delay: str | tuple[str, str] | None = None,
) -> Graph:
    """Return the network in a node-link JSON file, with its links under ``edges`` or ``links``.

    Parameters
    ----------
    path : path
        The file.
    rate, delay : str or (str, str), optional
        Name of the link attribute, and the unit of its numbers: ``("capacity", "Gbps")``.

    Returns
    -------
    networkx.Graph
        Complete and checked. Names stored as lists become tuples.

    Raises
    ------
    ConfigError
        If the file is not node-link JSON, has parallel or directed links, or lacks a rate or a delay with its unit.
    """
    try:
        content = json.loads(Path(path).read_text(), parse_constant=_no_constant)
        if not isinstance(content, Mapping):
            raise TypeError("not a JSON object")
        key = next(name for name in ("edges", "links") if name in content)
        graph = nx.node_link_graph(dict(content), edges=key)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration, nx.NetworkXException) as error:
        reason = "no edges and no links" if isinstance(error, StopIteration) else error
        raise ConfigError("file", str(path), f"a node-link JSON file ({reason})") from None
    return _network(graph, path, {"rate": rate, "delay": delay})


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")


def _network(
    graph: nx.Graph[Any], path: str | PathLike[str], names: Mapping[str, str | tuple[str, str] | None]
) -> Graph:
    """Convert a graph to a network."""
    if graph.is_multigraph() or graph.is_directed():
        kind = "parallel links" if graph.is_multigraph() else "directed links"
        raise ConfigError("file", str(path), f"a file without {kind}")
    network: Graph = nx.Graph(name=str(graph.graph.get("name") or Path(path).stem))
    try:
        for node, attributes in graph.nodes(data=True):
            network.add_node(node, **{key: attributes[key] for key in _NODE_KNOWN if key in attributes})
        for one, other, attributes in graph.edges(data=True):
            network.add_edge(one, other, **dict(_link(f"edge {one}-{other}", attributes, names)))
        network = completed(network)
        validate(network)
    except ConfigError as error:
        where = f"{path}, {error.where}" if error.where else str(path)
        raise ConfigError(error.field, error.value, error.allowed, where) from None
    return network


def _link(
    place: str, attributes: Mapping[str, Any], names: Mapping[str, str | tuple[str, str] | None]
) -> Iterator[tuple[str, Any]]:
    """Yield a link's rate and delay under the names that `completed` knows."""
    for name, given in names.items():
        if given is None:
            for known in (name, _KNOWN[name]):
                if known not in attributes:
                    continue
                if known == name and not isinstance(attributes[known], str):
                    raise ConfigError(known, attributes[known], f"a string with a unit, or {_KNOWN[name]}", place)
                yield known, attributes[known]
            continue
        key, unit = (given, "") if isinstance(given, str) else given
        if key not in attributes:
            raise ConfigError(name, None, f"stored as {key!r}, but the file has {sorted(attributes)}", place)
        value = attributes[key]
        if not isinstance(value, str) and not unit:
            raise ConfigError(key, value, f"a string with a unit, or pass {name}=({key!r}, its unit)", place)
        yield name, f"{value}{unit}"
