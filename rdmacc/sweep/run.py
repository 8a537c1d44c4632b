"""Sweeps: compute each point of an experiment once, store it, and assemble the table.

A sweep can be killed at any time: finished points are in the store, and the same call continues from there.
"""

from __future__ import annotations

import hashlib
import logging
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from rdmacc.caching.sources import git_commit, user_sources
from rdmacc.engine.select import ENGINES, check_threads
from rdmacc.errors import ConfigError, SimulationError
from rdmacc.show.bar import Bar
from rdmacc.sweep.fingerprint import PointLike, identify
from rdmacc.sweep.processes import Processes, pickled, refers_to_script, why_not_elsewhere
from rdmacc.sweep.seeds import check_seed, check_seeds
from rdmacc.sweep.store import Store, as_stored
from rdmacc.sweep.tidy import assemble
from rdmacc.sweep.workers import Computed, Failed, Task, check_executor, compilations, default_jobs, outcomes
from rdmacc.workload.frame import checked_whole

__all__ = ["Sweep", "SweepError", "Sweepable", "stored", "sweep"]

_log = logging.getLogger(__name__)

_SENT = "made of what modules define, to be sent to another process"


class Sweepable(Protocol):
    """What `sweep` accepts: an `rdmacc.experiments.Experiment`, or any object with a name, points and rows."""

    name: str
    """The name under which its points are stored."""

    def seeded_points(
        self, scale: str, seed: int, seeds: int | None, changes: Mapping[str, Any] | None = None
    ) -> Mapping[str, tuple[Any, Any]]:
        """Return the points by unique name, each as computed and as shown in the table.

        `scale` is "quick" or "paper"; `seeds` is None for the experiment's own number; `changes` has parameters of
        the schemes, by name.
        """
        ...


@dataclass(eq=False, repr=False)
class SweepError(SimulationError):
    """Some points could not be computed: `failures` by name, of `n_points`. The others are stored."""

    experiment: str
    failures: Mapping[str, Failed]
    n_points: int

    def __str__(self) -> str:
        lines = [f"{self.experiment}: {len(self.failures)} of {self.n_points} points failed; the others are kept"]
        return "\n".join(lines + [f"  {name}: {failed.reason}" for name, failed in self.failures.items()])


@dataclass(eq=False)
class Sweep:
    """The outcome of a sweep.

    Attributes
    ----------
    experiment, scale : str
        What was computed.
    seed : int
        Seed of all randomness; with several seeds, the first.
    changes : dict
        Changed parameters of the schemes.
    points : list of Point
        In order, named and labelled as in the table.
    identities : dict of dict
        By point name: its key, its description, and the hash of its code.
    seeds : int, optional
        Number of seeds requested; None for the experiment's own.
    tables : dict of DataFrame
        Rows by point name; failed points are missing.
    provenance : dict of dict
        How each point was computed.
    failures : dict of Failed
        Reasons for missing rows.
    reused : int
        Number of points that came from the store.
    """

    experiment: str
    scale: str
    seed: int
    changes: dict[str, Any]
    points: list[PointLike]
    identities: dict[str, dict[str, Any]]
    seeds: int | None = None
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    provenance: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, Failed] = field(default_factory=dict)
    reused: int = 0
    _asked: Mapping[str, PointLike] = field(default_factory=dict, repr=False)
    """The experiment's own points, by name."""

    @property
    def missing(self) -> list[PointLike]:
        """Points without rows."""
        return [point for point in self.points if point.name not in self.tables]

    @property
    def table(self) -> pd.DataFrame:
        """The table of all points.

        Raises
        ------
        SweepError
            If a point has no rows, because a partial table would be misleading.
        """
        if self.missing:
            unknown = Failed("not computed yet")
            failures = {point.name: self.failures.get(point.name, unknown) for point in self.missing}
            raise SweepError(self.experiment, failures, len(self.points))
        tables = {point.name: self.tables[point.name] for point in self.points}
        return assemble(tables, {point.name: point.labels for point in self.points})

    def summary(self) -> dict[str, Any]:
        """Return how the table was computed, without dates: the same for the same command and code."""
        made = [self.provenance[point.name] for point in self.points if point.name in self.provenance]
        return {
            "experiment": self.experiment,
            "scale": self.scale,
            "seed": self.seed,
            "seeds": self.seeds,
            "set": self.changes,
            "points": len(made),
            "packet_hops": sum(one["packet_hops"] for one in made),
            "simulated_ps": sum(one["simulated_ps"] for one in made),
            "rdmacc": sorted({one["rdmacc"] for one in made}),
            "commits": sorted({one["commit"] for one in made}),
            "code": sorted({one["code"]["hash"] for one in made}),
            "versions": made[0]["code"]["versions"] if made else {},
            "keys_sha256": hashlib.sha256(" ".join(one["key"] for one in made).encode()).hexdigest(),
        }

    def effort(self) -> dict[str, Any]:
        """Return the cost of computing: seconds over all processes, packet-hops per second, engines."""
        made = list(self.provenance.values())
        wall_s = sum(one["wall_s"] for one in made)
        hops = sum(one["packet_hops"] for one in made)
        engines = sorted({name for one in made for name in one["engines"]})
        return {"wall_s": wall_s, "packet_hops_per_s": hops / wall_s if wall_s else 0.0, "engines": engines}


