"""Draw a network, tier by tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.show.style import COLOURS, new_axes, note, style
from rdmacc.topology.base import Graph, completed, validate
from rdmacc.topology.measures import describe
from rdmacc.topology.routes import node_levels
from rdmacc.units import format_rate, format_size, format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Places = dict[Any, tuple[float, int]]

_LABELLED = 24  # in a tier with more nodes than this, nodes are drawn without names
_UPRIGHT = 16  # in a tier with more nodes than this, names are vertical
_THICKEST = 3.0


@typed
def draw(network: Graph, ax: Axes | None = None) -> Axes:
    """Draw `network` tier by tier, the hosts at the bottom.

    The left margin describes each tier; the right margin shows the rate and delay of the links between two tiers, if
    all are alike. A thicker line is a faster link. A tier of at most 24 nodes shows their names; the hosts of a larger
    tier are drawn as a wedge below each switch, with the first and the last name.

    Parameters
    ----------
    network : networkx.Graph
        A valid network, from a builder or not.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; default: a new figure.
    """
    network = completed(network)
    validate(network)
    tiers = _tiers(network)
    place = _places(network, tiers)
    fans = _fans(network, tiers, place)
    with style():
        ax = new_axes(ax, figsize=(9, 1.35 * len(tiers) + 0.9))
        _draw_links(ax, network, place, fans)
        _draw_fans(ax, fans)
        for level, tier in enumerate(tiers):
            _draw_nodes(ax, network, tier, place, is_fan=level == 0 and bool(fans))
            text = _tier_text(network, tier)
            ax.text(-0.02, level, text, ha="right", va="center", fontsize=8, color="0.35")
        ax.set(xlim=(0, 1), ylim=(-0.6, len(tiers) - 0.45))
        ax.set_title(_title(network), fontsize=10)
        ax.set_axis_off()
    return ax


def _title(graph: Graph) -> str:
    """Return the title: the network's name, and below it the numbers of `describe`."""
    name = str(graph.graph.get("name", ""))
    try:
        info = describe(graph)
    except ConfigError:
        return name
    numbers = (
        f"base RTT {format_time(info.base_rtt_ps)}, BDP {format_size(info.bdp_bytes)}, "
        f"bisection {format_rate(info.bisection_bps)}, oversubscription {info.oversubscription:.3g}"
    )
    return f"{name}\n{numbers}" if name else numbers


def _tier_text(graph: Graph, tier: list[Any]) -> str:
    kinds = {graph.nodes[name]["kind"] for name in tier}
    kind = ("host" if "host" in kinds else "switch") if len(kinds) == 1 else "node"
    plural = {"host": "hosts", "switch": "switches", "node": "nodes"}[kind]
    text = f"{len(tier)} {kind if len(tier) == 1 else plural}"
    return text if len(tier) <= _LABELLED else f"{text}\n{tier[0]} to {tier[-1]}"


def _places(graph: Graph, tiers: list[list[Any]]) -> Places:
    """Return each node's position: evenly spread, or centred above the nodes below it if no other node shares them."""
    place: Places = {}
    for level, tier in enumerate(tiers):
        spread = {name: (i + 0.5) / len(tier) for i, name in enumerate(tier)}
        if level:
            among = set(tiers[level - 1])
            below = {name: [peer for peer in graph[name] if peer in among] for name in tier}
            peers = [peer for names in below.values() for peer in names]
            if all(below.values()) and len(set(peers)) == len(peers):
                means = [sum(place[peer][0] for peer in names) / len(names) for names in below.values()]
                if means == sorted(means):
                    spread = dict(zip(tier, means))
        place |= {name: (x, level) for name, x in spread.items()}
    return place


def _fans(graph: Graph, tiers: list[list[Any]], place: Places) -> dict[Any, list[Any]]:
    """Return the hosts below each switch if there are many hosts, each with one link and next to each other."""
    lowest = tiers[0]
    if len(lowest) <= _LABELLED or len(tiers) < 2:
        return {}
    fans: dict[Any, list[Any]] = {}
    for name in lowest:
        if graph.degree[name] != 1:
            return {}
        fans.setdefault(next(iter(graph[name])), []).append(name)
    in_order = [name for names in fans.values() for name in names] == lowest
    return fans if in_order and all(place[switch][1] == 1 for switch in fans) else {}


