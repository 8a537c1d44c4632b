"""Random scenarios for property tests: small networks of any shape, workloads, schemes, buffers, losses, probes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from typing import Any, get_args

import networkx as nx
import numpy as np
import pandas as pd

import rdmacc
from rdmacc.bits import clear_bit, find_clear, find_set, has_bit, set_bit
from rdmacc.chance import uniform
from rdmacc.component import Component, param
from rdmacc.errors import ConfigError, HandlerError
from rdmacc.faults import Clocks, Fault, LinkDown, Loss, PauseStorm, ScriptedLoss, SlowLink
from rdmacc.probes import Probe
from rdmacc.protocols.check_epsn import CheckEpsn
from rdmacc.records import Bits, Byte, Deadline, Int, Int32, Ints, Record
from rdmacc.scaling import Scaled
from rdmacc.schemes import SCHEMES, BaseRtt, Scheme
from rdmacc.state import (
    ADVERT,
    CONTROL,
    CREDIT,
    CREDITS,
    DATA_CLASS,
    DEFLECT,
    DROP,
    IN_NETWORK,
    NUM_CLASSES,
    REQUEST,
    TRIM,
    TRIM_TAIL,
)  # fmt: skip
from rdmacc.switch.deflection import FlowDeflection
from rdmacc.switch.fecn import Fecn
from rdmacc.switch.int_stamp import IntStamp
from rdmacc.switch.queueing import ROUTINGS, NicOrder, Queueing
from rdmacc.switch.rcp_stamp import RcpStamp
from rdmacc.switch.ren_marker import Reading, RenMarker
from rdmacc.switch.selective_drop import SelectiveDrop
from rdmacc.switch.trimming import PayloadTrimming
from rdmacc.topology.fabric import Fabric

WIDENED = 10_000
"""Scenarios from this number on are widened; those before stay what they were."""

FIRST_ROUTINGS = ROUTINGS[:5]
"""Those that scenarios before `WIDENED` have; the others are drawn there."""

RATES = ("10Gbps", "25Gbps", "40Gbps", "43Gbps", "100Gbps", "400Gbps")


@dataclass(frozen=True)
class Scenario:
    """All that `rdmacc.simulate` needs, and the number that it was drawn from."""

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
            "topology": self.topology, "workload": self.workload, "scheme": self.scheme, "seed": self.seed,
            "probes": self.probes, "faults": self.faults, "trace": self.has_trace,
        }  # fmt: skip


def without_features(scenario: Scenario) -> Scenario:
    """Return a scenario without what the compiled engine's plain kernel lacks."""
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
    """Return the scenario with a number: always the same one; from `WIDENED` on with what `widened` adds."""
    scenario = _draw(number)
    if number >= WIDENED:
        scenario = widened(scenario, np.random.default_rng([20_202, number]))
    return _with_equal_links(scenario) if scenario.scheme.spans_ports else scenario


def widened(scenario: Scenario, rng: np.random.Generator) -> Scenario:
    """Return a scenario with other legal parameters, a tick of any length, links that fail, and more loss.

    Nine in ten have a scheme as it comes, without the drawn components: what it compiles to is in the cache.
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
    faults += _upsets(later, scenario.topology)
    if later.random() < 0.4:
        gap_ps = int(later.choice([0, 200_000, 5_000_000]))
        routing = str(later.choice(ROUTINGS[5:]))
        scheme = _changed(scenario, scheme, {"routing": routing, "flowlet_gap_ps": gap_ps, "base_rtt": "largest"})
    return replace(scenario, scheme=scheme, faults=tuple(faults), until=scenario.until or "1ms")


def _with_equal_links(scenario: Scenario) -> Scenario:
    """Return a scenario whose hosts may send by all their links at once, as the scheme's senders do."""
    for host in rdmacc.topology.hosts(scenario.topology):
        links = list(scenario.topology[host].values())
        for link in links:
            link["rate_bps"] = links[0]["rate_bps"]
        if len(links) > 1 and scenario.scheme.routing in ("ecmp", "symmetric"):
            scenario = replace(scenario, scheme=scenario.scheme.replace(routing="entropy", base_rtt="largest"))
    return scenario


