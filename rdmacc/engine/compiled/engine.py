"""The compiled engine: lays out a plan in memory, runs the kernel on it, reads the counters back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled import kernel
from rdmacc.engine.compiled.build import compiled_kernel
from rdmacc.engine.compiled.exceptions import Catcher
from rdmacc.engine.compiled.heap import HEAP_PADDING
from rdmacc.engine.compiled.layout import MESSAGE, PORT, QP
from rdmacc.engine.compiled.plain import FEATURES
from rdmacc.engine.compiled.readout import outcome_of, pfc_state_of
from rdmacc.engine.compiled.tables import Tables
from rdmacc.engine.compiled.threads import ThreadPool
from rdmacc.engine.compiled.windows import Windows
from rdmacc.engine.interrupts import held_interrupts
from rdmacc.engine.livelock import Livelock
from rdmacc.engine.outcome import PfcState, RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.handlers.hooks import records_of
from rdmacc.records import NEVER, record_dtype
from rdmacc.state import NUM_CLASSES
from rdmacc.topology.fabric import Fabric

_CHUNK = 2_000_000
"""Events between two looks at signals, at most."""

_CHUNK_S = 0.2
"""How long they may take: Ctrl-C and a progress bar wait for their end."""

_STARTS = 16_384
"""Messages whose queue pairs are opened at a time."""


class CompiledEngine(Tables):
    """A scenario in structured arrays, run by the kernel."""

    name = "compiled"

    def __init__(self, plan: Plan, order: str = "time", threads: int = 1) -> None:
        self.kernel = compiled_kernel()
        super().__init__(plan)
        self._begin(order, threads)

    def rewind(self, plan: Plan, order: str, threads: int) -> CompiledEngine:
        """Return this engine for another run: the plan differs by its seed alone."""
        self._rewind(plan)
        self._begin(order, threads)
        return self

    @property
    def may_rewind(self) -> bool:
        """Whether another run may take its memory."""
        return bool(self._start) and not self.globals["visits"]

    def _begin(self, order: str, threads: int) -> None:
        has_features = self._has_features()
        self._run = self.kernel.run if has_features else self.kernel.run_plain
        self.pool = ThreadPool(self, threads)
        self._windows = Windows(self, order, has_features)
        self.n_ready = 0
        """Messages, in the order of their starts, whose queue pairs exist."""
        self._told: list[tuple[int, str, tuple[Any, ...]]] = []
        self._livelock = Livelock(self.plan)
        self._open()

    def _has_features(self) -> bool:
        """Return whether the simulation uses a feature that the plain kernel lacks."""
        return any(self.globals[name] for name in FEATURES)

    def _open(self) -> None:
        """Schedule the first events, and set up the components' records by on_open and on_port."""
        events = self._first_events()
        self.kernel.push_events(self.rows.ctypes.data, events.ctypes.data, len(events))
        self._is_early = self._opens_early()
        if self._is_early:
            slots = sum(int(self.globals[f"n_{kind}_slots"]) for kind in ("sender", "receiver"))
            wanted = self.first_events + self.plan.n_qps * slots
            if wanted > int(self.globals["event_capacity"]):
                self.queue.grow(wanted)
            self.n_ready = len(self.starts)
            self.pool.note_ready()
            self._call("on_open", self._memory["qp"], self.queue_pairs.open(np.arange(self.plan.n_qps)))
        self._call("on_port", self._memory["port"], np.arange(len(self.ports)))

    def _call(self, hook: str, raw: npt.NDArray[np.uint8], rows: npt.NDArray[np.int64], is_armed: bool = True) -> bool:
        """Call on_open or on_port for rows; schedule the timers they set or not; return whether they set one."""
        address = self.hooks.addresses[hook]
        if not address:
            return False
        stride = self.layout.row_bytes["qp" if hook == "on_open" else "port"]
        base = int(raw.ctypes.data)
        at = self.rows.ctypes.data
        with Catcher(self) as caught:
            due = self.kernel.call_rows(at, address, base, stride, rows.ctypes.data, len(rows), is_armed)
        caught.raise_again()
        return bool(due)

    def _opens_early(self) -> bool:
        """Return whether all queue pairs must be open from the start: something else than their packets reads them.

        Or on_open sets a timer. Whether it does is tried out, on other memory.
        """
        plan, hooks = self.plan, self.hooks
        if plan.dependents is not None or plan.watches or hooks.timers["Endpoint"]:
            return True
        if any(hooks.addresses[name] for name in ("on_candidate", "on_pick", "on_announce", "on_advertise")):
            return True
        if not hooks.may_arm_on_open:
            return False
        rows = min(plan.n_qps, _STARTS)
        scratch = np.zeros(rows * self.queue_pairs.row_bytes, np.uint8)
        for first in range(0, plan.n_qps, rows):
            numbers = np.arange(first, min(first + rows, plan.n_qps))
            self.queue_pairs.fill(scratch, numbers - first, numbers)
            if self._call("on_open", scratch, numbers - first, is_armed=False):
                return True
        return False

    def open_up_to(self, count: int) -> None:
        """Create the queue pairs of the first `n_messages` messages, in the order of their starts."""
        while self.n_ready < count:
            self.open_more()

    def open_more(self) -> None:
        """Free the queue pairs that have finished and create the next batch."""
        armed = [self._timer_offset("Receiver", slot) + 8 for slot in range(int(self.globals["n_receiver_slots"]))]
        self.queue_pairs.release(self.packet_rows.queue_pairs, armed)
        starts = self.starts[self.n_ready : self.n_ready + _STARTS]
        self.n_ready += len(starts)
        self.pool.note_ready()
        self._call("on_open", self._memory["qp"], self.queue_pairs.open(self.plan.qp[starts].astype(np.int64)))

    def set_link(self, ports: Sequence[int], is_up: bool) -> None:
        """Take both directions of a link down, or bring them back."""
        self._told.append((self.now, "set_link", (ports, is_up)))
        for what in (kernel.UP, kernel.WORK) if is_up else (kernel.DOWN,):
            self._fault(ports, what)

    def set_routes(self, fabric: Fabric) -> None:
        """Route by another fabric, of the same numbering."""
        self._told.append((self.now, "set_routes", (fabric,)))
        self._windows.leave()  # each thread has its own addresses of the routes
        self._fill_routes(fabric)

    def set_rate(self, ports: Sequence[int], rate_bps: float) -> None:
        """Set the rate of ports' links for what they send from now on."""
        self._told.append((self.now, "set_rate", (ports, rate_bps)))
        self.ports["rate_bps"][list(ports)] = rate_bps
        self.ports["byte_ps"][list(ports)] = 8e12 / rate_bps

    def storm(self, ports: Sequence[int], is_over: bool) -> None:
        """Make hosts' ports send PAUSE for all data classes, or RESUME."""
        self._told.append((self.now, "storm", (ports, is_over)))
        self._fault(ports, kernel.CALM if is_over else kernel.STORM)

    def give_up(self, messages: Sequence[int], reason: int) -> None:
        """Fail messages that have not ended: they have no route any more."""
        self._told.append((self.now, "give_up", (messages, reason)))
        self._windows.leave()
        for number in messages:
            self.kernel.fail_message(self.rows.ctypes.data, number, reason)

    def _fault(self, ports: Sequence[int], what: int) -> None:
        """Change ports between two events, which may take more memory than an event does."""
        self._windows.leave()
        state, first = self.globals, self.plan.fabric.node_first_port
        for number in ports:
            node = int(self.plan.fabric.port_node[number])
            frames = NUM_CLASSES * int(first[node + 1] - first[node]) + int(state["reserve_packets"])
            if int(state["packet_capacity"]) - int(state["packet_count"]) + int(state["free_count"]) < frames:
                self.packet_rows.provide(self.kernel, self.rows, frames)
            pending, events = int(state["heap_length"]) + int(state["wheel_count"]), frames + 2 * len(self.ports)
            if int(state["event_capacity"]) - pending < events:
                self.queue.grow(2 * int(state["event_capacity"]) + events)
            rows = int(state["trace_count"]) + int(state["live_packets"]) + frames
            if self.plan.has_trace and len(self.trace) < rows + int(state["reserve_events"]):
                self._grow_trace(2 * rows + int(state["reserve_events"]))
            self.kernel.fault_port(self.rows.ctypes.data, number, what)

    # Running

    @property
    def now(self) -> int:
        """Simulated time, ps."""
        return int(self.globals["now_ps"])

    @property
    def unfinished(self) -> int:
        """Messages that are neither acknowledged nor failed."""
        return int(self.globals["unfinished"])

    @property
    def accepted_bytes(self) -> int:
        """Payload that receivers have taken, of all messages."""
        return int(self.globals["accepted_bytes"])

    @property
    def acknowledged_packets(self) -> int:
        """Packets below the oldest one that is not acknowledged, of all messages."""
        return int(self.messages["una_psn"].sum(dtype=np.int64))

    @property
    def moved_packets(self) -> int:
        """Packets that ports have put on their links."""
        return int(self.ports["tx_data_packets"].sum() + self.ports["tx_control_packets"].sum())

    @property
    def events(self) -> int:
        """Events processed."""
        return int(self.globals["events"])

    def next_event_ps(self) -> int:
        """Time of the next event that is not a probe's; NEVER if none is pending."""
        return int(self._event_times().min(initial=NEVER))

    def last_event_ps(self) -> int:
        """Time of the last event so far that is not a probe's; now if none is pending."""
        return int(self._event_times().max(initial=self.now))

    def _event_times(self) -> npt.NDArray[np.int64]:
        """Return the times of all events but those of probes."""
        events = self.pool.pending()
        return events[events[:, 1] < self._first_probe, 0]

    def peek(self) -> tuple[int, int] | None:
        """Return time and rank of the next event, None if there is none."""
        self._windows.leave()
        if not self.globals["heap_length"]:
            return None
        time_ps, rank = self.queue.heap[HEAP_PADDING].tolist()
        return time_ps, rank

    def step(self) -> None:
        """Process one event."""
        self._windows.leave()
        self._run_kernel(NEVER, 1)

    def run(self, until_ps: int, soon_ps: int = NEVER) -> None:
        """Process every event before `until_ps`, or until the last message is finished; return from `soon_ps` on."""
        self._windows.consider(until_ps)
        until_ps = min(until_ps, self._windows.round_up(soon_ps))
        chunk, begin = _CHUNK, time.perf_counter()
        while self._run_kernel(until_ps, chunk) != kernel.STOPPED:
            self._livelock.look(self)
            taken_s, begin = time.perf_counter() - begin, time.perf_counter()
            chunk = min(_CHUNK, max(1_000, int(chunk * _CHUNK_S / taken_s)))
        if self.unfinished and until_ps < NEVER:
            self.globals["now_ps"] = until_ps

    @held_interrupts()
    def _run_kernel(self, until_ps: int, max_events: int) -> int:
        """Run the kernel, with more memory whenever it asks for it; return why it stopped."""
        while True:
            is_in_windows = bool(self.globals["node_bits"])
            stop_ps, count, wait = until_ps, max_events, self._windows.resume_event - self.events
            if self._windows.resume_ps < until_ps:
                stop_ps, count = (until_ps, min(max_events, wait)) if wait > 0 else (self._windows.resume_ps, count)
            with Catcher(self) as caught:
                if is_in_windows:
                    reason = self.pool.run(until_ps, self.events + max_events)
                else:
                    reason = int(self._run(self.rows.ctypes.data, stop_ps, count))
            if not is_in_windows:  # there, what is raised first may not be what happens first
                caught.raise_again()
            elif caught.raised is not None:
                reason = kernel.AGAIN
            if is_in_windows and kernel.MORE_PACKETS <= reason <= kernel.MORE_QUEUE_PAIRS:
                self.pool.provide()
            elif reason == kernel.MORE_PACKETS:
                self.packet_rows.provide(self.kernel, self.rows)
            elif reason == kernel.MORE_EVENTS:
                self.queue.double()
            elif reason == kernel.MORE_SAMPLES:
                self.samples.double()
            elif reason == kernel.MORE_QUEUE_PAIRS:
                self.open_more()
            elif reason == kernel.MORE_TRACE:
                self._grow_trace(2 * len(self.trace) + int(self.globals["reserve_events"]))
            elif reason == kernel.LEFT:
                self._windows.pause()
            elif reason == kernel.STOPPED and not is_in_windows and stop_ps < until_ps:
                self._windows.choose()
            elif reason == kernel.AGAIN:
                self._begin_again()
            else:
                return reason

    def _begin_again(self) -> None:
        """Windows overshot: run again from time 0 in event order, up to the last fault event."""
        told = self._told
        CompiledEngine.__init__(self, self.plan, "time", self.pool.asked)
        for time_ps, name, arguments in told:
            self.run(time_ps)
            getattr(self, name)(*arguments)

    # Reading back

    @property
    def order(self) -> str:
        """The order in which events ran; where it was that of time, why."""
        return self._windows.order

    def outcome(self) -> RunOutcome:
        """Return the counters so far."""
        return outcome_of(self)

    def sender_value(self, qp: int, component: int, field: str) -> float:
        """Return a number that a component's sender record has for a queue pair."""
        record = dict(records_of(self.plan.scheme.components, "Sender"))[component]
        at = qp * self.layout.row_bytes["qp"] + self.layout.offsets["Sender", component]
        row = np.ndarray(1, record_dtype(record), self._memory["qp"], at)
        return float(row[field][0])

    def read(self, kind: str, number: int, field: str) -> float:
        """Return a field of a "message", of a "port", or of the queue pair ("qp") of a message that has started."""
        at = number * self.layout.row_bytes[kind]
        row = np.ndarray(1, {"message": MESSAGE, "port": PORT, "qp": QP}[kind], self._memory[kind], at)
        return row[field].tolist()[0]

    def longest_pause_ps(self) -> int:
        """For how long the port that PFC has stopped longest has been stopped."""
        since = self.ports["paused_since_ps"][self.ports["paused"] != 0]
        return self.now - int(since.min()) if len(since) else 0

    def pfc_state(self) -> PfcState:
        """Return who waits on whom."""
        return pfc_state_of(self)

    def transfers(self) -> dict[tuple[int, str], npt.NDArray[Any]]:
        """Return the numbers that the scheme's components keep of each message."""
        return {
            (component, field.name): self._transfer_column(component, field).copy()
            for component, field in self._of_scheme.transfers
        }
