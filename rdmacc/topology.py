"""Networks as :class:`networkx.Graph` objects: builders, checks, closed forms and a drawing.

A node has a ``kind``, "host" or "switch"; a switch has ``buffer_bytes`` (int, shared by its ports). An edge
is a full-duplex link with ``rate_bps`` (float, each direction) and ``delay_ps`` (int, propagation).
``graph.graph`` holds the ``name`` and the ``tiers``: lists of node names, from the hosts upwards, which only
:func:`draw` reads. Any graph that :func:`validate` accepts works; the builders are conveniences.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Mapping
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, format_rate, format_time, rate_bps, size_bytes, time_ps, transmission_ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "add_host",
    "add_link",
    "add_switch",
    "base_rtt_ps",
    "bdp_bytes",
    "clos",
    "dart_clos",
    "default_buffer_bytes",
    "draw",
    "dumbbell",
    "fat_tree",
    "hosts",
    "leaf_spine",
    "star",
    "switches",
    "validate",
]

Graph: TypeAlias = "nx.Graph[Any]"

_HOST_COLOUR = "#0072B2"
_SWITCH_COLOUR = "#E69F00"
_LABELLED = 40


def default_buffer_bytes(rate: Quantity) -> int:
    """Return the shared buffer of a switch whose fastest port has `rate`: 16 MiB for every 50 Gb/s.

    This is the rule of the simulator published with HPCC (Li et al., SIGCOMM 2019): 32 MiB at 100 Gb/s.
    """
    return round(16 * 2**20 * rate_bps(rate) / 50e9)


def add_host(graph: Graph, name: Hashable) -> None:
    """Add a host to `graph`."""
    graph.add_node(name, kind="host")


def add_switch(graph: Graph, name: Hashable, buffer: Quantity) -> None:
    """Add a switch with a shared buffer of `buffer` bytes to `graph`."""
    graph.add_node(name, kind="switch", buffer_bytes=size_bytes(buffer, field="buffer"))


def add_link(graph: Graph, one: Hashable, other: Hashable, rate: Quantity, delay: Quantity) -> None:
    """Join two nodes of `graph` by a full-duplex link.

    Parameters
    ----------
    graph : networkx.Graph
        The network.
    one, other : hashable
        Nodes that are there already.
    rate : number or str
        Rate of each direction; a number is bit/s.
    delay : number or str
        Propagation delay; a number is picoseconds.

    Raises
    ------
    ConfigError
        If a node is unknown, the rate or the delay is not positive.
    """
    for node in (one, other):
        if node not in graph:
            raise ConfigError("node", node, "must be a node of the graph; add it first")
    graph.add_edge(one, other, rate_bps=_rate("rate", rate), delay_ps=_delay(delay))


def star(
    hosts: int, rate: Quantity = "100Gbps", delay: Quantity = "1us", buffer: Quantity | None = None
) -> Graph:
    r"""Return `hosts` hosts around one switch.

    ::

              s0
           /  |  \
         h0   h1   h2

    Parameters
    ----------
    hosts : int
        Number of hosts, at least 1.
    rate, delay : number or str
        Of every link; numbers are bit/s and picoseconds.
    buffer : number or str, optional
        Shared buffer of the switch; default :func:`default_buffer_bytes` of `rate`.

    Returns
    -------
    networkx.Graph
    """
    count = _count("hosts", hosts)
    speed, lag = _rate("rate", rate), _delay(delay)
    graph, names = _start(f"star({count})", count)
    _switches(graph, "s", 1, _buffer(buffer, speed))
    _links(graph, [(host, "s0") for host in names], speed, lag)
    return graph


def dumbbell(
    left: int,
    right: int,
    rate: Quantity = "100Gbps",
    bottleneck_rate: Quantity | None = None,
    delay: Quantity = "1us",
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return two switches with hosts on either side; the link between them is the bottleneck.

    ::

         h0 --\                  /-- h2
               s0 ============ s1
         h1 --/                  \-- h3

    Parameters
    ----------
    left, right : int
        Number of hosts on either side; the left ones come first.
    rate : number or str
        Rate of the hosts' links.
    bottleneck_rate : number or str, optional
        Rate of the link between the switches; default `rate`.
    delay : number or str
        Propagation delay of every link.
    buffer : number or str, optional
        Shared buffer of a switch; default :func:`default_buffer_bytes` of the fastest link.

    Returns
    -------
    networkx.Graph
    """
    lefts, rights = _count("left", left), _count("right", right)
    speed, lag = _rate("rate", rate), _delay(delay)
    middle = speed if bottleneck_rate is None else _rate("bottleneck_rate", bottleneck_rate)
    graph, names = _start(f"dumbbell({lefts}, {rights})", lefts + rights)
    _switches(graph, "s", 2, _buffer(buffer, max(speed, middle)))
    _links(graph, [(host, "s0" if i < lefts else "s1") for i, host in enumerate(names)], speed, lag)
    _links(graph, [("s0", "s1")], middle, lag)
    return graph


