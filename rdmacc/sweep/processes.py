"""Worker processes that end with this one, and import its script only if necessary.

By default, multiprocessing imports the main script in each process, because the script may define the work. A script
without `if __name__ == "__main__":` would then start all over in each process, if Python did not stop it with a long
traceback. Most sweeps and studies use nothing from the script.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import context as contexts
from pathlib import Path
from typing import Any


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
def process_pool(jobs: int, imports_script: bool) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool whose processes end with it and with this process, however this process ends."""
    context = _context(imports_script)
    lifeline, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_live_by, initargs=(lifeline,))
    try:
        yield pool
        pool.shutdown()
    finally:
        held.close()  # ends processes that are still busy
        pool.shutdown(cancel_futures=True)
        lifeline.close()


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


def _live_by(lifeline: Any) -> None:
    """Initialise a process of the pool: it ignores Ctrl-C, and ends when the other side of the lifeline is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            lifeline.recv()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
