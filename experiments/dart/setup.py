"""Common to Dart's experiments: its links, networks and schemes.

Paper: Xue et al., "Dart: Divide and Specialize for Fast Response to Congestion in RDMA-based Datacenter
Networks", IEEE/ACM ToN 2020. Links of 10 Gb/s and 5 us, 225 KB of buffer for each port of a switch (VI-A).

All figures run the schemes of ``rdmacc.preset("dart-2020")``: Dart and its baselines with the parameters of VI-A, such
as payloads of 1,460 bytes and deflection of flows of at most 8 KB. ``rdmacc.scheme("dart")`` has rdmacc's own defaults;
no figure uses it.

The paper gives no network, sizes or times for its conceptual figures 2 to 7. Assumed for all of them: the "quick"
network is a fat tree with the evaluation's links, the "paper" network is the evaluation's Clos of 1,024 hosts. The
receiver is the first host, senders are in other pods, six hops away: the base RTT is 60 us plus the packets' time on
the links.
"""

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
