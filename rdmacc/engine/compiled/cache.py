"""Where compiled code is kept, so that it is compiled once.

Numba's own cache does not notice a change in an imported module. So every version of the sources that the kernel is
made of has a folder of its own, named by their hash: a stale kernel can never run. Handlers are kept in the same
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

import rdmacc

__all__ = ["cache_folder", "caching_in", "source_hash"]

_KEPT = 4


_SOURCES = ("engine/compiled/*.py", "engine/ranks.py", "engine/records.py", "engine/trace.py", "chance.py",
            "records.py", "state.py", "switch/admission.py", "switch/buffer.py", "switch/classes.py",
            "switch/credits.py", "switch/pfc.py", "switch/queueing.py", "units.py")  # fmt: skip
"""What the kernel is compiled from, or takes constants and layouts from."""


@cache
def source_hash() -> str:
    """Return a hash of the kernel's sources and of the compiler's version."""
    root = Path(rdmacc.__file__).parent
    digest = hashlib.sha256(f"{sys.version} {numba.__version__} {metadata.version('llvmlite')}".encode())
    for pattern in _SOURCES:
        for path in sorted(root.glob(pattern)):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Return this version's folder, made if need be; the oldest of the others are removed.

    It lies in ``RDMACC_CACHE_DIR`` if that is set, else in the user's cache folder.
    """
    base = os.environ.get("RDMACC_CACHE_DIR")
    root = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rdmacc"
    folder = root / source_hash()
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    others = sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for old in others[:-_KEPT]:
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
