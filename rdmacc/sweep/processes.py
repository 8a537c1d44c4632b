"""Calls in other processes: a crash costs only the call that caused it, and all processes end with this one.

By default, multiprocessing imports the main script in each process, because the script may define the work. A script
without `if __name__ == "__main__":` would then start all over in each process, if Python did not stop it with a long
traceback. Most sweeps and studies use nothing from the script, so it is imported only for work that refers to it.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import context as contexts
from pathlib import Path
from typing import Any, Self, TypeVar

from rdmacc.errors import ConfigError

_T = TypeVar("_T")
_R = TypeVar("_R")
_Key = TypeVar("_Key")

_WORTH_FORKING_S = 1.0


def pickled(work: Any, field: str, value: object, allowed: str) -> bytes:
    """Pickle work for other processes; raise a ConfigError if it cannot be pickled."""
    try:
        return pickle.dumps(work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(field, value, f"{allowed}: {error}") from None


def refers_to_script(payloads: Iterable[bytes]) -> bool:
    """Return whether tasks refer to definitions in the main script."""
    return any(b"__main__" in payload for payload in payloads)


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


def finished(
    pool: Executor, calls: Mapping[_Key, Callable[[], _R]], queue: deque[_Key], width: int
) -> Iterator[tuple[_Key, Future[_R]]]:
    """Make a queue of calls, at most `width` at a time, and yield each when it has ended; stop if the pool breaks."""
    running: dict[Future[_R], _Key] = {}
    try:
        while queue or running:
            while queue and len(running) < width:
                future = _submitted(pool, calls[queue[0]])
                running[future] = queue.popleft()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future
    except BrokenExecutor:  # while submitting
        for future in wait(running).done:
            yield running.pop(future), future
    except KeyboardInterrupt:
        for future in [one for one in running if one.done()]:
            yield running.pop(future), future
        raise
    finally:
        for future in running:
            future.cancel()


def _submitted(pool: Executor, call: Callable[[], _R]) -> Future[_R]:
    try:
        with warnings.catch_warnings():  # about forking with threads, which are daemons
            warnings.simplefilter("ignore", DeprecationWarning)
            return pool.submit(call)
    except BrokenExecutor:
        raise
    except Exception as error:  # a cluster that is gone may raise anything
        failed = Future[_R]()
        failed.set_exception(error)
        return failed


class Processes:
    """Processes of this machine, started with the first call and ended with the block."""

    def __init__(self, jobs: int, imports_script: bool, context: Any = None, work: Any = None) -> None:
        self._jobs, self._context, self._work = jobs, context or _context(imports_script), work
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None and self._pool is not None:
            for process in list((self._pool._processes or {}).values()):  # `shutdown` would wait for busy ones
                process.kill()
        self._end()

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)

    def outcomes(self, calls: Mapping[_Key, Callable[[], _R]]) -> Iterator[tuple[_Key, Future[_R]]]:
        """Make calls, and yield each when it has ended.

        If a process dies, the calls under way are repeated one at a time; a call that kills its process again ends with
        a BrokenExecutor.
        """
        waiting, suspects = deque(calls), deque[_Key]()
        while waiting or suspects:
            queue, jobs = (suspects, 1) if suspects else (waiting, self._jobs)
            if self._pool is None:
                self._pool = ProcessPoolExecutor(jobs, self._context, _attend, (self._work,))
            is_broken = False
            # one more call than processes, so that none idles
            for name, future in finished(self._pool, calls, queue, jobs + (queue is waiting)):
                is_dead = isinstance(future.exception(), BrokenExecutor)
                is_broken = is_broken or is_dead
                if is_dead and queue is waiting:
                    suspects.append(name)
                else:
                    yield name, future
            if is_broken or queue is suspects:
                self._end()

    def in_order(self, calls: Sequence[Callable[[], _R]]) -> Iterator[Future[_R]]:
        """Make calls, and yield them in their order."""
        ended, found = self.outcomes(dict(enumerate(calls))), dict[int, Future[_R]]()
        for place in range(len(calls)):
            while place not in found:
                other, found[other] = next(ended)
            yield found.pop(place)


def may_fork() -> bool:
    """Return whether this process may fork: no other thread may hold a lock, which a fork would never see released.

    Daemon threads do not count. Processes of a pool do not fork, because their siblings use the other processors.
    """
    others = (one for one in threading.enumerate() if one is not threading.current_thread())
    return sys.platform == "linux" and not multiprocessing.parent_process() and all(one.daemon for one in others)


def is_worth_forking(time_s: float) -> bool:
    """Return whether forking is possible, and pays off for work of this duration."""
    return time_s > _WORTH_FORKING_S and may_fork()


def in_forks(compute: Callable[[_T], _R], parts: Sequence[_T], jobs: int) -> Iterator[_R]:
    """Yield a function's result for each part, in order: computed in forks, or here if a fork dies.

    Forks inherit the function and the parts in memory, so neither has to be picklable.
    """
    context = multiprocessing.get_context("fork")
    with Processes(min(jobs, len(parts)), True, context, (compute, parts)) as pool:
        ended = pool.in_order([partial(_compute_part, place) for place in range(len(parts))])
        for part, future in zip(parts, ended, strict=True):
            yield compute(part) if isinstance(future.exception(), BrokenExecutor) else future.result()


_work: Any = None
"""What forks compute: a function, and its parts."""


def _compute_part(place: int) -> Any:
    compute, parts = _work
    return compute(parts[place])


def shared_out(compute: Callable[[_T], _R], parts: Sequence[_T], jobs: int) -> Iterator[_R]:
    """Yield a function's result for each part: the first computed here, the others in forks if it took a second."""
    begin, later = time.perf_counter(), parts[1:]
    yield from map(compute, parts[:1])
    has_forks = later and jobs > 1 and is_worth_forking(time.perf_counter() - begin)
    yield from in_forks(compute, later, jobs) if has_forks else map(compute, later)


def _attend(work: Any) -> None:
    """Make a process ignore Ctrl-C, and end with its parent."""
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _context(imports_script: bool) -> Any:
    """Return the start method: a fork server with the imports done, if the system supports it."""
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
    """Starts processes that do not import the script, by hiding it from `__main__` while they start."""

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
