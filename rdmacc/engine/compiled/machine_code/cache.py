"""The cache of machine code, so that the kernel is compiled only once.

Numba's own cache misses changes in imported modules. So each version of the kernel's sources, as imported, has its own
folder, named by their hash: a stale kernel never runs. While any part of rdmacc is monkey-patched, the cache is neither
read nor written. Handlers are in the same folder, under the hash of all that they depend on
(`rdmacc.engine.compiled.machine_code.hooks`).

A unit of code is a zip archive of object files, so `unzip` and `objdump -d` show what runs. The linker trusts an object
file, and a truncated one crashes the process. So each archive is signed, in its comment, with a key that only the user
can read; an archive without a valid signature for its name is compiled again. No other user may be able to write to the
folder or replace it. If no folder is writable, code is compiled into memory.
"""

import hashlib
import hmac
import io
import logging
import os
import secrets
import shutil
import stat
import sys
import zipfile
from collections.abc import Callable
from functools import cache, partial
from importlib import metadata
from pathlib import Path

import numba
import numpy as np
import platformdirs
from llvmlite import binding

from rdmacc.caching import uncollected
from rdmacc.caching.sources import own_text, patched
from rdmacc.engine.compiled.machine_code.units import INTERFACE
from rdmacc.errors import ConfigError

_log = logging.getLogger(__name__)

_KEPT = 4

_MARKER = "rdmacc-kernel"  # a file in each folder that is made here: no other folder is ever removed

_KEY = "key"
_KEY_BYTES = 32
_SIGNATURE_BYTES = 64

_COUNTED = (
    "caching/", "engine/compiled/", "engine/records.py", "engine/trace.py", "errors/", "handlers/", "interface/",
    "rules/", "units/",
)  # fmt: skip
"""Sources that the compilation depends on, or whose constants end up in the machine code."""


def kernel_hash() -> str:
    """Return a hash of all compiled sources, the libraries' versions and the processor."""
    text = f"{_machine()} {own_text(lambda name: name.startswith(_COUNTED))}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _machine() -> str:
    features = binding.get_host_cpu_features().flatten()
    return (
        f"{sys.version} {numba.__version__} {metadata.version('llvmlite')} {np.__version__} {INTERFACE}"
        f" {binding.get_host_cpu_name()} {features}"
    )


def cache_folder() -> Path | None:
    """Return this process's cache folder; None if nothing can be cached."""
    changed = patched()
    if changed:
        _say_changed(changed)
        return None
    return _folder(kernel_hash())


@cache
def _say_changed(what: str) -> None:
    _log.warning("rdmacc: %s has been changed in this process: what is compiled here is neither kept nor found", what)


@cache
def _folder(version: str) -> Path | None:
    """Return a version's folder, creating it if needed and removing those of the oldest versions.

    It is in ``RDMACC_CACHE_DIR`` if that is set, otherwise in the user's cache folder. None if no folder is writable:
    nothing is cached then.
    """
    try:
        root = _root()
        folder = root / version
        for each in (root, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(each)
        _check_parents(root)
        (folder / _MARKER).touch()
        os.utime(folder)
    except (OSError, RuntimeError) as error:  # such as a user without a home folder
        _log.warning("rdmacc: cannot cache compiled code, so each process compiles it again (10 to 20 s): %s", error)
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
    """Raise a ConfigError if another user could write to the folder; skipped on systems without file owners."""
    if not hasattr(os, "getuid"):
        return
    about = folder.stat()
    if about.st_uid != os.getuid():
        raise ConfigError("cache folder", str(folder), "owned by you, because rdmacc runs code from it")
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        allowed = f"writable only by you, because rdmacc runs code from it: chmod go-w {folder}"
        raise ConfigError("cache folder", str(folder), allowed)


def _check_parents(folder: Path) -> None:
    """Raise a ConfigError if another user could replace this folder or a parent of it."""
    for parent in {*folder.parents, *folder.resolve().parents} if hasattr(os, "getuid") else ():
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:  # in /tmp, which is sticky, each may rename only their own
            allowed = (
                f"in folders that other users cannot write to, because rdmacc runs code from it: chmod o-w {parent}"
            )
            raise ConfigError("cache folder", str(folder), allowed)


def is_kept(unit: str) -> bool:
    """Return whether the cache holds an intact copy of a unit of code."""
    return _read(unit) is not None


def kept(unit: str, make: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
    """Return a unit of code from the cache, compiling it first if need be."""
    objects = _read(unit)
    if objects is None:
        with uncollected():  # Numba makes many small objects
            objects = make()
        _write(unit, objects)
    return objects


def _read(unit: str) -> dict[str, bytes] | None:
    """Return a cached unit; None if it is missing or its signature is wrong."""
    folder = cache_folder()
    if folder is None:
        return None
    content = _content(folder / f"{unit}.zip")
    if len(content) < _SIGNATURE_BYTES or not _is_signed(folder, unit, content):
        return None
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _content(path: Path) -> bytes:
    """Return a file's bytes; none if it is no regular file: reading a pipe could block forever."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""


def _is_signed(folder: Path, unit: str, content: bytes) -> bool:
    key = _content(folder / _KEY)
    return len(key) == _KEY_BYTES and hmac.compare_digest(_signature(key, unit, content), content[-_SIGNATURE_BYTES:])


def _signature(key: bytes, unit: str, content: bytes) -> bytes:
    """Return the signature in an archive's comment."""
    return hmac.new(key, unit.encode() + b"\0" + content[:-_SIGNATURE_BYTES], "sha256").hexdigest().encode()


def _key(folder: Path) -> bytes:
    """Return the signing key; make a new one unless there is one that only the user can read."""
    path = folder / _KEY
    key = _content(path)
    if len(key) != _KEY_BYTES or (path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) and hasattr(os, "getuid")):
        key = secrets.token_bytes(_KEY_BYTES)
        _replace(path, key)
    return key


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically: another process may be reading it."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb", opener=partial(os.open, mode=0o600)) as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _write(unit: str, objects: dict[str, bytes]) -> None:
    folder = cache_folder()
    if folder is None:
        return
    packed = io.BytesIO()
    try:
        with zipfile.ZipFile(packed, "w") as archive:
            archive.comment = bytes(_SIGNATURE_BYTES)
            for name, code in objects.items():
                archive.writestr(name, code)
        content = packed.getvalue()
        _replace(folder / f"{unit}.zip", content[:-_SIGNATURE_BYTES] + _signature(_key(folder), unit, content))
    except OSError as error:
        _log.warning("rdmacc: cannot cache compiled code: writing to %s failed: %s", folder, error)
