"""The compiled engine: lays out a plan in memory, runs the kernel on it, reads the counters back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.kernel import loop as kernel
from rdmacc.engine.compiled.kernel.events import HEAP_PADDING
from rdmacc.engine.compiled.kernel.messages import AWAITED
from rdmacc.engine.compiled.machine_code.address import FEATURES
from rdmacc.engine.compiled.machine_code.build import compiled_kernel, noting_kernel
from rdmacc.engine.compiled.machine_code.exceptions import Catcher
from rdmacc.engine.compiled.tables.clone import clone_of
from rdmacc.engine.compiled.tables.layout import GLOBALS, MAX_SLOTS, MESSAGE, PORT, QP
from rdmacc.engine.compiled.tables.memory import reader
from rdmacc.engine.compiled.tables.queue_pairs import BLOCK
from rdmacc.engine.compiled.tables.readout import outcome_of, pfc_state_of, restore, state_of
from rdmacc.engine.compiled.tables.tables import Tables
from rdmacc.engine.compiled.threads import ThreadPool
from rdmacc.engine.compiled.windows import Windows
from rdmacc.engine.fault_events import Told, held_interrupts, told
from rdmacc.engine.outcome import PfcState, RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.engine.sent import Addition
from rdmacc.engine.stalls import Livelock
from rdmacc.engine.swap import sets_ports
from rdmacc.interface import NEVER, NUM_CLASSES
from rdmacc.topology.fabric import Fabric

_CHUNK = 2_000_000  # events between two looks at signals, at most

_CHUNK_S = 0.2  # how long they may take: Ctrl-C and a progress bar wait for their end

_PLACES: Any = GLOBALS.fields
_NOW, _UNFINISHED, _EVENTS, _FIRST_ENDED, _RESERVE, _NODE_BITS = (
    _PLACES[name][1] // 8 for name in ("now_ps", "unfinished", "events", "first_ended", "reserve_packets", "node_bits")
)
_CAPACITY, _HEAP, _WHEEL = (_PLACES[name][1] // 8 for name in ("event_capacity", "heap_length", "wheel_count"))
"""Their word offsets in a row of globals."""

_times_at = reader(MESSAGE, "start_ps", "delivered_ps", "acked_ps", "failed")
_next_ended_at = reader(MESSAGE, "next_ended")
_ADDED = Struct("12q")  # what `layout.ADDED` begins with

_LEAST_ROOM, _TIMES_MORE = 2**10, 15
"""Room for messages to come: the least number, and as a multiple of those so far. A new plan takes time for each
message so far, while unused rows take no memory."""

_MOST_ARMED = 1 + 2 * MAX_SLOTS  # events that a message and on_open of its queue pair schedule, at most

_STARTS = 16_384  # messages whose queue pairs are opened at a time


class CompiledEngine(Tables):
    """A scenario in structured arrays, run by the kernel."""

    name = "compiled"
    is_early: bool
    """Whether all queue pairs are open from the start."""

    def __init__(self, plan: Plan, order: str = "time", threads: int = 1, spare: int = 0) -> None:
        self.kernel = noting_kernel() if plan.has_trace else compiled_kernel()
        super().__init__(plan, spare)
        self._begin(order, threads)

    def rewind(self, plan: Plan, order: str, threads: int) -> CompiledEngine:
        """Reset this engine for another run of the same kind."""
        is_alike = plan.kept is self.plan.kept and (order, threads) == (self._asked_order, self.pool.asked)
        if is_alike and not self.has_grown and (self.is_early or not self.hooks.may_arm_on_open):
            self._rewind(plan)
            self.windows.rewind()
            self.n_ready = len(self.starts) if self.is_early else 0
            self._set_up()
        else:
            self._refill(plan)
            self._begin(order, threads)
        return self

    @property
    def may_rewind(self) -> bool:
        return bool(self._start) and not self.globals["visits"]

    def _begin(self, order: str, threads: int) -> None:
        self._asked_order = order
        has_features = any(self.globals[name] for name in FEATURES)
        self._run = self.kernel.run if has_features else self.kernel.run_plain
        self.pool = ThreadPool(self, threads)
        self.windows = Windows(self, order, has_features)
        self.routed: Fabric | None = None
        self._open()
        self._start = self._copies()
        self._set_up()

    def be_ready(self) -> None:
        """Reset the state that is kept outside the tables."""
        self.told: Told = []
        self.ended: list[int] = []  # awaited messages that have been delivered or have failed, since a user last looked
        self._livelock = Livelock(self.plan)

    def _open(self) -> None:
        """Schedule the first events, and open the queue pairs that are open from the start."""
        self._unopened = self.rows.copy()
        events = self._first_events()
        self.kernel.push_events(self.address, events.ctypes.data, len(events))
        self.n_ready = 0  # messages, in the order of their starts, whose queue pairs exist
        self.is_early = self._opens_early()
        self._first_calls = [self._call_of("on_port", self._memory["port"], self.ports_in_order)]
        if self.is_early:
            slots = len(self.hooks.timers["Sender"]) + len(self.hooks.timers["Receiver"])
            wanted = self.first_events + self.plan.n_qps * slots
            if wanted > int(self.globals["event_capacity"]):
                self.queue.grow(wanted)
            self.n_ready = len(self.starts)
            self.pool.note_ready()
            self._opened = self.queue_pairs.open(np.arange(self.plan.n_qps))
            self._first_calls.insert(0, self._call_of("on_open", self._memory["qp"], self._opened))
        self._first_calls = [call for call in self._first_calls if call[0] and call[-1]]

    def _set_up(self) -> None:
        """Set up the components' records by on_open and on_port, and be ready to run."""
        self.be_ready()
        self.awaited: set[int] = set()  # messages of the plan for whose end somebody waits
        with Catcher(self) as caught:
            for call in self._first_calls:
                self.kernel.call_rows(self.address, *call, True)
        caught.raise_again()

    def _call(self, hook: str, raw: npt.NDArray[np.uint8], rows: npt.NDArray[np.int64], is_armed: bool = True) -> bool:
        """Call on_open or on_port for rows, and return whether any set a timer; schedule these if asked to."""
        call = self._call_of(hook, raw, rows)
        if not call[0]:
            return False
        with Catcher(self) as caught:
            due = self.kernel.call_rows(self.address, *call, is_armed)
        caught.raise_again()
        return bool(due)

    def _call_of(self, hook: str, raw: npt.NDArray[np.uint8], rows: npt.NDArray[np.int64]) -> tuple[int, ...]:
        """Return the arguments of the kernel's call of on_open or on_port."""
        stride = self.layout.row_bytes["qp" if hook == "on_open" else "port"]
        return self.hooks.addresses[hook], int(raw.ctypes.data), stride, int(rows.ctypes.data), len(rows)

    def _opens_early(self) -> bool:
        """Return whether all queue pairs must be open from the start.

        They are if there are few, if anything but their own packets reads them, or if on_open sets a timer, which we
        test on a copy.
        """
        plan, hooks = self.plan, self.hooks
        if plan.n_qps <= BLOCK or plan.dependents is not None or plan.watches or hooks.timers["Endpoint"]:
            return True
        if any(hooks.addresses[name] for name in ("on_candidate", "on_pick", "on_announce", "on_advertise")):
            return True
        if not hooks.may_arm_on_open:
            return False
        rows = max(1, min(plan.n_qps, _STARTS))
        scratch = np.zeros(rows * self.queue_pairs.row_bytes, np.uint8)
        for first in range(0, plan.n_qps, rows):
            numbers = np.arange(first, min(first + rows, plan.n_qps))
            self.queue_pairs.fill(scratch, numbers - first, numbers)
            if self._call("on_open", scratch, numbers - first, is_armed=False):
                return True
        return False

    def open_up_to(self, count: int) -> None:
        while self.n_ready < count:
            self.open_more()

    def open_more(self) -> None:
        """Free the queue pairs that have finished and create the next batch."""
        if self.n_ready:
            armed = [self._timer_offset("Receiver", slot) + 8 for slot in range(len(self.hooks.timers["Receiver"]))]
            self.queue_pairs.release(self.packet_rows.queue_pairs, armed)
        starts = self.starts[self.n_ready : self.n_ready + _STARTS]
        self.n_ready += len(starts)
        self.pool.note_ready()
        self._call("on_open", self._memory["qp"], self.queue_pairs.open(self.plan.qp[starts].astype(np.int64)))

    @told
    def set_link(self, ports: Sequence[int], is_up: bool) -> None:
        for what in (kernel.UP, kernel.WORK) if is_up else (kernel.DOWN,):
            self._fault(ports, what)

    @told
    def set_routes(self, fabric: Fabric) -> None:
        self.windows.leave()  # each thread has its own addresses of the routes
        self.routed = fabric
        self.fill_routes(fabric)

    @told
    def set_rate(self, ports: Sequence[int], rate_bps: float) -> None:
        self.ports["rate_bps"][list(ports)] = rate_bps
        self.ports["byte_ps"][list(ports)] = 8e12 / rate_bps

    @told
    def storm(self, ports: Sequence[int], is_over: bool) -> None:
        self._fault(ports, kernel.CALM if is_over else kernel.STORM)

    @told
    def give_up(self, messages: Sequence[int], reason: int) -> None:
        self.windows.leave()
        for number in messages:
            self.kernel.fail_message(self.address, number, reason)
        self._note_ended()

    # Messages that are sent while it runs

    def add(self, one: Addition) -> bool:
        number, qp, _, _, _, packets, _, _, way, keys = one
        state, first_word, place, pair = self.words, self.used_words, 0, 0
        end_word = first_word + packets // 64 + 1
        if number >= self.room or end_word > self.all_words:
            return False
        if way is not None:
            nic = way[2]
            place = self.used_places[nic]
            if place >= self.all_places[nic]:
                return False
            self.used_places[nic] = place + 1
            pair = self.queue_pairs.add(qp, way)
        self.used_words = end_word
        if state[_CAPACITY] - state[_HEAP] - state[_WHEEL] < _MOST_ARMED:
            self.queue.double()
        if self.lists_messages:
            self._list(one)
        row, address = self._added or self.row_to_add()
        _ADDED.pack_into(row, 0, *one[1:8], first_word, pair, place, *keys)
        with Catcher(self) as caught:
            self.kernel.add_message(self.address, address)
        if caught.raised is not None:
            caught.raise_again()
        return True

    def _list(self, one: Addition) -> None:
        """Update what handlers and checks read of all messages: those to a host, and their number."""
        if self.hooks.addresses["on_advertise"] and one.way is not None:
            self._fill_advertised(np.append(self._qp_dst, one.dst))
        if self.hooks.addresses["on_candidate"]:
            self._incoming[one.dst] += 1
            if self._incoming[one.dst] > self._fan_in:
                self._fan_in = 2 * int(self._incoming[one.dst])
        if 8 + self._fan_in > self.words[_RESERVE]:
            self._reserve_for_events()
        if self.trail is not None:
            self.trail["n_messages"] = one.number + 1

    def regrow(self, plan: Plan, one: Addition) -> None:
        """Rebuild the tables on a plan of all earlier messages, with room for this one and more."""
        state, kept = state_of(self, plan), (self.told, self.ended)
        spare = max(_LEAST_ROOM, _TIMES_MORE * plan.n_messages, one.packets // 256 + 1)
        CompiledEngine.__init__(self, plan, self._asked_order, self.pool.asked, spare)
        restore(self, state)
        self.told, self.ended = kept
        self.windows.leave(for_good="messages are sent while it runs")

    def fork(self, plan: Plan) -> CompiledEngine:
        changes = plan.scheme != self.plan.scheme or plan.chance_seed != self.plan.chance_seed
        if changes:  # queue pairs open by what was before, as on the SimPy engine
            self.windows.leave()
            self.pool.gather()
            self.open_up_to(len(self.starts))
            twin = self.loaded(plan, self.saved(plan))
        else:
            twin = clone_of(self, plan)
            if plan is not self.plan:  # of other faults
                twin.windows = Windows(twin, self._asked_order, twin._run is twin.kernel.run)
                if self.spare:
                    twin.windows.leave(for_good="messages are sent while it runs")
        twin.told, twin.ended = list(self.told), list(self.ended)
        if changes:
            twin.windows.leave(for_good="parameters or the seed changed on the way")
            twin._fill_seed()
            twin.queue_pairs.take_keys(plan)
            if sets_ports(self.plan.scheme, plan.scheme):
                twin._call("on_port", twin._memory["port"], twin.ports_in_order)
        return twin

    def saved(self, plan: Plan) -> dict[str, Any]:
        """Return the state that `loaded` restores; some of it is views of the tables."""
        asked = self._asked_order, self.pool.asked, self.spare, self.told, self.ended
        return {"state": state_of(self, plan), "asked": asked}

    @classmethod
    def loaded(cls, plan: Plan, saved: dict[str, Any]) -> CompiledEngine:
        order, threads, spare, told, ended = saved["asked"]
        engine = cls(plan, order, threads, spare)
        restore(engine, saved["state"])
        engine.told, engine.ended = told, ended
        if spare:
            engine.windows.leave(for_good="messages are sent while it runs")
        return engine

    def times_of(self, number: int) -> tuple[int, int, int, int]:
        found: Any = _times_at(self._memory["message"], number * self.layout.row_bytes["message"])
        return found

    @told
    def await_end(self, number: int) -> None:
        self.windows.leave()
        self.awaited.add(number)
        self.messages["is_awaited"][number] = 1

    def end_instant(self) -> int:
        state = self.words
        now = state[_NOW]
        if state[_UNFINISHED] > 0 and not state[_NODE_BITS] and self.queue.first_ps > now:
            state[_NOW] = now + 1
        return now + 1

    def _note_ended(self) -> None:
        """Collect the awaited messages that have ended, and clear the kernel's stop."""
        state, memory, stride = self.words, self._memory["message"], self.layout.row_bytes["message"]
        number, found = state[_FIRST_ENDED], list[int]()
        while number >= 0:
            found.append(number)
            (number,) = _next_ended_at(memory, number * stride)
        self.ended += found[::-1]
        if self.awaited:
            self.awaited.difference_update(found)
        if state[_UNFINISHED] < 0:  # Ctrl-C at any line, and this can be done again
            state[_UNFINISHED] += AWAITED
        state[_FIRST_ENDED] = -1

    def _fault(self, ports: Sequence[int], what: int) -> None:
        """Apply a fault to ports between two events; it may need more memory than an event does."""
        self.windows.leave()
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
            if self.plan.has_trace and int(state["trace_capacity"]) < rows + int(state["reserve_events"]):
                self.trace.grow(2 * rows + int(state["reserve_events"]))
            self.kernel.fault_port(self.address, number, what)

    # Running

    @property
    def now(self) -> int:
        return self.words[_NOW]

    @property
    def unfinished(self) -> int:
        return self.words[_UNFINISHED]

    @property
    def accepted_bytes(self) -> int:
        return int(self.globals["accepted_bytes"])

    @property
    def acknowledged_packets(self) -> int:
        return int(self.messages["una_psn"].sum(dtype=np.int64))

    @property
    def moved_packets(self) -> int:
        return int(self.ports["tx_data_packets"].sum() + self.ports["tx_control_packets"].sum())

    @property
    def events(self) -> int:
        return self.words[_EVENTS]

    @property
    def earliest_ps(self) -> int:
        state = self.words
        return state[_NOW] + (state[_UNFINISHED] == 0 and state[_EVENTS] > 0)

    def next_event_ps(self) -> int:
        if not self.plan.watches and not self.globals["node_bits"]:
            return self.queue.first_ps if self.words[_HEAP] else NEVER
        return int(self._event_times().min(initial=NEVER))

    def last_event_ps(self) -> int:
        return int(self._event_times().max(initial=self.now))

    def _event_times(self) -> npt.NDArray[np.int64]:
        events = self.pool.pending()
        return events[events[:, 1] < self._first_probe, 0]

    def peek(self) -> tuple[int, int] | None:
        self.windows.leave()
        if not self.globals["heap_length"]:
            return None
        time_ps, rank = self.queue.heap[HEAP_PADDING].tolist()
        return time_ps, rank

    def step(self) -> None:
        self.windows.leave()
        self._run_kernel(NEVER, 1)

    def run(self, until_ps: int, soon_ps: int = NEVER) -> None:
        if not self.spare and not self.awaited:
            self.windows.consider(until_ps)
        else:  # messages are awaited: the next end may be a few events away, less than the checks below take
            state, stop_ps = self.words, until_ps if until_ps < soon_ps else soon_ps
            with Catcher(self) as caught:
                reason = self._run(self.address, stop_ps, _CHUNK)
            if caught.raised is not None:
                caught.raise_again()
            if state[_FIRST_ENDED] >= 0:
                self._note_ended()
                return
            if reason == kernel.STOPPED:
                if stop_ps < NEVER and state[_UNFINISHED]:
                    state[_NOW] = stop_ps
                return
        until_ps = min(until_ps, self.windows.round_up(soon_ps))
        chunk, begin = _CHUNK, time.perf_counter()
        while self._run_kernel(until_ps, chunk) != kernel.STOPPED:
            self._livelock.look(self)
            taken_s, begin = time.perf_counter() - begin, time.perf_counter()
            chunk = min(_CHUNK, max(1_000, int(chunk * _CHUNK_S / taken_s)))
        if self.unfinished and until_ps < NEVER and not self.ended:
            self.globals["now_ps"] = until_ps

    @held_interrupts()
    def _run_kernel(self, until_ps: int, max_events: int) -> int:
        """Run the kernel, growing its tables whenever it asks; return why it stopped."""
        while True:
            is_in_windows = bool(self.globals["node_bits"])
            stop_ps, count, wait = until_ps, max_events, self.windows.resume_event - self.events
            if self.windows.resume_ps < until_ps:
                stop_ps, count = (until_ps, min(max_events, wait)) if wait > 0 else (self.windows.resume_ps, count)
            with Catcher(self) as caught:
                if is_in_windows:
                    reason = self.pool.run(until_ps, self.events + max_events)
                else:
                    reason = int(self._run(self.address, stop_ps, count))
            if self.globals["first_ended"] >= 0:
                self._note_ended()
                caught.raise_again()
                return kernel.STOPPED
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
                self.trace.double()
            elif reason == kernel.LEFT:
                self.windows.pause()
            elif reason == kernel.STOPPED and not is_in_windows and stop_ps < until_ps:
                self.windows.choose()
            elif reason == kernel.AGAIN:
                self._begin_again()
            else:
                return reason

    def _begin_again(self) -> None:
        """Windows overshot: run again from time 0 in event order, up to the last fault event."""
        told = self.told
        CompiledEngine.__init__(self, self.plan, "time", self.pool.asked)
        for time_ps, name, arguments in told:
            self.run(time_ps)
            getattr(self, name)(*arguments)

    # Reading back

    @property
    def order(self) -> str:
        """The order in which events ran, and the reason if it was that of time."""
        return self.windows.order

    def outcome(self) -> RunOutcome:
        return outcome_of(self)

    def sender_value(self, qp: int, component: int, field: str) -> float:
        dtype, offset = self.layout.fields["Sender", component, field]
        at = qp * self.layout.row_bytes["qp"] + offset
        return float(np.ndarray(1, dtype, self._memory["qp"], at)[0])

    def read(self, kind: str, number: int, field: str) -> float:
        at = number * self.layout.row_bytes[kind]
        row = np.ndarray(1, {"message": MESSAGE, "port": PORT, "qp": QP}[kind], self._memory[kind], at)
        return row[field].tolist()[0]

    def longest_pause_ps(self) -> int:
        since = self.ports["paused_since_ps"][self.ports["paused"] != 0]
        return self.now - int(since.min()) if len(since) else 0

    def pfc_state(self) -> PfcState:
        return pfc_state_of(self)
