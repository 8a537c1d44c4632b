"""Networks whose hosts have several links: planes that never meet, and rails under common spines."""

from rdmacc.topology.base import Graph, fill_buffers
from rdmacc.topology.bounds import builder, checked_count
from rdmacc.topology.builders import add_links, add_switches, checked_tiers, start
from rdmacc.units import Quantity


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
