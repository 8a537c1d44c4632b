"""Worker processes that end with this one, and import its script only if necessary.

By default, multiprocessing imports the main script in each process, because the script may define the work. A script
without `if __name__ == "__main__":` would then start all over in each process, if Python did not stop it with a long
traceback. Most sweeps and studies use nothing from the script.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import count
from multiprocessing import context as contexts
from pathlib import Path
from typing import Any, TypeVar

from rdmacc.errors import ConfigError

_T = TypeVar("_T")
_R = TypeVar("_R")


def pickled(work: Any, field: str, value: object, allowed: str) -> bytes:
    """Return some work as it goes to other processes; raise a ConfigError if it cannot."""
    try:
        return pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(field, value, f"{allowed}: {error}") from None


def why_not_elsewhere(payloads: Iterable[bytes]) -> str | None:
    """Return the reason why other processes cannot compute some tasks."""
    if not refers_to_script(payloads):
        return None
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is None or not Path(script).is_file():
        return "the work is defined in this session, not in a file that other processes could import"
    if "__main__" not in Path(script).read_text(encoding="utf-8", errors="replace"):
        return (
            f"what is computed is defined in {Path(script).name}, and a process that imports that would start again:"
            ' put what it runs under `if __name__ == "__main__":`'
        )
    return None


def refers_to_script(payloads: Iterable[bytes]) -> bool:
    """Return whether tasks refer to definitions in the main script."""
    return any(b"__main__" in payload for payload in payloads)


@contextmanager
def process_pool(jobs: int, imports_script: bool, context: Any = None) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool whose processes end with it and with this process, however this process ends."""
    context = context or _context(imports_script)
    lifeline, held = context.Pipe(duplex=False)
    inherited = held if context.get_start_method() == "fork" else None
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_live_by, initargs=(lifeline, inherited))
    try:
        yield pool
        pool.shutdown()
    finally:
        held.close()  # ends processes that are still busy
        pool.shutdown(cancel_futures=True)
        lifeline.close()


def may_fork() -> bool:
    """Return whether this process may fork: no other thread may hold a lock, which a fork would never see released.

    Daemons do not count, and processes of a pool do not fork, because their neighbours use the other processors.
    """
    others = (one for one in threading.enumerate() if one is not threading.current_thread())
    return sys.platform == "linux" and not multiprocessing.parent_process() and all(one.daemon for one in others)


def is_worth_forking(time_s: float) -> bool:
    """Return whether forks can compute, and pay off for what takes so long."""
    return time_s > _WORTH_FORKING_S and may_fork()


def in_forks(compute: Callable[[_T], _R], parts: Sequence[_T], jobs: int) -> Iterator[_R]:
    """Yield what a function returns for each part, in their order: computed by forks, and here if one of them dies.

    Forks find the function and the parts in their memory, so neither need be such as can be pickled.
    """
    number = next(_NUMBERS)
    _PARTS[number] = compute, parts
    try:
        with process_pool(min(jobs, len(parts)), True, multiprocessing.get_context("fork")) as pool:
            with warnings.catch_warnings():  # of threads beside this one: they are daemons
                warnings.simplefilter("ignore", DeprecationWarning)
                futures = [pool.submit(_compute_part, number, part) for part in range(len(parts))]
            for part, future in zip(parts, futures, strict=True):
                try:
                    found = future.result()
                except BrokenExecutor:
                    found = compute(part)
                yield found
    finally:
        del _PARTS[number]


def shared_out(compute: Callable[[_T], _R], parts: Sequence[_T], jobs: int) -> Iterator[_R]:
    """Yield what a function returns for each part: the first here, the others in forks if it took a second."""
    begin, later = time.perf_counter(), parts[1:]
    yield from map(compute, parts[:1])
    has_forks = later and jobs > 1 and is_worth_forking(time.perf_counter() - begin)
    yield from in_forks(compute, later, jobs) if has_forks else map(compute, later)


_WORTH_FORKING_S = 1.0
_PARTS: dict[int, tuple[Callable[[Any], Any], Sequence[Any]]] = {}
_NUMBERS = count()


def _compute_part(number: int, part: int) -> Any:
    compute, parts = _PARTS[number]
    return compute(parts[part])


def _context(imports_script: bool) -> Any:
    """Return the start method: from a server process with the imports done, if the system supports that."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        context: Any = contexts.ForkServerContext()
        context.set_forkserver_preload(["rdmacc.sweep.workers", "rdmacc.experiments"])
        if not imports_script:
            context.Process = _ForkedWithoutScript
    else:
        context = contexts.SpawnContext()
        if not imports_script:
            context.Process = _SpawnedWithoutScript
    return context


class _WithoutScript:
    """Start processes that do not import the script, by hiding it from `__main__` while they start."""

    def start(self) -> None:
        main = sys.modules["__main__"]
        spec, file = getattr(main, "__spec__", None), main.__dict__.pop("__file__", None)
        main.__spec__ = None
        try:
            super().start()  # type: ignore[misc]
        finally:
            main.__spec__ = spec
            if file is not None:
                main.__file__ = file


class _SpawnedWithoutScript(_WithoutScript, contexts.SpawnProcess):
    pass


if sys.platform != "win32":

    class _ForkedWithoutScript(_WithoutScript, contexts.ForkServerProcess):
        pass


def _live_by(lifeline: Any, held: Any) -> None:
    """Initialise a process of the pool: it ignores Ctrl-C, and ends when the other side of the lifeline is closed."""
    if held:
        held.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            lifeline.recv()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
