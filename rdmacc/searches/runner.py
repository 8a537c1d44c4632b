"""Runs of a search, here or in other processes, which may die; their file; and shrinking.

The file is an Optuna journal, from which a killed search resumes. Optuna's storage does not keep a sampler's state, so
a search is replayed: the sampler proposes the same values again, and stored runs are not repeated.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from rdmacc.models.base import Model
from rdmacc.searches.case import rounded
from rdmacc.searches.evaluate import Run, Work
from rdmacc.searches.objectives import Objective
from rdmacc.searches.space import Values, text_of
from rdmacc.sweep.fingerprint import text_of_results, versions
from rdmacc.sweep.processes import Processes, pickled, refers_to_script, why_not_elsewhere

_DIED = "the process that ran it died; perhaps it ran out of memory"


def payload_of(work: Work, jobs: int) -> bytes:
    """Return the pickled work; raise a ConfigError if it cannot be pickled."""
    if jobs == 1:
        return b""
    payload = pickled(work, "jobs", jobs, "1, since what is run is not defined in a module")
    if why := why_not_elsewhere([payload]):
        raise ConfigError("jobs", jobs, f"1: {why}")
    return payload


@contextmanager
def runner(work: Work, payload: bytes, jobs: int) -> Iterator[Callable[[list[tuple[int, Values]]], Iterator[Run]]]:
    """Yield a function that runs a list of (number, values) in this order, here or in processes."""
    if jobs == 1:
        yield lambda asked: (work(*one) for one in asked)
        return

    def run_all(asked: list[tuple[int, Values]]) -> Iterator[Run]:
        ended = pool.in_order([partial(_unpickled, payload, *one) for one in asked])
        for one, future in zip(asked, ended, strict=True):
            is_dead = isinstance(future.exception(), BrokenExecutor)
            yield Run(*one, (), _DIED) if is_dead else future.result()

    with Processes(jobs, refers_to_script([payload])) as pool:
        yield run_all


def _unpickled(payload: bytes, number: int, values: Values) -> Run:
    work: Work = pickle.loads(payload)
    return work(number, values)


class Stored:
    """The runs of a search by their values; with a path, also in a file, in one Optuna study per sampler."""

    def __init__(self, path: str | Path | None, what: Any) -> None:
        self._known: dict[str, Run] = {}
        self._studies: dict[str, Any] = {}
        self._storage = None if path is None else _storage(Path(path))
        if self._storage is None:
            return
        parts = (content_hash(what, "search", is_row=True), text_of_results(), repr(versions()))
        self._hash = hashlib.sha256("".join(parts).encode()).hexdigest()[:16]
        for study in self._storage.get_all_studies():
            if not study.study_name.endswith(self._hash):
                raise ConfigError("storage", str(path), "the file of the same search with the same code, or a new file")
            for trial in self._storage.get_all_trials(study._study_id, deepcopy=False):
                self._note(Run(**trial.user_attrs["run"]))

    def _note(self, run: Run) -> None:
        self._known[text_of(run.values)] = replace(run, objectives=tuple(run.objectives))

    def get(self, number: int, values: Values) -> Run | None:
        one = self._known.get(text_of(values))
        return None if one is None else replace(one, number=number, values=values)

    def keep(self, run: Run, trial: Any, study: Any, sampler: str) -> None:
        """Keep a finished run, and write its trial to the file."""
        from optuna import create_study

        self._note(run)
        if self._storage is not None:
            if sampler not in self._studies:
                self._studies[sampler] = create_study(
                    storage=self._storage, study_name=f"{sampler} {self._hash}", directions=study.directions,
                    load_if_exists=True,
                )  # fmt: skip
            self._studies[sampler].add_trial(trial)


def _storage(path: Path) -> Any:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

    try:
        if path.exists():
            known = path.read_bytes()
            if known and not known.startswith(b'{"op_code"'):
                raise ValueError("it is something else")
            os.truncate(path, known.rfind(b"\n") + 1)  # drop the partial last line of a killed search
        at = str(path.resolve())  # the lock is a symbolic link, which must lead to the file if a killed search left it
        return JournalStorage(JournalFileBackend(at, JournalFileSymlinkLock(at, grace_period=3)))
    except (OSError, ValueError) as error:
        raise ConfigError("storage", str(path), f"a journal of Optuna's that can be written ({error})") from None


_MOST = 60
"""Most runs that shrinking may take."""


def shrunk(work: Work, worst: Run, sign: int, share: float, most: int = _MOST) -> list[Run]:
    """Return runs that are still as bad, each simpler than the one before: fields at their defaults, rounder numbers.

    At least `share` must remain: of the distance from a named objective's best value, otherwise of the value.
    """
    measure = work.measures[0]
    origin = measure.best if isinstance(measure, Objective) else 0.0
    wanted = share * sign * (worst.objectives[0] - origin)
    found, tried, before = [replace(worst, number=0)], 0, -1
    while before < len(found) and tried < most:
        before = len(found)
        for name in sorted(worst.values):
            for values in _smaller(work, found[-1].values, name):
                if tried == most:
                    break
                tried += 1
                run = work(len(found), values)
                is_as_bad = bool(run.objectives) and sign * (run.objectives[0] - origin) >= wanted
                if is_as_bad and bool(run.problem) == bool(worst.problem):
                    found.append(run)
                    break
    return found


def _smaller(work: Work, values: Values, name: str) -> Iterator[Values]:
    """Yield values with one of them simpler: left out, then halfway to its default, then with fewer digits."""
    if name not in values:
        return
    value = values[name]
    default = work.subject if isinstance(work.subject, Model) else work.cases[0]
    simplest = getattr(default, name, None)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_larger = is_number and name.endswith("_bytes") and isinstance(simplest, int) and simplest > value
    if not is_larger:
        yield {key: one for key, one in values.items() if key != name}
    if not is_number or not isinstance(simplest, int | float):
        return
    simplest = 0 if is_larger else simplest
    for number in ((value + simplest) / 2, value):
        for digits in (1, 2):
            fewer: Any = rounded(number, digits)
            fewer = int(fewer) if isinstance(value, int) else fewer
            if fewer != value and abs(fewer - simplest) < abs(value - simplest):
                yield {**values, name: fewer}
