"""Compiles the kernel, or loads what was compiled before."""

from __future__ import annotations

import logging
import time
from functools import cache
from typing import Any

import numba

from rdmacc.engine.compiled import kernel
from rdmacc.engine.compiled.cache import cache_folder, caching_in
from rdmacc.engine.compiled.unit import UNIT

__all__ = ["compiled_kernel"]

_log = logging.getLogger(__name__)


@cache
def compiled_kernel() -> tuple[Any, Any, Any, Any]:
    """Return the kernel, compiled now if this version of the sources has never run here."""
    folder = cache_folder()
    is_new = not any(folder.rglob("*.nbi"))
    begin = time.perf_counter()
    if is_new:
        _log.warning("rdmacc: compiling the simulation kernel, once for this version; this takes about 20 s")
    with caching_in(folder):
        run = numba.njit("int64(int64, int64, int64)", **UNIT)(kernel.run_kernel)
        fail_port = numba.njit("void(int64, int64)", **UNIT)(kernel.fail_port_kernel)
        call_rows = numba.njit("int64(int64, int64, int64, int64, int64, int64, int64)", **UNIT)(kernel.call_rows)
        push_events = numba.njit("void(int64, int64, int64)", **UNIT)(kernel.push_events)
    if is_new:
        _log.warning(
            "rdmacc: compiled in %.1f s; from now on it is loaded from %s", time.perf_counter() - begin, folder
        )
    return run, call_rows, fail_port, push_events
