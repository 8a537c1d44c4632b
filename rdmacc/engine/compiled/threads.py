"""Threads: nodes are independent within a window, so each thread simulates its own.

Each thread runs the kernel with its own row of globals. Most of the row is a copy of the first thread's: addresses of
tables and the scheme's constants. A thread has its own event queue, free packets, message starts and totals, which are
added to the first thread's. It alone writes the rows of its nodes and ports, and the row of a packet while that is at
one of its nodes or on a link to one. `rdmacc.engine.compiled.kernel.queues` passes packets between threads.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import TYPE_CHECKING
from weakref import proxy

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.kernel import loop as kernel
from rdmacc.engine.compiled.kernel.events import GRAIN_BITS
from rdmacc.engine.compiled.tables.layout import CACHE_LINE, CROSSING, GLOBALS, SAMPLE
from rdmacc.engine.compiled.tables.memory import EventQueue, Log, zeroed
from rdmacc.engine.records import TOTALS
from rdmacc.engine.trace import ROW
from rdmacc.errors import SimulationError
from rdmacc.interface import NEVER
from rdmacc.rules.ranks import START
from rdmacc.topology.fabric import Fabric

if TYPE_CHECKING:
    from rdmacc.engine.compiled.engine import CompiledEngine

_FIRST_EVENTS = 2**17  # rows of events of a thread at the start, at most, and two for each event that is pending

_SAMPLES = 1024  # rows of samples of a thread at the start

_OWN = [
    "samples", "sample_count", "sample_capacity", "traces", "trace_count", "trace_capacity", "free_head", "free_count",
    "packet_count", "packet_capacity", "notice_packet",
]  # fmt: skip
"""Fields that a thread keeps while windows are not running."""

_COUNTED = [*TOTALS, "unfinished", "undelivered", "visits"]

Numbers = npt.NDArray[np.int64]


def racks_of(fabric: Fabric) -> npt.NDArray[np.int32]:
    """Return each host's switch: that of its first link."""
    return fabric.port_peer[fabric.node_first_port[fabric.hosts]]


def threads_of(fabric: Fabric, load: npt.NDArray[np.float64], count: int) -> Numbers:
    """Return the thread of each node.

    Hosts go with their switch, so no rack is split. Each thread gets consecutive racks with an equal share of the load.
    Other switches go to the thread that most of their bandwidth leads to, the least loaded one if several tie; switches
    without a path to any host go to thread 0.
    """
    switch = racks_of(fabric)
    load = load.astype(float)
    np.add.at(load, switch, load[fabric.hosts])
    racks = np.unique(switch)
    weights = load[racks] + 1e-9 * (1 + load.sum())
    middle = np.cumsum(weights) - weights / 2
    chosen = np.full(fabric.n_nodes, -1)
    chosen[racks] = np.minimum(middle * count / weights.sum(), count - 1).astype(int)
    chosen[fabric.hosts] = chosen[switch]
    height = np.where(chosen >= 0, 0, -1)
    level = np.flatnonzero(chosen >= 0)
    while len(level):  # one tier after another
        ports = np.flatnonzero(np.isin(fabric.port_node, level) & (height[fabric.port_peer] < 0))
        level = np.unique(fabric.port_peer[ports])
        height[level] = height.max() + 1
        upward = np.bincount(fabric.port_node[ports], fabric.port_rate_bps[ports], fabric.n_nodes)
        shares = fabric.port_rate_bps[ports] / upward[fabric.port_node[ports]] * load[fabric.port_node[ports]]
        load += np.bincount(fabric.port_peer[ports], shares, fabric.n_nodes)
        links = np.zeros((fabric.n_nodes, count))
        np.add.at(links, (fabric.port_peer[ports], chosen[fabric.port_node[ports]]), fabric.port_rate_bps[ports])
        borne = np.bincount(chosen[chosen >= 0], load[chosen >= 0], count)
        for node in level.tolist():
            near = np.flatnonzero(links[node] >= 0.99 * links[node].max())
            chosen[node] = near[np.argmin(borne[near])]
            borne[chosen[node]] += load[node]
    chosen[height < 0] = 0
    return chosen


def _checked(owners: Numbers, count: int, fabric: Fabric) -> Numbers:
    """Raise an error unless each node has a thread; the kernel would write out of bounds."""
    strays = np.flatnonzero((owners < 0) | (owners >= count))
    if len(strays) or len(owners) != fabric.n_nodes:
        names = ", ".join(str(fabric.names[node]) for node in strays[:8].tolist())
        raise SimulationError(f"{len(strays)} of {fabric.n_nodes} nodes have no thread ({names}); use threads=1")
    return owners


class _Worker:
    """One thread's row of globals, its queue of events and the messages that start at its nodes."""

    def __init__(self, rows: npt.NDArray[np.void], queue: EventQueue, samples: Log, trace: Log) -> None:
        self.rows, self.row, self.queue = rows, rows[0], queue
        self.starts = np.zeros(0, np.int32)
        self.samples, self.trace = samples, trace
        self.places = np.zeros(0, np.int64)  # where these messages are among all that start
        self.outbox = np.zeros(0, np.int64)

    @property
    def address(self) -> int:
        return int(self.rows.ctypes.data)


