"""Several seeds of one experiment: which points they need, what the claims say of each, and of all.

Chance is in an experiment in one of three ways, see `Seeding`. In all of them the rows of the first N seeds are among
those of the first N + 1, so more seeds later add to what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError

__all__ = ["SEED", "Seeding", "check_seed", "check_seeds", "labelled", "points_of_seeds", "rows_of_seeds"]

SEED = "seed"
"""The label, and the column of a table, that tells seeds apart."""


class Seeding(StrEnum):
    """How several seeds of an experiment make one table."""

    SEPARATE = "separate"
    """Each seed is a run of its own: the same points again. It is judged and drawn by itself."""
    POOLED = "pooled"
    """Points have the label `seed`, and claims and figure are about all of them: means, spreads."""
    NONE = "none"
    """Nothing is left to chance: every seed gives the same table, which is computed once."""


_Point = TypeVar("_Point", bound=Any)

_MOST_SEEDS = 100_000


def check_seed(seed: int) -> int:
    """Return a seed as an integer of Python's; raise `ConfigError` if it is none.

    Parameters
    ----------
    seed : int
        What was asked for.

    Raises
    ------
    ConfigError
        If it is not a whole number, at least 0.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError("seed", seed, "a whole number, at least 0")
    return int(seed)


def check_seeds(seeds: int | None) -> int | None:
    """Return a number of seeds, or None for the experiment's own; raise `ConfigError` if it is neither.

    Parameters
    ----------
    seeds : int, optional
        What was asked for.

    Raises
    ------
    ConfigError
        If it is not a whole number, from 1 to 100,000.
    """
    if seeds is None:
        return None
    is_whole = isinstance(seeds, int | np.integer) and not isinstance(seeds, bool)
    if not is_whole or not 1 <= seeds <= _MOST_SEEDS:
        allowed = f"a whole number from 1 to {_MOST_SEEDS}, or None for as many as the experiment has"
        raise ConfigError("seeds", seeds, allowed)
    return int(seeds)


def points_of_seeds(
    points: Callable[[int], Sequence[_Point]], seeding: Seeding, first: int, seeds: int, stride: int = 1
) -> dict[int, list[_Point]]:
    """Return the points of so many seeds, by the seed of the run that they belong to.

    Parameters
    ----------
    points : callable
        Returns an experiment's points for a seed; pooled ones, of that seed and perhaps of those that follow.
    seeding : Seeding
        How they make one table.
    first : int
        The first seed.
    seeds : int
        How many.
    stride : int
        Seeds that a separate run takes, from its own on.

    Returns
    -------
    dict
        One entry, but for separate runs.
    """
    if seeding is Seeding.NONE:
        return {first: list(points(first))}
    if seeding is Seeding.SEPARATE:
        return {seed: list(points(seed)) for seed in range(first, first + seeds * stride, stride)}
    wanted = range(first, first + seeds)
    pooled: dict[str, _Point] = {}
    for seed in wanted:
        for point in points(seed):
            if point.labels[SEED] in wanted:
                pooled.setdefault(point.name, point)
    return {first: list(pooled.values())}


def labelled(runs: Mapping[int, Sequence[_Point]]) -> dict[str, tuple[_Point, _Point]]:
    """Return, under a name that no other has, each point and the point as it is named and labelled in the table.

    Parameters
    ----------
    runs : mapping
        As `points_of_seeds` returns them.
    """
    first = min(runs)
    found = {}
    for seed, points in runs.items():
        for point in points:
            name = point.name if seed == first else f"{point.name}, seed {seed}"
            labels = point.labels if SEED in point.labels else {**point.labels, SEED: seed}
            found[name] = (point, replace(point, name=name, labels=labels))
    return found


def rows_of_seeds(table: pd.DataFrame, seeding: Seeding, stride: int = 1) -> dict[int, pd.DataFrame]:
    """Return the rows of each seed by itself, of those seeds that have all points.

    There is one entry if there is one seed, or if all seeds gave the same.

    Parameters
    ----------
    table : DataFrame
        An experiment's table.
    seeding : Seeding
        How its seeds make one table.
    stride : int
        Seeds that a separate run takes.
    """
    if SEED not in table or not len(table) or seeding is Seeding.NONE:
        return {0: table}
    own = pd.to_numeric(table[SEED])
    if own.isna().any() or own.nunique() == 1:  # of a run that has the label on some points only
        return {int(own.min()): table}
    first = int(own.min())
    runs = own if seeding is Seeding.POOLED else first + (own - first) // stride * stride
    parts = {int(seed): part.reset_index(drop=True) for seed, part in table.groupby(runs)}
    sizes = {seed: part["point"].nunique() for seed, part in parts.items()}
    whole = {seed: part for seed, part in parts.items() if sizes[seed] == max(sizes.values())}
    values = [part[["quantity", "value"]] for part in whole.values()]
    if seeding is Seeding.SEPARATE and all(one.equals(values[0]) for one in values[1:]):
        return dict(list(whole.items())[:1])
    return whole
