"""Builders of the usual networks, and of those whose hosts have several links: planes and rails."""

from collections.abc import Callable, Iterable
from itertools import product

import networkx as nx

from rdmacc.errors import ConfigError
from rdmacc.topology.base import Graph, fill_buffers, named
from rdmacc.topology.bounds import builder, checked_buffer, checked_count, checked_delay, checked_rate
from rdmacc.units import Quantity


@builder
def star(hosts: int, rate: Quantity = "100Gbps", delay: Quantity = "1us", buffer: Quantity | None = None) -> Graph:
    r"""Return `hosts` hosts around one switch.

    ::

              s0
           /  |  \
         h0   h1   h2

    Parameters
    ----------
    hosts : int
        Number of hosts, at least 1.
    """
    count = checked_count("hosts", hosts)
    return built(f"star({count})", count, [["s0"]], lambda _: ["s0"], [], rate, delay, buffer)


@builder
def dumbbell(
    left: int,
    right: int,
    rate: Quantity = "100Gbps",
    bottleneck_rate: Quantity | None = None,
    delay: Quantity = "1us",
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return two switches with hosts on each; the link between the switches is the bottleneck.

    ::

         h0 --\                  /-- h2
               s0 ============ s1
         h1 --/                  \-- h3

    Parameters
    ----------
    left, right : int
        Number of hosts on each side; the left ones come first.
    bottleneck_rate : number or str, optional
        Rate of the link between the switches; default `rate`.
    """
    lefts, rights = checked_count("left", left), checked_count("right", right)
    middle = None if bottleneck_rate is None else checked_rate("bottleneck_rate", bottleneck_rate)
    sides, shape = ["s0", "s1"], f"dumbbell({lefts}, {rights})"
    graph = built(
        shape, lefts + rights, [sides], lambda i: [sides[i >= lefts]], [("s0", "s1")], rate, delay, buffer, middle
    )
    names = graph.graph["tiers"][0]
    graph.graph["sides"] = (names[:lefts], names[lefts:])
    return graph


@builder
def leaf_spine(
    leaves: int,
    spines: int,
    hosts_per_leaf: int,
    rate: Quantity = "100Gbps",
    fabric_rate: Quantity | None = None,
    delay: Quantity = "1us",
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return a two-tier network in which every leaf connects to every spine.

    ::

            spine0       spine1
              |    \   /   |
              |     \ /    |        fabric_rate
              |     / \    |
            leaf0        leaf1
            /   \        /   \      rate
           h0    h1     h2    h3

    Parameters
    ----------
    leaves, spines, hosts_per_leaf : int
        At least 1 each. Host ``h{i}`` is on leaf ``i // hosts_per_leaf``.
    """
    low, high = checked_count("leaves", leaves), checked_count("spines", spines)
    per = checked_count("hosts_per_leaf", hosts_per_leaf)
    checked_count("links between switches", low * high)
    leaf, spine = [f"leaf{i}" for i in range(low)], [f"spine{i}" for i in range(high)]
    shape, links = f"leaf_spine({low}, {high}, {per})", [*product(leaf, spine)]
    return built(shape, low * per, [leaf, spine], lambda i: [leaf[i // per]], links, rate, delay, buffer, fabric_rate)


@builder
def fat_tree(k: int, rate: Quantity = "100Gbps", delay: Quantity = "1us", buffer: Quantity | None = None) -> Graph:
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
    """
    if checked_count("k", k) % 2:
        raise ConfigError("k", k, "even, at least 2")
    half = int(k) // 2
    graph = clos(int(k), half, half, half, half * half, rate=rate, delay=delay, buffer=buffer)
    return named(graph, f"fat_tree({k})")


@builder
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
    """
    n_pods, n_tors = checked_count("pods", pods), checked_count("tors_per_pod", tors_per_pod)
    n_hosts = checked_count("hosts_per_tor", hosts_per_tor)
    n_aggs, n_cores = checked_count("aggs_per_pod", aggs_per_pod), checked_count("cores", cores)
    if n_cores % n_aggs:
        raise ConfigError("cores", cores, f"a multiple of aggs_per_pod = {n_aggs}")
    group = n_cores // n_aggs
    checked_count("links between switches", n_pods * n_aggs * (n_tors + group))
    shape = f"clos({n_pods}, {n_tors}, {n_hosts}, {n_aggs}, {n_cores})"
    count = checked_count("hosts", n_pods * n_tors * n_hosts)
    tor, agg = [f"tor{i}" for i in range(n_pods * n_tors)], [f"agg{i}" for i in range(n_pods * n_aggs)]
    core = [f"core{i}" for i in range(n_cores)]
    links: list[tuple[str, str]] = []
    for pod in range(n_pods):
        own_tors, own_aggs = tor[pod * n_tors : (pod + 1) * n_tors], agg[pod * n_aggs : (pod + 1) * n_aggs]
        links += product(own_tors, own_aggs)
        for a, down in enumerate(own_aggs):
            links += product([down], core[a * group : (a + 1) * group])
    tiers = [tor, agg, core]
    return built(shape, count, tiers, lambda i: [tor[i // n_hosts]], links, rate, delay, buffer, fabric_rate)


def built(
    name: str,
    count: int,
    tiers: list[list[str]],
    above: Callable[[int], Iterable[str]],
    links: Iterable[tuple[str, str]],
    rate: Quantity,
    delay: Quantity,
    buffer: Quantity | None,
    fabric_rate: Quantity | None = None,
) -> Graph:
    """Return a network of `count` hosts and tiers of switches: those `above` each host, and `links` between them."""
    checked_count("hosts", count)
    speed, lag, memory = checked_rate("rate", rate), checked_delay(delay), checked_buffer(buffer)
    upper = speed if fabric_rate is None else checked_rate("fabric_rate", fabric_rate)
    hosts = [f"h{i}" for i in range(count)]
    graph: Graph = nx.Graph(name=name, tiers=[hosts, *tiers])
    graph.add_nodes_from(hosts, kind="host")
    own = {} if memory is None else {"buffer_bytes": memory}
    graph.add_nodes_from((switch for tier in tiers for switch in tier), kind="switch", **own)
    graph.add_edges_from(((hosts[i], one) for i in range(count) for one in above(i)), rate_bps=speed, delay_ps=lag)
    graph.add_edges_from(links, rate_bps=upper, delay_ps=lag)
    fill_buffers(graph, max(speed, upper))
    return graph


@builder
def multi_plane(
    planes: int,
    leaves: int,
    spines: int,
    hosts_per_leaf: int,
    rate: Quantity = "100Gbps",
    fabric_rate: Quantity | None = None,
    delay: Quantity = "1us",
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return equal leaf-spine networks side by side; each host has a link to every one.

    A packet stays in its plane. Schemes whose senders pick paths (`Scheme.spans_ports`) send on all links of a host at
    once; with the others, a queue pair stays on one.

    ::

          p0spine0   p0spine1   |   p1spine0   p1spine1
              |   \ /   |       |       |   \ /   |         fabric_rate
          p0leaf0    p0leaf1    |   p1leaf0    p1leaf1
             \_____    \________|____/__    ____/
                   \  __________|___/   \  /                rate
                    h0          |       h1

    Examples
    --------
    >>> from rdmacc.topology import hosts, multi_plane
    >>> network = multi_plane(4, leaves=2, spines=1, hosts_per_leaf=2)
    >>> len(hosts(network)), list(network["h3"])
    (4, ['p0leaf1', 'p1leaf1', 'p2leaf1', 'p3leaf1'])
    """
    sides, low = checked_count("planes", planes), checked_count("leaves", leaves)
    high, per = checked_count("spines", spines), checked_count("hosts_per_leaf", hosts_per_leaf)
    checked_count("links", sides * low * (high + per))
    leaf = [f"p{p}leaf{i}" for p in range(sides) for i in range(low)]
    spine = [f"p{p}spine{i}" for p in range(sides) for i in range(high)]
    links = [pair for p in range(sides) for pair in product(leaf[p * low :][:low], spine[p * high :][:high])]
    shape, tiers = f"multi_plane({sides}, {low}, {high}, {per})", [leaf, spine]
    return built(shape, low * per, tiers, lambda i: leaf[i // per :: low], links, rate, delay, buffer, fabric_rate)


@builder
def rail_optimised(
    rails: int,
    groups: int,
    spines: int,
    hosts_per_group: int,
    rate: Quantity = "100Gbps",
    fabric_rate: Quantity | None = None,
    delay: Quantity = "1us",
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return groups of hosts with a leaf for each rail, and spines that connect all leaves.

    Link r of every host of a group leads to the group's leaf of rail r; with two rails this is dual ToR. Schemes whose
    senders pick paths (`Scheme.spans_ports`) send on all links of a host at once; with the others, a queue pair stays
    on one. `rdmacc.cluster` has rails too, with a host for each GPU and its NIC, for `Nccl(hosts_per_node=8)`.

    ::

              spine0          spine1
             /   |  \____    /  |   \
            /    |   ____\__/   |    \        fabric_rate
        g0rail0  g0rail1   g1rail0  g1rail1
            \      /           \      /       rate
            h0, h1, ...       h2, h3, ...

    Examples
    --------
    >>> from rdmacc.topology import rail_optimised
    >>> network = rail_optimised(2, groups=2, spines=1, hosts_per_group=4)
    >>> list(network["h5"])
    ['g1rail0', 'g1rail1']
    """
    width, count = checked_count("rails", rails), checked_count("groups", groups)
    high, per = checked_count("spines", spines), checked_count("hosts_per_group", hosts_per_group)
    checked_count("links", width * count * (high + per))
    rail = [f"g{g}rail{r}" for g in range(count) for r in range(width)]
    spine = [f"spine{i}" for i in range(high)]
    shape, tiers, links = f"rail_optimised({width}, {count}, {high}, {per})", [rail, spine], product(rail, spine)

    def above(host: int) -> list[str]:
        return rail[host // per * width :][:width]

    return built(shape, count * per, tiers, above, links, rate, delay, buffer, fabric_rate)
