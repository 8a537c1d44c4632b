"""The plan of a simulation: the scenario in numbers, from which either engine starts.

Whatever both engines must agree on before the first event is computed here, once, in stages: the network
(`rdmacc.topology.fabric`), the workload on it (`work`), the scheme on both (`setting`), and what is left, which the
seed, probes and faults decide. A stage is a pure function, and what it made of the same content before is used again.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.caching.lifetimes import frozen
from rdmacc.engine.fault_events import FaultEvent, clocks_of, fault_events_of, lasting_rates, losses_of, scripts_of
from rdmacc.engine.setting import Setting, Stream, keys, message_number, setting_on
from rdmacc.engine.work import Ints, work_on
from rdmacc.errors import ConfigError, unknown
from rdmacc.faults import Fault, ScriptedLoss
from rdmacc.handlers.hooks import limits_of
from rdmacc.interface import RECORD_KINDS, Field, Host, Message, Port, QueuePair
from rdmacc.interface.chance import stream_key
from rdmacc.interface.parameters import fields_of
from rdmacc.probes import Probe
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import Pfc
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.nics import joined
from rdmacc.units import format_rate, format_time
from rdmacc.workload.paths import PATH_COLUMNS
from rdmacc.workload.schedule import Workload


@dataclass(frozen=True)
class Watch:
    probe: Probe
    record: str
    number: int
    component: int
    field: Field


_PLACE_RECORDS = {
    "port": (("port", Port), (("egress", "Egress"),)),
    "host": (("host", Host), (("endpoint", "Endpoint"),)),
    "flow": (("qp", QueuePair), (("sender", "Sender"), ("receiver", "Receiver"), ("transfer", "Transfer"))),
}


def watch_of(probe: Probe, setting: Setting) -> Watch:
    scheme, qp = setting.scheme, setting.qp
    if not isinstance(probe, Probe):
        raise ConfigError("probes", probe, "a Probe, such as rdmacc.probes.queue('s0', 'h0', every='1us')")
    number = _number(probe, setting)
    (own_name, own_record), extras = _PLACE_RECORDS[probe.place]
    owner, _, name = probe.field.rpartition(".")
    options: list[tuple[str, int, int, Field]] = []
    if not owner:
        qp_number = int(qp[number]) if probe.place == "flow" else number
        options += [(own_name, qp_number, -1, field) for field in own_record.fields]
        if probe.place == "flow":
            options += [("message", number, -1, field) for field in Message.fields]
    for i, component in enumerate(scheme.components):
        if owner in ("", type(component).__name__):
            for record_name, kind in extras:
                assert kind in RECORD_KINDS
                record = component.record(kind)
                at = int(qp[number]) if record_name in ("sender", "receiver") else number
                options += [(record_name, at, i, field) for field in (record.fields if record else ())]
    options = [option for option in options if not option[3].length and not option[3].is_bits]
    if probe.place == "flow" and probe.field == "window_bytes" and not limits_of(scheme.components)["window_bytes"]:
        allowed = f"a field that the scheme uses: {scheme.name} sets no window; use rdmacc.probes.rate({probe.at})"
        raise ConfigError(f"field of probe {probe.name!r}", name, allowed)
    for record_name, at, i, field in options:
        if field.name == name:
            return Watch(probe, record_name, at, i, field)
    parts = {f"{type(part).__name__}.<field>" for part in scheme.components}
    known = sorted({field.name for *_, field in options} or parts)
    raise unknown(f"field of probe {probe.name!r}", probe.field, known, f"a field of a {probe.place}")


def _number(probe: Probe, setting: Setting) -> int:
    fabric = setting.fabric
    if probe.place == "port":
        if not isinstance(probe.at, tuple) or len(probe.at) != 2:
            raise ConfigError(f"at of probe {probe.name!r}", probe.at, "a pair (from, to) of node names")
        return fabric.port(*probe.at)
    if probe.place == "host":
        node = fabric.index.get(probe.at, -1) if isinstance(probe.at, Hashable) else -1
        if node < 0 or not fabric.is_host[node]:
            raise ConfigError(f"at of probe {probe.name!r}", probe.at, "the name of a host")
        return node
    return message_number(setting, probe.at, f"at of probe {probe.name!r}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(Setting):
    """A scenario in numbers. P ports; times in ps. `fabric` has the rates at the start."""

    seed: int
    chance_seed: int  # of all that is drawn but paths: another one in a copy that goes on with a seed of its own
    faults: tuple[Fault, ...]
    qp_chance_key: Ints
    qp_reply_chance_key: Ints
    ecmp_salt: Ints  # by node number
    symmetric_salt: int
    chance_key: Ints
    loss_key: Ints  # the seed's if there are faults, as `clock_key` is
    loss_data: npt.NDArray[np.float64]
    loss_control: npt.NDArray[np.float64]
    scripts: tuple[ScriptedLoss, ...]
    fault_events: tuple[FaultEvent, ...]  # changes of links and NICs, by time
    clock_offset_ps: Ints  # by node number
    clock_jitter_ps: int
    clock_key: Ints
    has_trace: bool
    is_whole: bool  # whether the trace has all rows: it was asked for, not only explanations
    explained: npt.NDArray[np.bool_]  # which messages are to be explained; empty for none
    is_partial: bool  # whether the trace is kept for these messages only, and for what ports send at which they queue
    watches: tuple[Watch, ...]
    is_checked: bool = False  # whether handlers run in checked mode (`rdmacc.handlers.checked`)

    @property
    def has_clocks(self) -> bool:
        return bool(self.clock_jitter_ps or self.clock_offset_ps.any())

    @property
    def explains(self) -> bool:
        """True if the trace has what explains messages."""
        return self.has_trace and bool(len(self.explained))

    def recorded(self, messages: npt.NDArray[np.bool_]) -> Plan:
        """Return the plan of the same run with a trace of what explains these messages."""
        is_partial = not bool(messages.all())
        return replace(self, has_trace=True, is_whole=False, explained=messages, is_partial=is_partial)


def make_plan(
    topology: nx.Graph[Any] | Fabric, workload: Workload, scheme: Scheme, *, seed: int = 0, **options: Any
) -> Plan:
    """Return a plan from its parts; the options are those of `plan_of`."""
    seed = checked_seed(seed)
    for name in ("probes", "faults"):
        value = options.get(name, ())
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ConfigError(name, value, "a list")
    return plan_of(setting_of(topology, workload, scheme, seed), seed, **options)


def checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError("seed", seed, "a whole number, at least 0")
    return int(seed)


def setting_of(topology: nx.Graph[Any] | Fabric, workload: Workload, scheme: Scheme, seed: int) -> Setting:
    """Return the part of a plan that depends on neither probes nor faults, nor on the seed unless it chooses paths."""
    fabric = topology if isinstance(topology, Fabric) else Fabric.from_graph(topology)
    if scheme.spans_ports:
        single = _with_paths_by_packet(fabric, scheme, workload)
        fabric = single.kept.get(joined, lambda: frozen(joined(single)))
    return setting_on(work_on(fabric, workload), scheme, seed)


def plan_of(
    setting: Setting,
    seed: int,
    *,
    probes: Sequence[Probe] = (),
    faults: Sequence[Fault] = (),
    has_trace: bool = False,
    explains: bool | Sequence[Any] = False,
    is_checked: bool = False,
    chance_seed: int | None = None,
) -> Plan:
    chance = seed if chance_seed is None else chance_seed
    counts = {
        Stream.ECMP: setting.fabric.n_nodes, Stream.PORTS: setting.fabric.n_ports,
        Stream.SENDERS: setting.n_qps, Stream.RECEIVERS: setting.n_qps,
    }  # fmt: skip
    ecmp_salt, chance_key, qp_chance_key, qp_reply_chance_key = keys(chance, counts, seed)
    calm: dict[str, Any] = {} if faults else setting.kept.get(_with_faults, lambda: _with_faults(setting, (), 0, 0))
    explained = _explained(setting, explains)
    plan: Plan = object.__new__(Plan)  # sets all at once: one by one, sixty fields take longer than the rest
    vars(plan).update(
        vars(setting) | (calm or _with_faults(setting, faults, seed, chance)), seed=seed, chance_seed=chance,
        qp_chance_key=qp_chance_key, qp_reply_chance_key=qp_reply_chance_key, ecmp_salt=ecmp_salt,
        symmetric_salt=stream_key(seed, Stream.ECMP), chance_key=chance_key,
        has_trace=has_trace or explains is True, explained=explained,
        is_whole=has_trace, is_partial=False, is_checked=is_checked,
        watches=tuple(watch_of(probe, setting) for probe in probes),
    )  # fmt: skip
    return plan


def _with_faults(setting: Setting, faults: Sequence[Fault], seed: int, chance: int) -> dict[str, Any]:
    """Return what depends on faults; without any, their keys are not used."""
    fabric = setting.fabric
    loss_data, loss_control = losses_of(fabric, faults)
    offsets, jitter = clocks_of(fabric, faults, stream_key(seed, Stream.CLOCK_OFFSETS))
    loss_key, clock_key = keys(chance, {Stream.LOSS: fabric.n_ports, Stream.CLOCK_JITTER: fabric.n_nodes})
    return {
        "fabric": _started(fabric, faults), "faults": tuple(faults), "loss_key": loss_key, "loss_data": loss_data,
        "loss_control": loss_control, "scripts": scripts_of(faults, setting),
        "fault_events": fault_events_of(fabric, faults, has_pfc=isinstance(setting.scheme.buffer, Pfc)),
        "clock_offset_ps": offsets, "clock_jitter_ps": jitter, "clock_key": clock_key,
    }  # fmt: skip


def _with_paths_by_packet(fabric: Fabric, scheme: Scheme, workload: Workload) -> Fabric:
    """Return the network; raise a ConfigError if hosts have several links and messages have a path each."""
    if (np.diff(fabric.node_first_port)[fabric.hosts] > 1).any():
        if scheme.routing in ("ecmp", "symmetric"):
            allowed = "'entropy' or 'source': its queue pairs leave hosts by several links, packet by packet"
            raise ConfigError(f"routing of {scheme.name}", scheme.routing, allowed)
        for name in PATH_COLUMNS:
            if isinstance(workload, pd.DataFrame) and name in workload:
                allowed = f"absent with {scheme.name}, whose queue pairs leave hosts by several links"
                raise ConfigError("column", name, allowed)
    return fabric


def _started(fabric: Fabric, faults: Sequence[Fault]) -> Fabric:
    """Return the network with the rates of links that are slow from the start to the end."""
    slow = lasting_rates(fabric, faults)
    if not slow:
        return fabric
    rates = fabric.port_rate_bps.copy()
    rates[list(slow)] = list(slow.values())
    return replace(fabric, port_rate_bps=rates, port_byte_ps=8e12 / rates)


_NONE = np.ones(0, np.bool_)


def _explained(setting: Setting, explains: bool | Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Return which messages to explain: those asked for, and all others of their queue pairs; empty for none."""
    if isinstance(explains, bool):
        return np.ones(setting.n_messages, np.bool_) if explains else _NONE
    chosen = [message_number(setting, row, "explain") for row in explains]
    return np.isin(setting.qp, setting.qp[chosen]) if chosen else _NONE


