"""Where compiled code is kept, so that it is compiled once.

Numba's own cache does not notice a change in an imported module. So every version of the sources that the kernel is
made of has a folder of its own, named by their hash: a stale kernel can never run. Which sources these are follows
from the imports. Handlers are kept in the same
folder under the hash of what they are made of (`rdmacc.engine.compiled.handlers`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path

import numba

from rdmacc.sources import source_hashes

__all__ = ["cache_folder", "caching_in", "kernel_hash"]

_KEPT = 4

_MARKER = "rdmacc-kernel"
"""A file in each folder that is made here: no other folder is ever removed."""

_ROOTS = ("rdmacc.engine.compiled.build", "rdmacc.engine.compiled.handlers")
"""What compiles. All that they import counts, at whatever depth: a constant of it may be in the machine code."""


@cache
def kernel_hash() -> str:
    """Return a hash of the sources of all that is compiled, and of the compiler's version."""
    text = f"{sys.version} {numba.__version__} {metadata.version('llvmlite')} {source_hashes(_ROOTS)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Return this version's folder, made if need be; those of the oldest versions are removed.

    It lies in ``RDMACC_CACHE_DIR`` if that is set, else in the user's cache folder.
    """
    base = os.environ.get("RDMACC_CACHE_DIR")
    root = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rdmacc"
    folder = root / kernel_hash()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER).touch()
    os.utime(folder)
    ours = (path for path in root.iterdir() if (path / _MARKER).is_file())
    for old in sorted(ours, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


@contextmanager
def caching_in(folder: Path) -> Iterator[None]:
    """Let Numba cache what is decorated meanwhile in a folder."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
