"""Networks with hosts at every switch: the dragonfly.

Routers within a group are fully connected, and one link joins each pair of groups.

Source: Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 3. Which
router of a group leads to which other group is left open there; this is the palm-tree arrangement (Camarero, Vallejo
and Beivide, "Topological characterization of Hamming and dragonfly networks and its implications on routing", ACM TACO
2014).
"""

from itertools import combinations, pairwise

import networkx as nx

from rdmacc.errors import ConfigError
from rdmacc.topology.base import Graph
from rdmacc.topology.bounds import builder, checked_count, checked_delay
from rdmacc.topology.builders import built
from rdmacc.units import Quantity


@builder
def dragonfly(
    routers: int,
    hosts_per_router: int,
    global_links: int,
    rate: Quantity = "100Gbps",
    delay: Quantity = "1us",
    global_delay: Quantity | None = None,
    buffer: Quantity | None = None,
) -> Graph:
    r"""Return a dragonfly of maximum size.

    With a routers in a group, p hosts and h global links on each, there are a h + 1 groups and a p (a h + 1) hosts. Kim
    et al. recommend a = 2 p = 2 h. Paths over the direct link between two groups have at most three links between
    routers.

    ::

           group 0                     group 1
        g0r0 ---- g0r1             g1r0 ---- g1r1        all routers of a group
         | \       | \_____________/ |       / |         one link to each group
         h0 \      h1                h2     /  h3
             \_____________    ____________/
                           \  /
                     g2r0 ---- g2r1                      group 2

    Routing by hops (`Scheme.routing`) also takes paths of equal or shorter length through a third group. Minimal and
    Valiant routing are given by :func:`rdmacc.workload.dragonfly_paths`.

    Parameters
    ----------
    routers, hosts_per_router, global_links : int
        a, p and h, at least 1 each.
    delay : number or str
        Propagation delay of the links within a group.
    global_delay : number or str, optional
        Propagation delay of the links between groups; default `delay`.

    Examples
    --------
    >>> from rdmacc.topology import describe, dragonfly
    >>> found = describe(dragonfly(4, 2, 2))
    >>> found.hosts, found.switches, found.links
    (72, 36, 162)
    """
    a, p = checked_count("routers", routers), checked_count("hosts_per_router", hosts_per_router)
    h = checked_count("global_links", global_links)
    groups = a * h + 1
    checked_count("links", groups * a * (p + a + h))
    nodes, links = [f"g{i}r{j}" for i in range(groups) for j in range(a)], []
    far_links = [(_gateway(one, two, a, h), _gateway(two, one, a, h)) for one in range(groups) for two in range(one)]
    for group in range(groups):
        links += [(one, other) for other, one in combinations(nodes[group * a : (group + 1) * a], 2)]
    shape = f"dragonfly({a}, {p}, {h})"
    graph = built(shape, groups * a * p, [nodes], lambda i: [nodes[i // p]], [*links, *far_links], rate, delay, buffer)
    if global_delay is not None:
        nx.set_edge_attributes(graph, dict.fromkeys(far_links, checked_delay(global_delay)), "delay_ps")
    graph.graph["dragonfly"] = (a, p, h)
    return graph


def _gateway(group: int, other: int, routers: int, global_links: int) -> str:
    """Return the router of a group that has the link to another: port k leads k + 1 groups further."""
    port = (other - group) % (routers * global_links + 1) - 1
    return f"g{group}r{port // global_links}"


def dragonfly_route(graph: Graph, src: str, dst: str, through: int | None = None) -> list[str]:
    """Return a path between two hosts: by the direct link between their groups, or through another group."""
    if "dragonfly" not in graph.graph:
        raise ConfigError("network", graph.graph.get("name", ""), "a network made by topology.dragonfly")
    a, p, h = graph.graph["dragonfly"]
    ends = []
    for field, name in (("src", src), ("dst", dst)):
        if name not in graph or graph.nodes[name]["kind"] != "host":
            raise ConfigError(field, name, "a host of the network")
        ends.append(divmod(int(name[1:]) // p, a))
    (first, one), (last, other) = ends
    groups = [first, last] if through is None else [first, through, last]
    if through is not None and (through in (first, last) or not 0 <= through <= a * h):
        raise ConfigError("through", through, f"a group from 0 to {a * h}, other than those of the hosts")
    path = [src, f"g{first}r{one}"]
    for here, there in pairwise(groups):
        if here != there:
            path += [_gateway(here, there, a, h), _gateway(there, here, a, h)]
    path += [f"g{last}r{other}", dst]
    return [name for i, name in enumerate(path) if i == 0 or name != path[i - 1]]
