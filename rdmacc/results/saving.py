"""Save results to a folder of Parquet and JSON files, which any tool can read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rdmacc.results.folders import write_folder
from rdmacc.typed import typed

FRAMES = ("flows", "computation", "collectives", "jobs", "transfers", "probes", "ports", "buffers")
"""Frames, each saved as a Parquet file."""
KIND = "result"
"""``result.json`` holds summary, counters, provenance, probes and the job of each host."""


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

    Returns
    -------
    Path
        The folder.

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
    """Return the place that a probe watches, in JSON form."""
    if isinstance(at, tuple):
        return [_at(one) for one in at]
    return at if isinstance(at, str | int) else str(at)
