"""Compute points here or in other processes, isolated so that a failing or dying one does not affect others."""

import os
import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    as_completed,
    wait,
)
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.engine.select import give_back, why_not_compiled
from rdmacc.errors import ConfigError, RdmaccError
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.simulation import IS_QUIET, Simulation, is_checked
from rdmacc.simulation.copies import resumed
from rdmacc.sources import patched, user_sources
from rdmacc.sweep.codehash import UncertainError, is_users
from rdmacc.sweep.fingerprint import Fingerprints, PointLike
from rdmacc.sweep.processes import process_pool, refers_to_script
from rdmacc.sweep.tidy import check_table


@dataclass(frozen=True)
class Task:
    """A point to compute."""

    payload: bytes  # experiment, point, engine and threads, pickled
    code: Mapping[str, Any]  # hash of the code that must compute it ("" if not known), and versions
    checkpoint: str = ""  # first part of the paths of its checkpoints, "" for none


@dataclass(frozen=True, eq=False)
class Computed:
    """A point's rows, and the cost of computing them."""

    table: pd.DataFrame
    engines: tuple[str, ...]
    packet_hops: int
    simulated_ps: int
    wall_s: float
    sources: Mapping[str, str | None] | None = None
    """The text of the user's modules, if the experiment is theirs; see `rdmacc.sources.user_sources`."""


@dataclass(frozen=True)
class Failed:
    """The reason why a point has no rows."""

    reason: str
    details: str = ""


Keep = Callable[[str, Computed | Failed], None]
"""A callback for each finished point: called with the point's name and its outcome."""


def compute(task: Task) -> Computed | Failed:
    """Compute a point; return any error instead of raising it, so that it can cross process boundaries."""
    try:
        experiment, point, engine, threads = pickle.loads(task.payload)
        if not _is_that(task.code, experiment, point):
            return Failed(_CHANGED)
        outcome = compute_here(experiment, point, engine, threads, task.checkpoint)
        is_same = isinstance(outcome, Failed) or not task.code["hash"] or not patched()
        return outcome if is_same else Failed(_CHANGED)  # what was imported meanwhile may be newer
    except Exception as error:
        return Failed(reason_of(error), traceback.format_exc())


_CHANGED = (
    "the code, its inputs or the versions are not those that the sweep's own process imported: start that again, with"
    " jobs=1 if it changes them in memory"
)


_CHECKED: set[str] = set()
"""Hashes of code that this process found to be its own, before measurements kept anything in memory."""


def _is_that(code: Mapping[str, Any], experiment: Any, point: Any) -> bool:
    if code["hash"] and code["hash"] not in _CHECKED:
        try:
            if Fingerprints().code(experiment, point) != code:
                return False
        except UncertainError:
            return False
        _CHECKED.add(code["hash"])
    return True


def compute_here(experiment: Any, point: Any, engine: str, threads: int = 1, checkpoint: str = "") -> Computed | Failed:
    """Compute a point in this process; return any error instead of raising it."""
    try:
        return _compute(experiment, point, engine, threads, checkpoint)
    except Exception as error:
        return Failed(reason_of(error), traceback.format_exc())


def reason_of(error: Exception) -> str:
    """Return the error message, with its location unless the message has it: the last line outside libraries."""
    if isinstance(error, RdmaccError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if "site-packages" not in one.filename or "/rdmacc/" in one.filename]
    last = (ours or frames)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno}, in {last.name})"


def _simulation(scenario: Scenario, threads: int, checkpoint: str) -> Simulation:
    """Return a simulation that goes on from a checkpoint, if there is one of it, and writes others.

    The last one stays until the point is stored: later runs of it may be killed, too.
    """
    simulation, path = scenario.simulation(threads=threads), Path(checkpoint)
    if not checkpoint or simulation.engine.name != "compiled":
        return simulation
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return simulation
    every = os.environ.get("RDMACC_CHECKPOINT_EVERY", "10min")
    try:
        return resumed(simulation, path, every)
    except ConfigError:  # damaged, or of other versions
        path.unlink(missing_ok=True)
        return resumed(simulation, path, every)


def _compute(experiment: Any, point: Any, engine: str, threads: int, checkpoint: str) -> Computed:
    results: list[tuple[str, int, int]] = []

    def run(scenario: Scenario) -> Result:
        token = IS_QUIET.set(True)  # a table of hundreds of runs has in its rows what one would warn of
        try:
            one = f"{checkpoint}.{len(results)}" if checkpoint else ""
            simulation = _simulation(replace(scenario, engine=engine), threads, one)
            result = simulation.run(scenario.until, progress=False)
            give_back(simulation.engine)
        finally:
            IS_QUIET.reset(token)
        hops = int(result.counters["data_packet_hops"] + result.counters["control_packet_hops"])
        results.append((result.engine, hops, result.now_ps))
        return result

    begin = time.perf_counter()
    table = check_table(experiment.execute(point, run), point.name)
    engines, hops, simulated = zip(*results, strict=True) if results else ((), (), ())
    sources = user_sources() if any(map(is_users, type(experiment).__mro__)) else None
    if sources is not None:
        sources.pop("__main__", None)  # in a pool, that is another one
    wall_s = time.perf_counter() - begin
    return Computed(table, tuple(sorted(set(engines))), sum(hops), sum(simulated), wall_s, sources)