def sweep(
    experiment: Sweepable,
    scale: str = "quick",
    seed: int = 0,
    *,
    seeds: int | None = None,
    engine: str = "auto",
    changes: Mapping[str, Any] | None = None,
    store: Store | Path | str | None = None,
    jobs: int | None = None,
    threads: int = 1,
    executor: Executor | None = None,
    progress: bool = False,
) -> Sweep:
    """Compute the points of an experiment, except those that the store has.

    Parameters
    ----------
    experiment : Experiment or other Sweepable
        Such as ``rdmacc.experiments.experiment("dart.fig2")``.
    scale : {"quick", "paper"}
        Set of points to compute.
    seed : int
        Seed of all randomness.
    seeds : int, optional
        Number of seeds, starting at `seed`; stored ones are not rerun. Default: the experiment's own number.
    engine : str
        As in `rdmacc.simulate`. It is not part of a point's key, because both engines give the same rows.
    changes : mapping, optional
        Parameters of the points' schemes to change, by name.
    store : Store or path, optional
        Where to keep points; default: ``Store()``, the user's own.
    jobs : int, optional
        Number of processes. Default: 1 at quick scale, otherwise one per processor. Also 1 if the work is defined in a
        notebook, or in a script that runs something on import.
    executor : concurrent.futures.Executor, optional
        Executor to use instead of local processes, such as ``dask.distributed.Client.get_executor()``.
    threads : int
        Threads of each simulation, as in `rdmacc.simulate`. The default number of processes is divided by it.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Sweep
        Stored and computed points; failed points are in `failures`.

    Raises
    ------
    ConfigError
        If an argument is invalid, before anything runs.
    KeyboardInterrupt
        On Ctrl-C and SIGTERM; finished points are kept.
    """
    if engine not in ENGINES:
        raise ConfigError("engine", engine, f"one of {', '.join(ENGINES)}")
    check_threads(threads)
    check_executor(executor)
    store = store if isinstance(store, Store) else Store(store)
    found = stored(experiment, scale, seed, seeds=seeds, changes=changes, store=store)
    alike: dict[str, list[PointLike]] = {}  # a point that does not depend on the seed is computed once for all seeds
    for point in sorted(found.missing, key=lambda point: -point.cost):
        alike.setdefault(found.identities[point.name]["key"], []).append(point)
    if not alike:
        return found
    jobs = (1 if scale == "quick" else default_jobs(threads)) if jobs is None else checked_whole("jobs", jobs, 1)
    jobs = 1 if executor is not None else min(jobs, len(alike))
    tasks = {}
    for key, (point, *_) in alike.items():
        identity = found.identities[point.name]
        payload = pickled((experiment, found._asked[point.name], engine, threads), "point", point.name, _SENT)
        is_kept = executor is None and "uncertain" not in identity
        tasks[key] = Task(payload, identity["code"], str(_checkpoint(store, experiment.name, key)) if is_kept else "")
    payloads = [task.payload for task in tasks.values()]
    why_not = why_not_elsewhere(payloads) if jobs > 1 else None
    if why_not:
        _log.warning("rdmacc: computing in one process: %s", why_not)
    pool: Any = nullcontext(executor)
    if jobs > 1 and not why_not:
        pool = Processes(jobs, refers_to_script(payloads))
    store.clean(experiment.name)
    keep, points = _Keeper(store, found), [one for one, *_ in alike.values()]
    bar = Bar(  # in units of cost, so that the time left follows from the mean pace
        total=sum(point.cost for point in points), desc=keep.done, smoothing=0, disable=not progress, leave=False,
        bar_format="{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]",
    )  # fmt: skip
    with bar, _interruptible(), pool as workers:
        first = compilations(points) if executor is None and engine != "simpy" else []
        for number, _ in enumerate(outcomes(dict(enumerate(first)), workers)):
            bar.set_description_str(f"{keep.done}, compiling {number + 1} of {len(first)}")
        for key, outcome in outcomes(tasks, workers):
            keep(alike[key], outcome)
            bar.set_description_str(keep.done, refresh=False)
            bar.update(alike[key][0].cost)
    return found


