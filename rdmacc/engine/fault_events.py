"""Faults in numbers: events of links and NICs ordered by time, random and scripted losses, clock offsets.

Both engines are told of a fault event at the same time and react alike; it is not an event. It takes effect before the
events of its instant.

A queue pair is cut off for good if, with all links that will ever come back, no path is left from the port of its
sender to the receiver, or back. Its messages fail one base round trip after routes have changed: what was already past
the failed link arrives by then. Whatever a scheme retries until then, and for how long it would, is its own affair.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import wraps
from math import prod
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from rdmacc.engine.setting import message_number
from rdmacc.engine.work import Work
from rdmacc.errors import ConfigError
from rdmacc.faults import Clocks, Fault, LinkDown, Loss, PauseStorm, ScriptedLoss, SlowLink
from rdmacc.interface import NEVER, uniform
from rdmacc.rules.progress import NO_ROUTE, NO_ROUTE_BACK
from rdmacc.topology.fabric import Fabric
from rdmacc.units import time_ps

if TYPE_CHECKING:
    from rdmacc.engine.outcome import Engine
    from rdmacc.engine.plan import Plan

DOWN, UP, REROUTED, RATE, PAUSED, RESUMED, CUT_OFF = range(7)

Told = list[tuple[int, str, tuple[Any, ...]]]
"""Times, names of methods, and their arguments."""


_Method = TypeVar("_Method", bound=Callable[..., Any])


def told(method: _Method) -> _Method:
    """Decorate a method that changes an engine from outside: calls are recorded in the engine's `told`.

    To repeat them, run up to the time noted, without its events, before each. If all messages have ended, that is 1 ps
    from now: the last event ran at this instant.
    """

    @wraps(method)
    def telling(self: Any, *args: Any) -> Any:
        self.told.append((self.earliest_ps, method.__name__, args))
        return method(self, *args)

    return telling  # type: ignore[return-value]


_handle: Any = getattr(sys.modules.get("_signal"), "signal", signal.signal)
"""`signal.signal` without its enums, which take nine tenths of its time."""


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Let Ctrl-C take effect after the block only. Also a decorator: ``@held_interrupts()``.

    A run that is interrupted can be continued, so none of its steps may be left half done. Python raises
    `KeyboardInterrupt` in the main thread alone, after any instruction.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    before = _handle(signal.SIGINT, lambda *arguments: held.append(arguments))
    try:
        yield
    finally:
        _handle(signal.SIGINT, before)
        if held and callable(before):
            before(*held[0])


class FaultEvent(NamedTuple):
    """A change of links or NICs."""

    time_ps: int
    what: int
    ports: tuple[int, ...]  # the ports that change; with REROUTED all that routes must do without
    rate_bps: float = 0.0


class FaultEvents:
    """The fault events of a plan that are still to come."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._pending = list(reversed(plan.fault_events))
        self.fabric = plan.fabric  # the network with its current routes
        self._reasons = np.zeros(plan.n_qps, np.int8)  # for each queue pair why it is cut off, 0 if it is not

    @property
    def next_ps(self) -> int:
        return self._pending[-1].time_ps if self._pending else NEVER

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the plan: whoever restores this sets it."""
        return vars(self) | {"_plan": None}

    def copy(self, plan: Plan, now: int) -> FaultEvents:
        """Return an independent copy, with the future faults of a plan."""
        twin = copy(self)
        past = {one for one in self._plan.fault_events if one.time_ps <= now}
        cut = [one for one in self._pending if one.what == CUT_OFF]
        coming = [one for one in plan.fault_events if one.time_ps >= now and one not in past]
        twin._pending = sorted([*coming, *cut], key=lambda one: one.time_ps)[::-1]
        twin._reasons, twin._plan = self._reasons.copy(), plan
        return twin

    def note_plan(self, plan: Plan) -> None:
        """Switch to a plan of more messages; new ones that are already cut off fail before they start."""
        self._reasons = np.pad(self._reasons, (0, plan.n_qps - self._plan.n_qps))
        self._plan, cut = plan, self._reasons > 0
        if self.fabric.down_ports:
            self._note_cut(tuple(self.fabric.down_ports), NEVER - 1)
            if (self._reasons[~cut] > 0).any():
                self._pending.append(FaultEvent(0, CUT_OFF, ()))

    @held_interrupts()
    def happen(self, engine: Engine) -> None:
        while self._pending and self._pending[-1].time_ps <= engine.now and engine.unfinished:
            _, what, ports, rate_bps = self._pending.pop()
            if what == REROUTED:
                self.fabric = self._plan.fabric.without(ports) if ports else self._plan.fabric
                engine.set_routes(self.fabric)
                self._note_cut(ports, engine.now)
            elif what == CUT_OFF:
                for reason in (NO_ROUTE, NO_ROUTE_BACK):
                    engine.give_up(np.flatnonzero(self._reasons[self._plan.qp] == reason).tolist(), reason)
            elif what == RATE:
                engine.set_rate(ports, rate_bps)
            elif what in (DOWN, UP):
                engine.set_link(ports, what == UP)
            else:
                engine.storm(ports, what == RESUMED)

    def _note_cut(self, down: tuple[int, ...], now: int) -> None:
        """Note which queue pairs are cut off for good, and when their messages fail."""
        plan = self._plan
        reasons = _cut_off(plan, down)
        for later in reversed(self._pending):
            if later.what == REROUTED and reasons.any():
                reasons[_cut_off(plan, later.ports) == 0] = 0
        new = (reasons > 0) & (self._reasons == 0)
        self._reasons[new] = reasons[new]
        if new.any() and now < NEVER - 1:
            late_ps = now + int(plan.qp_base_rtt_ps[new].max())
            place = next((n for n, one in enumerate(self._pending) if one.time_ps <= late_ps), len(self._pending))
            self._pending.insert(place, FaultEvent(late_ps, CUT_OFF, ()))


def _cut_off(plan: Plan, down: tuple[int, ...]) -> npt.NDArray[np.int8]:
    """Return for each queue pair why it is cut off while ports are down, 0 if it is not."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    fabric = plan.fabric
    reasons = np.zeros(plan.n_qps, np.int8)
    if not down:
        return reasons
    is_up = np.ones(fabric.n_ports, np.bool_)
    is_up[list(down)] = False
    node, peer = fabric.port_node, fabric.port_peer
    inner = is_up & ~fabric.is_host[node] & ~fabric.is_host[peer]
    ones, shape = np.ones(int(inner.sum()), np.int8), (fabric.n_nodes, fabric.n_nodes)
    links = csr_array((ones, (node[inner], peer[inner])), shape=shape)
    _, parts = connected_components(links, directed=False)
    last = is_up & fabric.is_host[peer]
    led = peer[last].astype(np.int64) * fabric.n_nodes + parts[node[last]]  # pairs of host and part of the network
    for reason, ports, ends in (
        (NO_ROUTE_BACK, plan.reply_port, plan.qp_src),
        (NO_ROUTE, plan.qp_port, plan.qp_dst),
    ):
        is_open = (peer[ports] == ends) | np.isin(ends.astype(np.int64) * fabric.n_nodes + parts[peer[ports]], led)
        reasons[~(is_up[ports] & is_open)] = reason
    return reasons


