"""Where compiled code is kept, so that it is compiled once.

Numba's own cache does not notice a change in an imported module. So every version of the sources that the kernel is
made of has a folder of its own, named by their hash: a stale kernel can never run. Which sources these are follows
from the imports. Handlers are kept in the same folder under the hash of what they are made of
(`rdmacc.engine.compiled.handlers`).

A unit of code is a zip archive of object files, so that `unzip` and `objdump -d` show what runs. The folder must belong
to the user alone. An archive that is damaged is compiled anew; without a folder that can be written, code is compiled
into memory.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

import numba
import numpy as np
import platformdirs
from llvmlite import binding

from rdmacc.engine.collector import uncollected
from rdmacc.engine.compiled.unit import INTERFACE
from rdmacc.errors import ConfigError
from rdmacc.sources import source_hashes

__all__ = ["cache_folder", "is_kept", "kept", "kernel_hash"]

_log = logging.getLogger(__name__)

_KEPT = 4

_MARKER = "rdmacc-kernel"
"""A file in each folder that is made here: no other folder is ever removed."""

_ROOTS = ("rdmacc.engine.compiled.build", "rdmacc.engine.compiled.handlers")
"""What compiles. All that they import counts, at whatever depth: a constant of it may be in the machine code."""


@cache
def kernel_hash() -> str:
    """Return a hash of the sources of all that is compiled, of the libraries' versions, and of the processor."""
    features = binding.get_host_cpu_features().flatten()
    text = (
        f"{sys.version} {numba.__version__} {metadata.version('llvmlite')} {np.__version__} {INTERFACE}"
        f" {binding.get_host_cpu_name()} {features} {source_hashes(_ROOTS)}"
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
        _log.warning("rdmacc: compiled code is not kept, it takes about 10 s in each process: %s", error)
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
        Its name.
    """
    return _read(unit) is not None


def kept(unit: str, make: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
    """Return a unit of code from the cache; compile and keep it if it is not there.

    Parameters
    ----------
    unit : str
        Its name.
    make : callable
        Compiles it.

    Returns
    -------
    dict
        An object file for each function, by its name.
    """
    objects = _read(unit)
    if objects is None:
        with uncollected():  # Numba makes many small objects
            objects = make()
        _write(unit, objects)
    return objects


def _read(unit: str) -> dict[str, bytes] | None:
    """Return what is kept of a unit, None if that is nothing, or damaged."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        with zipfile.ZipFile(folder / f"{unit}.zip") as archive:
            return {name: archive.read(name) for name in archive.namelist()} or None
    except (OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None  # the checksums do not agree, or there is no archive


def _write(unit: str, objects: dict[str, bytes]) -> None:
    folder = cache_folder()
    if folder is None:
        return
    draft = folder / f"{unit}.{os.getpid()}.tmp"
    try:
        with zipfile.ZipFile(draft, "w") as archive:
            for name, code in objects.items():
                archive.writestr(name, code)
        draft.replace(folder / f"{unit}.zip")  # at once: another process may be reading
    except OSError as error:
        _log.warning("rdmacc: compiled code is not kept, %s could not be written: %s", folder, error)
        draft.unlink(missing_ok=True)
