"""Calls in other processes: a crash costs only the call that caused it, and all processes end with this one.

By default, multiprocessing imports the main script in each process, because the script may define the work. A script
without `if __name__ == "__main__":` would then start all over in each process, if Python did not stop it with a long
traceback. Most sweeps and studies use nothing from the script, so it is imported only for work that refers to it.

Loky (3.7) would not replace this module. A worker that dies fails all pending calls of its pool, as in the standard
library; workers outlive a parent that is killed; scripts go to them as byte code, from which handlers cannot be
compiled; and each pool spends seconds importing rdmacc again.
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
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
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
    submit: Callable[[Callable[[], _R]], Future[_R]], calls: Mapping[_Key, Callable[[], _R]], width: int
) -> Iterator[tuple[_Key, Future[_R]]]:
    """Submit calls, at most `width` at a time, and yield each when it has ended."""
    waiting, running = deque(calls), dict[Future[_R], _Key]()
    ended: list[tuple[_Key, Future[_R]]] = []
    try:
        while waiting or running or ended:
            while waiting and len(running) < width:
                name = waiting.popleft()
                running[submit(calls[name])] = name
            yield from ended  # now that the next calls have begun
            ended = [(running.pop(future), future) for future in wait(running, return_when=FIRST_COMPLETED).done]
    finally:
        for future in running:
            future.cancel()


class Processes:
    """Processes of this machine, started when there are calls for them and ended with the block.

    Each is a pool by itself, so that its death breaks no other call.
    """

    def __init__(self, jobs: int, imports_script: bool) -> None:
        self._jobs, self._imports_script = jobs, imports_script
        self._last: dict[ProcessPoolExecutor, Future[Any]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        for pool in self._last:
            _end(pool, kind is not None)

    def _submit(self, call: Callable[[], _R]) -> Future[_R]:
        pool = next((one for one, last in self._last.items() if last.done()), None)
        if pool is None:
            pool = ProcessPoolExecutor(1, _context(), _attend)
        try:
            with nullcontext() if self._imports_script else _without_script():
                future = self._last[pool] = pool.submit(call)
            return future
        except BrokenExecutor:  # the process has died
            _end(pool, False)
            del self._last[pool]
            return self._submit(call)

    def outcomes(self, calls: Mapping[_Key, Callable[[], _R]]) -> Iterator[tuple[_Key, Future[_R]]]:
        """Make calls, and yield each when it has ended.

        Calls whose process died are repeated at the end, one at a time, because together they may have run out of
        memory. A call that kills its process again ends with a BrokenExecutor.
        """
        died: dict[_Key, Callable[[], _R]] = {}
        for name, future in finished(self._submit, calls, self._jobs):
            if isinstance(future.exception(), BrokenExecutor):
                died[name] = calls[name]
            else:
                yield name, future
        yield from finished(self._submit, died, 1)

    def in_order(self, calls: Sequence[Callable[[], _R]]) -> Iterator[Future[_R]]:
        """Make calls, and yield them in their order."""
        ended, found = self.outcomes(dict(enumerate(calls))), dict[int, Future[_R]]()
        for place in range(len(calls)):
            while place not in found:
                other, found[other] = next(ended)
            yield found.pop(place)


def _end(pool: ProcessPoolExecutor, is_abrupt: bool) -> None:
    if is_abrupt:
        for process in list((pool._processes or {}).values()):  # `shutdown` would wait for busy ones
            process.kill()
    pool.shutdown(cancel_futures=True)


def may_fork() -> bool:
    """Return whether this process may fork: no other thread may hold a lock, which a fork would never see released.

    Daemon threads do not count. Processes of a pool do not fork, because their siblings use the other processors.
    """
    others = (one for one in threading.enumerate() if one is not threading.current_thread())
    return sys.platform == "linux" and not multiprocessing.parent_process() and all(one.daemon for one in others)


def shared_out(compute: Callable[[_T], _R], parts: Sequence[_T], jobs: int) -> Iterator[_R]:
    """Yield a function's result for each part: the first computed here, the others in forks if that saves seconds."""
    begin, later = time.perf_counter(), parts[1:]
    yield from map(compute, parts[:1])
    is_long = (time.perf_counter() - begin) * len(later) > _WORTH_FORKING_S
    yield from _in_forks(compute, later, jobs) if is_long and jobs > 1 and may_fork() else map(compute, later)


def _in_forks(compute: Callable[[_T], _R], parts: Sequence[_T], jobs: int) -> Iterator[_R]:
    """Yield a function's result for each part, in order: computed in forks, or here once a fork has died.

    Forks inherit the function and the parts in memory, so neither has to be picklable.
    """
    pool = ProcessPoolExecutor(min(jobs, len(parts)), multiprocessing.get_context("fork"), _attend, ((compute, parts),))
    is_done = False
    try:
        with warnings.catch_warnings():  # about forking with threads, which are daemons
            warnings.simplefilter("ignore", DeprecationWarning)
            futures = [pool.submit(_compute_part, place) for place in range(len(parts))]
        for part, future in zip(parts, futures, strict=True):
            yield compute(part) if isinstance(future.exception(), BrokenExecutor) else future.result()
        is_done = True
    finally:
        _end(pool, not is_done)


_work: Any = None
"""What forks compute: a function, and its parts."""


def _compute_part(place: int) -> Any:
    compute, parts = _work
    return compute(parts[place])


def _attend(work: Any = None) -> None:
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


def _context() -> Any:
    """Return the start method: a fork server with the imports done, if the system supports it."""
    try:
        os.getcwd()
    except OSError:
        raise ConfigError("current folder", "deleted", "must exist where processes start; or pass jobs=1") from None
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["rdmacc.sweep.workers", "rdmacc.experiments"])
    return context


@contextmanager
def _without_script() -> Iterator[None]:
    """Keep processes that start from importing the script, by hiding it."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