def fault_events_of(fabric: Fabric, faults: Sequence[Fault], *, has_pfc: bool) -> tuple[FaultEvent, ...]:
    found = _downs(fabric, [one for one in faults if isinstance(one, LinkDown)])
    found += _rates(fabric, [one for one in faults if isinstance(one, SlowLink)])
    storms = [one for one in faults if isinstance(one, PauseStorm)]
    ports_of = [_nics(fabric, one.host) for one in storms]
    if has_pfc:
        for ports, what, time in _switched(storms, ports_of, PAUSED, RESUMED):
            found.append(FaultEvent(time, what, ports))
    return tuple(sorted(found, key=lambda one: (one.time_ps, one.what == REROUTED)))


def lasting_rates(fabric: Fabric, faults: Sequence[Fault]) -> dict[int, float]:
    """Return the rates of ports whose links are slow from the start to the end, bit/s."""
    lasting = [one for one in faults if isinstance(one, SlowLink) and one.until_ps is None]
    return {port: one.rate_bps for one in _rates(fabric, lasting) if one.time_ps == 0 for port in one.ports}


def _nics(fabric: Fabric, host: Hashable) -> tuple[int, ...]:
    node = fabric.index.get(host, -1)
    if node < 0 or not fabric.is_host[node]:
        raise ConfigError("PauseStorm.host", host, "the name of a host")
    outer = fabric.outer(node)
    first, last = fabric.node_first_port[outer : outer + 2].tolist()
    return tuple(port for port in range(first, last) if fabric.port_peer[port] != node)


