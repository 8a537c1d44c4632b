"""Random scenarios for property tests: small networks of any shape, workloads, schemes, buffers, losses, probes."""

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

import rdmacc
from rdmacc.errors import ConfigError, HandlerError
from rdmacc.faults import Clocks, Fault, LinkDown, Loss, PauseStorm, ScriptedLoss, SlowLink
from rdmacc.interface import Scaled
from rdmacc.probes import Probe
from rdmacc.schemes import SCHEMES, Scheme
from rdmacc.switch.queueing import ROUTINGS
from tests.engine.random_draws import (
    draw_faults,
    draw_pattern,
    draw_probes,
    draw_scheme,
    draw_topology,
    draw_workload,
    with_paths,
)

WIDENED = 10_000
"""Scenarios from this number on are widened; those before it stay as they were."""


@dataclass(frozen=True)
class Scenario:
    """Everything that `rdmacc.simulate` needs, and the number from which it was drawn."""

    number: int
    topology: nx.Graph
    workload: pd.DataFrame
    scheme: Scheme
    seed: int
    probes: tuple[Probe, ...]
    faults: tuple[Fault, ...]
    until: str | None
    has_trace: bool

    def arguments(self) -> dict[str, object]:
        return {
            "network": self.topology, "workload": self.workload, "scheme": self.scheme, "seed": self.seed,
            "probes": self.probes, "faults": self.faults, "trace": self.has_trace,
        }  # fmt: skip


def without_features(scenario: Scenario) -> Scenario:
    """Return a scenario without the features that the compiled engine's plain kernel lacks."""
    queueing = replace(
        scenario.scheme.queueing, wrr_ratio=0, control_limit_bytes=0, credit_fraction=0.0, returns_headers=False
    )
    return replace(
        scenario,
        workload=scenario.workload.drop(columns=["path", "ack_path"], errors="ignore"),
        scheme=replace(scenario.scheme, tick_ps=0, queueing=queueing),
        probes=tuple(replace(probe, every_ps=probe.every_ps or 1_000_000) for probe in scenario.probes),
        faults=tuple(fault for fault in scenario.faults if not isinstance(fault, (ScriptedLoss, Clocks))),
        has_trace=False,
    )


def draw(number: int) -> Scenario:
    """Return the scenario of a number, always the same one; from `WIDENED` on with the additions of `widened`."""
    scenario = _draw(number)
    if number >= WIDENED:
        scenario = widened(scenario, np.random.default_rng([20_202, number]))
    return with_equal_links(scenario) if scenario.scheme.spans_ports else scenario


def widened(scenario: Scenario, rng: np.random.Generator) -> Scenario:
    """Return a scenario with other legal parameters, a tick of any length, links that fail, and more loss.

    Nine in ten have a registered scheme without drawn components, whose machine code is cached.
    """
    scheme = scenario.scheme
    if rng.random() < 0.9:
        for switch in rdmacc.topology.switches(scenario.topology):  # a scheme's lanes need headroom
            scenario.topology.nodes[switch]["buffer_bytes"] += 3_000_000
        scheme = SCHEMES[str(rng.choice(sorted(SCHEMES)))]()
        scheme = scheme.replace(start_delay_ps=min(scheme.start_delay_ps, 3_000_000))
    changes = [
        {
            f"{type(part).__name__}.{field.name}": _legal_value(rng, getattr(part, field.name), field.metadata)
            for field in fields(part)
            if field.metadata.get("doc") and rng.random() < 0.3
        }
        for part in (scheme.recovery, *scheme.control, *scheme.switch, scheme.buffer, scheme.queueing)
    ]
    if rng.random() < 0.6:
        changes.append({"tick_ps": int(rng.choice([1, 1, 1000, _random_tick(rng)]))})
    every = _changed(scenario, scheme, {name: value for one in changes for name, value in one.items()})
    if every is scheme:  # not all at once
        every = reduce(partial(_changed, scenario), changes, scheme)
    scheme = every
    faults = list(scenario.faults)
    links = list(scenario.topology.edges)
    for _ in range(int(rng.choice([0, 0, 1, 3]))):
        faults.append(LinkDown(link=links[int(rng.integers(len(links)))], at_ps=int(rng.integers(200_000_000))))
    if rng.random() < 0.3:
        one, other = links[int(rng.integers(len(links)))]
        data, control = (float(p) for p in rng.choice([0.0, 0.1, 1.0], 2))
        lost = None if rng.random() < 0.3 else ((one, other), (other, one))[: int(rng.integers(1, 3))]
        faults.append(Loss(data=data, control=control, links=lost))
    later = rng.spawn(1)[0]
    faults += _fault_events(later, scenario.topology)
    if later.random() < 0.4:
        gap_ps = int(later.choice([0, 200_000, 5_000_000]))
        routing = str(later.choice(ROUTINGS[5:]))
        scheme = _changed(scenario, scheme, {"routing": routing, "flowlet_gap_ps": gap_ps, "base_rtt": "largest"})
    return replace(scenario, scheme=scheme, faults=tuple(faults), until=scenario.until or "1ms")


