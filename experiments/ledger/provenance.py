"""Where the tables come from that rdmacc comes with, in one file; and which of them older code has computed.

``python -m rdmacc.experiments.ledger.provenance`` writes the file from what each table says of
itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.registry import EXPERIMENTS, summary_path
from rdmacc.sweep.fingerprint import Fingerprints
from rdmacc.sweep.store import read_table, write_atomically

__all__ = ["age", "ages", "current_code", "entry_of", "gather", "provenance_path", "recorded", "write"]

_KEPT = ("scale", "seed", "seeds", "set", "points", "packet_hops", "rdmacc", "commits", "code", "versions")
_SHORT = 10


def provenance_path() -> Path:
    """Return the file: a line of JSON for each table, so that versions of it merge line by line."""
    return summary_path("any").with_name("provenance.jsonl")


def entry_of(path: Path) -> dict[str, Any]:
    """Return what a table says of its making, and the hash of its file.

    Parameters
    ----------
    path : Path
        The table's file.
    """
    own = read_table(path)[1]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"experiment": path.stem, "sha256": digest} | {name: own[name] for name in _KEPT if name in own}


def gather() -> list[dict[str, Any]]:
    """Return the entries of all tables that are there, by name."""
    return [entry_of(path) for path in sorted(provenance_path().parent.glob("*.parquet"))]


def recorded() -> dict[str, dict[str, Any]]:
    """Return the entries of the file, by experiment.

    Raises
    ------
    ConfigError
        If a line is not an entry.
    """
    try:
        lines = [json.loads(line) for line in provenance_path().read_text(encoding="utf-8").splitlines()]
        return {str(one["experiment"]): one for one in lines}
    except (ValueError, KeyError, TypeError) as error:
        wanted = "a line of JSON for each table; `python -m rdmacc.experiments.ledger.provenance` writes it"
        raise ConfigError("file", provenance_path().name, f"{wanted} ({error})") from None


def write() -> Path:
    """Write the file anew, and return where it is."""
    lines = [json.dumps(one, sort_keys=True) for one in gather()]

    def save(draft: Path) -> None:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")

    write_atomically(provenance_path(), save)
    return provenance_path()


def current_code(one: Experiment, scale: str, seed: int) -> set[str]:
    """Return the hashes of the code that computes an experiment's points today.

    Parameters
    ----------
    one : Experiment
        The experiment.
    scale : str
        "quick" or "paper".
    seed : int
        The first seed.
    """
    prints = Fingerprints()
    return {prints.code(one, point)["hash"] for point in one.points(scale, seed)}


@cache
def age(name: str) -> str:
    """Say in words that older code has computed the table that rdmacc comes with; "" if the code is today's.

    A table that has no entry in the file is asked itself.

    Parameters
    ----------
    name : str
        Name of the experiment.

    Raises
    ------
    ConfigError
        If there is no such experiment, or no table of it.
    """
    path = summary_path(name)
    if name not in EXPERIMENTS or not path.exists():
        raise ConfigError("table", name, "the name of an experiment whose table rdmacc comes with")
    entry = recorded().get(name) or entry_of(path)
    if set(entry["code"]) <= current_code(EXPERIMENTS[name], entry["scale"], entry["seed"]):
        return ""
    commits = ", ".join(one[:_SHORT] + one[40:] for one in entry["commits"] if one) or "of an unknown commit"
    return (
        f"computed by older code than this ({commits}); `rdmacc run {name} --scale {entry['scale']}` computes it again"
    )


def ages(names: Iterable[str] | None = None) -> dict[str, str]:
    """Return `age` of each table that older code has computed.

    Parameters
    ----------
    names : iterable of str, optional
        Experiments that have a table. Default: all that have one.
    """
    chosen = [name for name in EXPERIMENTS if summary_path(name).exists()] if names is None else names
    return {name: words for name in chosen if (words := age(name))}


if __name__ == "__main__":
    import rdmacc.experiments.ledger.provenance

    print(rdmacc.experiments.ledger.provenance.write())  # noqa: T201
