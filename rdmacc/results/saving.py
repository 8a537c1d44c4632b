"""Results that last: a folder of Parquet and JSON files, which any tool can read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rdmacc.results.folders import write_folder
from rdmacc.typed import typed

__all__ = ["FRAMES", "KIND", "save"]

FRAMES = ("flows", "computation", "collectives", "jobs", "transfers", "probes", "ports", "buffers")
"""Each a Parquet file."""
KIND = "result"
"""``result.json`` has summary, counters, provenance, probes."""


@typed
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
        If the folder is a symbolic link, or has files in it and is not a saved result that may be replaced.
    """
    about = {
        "summary": {name: None if value != value else value for name, value in asdict(result.summary()).items()},
        "provenance": result.provenance,
        "counters": {str(name): int(value) for name, value in result.counters.items()},
        "watched": [{**asdict(probe), "at": _at(probe.at)} for probe in result.watched],
    }
    return write_folder(folder, KIND, about, {name: getattr(result, name) for name in FRAMES}, replace=replace)


def _at(at: object) -> Any:
    """Return what a probe watches as JSON has it."""
    if isinstance(at, tuple):
        return [_at(one) for one in at]
    return at if isinstance(at, str | int) else str(at)
