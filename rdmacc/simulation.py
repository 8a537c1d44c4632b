"""The entry points: `simulate` runs a scenario to its end, `Simulation` runs it step by step."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from rdmacc.engine import checkpoints
from rdmacc.engine.fault_events import FaultEvents
from rdmacc.engine.outcome import Engine, RunOutcome
from rdmacc.engine.plan import Plan, checked_seed, make_plan, plan_of, setting_of, warn_of_short_times
from rdmacc.engine.select import give_back, load_engine, make_engine
from rdmacc.engine.sent import Completion, Sent, at_least_one_byte
from rdmacc.engine.stalls import Progress, explain_stall, find_deadlock
from rdmacc.engine.swap import check_swap
from rdmacc.engine.trace import ROW
from rdmacc.errors import ConfigError, DeadlockError, HandlerError, LivelockError, SimulationError, StalledError
from rdmacc.faults import Fault, LinkDown, PauseStorm, SlowLink
from rdmacc.probes import Probe
from rdmacc.records import NEVER
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.show.late_bar import LateBar
from rdmacc.topology.fabric import Fabric
from rdmacc.typed import named
from rdmacc.units import Quantity, format_size, time_ps

__all__ = ["Completion", "Simulation", "simulate"]

_log = logging.getLogger(__name__)
IS_QUIET = ContextVar("is_quiet", default=False)
"""Whether simulations warn of nothing, in this thread."""

_SLICE_PS = time_ps("1ms")
"""Simulated time between two checks for a deadlock."""

_EXPLAINED_BYTES = 12 * ROW.itemsize
"""A packet of data has about so many rows of trace, if it crosses two links and is acknowledged."""
_MOST_BYTES = 2**34
"""More memory, explanations may not take."""

_FIRST_STEP_PS = time_ps("20us")
_FEW_HOSTS = 1_000
"""With fewer, the first step is as much longer."""
_STEP_S = 0.1, 0.5
"""CPU time of a step within a slice, in seconds; after each step, progress is shown and Ctrl-C takes effect.

