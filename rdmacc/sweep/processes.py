"""Processes to compute in, which end with this one, and import its script only if they must.

What multiprocessing starts imports the script that Python was started with, since that may define what is to be
computed. A script without `if __name__ == "__main__":` would then compute everything once more in each process, if
Python did not stop it with a page of errors. Most sweeps and studies refer to nothing in the script.
"""

from __future__ import annotations

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

__all__ = ["process_pool", "refers_to_script", "why_not_elsewhere"]


def why_not_elsewhere(payloads: Iterable[bytes]) -> str | None:
    """Say why other processes cannot compute something.

    Parameters
    ----------
    payloads : iterable of bytes
        What is to be computed, pickled.

    Returns
    -------
    str or None
        The reason; None if they can.
    """
    if not refers_to_script(payloads):
        return None
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is None or not Path(script).is_file():
        return "what is computed is defined in this session and in no file, where other processes cannot import it"
    if "__main__" not in Path(script).read_text(encoding="utf-8", errors="replace"):
        return (
            f"what is computed is defined in {Path(script).name}, and a process that imports that would start again:"
            ' put what it runs under `if __name__ == "__main__":`'
        )
    return None


def refers_to_script(payloads: Iterable[bytes]) -> bool:
    """Tell whether something refers to what the script defines that Python was started with.

    Parameters
    ----------
    payloads : iterable of bytes
        What is to be computed, pickled.
    """
    return any(b"__main__" in payload for payload in payloads)


@contextmanager
def process_pool(jobs: int, imports_script: bool) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool whose processes end with it, and with this process, however that ends.

    Parameters
    ----------
    jobs : int
        Number of processes.
    imports_script : bool
        Whether they must import the script.
    """
    context = _context(imports_script)
    lifeline, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_live_by, initargs=(lifeline,))
    try:
        yield pool
        pool.shutdown()
    finally:
        held.close()  # ends processes that are at work still
        pool.shutdown(cancel_futures=True)
        lifeline.close()


def _context(imports_script: bool) -> Any:
    """Return how processes are started: from one that has imported what they need, where the system can do that."""
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
    """Starts without importing the script: a process looks for it in `__main__` when it starts another one."""

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
    """Begin a process of the pool: end when the other side of the lifeline is closed, not by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            lifeline.recv()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