def with_equal_links(scenario: Scenario) -> Scenario:
    """Return a scenario whose hosts may send over all their links at once, as the scheme's senders do."""
    direct = scenario.topology.subgraph(rdmacc.topology.hosts(scenario.topology))
    group_of = {host: group for group in nx.connected_components(direct) for host in group}  # a link has one rate
    for host, group in group_of.items():
        links = list(scenario.topology[host].values())
        for link in links:
            link["rate_bps"] = next(iter(scenario.topology[min(group)].values()))["rate_bps"]
        if len(links) > 1 and scenario.scheme.routing in ("ecmp", "symmetric"):
            scenario = replace(scenario, scheme=scenario.scheme.replace(routing="entropy", base_rtt="largest"))
    return scenario


def on_planes(number: int) -> Scenario:
    """Return a scenario with faults whose hosts have up to three links, all of which senders use."""
    scenario = draw(number)
    rng = np.random.default_rng([36, number])
    switches = rdmacc.topology.switches(scenario.topology)
    for host in rdmacc.topology.hosts(scenario.topology):
        link = next(iter(scenario.topology[host].values()))
        for switch in rng.choice(switches, min(2, len(switches)), replace=False):
            if not scenario.topology.has_edge(host, switch):
                scenario.topology.add_edge(host, str(switch), **link)
    scheme = SCHEMES[str(rng.choice(["nscc", "nscc-rccc", "eqds", "ndp"]))]()
    work = scenario.workload.drop(columns=["path", "ack_path"], errors="ignore")
    probes = tuple(probe for probe in scenario.probes if "." not in probe.field)
    return with_equal_links(replace(scenario, scheme=scheme, workload=work, probes=probes))


def with_computation(scenario: Scenario) -> Scenario:
    """Return a scenario in which dependencies have delays, and hosts compute before, between and after messages."""
    rng = np.random.default_rng([37, scenario.number])
    hosts = rdmacc.topology.hosts(scenario.topology)
    frame = scenario.workload
    names: list[Any] = [f"m{label}" for label in frame.index]
    rows = frame.assign(after=[tuple(f"m{label}" for label in after) for after in frame["after"]]).to_dict("records")
    for number in range(int(rng.integers(1, 9))):
        after = [name for name in names if rng.random() < 0.15]
        duration = int(rng.choice([0, 0, 1, 700_000, int(rng.integers(30_000_000))]))
        task = {"src": rng.choice(hosts), "duration_ps": duration, "after": tuple(after), "start_ps": 0, "weight": 1.0}
        ancestors = set(after)
        while True:
            more = {one for name, row in zip(names, rows) if name in ancestors for one in row["after"]} - ancestors
            if not more:
                break
            ancestors |= more
        for name, row in zip(names, rows):
            if name not in ancestors and rng.random() < 0.2:
                row["after"] = (*row["after"], f"c{number}")
        names.append(f"c{number}")
        rows.append(task)
    for row in rows:
        row["delay_ps"] = tuple(int(rng.choice([0, 0, 1, 500_000, 4_000_000])) for _ in row["after"])
    order = rng.permutation(len(rows)).tolist()
    work = pd.DataFrame([rows[i] for i in order], index=[names[i] for i in order])
    faults = tuple(fault for fault in scenario.faults if not isinstance(fault, ScriptedLoss))
    return replace(scenario, workload=rdmacc.messages(work), probes=(), faults=faults)