def compute_all(
    tasks: Mapping[str, Task],
    keep: Keep,
    jobs: int = 1,
    executor: Executor | None = None,
    first: Sequence[Callable[[], None]] = (),
    tell: Callable[[int, int], None] = lambda number, count: None,
) -> None:
    """Compute tasks by name, and pass on each outcome as soon as it is known."""
    if executor is not None:
        futures: dict[Future[Computed | Failed], str] = {}
        try:
            for name, task in tasks.items():
                try:
                    futures[executor.submit(compute, task)] = name
                except Exception as error:  # a lost executor may raise anything
                    keep(name, Failed(f"{type(error).__name__}: {error}", traceback.format_exc()))
            for future in as_completed(futures):
                keep(futures[future], _outcome(future))
        finally:
            for future in futures:
                future.cancel()
    elif jobs == 1:
        for number, one in enumerate(first, 1):
            with suppress(Exception):
                one()
            tell(number, len(first))
        for name, task in tasks.items():
            keep(name, compute(task))
    else:
        _in_processes(tasks, keep, jobs, first, tell)


def _in_processes(
    tasks: Mapping[str, Task],
    keep: Keep,
    jobs: int,
    first: Sequence[Callable[[], None]],
    tell: Callable[[int, int], None],
) -> None:
    """Compute in local processes. If one dies, rerun all running points, each alone in a process."""
    waiting, suspects, todo = deque(tasks), deque[str](), deque(first)
    imports_script = refers_to_script(task.payload for task in tasks.values())
    while waiting or suspects:
        alone = bool(suspects)
        queue = suspects if alone else waiting
        with process_pool(1 if alone else min(jobs, len(queue)), imports_script) as pool:
            _do_all(pool, todo, tell)
            dead = _drain(pool, tasks, queue, keep, 1 if alone else jobs + 1)
        if alone:
            for name in dead:
                keep(name, Failed("the process that computed it died; perhaps it ran out of memory"))
        else:
            suspects.extend(dead)


def _do_all(pool: Executor, todo: deque[Callable[[], None]], tell: Callable[[int, int], None]) -> None:
    """Run every preparation once, ignoring errors."""
    under_way = []
    with suppress(BrokenExecutor):
        while todo:
            under_way.append(pool.submit(todo.popleft()))
    for number, _ in enumerate(as_completed(under_way), 1):
        tell(number, len(under_way))


def _drain(pool: Executor, tasks: Mapping[str, Task], queue: deque[str], keep: Keep, width: int) -> list[str]:
    """Compute the queue, a few points at a time; if a process dies, stop and return the points that were running."""
    running: dict[Future[Computed | Failed], str] = {}
    dead: list[str] = []
    try:
        while (queue or running) and not dead:
            while queue and len(running) < width:
                future = pool.submit(compute, tasks[queue[0]])
                running[future] = queue.popleft()
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            dead += _hand_over(running, done, keep)
    except BrokenExecutor:  # while submitting
        pass
    except KeyboardInterrupt:
        _hand_over(running, [future for future in running if future.done()], keep)
        raise
    wait(running)
    return dead + _hand_over(running, running, keep)


def _hand_over(
    running: dict[Future[Computed | Failed], str], done: Iterable[Future[Computed | Failed]], keep: Keep
) -> list[str]:
    """Pass on finished outcomes; return the names of points whose process died."""
    dead = []
    for future in list(done):
        name = running[future]
        if isinstance(future.exception(), BrokenExecutor):
            dead.append(name)
        else:
            keep(name, _outcome(future))
        del running[future]
    return dead


def _outcome(future: Future[Computed | Failed]) -> Computed | Failed:
    try:
        error = future.exception()
    except CancelledError:
        return Failed("the executor is gone; run the same command to continue from the stored points")
    return future.result() if error is None else Failed(f"{type(error).__name__}: {error}")


def default_jobs(threads: int = 1) -> int:
    """Return the number of processes that suits this machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, (len(affinity(0)) if affinity else os.cpu_count() or 1) // threads)


def check_executor(executor: object) -> None:
    """Raise `ConfigError` for anything but an executor, such as ``dask_executor(...)`` without `with`."""
    if executor is not None and not hasattr(executor, "submit"):
        raise ConfigError("executor", executor, "an Executor; use `with dask_executor(...) as executor:`")


# Code that a sweep needs is compiled in advance, each unit by one process: the others find it in the cache.


def units_of(points: Iterable[PointLike]) -> list[Callable[[], None]]:
    """Return the functions that compile the code for some points, the slowest first."""
    needed: dict[object, Callable[[], None]] = {}
    for point in points:
        if point.scenario is not None:
            scheme = as_scheme(point.scenario.scheme)
            checked = is_checked(scheme, point.scenario.check)
            parts = tuple((type(part), *part.handlers()) for part in scheme.components)
            needed[parts, scheme.tick_ps > 0, checked] = partial(compile_hooks, scheme, checked=checked)
    return [compile_kernel, *needed.values()]


def compile_kernel() -> None:
    """Compile the kernel, unless the cache has it or it cannot be compiled here."""
    if not why_not_compiled():
        from rdmacc.engine.compiled.machine_code.build import compiled_kernel

        compiled_kernel()


def compile_hooks(scheme: Scheme, *, checked: bool) -> None:
    """Compile a scheme's hooks, unless the cache has them or they cannot be compiled here."""
    if not why_not_compiled():
        from rdmacc.engine.compiled.machine_code.hooks import CompiledHooks
        from rdmacc.engine.compiled.tables.layout import Layout

        CompiledHooks(scheme, Layout.of(scheme), is_checked=checked)