_log = logging.getLogger(__name__)


def warn_of_short_times(plan: Plan) -> None:
    """Warn of times shorter than the base RTTs that they must cover, and of lowest rates that leave no control."""
    rtt_ps = int(plan.qp_base_rtt_ps.max()) if len(plan.qp_base_rtt_ps) else 0
    line_bps = float(plan.fabric.port_rate_bps[plan.qp_port].min()) if len(plan.qp_port) else 0.0
    for part in plan.scheme.components:
        for field in fields_of(part):
            name, value = f"{type(part).__name__}.{field.name}", getattr(part, field.name)
            rtts = field.metadata.get("rtts", 0.0)
            if rtts and 0 < value < rtts * rtt_ps:
                needs = "the longest base RTT" if rtts == 1.0 else f"{rtts:g} of the longest base RTT"
                _warn(plan.scheme.name, f"{name} = {format_time(value)} is shorter than {needs}, {format_time(rtt_ps)}")
            elif field.name == "min_rate_bps" and value >= line_bps > 0.0:
                link = f"the rate of a host's link, {format_rate(line_bps)}: nothing slows a sender down"
                _warn(plan.scheme.name, f"{name} = {format_rate(value)} is not below {link}")


@cache
def _warn(scheme: str, text: str) -> None:
    _log.warning("rdmacc: %s: %s", scheme, text)