def leaf_spine(
    leaves: int,
    spines: int,
    hosts_per_leaf: int,
    rate: Quantity = "100Gbps",
    spine_rate: Quantity | None = None,
    delay: Quantity = "1us",
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return a two-tier network in which every leaf connects to every spine.

    ::

            spine0       spine1
              |    \   /   |
              |     \ /    |        spine_rate
              |     / \    |
            leaf0        leaf1
            /   \        /   \      rate
           h0    h1     h2    h3

    Parameters
    ----------
    leaves, spines, hosts_per_leaf : int
        At least 1 each. Host ``h{i}`` is on leaf ``i // hosts_per_leaf``.
    rate : number or str
        Rate of the hosts' links.
    spine_rate : number or str, optional
        Rate of the links between leaves and spines; default `rate`.
    delay : number or str
        Propagation delay of every link.
    buffer : number or str, optional
        Shared buffer of a switch; default :func:`default_buffer_bytes` of the fastest link.

    Returns
    -------
    networkx.Graph
    """
    low, high = _count("leaves", leaves), _count("spines", spines)
    per = _count("hosts_per_leaf", hosts_per_leaf)
    speed, lag = _rate("rate", rate), _delay(delay)
    upper = speed if spine_rate is None else _rate("spine_rate", spine_rate)
    graph, names = _start(f"leaf_spine({low}, {high}, {per})", low * per)
    memory = _buffer(buffer, max(speed, upper))
    leaf = _switches(graph, "leaf", low, memory)
    spine = _switches(graph, "spine", high, memory)
    _links(graph, [(host, leaf[i // per]) for i, host in enumerate(names)], speed, lag)
    _links(graph, [(down, up) for down in leaf for up in spine], upper, lag)
    return graph


def fat_tree(
    k: int, rate: Quantity = "100Gbps", delay: Quantity = "1us", buffer: Quantity | None = None
) -> Graph:
    r"""Return the k-ary fat tree (Al-Fares et al., SIGCOMM 2008): k pods, k^3/4 hosts, full bisection.

    ::

           core0 ... core{k^2/4 - 1}       agg a of every pod connects to k/2 cores
              |         |
           agg0  ...  agg{k/2 - 1}         in each of k pods: k/2 aggs,
              |    x    |
           tor0  ...  tor{k/2 - 1}         k/2 ToRs,
           / \        / \
          h0  h1 ...                       k/2 hosts on each ToR

    Parameters
    ----------
    k : int
        Ports of a switch: even, at least 2.
    rate, delay : number or str
        Of every link; numbers are bit/s and picoseconds.
    buffer : number or str, optional
        Shared buffer of a switch; default :func:`default_buffer_bytes` of `rate`.

    Returns
    -------
    networkx.Graph
    """
    if _count("k", k) % 2:
        raise ConfigError("k", k, "must be even, at least 2")
    half = int(k) // 2
    graph = clos(int(k), half, half, half, half * half, rate=rate, delay=delay, buffer=buffer)
    graph.graph["name"] = f"fat_tree({k})"
    return graph


def clos(
    pods: int,
    tors_per_pod: int,
    hosts_per_tor: int,
    aggs_per_pod: int,
    cores: int,
    rate: Quantity = "100Gbps",
    fabric_rate: Quantity | None = None,
    delay: Quantity = "1us",
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return a three-tier Clos network.

    A ToR connects to every agg of its pod. The cores form `aggs_per_pod` equal groups; agg a of every pod
    connects to each core of group a. A ToR is oversubscribed by
    ``hosts_per_tor * rate / (aggs_per_pod * fabric_rate)``.

    ::

          core0   core1 |  core2   core3       group 0 | group 1
             \   /           \   /
              agg0            agg1             of each pod
               |  \         /  |
               |     \   /     |               fabric_rate
               |     /   \     |
              tor0            tor1
              /  \            /  \            rate
             h0   h1         h2   h3

    Parameters
    ----------
    pods, tors_per_pod, hosts_per_tor, aggs_per_pod : int
        At least 1 each. Switches are numbered pod by pod.
    cores : int
        A multiple of `aggs_per_pod`.
    rate : number or str
        Rate of the hosts' links.
    fabric_rate : number or str, optional
        Rate of the links between switches; default `rate`.
    delay : number or str
        Propagation delay of every link.
    buffer : number or str, optional
        Shared buffer of a switch; default :func:`default_buffer_bytes` of the fastest link.

    Returns
    -------
    networkx.Graph
    """
    n_pods, n_tors = _count("pods", pods), _count("tors_per_pod", tors_per_pod)
    n_hosts, n_aggs = _count("hosts_per_tor", hosts_per_tor), _count("aggs_per_pod", aggs_per_pod)
    n_cores = _count("cores", cores)
    if n_cores % n_aggs:
        raise ConfigError("cores", cores, f"must be a multiple of aggs_per_pod = {n_aggs}")
    group = n_cores // n_aggs
    speed, lag = _rate("rate", rate), _delay(delay)
    upper = speed if fabric_rate is None else _rate("fabric_rate", fabric_rate)
    memory = _buffer(buffer, max(speed, upper))
    shape = f"clos({n_pods}, {n_tors}, {n_hosts}, {n_aggs}, {n_cores})"
    graph, names = _start(shape, n_pods * n_tors * n_hosts)
    tor = _switches(graph, "tor", n_pods * n_tors, memory)
    agg = _switches(graph, "agg", n_pods * n_aggs, memory)
    core = _switches(graph, "core", n_cores, memory)
    _links(graph, [(host, tor[i // n_hosts]) for i, host in enumerate(names)], speed, lag)
    for pod in range(n_pods):
        own_tors, own_aggs = tor[pod * n_tors : (pod + 1) * n_tors], agg[pod * n_aggs : (pod + 1) * n_aggs]
        _links(graph, [(down, up) for down in own_tors for up in own_aggs], upper, lag)
        for a, down in enumerate(own_aggs):
            _links(graph, [(down, up) for up in core[a * group : (a + 1) * group]], upper, lag)
    return graph


def dart_clos(
    rate: Quantity = "10Gbps", delay: Quantity = "5us", buffer_per_port: Quantity = "225kB"
) -> Graph:
    """Return Dart's network of 1,024 hosts: a three-tier Clos, oversubscribed 4 to 1 at the ToRs.

    ::

          16 cores, 16 ports each           core c connects to agg c // 4 of every pod
               |  x 4
          64 aggs, 4 in each of 16 pods     4 ports down, 4 up
               |  x 4
          64 ToRs, 4 in each of 16 pods     16 ports down, 4 up: oversubscription 4
               |  x 16
          1,024 hosts

    Every link has the same rate and delay. A switch's shared buffer is `buffer_per_port` times the number of
    its ports: 4.5 MB at a ToR, 1.8 MB at an agg, 3.6 MB at a core.

    Parameters
    ----------
    rate, delay : number or str
        Of every link; numbers are bit/s and picoseconds.
    buffer_per_port : number or str
        Buffer that each port adds to its switch.

    Returns
    -------
    networkx.Graph
    """
    graph = clos(16, 4, 16, 4, 16, rate=rate, delay=delay)
    per_port = size_bytes(buffer_per_port, field="buffer_per_port")
    if per_port < 1:
        raise ConfigError("buffer_per_port", buffer_per_port, "must be at least 1 byte")
    for name in switches(graph):
        graph.nodes[name]["buffer_bytes"] = per_port * graph.degree[name]
    graph.graph["name"] = "dart_clos"
    return graph


def hosts(graph: Graph) -> list[Any]:
    """Return the names of the hosts, in the order of ``graph.nodes``."""
    return [name for name, node in graph.nodes(data=True) if node.get("kind") == "host"]


def switches(graph: Graph) -> list[Any]:
    """Return the names of the switches, in the order of ``graph.nodes``."""
    return [name for name, node in graph.nodes(data=True) if node.get("kind") == "switch"]


def base_rtt_ps(
    graph: Graph, src: Hashable, dst: Hashable, data_bytes: int = 1048, ack_bytes: int = 64
) -> int:
    """Return the round-trip time of one packet and its ACK alone in the network.

    Store-and-forward: the packet goes along the first shortest path, the ACK comes back along the same links.

    Parameters
    ----------
    graph : networkx.Graph
        A valid network.
    src, dst : hashable
        Two hosts.
    data_bytes, ack_bytes : int
        Sizes on the wire.

    Returns
    -------
    int
        Picoseconds.

    Raises
    ------
    ConfigError
        If `src` or `dst` is not a host, or no path joins them.
    """
    total = 0
    for one, other in pairwise(_first_path(graph, src, dst)):
        link = graph.edges[one, other]
        byte_ps = 8e12 / link["rate_bps"]
        total += transmission_ps(data_bytes, byte_ps) + transmission_ps(ack_bytes, byte_ps)
        total += 2 * int(link["delay_ps"])
    return total


def bdp_bytes(graph: Graph, src: Hashable, dst: Hashable, data_bytes: int = 1048, ack_bytes: int = 64) -> int:
    """Return the bandwidth-delay product in bytes: the slowest link's rate times :func:`base_rtt_ps`."""
    path = _first_path(graph, src, dst)
    slowest = min(float(graph.edges[one, other]["rate_bps"]) for one, other in pairwise(path))
    return round(slowest * base_rtt_ps(graph, src, dst, data_bytes, ack_bytes) / 8e12)


def validate(graph: Graph) -> None:
    """Check that `graph` is a network that rdmacc can simulate.

    Raises
    ------
    ConfigError
        For a graph that is empty, directed or a multigraph; a node without a known ``kind``; a rate that is
        missing, not a number, not finite or not positive; a delay that is missing, no integer or below 1 ps;
        a switch without a positive integer ``buffer_bytes``; a host without a link; a link to itself.
    """
    if not isinstance(graph, nx.Graph):
        raise ConfigError("graph", graph, "must be a networkx.Graph")
    if graph.is_directed() or graph.is_multigraph():
        allowed = "must be an undirected networkx.Graph with one link per pair of nodes"
        raise ConfigError("graph", type(graph).__name__, allowed)
    if not len(graph):
        raise ConfigError("graph", str(graph), "must have at least one node")
    for name, node in graph.nodes(data=True):
        _check_node(graph, name, node)
    for one, other, link in graph.edges(data=True):
        place = f"edge {one}-{other}"
        if one == other:
            raise ConfigError("edge", (one, other), "must join two different nodes", where=place)
        rate, delay = link.get("rate_bps"), link.get("delay_ps")
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 < float(rate) < math.inf:
            raise ConfigError("rate_bps", rate, "must be a positive, finite number of bit/s", where=place)
        if not _is_int(delay) or not 1 <= int(delay or 0) < 2**63:
            allowed = "must be a whole number of picoseconds, at least 1"
            raise ConfigError("delay_ps", delay, allowed, where=place)


def draw(graph: Graph, ax: Axes | None = None) -> Axes:
    """Draw `graph` tier by tier, the hosts at the bottom.

    Names are written while a tier has at most 40 nodes; a larger tier shows its number of nodes instead.
    Where all the links between two tiers are alike, their rate and delay stand on the right.

    Parameters
    ----------
    graph : networkx.Graph
        A valid network, from a builder or not.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    tiers = _tiers(graph)
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 1.4 * len(tiers) + 0.6), layout="constrained")
    place = {
        name: ((i + 0.5) / len(tier), float(level))
        for level, tier in enumerate(tiers)
        for i, name in enumerate(tier)
    }
    lines = [[place[one], place[other]] for one, other in graph.edges]
    width = 0.9 if len(lines) <= 400 else 0.3
    ax.add_collection(LineCollection(lines, colors="0.65", linewidths=width, zorder=1))

    kinds: dict[tuple[int, int], set[tuple[float, int]]] = {}
    for one, other, link in graph.edges(data=True):
        low, high = sorted((int(place[one][1]), int(place[other][1])))
        kinds.setdefault((low, high), set()).add((link["rate_bps"], link["delay_ps"]))
    for (low, high), links in kinds.items():
        if len(links) == 1:
            rate, delay = next(iter(links))
            label = f"{format_rate(rate)}, {format_time(delay)}"
            ax.text(1.01, (low + high) / 2, label, va="center", fontsize=8, color="0.35")

    for level, tier in enumerate(tiers):
        small = len(tier) <= _LABELLED
        for kind, colour, marker in (("host", _HOST_COLOUR, "o"), ("switch", _SWITCH_COLOUR, "s")):
            xs = [place[name][0] for name in tier if graph.nodes[name]["kind"] == kind]
            if xs:
                area = 70 if small else 8
                ax.scatter(xs, [level] * len(xs), s=area, c=colour, marker=marker, zorder=2, linewidths=0)
        align, shift = ("top", -9) if level == 0 else ("bottom", 8)
        texts = [(place[name], str(name)) for name in tier]
        if not small:
            texts = [((0.5, float(level)), f"{len(tier)} nodes, {tier[0]} to {tier[-1]}")]
        for (x, y), text in texts:
            ax.annotate(
                text,
                (x, y),
                xytext=(0, shift),
                textcoords="offset points",
                ha="center",
                va=align,
                fontsize=8,
                rotation=90 if len(texts) > 16 else 0,
                bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            )
    ax.set(xlim=(0, 1), ylim=(-0.55, len(tiers) - 0.45), title=str(graph.graph.get("name", "")))
    ax.set_axis_off()
    return ax


def _start(name: str, count: int) -> tuple[Graph, list[str]]:
    """Return a graph of `count` hosts, and their names."""
    graph: Graph = nx.Graph(name=name)
    names = [f"h{i}" for i in range(count)]
    graph.add_nodes_from(names, kind="host")
    graph.graph["tiers"] = [names]
    return graph, names


def _switches(graph: Graph, prefix: str, count: int, buffer: int) -> list[str]:
    """Add `count` switches as the next tier of `graph`; return their names."""
    names = [f"{prefix}{i}" for i in range(count)]
    graph.add_nodes_from(names, kind="switch", buffer_bytes=buffer)
    graph.graph["tiers"].append(names)
    return names


def _links(graph: Graph, pairs: list[tuple[str, str]], rate: float, delay: int) -> None:
    graph.add_edges_from(pairs, rate_bps=rate, delay_ps=delay)


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _count(field: str, value: int) -> int:
    if not _is_int(value) or value < 1:
        raise ConfigError(field, value, "must be a whole number, at least 1")
    return int(value)


def _rate(field: str, value: Quantity) -> float:
    rate = rate_bps(value, field=field)
    if rate <= 0:
        raise ConfigError(field, value, "must be more than 0 bit/s")
    return rate


def _delay(value: Quantity) -> int:
    delay = time_ps(value, field="delay")
    if delay < 1:
        raise ConfigError("delay", value, "must be at least 1 ps")
    return delay


def _buffer(value: Quantity | None, rate: float) -> int:
    if value is None:
        return default_buffer_bytes(rate)
    buffer = size_bytes(value, field="buffer")
    if buffer < 1:
        raise ConfigError("buffer", value, "must be at least 1 byte")
    return buffer


def _check_node(graph: Graph, name: Hashable, node: Mapping[str, Any]) -> None:
    place = f"node {name}"
    kind = node.get("kind")
    if kind not in ("host", "switch"):
        raise ConfigError("kind", kind, "must be 'host' or 'switch'", where=place)
    if kind == "host":
        if not graph.degree[name]:
            raise ConfigError("host", name, "must have at least one link")
        return
    buffer = node.get("buffer_bytes")
    if not _is_int(buffer) or not 1 <= int(buffer or 0) < 2**63:
        raise ConfigError("buffer_bytes", buffer, "must be a whole number of bytes, at least 1", where=place)


def _hops_to(graph: Graph, sources: list[Any]) -> dict[Any, int]:
    """Return the number of hops from each node to the nearest of `sources`, hosts not forwarding."""
    hops = dict.fromkeys(sources, 0)
    queue = deque(sources)
    while queue:
        node = queue.popleft()
        if hops[node] and graph.nodes[node]["kind"] == "host":
            continue
        for peer in graph[node]:
            if peer not in hops:
                hops[peer] = hops[node] + 1
                queue.append(peer)
    return hops


def _first_path(graph: Graph, src: Hashable, dst: Hashable) -> list[Any]:
    """Return the nodes of the shortest path whose every next node comes first in ``graph.nodes``."""
    for field, name in (("src", src), ("dst", dst)):
        if name not in graph or graph.nodes[name].get("kind") != "host":
            raise ConfigError(field, name, "must be a host of the network")
    if src == dst:
        raise ConfigError("dst", dst, f"must differ from src = {src!r}")
    hops = _hops_to(graph, [dst])
    if src not in hops:
        raise ConfigError("dst", dst, f"must be reachable from src = {src!r}")
    order = {name: i for i, name in enumerate(graph.nodes)}
    path = [src]
    while path[-1] != dst:
        here = hops[path[-1]]
        onward = [
            peer
            for peer in graph[path[-1]]
            if hops.get(peer) == here - 1 and (peer == dst or graph.nodes[peer]["kind"] == "switch")
        ]
        path.append(min(onward, key=order.__getitem__))
    return path


def _tiers(graph: Graph) -> list[list[Any]]:
    """Return the tiers of `graph`: as built, or by the number of hops to the nearest host."""
    built = graph.graph.get("tiers")
    if built is not None and {name for tier in built for name in tier} == set(graph):
        return [list(tier) for tier in built]
    hops = _hops_to(graph, hosts(graph))
    top = max(hops.values(), default=0)
    tiers: list[list[Any]] = [[] for _ in range(top + 1)]
    for name in graph:
        tiers[hops.get(name, top)].append(name)
    return [tier for tier in tiers if tier]
