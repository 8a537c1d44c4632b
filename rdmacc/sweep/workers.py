"""Computes points, here or in other processes, so that one that fails or dies takes no other with it."""

from __future__ import annotations

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
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.errors import ConfigError, RdmaccError
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.fingerprint import Fingerprints
from rdmacc.sweep.processes import process_pool, refers_to_script
from rdmacc.sweep.tidy import check_table

__all__ = [
    "Computed",
    "Failed",
    "Task",
    "check_executor",
    "check_jobs",
    "compute",
    "compute_all",
    "compute_here",
    "default_jobs",
]


@dataclass(frozen=True)
class Task:
    """A point to compute.

    Attributes
    ----------
    payload : bytes
        Experiment, point and engine, pickled.
    code : mapping
        Hash of the code that is to compute it, and versions: see `Fingerprints.code`.
    """

    payload: bytes
    code: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Computed:
    """A point's rows, and what they took.

    Attributes
    ----------
    table : DataFrame
        The rows.
    engines : tuple of str
        Engines that simulated.
    packet_hops, simulated_ps : int
        Sums over the point's simulations.
    wall_s : float
        Time that it took.
    """

    table: pd.DataFrame
    engines: tuple[str, ...]
    packet_hops: int
    simulated_ps: int
    wall_s: float


@dataclass(frozen=True)
class Failed:
    """Why a point has no rows.

    Attributes
    ----------
    reason : str
        What went wrong, in one line.
    details : str
        The traceback.
    """

    reason: str
    details: str = ""


Keep = Callable[[str, Computed | Failed], None]
"""A callback for each finished point: called with the point's name and its outcome."""


def compute(task: Task) -> Computed | Failed:
    """Compute a point; whatever goes wrong is returned, so that it can be sent to another process.

    Parameters
    ----------
    task : Task
        The point, pickled.

    Returns
    -------
    Computed or Failed
        The point's rows, or why there are none.
    """
    try:
        experiment, point, engine = pickle.loads(task.payload)
        if Fingerprints().code(experiment, point) != task.code:
            reason = (
                "the code, what it reads, or the versions differ from those that the sweep began with; run it again"
            )
            return Failed(reason)
    except Exception as error:
        return Failed(_reason(error), traceback.format_exc())
    return compute_here(experiment, point, engine)


def compute_here(experiment: Any, point: Any, engine: str) -> Computed | Failed:
    """Compute a point in this process; whatever goes wrong is returned.

    Parameters
    ----------
    experiment : object
        Whose point it is.
    point : Point
        The point.
    engine : str
        As in `rdmacc.simulate`.

    Returns
    -------
    Computed or Failed
        The point's rows, or why there are none.
    """
    try:
        return _compute(experiment, point, engine)
    except Exception as error:
        return Failed(_reason(error), traceback.format_exc())


def _reason(error: Exception) -> str:
    """Return what went wrong, and where, unless it says so itself."""
    if isinstance(error, RdmaccError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno}, in {last.name})"


def _compute(experiment: Any, point: Any, engine: str) -> Computed:
    results: list[tuple[str, int, int]] = []

    def run(scenario: Scenario) -> Result:
        result = replace(scenario, engine=engine).run()
        hops = int(result.counters["data_packet_hops"] + result.counters["control_packet_hops"])
        results.append((result.engine, hops, result.now_ps))
        return result

    begin = time.perf_counter()
    table = check_table(experiment.execute(point, run), point.name)
    engines, hops, simulated = zip(*results, strict=True) if results else ((), (), ())
    return Computed(table, tuple(sorted(set(engines))), sum(hops), sum(simulated), time.perf_counter() - begin)


def compute_all(
    tasks: Mapping[str, Task],
    keep: Keep,
    jobs: int = 1,
    executor: Executor | None = None,
    first: Sequence[Callable[[], None]] = (),
    tell: Callable[[int, int], None] = lambda number, count: None,
) -> None:
    """Compute tasks by name, and hand over what each comes to as soon as it is known.

    Parameters
    ----------
    tasks : mapping
        By name, those that take longest first.
    keep : callable
        Takes name and outcome, in this process.
    jobs : int
        Processes; 1 computes in this one.
    executor : Executor, optional
        Computes instead, such as ``dask.distributed.Client.get_executor()``.
    first : sequence of callable
        What processes of ours do before, side by side, so that no two have to do the same for their tasks. What fails
        here is left to the tasks, which need it and say so.
    tell : callable
        Takes how many of `first` are done, and how many there are.
    """
    if executor is not None:
        futures: dict[Future[Computed | Failed], str] = {}
        try:
            for name, task in tasks.items():
                try:
                    futures[executor.submit(compute, task)] = name
                except Exception as error:  # whatever an executor raises that has gone away
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
    """Compute in processes of our own. If one dies, all under way are computed again, each in a process alone."""
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
    """Do everything once, whatever comes of it."""
    under_way = []
    with suppress(BrokenExecutor):
        while todo:
            under_way.append(pool.submit(todo.popleft()))
    for number, _ in enumerate(as_completed(under_way), 1):
        tell(number, len(under_way))


def _drain(pool: Executor, tasks: Mapping[str, Task], queue: deque[str], keep: Keep, width: int) -> list[str]:
    """Compute the queue, a few points at a time; if a process dies, stop and return the points that were under way."""
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
    """Hand over what is done; return the names of those whose process died."""
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
        return Failed("the executor has gone away; run it again, to go on from what is stored")
    return future.result() if error is None else Failed(f"{type(error).__name__}: {error}")


def default_jobs() -> int:
    """Return how many processes the machine has room for."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def check_executor(executor: object) -> None:
    """Raise `ConfigError` for what cannot compute, such as ``dask_executor(...)`` without `with`.

    Parameters
    ----------
    executor : Executor or None
        What a user gave.

    Raises
    ------
    ConfigError
        If it is no Executor.
    """
    if executor is not None and not hasattr(executor, "submit"):
        raise ConfigError("executor", executor, "an Executor; use `with dask_executor(...) as executor:`")


def check_jobs(jobs: int) -> int:
    """Return a number of processes, if it is one; raise `ConfigError` if not.

    Parameters
    ----------
    jobs : int
        Number of processes.

    Raises
    ------
    ConfigError
        If it is not a whole number, at least 1.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ConfigError("jobs", jobs, "a whole number, at least 1")
    return jobs