By the wall time, steps became ever shorter where a process waits for the CPU."""
_FEW_EVENTS = 10_000
"""A step of so few events becomes no shorter."""


def is_checked(scheme: Scheme, check: bool | None) -> bool:
    """Return whether to check a scheme's handlers at run time: by default, only those from outside the package.

    They stay checked after a clean run, because in the next run an index may be out of range.
    """
    if check is not None:
        return check
    return any(part.handlers() and type(part).__module__.split(".")[0] != "rdmacc" for part in scheme.components)


class Simulation:
    """A scenario that can be run up to a time, inspected, and continued.

    Parameters
    ----------
    network : networkx.Graph
        Network, from a builder in `rdmacc.topology` or your own graph (see `rdmacc.topology.validate`).
    workload : pandas.DataFrame
        Messages, one row each (see `rdmacc.workload`).
    scheme : str or Scheme
        What runs on hosts and switches.
    engine : {"auto", "compiled", "simpy"}
        "auto" is the compiled engine, or SimPy if the compiled engine is not available.
    seed : int
        Seed of all randomness.
    probes : sequence of Probe
        What to record while running.
    faults : sequence of Fault
        Faults of links, NICs and host clocks; see `rdmacc.faults`.
    trace : bool
        Record every packet's events, for `result.packet_trace`.
    explain : bool or sequence of hashable
        What `result.explain` needs: True records what kept packets from being sent, of all messages. Otherwise nothing
        is recorded, and `result.explain` runs the simulation again, once for all messages in a list of labels.
    check : bool, optional
        Catch errors in handlers: exceptions, division by zero, an index or packet number out of range, a number that a
        field cannot hold, an endless loop, and values that an engine cannot use, such as a rate that is not a number.
        Results are the same; a run takes up to a sixth longer. Default: only for a scheme with a component from outside
        the package, such as one defined in a notebook.
    order : {"auto", "time", "windows"}
        The order in which the compiled engine processes events: "time", strictly by time; "windows", one node at a
        time, each for as long as the shortest link's delay. "auto" chooses windows for large networks, where they are
        faster. Results are the same.
    threads : int
        Number of threads that share the nodes of a window. More than one pays off from about a thousand hosts, given
        as many processors. Results are the same. Without windows a single thread runs, and `result.provenance` says
        why.

    Raises
    ------
    ConfigError
        If any argument is invalid, before anything runs.
    """

    @named
    def __init__(
        self,
        network: nx.Graph[Any],
        workload: pd.DataFrame,
        scheme: str | Scheme,
        *,
        engine: str = "auto",
        seed: int = 0,
        probes: Sequence[Probe] = (),
        faults: Sequence[Fault] = (),
        trace: bool = False,
        explain: bool | Sequence[Hashable] = False,
        check: bool | None = None,
        order: str = "auto",
        threads: int = 1,
    ) -> None:
        begin = time.perf_counter()
        chosen = as_scheme(scheme)
        for name, value in (("trace", trace), ("check", check)):
            if not isinstance(value, bool) and not (name == "check" and value is None):
                raise ConfigError(name, value, "True or False")
        if not isinstance(explain, bool | list | tuple):
            raise ConfigError("explain", explain, "True, False, or a list of messages")
        if isinstance(probes, list | tuple):
            names = [one.name for one in probes if isinstance(one, Probe)]
            for one in names:
                if names.count(one) > 1:
                    raise ConfigError("probes", one, "the name of one probe; samples are found by name")
        self._plan_of = partial(
            make_plan, network if isinstance(network, Fabric) else Fabric.from_graph(network), scheme=chosen, seed=seed,
            probes=probes, faults=faults, has_trace=trace, explains=explain, is_checked=is_checked(chosen, check),
        )  # fmt: skip
        plan = self._plan_of(workload)
        _check_memory(plan)
        self._prepare(plan, engine, order, threads, begin)

    def _prepare(self, plan: Plan, engine: str, order: str, threads: int, begin: float) -> None:
        self.plan = plan
        self._repeats: tuple[str, str, int] | None = engine, order, threads
        self._fault_events = FaultEvents(self.plan)
        self._sent = Sent(self.plan.workload)
        plan.kept.get(warn_of_short_times, lambda: warn_of_short_times(plan))
        self.engine: Engine = make_engine(engine, self.plan, order, threads)
        self._step_ps = _FIRST_STEP_PS * max(1, _FEW_HOSTS // len(self.plan.fabric.hosts))
        self._has_warned = False
        self._wall_s = 0.0
        self._setup_s = time.perf_counter() - begin

    @cached_property
    def _progress(self) -> Progress:
        return Progress(self.plan)

    @property
    def now_ps(self) -> int:
        """Current simulated time."""
        return self.engine.now

    @property
    def earliest_ps(self) -> int:
        """The first time at which a message can start: now, or just after it if the last message ended now."""
        return self.now_ps + (self.engine.unfinished == 0 and self.engine.events > 0)

    @property
    def workload(self) -> pd.DataFrame:
        """All messages, those sent so far too: `simulate` with this workload gives the same times."""
        return self._sent.frame()

    @property
    def is_finished(self) -> bool:
        """True once every message is acknowledged or has failed."""
        return self.engine.unfinished == 0

    _stop_ps = NEVER
    """Where it was asked to stop."""
    _checkpoint: tuple[str | Path | None, float, float] = (None, 0.0, 0.0)
    """File, seconds between two, and when the next one is due."""

    def run(self, until: Quantity | None = None, *, progress: bool | None = None) -> Result:
        """Continue the run, and return the result so far.

        Parameters
        ----------
        until : quantity of time, optional
            Stop before the events of this time. Default: run until every message is finished.
        progress : bool, optional
            Show a progress bar with the time left: simulated time if `until` is given, else delivered bytes.
            Default: only if the run takes more than a second.

        Returns
        -------
        Result
            Everything up to now.

        Raises
        ------
        DeadlockError
            If ports wait on each other in a cycle that nothing will resolve.
        StalledError
            If messages are unfinished and nothing, or only futile retries, is left to happen
            (`rdmacc.engine.stalls`).
        ConfigError
            If `until` is not a time, or is past.
        HandlerError
            If a handler raises an exception or writes a value that an engine cannot use.
        LivelockError
            If time does not advance, for example because a handler keeps setting a timer to now.
        KeyboardInterrupt
            On Ctrl-C. Like the errors above, it holds the result so far as `result`; calling `run` continues from
            there.
        """
        self.run_to(self._until_ps(until), progress)
        result = self.result()
        self._warn(result)
        return result

    def run_to(self, until_ps: int, progress: bool | None = False) -> None:
        """Continue the run to a time, without a result."""
        while self._run_some(until_ps, progress):
            self._sent.note(self.engine)

    def _until_ps(self, until: Quantity | None) -> int:
        until_ps = NEVER if until is None else time_ps(until, field="until")
        if until is not None and not self.now_ps <= until_ps < NEVER:
            allowed = f"at least the current time, {self.now_ps} ps, and less than 2**62 ps"
            raise ConfigError("until", until, allowed)
        return until_ps

    def _run_some(self, until_ps: int, progress: bool | None = False) -> bool:
        """Run to a time, or to an event by which awaited messages end; return whether there was one."""
        begin, self._stop_ps = time.perf_counter(), until_ps
        bar, is_endless = self._progress_bar(until_ps, progress), until_ps == NEVER
        try:
            while not self.is_finished and self.now_ps < until_ps and not self.engine.ended:
                upcoming_ps = self.engine.next_event_ps()
                if (
                    upcoming_ps - self.now_ps >= _SLICE_PS
                ):  # nothing is in flight: check before retransmission timers obscure the deadlock
                    self._raise_if_deadlocked()
                if upcoming_ps == NEVER and is_endless and self._fault_events.next_ps == NEVER:
                    raise self._stalled()
                stop_ps = min(max(self.now_ps, min(upcoming_ps, until_ps)) + _SLICE_PS, until_ps)
                self._run_to(min(stop_ps, self._fault_events.next_ps), upcoming_ps, bar, until_ps)
                self._let_faults_happen()
                if self.engine.longest_pause_ps() >= _SLICE_PS:
                    self._raise_if_deadlocked()
                if is_endless and not self.is_finished and self._fault_events.next_ps == NEVER:
                    if self._progress.has_ended(self.engine):
                        raise self._stalled()
        except (KeyboardInterrupt, HandlerError, LivelockError) as error:
            self._wall_s += time.perf_counter() - begin
            begin = time.perf_counter()
            raise self._with_result(error) from None
        finally:
            self._wall_s += time.perf_counter() - begin
            bar.close()
        return bool(self.engine.ended)

    # Messages that are sent while it runs

    @named
    def send(
        self, src: Hashable, dst: Hashable, size: Quantity, *, at: Quantity | None = None, priority: int | None = None
    ) -> int:
        """Send a message that the workload does not have, now or later.

        Times are the same as if the workload had had the message from the start, with this start: see `workload`.

        Parameters
        ----------
        src, dst : hashable
            Names of two hosts.
        size : quantity of bytes
            Payload, such as ``"64kB"``.
        at : quantity of time, optional
            When it starts; default: `earliest_ps`.
        priority : int, optional
            Class of its packets; default: the scheme's. With PFC, switches have room for the classes of the messages
            at the start, and for those that `workload.open_work` names.

        Returns
        -------
        int
            The message's label, as in `result.flows`.

        Raises
        ------
        ConfigError
            For an unknown host, a size below 1 byte, a time in the past, a class without room, or a simulation to
            which no message can be added: one with computation, paths or queue pairs of its own, or explained.
        """
        start_ps = self.earliest_ps if at is None else time_ps(at, field="at")
        return self.send_at(src, dst, size, start_ps, priority)

    def send_at(self, src: Hashable, dst: Hashable, size: Quantity, start_ps: int, priority: int | None) -> int:
        """Send a message that starts at a time in picoseconds."""
        row = (*self._sent.ends(self.plan.fabric, src, dst), at_least_one_byte(size), start_ps, priority)
        one = self._sent.add(self.plan, self._plan_of.args[0], row, self.earliest_ps)
        if not self.engine.has_room(one):
            self._note_plan(one.number)
            self.engine.regrow(self.plan, one)
        self.engine.add(one)
        self._progress.expect(start_ps)
        if self._fault_events.fabric.down_ports:
            self._note_plan()
            self._let_faults_happen()
        return one.number

    def _let_faults_happen(self) -> None:
        if self._fault_events.next_ps <= self.now_ps:
            self._note_plan()
            self._fault_events.happen(self.engine)

    def _note_plan(self, count: int | None = None) -> None:
        """Make the plan of all messages, or of the first ones."""
        frame = self._sent.frame(count)
        if len(frame) != self.plan.n_messages:
            self.plan = self.engine.plan = self._plan_of(frame)
            self._fault_events.note_plan(self.plan)

    def run_until(self, message: int) -> Completion:
        """Run until a message is delivered or has failed.

        Returns 1 ps after it, with all done that happened at its instant: what is sent in answer starts then.

        Parameters
        ----------
        message : int
            Its label: what `send` has returned, or a row of the workload.

        Returns
        -------
        Completion
            Its times.

        Raises
        ------
        ConfigError
            If there is no such message.
        SimulationError
            As from `run`.
        """
        number = self._sent.number(message)
        if not self._sent.is_over(self.engine, number):
            self.engine.await_end(number)
            while number not in self._next_ends(NEVER):
                pass
        return self._sent.completion(self.engine, number)

    def next_completion(self, until: Quantity | None = None) -> Completion | None:
        """Run until the next message of those sent is delivered or has failed.

        Parameters
        ----------
        until : quantity of time, optional
            Stop before the events of this time; default: never.

        Returns
        -------
        Completion or None
            Its times; messages that ended earlier come first, each once. None if none is left, or none ended in time.

        Raises
        ------
        ConfigError
            If `until` is not a time, or is past.
        SimulationError
            As from `run`.
        """
        until_ps = self._until_ps(until)
        if not self._sent.fresh and self._sent.has_outstanding:
            self._next_ends(until_ps)
        return self._sent.completion(self.engine, self._sent.fresh.popleft()) if self._sent.fresh else None

    def ends_until(self, until_ps: int) -> list[Completion]:
        """Run until messages sent have been delivered or have failed, or to a time; return what has ended, at one time.

        Parameters
        ----------
        until_ps : int
            Stop before the events of this time.
        """
        if not self._sent.fresh:
            self._next_ends(until_ps)
        ended = [self._sent.completion(self.engine, number) for number in self._sent.fresh]
        self._sent.fresh.clear()
        return ended

    def _next_ends(self, until_ps: int) -> list[int]:
        """Run until an awaited message ends, and to the end of that instant; return all that have ended."""
        engine, found = self.engine, list[int]()
        while True:
            begin, now_ps = time.perf_counter(), engine.now
            engine.run(min(until_ps, self._fault_events.next_ps, now_ps + _SLICE_PS))  # most ends are near
            self._wall_s += time.perf_counter() - begin
            if not engine.ended and engine.now < until_ps and engine.unfinished:
                self._let_faults_happen()
                self._run_some(until_ps)
            if engine.ended:
                found += self._sent.note(engine)
                until_ps = min(until_ps, engine.now + 1)
            if not engine.unfinished or engine.now >= until_ps:
                return found

    def fork(
        self,
        *,
        faults: Sequence[Fault] = (),
        parameters: Mapping[str, Any] = MappingProxyType({}),
        seed: int | None = None,
    ) -> Simulation:
        """Return an independent copy, which goes on from here: what one does, the other does not see.

        The compiled engine copies its tables. The SimPy engine runs again to this point, event for event.

        Parameters
        ----------
        faults : sequence of Fault
            Links that fail or are slow, and pause storms, from now on.
        parameters : mapping
            New values of components' parameters from now on, by name as in `Scheme.replace`. What handlers have already
            computed from the old values stays as it is, such as the first rate of a queue pair of the workload.
        seed : int, optional
            Seed of what is drawn from now on: marks, losses, jitter, what handlers draw. Paths that hosts and switches
            choose by a hash stay as they are.

        Returns
        -------
        Simulation
            The copy.

        Raises
        ------
        ConfigError
            If a fault acts from the start, or in the past; if `seed` is none; if a parameter changes more than what
            handlers read, such as records, buffers or base times; for the SimPy engine with processes of one's own.
        """
        self._note_plan()
        twin = copy(self)
        twin._sent, plan = self._sent.copy(), self.plan
        if len(faults):
            for number, one in enumerate(faults):
                allowed = "a LinkDown, SlowLink or PauseStorm that begins now or later"
                if not isinstance(one, LinkDown | SlowLink | PauseStorm):
                    raise ConfigError(f"faults[{number}]", one, allowed)
                if time_ps(one.at_ps, bare_ps=True) < max(self.now_ps, 1):
                    raise ConfigError(f"faults[{number}].at_ps", one.at_ps, f"{allowed}, at {self.now_ps} ps")
            named = self._plan_of.keywords
            twin._plan_of = partial(self._plan_of, faults=(*named["faults"], *faults))
        changes: dict[str, Any] = {}
        if parameters:
            changes["scheme"] = self._plan_of.keywords["scheme"].given(parameters)
        if seed is not None:
            changes["chance_seed"] = checked_seed(seed)
            twin._sent.draw_anew()
        twin._plan_of = partial(twin._plan_of, **changes)
        if len(faults) or changes:
            plan = twin.plan = twin._plan_of(self._sent.frame())
        if parameters:
            check_swap(self.plan, plan, parameters)
            twin._repeats = None  # it has run under two schemes
        if "_progress" in vars(self):
            twin._progress = copy(self._progress)
            twin._progress._plan = plan  # a copy leaves it out, as a file does
        twin._fault_events = self._fault_events.copy(plan, self.now_ps)
        twin.engine = self.engine.fork(plan)
        return twin

    def save(self, path: str | Path) -> None:
        """Write a checkpoint, from which `Simulation.load` goes on, in another process too.

        Parameters
        ----------
        path : str or Path
            The file; it is replaced in one step, once all is written.

        Raises
        ------
        ConfigError
            On the SimPy engine.
        OSError
            If the file cannot be written; an earlier one is kept.
        """
        self._note_plan()
        skipped = "plan", "engine", "_checkpoint"
        own = {name: value for name, value in vars(self).items() if name not in skipped}
        scheme = self._plan_of.keywords["scheme"]
        state = {"scheme": scheme, "own": own, "engine": self.engine.saved(self.plan), "scenario": self._scenario()}
        checkpoints.write(path, scheme, state)

    @classmethod
    def load(cls, path: str | Path) -> Simulation:
        """Return the simulation that a checkpoint holds: it goes on as the one that wrote it.

        The file is unpickled: load only your own.

        Parameters
        ----------
        path : str or Path
            What `save` or `simulate(..., checkpoint=...)` wrote.

        Raises
        ------
        ConfigError
            If the file is damaged, or was written by other code, versions or components; the error says which.
        """
        state = checkpoints.read(path)
        return cls._loaded(state)

    @classmethod
    def _loaded(cls, state: dict[str, Any]) -> Simulation:
        simulation = cls.__new__(cls)
        vars(simulation).update(state["own"])
        plan = simulation.plan = simulation._plan_of(simulation._sent.frame())
        simulation._fault_events._plan = plan
        if "_progress" in vars(simulation):
            simulation._progress._plan = plan
        simulation.engine = load_engine(plan, state["engine"])
        return simulation

    def _scenario(self) -> str:
        """Return what tells scenarios apart, whatever has run of them."""
        plan = self.plan
        work, given = self._sent.frame(self._sent.first), self._plan_of.keywords
        parts = [plan.fabric.names, plan.fabric.port_peer.tolist(), plan.fabric.port_rate_bps.tolist()]
        parts += [plan.fabric.port_delay_ps.tolist(), plan.fabric.buffer_bytes.tolist(), work.to_dict("list")]
        return hashlib.sha256(repr((parts, sorted(given.items()))).encode()).hexdigest()

    def _resumed(self, path: str | Path, every: float | str) -> Simulation:
        """Return this simulation, or what a checkpoint holds of it, which writes checkpoints from now on."""
        every_s, simulation = checkpoints.seconds(every), self
        if Path(path).exists():
            state = checkpoints.read(path)
            if state["scenario"] != self._scenario():
                raise ConfigError("checkpoint", str(path), "of this scenario, or a file that is not there yet")
            simulation = self._loaded(state)
        elif self.engine.name != "compiled":
            self.engine.saved(self.plan)
        simulation._checkpoint = path, every_s, time.monotonic() + every_s
        return simulation

    def _save_if_due(self) -> None:
        """Write the checkpoint that was asked for, if it is time; a full disk does not end the run."""
        path, every_s, due_s = self._checkpoint
        if path is not None and time.monotonic() >= due_s:
            try:
                self.save(path)
            except OSError as error:
                _log.warning("rdmacc: no checkpoint could be written: %s", error)
            self._checkpoint = path, every_s, time.monotonic() + every_s

    def result(self) -> Result:
        """Return the result so far."""
        self._note_plan()
        result = Result(self.plan, self.engine.outcome(), self.engine.name, self._wall_s, self._setup_s)
        result.repeat = partial(_repeated, *self._repeats, self._stop_ps) if self._repeats else None
        return result

    def _warn(self, result: Result) -> None:
        """Warn, once, that messages have failed."""
        failed = np.flatnonzero(result.outcome.messages["failed"])
        if len(failed) and not self._has_warned and not IS_QUIET.get():
            self._has_warned = True
            first, flows = int(failed[0]), result.flows
            _log.warning(
                "rdmacc: %d of %d messages failed, the first from %s to %s: %s; flows has the `reason` of each",
                len(failed), len(flows), flows["src"][first], flows["dst"][first], flows["reason"][first],
            )  # fmt: skip

    def _run_to(self, stop_ps: int, upcoming_ps: int, bar: LateBar, until_ps: int) -> None:
        """Run to the end of a slice, in steps whose length only affects how often progress is shown."""
        short_s, long_s = _STEP_S
        while self.now_ps < stop_ps and not self.is_finished and not self.engine.ended:
            begin, known = time.process_time(), self.engine.events
            self.engine.run(stop_ps, max(self.now_ps, min(upcoming_ps, stop_ps)) + self._step_ps)
            self._save_if_due()
            self._advance(bar, until_ps)
            took_s = time.process_time() - begin
            if took_s < short_s:
                self._step_ps = min(2 * self._step_ps, _SLICE_PS)
            elif took_s > long_s and self.engine.events - known > _FEW_EVENTS:
                self._step_ps = max(self._step_ps // 2, 1)
            upcoming_ps = self.engine.next_event_ps() if self.now_ps < stop_ps else NEVER

    def _raise_if_deadlocked(self) -> None:
        ports = find_deadlock(self.plan, self.engine.pfc_state())
        if ports:
            error = DeadlockError(ports, self.now_ps)
            raise self._with_result(error)

    def _stalled(self) -> Exception:
        self._note_plan()
        outcome, progress = self.engine.outcome(), self._progress
        is_unfinished = (outcome.messages["acked_ps"] < 0) & (outcome.messages["failed"] == 0)
        numbers = np.flatnonzero(is_unfinished).tolist()
        reason = explain_stall(self.engine, self._fault_events.fabric, numbers, progress.since_ps, progress.retries)
        return self._with_result(StalledError(self.plan.workload.index[numbers].tolist(), self.now_ps, reason))

    def _with_result(self, error: Any) -> Any:
        """Attach the result so far, so that the exception does not lose it."""
        error.result = self.result()
        return error

    def _progress_bar(self, until_ps: int, progress: bool | None) -> LateBar:
        timed = until_ps < NEVER
        return LateBar(
            total=round(until_ps / 1e6, 3) if timed else int(self.plan.size_bytes.sum()),
            unit="us",
            desc=self.plan.scheme.name,
            bar_format=None if timed else "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]",
            delay_s={None: 1.0, True: 0.0, False: float("inf")}[progress],
            leave=False,
        )

    def _advance(self, bar: LateBar, until_ps: int) -> None:
        most, text = bar.total, ""
        done = min(self.now_ps / 1e6 if until_ps < NEVER else self.engine.accepted_bytes, most)
        if until_ps == NEVER:  # counts bytes, because one long message may take most of the time
            messages = len(self.plan.waits_for) + self._sent.count
            finished = messages - self.engine.unfinished
            text = f"{self.plan.scheme.name}, {finished:,} of {messages:,} messages"
        bar.update(max(done - bar.n, 0), text)


def _repeated(engine: str, order: str, threads: int, stop_ps: int, plan: Plan, until_ps: int) -> RunOutcome:
    """Return what a run that stopped before `stop_ps` does up to a time, with another plan's trace."""
    _check_memory(plan)
    simulation = Simulation.__new__(Simulation)
    simulation._prepare(plan, engine, order, threads, time.perf_counter())
    with suppress(SimulationError):  # the run to explain may have ended so, too
        simulation._run_some(min(until_ps, stop_ps), None)
    return simulation.engine.outcome()


