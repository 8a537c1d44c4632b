"""The ledger: the verdict of each bundled table on each claim, and the digests of today's behaviour.

Each paper has a ``data/ledger.jsonl``, one line per figure. Tests judge the tables again and compare every number, so
they notice a changed measurement even if the verdict is the same. ``python -m rdmacc.experiments.ledger`` rewrites the
files.

A table depends on behaviour, not on source. Each table at paper scale is stored with digests of the figure's table at
quick scale and of its canaries, short runs that reach states only the paper scale reaches. While today's code gives the
same digests, the table is valid; otherwise it is reported as stale. Canaries stop early, so a nightly test also repeats
whole runs and compares their rows.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.claim import CHECK_COLUMNS, Outcome, Verdict
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.framework.registry import EXPERIMENTS, load_summary, select, summary_path
from rdmacc.sweep.store import read_table, write_atomically

_DIGITS = 6
"""Significant digits compared, because the last bits of a mean depend on the processor."""
QUICK = "quick"
"""Name of the digest of the quick table."""
_CANARIES: dict[tuple[type[Experiment], str], str] = {}
"""Digests by the class of the points and the canary's name: figures that share points share canaries."""


def ledger_path(name: str) -> Path:
    return summary_path(name).with_name("ledger.jsonl")


@cache
def _lines(path: Path) -> dict[str, dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {str(one["experiment"]): one for one in lines}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        wanted = "a line of JSON for each figure; `python -m rdmacc.experiments.ledger` writes it"
        raise ConfigError("file", str(path.name), f"{wanted} ({error})") from None


def recorded(name: str) -> dict[str, Any]:
    """Return an experiment's line of the ledger; empty if it has none."""
    return _lines(ledger_path(name)).get(name, {})


def judged(one: Experiment) -> dict[str, dict[str, dict[str, Any]]]:
    """Return verdict, measured value and margin from the bundled table, by reading and claim."""
    table = load_summary(one.name)
    if table is None:
        raise ConfigError("table", one.name, "an experiment with a bundled table")
    return {
        reading: {
            row["id"]: {
                "verdict": row["verdict"],
                "measured": row["measured"],
                "margin": _rounded(row["margin"]),
                "numbers": dict(_flat(row["numbers"])),
                "half_widths": dict(_flat(row["half_widths"])),
            }
            for row in one.judge(table, "paper", reading)
        }
        for reading in (DEFAULT, *one.readings_in(table))
    }


def checks(one: Experiment, reading: str = DEFAULT) -> pd.DataFrame:
    """Return the result of `Experiment.check` on the bundled table, from the ledger; empty if not run."""
    lines = recorded(one.name).get("claims", {}).get(reading, {})
    rows = []
    for claim in (each for each in one.claims if each.id in lines):
        line = lines[claim.id]
        margin = math.nan if line["margin"] is None else line["margin"]
        rows.append(claim.row(Verdict(Outcome(line["verdict"]), line["measured"], None, margin), {}, "paper"))
    return pd.DataFrame(rows, columns=list(CHECK_COLUMNS))


def _rounded(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, float | None]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(one, f"{name} / {key}" if name else str(key))
    elif value is not None:
        yield name, _rounded(value)


def line_of(one: Experiment, is_judged_only: bool = False) -> dict[str, Any]:
    """Compute an experiment's line; if it is only judged again, keep its digests."""
    now = recorded(one.name).get("now", {}) if is_judged_only else behaviour(one)
    return {"experiment": one.name, "made": made_with(one), "now": now, "claims": judged(one)}


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the differences between two lines of an experiment, in words."""
    words = [f"behaviour of {name}" for name, value in new["now"].items() if old.get("now", {}).get(name) != value]
    for reading, claims in new["claims"].items():
        for id_, one in claims.items():
            was = old.get("claims", {}).get(reading, {}).get(id_)
            if was is None:
                words.append(f"{id_} ({reading}): new, {one['verdict']}")
            elif was["verdict"] != one["verdict"]:
                words.append(f"{id_} ({reading}): {was['verdict']} before, {one['verdict']} now")
            elif was != one:
                words.append(f"{id_} ({reading}): other numbers, the same verdict")
        gone = old.get("claims", {}).get(reading, {}).keys() - claims.keys()
        words += [f"{id_} ({reading}): gone" for id_ in sorted(gone)]
    return words


def write(names: Iterable[str] = (), is_judged_only: bool = False) -> list[str]:
    """Rewrite the ledger, and return the changes; if the tables are only judged again, keep the digests."""
    chosen = [one for name in names for one in select(name)] or list(EXPERIMENTS.values())
    changed = []
    for one in (each for each in chosen if summary_path(each.name).exists()):
        path, line = ledger_path(one.name), line_of(one, is_judged_only)
        changed += [f"{one.name}: {words}" for words in differences(recorded(one.name), line)]
        lines = _lines(path) | {one.name: line}
        there = [lines[name] for name in sorted(lines) if name in EXPERIMENTS and summary_path(name).exists()]
        text = "\n".join(json.dumps(each, sort_keys=True, ensure_ascii=False) for each in there) + "\n"
        write_atomically(path, partial(Path.write_text, data=text, encoding="utf-8"))
        _lines.cache_clear()
    return changed


def digest_of(table: pd.DataFrame) -> str:
    """Return the digest of a table, independent of the order of points, with six significant digits."""
    found = hashlib.sha256()
    table = table.sort_values(["point", "quantity"], kind="stable")
    for name in sorted(table.columns):
        column = table[name]
        found.update(str(name).encode())
        if column.dtype.kind == "f":
            values = column.to_numpy(np.float64)
            found.update(" ".join(f"{value:.{_DIGITS}g}" for value in values).encode())
        else:
            found.update(" ".join(map(str, column.tolist())).encode())
    return found.hexdigest()[:16]


def behaviour(one: Experiment) -> dict[str, str]:
    """Return the digests of today's results: the table at quick scale, and each canary."""
    from rdmacc.sweep.run import sweep

    found = {QUICK: digest_of(sweep(one, QUICK, jobs=1).table)}
    for point in one.canaries():
        key = (one.points_of or type(one), point.name)
        if key not in _CANARIES:
            assert point.scenario is not None
            _CANARIES[key] = point.scenario.run().digest()
        found[point.name] = _CANARIES[key]
    return found


def made_with(one: Experiment) -> dict[str, str] | None:
    """Return the digests stored with the bundled table; None if unknown."""
    found = read_table(summary_path(one.name))[1].get("behaviour")
    return None if found is None else {str(name): str(value) for name, value in found.items()}
