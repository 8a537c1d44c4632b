"""The networks of the four papers, simulated and testbeds.

Dart: Xue et al., IEEE/ACM ToN 2020. REN: Li et al., IEEE TCC 2021. RCC: Zhang et al., ICNP 2021. Improved
Go-Back-N: Wang et al., 2019. Anything that a paper does not state is marked as assumed.
"""

import networkx as nx

from rdmacc.errors import ConfigError
from rdmacc.topology.base import Graph, named, per_port_buffers
from rdmacc.topology.base import hosts as hosts_of
from rdmacc.topology.bounds import builder, checked_count, checked_rate
from rdmacc.topology.builders import clos, dumbbell, leaf_spine, star
from rdmacc.units import Quantity

_SX6025_PORTS = 36


@builder
def dart_clos(rate: Quantity = "10Gbps", delay: Quantity = "5us", buffer_per_port: Quantity = "225kB") -> Graph:
    """Return Dart's network of 1,024 hosts: a three-tier Clos, oversubscribed 4 to 1 at the ToRs (VI-A).

    ::

          16 cores, 16 ports each           core c connects to agg c // 4 of every pod
               |  x 4
          64 aggs, 4 in each of 16 pods     4 ports down, 4 up
               |  x 4
          64 ToRs, 4 in each of 16 pods     16 ports down, 4 up: oversubscription 4
               |  x 16
          1,024 hosts

    The paper gives hosts, oversubscription, links, the longest path (6 hops, 30 us one way) and the mean path (5.8
    hops, VI-B), and this network matches all of them. Its shape is assumed. We also assume that the 225 KB "switch
    buffer" is per port: a switch's shared buffer is `buffer_per_port` times the number of its ports, 4.5 MB at a ToR,
    1.8 MB at an agg, 3.6 MB at a core.
    """
    return named(per_port_buffers(clos(16, 4, 16, 4, 16, rate=rate, delay=delay), buffer_per_port), "dart_clos")