def on_planes(number: int) -> Scenario:
    """Return a scenario of those with upsets, in which hosts have up to three links and senders use all of them."""
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
    return _with_equal_links(replace(scenario, scheme=scheme, workload=work, probes=probes))


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
    return replace(scenario, workload=rdmacc.messages(work), probes=(), faults=_without_scripts(scenario.faults))


def _without_scripts(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    return tuple(fault for fault in faults if not isinstance(fault, ScriptedLoss))


def _upsets(rng: np.random.Generator, topology: nx.Graph) -> list[Fault]:
    """Draw links that come back, links that are slow, and pause storms; some overlap."""
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
    """Return a scheme with other parameters, without those that do not go with the others, or with the network."""
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
    """Return another value of a parameter: up to eight times as much or as little, within its bounds."""
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
    if metadata["unit"] == "ps":  # shorter timers would be all that the run sees
        other = max(other, 1_000_000)
    return round(other) if isinstance(value, int) else float(other)


def _random_tick(rng: np.random.Generator) -> int:
    """Return a whole fraction of a second, up to some nanoseconds."""
    twos, fives = rng.integers(13), rng.integers(6)
    return int(2**twos * 5**fives)


def _draw(number: int) -> Scenario:
    rng = np.random.default_rng([20_201, number])
    topology = _topology(rng)
    hosts = rdmacc.topology.hosts(topology)
    workload = _workload(rng, hosts)
    scheme = _scheme(rng)
    pattern = rng.spawn(1)[0]  # a stream of its own: the draws below stay as they are
    if pattern.random() < 0.25:
        workload = _pattern(pattern, hosts)
    if any(len(part.classes) > 1 for part in scheme.components):  # each lane needs headroom
        for switch in rdmacc.topology.switches(topology):
            topology.nodes[switch]["buffer_bytes"] += 2_500_000
    faults = _faults(rng, topology, len(workload))
    # What drops, trims or reorders packets keeps go-back-N going back: such runs are cut short.
    lossy = bool(faults) or not isinstance(scheme.buffer, rdmacc.Pfc)
    until = "1ms" if lossy or rng.random() < 0.2 else None
    reorders = scheme.routing.startswith("spray")
    if reorders or any(not isinstance(part, rdmacc.Red) for part in scheme.switch):
        until = "100us" if reorders else "500us"
    own_paths = rng.spawn(1)[0]
    if own_paths.random() < 0.25 and all(topology.degree(host) == 1 for host in hosts):
        workload = _with_paths(own_paths, topology, workload)
    seed, probes = int(rng.integers(100)), _probes(rng, topology, len(workload))
    scenario = Scenario(number, topology, workload, scheme, seed, probes, faults, until, bool(rng.random() < 0.2))
    try:
        rdmacc.Simulation(**scenario.arguments(), engine="simpy")
    except rdmacc.ConfigError as error:
        if not error.field.startswith(("buffer_bytes of ", "rates of the links of ", "routing of ")):
            raise
        for switch in rdmacc.topology.switches(topology):  # more classes or ports than most have
            topology.nodes[switch]["buffer_bytes"] += 500_000
    return scenario


@dataclass(frozen=True, kw_only=True)
class Trimmer(Component):
    """Cut payloads off when a queue is long, of this packet or of the last one, by a coin."""

    limit_bytes: int = param("8kB", "longest queue", unit="bytes")

    @staticmethod
    def on_enqueue(params, port, packet):
        if port.queue_bytes > 3 * params.limit_bytes:
            packet.verdict = DROP
        elif port.queue_bytes > params.limit_bytes:
            heads = uniform(port.chance_key, port.chance_count) < 0.5
            port.chance_count += 1
            packet.verdict = TRIM if heads else TRIM_TAIL


@dataclass(frozen=True, kw_only=True)
class Deflector(Component):
    """Send the first packet of a message elsewhere when its port is crowded, and the others after it."""

    threshold_bytes: int = param("5kB", "crowded above this", unit="bytes")

    class Chip(Record):
        """Which message was sent where."""

        messages = Ints(4, -1)
        ports = Ints(4, -1)
        taken = Int32()

    class Header(Record):
        """Deflections that are left."""

        tokens = Byte()

    @staticmethod
    def on_send(packet):
        packet.tokens = 2

    @staticmethod
    def on_route(params, port, chip, message, packet):
        for i in range(4):
            if chip.messages[i] == message.number * 4 + packet.tokens:
                packet.route = chip.ports[i]
                packet.tokens -= 1
                return
        if packet.psn == 0 and packet.tokens > 0 and port.link_class == IN_NETWORK:
            if port.queue_bytes >= params.threshold_bytes:
                packet.verdict = DEFLECT

    @staticmethod
    def on_deflect(port, chip, message, packet):
        chip.messages[chip.taken] = message.number * 4 + packet.tokens
        chip.ports[chip.taken] = port.number
        chip.taken = (chip.taken + 1) % 4
        packet.tokens -= 1


@dataclass(frozen=True, kw_only=True)
class Picker(Component):
    """A receiver that now and then tells the shortest incoming message something."""

    class Endpoint(Record):
        """A tick."""

        tick_timer_ps = Deadline()
        ticks = Int32()

    class Header(Record):
        """The receiver's clock."""

        reading_ps = Int()

    class Sender(Record):
        """What the receiver said last."""

        heard_ps = Int()

    @staticmethod
    def on_data(endpoint, host, packet, reply, now):
        reply.reading_ps = host.clock_ps - packet.sent_ps
        if endpoint.tick_timer_ps > now + 3_000_000:
            endpoint.tick_timer_ps = now + 3_000_000

    @staticmethod
    def on_tick_timer(endpoint, host, now):
        endpoint.ticks += 1
        host.pick = 1 + endpoint.ticks % 3

    @staticmethod
    def on_candidate(message):
        message.key = message.packets - message.received_packets

    @staticmethod
    def on_pick(host, endpoint, reply, now):
        reply.kind = CREDIT
        if endpoint.ticks % 2 == 0:
            endpoint.ticks += 1
            host.pick = 1

    @staticmethod
    def on_credit(sender, packet, now):
        sender.heard_ps = now

    @staticmethod
    def on_ack(sender, packet):
        sender.heard_ps = packet.reading_ps


@dataclass(frozen=True, kw_only=True)
class Marker(Component):
    """Flag the first packets of each message as unscheduled."""

    packets: int = param(10, "so many")

    @staticmethod
    def on_send(params, packet):
        packet.unscheduled = packet.psn < params.packets


@dataclass(frozen=True, kw_only=True)
class RttWriter(Component):
    """Tell RCP's links an RTT."""

    @staticmethod
    def on_send(qp, packet):
        packet.rcp_rtt_ps = qp.base_rtt_ps


def _faults(rng: np.random.Generator, topology: nx.Graph, n_messages: int) -> tuple[Fault, ...]:
    faults: list[Fault] = []
    if rng.random() < 0.3:
        faults.append(Loss(data=float(rng.choice([0.0, 0.001, 0.02])), control=float(rng.choice([0.0, 0.001, 0.02]))))
    for _ in range(int(rng.choice([0, 0, 0, 2]))):
        message, psn, kind = (
            int(rng.integers(n_messages)),
            int(rng.integers(20)),
            str(rng.choice(["data", "ack", "nak"])),
        )
        faults.append(ScriptedLoss(message=message, psn=psn, nth=int(rng.integers(1, 3)), kind=kind))
    if rng.random() < 0.15:
        links = list(topology.edges)
        faults.append(LinkDown(link=links[int(rng.integers(len(links)))], at_ps=int(rng.integers(30_000_000))))
    if rng.random() < 0.15:
        faults.append(Clocks(offset_ps="1us", jitter_ps="100ns"))
    return tuple(faults)


def _topology(rng: np.random.Generator) -> nx.Graph:
    """Draw a connected network of 1 to 5 switches and 2 to 9 hosts, some with two links, at mixed speeds."""
    graph = nx.Graph(name="random")
    n_switches, n_hosts = int(rng.integers(1, 6)), int(rng.integers(2, 10))
    # At least what the ports' reserves and headrooms need, often not much more.
    buffer = int(rng.choice([600_000, 2_000_000, 30_000_000]))
    is_uniform = rng.random() < 0.5
    fixed = str(rng.choice(RATES[:5]))

    def link(one: str, other: str) -> None:
        rate = fixed if is_uniform else str(rng.choice(RATES[:5]))
        delay = f"{rng.choice([1, 10, 500, 1000])}ns"
        if not graph.has_edge(one, other):
            rdmacc.topology.add_link(graph, one, other, rate, delay)

    for i in range(n_switches):
        rdmacc.topology.add_switch(graph, f"s{i}", buffer)
        if i:
            link(f"s{i}", f"s{rng.integers(i)}")
    for _ in range(int(rng.integers(0, 4))):
        a, b = rng.integers(n_switches, size=2)
        if a != b:
            link(f"s{a}", f"s{b}")
    for i in range(n_hosts):
        rdmacc.topology.add_host(graph, f"h{i}")
        link(f"h{i}", f"s{rng.integers(n_switches)}")
        if rng.random() < 0.15:
            link(f"h{i}", f"s{rng.integers(n_switches)}")
    return graph


def _workload(rng: np.random.Generator, hosts: list[str]) -> pd.DataFrame:
    count = int(rng.integers(1, 16))
    rows = []
    for i in range(count):
        src, dst = rng.choice(hosts, size=2, replace=False)
        if rng.random() < 0.5:
            dst = hosts[0] if src != hosts[0] else hosts[1]
        after = tuple(int(k) for k in range(i) if rng.random() < 0.1)
        rows.append(
            {
                "src": src, "dst": dst,
                "size_bytes": int(rng.choice([1, 999, 1000, 1001, 8_000, 64_000, 200_000])),
                "start_ps": int(rng.choice([0, 0, 1, 80_000, int(rng.integers(20_000_000))])),
                "group": int(rng.integers(3)) if rng.random() < 0.5 else pd.NA,
                "priority": int(rng.choice([DATA_CLASS, DATA_CLASS, DATA_CLASS + 1, NUM_CLASSES - 1])),
                "after": after, "weight": float(rng.choice([1.0, 2.0, 0.5])),
            }
        )  # fmt: skip
    return rdmacc.messages(rows)


def _pattern(rng: np.random.Generator, hosts: list[str]) -> pd.DataFrame:
    """Draw a collective, closed loops or random arrivals, in which most messages wait for others."""
    some, size, seed = (
        hosts[: int(rng.integers(2, len(hosts) + 1))],
        int(rng.choice([5_000, 40_000])),
        int(rng.integers(9)),
    )
    patterns = [
        lambda: rdmacc.ring_all_reduce(some, size),
        lambda: rdmacc.tree_all_reduce(some, size, chunks=2),
        lambda: rdmacc.all_to_all(some, size, is_shifted=bool(seed % 2)),
        lambda: rdmacc.partition_aggregate(hosts[0], hosts[1:], 500, size, rounds=2, seed=seed),
        lambda: rdmacc.request_response(some, hosts, 500, size, rounds=3, jitter="1us", seed=seed),
        lambda: rdmacc.permutation(hosts, size, seed),
        lambda: rdmacc.incast(hosts[1:], hosts[0], size, rounds=2, period="5us", jitter="1us", seed=seed),
    ]
    return patterns[int(rng.integers(len(patterns)))]()


def _scheme(rng: np.random.Generator) -> Scheme:
    scheme = SCHEMES[str(rng.choice(sorted(SCHEMES)))]()
    scheme = scheme.replace(start_delay_ps=min(scheme.start_delay_ps, 3_000_000))  # the runs are short
    if rng.random() < 0.4:
        alpha, limit = float(rng.choice([0.1, 1.0])), int(rng.choice([0, 5_000, 50_000]))
        scheme = replace(scheme, buffer=rdmacc.DropTail(alpha=alpha, limit_bytes=limit))
    elif rng.random() < 0.5:
        alpha = float(rng.choice([0.002, 0.01, 0.125, 1.0, 0.0]))
        static = {} if alpha else {"xoff_bytes": 5_000, "xon_offset_bytes": 2_000}
        scheme = replace(scheme, buffer=rdmacc.Pfc(alpha=alpha, reserve_bytes=1000, **static))
    if rng.random() < 0.5:
        kmin = int(rng.choice([0, 2_000, 20_000]))
        red = rdmacc.Red(
            kmin_bytes=kmin, kmax_bytes=kmin + int(rng.choice([0, 20_000])), pmax=float(rng.random()),
            at_dequeue=bool(rng.random() < 0.5), at_nic=bool(rng.random() < 0.5),
        )  # fmt: skip
        others = tuple(part for part in scheme.switch if not isinstance(part, rdmacc.Red))
        scheme = replace(scheme, switch=(red, *others))
    if rng.random() < 0.4:
        scheme = scheme.replace(
            routing=str(rng.choice(FIRST_ROUTINGS)), nic_order=str(rng.choice(get_args(NicOrder))),
            start_delay_ps=str(rng.choice(["0us", "3us"])),
        )  # fmt: skip
    if rng.random() < 0.3:
        scheme = replace(scheme, switch=(*scheme.switch, Trimmer(limit_bytes=int(rng.choice([3_000, 20_000])))))
        queueing = Queueing(
            wrr_ratio=int(rng.choice([0, 2, 10])), control_limit_bytes=int(rng.choice([0, 1_000])),
            credit_fraction=float(rng.choice([0.0, 0.05])), trimmed_priority=int(rng.choice([CREDITS, CONTROL])),
        )  # fmt: skip
        scheme = replace(scheme, queueing=queueing)
    elif rng.spawn(1)[0].random() < 0.3:
        scheme = replace(scheme, queueing=Queueing(lanes=int(rng.spawn(1)[0].choice([2, 5, 7]))))
    if rng.random() < 0.3:
        deflector = Deflector(threshold_bytes=int(rng.choice([0, 5_000])))
        if not any(isinstance(part, FlowDeflection) for part in scheme.switch):  # its header has the same field
            scheme = replace(scheme, switch=(*scheme.switch, deflector))
    if rng.random() < 0.3:
        scheme = replace(scheme, control=(*scheme.control, Picker()))
    least_interval = "5us" if isinstance(scheme.recovery, CheckEpsn) else "0us"
    recovery = {
        "ack_every_packets": int(rng.choice([1, 1, 4])),
        "timeout_ps": str(rng.choice(["50us", "400us", "1ms"])),
        "nak_interval_ps": str(rng.choice([least_interval, "20us", "500us"])),
        "nak_per_packet": bool(rng.random() < 0.8),
        "bdp_cap_packets": int(rng.choice([1, 20, 1024])),
        "rto_low_ps": str(rng.choice(["20us", "100us"])),
        "rto_high_ps": str(rng.choice(["50us", "320us"])),
        "few_packets": int(rng.choice([0, 3])),
        "retry_limit": int(rng.choice([2, 7])),
    }
    recovery["min_timeout_ps"] = recovery["timeout_ps"]
    known = {field.name for field in fields(scheme.recovery)}
    changes = {
        "payload_bytes": int(rng.choice([256, 1000, 4096])),
        "ack_priority": int(rng.choice([CONTROL, CONTROL, DATA_CLASS])),
    } | {name: value for name, value in recovery.items() if name in known}
    # A stream of its own: these draws leave all others as they were.
    return _with_features(scheme.replace(**changes), rng.spawn(1)[0])


@dataclass(frozen=True, kw_only=True)
class Talker(Component):
    """Both sides send packets that are not data whenever they can, and keep sets of packets."""

    class Sender(Record):
        """What it says from time to time."""

        talk_timer_ps = Deadline()
        talks = Int32()

    class Transfer(Record):
        """Both sides of a message."""

        ping_timer_ps = Deadline()
        pings = Int32()
        returned = Int32()
        answered = Bits()
        seen = Bits()
        first_missing = Int32()
        holes = Int32()

    class Header(Record):
        """What it says."""

        word = Int32()

    @staticmethod
    def on_start(sender, message, transfer, request, now):
        request.kind = REQUEST
        request.word = 1
        request.wire_bytes = 40 + message.number
        transfer.ping_timer_ps = now + 3_000_000
        sender.talk_timer_ps = min(sender.talk_timer_ps, now + 2_000_000)

    @staticmethod
    def on_send(message, packet, request):
        if packet.psn % 5 == 4:
            request.kind = REQUEST
            request.psn = packet.psn
            if packet.psn % 2:
                request.priority = message.priority

    @staticmethod
    def on_ack(packet, request):
        if packet.psn % 4 == 3:
            request.kind = REQUEST
            request.psn = packet.psn

    @staticmethod
    def on_credit(message, transfer, packet, request):
        set_bit(transfer.answered, packet.word % message.packets)
        if packet.word == 1:
            request.kind = REQUEST
            request.word = 2 + find_clear(transfer.answered, 0, message.packets)

    @staticmethod
    def on_return(transfer, packet, request):
        transfer.returned += 1
        request.kind = REQUEST
        request.psn = packet.psn

    @staticmethod
    def on_talk_timer(sender, request, now):
        sender.talks += 1
        request.kind = REQUEST
        request.psn = sender.talks
        if sender.talks < 4:
            sender.talk_timer_ps = now + 4_000_000

    @staticmethod
    def on_ping_timer(transfer, reply, request, now):
        transfer.pings += 1
        request.kind = REQUEST
        reply.kind = CREDIT
        reply.word = 1 + transfer.pings
        if transfer.pings < 3:
            transfer.ping_timer_ps = now + 5_000_000

    @staticmethod
    def on_request(packet, reply, notice):
        reply.kind = CREDIT
        reply.word = packet.word
        if packet.psn % 3:
            notice.kind = ADVERT

    @staticmethod
    def on_data(message, transfer, packet):
        set_bit(transfer.seen, packet.psn)
        transfer.first_missing = find_clear(transfer.seen, transfer.first_missing, message.packets)
        transfer.holes += int(find_set(transfer.seen, transfer.first_missing, message.packets) < message.packets)
        if has_bit(transfer.seen, message.packets - 1) and packet.psn % 7 == 0:
            clear_bit(transfer.seen, packet.psn)


def _with_features(scheme: Scheme, rng: np.random.Generator) -> Scheme:
    """Add some switch features, and what writes the header fields that they read."""
    features: list[Component] = [
        PayloadTrimming(limit_packets=int(rng.choice([2, 8])), tail_probability=float(rng.choice([0.0, 0.5, 1.0]))),
        SelectiveDrop(threshold_bytes=int(rng.choice([0, 6_000]))),
        IntStamp(unit_multiple=int(rng.choice([0, 4]))),
        RcpStamp(base_rtt_ps=int(rng.choice([0, 5_000_000])), beta=float(rng.choice([0.226, 0.4]))),
        Fecn(
            buffer_bytes=int(rng.choice([16_000, 64_000])), marking_rate=int(rng.choice([0, 3])),
            marks_victims_at_hosts=bool(rng.random() < 0.5), at_dequeue=bool(rng.random() < 0.5),
        ),
        RenMarker(base_rtt_ps=int(rng.choice([2_000_000, 9_000_001])), reading=str(rng.choice(get_args(Reading)))),
        FlowDeflection(
            threshold_bytes=int(rng.choice([0, 5_000])), tokens=int(rng.choice([1, 4])),
            deflect_last_hop=bool(rng.random() < 0.5), escape_lanes=bool(rng.random() < 0.7),
        ),
    ]  # fmt: skip
    chosen = [feature for feature in features if rng.random() < 0.2]
    chosen = [one for one in chosen if not any(isinstance(part, type(one)) for part in scheme.components)]
    if any(isinstance(part, Deflector) for part in scheme.switch):  # its header has the same field
        chosen = [feature for feature in chosen if not isinstance(feature, FlowDeflection)]
    writers = [Marker()] if any(isinstance(feature, SelectiveDrop) for feature in chosen) else []
    rtts = [RttWriter()] if any(isinstance(feature, RcpStamp) for feature in chosen) else []
    scheme = replace(
        scheme, control=(*scheme.control, *writers, *rtts), switch=(*scheme.switch, *chosen),
        tick_ps=int(rng.choice([0, 0, 1000])), nic_ack_priority=int(rng.choice([-1, CONTROL, DATA_CLASS])),
        connection=str(rng.choice(["auto", "auto", "message", "pair"])),
        base_rtt=str(rng.choice(get_args(BaseRtt)[:2])),
    )  # fmt: skip
    return _with_requests(scheme, rng.spawn(1)[0])


def _with_requests(scheme: Scheme, rng: np.random.Generator) -> Scheme:
    """Let senders send packets that are not data, headers go back to them, and pad short packets."""
    if rng.random() < 0.3:
        scheme = replace(scheme, control=(*scheme.control, Talker()))
        scheme = scheme.replace(least_wire_bytes=int(rng.choice([0, 84, 1000])))
        if scheme.queueing.control_limit_bytes:
            scheme = scheme.replace(**{"Queueing.returns_headers": True})
    return scheme


def _with_paths(rng: np.random.Generator, graph: nx.Graph, workload: pd.DataFrame) -> pd.DataFrame:
    """Give some messages paths of their own: shortest ones, drawn step by step."""
    fabric = Fabric.from_graph(graph)

    def drawn(src: Any, dst: Any) -> str | None:
        if rng.random() < 0.5:
            return None
        ports = fabric.path(fabric.index[src], fabric.index[dst], lambda _, choices: int(rng.choice(choices)))
        return " ".join([src, *(fabric.names[fabric.port_peer[port]] for port in ports)])

    ends = list(zip(workload["src"], workload["dst"], strict=True))
    return workload.assign(path=[drawn(src, dst) for src, dst in ends], ack_path=[drawn(dst, src) for src, dst in ends])


def _probes(rng: np.random.Generator, topology: nx.Graph, n_messages: int) -> tuple[Probe, ...]:
    if rng.random() < 0.5:
        return ()
    one, other = list(topology.edges)[int(rng.integers(topology.number_of_edges()))]
    period = None if rng.random() < 0.5 else "1us"
    return (
        rdmacc.probes.queue(one, other, period),
        rdmacc.probes.throughput(other, one, "2us"),
        rdmacc.probes.rate(int(rng.integers(n_messages)), period),
        rdmacc.probes.field("host", "h0", "rx_wire_bytes", "5us"),
        rdmacc.probes.field("flow", 0, "next_psn"),
    )