def stored(
    experiment: Sweepable,
    scale: str = "quick",
    seed: int = 0,
    *,
    seeds: int | None = None,
    changes: Mapping[str, Any] | None = None,
    store: Store | Path | str | None = None,
) -> Sweep:
    """Return the stored points of an experiment without computing any. Parameters are those of `sweep`."""
    if not isinstance(changes or {}, Mapping):
        raise ConfigError("changes", changes, "a mapping from parameter name to value")
    seed, seeds, changes = check_seed(seed), check_seeds(seeds), dict(changes or {})
    points = experiment.seeded_points(scale, seed, seeds, changes)
    asked, shown = ({name: both[place] for name, both in points.items()} for place in (0, 1))
    found = Sweep(experiment.name, scale, seed, changes, list(shown.values()), identify(experiment, asked), seeds)
    found._asked, store = asked, store if isinstance(store, Store) else Store(store)
    for name, identity in found.identities.items():
        if "uncertain" in identity:
            _say_uncertain(experiment.name, identity["uncertain"])
        elif (kept := store.load(identity)) is not None:
            found.tables[name], found.provenance[name] = kept
    found.reused = len(found.tables)
    return found


@cache
def _say_uncertain(experiment: str, why: str) -> None:
    _log.warning("rdmacc: computing points of %s without storing them: %s", experiment, why)


class _Keeper:
    """Stores points as they are computed."""

    def __init__(self, store: Store, found: Sweep) -> None:
        self.store, self.found, self._has_warned = store, found, False

    @property
    def done(self) -> str:
        """The number of points done, in words."""
        found = self.found
        return f"{found.experiment}, {len(found.tables) + len(found.failures)} of {len(found.points)} points"

    def __call__(self, points: Sequence[PointLike], outcome: Computed | Failed) -> None:
        found, name = self.found, points[0].name
        provenance: dict[str, Any] = {}
        if isinstance(outcome, Computed):
            provenance = self._provenance(name, outcome)
            try:
                self._save(name, outcome.table, provenance)
            except ConfigError as error:
                outcome = Failed(str(error))
        if isinstance(outcome, Failed):
            found.failures |= {point.name: outcome for point in points}
            _log.debug("%s, %s failed: %s", found.experiment, name, outcome.details)
        else:
            found.tables |= {point.name: as_stored(outcome.table) for point in points}
            found.provenance |= {point.name: provenance for point in points}

    def _provenance(self, name: str, outcome: Computed) -> dict[str, Any]:
        found = self.found
        provenance = {
            **found.identities[name],
            **outcome.effort,
            "rdmacc": metadata.version("rdmacc"),
            "commit": git_commit(),
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        if outcome.sources is not None:
            now = user_sources()
            provenance["sources"] = {**outcome.sources, **now}
            differs = [each for each, text in outcome.sources.items() if text is None or now.get(each, text) != text]
            if differs:
                provenance["uncertain"] = f"{differs[0]} was edited while points were computed"
                _say_uncertain(found.experiment, provenance["uncertain"])
        return provenance

    def _save(self, name: str, table: pd.DataFrame, provenance: Mapping[str, Any]) -> None:
        if "uncertain" in provenance:
            return
        try:
            self.store.save(table, provenance)
            file = _checkpoint(self.store, self.found.experiment, provenance["key"])
            for one in file.parent.glob(f"{file.name}.*"):
                one.unlink(missing_ok=True)
        except OSError as error:  # a full disk or a read-only folder: the rows stay in memory
            if not self._has_warned:
                self._has_warned = True
                _log.warning(
                    "rdmacc: what is computed cannot be stored in %s, and is in this table alone; first %s, %s: %s",
                    self.store.folder, self.found.experiment, name, error,
                )  # fmt: skip


def _checkpoint(store: Store, experiment: str, key: str) -> Path:
    """Return the path prefix of a point's checkpoints."""
    return store.path(experiment, key).with_suffix(".checkpoint")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make SIGTERM act like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
