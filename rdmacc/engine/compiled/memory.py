"""Memory for the kernel's tables: zeroed, aligned to cache lines, and in large pages where a table is large.

The system allocates memory one page at a time, on the first write; each page costs a system call as long as twenty
events. A page of 2 MiB needs one call and one TLB entry.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.layout import CACHE_LINE

_LARGE_PAGE_BYTES = 2**21
_LARGE_BYTES = 2**20
"""Smaller tables share pages that the process already has."""


def mapped(count: int, advice: str) -> tuple[mmap.mmap, npt.NDArray[np.uint8]]:
    """Return a mapping of zeroed memory, and its bytes; what is not written takes no space."""
    private: Any = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        memory = mmap.mmap(-1, count, **private)
    except OSError as error:  # as NumPy says it
        raise MemoryError(f"cannot allocate {count:,} bytes for a table") from error
    if hasattr(mmap, advice):
        memory.madvise(getattr(mmap, advice))
    return memory, np.frombuffer(memory, np.uint8)


def zeroed(count: int) -> npt.NDArray[np.uint8]:
    """Return zeroed bytes that begin a cache line."""
    if count >= _LARGE_BYTES:
        return mapped(-(-count // _LARGE_PAGE_BYTES) * _LARGE_PAGE_BYTES, "MADV_HUGEPAGE")[1][:count]
    raw = np.zeros(count + CACHE_LINE, np.uint8)
    shift = -raw.ctypes.data % CACHE_LINE
    return raw[shift : shift + count]


def filled(row: bytes, count: int) -> npt.NDArray[np.uint8]:
    """Return `count` copies of a row."""
    raw = zeroed(len(row) * count)
    raw.reshape(count, len(row))[:] = np.frombuffer(row, np.uint8)
    return raw
