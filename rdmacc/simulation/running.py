"""A plan on an engine, run in steps. Between steps come faults, deadlock checks, progress and sent messages."""

import logging
import math
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from contextvars import ContextVar
from functools import cached_property, partial
from typing import Any

import numpy as np

from rdmacc.engine.fault_events import FaultEvents
from rdmacc.engine.outcome import Engine, RunOutcome
from rdmacc.engine.plan import Plan, warn_of_short_times
from rdmacc.engine.select import make_engine
from rdmacc.engine.sent import Completion, Sent, at_least_one_byte
from rdmacc.engine.stalls import Progress, explain_stall, find_deadlock
from rdmacc.engine.trace import ROW
from rdmacc.errors import ConfigError, DeadlockError, HandlerError, LivelockError, SimulationError, StalledError
from rdmacc.errors.typed import checked_flag
from rdmacc.interface import NEVER
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme
from rdmacc.show.late_bar import LateBar
from rdmacc.units import Quantity, format_size, time_ps

_log = logging.getLogger(__name__)
IS_QUIET = ContextVar("is_quiet", default=False)
"""Whether to suppress the warnings of simulations in this thread."""

_SLICE_PS = time_ps("1ms")
"""Simulated time between two checks for a deadlock."""

_EXPLAINED_BYTES = 12 * ROW.itemsize
"""Size of the trace rows of a data packet that crosses two links and is acknowledged."""
_MOST_BYTES = 2**34
"""Most memory that explanations may take."""

_FIRST_STEP_PS = time_ps("20us")
_FEW_HOSTS = 1_000
"""With fewer hosts, the first step is longer in proportion."""
_STEP_S = 0.1, 0.5
"""Range of a step's CPU time within a slice, in seconds. After each step, progress is shown and Ctrl-C takes effect.

Wall time would make steps ever shorter on a machine where the process waits for the CPU."""
_FEW_EVENTS = 10_000
"""Steps are not shortened below this many events."""


def is_checked(scheme: Scheme, check: bool | None) -> bool:
    """Return whether to check a scheme's handlers at run time: by default, only those from outside the package.

    They stay checked after a clean run, because an index may be out of range in the next one.
    """
    if check is not None:
        return checked_flag("check", check)
    return any(type(part).__module__.split(".")[0] != "rdmacc" and part.handlers() for part in scheme.components)