@builder
def dart_testbed(
    hosts: int = 20,
    rate: Quantity = "56Gbps",
    host_rate: Quantity = "43Gbps",
    delay: Quantity = "3us",
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return Dart's testbed: up to 36 nodes on one InfiniBand switch, a Mellanox SX6025 (V).

    ::

              s0              36 ports of 56 Gb/s
           /  |  \
         h0   h1 ... h19

    The switch's ports run at 56 Gb/s, but no host got more than 43 Gb/s through them (V-A), so hosts send at
    `host_rate`. The default `delay` gives 12 us of round-trip propagation, the paper's "hardware RTT" (V-A); we assume
    that all of it is on the links. The paper has 20 nodes in V and 16 in its introduction, and gives no buffer.
    """
    if checked_count("hosts", hosts) > _SX6025_PORTS:
        raise ConfigError("hosts", hosts, f"at most {_SX6025_PORTS}, the switch's ports")
    graph = star(hosts, rate=rate, delay=delay, buffer=buffer)
    nx.set_node_attributes(graph, dict.fromkeys(hosts_of(graph), checked_rate("host_rate", host_rate)), "rate_bps")
    return named(graph, f"dart_testbed({hosts})")


@builder
def ren_leaf_spine(
    hosts_per_leaf: int = 48,
    leaves: int = 8,
    spines: int = 8,
    rate: Quantity = "40Gbps",
    delay: Quantity = "1.25us",
    buffer_per_port: Quantity = "128kB",
) -> Graph:
    r"""Return REN's leaf-spine network: 8 ToRs, 8 cores, 48 hosts on each ToR, 40 Gb/s (6).

    ::

           spine0   ...   spine7       8 cores
             |  \       /  |
             |     \ /     |           every ToR to every core
             |     / \     |
           leaf0    ...   leaf7        8 ToRs, 48 ports down, 8 up: oversubscription 6
           /  \           /  \
          h0 .. h47   h336 .. h383     384 hosts

    Four links each way give the paper's round-trip propagation of 10 us. With ``hosts_per_leaf=8`` this is
    the network of 6.1, figure 19, oversubscription 1; 6.2 has ``leaves=2, hosts_per_leaf=40``, 6.3
    ``leaves=3``. We assume that the 128 KB "switch buffer" is per port, as in NS2's queues.
    """
    graph = per_port_buffers(leaf_spine(leaves, spines, hosts_per_leaf, rate=rate, delay=delay), buffer_per_port)
    return named(graph, f"ren_leaf_spine({hosts_per_leaf}, {leaves}, {spines})")


@builder
def ren_testbed(
    senders: int = 3,
    receivers: int = 2,
    rate: Quantity = "10Gbps",
    delay: Quantity = "8us",
    buffer: Quantity = "64kB",
) -> Graph:
    r"""Return REN's dumbbell of 2.3 and its testbed (5.2): two servers act as switches.

    ::

         h0 --\                  /-- h3
         h1 --- s0 ========== s1
         h2 --/                  \-- h4

    Every link has 10 Gb/s and 8 us, which gives 48 us of round-trip propagation, the paper's base RTT. Flow f0 goes
    from h0 to h4, the bursts from h1 and h2 to h3; figure 11 has up to 4 bursts, ``senders=5``. The buffer of
    64 KB is less than PFC needs: give the scheme a lossy :class:`~rdmacc.switch.buffer.DropTail`.
    """
    graph = dumbbell(senders, receivers, rate=rate, delay=delay, buffer=buffer)
    return named(graph, f"ren_testbed({senders}, {receivers})")


@builder
def rcc_fat_tree(
    rate: Quantity = "100Gbps",
    fabric_rate: Quantity = "400Gbps",
    delay: Quantity = "1us",
    buffer: Quantity = "32MB",
) -> Graph:
    """Return RCC's fat tree of 320 hosts, 20 ToRs, 20 aggs and 16 cores (V-A).

    ::

          16 cores, 5 ports each            core c connects to agg c // 4 of every pod
               |  x 4, 400 Gb/s
          20 aggs, 4 in each of 5 pods      4 ports down, 4 up
               |  x 4, 400 Gb/s
          20 ToRs, 4 in each of 5 pods      16 ports down, 4 up: oversubscription 1
               |  x 16, 100 Gb/s
          320 hosts

    Six links of 1 us each way give the paper's base RTT of 12 us, and a BDP of 150 KB at 100 Gb/s. The paper gives the
    number of switches; we assume that they form 5 pods, so that no tier is oversubscribed.
    """
    return named(clos(5, 4, 16, 4, 16, rate=rate, fabric_rate=fabric_rate, delay=delay, buffer=buffer), "rcc_fat_tree")


@builder
def rcc_dumbbell(
    senders: int = 4, rate: Quantity = "100Gbps", delay: Quantity = "2us", buffer: Quantity = "32MB"
) -> Graph:
    r"""Return RCC's dumbbell: senders that share one bottleneck to one receiver (V-B-1).

    ::

         h0 --\
         h1 --- s0 ========== s1 --- h4
         h2 --/
         h3 -/

    The paper gives the rate; we assume 12 us of round-trip propagation here too.
    """
    return named(dumbbell(senders, 1, rate=rate, delay=delay, buffer=buffer), f"rcc_dumbbell({senders})")


@builder
def rcc_multi_bottleneck(rate: Quantity = "100Gbps", delay: Quantity = "2us", buffer: Quantity = "32MB") -> Graph:
    r"""Return RCC's network with two bottlenecks, one in the network and one at the last hop (II-B, V-E-3).

    ::

                     in-network            last hop
         h0 --\           |          /-- h3     flow 1: h0 -> h3, through both
               s0 ================ s1           flow 2: h1 -> h4, shares s0-s1 with flow 1
         h1 --/                    / \-- h4     flow 3: h2 -> h3, shares s1-h3 with flow 1
                                  h2

    ``graph.graph["flows"]`` has the three (source, destination) pairs. The paper gives the rate and which flows share
    which link; the layout and the 12 us of round-trip propagation between h0 and h3 are assumed.
    """
    graph = dumbbell(2, 3, rate=rate, delay=delay, buffer=buffer)
    graph.graph["flows"] = [("h0", "h3"), ("h1", "h4"), ("h2", "h3")]
    return named(graph, "rcc_multi_bottleneck")


@builder
def rcc_testbed(rate: Quantity = "25Gbps", delay: Quantity = "1.5us", buffer: Quantity = "32MB") -> Graph:
    r"""Return RCC's testbed: two servers with two ports each, two leaf switches and one above (V-C).

    ::

               spine0
              /      \
          leaf0      leaf1
          /  \       /  \
         h0  h1     h2  h3

    Each server port is a host here: h0 and h1 send, h2 and h3 receive. If both send to h2, this is the last-hop
    congestion of figure 8a; if each has its own receiver, the in-network congestion of 8b. Four links each way give 12
    us of round-trip propagation, the paper's RTT. We assume the buffer of the paper's simulations.
    """
    return named(leaf_spine(2, 1, 2, rate=rate, delay=delay, buffer=buffer), "rcc_testbed")


@builder
def igbn_pair(rate: Quantity = "40Gbps", delay: Quantity = "1us", buffer: Quantity | None = None) -> Graph:
    """Return Improved Go-Back-N's network: two hosts and a switch, 40 Gb/s and 1 us a hop (II-B, figure 1).

    ::

         h0 --- s0 --- h1
    """
    return named(star(2, rate=rate, delay=delay, buffer=buffer), "igbn_pair")
