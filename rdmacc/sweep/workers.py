"""Compute points here or in other processes, isolated so that a failing or dying one does not affect others."""

import os
import pickle
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from rdmacc.caching.sources import patched, user_sources
from rdmacc.engine.select import give_back, why_not_compiled
from rdmacc.errors import ConfigError, reason_of
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.simulation import IS_QUIET, Simulation, is_checked
from rdmacc.simulation.copies import resumed
from rdmacc.simulation.scenario import Scenario
from rdmacc.sweep.fingerprint import PointLike, UncertainError, code_of, is_users
from rdmacc.sweep.processes import Processes, finished
from rdmacc.sweep.tidy import check_table

_Key = TypeVar("_Key")

_CHANGED = (
    "the code, its inputs or the versions are not those that the sweep's own process imported: start that again, with"
    " jobs=1 if it changes them in memory"
)
_verified: set[str] = set()
"""Hashes of code that this process has verified, before measurements kept anything in memory."""


@dataclass(frozen=True)
class Task:
    """A point to compute: call it."""

    payload: bytes  # experiment, point, engine and threads, pickled
    code: Mapping[str, Any]  # hash of the code that must compute it ("" if not known), and versions
    checkpoint: str = ""  # path prefix of its checkpoints, "" for none

    def __call__(self) -> "Computed | Failed":
        """Compute the point; return any error instead of raising it, so that it can cross process boundaries."""
        wanted = self.code["hash"]
        try:
            experiment, point, engine, threads = pickle.loads(self.payload)
            if wanted and wanted not in _verified and code_of(experiment, point) != self.code:
                return Failed(_CHANGED)
            _verified.add(wanted)
            found = compute(experiment, point, engine, threads, self.checkpoint)
        except UncertainError:
            return Failed(_CHANGED)
        except Exception as error:
            return Failed(reason_of(error), traceback.format_exc())
        # modules imported since then may be newer
        return Failed(_CHANGED) if wanted and patched() else found


@dataclass(frozen=True, eq=False)
class Computed:
    """A point's rows, and the cost of computing them."""

    table: pd.DataFrame
    effort: dict[str, Any]
    """`wall_s`, `engines`, `packet_hops` and `simulated_ps`."""
    sources: Mapping[str, str | None] | None = None
    """The text of the user's modules, for a user's experiment; see `rdmacc.caching.sources.user_sources`."""


@dataclass(frozen=True)
class Failed:
    """The reason why a point has no rows."""

    reason: str
    details: str = ""


class Run:
    """Simulates the scenarios of a point, and counts what they cost."""

    def __init__(self, engine: str, threads: int = 1, checkpoint: str = "") -> None:
        self._engine, self._threads, self._checkpoint = engine, threads, checkpoint
        self.runs: list[tuple[str, int, int]] = []  # engine, packet-hops and end of each

    def __call__(self, scenario: Scenario) -> Result:
        simulation = replace(scenario, engine=self._engine).simulation(threads=self._threads)
        if self._checkpoint and simulation.engine.name == "compiled":
            simulation = _resumed(simulation, Path(f"{self._checkpoint}.{len(self.runs)}"))
        result = simulation.run(scenario.until, progress=False)
        give_back(simulation.engine)
        return self._counted(result)

    def each(self, scenario: Scenario, seeds: Iterable[int]) -> Iterator[Result]:
        """Simulate short runs of several seeds, without checkpoints."""
        return map(self._counted, replace(scenario, engine=self._engine).runs(seeds, self._threads))

    def _counted(self, result: Result) -> Result:
        hops = sum(int(result.counters[f"{kind}_packet_hops"]) for kind in ("data", "control"))
        self.runs.append((result.engine, hops, result.now_ps))
        return result


def compute(experiment: Any, point: Any, engine: str, threads: int = 1, checkpoint: str = "") -> Computed:
    """Compute a point in this process."""
    run, begin = Run(engine, threads, checkpoint), time.perf_counter()
    token = IS_QUIET.set(True)  # the table's rows show what hundreds of runs would warn of
    try:
        table = check_table(experiment.execute(point, run), point.name)
    finally:
        IS_QUIET.reset(token)
    effort = {
        "wall_s": time.perf_counter() - begin,
        "engines": sorted({engine for engine, _, _ in run.runs}),
        "packet_hops": sum(hops for _, hops, _ in run.runs),
        "simulated_ps": sum(end_ps for _, _, end_ps in run.runs),
    }
    sources = user_sources() if any(map(is_users, type(experiment).__mro__)) else None
    if sources is not None:
        sources.pop("__main__", None)  # in a pool, this is another script
    return Computed(table, effort, sources)


def _resumed(simulation: Simulation, path: Path) -> Simulation:
    """Return a simulation that resumes from its checkpoint, if there is one, and writes new ones.

    The last one stays until the point is stored, because later runs of the point may be killed, too.
    """
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


def outcomes(calls: Mapping[_Key, Callable[[], Any]], pool: Processes | Executor | None) -> Iterator[tuple[_Key, Any]]:
    """Make calls in a pool, or here without one, and yield each result, or `Failed`, as it ends."""
    if pool is None:
        yield from ((name, call()) for name, call in calls.items())
        return
    ended = pool.outcomes(calls) if isinstance(pool, Processes) else finished(partial(_sent, pool), calls, len(calls))
    for name, future in ended:
        yield name, _outcome(future)


def _sent(executor: Executor, call: Callable[[], Any]) -> Future[Any]:
    try:
        return executor.submit(call)
    except Exception as error:  # a cluster that is gone may raise anything
        failed = Future[Any]()
        failed.set_exception(CancelledError() if isinstance(error, BrokenExecutor) else error)
        return failed


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except CancelledError:
        return Failed("the executor is gone; run the same command to continue from the stored points")
    except BrokenExecutor:
        return Failed("the process that computed it died; perhaps it ran out of memory")
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}", traceback.format_exc())


def default_jobs(threads: int = 1) -> int:
    """Return the number of processes that suits this machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, (len(affinity(0)) if affinity else os.cpu_count() or 1) // threads)


def check_executor(executor: object) -> None:
    """Raise `ConfigError` for anything but an executor, such as ``dask_executor(...)`` without `with`."""
    if executor is not None and not hasattr(executor, "submit"):
        raise ConfigError("executor", executor, "an Executor; use `with dask_executor(...) as executor:`")


def compilations(points: Iterable[PointLike]) -> list[Callable[[], None]]:
    """Return calls that compile what points need, each once: other processes find it in the cache."""
    needed: dict[object, Callable[[], None]] = {}
    for point in points:
        if point.scenario is not None:
            scheme = as_scheme(point.scenario.scheme)
            checked = is_checked(scheme, point.scenario.check)
            parts = tuple((type(part), *part.handlers()) for part in scheme.components)
            needed[parts, scheme.tick_ps > 0, checked] = partial(compile_code, scheme, checked)
    return [compile_code, *needed.values()]


def compile_code(scheme: Scheme | None = None, checked: bool = False) -> None:
    """Compile the kernel, or a scheme's hooks, unless the cache has it or it cannot be compiled here."""
    with suppress(Exception):  # the point that needs it will say why
        if scheme is None and not why_not_compiled():
            from rdmacc.engine.compiled.machine_code.build import compiled_kernel

            compiled_kernel()
        elif scheme is not None and not why_not_compiled():
            from rdmacc.engine.compiled.machine_code.hooks import CompiledHooks
            from rdmacc.engine.compiled.tables.layout import Layout

            CompiledHooks(scheme, Layout.of(scheme), is_checked=checked)