class Running:
    """A plan that runs on an engine."""

    _plan_of: partial[Plan]
    """Makes the plan of a workload; only set if messages can be sent."""
    _stop_ps = NEVER
    """The time at which it was asked to stop."""
    _after_step: Callable[[Any], None] | None = None

    def __init__(self, plan: Plan, engine: str, order: str, threads: int, begin: float) -> None:
        self.plan = plan
        self._repeats: tuple[str, str, int] | None = engine, order, threads
        self._fault_events = FaultEvents(self.plan)
        self._sent = Sent(self.plan)
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
        """The earliest time at which a message can start: now, or 1 ps later if the last message ended now."""
        return self.engine.earliest_ps

    @property
    def is_finished(self) -> bool:
        """True once every message is acknowledged or has failed."""
        return self.engine.unfinished == 0

    def run_to(self, until_ps: int, progress: bool | None = False) -> None:
        """Continue the run to a time, without a result."""
        while self._run_some(until_ps, progress):
            self._sent.note(self.engine)

    def to(self, until: Quantity | None, progress: bool | None = False) -> Result:
        """Continue the run to a time, and return the result so far."""
        self.run_to(self._until_ps(until), progress)
        result = self.result()
        self._warn(result)
        return result

    def _until_ps(self, until: Quantity | None) -> int:
        until_ps = NEVER if until is None else time_ps(until, field="until")
        if until is not None and not self.now_ps <= until_ps < NEVER:
            allowed = f"at least the current time, {self.now_ps} ps, and less than 2**62 ps"
            raise ConfigError("until", until, allowed)
        return until_ps

    def _run_some(self, until_ps: int, progress: bool | None = False) -> bool:
        """Run to a time or to the first end of an awaited message; return whether a message has ended."""
        begin, self._stop_ps = time.perf_counter(), until_ps
        bar, is_endless = self._progress_bar(until_ps, progress), until_ps == NEVER
        try:
            while not self.is_finished and self.now_ps < until_ps and not self.engine.ended:
                upcoming_ps = self.engine.next_event_ps()
                # If nothing is in flight, check before retransmission timers obscure the deadlock.
                if upcoming_ps - self.now_ps >= _SLICE_PS:
                    self._raise_if_deadlocked()
                if upcoming_ps == NEVER and is_endless and self._fault_events.next_ps == NEVER:
                    raise self._stalled()
                stop_ps = min(max(self.now_ps, min(upcoming_ps, until_ps)) + _SLICE_PS, until_ps)
                self._run_to(min(stop_ps, self._fault_events.next_ps), upcoming_ps, bar, until_ps)
                self._let_faults_happen()
                if self.is_finished:
                    break
                if self.engine.longest_pause_ps() >= _SLICE_PS:
                    self._raise_if_deadlocked()
                if is_endless and self._fault_events.next_ps == NEVER:
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

    def send_at(
        self, src: Hashable, dst: Hashable, size: Quantity, start_ps: int, priority: int | None, earliest_ps: int
    ) -> int:
        """Send a message that starts at a time in picoseconds."""
        engine, sent = self.engine, self._sent
        ends, size = sent.ends(self.plan.fabric, src, dst), at_least_one_byte(size)
        one = sent.add(self.plan, self._plan_of.args[0], *ends, size, start_ps, priority, earliest_ps)
        while not engine.add(one):
            self._note_plan(one.number)
            engine.regrow(self.plan, one)
        if start_ps > earliest_ps or self.plan.scheme.start_delay_ps:  # else it starts before anything can stall
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
        known = self._sent.first + self._sent.count if count is None else count
        if known != self.plan.n_messages:
            self.plan = self.engine.plan = self._plan_of(self._sent.work(count))
            self._fault_events.note_plan(self.plan)

    def ends_until(self, until_ps: int) -> list[Completion]:
        """Run until a sent message ends, or up to but not including `until_ps`; return all messages that have ended."""
        sent, engine, ended = self._sent, self.engine, list[Completion]()
        if not sent.fresh:
            self._next_ends(until_ps)
        while sent.fresh:
            ended.append(sent.completion(engine, sent.fresh.popleft()))
        return ended

    def _next_ends(self, until_ps: int) -> list[int]:
        """Run to the end of the instant at which an awaited message ends; return all messages that have ended."""
        engine, found = self.engine, list[int]()
        while True:
            begin = time.perf_counter()
            engine.run(min(until_ps, self._fault_events.next_ps, engine.now + _SLICE_PS))  # most ends come soon
            self._wall_s += time.perf_counter() - begin
            if not engine.ended and engine.now < until_ps and engine.unfinished:
                self._let_faults_happen()
                self._run_some(until_ps)
            if engine.ended:
                found += self._sent.note(engine)
                until_ps = min(until_ps, engine.end_instant())
            if not engine.unfinished or engine.now >= until_ps:
                return found

    def result(self) -> Result:
        """Return the result so far."""
        self._note_plan()
        result = Result(self.plan, self.engine.outcome(), self.engine.name, self._wall_s, self._setup_s)
        result.repeat = partial(_repeated, *self._repeats, self._stop_ps) if self._repeats else None
        return result

    def _warn(self, result: Result) -> None:
        """Warn, once, that messages have failed."""
        if self._has_warned or IS_QUIET.get():
            return
        failed = result.outcome.messages["failed"]
        if failed.any():
            self._has_warned = True
            first, flows = int(np.argmax(failed != 0)), result.flows
            _log.warning(
                "rdmacc: %d of %d messages failed, the first from %s to %s: %s; flows has the `reason` of each",
                int((failed != 0).sum()), len(flows), flows["src"][first], flows["dst"][first], flows["reason"][first],
            )  # fmt: skip

    def _run_to(self, stop_ps: int, upcoming_ps: int, bar: LateBar, until_ps: int) -> None:
        """Run to the end of a slice in steps; their length affects only how often progress is shown."""
        short_s, long_s = _STEP_S
        while self.now_ps < stop_ps and not self.is_finished and not self.engine.ended:
            begin, known = time.process_time(), self.engine.events
            self.engine.run(stop_ps, max(self.now_ps, min(upcoming_ps, stop_ps)) + self._step_ps)
            if self._after_step:
                self._after_step(self)
            self._advance(bar, until_ps)
            took_s = time.process_time() - begin
            if took_s < short_s:
                self._step_ps = min(2 * self._step_ps, _SLICE_PS)
            elif took_s > long_s and self.engine.events - known > _FEW_EVENTS:
                self._step_ps = max(self._step_ps // 2, 1)
            if self.now_ps < stop_ps and not self.is_finished:
                upcoming_ps = self.engine.next_event_ps()

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
        total, bar_format = round(until_ps / 1e6, 3), None
        if until_ps == NEVER:  # counts bytes, because one long message may take most of the run
            total, bar_format = 0, "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"
        if progress not in (None, True, False):
            raise ConfigError("progress", progress, "True, False or None")
        delay_s = {None: 1.0, True: 0.0, False: math.inf}[progress]
        return LateBar(total, delay_s, unit="us", desc=self.plan.scheme.name, bar_format=bar_format, leave=False)

    def _advance(self, bar: LateBar, until_ps: int) -> None:
        if not bar.is_due:
            return
        done, text = min(self.now_ps / 1e6, bar.total), ""
        if until_ps == NEVER:
            bar.total = bar.total or int(self.plan.size_bytes.sum())
            messages = len(self.plan.waits_for) + self._sent.count
            finished = messages - self.engine.unfinished
            done = min(self.engine.accepted_bytes, bar.total)
            text = f"{self.plan.scheme.name}, {finished:,} of {messages:,} messages"
        bar.update(max(done - bar.n, 0), text)


def _repeated(engine: str, order: str, threads: int, stop_ps: int, plan: Plan, until_ps: int) -> RunOutcome:
    """Repeat a run that was stopped at `stop_ps`, up to a time, with the trace that another plan asks for."""
    check_memory(plan)
    simulation = Running(plan, engine, order, threads, time.perf_counter())
    with suppress(SimulationError):  # the original run may have failed in the same way
        simulation._run_some(min(until_ps, stop_ps), None)
    return simulation.engine.outcome()


def check_memory(plan: Plan) -> None:
    """Raise a ConfigError if explaining the plan's messages would take too much memory."""
    packets = int(plan.packets[plan.explained].sum(dtype=np.int64)) if len(plan.explained) else 0
    least_bytes = packets * _EXPLAINED_BYTES
    if least_bytes > _MOST_BYTES:
        need, most = format_size(least_bytes, 3), format_size(_MOST_BYTES, 3)
        allowed = f"False: its {packets:,} packets would take {need} at least, more than {most}; explain a shorter run"
        raise ConfigError("explain", True, allowed)
