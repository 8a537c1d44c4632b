"""Simple workloads for every scheme with its defaults: lone messages, incasts, long flows that join one by one.

If a scheme does badly here, the cause is its design, which its page in the guide explains, or a bug. Green means: a
lone message within 5% of the ideal, an incast at 90% of the link's payload capacity, and Jain's index of 0.9 after 100
round trips.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from rdmacc import probes, topology, workload
from rdmacc.faults import Fault, LinkDown, Loss, SlowLink
from rdmacc.probes import Probe
from rdmacc.results.result import Result
from rdmacc.results.summary import jain
from rdmacc.schemes import SCHEMES, Scheme, as_scheme
from rdmacc.show.tables import filled, table
from rdmacc.simulation import Simulation, simulate
from rdmacc.units import format_rate, ps, us

RATES = ("10Gbps", "100Gbps", "400Gbps")
MOST_SLOWDOWN, LEAST_GOODPUT, LEAST_JAIN = 1.05, 0.9, 0.9

_SIZES = {"10 kB": 10_000, "1 MB": 1_000_000}
_LONG_FLOWS = 4
_RTTS = 100
"""Round trips between joining flows, and per measurement."""
_AFTER = (100, 400, 1600)
"""Round trips from the last join to each measurement of the shares."""
_DRAWS = 3
_SPREAD = 0.05
"""Relative range of the link delays drawn for each run of the long flows: equal delays lock phases."""
_PATIENCE = 20
"""A run ends after this many times the duration of the workload at line rate."""


@dataclass(frozen=True)
class Plausibility:
    """The behaviour of a scheme at one link rate."""

    scheme: str
    rate_bps: float
    slowdown: dict[str, float]  # by hops and size, such as "2 hops, 10 kB"
    goodput: dict[str, float]  # of a whole incast, relative to the link's payload capacity
    dropped: dict[str, int]
    resent: dict[str, int]
    shares: dict[int, list[tuple[float, ...]]]  # of the long flows, per draw, by round trips after the last join

    @property
    def jain(self) -> dict[int, list[float]]:
        """Jain's indices of the long flows' shares, one per draw."""
        return {after: [jain(shares) for shares in draws] for after, draws in self.shares.items()}

    @property
    def red(self) -> tuple[str, ...]:
        fair = {f"Jain after {after:,}": statistics.median(indices) for after, indices in self.jain.items()}
        return (
            *(name for name, value in self.slowdown.items() if not value <= MOST_SLOWDOWN),
            *(name for name, value in self.goodput.items() if not value >= LEAST_GOODPUT),
            *(name for name, value in fair.items() if not value >= LEAST_JAIN),
        )

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "jain": self.jain, "red": self.red}


def plausible(schemes: Sequence[str | Scheme] = ()) -> Iterator[Plausibility]:
    return (measure(one, rate) for one in schemes or SCHEMES for rate in RATES)


def measure(scheme: str | Scheme, rate: Any) -> Plausibility:
    chosen = as_scheme(scheme)
    near, far = topology.star(33, rate=rate), topology.fat_tree(4, rate=rate)
    hosts = topology.hosts(far)
    slowdown = {}
    for hops, graph, ends in ((2, near, ("h1", "h0")), (6, far, (hosts[-1], hosts[0]))):
        for name, size in _SIZES.items():
            result = _finished(graph, [(*ends, size)], chosen)
            value = result.flows["slowdown"].iloc[0]
            slowdown[f"{hops} hops, {name}"] = math.inf if value is None or math.isnan(value) else float(value)
    line_bps = float(near.edges["h0", "s0"]["rate_bps"])
    goodput, dropped, resent = {}, {}, {}
    for name, senders, size in (("8 x 10 MB", 8, 10_000_000), ("32 x 200 kB", 32, 200_000)):
        result = _finished(near, [(f"h{i}", "h0", size) for i in range(1, senders + 1)], chosen)
        goodput[name] = _incast_share(result, line_bps, chosen)
        dropped[name], resent[name] = (int(result.counters[one]) for one in ("dropped_packets", "retransmissions"))
    draws = [_shares(rate, line_bps, chosen, seed) for seed in range(_DRAWS)]
    shares = {after: [one[after] for one in draws] for after in _AFTER}
    return Plausibility(chosen.name, line_bps, slowdown, goodput, dropped, resent, shares)


def golden_digest(name: str, engine: str = "auto") -> str:
    """Return the digest of a scheme's three golden runs, which any change of its behaviour changes.

    They are an incast, a permutation over many paths with loss, and a bidirectional all-to-all on a small buffer, in
    which one link fails and comes back, and another one is slow.
    """
    star, tree = topology.star(9, rate=RATES[0]), topology.fat_tree(4, rate=RATES[2])
    leaves = topology.leaf_spine(leaves=2, spines=2, hosts_per_leaf=3, rate=RATES[1], buffer="1500kB")
    cut = (
        LinkDown(link=("leaf0", "spine0"), at_ps="8us", until_ps="60us"),
        SlowLink(link=("leaf1", "spine1"), share=0.25),
    )
    runs: tuple[tuple[nx.Graph[Any], Any, tuple[Fault, ...]], ...] = (
        (star, workload.incast(8, "h0", "400kB", hosts=star), ()),
        (tree, workload.permutation(tree, size="60kB", seed=1), (Loss(data=0.002),)),
        (leaves, workload.all_to_all(leaves, size="100kB"), cut),
    )
    found = [
        simulate(graph, work, name, engine=engine, faults=faults, seed=1, until="20ms", progress=False).digest()
        for graph, work, faults in runs
    ]
    return hashlib.sha256(" ".join(found).encode()).hexdigest()[:12]


def _payload_bps(line_bps: float, scheme: Scheme) -> float:
    return line_bps * scheme.payload_bytes / scheme.wire_bytes


def _finished(graph: nx.Graph[Any], rows: list[tuple[str, str, int]], scheme: Scheme) -> Result:
    work = workload.messages(rows)
    line_bps = float(graph.edges[next(iter(graph.edges))]["rate_bps"])
    alone_ps = int(work["size_bytes"].sum()) * 8e12 / line_bps + us(50)
    return simulate(graph, work, scheme, until=ps(int(_PATIENCE * alone_ps)), progress=False)


def _incast_share(result: Result, line_bps: float, scheme: Scheme) -> float:
    """Return the incast's payload rate over the link's payload capacity; 0 if it has not finished."""
    flows = result.flows
    if flows["fct_ps"].isna().any():
        return 0.0
    ideal_ps = float(flows["size_bytes"].sum()) * 8e12 / _payload_bps(line_bps, scheme)
    first_ps = float(result.plan.qp_base_delay_ps.max())  # the link is idle until the first packet arrives
    return ideal_ps / (float(flows["fct_ps"].max()) - first_ps)


def _shares(rate: Any, line_bps: float, scheme: Scheme, seed: int) -> dict[int, tuple[float, ...]]:
    """Return the long flows' shares of the payload capacity, each over 100 round trips, by their start."""
    graph, draw = topology.star(_LONG_FLOWS + 1, rate=rate), np.random.default_rng(seed)
    for _, _, link in graph.edges(data=True):
        link["delay_ps"] = int(us(1) * draw.uniform(1 - _SPREAD, 1 + _SPREAD))
    rtt_ps = 4 * us(1) + int(2 * scheme.wire_bytes * 8e12 / line_bps)
    step_ps, steps = _RTTS * rtt_ps, _LONG_FLOWS + _AFTER[-1] // _RTTS
    size = int(2 * line_bps * (steps + 1) * step_ps / 8e12)
    work = workload.messages([(f"h{i + 1}", "h0", size, ps(i * step_ps)) for i in range(_LONG_FLOWS)])
    watched: list[Probe] = [probes.field("flow", i, "received_packets", every=ps(step_ps)) for i in range(_LONG_FLOWS)]
    run = Simulation(graph, work, scheme, probes=watched, seed=seed)
    result = run.run(ps(steps * step_ps + 1), progress=False)
    packets = np.array([np.asarray(result.samples(one.name), np.float64) for one in watched])
    most = _payload_bps(line_bps, scheme) * step_ps / 8e12
    found = {}
    for after in _AFTER:
        end = packets.shape[1] - 1 - (_AFTER[-1] - after) // _RTTS
        gained = (packets[:, end] - packets[:, end - 1]) * scheme.payload_bytes / most
        found[after] = tuple(float(each) for each in gained)
    return found


