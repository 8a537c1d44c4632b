"""Folders of saved frames, which any tool can read: Parquet, and a JSON file with a description and the digests."""

import hashlib
import json
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from rdmacc.errors import ConfigError, written
from rdmacc.errors.typed import typed

FORMAT = 4
FRAMES = ("flows", "computation", "collectives", "jobs", "transfers", "probes", "ports", "buffers")
"""Frames, each saved as a Parquet file."""
KIND = "result"
"""``result.json`` holds summary, counters, provenance, probes and the job of each host."""


def write_folder(
    folder: str | Path, kind: str, about: Mapping[str, Any], frames: Mapping[str, pd.DataFrame], *, replace: bool
) -> Path:
    """Write frames to a temporary folder, then rename it, so that an existing folder survives until the end."""
    target = _path(folder)
    own = {f"{kind}.json", *(f"{name}.parquet" for name in frames)}
    with written(target, "folder"):
        is_new = not target.exists()
        is_here = not is_new and target.samefile(".")
    for wrong, allowed in (
        (is_here, "a folder other than the working directory: saving replaces the whole folder"),
        (target.is_symlink(), "a real folder, not a symbolic link"),
        (not (is_new or target.is_dir()), "a folder, or a path that does not exist yet"),
    ):
        if wrong:
            raise ConfigError("folder", str(target), allowed)
    there = {path.name for path in target.iterdir()} if not is_new else set()
    if there - own or (there and f"{kind}.json" not in there):
        example = sorted(there - own or there)[0]
        raise ConfigError(
            "folder", str(target), f"empty: it contains files other than a saved {kind}, such as {example}"
        )
    if there and not replace:
        raise ConfigError("folder", str(target), "empty; or pass replace=True")
    with written(target, "folder"):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".tmp", dir=target.parent))
    try:
        for name, frame in frames.items():
            _storable(frame).to_parquet(draft / f"{name}.parquet", index=False)
        digests = {path.name: _digest(path.read_bytes()) for path in sorted(draft.iterdir())}
        content = {"format": FORMAT, "kind": kind, **about, "digests": digests}
        content["digest"] = _digest(_canonical(content))
        (draft / f"{kind}.json").write_text(json.dumps(content, indent=1))
        draft.chmod(0o755)
        if there:
            before = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".old", dir=target.parent))
            target.replace(before)
            draft.replace(target)
            shutil.rmtree(before)
        else:
            draft.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def read_folder(folder: str | Path, kind: str, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    source = _path(folder)
    wanted = f"a folder that {kind.capitalize()}.save wrote"
    try:
        about = json.loads(_read(source / f"{kind}.json"))
        if not isinstance(about, dict):
            raise TypeError("not a JSON object")
        if about.get("format") != FORMAT:
            raise ConfigError("folder", str(source), f"{wanted}, in format {FORMAT}, not {about.get('format')!r}")
        digest = about.pop("digest", None)
        if digest != _digest(_canonical(about)):
            raise ValueError(f"the digest of {kind}.json does not match: it was changed")
        frames = {}
        for name in names:
            content = _read(source / f"{name}.parquet")
            if _digest(content) != about["digests"][f"{name}.parquet"]:
                raise ValueError(f"the digest of {name}.parquet does not match: it was changed")
            frames[name] = pd.read_parquet(pa.BufferReader(content))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, pa.ArrowException) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError("folder", str(source), f"{wanted} ({type(error).__name__}: {error})") from None
    return about, frames


def _path(folder: object) -> Path:
    if not isinstance(folder, str | Path) or "\0" in str(folder):
        raise ConfigError("folder", folder, "a path")
    return Path(folder)


def _read(path: Path) -> bytes:
    """Return a file's content; refuse folders, and pipes, which might never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path.name} is not a file")
    return path.read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _storable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which each column has one type: names of mixed types become strings."""
    stored = frame.copy(deep=False)
    for name in frame:
        values = frame[name]
        if values.dtype == object and not (
            values.map(_is_plain).all() and len(set(values.map(type)) - {type(None)}) <= 1
        ):
            stored[name] = values.map(str)
    return stored


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


@typed
def save(result: Any, folder: str | Path, *, replace: bool = False) -> Path:
    """Write the frames, counters, summary and provenance into a folder: Parquet and JSON, for `rdmacc.load`.

    Packet traces are not saved; `rdmacc.results.pcapng` exports them.

    Parameters
    ----------
    result : Result
        The simulation.
    folder : path
        Target folder; created if it does not exist.
    replace : bool
        Whether to replace an existing saved result.

    Raises
    ------
    ConfigError
        If the folder is a symbolic link, or contains files other than a saved result that may be replaced.
    """
    about = {
        "summary": {name: None if value != value else value for name, value in asdict(result.summary()).items()},
        "provenance": result.provenance,
        "counters": {str(name): int(value) for name, value in result.counters.items()},
        "watched": [{**asdict(probe), "at": _at(probe.at)} for probe in result.watched],
        "job_of_host": result.job_of_host,
    }
    return write_folder(folder, KIND, about, {name: getattr(result, name) for name in FRAMES}, replace=replace)


def _at(at: object) -> Any:
    if isinstance(at, tuple):
        return [_at(one) for one in at]
    return at if isinstance(at, str | int) else str(at)