def _fault_events(rng: np.random.Generator, topology: nx.Graph) -> list[Fault]:
    """Draw links that come back, slow links and pause storms; some overlap."""
    found: list[Fault] = []
    links, hosts = list(topology.edges), rdmacc.topology.hosts(topology)
    for _ in range(int(rng.choice([0, 1, 3, 8]))):
        at_ps = int(rng.choice([0, 1_000_000, int(rng.integers(100_000_000))]))
        until_ps = at_ps + 1 + int(10 ** rng.uniform(3, 8)) if rng.random() < 0.8 else None
        link = links[int(rng.integers(min(len(links), 4)))]
        link = link if rng.random() < 0.5 else link[::-1]
        kind = rng.random()
        if kind < 0.4:
            late_ps = int(rng.choice([0, 3_000_000, 50_000_000]))
            found.append(LinkDown(link=link, at_ps=at_ps, until_ps=until_ps, convergence_ps=late_ps))
        elif kind < 0.7:
            share, both = float(rng.choice([0.1, 0.25, 0.9])), bool(rng.random() < 0.5)
            found.append(SlowLink(link=link, share=share, at_ps=at_ps, until_ps=until_ps, both_ways=both))
        else:
            found.append(PauseStorm(host=str(rng.choice(hosts)), at_ps=at_ps, until_ps=until_ps))
    return found


def _changed(scenario: Scenario, scheme: Scheme, changes: dict[str, Any]) -> Scheme:
    """Return the scheme with other parameters that are consistent and fit the network."""
    other = scheme
    for name, value in changes.items():
        with suppress(ConfigError):
            other = other.replace(**{name: value})
    if other is scheme:
        return scheme
    try:
        rdmacc.Simulation(**(scenario.arguments() | {"scheme": other}), engine="simpy")
    except (ConfigError, HandlerError):
        return scheme
    return other


def _legal_value(rng: np.random.Generator, value: Any, metadata: Any) -> Any:
    """Return another value of a parameter, up to eight times as large or as small, within its bounds."""
    if isinstance(value, bool):
        return not value
    if metadata["choices"]:
        return str(rng.choice(metadata["choices"]))
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return value
    value = value.value if isinstance(value, Scaled) else value
    low = 0 if metadata["low"] is None else metadata["low"]
    high = 2**40 if metadata["high"] is None else metadata["high"]
    base = value or {"ps": 1_000_000, "bytes": 1000, "bps": 1e9}.get(metadata["unit"], 1)
    other = min(max(base * 2.0 ** rng.uniform(-3, 3), low), high)
    if metadata["unit"] == "ps":  # with shorter timers the run would consist of nothing else
        other = max(other, 1_000_000)
    return round(other) if isinstance(value, int) else float(other)


def _random_tick(rng: np.random.Generator) -> int:
    """Return a whole fraction of a second, up to a few nanoseconds."""
    twos, fives = rng.integers(13), rng.integers(6)
    return int(2**twos * 5**fives)


def _draw(number: int) -> Scenario:
    rng = np.random.default_rng([20_201, number])
    topology = draw_topology(rng)
    hosts = rdmacc.topology.hosts(topology)
    workload = draw_workload(rng, hosts)
    scheme = draw_scheme(rng)
    pattern = rng.spawn(1)[0]  # a separate stream, so that the draws below stay the same
    if pattern.random() < 0.25:
        workload = draw_pattern(pattern, hosts)
    if any(len(part.classes) > 1 for part in scheme.components):  # each lane needs headroom
        for switch in rdmacc.topology.switches(topology):
            topology.nodes[switch]["buffer_bytes"] += 2_500_000
    faults = draw_faults(rng, topology, len(workload))
    # Drops, trimming and reordering make go-back-N go back again and again, so such runs are cut short.
    lossy = bool(faults) or not isinstance(scheme.buffer, rdmacc.Pfc)
    until = "1ms" if lossy or rng.random() < 0.2 else None
    reorders = scheme.routing.startswith("spray")
    if reorders or any(not isinstance(part, rdmacc.Red) for part in scheme.switch):
        until = "100us" if reorders else "500us"
    own_paths = rng.spawn(1)[0]
    if own_paths.random() < 0.25 and all(topology.degree(host) == 1 for host in hosts):
        workload = with_paths(own_paths, topology, workload)
    seed, probes = int(rng.integers(100)), draw_probes(rng, topology, len(workload))
    scenario = Scenario(number, topology, workload, scheme, seed, probes, faults, until, bool(rng.random() < 0.2))
    try:
        rdmacc.Simulation(**scenario.arguments(), engine="simpy")
    except rdmacc.ConfigError as error:
        if not error.field.startswith(("buffer_bytes of ", "rates of the links of ", "routing of ")):
            raise
        for switch in rdmacc.topology.switches(topology):  # more classes or ports than usual
            topology.nodes[switch]["buffer_bytes"] += 500_000
    return scenario