_HEADERS = (
    "scheme", "link rate", "10 kB, 2 hops", "1 MB, 2 hops", "10 kB, 6 hops", "1 MB, 6 hops", "8 x 10 MB", "32 x 200 kB",
    "drops", "sent again", "shares of 4 long flows", *(f"Jain after {after:,}" for after in _AFTER),
)  # fmt: skip


def _row(one: Plausibility, mark: str) -> tuple[str, ...]:
    def show(name: str, value: str) -> str:
        return f"{mark}{value}{mark}" if name in one.red else value

    slow = [show(name, f"{value:.2f}") for name, value in one.slowdown.items()]
    good = [show(name, f"{value:.2f}") for name, value in one.goodput.items()]
    shares = " / ".join(f"{share:.2f}" for share in one.shares[_AFTER[0]][0])
    losses = (f"{sum(one.dropped.values()):,}", f"{sum(one.resent.values()):,}")
    jain = [
        f"{show(f'Jain after {after:,}', _range(indices))} ({_range([sum(each) for each in one.shares[after]])})"
        for after, indices in one.jain.items()
    ]
    return (one.scheme, format_rate(one.rate_bps), *slow, *good, *losses, shares, *jain)


def _range(values: Sequence[float]) -> str:
    """Return the range of the draws; one number if both ends are equal."""
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def text(found: Sequence[Plausibility]) -> str:
    """Return a table for the terminal, with stars around numbers that are not green."""
    return table(list(_HEADERS), [_row(one, "*") for one in found], "<" + ">" * (len(_HEADERS) - 1))


def fill(page: str, found: Sequence[Plausibility]) -> str:
    """Return a page with its table updated."""
    names = dict.fromkeys(one.scheme for one in found)
    digests = "".join(f"<!-- golden runs: {name} {golden_digest(name)} -->\n" for name in names)
    return filled(page, "plausible", f"{markdown(found)}\n\n{digests}")


def markdown(found: Sequence[Plausibility]) -> str:
    """Return a Markdown table; numbers that are not green are bold."""
    lines = ["| " + " | ".join(_HEADERS) + " |", "|" + "---|" * len(_HEADERS)]
    return "\n".join([*lines, *("| " + " | ".join(_row(one, "**")) + " |" for one in found)])
