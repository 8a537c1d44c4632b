"""Common to Dart's experiments: its links, networks and schemes."""

from ..api import *

RATE, LINE_BPS = "10Gbps", 10e9
DELAY = "5us"
BUFFER_PER_PORT = size_bytes("225kB")
PRESET = preset("dart-2020")
"""The schemes of all figures."""
PAYLOAD_BYTES = PRESET["dart"].payload_bytes
WIRE_BYTES = PAYLOAD_BYTES + PRESET["dart"].header_bytes
"""A full packet, with its headers."""
PACKET_PS = round(WIRE_BYTES * 8e12 / LINE_BPS)
RECEIVER = "h0"
TESTBED_HOST_RATE = "43Gbps"
"""Rate of a host through its port of 56 Gb/s (V)."""
TESTBED_PAYLOAD_BYTES = 4096
"""Assumed."""

Network = Callable[[], "Graph"]


def fat_tree(k: int) -> Network:
    """Return a function that builds a k-ary fat tree with Dart's links."""
    return partial(topology.fat_tree, k, rate=RATE, delay=DELAY, buffer=k * BUFFER_PER_PORT)


def other_pods(graph: Graph) -> list[Any]:
    """Return the hosts that are six hops from the receiver."""
    hops = nx.single_source_shortest_path_length(graph, RECEIVER)
    return [host for host in topology.hosts(graph) if hops[host] == 6]


def ports_towards(graph: Graph, receiver: Any) -> list[tuple[Any, Any]]:
    """Return the switch ports, as (node, peer), on the last three hops of shortest paths to a receiver."""
    distance = nx.single_source_shortest_path_length(graph, receiver, cutoff=3)
    switches = [name for name in topology.switches(graph) if name in distance]
    return [(node, peer) for node in switches for peer in graph[node] if distance.get(peer, 3) == distance[node] - 1]