def _check_memory(plan: Plan) -> None:
    """Raise a ConfigError if what explains the plan's messages would not fit into a bounded part of memory."""
    packets = int(plan.packets[plan.explained].sum(dtype=np.int64)) if len(plan.explained) else 0
    least_bytes = packets * _EXPLAINED_BYTES
    if least_bytes > _MOST_BYTES:
        need, most = format_size(least_bytes, 3), format_size(_MOST_BYTES, 3)
        allowed = f"False: its {packets:,} packets would take {need} at least, more than {most}; explain a shorter run"
        raise ConfigError("explain", True, allowed)


@named
def simulate(
    network: nx.Graph[Any],
    workload: pd.DataFrame,
    scheme: str | Scheme,
    *,
    engine: str = "auto",
    seed: int = 0,
    until: Quantity | None = None,
    probes: Sequence[Probe] = (),
    faults: Sequence[Fault] = (),
    trace: bool = False,
    explain: bool | Sequence[Hashable] = False,
    check: bool | None = None,
    order: str = "auto",
    threads: int = 1,
    progress: bool | None = None,
    checkpoint: str | Path | None = None,
    every: float | str = "10min",
) -> Result:
    """Simulate a workload on a network under a scheme.

    Parameters are those of `Simulation` and of its `run`.

    Parameters
    ----------
    network : Graph
        The network; see `rdmacc.topology`.
    workload : DataFrame
        The messages; see `rdmacc.workload`.
    scheme : str or Scheme
        What runs on hosts and switches, such as ``"dcqcn"``.
    engine : str
        "auto", "simpy" or "compiled".
    seed : int
        Seed of all randomness.
    until : number or str, optional
        Stop before the events of this time, such as ``"5ms"``. Default: when every message is finished.
    probes : sequence of Probe
        What to record; see `rdmacc.probes`.
    faults : sequence of Fault
        Faults to inject; see `rdmacc.faults`.
    trace : bool
        Record every packet's events, for `Result.packet_trace`.
    explain : bool or sequence of hashable
        Record what explains completion times, for `Result.explain`; or the messages to explain; see `Simulation`.
    check : bool, optional
        Catch errors in handlers; see `Simulation`. Default: only for handlers from outside the package.
    order : str
        "auto", "time" or "windows"; see `Simulation`.
    threads : int
        Threads of the compiled engine; see `Simulation`.
    progress : bool, optional
        Show a progress bar; by default only if the run takes more than a second.
    checkpoint : str or Path, optional
        File to which the state is written on the way. If it is there, the run goes on from it; at the end it is
        deleted. So a run that was killed goes on when the same call is made again.
    every : float or str
        Wall time between two checkpoints: seconds, or such as "10min".

    Returns
    -------
    Result
        Flows, probes and counters as data frames, with plots.

    Examples
    --------
    >>> import rdmacc
    >>> result = rdmacc.simulate(rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "64kB"), "dcqcn", engine="simpy")
    >>> result.flows.slowdown.round(2).tolist()
    [1.71, 1.72]
    """
    simulation = Simulation(
        network, workload, scheme, engine=engine, seed=seed, probes=probes, faults=faults, trace=trace,
        explain=explain, check=check, order=order, threads=threads,
    )  # fmt: skip
    if checkpoint is not None:
        simulation = simulation._resumed(checkpoint, every)
    result = simulation.run(until, progress=progress)
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)
    give_back(simulation.engine)
    return result


