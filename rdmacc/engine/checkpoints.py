"""Checkpoint files: a simulation's state with the code that wrote it, and a checksum over every byte.

A file holds a pickled object, so load only what you wrote yourself.
"""

import hashlib
import json
import os
import pickle
import platform
from contextlib import suppress
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

from rdmacc.caching.sources import own_text
from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from rdmacc.schemes import Scheme

_MAGIC = b"rdmacc checkpoint 1\n"
_UNUSED = "cli/", "explorer/", "show/", "experiments/", "models/"
_SECONDS = {"h": 3600.0, "min": 60.0, "s": 1.0}


def write(path: str | Path, scheme: Scheme, state: dict[str, Any]) -> None:
    """Write a checkpoint; the file under its name is always a whole one, also after an `OSError`."""
    body = json.dumps(_code_of(scheme)).encode() + b"\n" + pickle.dumps(state, pickle.HIGHEST_PROTOCOL)
    part = part_of(path)
    try:
        with open(part, "wb", opener=partial(os.open, mode=0o600)) as file:
            file.write(_MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n")
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def part_of(path: str | Path) -> Path:
    """Return the temporary file of a checkpoint; leftovers of a killed process are overwritten."""
    return Path(path).parent / f".{Path(path).name}.part"


def read(path: str | Path) -> dict[str, Any]:
    """Return the state in a checkpoint; a `ConfigError` says what is wrong with the file."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError("checkpoint", str(path), f"a file that can be read: {error.strerror}") from None
    start = len(_MAGIC) + 65
    head, body = content[:start], content[start:]
    if head != _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise ConfigError("checkpoint", str(path), "whole: this file is damaged, or no checkpoint of this version")
    line, _, pickled = body.partition(b"\n")
    written = json.loads(line)
    for name, here in _versions().items():
        if written[name] != here:
            allowed = f"written by the same {name}: there {written[name]}, here {here}"
            raise ConfigError("checkpoint", str(path), allowed)
    try:
        state: dict[str, Any] = pickle.loads(pickled)
    except (AttributeError, ImportError) as error:
        allowed = f"of a scheme and a workload that this process can import: {error}"
        raise ConfigError("checkpoint", str(path), allowed) from None
    if _components(state["scheme"]) != written["components"]:
        raise ConfigError("checkpoint", str(path), "written with the same components: their handlers have changed")
    return state


def seconds(every: float | str) -> float:
    """Return a wall time in seconds: a number, or with a unit, such as "10min"."""
    text = str(every).strip()
    unit = next((one for one in _SECONDS if text.endswith(one)), "")
    try:
        found = float(text.removesuffix(unit)) * _SECONDS.get(unit, 1.0)
    except ValueError:
        found = -1.0
    if isinstance(every, bool) or not 0 <= found < float("inf"):
        raise ConfigError("every", every, "a time in seconds, or such as '10min'")
    return found


def _code_of(scheme: Scheme) -> dict[str, Any]:
    return {**_versions(), "components": _components(scheme)}


@cache
def _versions() -> dict[str, str]:
    """Return the versions that must match when a checkpoint is loaded."""
    text = own_text(lambda name: not name.startswith(_UNUSED))
    packages = {name: metadata.version(name) for name in ("numba", "numpy", "pandas")}
    code = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {"rdmacc": code, "python": platform.python_version(), "machine": platform.machine(), **packages}


def _components(scheme: Scheme) -> list[str]:
    return [content_hash(type(part), type(part).__name__) for part in scheme.components]
