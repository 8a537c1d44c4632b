"""Builders of the usual networks, and of those whose hosts have several links: planes and rails."""

import networkx as nx

from rdmacc.errors import ConfigError
from rdmacc.topology.base import Graph, fill_buffers
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
    speed, lag = checked_rate("rate", rate), checked_delay(delay)
    graph, names = start(f"star({count})", count)
    add_switches(graph, ["s0"], checked_buffer(buffer))
    add_links(graph, [(host, "s0") for host in names], speed, lag)
    fill_buffers(graph, speed)
    return graph


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
    speed, lag = checked_rate("rate", rate), checked_delay(delay)
    middle = speed if bottleneck_rate is None else checked_rate("bottleneck_rate", bottleneck_rate)
    graph, names = start(f"dumbbell({lefts}, {rights})", lefts + rights)
    add_switches(graph, ["s0", "s1"], checked_buffer(buffer))
    add_links(graph, [(host, "s0" if i < lefts else "s1") for i, host in enumerate(names)], speed, lag)
    add_links(graph, [("s0", "s1")], middle, lag)
    fill_buffers(graph, max(speed, middle))
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
    speed, upper, lag, memory = checked_tiers(rate, fabric_rate, delay, buffer)
    graph, names = start(f"leaf_spine({low}, {high}, {per})", low * per)
    leaf = add_switches(graph, [f"leaf{i}" for i in range(low)], memory)
    spine = add_switches(graph, [f"spine{i}" for i in range(high)], memory)
    add_links(graph, [(host, leaf[i // per]) for i, host in enumerate(names)], speed, lag)
    add_links(graph, [(down, up) for down in leaf for up in spine], upper, lag)
    fill_buffers(graph, max(speed, upper))
    return graph


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

    Raises
    ------
    ConfigError
        If k is odd, or a number, rate, delay or buffer is not allowed.
    """
    if checked_count("k", k) % 2:
        raise ConfigError("k", k, "even, at least 2")
    half = int(k) // 2
    graph = clos(int(k), half, half, half, half * half, rate=rate, delay=delay, buffer=buffer)
    graph.graph["name"] = f"fat_tree({k})"
    return graph


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

    Raises
    ------
    ConfigError
        If a number, rate, delay or buffer is not allowed, or the cores do not form equal groups.
    """
    n_pods, n_tors = checked_count("pods", pods), checked_count("tors_per_pod", tors_per_pod)
    n_hosts = checked_count("hosts_per_tor", hosts_per_tor)
    n_aggs, n_cores = checked_count("aggs_per_pod", aggs_per_pod), checked_count("cores", cores)
    if n_cores % n_aggs:
        raise ConfigError("cores", cores, f"a multiple of aggs_per_pod = {n_aggs}")
    group = n_cores // n_aggs
    checked_count("links between switches", n_pods * n_aggs * (n_tors + group))
    speed, upper, lag, memory = checked_tiers(rate, fabric_rate, delay, buffer)
    shape = f"clos({n_pods}, {n_tors}, {n_hosts}, {n_aggs}, {n_cores})"
    graph, names = start(shape, n_pods * n_tors * n_hosts)
    tor = add_switches(graph, [f"tor{i}" for i in range(n_pods * n_tors)], memory)
    agg = add_switches(graph, [f"agg{i}" for i in range(n_pods * n_aggs)], memory)
    core = add_switches(graph, [f"core{i}" for i in range(n_cores)], memory)
    add_links(graph, [(host, tor[i // n_hosts]) for i, host in enumerate(names)], speed, lag)
    for pod in range(n_pods):
        own_tors, own_aggs = tor[pod * n_tors : (pod + 1) * n_tors], agg[pod * n_aggs : (pod + 1) * n_aggs]
        add_links(graph, [(down, up) for down in own_tors for up in own_aggs], upper, lag)
        for a, down in enumerate(own_aggs):
            add_links(graph, [(down, up) for up in core[a * group : (a + 1) * group]], upper, lag)
    fill_buffers(graph, max(speed, upper))
    return graph


def checked_tiers(
    rate: Quantity,
    fabric_rate: Quantity | None,
    delay: Quantity,
    buffer: Quantity | None,
) -> tuple[float, float, int, int | None]:
    """Return a multi-tier network's checked rates (hosts' and upper links, bit/s), delay (ps), and given buffer (B)."""
    speed, lag = checked_rate("rate", rate), checked_delay(delay)
    upper = speed if fabric_rate is None else checked_rate("fabric_rate", fabric_rate)
    return speed, upper, lag, checked_buffer(buffer)


def start(name: str, count: int) -> tuple[Graph, list[str]]:
    """Return a graph of `count` hosts, and their names; raise a ConfigError if there are too many for memory."""
    checked_count("hosts", count)
    graph: Graph = nx.Graph(name=name)
    names = [f"h{i}" for i in range(count)]
    graph.add_nodes_from(names, kind="host")
    graph.graph["tiers"] = [names]
    return graph, names


def add_switches(graph: Graph, names: list[str], buffer: int | None) -> list[str]:
    """Add switches as the next tier of `graph`; return their names. Without a buffer, `fill_buffers` sets it later."""
    graph.add_nodes_from(names, kind="switch", **({} if buffer is None else {"buffer_bytes": buffer}))
    graph.graph["tiers"].append(names)
    return names


def add_links(graph: Graph, pairs: list[tuple[str, str]], rate: float, delay: int) -> None:
    graph.add_edges_from(pairs, rate_bps=rate, delay_ps=delay)


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
    r"""Return equal leaf-spine networks side by side, with a link of each host in every one.

    A packet stays in its plane. Schemes whose senders pick paths (`Scheme.spans_ports`) send by all links of a host at
    once; with the others, a queue pair keeps to one.

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
    speed, upper, lag, memory = checked_tiers(rate, fabric_rate, delay, buffer)
    graph, names = start(f"multi_plane({sides}, {low}, {high}, {per})", low * per)
    leaf = add_switches(graph, [f"p{p}leaf{i}" for p in range(sides) for i in range(low)], memory)
    spine = add_switches(graph, [f"p{p}spine{i}" for p in range(sides) for i in range(high)], memory)
    for p in range(sides):
        own = leaf[p * low : (p + 1) * low]
        add_links(graph, [(host, own[i // per]) for i, host in enumerate(names)], speed, lag)
        add_links(graph, [(down, up) for down in own for up in spine[p * high : (p + 1) * high]], upper, lag)
    fill_buffers(graph, max(speed, upper))
    return graph


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
    senders pick paths (`Scheme.spans_ports`) send by all links of a host at once; with the others, a queue pair keeps
    to one. `rdmacc.cluster` has rails too, with a host for each GPU and its NIC, for `Nccl(hosts_per_node=8)`.

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
    speed, upper, lag, memory = checked_tiers(rate, fabric_rate, delay, buffer)
    graph, names = start(f"rail_optimised({width}, {count}, {high}, {per})", count * per)
    rail = add_switches(graph, [f"g{g}rail{r}" for g in range(count) for r in range(width)], memory)
    spine = add_switches(graph, [f"spine{i}" for i in range(high)], memory)
    for r in range(width):
        add_links(graph, [(host, rail[i // per * width + r]) for i, host in enumerate(names)], speed, lag)
    add_links(graph, [(down, up) for down in rail for up in spine], upper, lag)
    fill_buffers(graph, max(speed, upper))
    return graph