@named
def simulate_many(
    network: nx.Graph[Any],
    workloads: pd.DataFrame | Iterable[pd.DataFrame],
    schemes: str | Scheme | Iterable[str | Scheme],
    seeds: int | Iterable[int] = 1,
    *,
    engine: str = "auto",
    until: Quantity | None = None,
    probes: Sequence[Probe] = (),
    faults: Sequence[Fault] = (),
    check: bool | None = None,
    threads: int = 1,
) -> Iterator[Result]:
    """Simulate workloads under schemes with seeds, one after another: each workload under each scheme with each seed.

    Results are those of `simulate`. A short run takes a third of the time, because what runs have in common is made
    once.

    Parameters
    ----------
    network : Graph
        The network.
    workloads : DataFrame or iterable of DataFrame
        One workload, or several; a generator is read as the runs go on.
    schemes : str, Scheme or iterable
        One scheme, or several.
    seeds : int or iterable of int
        How many seeds from 0 on, or a list of them.
    engine, until, probes, faults, check, threads
        As in `simulate`.

    Returns
    -------
    iterator of Result
        The seeds of the first scheme, those of the next one, and then those of the next workload. A frame of a result
        is built when it is asked for.

    Raises
    ------
    ConfigError
        If an argument is invalid; what is wrong with a workload when its turn comes.

    Examples
    --------
    >>> import rdmacc
    >>> work = rdmacc.incast(["h1", "h2"], "h0", "64kB")
    >>> runs = rdmacc.simulate_many(rdmacc.star(3), work, ["dcqcn", "hpcc"], seeds=3)
    >>> [(run.scheme_name, run.plan.seed) for run in runs]
    [('dcqcn', 0), ('dcqcn', 1), ('dcqcn', 2), ('hpcc', 0), ('hpcc', 1), ('hpcc', 2)]
    """
    works = [workloads] if isinstance(workloads, pd.DataFrame) else workloads
    chosen = [as_scheme(one) for one in ([schemes] if isinstance(schemes, str | Scheme) else schemes)]
    numbers = list(map(checked_seed, range(checked_seed(seeds)) if isinstance(seeds, int) else seeds))
    for name, value in (("workloads", works), ("probes", probes), ("faults", faults)):
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ConfigError(name, value, "a list")
    fabric = Fabric.from_graph(network)

    def results() -> Iterator[Result]:
        for work in works:
            for scheme in chosen:
                setting, is_own = None, is_checked(scheme, check)
                for seed in numbers:
                    begin = time.perf_counter()
                    if setting is None or setting.is_drawn:
                        setting = setting_of(fabric, work, scheme, seed)
                    plan = plan_of(setting, seed, probes=probes, faults=faults, is_checked=is_own)
                    simulation = Simulation.__new__(Simulation)
                    simulation._prepare(plan, engine, "auto", threads, begin)
                    yield simulation.run(until, progress=False)
                    give_back(simulation.engine)

    return results()
