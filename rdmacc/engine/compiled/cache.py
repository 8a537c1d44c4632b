"""Where compiled code is kept, so that it is compiled once.

Numba's own cache does not notice a change in an imported module. So every version of the sources that the kernel is
made of has a folder of its own, named by their hash: a stale kernel can never run. Which sources these are follows
from the imports. Handlers are kept in the same folder under the hash of what they are made of
(`rdmacc.engine.compiled.handlers`).

What lies here is run. So the folder must belong to the user alone, and each unit of code has a list of its files with
their hashes: what is damaged is dropped and compiled anew. Without a folder that can be written, code is compiled into
memory.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TypeVar

import numba
import platformdirs
from llvmlite import binding

from rdmacc.errors import CompileError, ConfigError
from rdmacc.sources import source_hashes

__all__ = ["cache_folder", "is_kept", "kept", "kernel_hash"]

_log = logging.getLogger(__name__)

_KEPT = 4

_MARKER = "rdmacc-kernel"
"""A file in each folder that is made here: no other folder is ever removed."""

_ROOTS = ("rdmacc.engine.compiled.build", "rdmacc.engine.compiled.handlers")
"""What compiles. All that they import counts, at whatever depth: a constant of it may be in the machine code."""

_Compiled = TypeVar("_Compiled")


@cache
def kernel_hash() -> str:
    """Return a hash of the sources of all that is compiled, of the compiler's version, and of the processor."""
    features = binding.get_host_cpu_features().flatten()
    text = (
        f"{sys.version} {numba.__version__} {metadata.version('llvmlite')} {binding.get_host_cpu_name()} {features}"
        f" {source_hashes(_ROOTS)}"
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def cache_folder() -> Path | None:
    """Return this version's folder, made if need be; those of the oldest versions are removed.

    It lies in ``RDMACC_CACHE_DIR`` if that is set, else in the user's cache folder. None if no folder can be written:
    what is compiled is not kept then.

    Raises
    ------
    ConfigError
        If ``RDMACC_CACHE_DIR`` is no absolute path, or if the folder belongs to somebody else or others may write
        into it.
    """
    root = _root()
    folder = root / kernel_hash()
    try:
        for each in (root, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(each)
        (folder / _MARKER).touch()
        os.utime(folder)
    except OSError as error:
        _log.warning("rdmacc: compiled code is not kept, it takes a minute in each process: %s", error)
        return None
    ours = [path for path in root.iterdir() if (path / _MARKER).is_file()]
    for old in sorted(ours, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _root() -> Path:
    chosen = os.environ.get("RDMACC_CACHE_DIR")
    if not chosen:
        return platformdirs.user_cache_path("rdmacc", appauthor=False)
    if not Path(chosen).is_absolute():
        raise ConfigError("RDMACC_CACHE_DIR", chosen, "an absolute path")
    return Path(chosen)


def _check_private(folder: Path) -> None:
    """Raise a ConfigError if anyone else could put code into a folder; systems without owners have no say."""
    if not hasattr(os, "getuid"):
        return
    about = folder.stat()
    if about.st_uid != os.getuid():
        raise ConfigError("cache folder", str(folder), "owned by you: code that lies in it is run")
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        allowed = f"writable by you alone, since code that lies in it is run: chmod go-w {folder}"
        raise ConfigError("cache folder", str(folder), allowed)


def is_kept(unit: str) -> bool:
    """Tell whether a unit of code is in the cache, whole.

    Parameters
    ----------
    unit : str
        Its name, with which the names of its files begin.
    """
    folder = cache_folder()
    if folder is None:
        return False
    try:
        listed = json.loads((folder / f"{unit}.json").read_text())
        return bool(listed) and listed == _hashes(folder, unit)
    except (OSError, ValueError):
        return False


def kept(unit: str, make: Callable[[bool], _Compiled]) -> _Compiled:
    """Return what a function compiles, or loads from the cache.

    Parameters
    ----------
    unit : str
        Name of the unit of code; Numba's names of its files begin with it.
    make : callable
        Compiles. It is told whether Numba may use its cache.

    Returns
    -------
    object
        What `make` returns.
    """
    folder = cache_folder()
    if folder is None:
        return make(False)
    is_new = not is_kept(unit)
    if is_new:
        _drop(folder, unit)
    try:
        with _caching_in(folder):
            made = make(True)
        if is_new:
            listed = folder / f"{unit}.json"
            draft = listed.with_suffix(f".{os.getpid()}.tmp")
            draft.write_text(json.dumps(_hashes(folder, unit)))
            draft.replace(listed)
        return made
    except (CompileError, numba.core.errors.NumbaError):
        raise
    except Exception as error:  # whatever Numba meets in files that another process is changing, or on a full disk
        _drop(folder, unit)
        made = make(False)  # which raises an error of its own if it is not the cache that is at fault
        _log.warning("rdmacc: compiled into memory, %s could not be used: %s: %s", folder, type(error).__name__, error)
        return made


def _files(folder: Path, unit: str) -> list[Path]:
    return sorted(path for path in folder.rglob(f"{unit}.*") if path.suffix in (".nbi", ".nbc"))


def _hashes(folder: Path, unit: str) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(folder, unit)}


def _drop(folder: Path, unit: str) -> None:
    for path in (folder / f"{unit}.json", *_files(folder, unit)):
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    """Let Numba cache what is decorated meanwhile in a folder."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
