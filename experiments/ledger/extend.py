"""``python -m rdmacc.experiments.ledger.extend NAME ... [--then FOLDER]``: add missing points to bundled tables.

A figure that is drawn from more runs than before need not run the old ones again, as long as today's code behaves as
the code that computed them: the same canaries, and the same rows at quick scale of the points in the table. Runs that
another figure's table has, of those that share their points, are taken from there on the same condition. The
provenance then lists each of the parts that the table consists of.

Where only some schemes behave differently, only their points are computed again. To know which, rdmacc needs the quick
table of the code that computed the bundled one: check out that commit, and ``rdmacc run NAME --out FOLDER``.
"""

import copy
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import EXPERIMENTS, select, summary_path
from rdmacc.experiments.ledger.validity import QUICK, behaviour, digest_of
from rdmacc.sweep import sweep
from rdmacc.sweep.store import Store, read_table, write_table
from rdmacc.sweep.tidy import TABLE_COLUMNS, assemble, check_table

_SUMS = ("packet_hops", "simulated_ps")
_SETS = ("rdmacc", "commits", "code")
_OF_A_PART = ("points", "commits", "keys_sha256", "packet_hops")
_SCHEME = "scheme"


def extend(one: Experiment, store: Store | None = None, jobs: int | None = 1, then: pd.DataFrame | None = None) -> int:
    """Compute the points that an experiment's bundled table lacks, write the table with them, return their number."""
    path = summary_path(one.name)
    table, made = read_table(path)
    old = dict(list(table.groupby("point", sort=False)))
    points = one.checked_points("paper", made["seed"])
    missing = [point.name for point in points if point.name not in old]
    if not missing and then is None:
        return 0
    _check_same(one, points, old)
    if then is None:
        now, again = _check_behaviour(one, table, made, store), []
    else:
        now, changed = _changed_schemes(one, made, then, store)
        again = [point.name for point in points if point.name in old and point.labels[_SCHEME] in changed]
    if not missing + again:
        return 0
    parts = [*(made.get("parts") or [{name: made[name] for name in _OF_A_PART}])]
    added: dict[str, pd.DataFrame] = {}
    summaries = [made]
    for other, rows, theirs in _lent(one, points, missing, store):
        _check_versions(one, theirs, made)
        added |= rows
        parts.append({"from": other, "points": len(rows), "commits": theirs["commits"]})
        summaries.append({name: theirs[name] for name in _SETS})
    asked = [name for name in missing if name not in added] + again
    if asked:
        part = copy.copy(one)  # still one of its class, whose code counts
        part.checked_points = partial(_chosen, one, frozenset(asked))
        found = sweep(part, "paper", made["seed"], store=store, jobs=jobs, progress=True)
        summary = found.summary()
        _check_versions(one, summary, made)
        added |= {str(name): rows for name, rows in found.table.groupby("point", sort=False)}
        parts.append({name: summary[name] for name in _OF_A_PART} | {"replaced": len(again)})
        summaries.append(summary)
    tables = {
        point.name: check_table((old | added)[point.name].drop(columns=list(point.labels)), point.name)
        for point in points
    }
    joined = {name: sum(each.get(name, 0) for each in summaries) for name in _SUMS}
    joined |= {name: sorted({value for each in summaries for value in each[name]}) for name in _SETS}
    joined |= {"points": len(points), "parts": parts, "behaviour": now}
    labels = {point.name: point.labels for point in points}
    kept = {name: value for name, value in summaries[-1 if asked else 0].items() if name != "keys_sha256"}
    write_table(path, assemble(tables, labels), kept | joined)
    return len(missing + again)


def _lent(
    one: Experiment, points: list[Point], missing: list[str], store: Store | None
) -> Iterator[tuple[str, dict[Any, pd.DataFrame], Mapping[str, Any]]]:
    """Yield figures whose tables have missing points, the rows of these by point, and how they were made."""
    wanted = set(missing)
    for other in EXPERIMENTS.values():
        if one.points_of is None or other.points_of is not one.points_of or not summary_path(other.name).exists():
            continue
        table, made = read_table(summary_path(other.name))
        rows = dict(list(table[table["point"].isin(wanted)].groupby("point", sort=False)))
        if rows:
            _check_same(one, points, rows)
            _check_behaviour(other, table, made, store)
            wanted -= rows.keys()
            yield other.name, rows, made