class ThreadPool:
    """A simulation's threads; the first one's row and queue are the engine's."""

    def __init__(self, engine: CompiledEngine, asked: int) -> None:
        self._engine: CompiledEngine = proxy(engine)  # so that an engine goes with its last reference
        self.asked = asked
        self.count = 1
        if asked > 1 and not engine.plan.is_checked:  # all would write into the same trail
            self.count = min(asked, len(np.unique(racks_of(engine.plan.fabric))))
        self._addresses = np.array([engine.rows.ctypes.data] * self.count, np.int64)
        engine.globals["n_threads"], engine.globals["pool"] = self.count, self._addresses.ctypes.data
        self._workers: list[_Worker] = [_Worker(engine.rows, engine.queue, engine.samples, engine.trace)]
        if self.count == 1:
            self._workers[0].starts = engine.starts

    @property
    def account(self) -> str:
        """How many threads ran, and why if they are fewer than asked for."""
        ran = self.count if self._engine.globals["visits"] else 1
        if ran == self.asked:
            return str(ran)
        if not self._engine.globals["visits"]:
            return "1: the order is that of time"
        if self._engine.plan.is_checked:
            return "1: handlers are checked"
        return "1: one switch has all hosts" if ran == 1 else f"{ran}: only {ran} switches have hosts"

    @property
    def balance(self) -> float:
        """Load balance: mean over maximum number of events per thread."""
        longest = int(self._engine.globals["longest_events"])
        return int(self._engine.globals["window_events"]) / (self.count * longest) if longest else 1.0

    def _recruit(self) -> None:
        """Assign the nodes to threads, and give each thread its memory."""
        engine, plan = self._engine, self._engine.plan
        fabric = plan.fabric
        load = np.bincount(plan.src, plan.packets, fabric.n_nodes) + np.bincount(plan.dst, plan.packets, fabric.n_nodes)
        owners = self.owners = _checked(threads_of(fabric, load.astype(float), self.count), self.count, fabric)
        there, here = owners[fabric.port_peer], owners[fabric.port_node]
        engine.ports["crosses"] = np.where(there != here, 1 + there, 0)
        self._crossings = np.zeros((2, fabric.n_ports), CROSSING)
        for name in CROSSING.names or ():
            self._crossings[name] = -1
        self._meeting = zeroed(2 * CACHE_LINE)
        state = engine.globals
        state["crossings"], state["crossings_bytes"] = self._crossings.ctypes.data, self._crossings[0].nbytes
        state["meeting"], state["yield_thread"] = self._meeting.ctypes.data, _yield_address()
        crossing = int((there != here).sum())
        engine.queue.crossing_room = crossing
        engine.queue.grow(int(state["event_capacity"]))
        by, traced = owners[plan.src[engine.starts]], int(state["trace_capacity"]) // self.count
        for number in range(self.count):
            if number:
                room = zeroed(GLOBALS.itemsize + 2 * CACHE_LINE)
                rows = np.ndarray(1, GLOBALS, room)
                logs = Log(rows[0], "sample", SAMPLE, _SAMPLES), Log(rows[0], "trace", ROW, traced)
                self._workers.append(_Worker(rows, EventQueue(rows, plan, crossing), *logs))
                engine.packet_rows.join(rows)
            worker = self._workers[number]
            worker.places = np.flatnonzero(by == number)
            worker.starts = engine.starts[worker.places]
            worker.outbox = zeroed((2 * 8 * self.count // CACHE_LINE + 1) * CACHE_LINE).view(np.int64)
            worker.outbox[:] = -1
            self._addresses[number] = worker.address

    def begin(self, events: Numbers, first: int, step: int, window: tuple[int, int]) -> None:
        """Start windows at `step` with the pending events and the messages from `first` on."""
        engine = self._engine
        if self.count > len(self._workers):
            self._recruit()
        owners = np.zeros(len(events), np.int64)
        if self.count > 1:
            events = np.ascontiguousarray(events)
            engine.kernel.find_nodes(engine.rows.ctypes.data, events.ctypes.data, owners.ctypes.data, len(events))
            owners = self.owners[owners]
        for number, worker in enumerate(self._workers):
            row, own = worker.row, events[owners == number]
            if number:
                kept = {name: row[name] for name in _OWN}
                worker.rows[:] = engine.rows
                for name, value in kept.items():
                    row[name] = value
                for name in (*_COUNTED, "heap_length", "wheel_count"):
                    row[name] = 0
                few = min(_FIRST_EVENTS, 1024 + 2 * engine.plan.fabric.n_ports // self.count)
                worker.queue.grow(few + 2 * len(own) + int(row["reserve_events"]))
            row["starts"], row["n_starts"] = worker.starts.ctypes.data, len(worker.starts)
            next_start = self._place(worker, first)
            times = engine.plan.start_ps[worker.starts[next_start:]]
            if len(times):
                steps = (times >> GRAIN_BITS) * window[1] >> window[0]
                times = times[steps == steps[0]]
                row["start_step"] = steps[0]
                last = next_start + len(times)
                chain = np.stack([times, START + worker.starts[next_start:last].astype(np.int64)], axis=1)
                own, next_start = np.concatenate([own, chain]), last
                engine.open_up_to(1 + (last - 1 if self.count == 1 else int(worker.places[last - 1])))
            row["next_start"] = next_start
            row["thread"], row["outbox"], row["turn"], row["handed_ps"] = number, worker.outbox.ctypes.data, 0, NEVER
            worker.queue.lay(engine.kernel, own, step, *window)
        engine.globals["window_base"] = engine.globals["events"]
        self.note_ready()
        for worker in self._workers:
            if worker.row["packet_count"] == worker.row["packet_capacity"]:
                engine.packet_rows.provide(engine.kernel, worker.rows)

    def _place(self, worker: _Worker, place: int) -> int:
        """Convert a position among all message starts to one among a thread's."""
        return place if self.count == 1 else int(np.searchsorted(worker.places, place))

    def end(self) -> None:
        """Return the message starts to the first thread; the caller moves the events."""
        engine = self._engine
        started = self.scheduled_starts
        for worker in self._workers[1:]:
            row = worker.row
            self._absorb(worker)
            row["next_start"] = row["heap_length"] = row["wheel_count"] = row["node_used"] = 0
        state = engine.globals
        state["starts"], state["n_starts"], state["n_ready"] = (
            engine.starts.ctypes.data, len(engine.starts), engine.n_ready,
        )  # fmt: skip
        state["next_start"] = started

    def gather(self) -> None:
        """Return the other threads' free packets to the first."""
        first, *others = self._workers
        for worker in others:
            if worker.row["free_count"]:
                self._engine.kernel.move_packets(worker.address, first.address, int(worker.row["free_count"]))

    def pending(self) -> Numbers:
        return np.concatenate([worker.queue.pending() for worker in self._workers])

    @property
    def has_several(self) -> bool:
        """Whether several threads have run."""
        return len(self._workers) > 1

    @property
    def samples(self) -> npt.NDArray[np.void]:
        if len(self._workers) == 1:
            return self._workers[0].samples.taken
        samples = np.concatenate([worker.samples.taken for worker in self._workers])
        return samples[np.argsort(samples["time_ps"], kind="stable")]

    @property
    def traces(self) -> list[npt.NDArray[np.void]]:
        return [worker.trace.taken for worker in self._workers]

    @property
    def scheduled_starts(self) -> int:
        return sum(int(worker.row["next_start"]) for worker in self._workers)

    def note_ready(self) -> None:
        engine = self._engine
        if not engine.globals["node_bits"]:
            engine.globals["n_ready"] = engine.n_ready
            return
        for worker in self._workers:
            worker.row["n_ready"] = self._place(worker, engine.n_ready)

    def run(self, until_ps: int, last_event: int) -> int:
        """Run the kernel in windows; return why it stopped."""
        engine = self._engine
        if self.count == 1:
            return int(engine.kernel.run_windows(engine.rows.ctypes.data, until_ps, last_event))
        verdicts = [0] * self.count
        may_begin, is_off = threading.Event(), [False]

        def work(number: int) -> None:
            may_begin.wait()
            if not is_off[0]:
                verdicts[number] = engine.kernel.run_beside(self._workers[number].address, until_ps, last_event)

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(self.count)]
        interrupt: BaseException | None = None
        try:
            for thread in threads:
                thread.start()
        except BaseException as error:  # all work, or none
            is_off[0], interrupt = True, error
        may_begin.set()
        for thread in threads:
            while thread.is_alive():
                try:
                    thread.join()
                except BaseException as error:  # what a signal's handler raises
                    interrupt = error
        for worker in self._workers[1:]:
            self._absorb(worker)
        engine.globals["now_ps"] = max(int(worker.row["now_ps"]) for worker in self._workers)
        if interrupt is not None:
            raise interrupt
        return int(verdicts[0])

    def _absorb(self, worker: _Worker) -> None:
        """Add a thread's counters to the first thread's."""
        for name in _COUNTED:
            self._engine.globals[name] += worker.row[name]
            worker.row[name] = 0

    def provide(self) -> None:
        reasons = [int(worker.row["reason"]) for worker in self._workers]
        for worker, reason in zip(self._workers, reasons, strict=True):
            if reason == kernel.MORE_EVENTS:
                worker.queue.double()
            if reason == kernel.MORE_SAMPLES:
                worker.samples.double()
            if reason == kernel.MORE_TRACE:
                worker.trace.double()
            if reason == kernel.MORE_PACKETS:
                self._engine.packet_rows.provide(self._engine.kernel, worker.rows)
        if kernel.MORE_QUEUE_PAIRS in reasons:
            self._engine.open_more()


def _yield_address() -> int:
    """Return the address of the system's yield function; 0 if there is none."""
    try:
        if sys.platform == "win32":
            return ctypes.cast(ctypes.WinDLL("kernel32").SwitchToThread, ctypes.c_void_p).value or 0
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError):
        return 0