def _draw_links(ax: Axes, graph: Graph, place: Places, fans: dict[Any, list[Any]]) -> None:
    from matplotlib.collections import LineCollection

    in_fan = {host for names in fans.values() for host in names}
    edges = [edge for edge in graph.edges(data=True) if not in_fan.intersection(edge[:2])]
    slowest = min((link["rate_bps"] for _, _, link in graph.edges(data=True)), default=1.0)
    thin = 0.9 if len(edges) <= 64 else 0.45 if len(edges) <= 400 else 0.25
    lines = [[place[one], place[other]] for one, other, _ in edges]
    widths = [min(thin * (link["rate_bps"] / slowest) ** 0.5, _THICKEST) for _, _, link in edges]
    ax.add_collection(LineCollection(lines, colors="0.62", linewidths=widths, zorder=1))
    kinds: dict[tuple[int, int], set[tuple[float, int]]] = {}
    for one, other, link in graph.edges(data=True):
        low, high = sorted((place[one][1], place[other][1]))
        kinds.setdefault((low, high), set()).add((link["rate_bps"], link["delay_ps"]))
    for (low, high), links in kinds.items():
        if len(links) != 1:
            continue
        rate, delay = next(iter(links))
        text = f"{format_rate(rate)}, {format_time(delay)}"
        if low != high:
            ax.text(1.02, (low + high) / 2, text, va="center", fontsize=8, color="0.35")
            continue
        same = [(place[one], place[other]) for one, other, _ in edges if place[one][1] == place[other][1] == low]
        middle = sum(one[0] + other[0] for one, other in same) / (2 * len(same))
        note(ax, text, (middle, low), (0, 4), ha="center", va="bottom", color="0.35")


def _draw_fans(ax: Axes, fans: dict[Any, list[Any]]) -> None:
    """Draw each switch's hosts as a wedge, as wide as their part of the tier."""
    total = sum(map(len, fans.values()))
    labelled = len(fans) <= _LABELLED
    first = 0
    for names in fans.values():
        low, high = (first + 0.1) / total, (first + len(names) - 0.1) / total
        first += len(names)
        middle = (low + high) / 2
        ax.fill([low, middle, high], [0, 1, 0], color=COLOURS["sky"], alpha=0.35, linewidth=0, zorder=0)
        ax.plot([low, high], [0, 0], color=COLOURS["blue"], linewidth=3, solid_capstyle="butt", zorder=2)
        if labelled:
            text = f"{names[0]} to {names[-1]}" if len(names) > 1 else str(names[0])
            note(ax, text, (middle, 0), (0, -6), ha="center", va="top", rotation=90 if len(fans) > 8 else 0)


def _draw_nodes(ax: Axes, graph: Graph, tier: list[Any], place: Places, is_fan: bool) -> None:
    if is_fan:
        return
    small = len(tier) <= _LABELLED
    for kind, colour, marker in (("host", COLOURS["blue"], "o"), ("switch", COLOURS["orange"], "s")):
        points = [place[name] for name in tier if graph.nodes[name]["kind"] == kind]
        if points:
            xs, ys = zip(*points, strict=True)
            ax.scatter(xs, ys, s=70 if small else 8, c=colour, marker=marker, zorder=2, linewidths=0)
    if not small:
        return
    for name in tier:
        above = place[name][1] > 0
        box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        note(ax, str(name), place[name], (0, 8 if above else -9), ha="center", va="bottom" if above else "top",
             rotation=90 if len(tier) > _UPRIGHT else 0, bbox=box)  # fmt: skip


def _tiers(graph: Graph) -> list[list[Any]]:
    """Return the tiers of `graph`: as built, or by the number of hops to the nearest host."""
    built = graph.graph.get("tiers")
    if built is not None and {name for tier in built for name in tier} == set(graph):
        return [list(tier) for tier in built]
    hops = node_levels(graph)
    top = max((level for level in hops.values() if level < len(graph)), default=0)
    tiers: list[list[Any]] = [[] for _ in range(top + 1)]
    for name in graph:
        tiers[min(hops[name], top)].append(name)
    return [tier for tier in tiers if tier]