def _check_versions(one: Experiment, summary: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    if summary["versions"] != made["versions"]:
        raise ConfigError(
            f"versions of {one.name}", summary["versions"], f"the versions of its table: {made['versions']}"
        )


def _chosen(
    one: Experiment, names: frozenset[str], scale: str, seed: int, changes: Mapping[str, Any] | None = None
) -> list[Point]:
    return [point for point in one.checked_points(scale, seed, changes) if point.name in names]


def _check_same(one: Experiment, points: list[Point], old: Mapping[Any, pd.DataFrame]) -> None:
    """Check that the table's points are among the experiment's, with the same labels."""
    labels = {point.name: point.labels for point in points}
    for name, rows in old.items():
        if name not in labels:
            raise ConfigError(f"points of {one.name}", name, "a point that the experiment still has")
        there = rows.iloc[0]
        for label, value in labels[name].items():
            if there.get(label) != value:
                raise ConfigError(f"{label} of {name}", value, f"as in the table of {one.name}: {there.get(label)}")


def _check_behaviour(
    one: Experiment, table: pd.DataFrame, made: Mapping[str, Any], store: Store | None
) -> dict[str, str]:
    """Return the behaviour of today's code, once it is known to be that of the code that computed the table."""
    if "behaviour" not in made:
        raise ConfigError(f"behaviour of {one.name}", None, "known: compute the whole table again")
    now, quick = behaviour(one, store), sweep(one, QUICK, store=store, jobs=1).table
    is_text = [name in table and not pd.api.types.is_numeric_dtype(table[name]) for name in quick]
    words = [name for name in quick.columns[is_text] if name not in TABLE_COLUMNS]
    there = set(map(tuple, table[words].drop_duplicates().to_numpy()))
    is_old = np.array([tuple(row) in there for row in quick[words].to_numpy()])
    is_old |= not is_old.any()  # labels that name numbers of their scale: all of them
    then = {name: now.get(name) for name in made["behaviour"]} | {QUICK: digest_of(quick[is_old])}
    for name, value in made["behaviour"].items():
        if then[name] != value:
            raise ConfigError(f"behaviour of {one.name}, {name}", then[name], f"{value}, as of its table")
    return now


def _changed_schemes(
    one: Experiment, made: Mapping[str, Any], then: pd.DataFrame, store: Store | None
) -> tuple[dict[str, str], set[str]]:
    """Return today's behaviour, and the schemes whose canaries or quick rows have changed since the table."""
    known = made.get("behaviour", {})
    if digest_of(then) != known.get(QUICK):
        raise ConfigError(f"quick table of {one.name}", digest_of(then), f"{known.get(QUICK)}, of its table's own code")
    now, quick = behaviour(one, store), sweep(one, QUICK, store=store, jobs=1).table
    same = {point.labels[_SCHEME] for point in one.canaries() if known.get(point.name) == now[point.name]}
    for scheme in same & {*then[_SCHEME], *quick[_SCHEME]}:
        before, today = (rows[rows[_SCHEME] == scheme].reset_index(drop=True) for rows in (then, quick))
        if digest_of(before) != digest_of(today):
            same -= {scheme}
    return now, {point.labels[_SCHEME] for point in one.checked_points("paper", made["seed"])} - same


def _main(*names: str) -> None:
    folder = None
    if "--then" in names:
        k = names.index("--then")
        names, folder = names[:k], Path(*names[k + 1 :])
    for each in [one for name in names for one in select(name)]:
        then = None if folder is None else read_table(folder / each.name / "table.parquet")[0]
        print(f"{each.name}: {extend(each, then=then)} points computed")  # noqa: T201


if __name__ == "__main__":
    _main(*sys.argv[1:])
