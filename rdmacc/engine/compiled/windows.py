"""Windows: process the events of one node at a time, in windows as long as the shortest link's delay.

What happens at a node reaches another one only after a link's delay. So within a window of that length the order of the
nodes does not matter, and the kernel processes all events of a node while its ports, queues and packets are in the
nearest cache. All windows have the same length, within 1.6% of the shortest delay: time, in grains of 128 ps, is
multiplied by a seven-bit number and shifted. This relies on three things:

- An event belongs to one node (`node_of` in `events`) and reads and writes only that node's state: its ports, its
  buffer, its side of queue pairs and messages (`rdmacc.handlers.sides`). What it sends arrives in a later window; the
  packet is appended to its link's chain, and only the receiver takes the head.
- Ranks of simultaneous events do not depend on when they were scheduled, chance is counted by place, totals are sums.
- Between windows all nodes are at the same time. There the kernel pauses, and returns to the order of time before a run
  must stop inside a window (a given time, a fault event) or may end, which is once every message is delivered: until
  then no last ACK can arrive in the same window.

A run that ends earlier, as when its last messages fail, or in which time stands still, is noticed only after other
nodes have gone ahead. It is then run again in the order of time.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.kernel.events import GRAIN_BITS
from rdmacc.engine.fault_events import held_interrupts
from rdmacc.engine.plan import Plan
from rdmacc.handlers.reading import accesses_of
from rdmacc.handlers.sides import owner_of, shared_fields, writers_of
from rdmacc.interface import NEVER
from rdmacc.rules.ranks import DELIVER, RANK_SHIFT, START

if TYPE_CHECKING:
    from rdmacc.engine.compiled.engine import CompiledEngine

_LEAST_PS = 2**14  # a shorter window is not worth the change of nodes: 200 bytes at 100 Gb/s

_LEAST_PACKETS = 2
"""By default the engine runs in windows if this many packets fit into one on the slowest link, and the network's
ports do not all fit into the cache. With one packet, windows gain nothing, and cost a quarter in an idle network."""

_FACTOR_BITS = 7  # times have 62 bits, less those of a grain

_EVENTS, _EVENTS_EACH = 10_000, 4
"""Sorting the pending events pays off if at least this many are still to come, plus this many for each pending one. No
fewer run between two looks at the pending events, so looking costs an event a bounded time, however many are pending.
"""


def why_by_time(plan: Plan, has_features: bool) -> str:
    """Return why a plan is run in the order of time; empty if windows give the same results."""
    shared, far = shared_fields(plan.scheme.components), ends_elsewhere(plan)
    far_durations = plan.computation.duration_ps[far[plan.n_messages :]]
    delay_ps = int(plan.fabric.port_delay_ps.min())
    for reason, holds in (
        ("the scheme has a tick", plan.scheme.tick_ps > 0),
        ("a trace is kept", plan.is_whole),
        ("a probed field is written at two ends of a link", bool((nodes_probed(plan) < 0).any())),
        ("something waits for a message between two other hosts", bool(far[: plan.n_messages].any())),
        ("something waits for a short computation on another host", bool((far_durations < delay_ps).any())),
        ("a receiver reads when others start", plan.dependents is not None and _reads_starts(plan)),
        ("it has a feature that the plain kernel lacks", has_features),
        ("a link has almost no delay", delay_ps < _LEAST_PS),
        (f"sender and receiver share {', '.join(shared.always)}", bool(shared.always)),
        (f"sender and receiver share {', '.join(shared.after_loss)} after a loss", shared.after_loss and _loses(plan)),
    ):
        if holds:
            return reason
    return ""


def why_not_better(engine: CompiledEngine) -> str:
    """Return why windows are not expected to be faster; empty if they are."""
    fabric = engine.plan.fabric
    if not engine.globals["prefetch_depth"]:
        return "the network fits into the cache"
    bytes_each = float(fabric.port_rate_bps.min()) * float(fabric.port_delay_ps.min()) / 8e12
    few = bytes_each < _LEAST_PACKETS * engine.plan.scheme.wire_bytes and engine.pool.count == 1
    return "a link has too few packets in a window" if few else ""


def nodes_probed(plan: Plan) -> npt.NDArray[np.int64]:
    """Return the node at which each probe's field is written; -1 if it is written at several."""
    writers = writers_of(plan.scheme.components) if plan.watches else {}
    found = []
    for watch in plan.watches:
        owner = owner_of(plan.scheme.components, watch.component) if watch.record == "transfer" else watch.record
        places = writers.get(f"{owner}.{watch.field.name}", set())
        if watch.record in ("host", "endpoint"):
            node = watch.number
        elif watch.record in ("port", "egress"):
            node = -1 if places else int(plan.fabric.port_node[watch.number])
        elif watch.record in ("sender", "receiver", "qp"):
            is_there = watch.record == "receiver" or places == {"receiver"}
            node = int((plan.qp_dst if is_there else plan.qp_src)[watch.number])
        else:
            node = int((plan.dst if places == {"receiver"} else plan.src)[watch.number])
        found.append(-1 if len(places) > 1 or "switch" in places else node)
    return np.array(found, np.int64)


