"""Results that last: a folder of Parquet and JSON files, which any tool can read."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.errors import ConfigError

__all__ = ["ABOUT", "FORMAT", "FRAMES", "save"]

FRAMES = ("flows", "transfers", "probes", "ports", "buffers")
"""Each a Parquet file."""
ABOUT = "result.json"
"""Summary, counters, provenance, probes. Written last: a folder without it is no result."""
FORMAT = 1


def save(result: Any, folder: str | Path, *, replace: bool = False) -> Path:
    """Write the frames, counters, summary and provenance into a folder: Parquet and JSON, for `rdmacc.load`.

    A packet trace is not saved; `rdmacc.results.pcapng` writes one.

    Parameters
    ----------
    result : Result
        The simulation.
    folder : path
        Where to; made if it is not there.
    replace : bool
        Whether a result that is there may be replaced.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ConfigError
        If the folder has files in it, and is not a saved result that may be replaced.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ConfigError("folder", str(target), "a folder, or a new one")
    if target.exists() and any(target.iterdir()):
        if not (target / ABOUT).exists():
            raise ConfigError("folder", str(target), "empty: it holds files that are no saved result")
        if not replace:
            raise ConfigError("folder", str(target), "empty; or pass replace=True")
    target.mkdir(parents=True, exist_ok=True)
    about = {
        "format": FORMAT,
        "summary": {name: None if value != value else value for name, value in asdict(result.summary()).items()},
        "provenance": result.provenance,
        "counters": {str(name): int(value) for name, value in result.counters.items()},
        "watched": [{**asdict(probe), "at": _at(probe.at)} for probe in result.watched],
    }
    (target / ABOUT).unlink(missing_ok=True)
    for name in FRAMES:
        _storable(getattr(result, name)).to_parquet(target / f"{name}.parquet", index=False)
    (target / ABOUT).write_text(json.dumps(about, indent=1))
    return target


def _storable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose columns have one type each: names of several types become text."""
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


def _at(at: object) -> Any:
    """Return what a probe watches as JSON has it."""
    if isinstance(at, tuple):
        return [_at(one) for one in at]
    return at if isinstance(at, str | int) else str(at)
