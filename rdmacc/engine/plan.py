"""The plan of a simulation: the scenario in numbers, from which either engine starts.

Whatever both engines must agree on before the first event is computed here, once: numbering, queue pairs, base RTTs,
thresholds, keys of the streams of chance, and the order of simultaneous events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc import workload as workloads
from rdmacc.chance import hash63_many, stream_key
from rdmacc.engine.alone import Messages, links_with, times_alone
from rdmacc.engine.dependencies import Computation, Dependents, dependencies
from rdmacc.engine.fault_events import FaultEvent, fault_events_of, lasting_rates
from rdmacc.engine.impairments import clocks_of, losses_of, scripts_of
from rdmacc.engine.numbering import count_paths, first_ports, hash_as, lead_by_paths, message_number, queue_pairs
from rdmacc.engine.watches import Watch, watch_of
from rdmacc.errors import ConfigError
from rdmacc.faults import Fault, ScriptedLoss
from rdmacc.probes import Probe
from rdmacc.rules.pfc import headroom_bytes
from rdmacc.schemes import Scheme
from rdmacc.state import DATA_CLASS, NUM_CLASSES
from rdmacc.switch.buffer import Pfc
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.nics import joined
from rdmacc.units import cut_ps, format_time, transmission_ps
from rdmacc.workload.columns import filled, queue_pair_labels
from rdmacc.workload.frame import computation
from rdmacc.workload.paths import PATH_COLUMNS, Paths, paths_of

Ints: TypeAlias = npt.NDArray[np.int64]
Int32s: TypeAlias = npt.NDArray[np.int32]

_LATEST_PS = 10**18
"""Latest start of a message, which keeps sums of times below NEVER."""
_MANY = 1000
"""Messages from which on one number in the place of equal ones saves enough memory to look for it."""

# Purposes of the streams of chance. Adding one must not renumber the others.
_ECMP, _PORTS, _LOSS, _CLOCK_OFFSETS, _CLOCK_JITTER, _SENDERS, _RECEIVERS = 1, 2, 3, 4, 5, 6, 7


@dataclass(frozen=True, eq=False)
class Plan:
    """A scenario in numbers. M messages, Q queue pairs, P ports; times in ps."""

    fabric: Fabric
    scheme: Scheme
    workload: pd.DataFrame
    """The messages, by their labels."""
    computation: Computation
    seed: int
    faults: tuple[Fault, ...]
    src: Int32s
    dst: Int32s
    size_bytes: Ints
    start_ps: Ints
    group: Int32s
    group_size: Int32s
    """Messages of the same group to the same host, itself included; 1 for messages without a group."""
    packets: Int32s
    weight: npt.NDArray[np.float64]
    qp: Int32s
    hash_as: Int32s
    """The message by whose number ECMP hashes each message; empty if that is its own."""
    waits_for: Int32s
    """How many messages and rows of computation each message waits for and, after the messages, each row."""
    dependents: Dependents | None
    """What waits for each message and row; None if nothing waits or computes."""
    ideal_fct_ps: Ints
    qp_src: Int32s
    qp_dst: Int32s
    qp_messages: Int32s
    qp_base_rtt_ps: Ints
    qp_base_delay_ps: Ints
    qp_chance_key: Ints
    qp_reply_chance_key: Ints
    qp_paths: Int32s
    """Shortest paths of each queue pair, 1 unless routing is by source."""
    qp_port: Int32s
    """Port by which the queue pair's data leave its host."""
    reply_port: Int32s
    """Port by which replies leave the receiving host."""
    host_base_rtt_ps: Ints
    """By node number; 0 for hosts that receive nothing."""
    ecmp_salt: Ints
    """By node number."""
    chance_key: Ints
    loss_key: Ints
    loss_data: npt.NDArray[np.float64]
    loss_control: npt.NDArray[np.float64]
    headroom_bytes: Ints
    """Headroom behind each port's link, held by the switch that the port leads to; 0 towards hosts."""
    shared_bytes: Ints
    """By node number: the pool that queues share (lossless: without reserves and headrooms)."""
    priority: npt.NDArray[np.int8]
    """Class of each message's data packets."""
    paths: Paths
    """Of the messages that have one of their own; no steps where none has."""
    distance: Ints
    """Hops from each row of the routes to each attachment; R x A, empty unless routing is symmetric."""
    symmetric_salt: int
    scripts: tuple[ScriptedLoss, ...]
    fault_events: tuple[FaultEvent, ...]
    """Changes of links and NICs, by time; `fabric` has the rates at the start."""
    clock_offset_ps: Ints
    """By node number."""
    clock_jitter_ps: int
    clock_key: Ints
    has_trace: bool
    explained: npt.NDArray[np.bool_]
    """Which messages can be explained: the trace has what that needs; empty for none."""
    is_partial: bool
    """Whether the trace is kept for these messages only, and for what ports send at which they queue."""
    watches: tuple[Watch, ...]
    is_checked: bool = False
    """Whether handlers run in checked mode (`rdmacc.handlers.checked`)."""

    @property
    def has_clocks(self) -> bool:
        """True if hosts' clocks deviate."""
        return bool(self.clock_jitter_ps or self.clock_offset_ps.any())

    @property
    def explains(self) -> bool:
        """True if some message can be explained."""
        return bool(len(self.explained))

    @property
    def n_messages(self) -> int:
        """Number of messages."""
        return len(self.src)

    @property
    def n_qps(self) -> int:
        """Number of queue pairs."""
        return len(self.qp_src)


