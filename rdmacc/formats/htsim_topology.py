"""htsim's topology file: fat trees of two or three tiers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from rdmacc.errors import ConfigError, written
from rdmacc.faults import LinkDown
from rdmacc.formats.files import File, Line, line_of, read_text, whole
from rdmacc.topology import Graph, default_buffer_bytes
from rdmacc.topology.base import add_host, add_link, add_switch, hosts, switches
from rdmacc.units import gbps, ns, ps

_HEADER = {"nodes": "Nodes", "tiers": "Tiers", "podsize": "Podsize"}
_TIER = {
    name.lower(): name
    for name in (
        "Downlink_speed_Gbps", "Downlink_Latency_ns", "Switch_Latency_ns", "Radix_Down", "Radix_Up", "Oversubscribed",
        "Bundle", "Queue_Up", "Queue_Down",
    )
}  # fmt: skip


@dataclass
class Shape:
    hosts: int
    leaves: int
    aggs: int  # with two tiers, the spines
    cores: int
    aggs_per_pod: int
    leaves_per_pod: int
    has_bundles: bool = False  # links stand for merged bundles


_MOST_LINKS = 4_000_000  # more would fill the memory


def read_topology(path: File, bundles: str) -> tuple[Graph, Shape]:
    """Read the network in a topology file, and its shape.

    Half of a switch's latency is added to the delay of each of its links, so a path through it has the full latency.
    """
    header, tiers, errors = _read(path, bundles)
    count, depth = header["nodes"], header["tiers"]
    if len(tiers) != depth:
        raise ConfigError("Tiers", depth, f"{len(tiers)}, the number of tier blocks", str(path))
    down, up = [tier["radix_down"] for tier in tiers], [tier.get("radix_up", 0) for tier in tiers]
    speed, ratio = [tier["downlink_speed_gbps"] for tier in tiers], [tier.get("oversubscribed", 1) for tier in tiers]
    pod = header["podsize"]
    if depth == 2 and pod != count:
        raise errors["podsize"]("Podsize", pod, f"{count}: with two tiers there is one pod")

    def divided(number: int, by: int, what: str) -> int:
        if by <= 0 or number % by:
            raise ConfigError(what, f"{number} / {by}", "a whole number, as htsim demands", str(path))
        return number // by

    pods, leaves = divided(count, pod, "pods"), divided(count, down[0], "ToRs")
    leaves_per_pod = divided(pod, down[0], "ToRs per pod")
    if up[0] < 1 or down[0] // up[0] != ratio[0]:
        allowed = f"Radix_Down / Radix_Up = {down[0]} / {up[0]}, as htsim demands"
        raise ConfigError("Oversubscribed", ratio[0], allowed, f"{path}, tier 0")
    if depth == 3 and down[1] * speed[1] != ratio[1] * up[1] * speed[2]:
        quotient = f"{down[1]} * {speed[1]} / ({up[1]} * {speed[2]})"
        allowed = f"{quotient}, downlinks over uplinks: htsim would build other links"
        raise ConfigError("Oversubscribed", ratio[1], allowed, f"{path}, tier 1")
    uplinks = divided(count * speed[0], speed[1] * ratio[0], "ToR uplinks")
    per_pod = divided(uplinks, pods * down[1], "aggs per pod")
    bundle = [tier.get("bundle", 1) for tier in tiers]
    if per_pod * bundle[1] != up[0]:
        allowed = f"Radix_Up of tier 0 over the bundle, {up[0]} / {bundle[1]}"
        raise ConfigError("aggs per pod", per_pod, allowed, str(path))
    shape = Shape(count, leaves, per_pod * pods, 0, per_pod, leaves_per_pod, max(bundle) > 1)
    if depth == 3:
        shape.cores = divided(divided(uplinks * speed[1], speed[2] * ratio[1], "agg uplinks"), down[2], "cores")
        if divided(shape.cores, per_pod, "cores per agg") * bundle[2] != up[1]:
            allowed = f"Radix_Up of tier 1 over the bundle, {up[1]} / {bundle[2]}"
            raise ConfigError("cores per agg", shape.cores // per_pod, allowed, str(path))
    links = count + leaves * per_pod + shape.aggs * (shape.cores // per_pod)
    if links > _MOST_LINKS:
        raise errors["nodes"]("Nodes", count, f"fewer: the network would have {links} links")
    return _network(shape, tiers), shape


def _read(path: File, bundles: str) -> tuple[dict[str, int], list[dict[str, int]], dict[str, Line]]:
    header: dict[str, int] = {}
    errors: dict[str, Line] = {}
    tiers: dict[int, dict[str, int]] = {}
    block, known = header, _HEADER
    for number, text in enumerate(read_text(path).splitlines(), 1):
        error, words = line_of(path, number), text.split()
        if not words or words[0].startswith("#"):
            continue
        key = words[0].lower()
        if len(words) != 2 or key not in (*known, "tier"):
            raise error("line", text, f"a key and a value: Tier, {', '.join(known.values())}")
        value = whole(error, words[0], words[1], 0, 2**31 - 1)
        if key == "tier":
            if value > 2 or value in tiers:
                raise error("Tier", value, "0, 1 or 2, each once")
            block = tiers[value] = {}
            known = _TIER
            continue
        if key in block:
            raise error(words[0], value, "given once")
        if key == "bundle" and value != 1 and (bundles != "merged" or (0 in tiers and block is tiers[0]) or not value):
            allowed = '1: rdmacc has one link between two switches; bundles="merged" gives it the rate of all'
            raise error(words[0], value, allowed)
        least = {"downlink_latency_ns": 1, "downlink_speed_gbps": 1, "radix_down": 1, "nodes": 2, "podsize": 1}
        if value < least.get(key, 0):
            raise error(words[0], value, f"at least {least[key]}")
        block[key], errors[key] = value, error
    for key, name in _HEADER.items():
        if key not in header:
            raise ConfigError(name, None, "given", str(path))
    if header["tiers"] not in (2, 3):
        raise errors["tiers"]("Tiers", header["tiers"], "2 or 3")
    for tier in range(len(tiers)):
        for key in ("downlink_speed_gbps", "downlink_latency_ns", "radix_down"):
            if key not in tiers.get(tier, {}):
                raise ConfigError(_TIER[key], None, "given", f"{path}, tier {tier}")
    return header, [tiers[tier] for tier in range(len(tiers))], errors


def _network(shape: Shape, tiers: list[dict[str, int]]) -> Graph:
    """Return the network: hosts h0 .., ToRs leaf0 .., aggs agg0 .., cores core0 .."""
    rate = [gbps(tier["downlink_speed_gbps"] * tier.get("bundle", 1)) for tier in tiers]
    inside = [1000 * tier.get("switch_latency_ns", 0) for tier in tiers]
    below = [0, *inside]  # hosts add no latency
    delay = [1000 * tier["downlink_latency_ns"] + sum(below[n : n + 2]) // 2 for n, tier in enumerate(tiers)]
    graph: Graph = nx.Graph()
    kinds = (("h", shape.hosts), ("leaf", shape.leaves), ("agg", shape.aggs), ("core", shape.cores))
    names = [[f"{kind}{number}" for number in range(count)] for kind, count in kinds]
    for host in names[0]:
        add_host(graph, host)
    for tier, listed in enumerate(names[1:]):
        for name in listed:
            add_switch(graph, name, default_buffer_bytes(max(rate[tier : tier + 2])))
    per_leaf = shape.hosts // shape.leaves
    for number, host in enumerate(names[0]):
        add_link(graph, host, names[1][number // per_leaf], rate[0], ps(delay[0]))
    for leaf, name in enumerate(names[1]):
        first = leaf // shape.leaves_per_pod * shape.aggs_per_pod
        for agg in names[2][first : first + shape.aggs_per_pod]:
            add_link(graph, name, agg, rate[1], ps(delay[1]))
    for number, name in enumerate(names[2] if shape.cores else ()):
        for core in names[3][number % shape.aggs_per_pod :: shape.aggs_per_pod]:
            add_link(graph, name, core, rate[2], ps(delay[2]))
    graph.graph["name"] = f"fat tree({shape.hosts})"
    graph.graph["tiers"] = [listed for listed in names if listed]
    return graph


def fat_tree_links(shape: Shape | None, agg: int, link: int, error: Line) -> LinkDown:
    if shape is None or not shape.cores:
        raise error("failure", f"AGG {agg}", "in a network of three tiers from a topology file")
    if shape.has_bundles:
        raise error("failure", f"AGG {agg}", "in a network without bundles: one of several links cannot fail")
    links = shape.cores // shape.aggs_per_pod
    if agg >= shape.aggs or link >= links:
        raise error("failure", f"AGG {agg}, link {link}", f"below {shape.aggs}, and {links}")
    core = agg % shape.aggs_per_pod + link * shape.aggs_per_pod
    return LinkDown(link=(f"agg{agg}", f"core{core}"), at_ps=0)


def write_topology(network: Graph, path: File) -> None:
    names = hosts(network)
    leaves = list(dict.fromkeys(peer for host in names for peer in network[host]))
    spines = [switch for switch in switches(network) if switch not in set(leaves)]
    below = {leaf: [host for host in names if host in network[leaf]] for leaf in leaves}
    shape = f"{len(leaves)} leaves, {len(spines)} spines"
    per_leaf = len(names) // max(len(leaves), 1)
    if (
        not spines
        or [host for leaf in leaves for host in below[leaf]] != names
        or any(len(listed) != per_leaf for listed in below.values())
        or network.number_of_edges() != len(names) + len(leaves) * len(spines)
        or any(not network.has_edge(leaf, spine) for leaf in leaves for spine in spines)
    ):
        allowed = "of two tiers: as many hosts on every leaf, in their order, and every leaf joined to every spine"
        raise ConfigError("network", shape, allowed)
    tiers = [_alike(network, [(h, leaf) for leaf in leaves for h in below[leaf]]),
             _alike(network, [(leaf, spine) for leaf in leaves for spine in spines])]  # fmt: skip
    if per_leaf % len(spines) or per_leaf * tiers[0][0] % (len(spines) * tiers[1][0]):
        allowed = "a network whose leaves have a whole ratio of downlinks to uplinks"
        raise ConfigError("network", f"{per_leaf} hosts, {len(spines)} spines", allowed)
    if per_leaf // len(spines) * tiers[1][0] != per_leaf * tiers[0][0] // len(spines):
        allowed = "of one rate: htsim derives the ratio from port counts"
        raise ConfigError("network", "tiers of different rates", allowed)
    lines = [f"Nodes {len(names)}", "Tiers 2", f"Podsize {len(names)}"]
    for tier, (rate, delay) in enumerate(tiers):
        lines += [f"Tier {tier}", f"Downlink_speed_Gbps {rate}", f"Radix_Down {(per_leaf, len(leaves))[tier]}"]
        lines += [f"Radix_Up {len(spines)}", f"Oversubscribed {per_leaf // len(spines)}"] if tier == 0 else []
        lines.append(f"Downlink_Latency_ns {delay}")
    with written(path):
        Path(path).write_text("\n".join(lines) + "\n")


def _alike(network: Graph, links: list[tuple[Any, Any]]) -> tuple[int, int]:
    values = {(network.edges[link]["rate_bps"], network.edges[link]["delay_ps"]) for link in links}
    rate_bps, delay_ps = next(iter(values))
    if len(values) > 1 or rate_bps % gbps(1) or delay_ps % ns(1):
        raise ConfigError("links", sorted(values)[:3], "the same throughout a tier, in whole Gb/s and ns")
    return int(rate_bps // gbps(1)), int(delay_ps // ns(1))
