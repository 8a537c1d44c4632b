"""The reference engine: the objects of a plan, run on a SimPy environment.

Start reading here. `build` makes hosts and switches with their ports (`hosts`, `nic`, `switches`, `ports`) and what
they send, with its life in `messages` and its deadlines in `timers`. All of them share the network as `net` (`core`).
Decisions that the compiled engine takes too are rules (`rdmacc.rules`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from rdmacc.caching import uncollected
from rdmacc.engine.fault_events import Told, told
from rdmacc.engine.outcome import PfcState, RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.engine.reference import build
from rdmacc.engine.reference.core import Core
from rdmacc.engine.reference.events import SIMPY_PRIORITY
from rdmacc.engine.reference.hosts import Host
from rdmacc.engine.reference.messages import give_up
from rdmacc.engine.reference.probes import Probes
from rdmacc.engine.reference.readout import outcome_of, pfc_state_of
from rdmacc.engine.reference.switches import Switch
from rdmacc.engine.reference.timers import arm
from rdmacc.engine.sent import Addition, pairs_of
from rdmacc.engine.stalls import Livelock
from rdmacc.engine.swap import sets_ports
from rdmacc.errors import ConfigError, HandlerError, RdmaccError
from rdmacc.handlers.checked import Trail, explain
from rdmacc.handlers.hooks import limits_of
from rdmacc.interface import DATA_CLASS, NEVER, NUM_CLASSES, PAUSE, RESUME
from rdmacc.rules import *
from rdmacc.schemes import Scheme
from rdmacc.topology.fabric import Fabric

_LOOKS = 1 << 14  # events between two checks for a livelock


class Network(Core):
    """A scenario as objects. `env` is the SimPy environment, in ps: attach processes of your own to it."""

    name = "simpy"

    def __init__(self, plan: Plan) -> None:
        hosts = self._hosts = dict[int, Host]()
        super().__init__(plan, partial(arm, self, hosts))
        self.events = 0
        self.told: Told = []
        self._first_plan = plan
        try:
            self.nodes, self.ports = build.make_nodes(self)
            hosts.update((node.node, node) for node in self.nodes if isinstance(node, Host))
            build.make_queue_pairs(self, self.ports, hosts, pairs_of(plan))
            build.make_messages(self, hosts)
            build.make_computation(self)
        except Exception as error:
            raise self._explained(error) from error
        self._probes = Probes(self, self.nodes, self.ports)

    # Running

    @uncollected()  # the engine makes no cycles, and the collector would look at every record of the network
    def run(self, until_ps: int, soon_ps: int = NEVER) -> None:
        until_ps = min(until_ps, soon_ps)
        livelock = Livelock(self.plan)
        try:
            while self._run_some(until_ps):
                livelock.look(self)
        except Exception as error:
            raise self._explained(error) from error
        if self.unfinished and until_ps < NEVER and not self.ended:
            self.env.advance(until_ps)

    def _run_some(self, until_ps: int) -> bool:
        """Process some events; return whether more are due."""
        queue, step, watches = self.env.queue, self.env.step, self._probes.on_change
        for _ in range(_LOOKS):
            if not queue or queue[0][0] >= until_ps or not self.unfinished or self.ended:
                return False
            self.events += 1
            step()
            if watches:
                self._probes.note_changes()
        return True

    def step(self) -> None:
        self.events += 1
        self.env.step()

    def peek(self) -> tuple[int, int] | None:
        return self.env.queue[0][:2] if self.env.queue else None

    @property
    def now(self) -> int:
        return int(self.env.now)

    @property
    def earliest_ps(self) -> int:
        return self.now + (self.unfinished == 0 and self.events > 0)

    def next_event_ps(self) -> int:
        return min(self._event_times(), default=NEVER)

    def last_event_ps(self) -> int:
        return max(self._event_times(), default=self.now)

    def _event_times(self) -> list[int]:
        first_probe = rank_in(self.env, PROBE, LAST_ORDER)
        return [time_ps for time_ps, rank, _, _ in self.env.queue if rank < first_probe]

    # Messages that are sent while it runs

    @told
    def add(self, one: Addition) -> bool:
        if one.pair is not None:
            build.make_queue_pairs(self, self.ports, self._hosts, [one.pair])
        row = {
            name: getattr(one, name) for name in ("qp", "src", "dst", "packets", "size_bytes", "start_ps", "priority")
        }
        build.add_messages(self, self._hosts, [row | {"is_awaited": 1}])
        self.unfinished += 1
        if self.trail is not None:
            self.trail.n_messages += 1
        return True

    @told
    def await_end(self, number: int) -> None:
        self.messages[number].is_awaited = 1

    def end_instant(self) -> int:
        return self.now + 1

    def regrow(self, plan: Plan, one: Addition) -> None:
        """Do nothing."""

    def fork(self, plan: Plan) -> Network:
        """Return an independent copy: a network that is told the same, event for event."""
        if any(rank <= SIMPY_PRIORITY for _, rank, _, _ in self.env.queue):
            allowed = "one without processes of yours on its environment, which cannot be copied; see rdmacc.Live"
            raise ConfigError("engine", "simpy", allowed)
        twin = Network(self._first_plan)
        for time_ps, name, arguments in self.told:
            twin.replay(time_ps)
            getattr(twin, name)(*arguments)
        twin.replay(self.now if self.unfinished else NEVER)
        assert (twin.now, twin.events) == (self.now, self.events)
        if plan.chance_seed != self.plan.chance_seed:
            twin.take_chance(plan)
        if plan.scheme != self.plan.scheme:
            twin.take_scheme(plan.scheme)
        twin.plan, twin.ended = plan, list(self.ended)
        return twin

    @told
    def take_chance(self, plan: Plan) -> None:
        """Use the keys of chance of another plan."""
        for port in self.ports:
            port.chance_key, port.loss_key = int(plan.chance_key[port.number]), int(plan.loss_key[port.number])
        for number, host in self._hosts.items():
            host.clock_key = int(plan.clock_key[number])
        for pair, qp in zip(pairs_of(plan), self.qps, strict=False):  # of all messages so far
            qp.chance_key, qp.reply_chance_key = pair.chance_key, pair.reply_chance_key

    @told
    def take_scheme(self, scheme: Scheme) -> None:
        """Use another scheme's parameters."""
        is_set = sets_ports(self.scheme, scheme)
        self.scheme = scheme
        self.binding.take(scheme)
        if is_set and self.on_port is not None:
            for port in self.ports:
                self.on_port(port)

    def saved(self, plan: Plan) -> dict[str, Any]:
        """Refuse: objects that refer to each other are no state of arrays."""
        raise ConfigError("checkpoint", "of the SimPy engine", "of the compiled engine, whose state is arrays")

    def replay(self, until_ps: int) -> None:
        """Run to a time, past any awaited end."""
        while self.unfinished and self.now < until_ps:
            self.run(until_ps)
            self.ended.clear()

    def times_of(self, number: int) -> tuple[int, int, int, int]:
        message = self.messages[number]
        return message.start_ps, message.delivered_ps, message.acked_ps, message.failed

    # What faults do

    @told
    def set_link(self, ports: Sequence[int], is_up: bool) -> None:
        for number in ports:
            port = self.ports[number]
            if is_up:
                port.restore(self.now)
            else:
                port.fail(self.now)
        for number in ports:
            if is_up:
                self.ports[number].resume_work(self.now)

    @told
    def set_rate(self, ports: Sequence[int], rate_bps: float) -> None:
        for number in ports:
            self.ports[number].set_rate(rate_bps)

    @told
    def storm(self, ports: Sequence[int], is_over: bool) -> None:
        for number in ports:
            for cls in range(DATA_CLASS, NUM_CLASSES):
                self.ports[number].send_frame(RESUME if is_over else PAUSE, cls, self.now)

    @told
    def set_routes(self, fabric: Fabric) -> None:
        self.fabric = fabric
        for node in self.nodes:
            if isinstance(node, Switch):
                node.forget_routes()

    @told
    def give_up(self, messages: Sequence[int], reason: int) -> None:
        for number in messages:
            give_up(self, self.messages[number], reason, self.now)

    # What a simulation asks

    @property
    def acknowledged_packets(self) -> int:
        return sum(message.una_psn for message in self.messages)

    @property
    def moved_packets(self) -> int:
        return sum(port.tx_data_packets + port.tx_control_packets for port in self.ports)

    def outcome(self) -> RunOutcome:
        return outcome_of(self, self.nodes, self.ports, self.events, self._probes.samples)

    def pfc_state(self) -> PfcState:
        return pfc_state_of(self.nodes)

    def longest_pause_ps(self) -> int:
        return max((self.now - port.paused_since_ps for port in self.ports if port.paused), default=0)

    def sender_value(self, qp: int, component: int, field: str) -> float:
        return float(getattr(getattr(self.qps[qp], f"sender{component}"), field))

    def read(self, kind: str, number: int, field: str) -> float:
        things: dict[str, Sequence[Any]] = {"message": self.messages, "port": self.ports, "qp": self.qps}
        value: float = getattr(things[kind][number], field)
        return value

    # Errors

    def _explained(self, error: Exception) -> Exception:
        """Return a handler's exception as an error that names the handler; another one as it is."""
        if isinstance(error, RdmaccError):
            return error
        found = explain(self.scheme.components, error, self.now) or self._without_rate()
        if self.trail is None or self.binding.checks is None or (found is None and self.trail.test < 0):
            return found or error
        trail = {field.name: getattr(self.trail, field.name) for field in Trail.fields}
        return self.binding.checks.explain(trail, error, self.now)

    def _without_rate(self) -> HandlerError | None:
        """Return the error for a rate that is not finite, with which the engine cannot compute."""
        for component in limits_of(self.scheme.components)["rate_bps"]:
            name = type(self.scheme.components[component]).__name__
            for qp in self.qps:
                value = self.sender_value(qp.number, component, "rate_bps")
                if not math.isfinite(value):
                    reason = f"sender.rate_bps = {value}: must be a finite number"
                    return HandlerError(name, reason, None, self.now, f"queue pair {qp.number}")
        return None