def make_plan(
    topology: nx.Graph[Any],
    workload: pd.DataFrame,
    scheme: Scheme,
    *,
    seed: int = 0,
    probes: Sequence[Probe] = (),
    faults: Sequence[Fault] = (),
    has_trace: bool = False,
    explains: bool | Sequence[Any] = False,
    is_checked: bool = False,
) -> Plan:
    """Return the plan of a scenario."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError("seed", seed, "a whole number, at least 0")
    seed = int(seed)
    for name, value in (("probes", probes), ("faults", faults)):
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ConfigError(name, value, "a list")
    fabric = topology if isinstance(topology, Fabric) else Fabric.from_graph(topology)
    if scheme.spans_ports:
        fabric = joined(_with_paths_by_packet(fabric, scheme, workload))
    frame = workloads.validate(workload, fabric)
    computes = computation(frame)
    waits_for, dependents = dependencies(frame, computes)
    has_computation = bool(computes.any())
    computing = _computation(frame[computes] if has_computation else frame.iloc[:0], fabric)
    if has_computation:
        frame = frame[~computes]
    paths = paths_of(frame, fabric)
    scheme = scheme.at(links_with(fabric, scheme, paths))
    _check_tick(fabric, scheme)
    src, dst = (
        np.fromiter(map(fabric.index.__getitem__, frame[end].to_numpy()), np.int64, len(frame))
        for end in ("src", "dst")
    )
    size = frame["size_bytes"].to_numpy(np.int64)
    packets = -(-size // scheme.payload_bytes)
    if packets.max(initial=0) >= 2**31:
        raise ConfigError("size_bytes", int(size.max()), f"fewer than 2**31 packets of {scheme.payload_bytes} B")
    start_ps = frame["start_ps"].to_numpy(np.int64)
    if start_ps.max(initial=0) > _LATEST_PS:
        raise ConfigError("start_ps", int(start_ps.max()), f"at most 10**18 ps, {_LATEST_PS // 86_400 // 10**12} days")
    group, group_size = _groups(frame, dst, fabric.n_nodes)
    labels = queue_pair_labels(frame)
    qp, qp_src, qp_dst = queue_pairs(src, dst, scheme.is_pairwise, labels)
    fabric.check_paths(src, dst)
    salts = _keys(seed, _ECMP, fabric.n_nodes)
    qp_port = first_ports(fabric, salts, qp_src, qp_dst)
    reply_port = first_ports(fabric, salts, qp_dst, qp_src)
    for ports, back in ((qp_port, 0), (reply_port, 1)):
        lead_by_paths(ports, paths, back, qp, frame)
    hashes, distance, symmetric_salt = hash_as(qp, labels), _distances(fabric, scheme), stream_key(seed, _ECMP)
    messages = Messages(
        src, dst, size, qp, (qp_port, reply_port), paths, hashes, salts, symmetric_salt, distance
    )  # fmt: skip
    alone = times_alone(fabric, scheme, messages, qp_src, qp_dst)
    host_base_rtt = np.zeros(fabric.n_nodes, np.int64)
    np.maximum.at(host_base_rtt, qp_dst, alone.base_rtt_ps)
    loss_data, loss_control = losses_of(fabric, faults)
    priority = _priorities(frame, scheme)
    scheme = _with_turns(scheme, frame, priority)
    headroom, shared = _buffers(fabric, scheme, set(priority.tolist()), int(group_size.max(initial=1)))
    offsets, jitter = clocks_of(fabric, faults, stream_key(seed, _CLOCK_OFFSETS))
    fault_events = fault_events_of(fabric, faults, has_pfc=isinstance(scheme.buffer, Pfc))
    explained = _explained(frame, explains, qp)
    sources, destinations = _narrow(src), _narrow(dst)
    plan = Plan(
        fabric=_started(fabric, faults), scheme=scheme, workload=frame, computation=computing, seed=seed,
        faults=tuple(faults),
        src=sources, dst=destinations, size_bytes=size, start_ps=start_ps, group=_alike(_narrow(group)),
        group_size=_alike(_narrow(group_size)), packets=_narrow(packets),
        weight=_alike(frame["weight"].to_numpy(np.float64)),
        qp=_narrow(qp), hash_as=hashes, waits_for=_alike(_narrow(waits_for)), dependents=dependents,
        ideal_fct_ps=alone.ideal_fct_ps,
        qp_src=sources if qp_src is src else _narrow(qp_src), qp_dst=destinations if qp_dst is dst else _narrow(qp_dst),
        qp_messages=_alike(_narrow(np.bincount(qp, minlength=len(qp_src)))),
        qp_base_rtt_ps=alone.base_rtt_ps, qp_base_delay_ps=alone.base_delay_ps,
        qp_chance_key=_keys(seed, _SENDERS, len(qp_src)), qp_reply_chance_key=_keys(seed, _RECEIVERS, len(qp_src)),
        qp_port=_narrow(qp_port), qp_paths=_alike(_narrow(count_paths(fabric, scheme, qp_port, qp_dst))),
        reply_port=_narrow(reply_port), paths=paths,
        host_base_rtt_ps=host_base_rtt, ecmp_salt=salts,
        chance_key=_keys(seed, _PORTS, fabric.n_ports), loss_key=_keys(seed, _LOSS, fabric.n_ports),
        priority=_alike(priority.astype(np.int8)), distance=distance,
        symmetric_salt=symmetric_salt, scripts=scripts_of(faults, frame),
        fault_events=fault_events, clock_offset_ps=offsets, clock_jitter_ps=jitter,
        clock_key=_keys(seed, _CLOCK_JITTER, fabric.n_nodes),
        has_trace=has_trace or bool(explained.any()), explained=explained,
        is_partial=not has_trace and not bool(explained.all()), is_checked=is_checked,
        loss_data=loss_data, loss_control=loss_control, headroom_bytes=headroom, shared_bytes=shared,
        watches=tuple(watch_of(probe, fabric, scheme, qp, frame) for probe in probes),
    )  # fmt: skip
    return plan


def _with_paths_by_packet(fabric: Fabric, scheme: Scheme, workload: pd.DataFrame) -> Fabric:
    """Return the network; raise a ConfigError if hosts have several links and messages have a path each."""
    if (np.diff(fabric.node_first_port)[fabric.hosts] > 1).any():
        if scheme.routing in ("ecmp", "symmetric"):
            allowed = "'entropy' or 'source': its queue pairs leave hosts by several links, packet by packet"
            raise ConfigError(f"routing of {scheme.name}", scheme.routing, allowed)
        for name in PATH_COLUMNS:
            if name in workload:
                allowed = f"absent with {scheme.name}, whose queue pairs leave hosts by several links"
                raise ConfigError("column", name, allowed)
    return fabric


def _check_tick(fabric: Fabric, scheme: Scheme) -> None:
    """Raise ConfigError if full packets, cut to whole ticks, take no time on the fastest link."""
    port = int(np.argmax(fabric.port_rate_bps))
    rate_bps, wire_bytes = float(fabric.port_rate_bps[port]), scheme.wire_bytes
    if scheme.tick_ps and cut_ps(wire_bytes, rate_bps, scheme.tick_ps) == 0:
        taken = f"{wire_bytes} B take {format_time(transmission_ps(wire_bytes, rate_bps))} on {fabric.port_name(port)}"
        raise ConfigError(
            "tick_ps", scheme.tick_ps, f"shorter than the transmission of a full packet on any link: {taken}"
        )


def _started(fabric: Fabric, faults: Sequence[Fault]) -> Fabric:
    """Return the network with the rates of links that are slow from the start to the end."""
    slow = lasting_rates(fabric, faults)
    if not slow:
        return fabric
    rates = fabric.port_rate_bps.copy()
    rates[list(slow)] = list(slow.values())
    return replace(fabric, port_rate_bps=rates, port_byte_ps=8e12 / rates)


def _narrow(numbers: npt.NDArray[Any]) -> Int32s:
    """Return counts and indices as 32-bit integers, as in the records: that halves a million messages."""
    return numbers.astype(np.int32)


def _alike(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values as one broadcast number if all are equal, as weights and groups of many mostly are."""
    if len(values) < _MANY or (values != values[:1]).any():
        return values
    return np.broadcast_to(values[:1].copy(), values.shape)


