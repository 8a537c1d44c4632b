"""Compiles the kernel, or loads what was compiled before."""

from __future__ import annotations

import logging
import time
from functools import cache
from typing import Any

import numba

from rdmacc.engine.compiled import kernel
from rdmacc.engine.compiled.cache import cache_folder, is_kept, kept
from rdmacc.engine.compiled.unit import UNIT

__all__ = ["compiled_kernel"]

_log = logging.getLogger(__name__)


@cache
def compiled_kernel() -> tuple[Any, Any, Any, Any]:
    """Return the kernel, compiled now if this version of the sources has never run here."""
    is_new = not is_kept("kernel")
    begin = time.perf_counter()
    if is_new:
        _log.warning("rdmacc: compiling the simulation kernel, once for this version; this takes about 20 s")
    made = kept("kernel", _compile)
    if is_new:
        where = f"from now on it is loaded from {cache_folder()}" if cache_folder() else "it is not kept"
        _log.warning("rdmacc: compiled in %.1f s; %s", time.perf_counter() - begin, where)
    return made


def _compile(is_cached: bool) -> tuple[Any, Any, Any, Any]:
    unit: dict[str, Any] = UNIT | {"cache": is_cached}
    run = numba.njit("int64(int64, int64, int64)", **unit)(kernel.run_kernel)
    call_rows = numba.njit("int64(int64, int64, int64, int64, int64, int64, int64)", **unit)(kernel.call_rows)
    fail_port = numba.njit("void(int64, int64)", **unit)(kernel.fail_port_kernel)
    push_events = numba.njit("void(int64, int64, int64)", **unit)(kernel.push_events)
    return run, call_rows, fail_port, push_events
