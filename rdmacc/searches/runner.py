"""Runs of a search, here or in other processes, one of which may die."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.searches.evaluate import Run, Work
from rdmacc.searches.space import Values
from rdmacc.sweep.processes import process_pool, refers_to_script, why_not_elsewhere


def payload_of(work: Work, jobs: int) -> bytes:
    """Return the work as it goes to processes; raise a ConfigError if it cannot."""
    if jobs == 1:
        return b""
    try:
        payload = pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise ConfigError("jobs", jobs, "1: what is run is not defined in a module") from None
    if why := why_not_elsewhere([payload]):
        raise ConfigError("jobs", jobs, f"1: {why}")
    return payload


@contextmanager
def runner(work: Work, payload: bytes, jobs: int) -> Iterator[Any]:
    """Yield a function that runs a list of (number, values), here or in processes."""
    if jobs == 1:
        yield lambda asked: (work(*one) for one in asked)
        return
    imports_script = refers_to_script([payload])
    with process_pool(jobs, imports_script) as pool:
        yield lambda asked: _in_pool(pool, payload, asked, imports_script)


def _in_pool(pool: Executor, payload: bytes, asked: list[tuple[int, Values]], imports_script: bool) -> Iterator[Run]:
    """Run in a pool; what was under way when a process died runs again, each alone."""
    try:
        futures = [pool.submit(_unpickled, payload, *one) for one in asked]
    except BrokenExecutor:
        futures = []
    for place, one in enumerate(asked):
        try:
            if not futures:
                raise BrokenExecutor
            yield futures[place].result()
        except BrokenExecutor:
            yield _alone(payload, one, imports_script)


def _alone(payload: bytes, one: tuple[int, Values], imports_script: bool) -> Run:
    with process_pool(1, imports_script) as pool:
        try:
            return pool.submit(_unpickled, payload, *one).result()
        except BrokenExecutor:
            return Run(*one, (), "the process that ran it died; perhaps it ran out of memory")


def _unpickled(payload: bytes, number: int, values: Values) -> Run:
    work: Work = pickle.loads(payload)
    return work(number, values)