def _groups(frame: pd.DataFrame, dst: Ints, n_nodes: int) -> tuple[Ints, Ints]:
    """Return each message's group (0, 1, ...; -1 for none), and how many messages of the group its receiver gets."""
    numbers = frame["group"].array
    size = np.ones(len(numbers), np.int64)
    if numbers.isna().all():
        return np.full(len(numbers), -1), size
    group = pd.factorize(numbers, sort=True)[0].astype(np.int64)
    has_group = group >= 0
    _, which, counts = np.unique(group[has_group] * n_nodes + dst[has_group], return_inverse=True, return_counts=True)
    size[has_group] = counts[which]
    return group, size


def _computation(frame: pd.DataFrame, fabric: Fabric) -> Computation:
    """Return the rows of computation in numbers."""
    if not len(frame):
        return Computation(frame, np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
    host = np.fromiter(map(fabric.index.__getitem__, frame["src"]), np.int32, len(frame))
    start_ps = frame["start_ps"].to_numpy(np.int64)
    duration_ps = frame["duration_ps"].to_numpy(np.int64)
    for name, times in (("start_ps", start_ps), ("duration_ps", duration_ps)):
        if times.max() > _LATEST_PS:
            raise ConfigError(name, int(times.max()), f"at most 10**18 ps, {_LATEST_PS // 86_400 // 10**12} days")
    return Computation(frame, host, start_ps, duration_ps)


def _keys(seed: int, purpose: int, count: int) -> Ints:
    return hash63_many(stream_key(seed, purpose), count)


def _explained(frame: pd.DataFrame, explains: bool | Sequence[Any], qp: Ints) -> npt.NDArray[np.bool_]:
    """Return which messages to explain: those asked for, and all others of their queue pairs; empty for none."""
    if isinstance(explains, bool):
        return np.ones(len(frame) if explains else 0, np.bool_)
    chosen = [message_number(frame, row, "explain") for row in explains]
    return np.isin(qp, qp[chosen]) if chosen else np.zeros(0, np.bool_)


def _priorities(frame: pd.DataFrame, scheme: Scheme) -> Ints:
    """Return the class of each message: the workload's column `priority`, where it has one, else the scheme's."""
    if "priority" not in frame:
        return np.full(len(frame), scheme.data_priority, np.int64)
    column = filled(frame["priority"], scheme.data_priority)
    wrong = ~column.isin(range(DATA_CLASS, NUM_CLASSES))
    if wrong.any():
        allowed = f"a class from {DATA_CLASS} to {NUM_CLASSES - 1}"
        raise ConfigError(f"priority (row {frame.index[wrong][0]})", column[wrong].iloc[0], allowed)
    return column.to_numpy(np.int64)


def _with_turns(scheme: Scheme, frame: pd.DataFrame, priority: Ints) -> Scheme:
    """Return the scheme in which the classes of messages with `in_turn` take turns."""
    if "in_turn" not in frame:
        return scheme
    column = filled(frame["in_turn"], False)
    for row, value in zip(frame.index, column, strict=True):
        if not isinstance(value, bool | np.bool_):
            raise ConfigError("in_turn", value, "True, False or missing", where=f"row {row}")
    in_turn = column.to_numpy(bool)
    lanes = set(priority[in_turn].tolist())
    if len(lanes) < 2:
        return scheme
    first, count = min(lanes), max(lanes) - min(lanes) + 1
    strict = sorted(set(priority[~in_turn].tolist()) & set(range(first, first + count)))
    if strict:
        allowed = f"above or below the classes in turn, {sorted(lanes)}, where in_turn is not set"
        raise ConfigError("priority", strict[0], allowed)
    own = scheme.queueing
    taken = set(range(own.first_lane, own.first_lane + own.lanes))
    if lanes <= taken:
        return scheme
    if taken:
        allowed = f"set for some of {sorted(taken)}, the lanes of {scheme.name}"
        raise ConfigError("in_turn", f"classes {sorted(lanes)}", allowed)
    return replace(scheme, queueing=own.replace(first_lane=first, lanes=count))


def _distances(fabric: Fabric, scheme: Scheme) -> Ints:
    if scheme.routing != "symmetric":
        return np.zeros((0, 0), np.int64)
    return fabric.hops()


def _buffers(fabric: Fabric, scheme: Scheme, priorities: set[int], group_size: int) -> tuple[Ints, Ints]:
    headroom = np.zeros(fabric.n_ports, np.int64)
    shared = np.asarray(fabric.buffer_bytes, dtype=np.int64).copy()
    policy = scheme.buffer
    if isinstance(policy, Pfc):
        data_bytes = max(scheme.wire_bytes, scheme.least_wire_bytes) + sum(
            part.extra_bytes(group_size) for part in scheme.components
        )
        largest = max(data_bytes, scheme.ack_bytes, scheme.cnp_bytes)
        used = priorities.union({scheme.ack_priority}, *(part.classes for part in scheme.components))
        classes = sum(cls >= DATA_CLASS for cls in used)
        for port in np.flatnonzero(~fabric.is_host[fabric.port_peer]):
            rate, delay = float(fabric.port_rate_bps[port]), int(fabric.port_delay_ps[port])
            room = policy.headroom_bytes or headroom_bytes(rate, delay, largest)
            headroom[port] = room
            shared[fabric.port_peer[port]] -= classes * (room + policy.reserve_bytes)
        for node in np.flatnonzero(~fabric.is_host):
            if shared[node] <= 0:
                need = int(fabric.buffer_bytes[node] - shared[node])
                raise ConfigError(
                    f"buffer_bytes of {fabric.names[node]}",
                    int(fabric.buffer_bytes[node]),
                    f"more than {need} B, the sum of its ports' PFC reserves and headrooms",
                )
    return headroom, shared