def _times(fault: Any, late_ps: int = 0) -> list[tuple[int, int]]:
    """Return when a fault begins and ends: times, and 1 or -1."""
    begins = [(time_ps(fault.at_ps, bare_ps=True) + late_ps, 1)]
    return begins if fault.until_ps is None else [*begins, (time_ps(fault.until_ps, bare_ps=True) + late_ps, -1)]


def _switched(
    faults: Sequence[Any], ports: Sequence[tuple[int, ...]], on: int, off: int, late_ps: Sequence[int] = ()
) -> list[tuple[tuple[int, ...], int, int]]:
    """Return when the first of a port's faults begins and the last ends: ports, what, time."""
    steps = [
        (time, step, which)
        for number, (fault, which) in enumerate(zip(faults, ports, strict=True))
        for time, step in _times(fault, late_ps[number] if late_ps else 0)
    ]
    count: Counter[tuple[int, ...]] = Counter()
    changes = []
    for time, step, which in sorted(steps, key=lambda one: one[0]):
        count[which] += step
        if count[which] == (1 if step > 0 else 0):
            changes.append((which, on if step > 0 else off, time))
    return changes


def _downs(fabric: Fabric, downs: Sequence[LinkDown]) -> list[FaultEvent]:
    """Return when links go down and come back, and when routes change."""
    links = [tuple(sorted((fabric.port(*one.link), fabric.port(*reversed(one.link))))) for one in downs]
    found = [FaultEvent(time, what, ports) for ports, what, time in _switched(downs, links, DOWN, UP)]
    late = [time_ps(one.convergence_ps, bare_ps=True) for one in downs]
    without: set[int] = set()
    for ports, what, time in _switched(downs, links, DOWN, UP, late):
        without = without | set(ports) if what == DOWN else without - set(ports)
        found.append(FaultEvent(time, REROUTED, tuple(sorted(without))))
    return found


def _rates(fabric: Fabric, slow: Sequence[SlowLink]) -> list[FaultEvent]:
    """Return when ports' rates change, and to what."""
    shares: dict[int, dict[int, float]] = defaultdict(dict)  # by port: of the current faults
    steps = []
    for number, one in enumerate(slow):
        ports = [fabric.port(*one.link)] + ([fabric.port(*reversed(one.link))] if one.both_ways else [])
        steps += [(time, number, step, port) for time, step in _times(one) for port in ports]
    found = []
    for time, number, step, port in sorted(steps, key=lambda each: each[0]):
        if step > 0:
            shares[port][number] = slow[number].share
        else:
            del shares[port][number]
        rate = float(fabric.port_rate_bps[port]) * prod(shares[port][k] for k in sorted(shares[port]))
        found.append(FaultEvent(time, RATE, (port,), rate))
    return found


def scripts_of(faults: Sequence[Fault], work: Work) -> tuple[ScriptedLoss, ...]:
    """Return scripted losses by message number instead of by row, since rows of computation are not messages."""
    scripts = (fault for fault in faults if isinstance(fault, ScriptedLoss))
    return tuple(replace(one, message=message_number(work, one.message, "ScriptedLoss.message")) for one in scripts)


def clocks_of(fabric: Fabric, faults: Sequence[Fault], key: int) -> tuple[npt.NDArray[np.int64], int]:
    """Return the offset of each host's clock and the jitter of a reading, ps."""
    offsets = np.zeros(fabric.n_nodes, np.int64)
    jitter = 0
    for clocks in (fault for fault in faults if isinstance(fault, Clocks)):
        for node in fabric.hosts.tolist():
            side = 2.0 * uniform(key, node) - 1.0
            offsets[node] = int(side * time_ps(clocks.offset_ps, bare_ps=True))
        jitter = time_ps(clocks.jitter_ps, bare_ps=True)
    return offsets, jitter


def losses_of(fabric: Fabric, faults: Sequence[Fault]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the probabilities that each port loses a data packet and a control packet."""
    survives = np.ones((2, fabric.n_ports))
    for fault in faults:
        if not isinstance(fault, Fault):
            kinds = ", ".join(f"a {kind.__name__}" for kind in get_args(Fault))
            raise ConfigError("faults", fault, f"one of {kinds}")
        if not isinstance(fault, Loss):
            continue
        ports = list(range(fabric.n_ports)) if fault.links is None else [fabric.port(*link) for link in fault.links]
        survives[0, ports] *= 1.0 - fault.data
        survives[1, ports] *= 1.0 - fault.control
    return 1.0 - survives[0], 1.0 - survives[1]