def ends_elsewhere(plan: Plan) -> npt.NDArray[np.bool_]:
    """Return for each message and computation whether something at another host waits for its end."""
    found = np.zeros(len(plan.waits_for), np.bool_)
    if plan.dependents is None:
        return found
    src, dst = (np.concatenate([end, plan.computation.host]) for end in (plan.src, plan.dst))
    ended = np.repeat(np.arange(len(src)), np.diff(plan.dependents.first))
    host = src[plan.dependents.rows]
    found[ended[(host != src[ended]) & (host != dst[ended])]] = True
    return found


def _reads_starts(plan: Plan) -> bool:
    """Return whether a receiver's handler reads the start of messages that may not have started."""
    components = plan.scheme.components
    return any(
        ("message", "start_ps", False) in accesses_of(components, part, name)
        for part in components
        for name in ("on_announce", "on_advertise")
        if name in part.handlers()
    )


def _loses(plan: Plan) -> bool:
    return bool(len(plan.fault_events) or plan.loss_data.any() or plan.loss_control.any())


class Windows:
    """Switches an engine's kernel between windows and the order of time."""

    def __init__(self, engine: CompiledEngine, order: str, has_features: bool) -> None:
        self._engine: CompiledEngine = proxy(engine)  # so that an engine goes with its last reference
        self._why_not = "asked for" if order == "time" else why_not_better(engine) if order == "auto" else ""
        if not self._why_not:  # to read handlers takes a third of a millisecond
            self._why_not = why_by_time(engine.plan, has_features)
        self._shift = self._factor = 0
        self._has_far = False
        if not self._why_not:
            grains = int(engine.plan.fabric.port_delay_ps.min()) >> GRAIN_BITS
            self._shift = _FACTOR_BITS - 1 + (grains - 1).bit_length()
            self._factor = -(-(1 << self._shift) // grains)  # grains per window
            engine.watches["node"][: len(engine.plan.watches)] = nodes_probed(engine.plan)
            is_far = ends_elsewhere(engine.plan)[engine.plan.n_messages :]
            engine.computation["is_far"], self._has_far = is_far, bool(is_far.any())
            engine.globals["is_entwined"] = bool(shared_fields(engine.plan.scheme.components).after_loss)
        self.rewind()

    def rewind(self) -> None:
        """Return to the start, before any window."""
        self._before = 0, 0
        self._until_ps = -1
        self.resume_ps = NEVER  # when windows may go on, if they had to stop for an end of computation
        self.resume_event = 0  # they do so after this many events at the earliest

    def clone(self, engine: CompiledEngine) -> Windows:
        """Return a copy for a copy of the engine."""
        twin = copy(self)
        twin._engine = proxy(engine)
        return twin

    @property
    def order(self) -> str:
        return "windows" if self._engine.globals["visits"] else f"time: {self._why_not or 'too little happens'}"

    def round_up(self, time_ps: int) -> int:
        """Round a time up to the begin of a window."""
        if self._why_not:
            return time_ps
        return -(-(self._step_of(time_ps - 1) + 1 << self._shift) // self._factor) << GRAIN_BITS

    def _step_of(self, time_ps: Any) -> Any:
        return (time_ps >> GRAIN_BITS) * self._factor >> self._shift

    def consider(self, until_ps: int) -> None:
        """Enter windows if that pays before `until_ps`, when they must end."""
        if not self._why_not and until_ps != self._until_ps:
            self._until_ps = until_ps
            self.choose()

    def choose(self) -> None:
        """Enter windows now if that pays."""
        state, (before_ps, events) = self._engine.globals, self._before
        now, pending = int(state["now_ps"]), int(state["heap_length"]) + int(state["wheel_count"])
        self._before = now, int(state["events"])
        self.resume_ps = NEVER
        if self._why_not or state["node_bits"] or state["undelivered"] <= 0:
            return
        least = _EVENTS + _EVENTS_EACH * pending
        self.resume_event = self._before[1] + least
        self.resume_ps = self._far_ps() + 1
        until_ps = min(self._until_ps, self.resume_ps)
        if until_ps <= self.round_up(now + 1):
            return
        if state["is_entwined"] and state["dropped_bytes"] + state["discarded_bytes"]:
            return
        if now > before_ps:
            expected = (int(state["events"]) - events) * (until_ps - now) / (now - before_ps)
        else:
            plan = self._engine.plan
            expected = _EVENTS_EACH * float(plan.packets[plan.start_ps < until_ps].sum(dtype=np.int64))
        if expected > least:
            self._sort(in_windows=True)

    def pause(self) -> None:
        """Return to the order of time until the next computation ends that something at another host waits for."""
        self.leave()
        self.resume_ps = self._far_ps() + 1

    def _far_ps(self) -> int:
        """Return when the next such computation ends; NEVER if none is running."""
        engine = self._engine
        if not self._has_far:
            return NEVER
        events = engine.pool.pending()
        events = events[events[:, 1] < DELIVER]
        rows = (events[:, 1] & (1 << RANK_SHIFT) - 1) - engine.plan.n_messages
        events, rows = events[rows >= 0], rows[rows >= 0]
        return int(events[engine.computation["is_far"][rows] == 1, 0].min(initial=NEVER))

    def leave(self, for_good: str = "") -> None:
        """Return to the order of time, between windows; for good if a reason is given."""
        self._why_not = self._why_not or for_good
        self.resume_ps = NEVER
        if self._engine.globals["node_bits"]:
            self._sort(in_windows=False)

    @held_interrupts()
    def _sort(self, in_windows: bool) -> None:
        """Sort the pending events by window and node, or by time alone."""
        engine = self._engine
        state, events = engine.globals, engine.pool.pending()
        messages = events[:, 1] & (1 << RANK_SHIFT) - 1
        is_chained = (events[:, 1] < DELIVER) & (messages < engine.plan.n_messages)
        which = messages[is_chained]
        is_chained[is_chained] = (engine.messages["is_delayed"][which] == 0) & (engine.plan.waits_for[which] == 0)
        others = events[~is_chained]
        if in_windows:
            window = self._shift, self._factor
            state["far_ps"] = self._far_ps()
            engine.pool.begin(others, int(state["next_start"]), self._step_of(engine.now), window)
            return
        engine.pool.end()
        state["next_start"] -= int(is_chained.sum())  # all before it have happened
        starts = engine.starts[state["next_start"] :][:1]
        chain = np.stack([engine.plan.start_ps[starts], START + starts.astype(np.int64)], axis=1)
        engine.queue.lay(engine.kernel, np.concatenate([others, chain]), 0)
