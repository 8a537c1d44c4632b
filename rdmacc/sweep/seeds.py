"""Several seeds of one experiment: the points they need, and the tables that claims judge.

An experiment uses randomness in one of three ways; see `Seeding`. In all of them, the rows for N seeds are among those
for N + 1, so additional seeds only add to the stored points.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

import pandas as pd

from rdmacc.workload.frame import checked_whole

SEED = "seed"
"""The label, and the table column, that distinguishes seeds."""


class Seeding(StrEnum):
    """How several seeds of an experiment form one table."""

    SEPARATE = "separate"
    """Each seed is a separate run of the same points, judged and drawn separately."""
    POOLED = "pooled"
    """Points have the label `seed`; claims and figure use all seeds together: means, spreads."""
    NONE = "none"
    """Nothing is random: every seed gives the same table, so it is computed once."""


_Point = TypeVar("_Point", bound=Any)


def check_seed(seed: int) -> int:
    """Return a seed as a Python int; raise `ConfigError` if it is not a whole number."""
    return checked_whole("seed", seed, 0)


def check_seeds(seeds: int | None) -> int | None:
    """Return a number of seeds, or None for the experiment's own; raise `ConfigError` if it is neither."""
    return None if seeds is None else checked_whole("seeds", seeds, 1)


def points_of_seeds(
    points: Callable[[int], Sequence[_Point]], seeding: Seeding, first: int, seeds: int, stride: int = 1
) -> dict[int, list[_Point]]:
    """Return the points of several seeds, by the seed of the run that they belong to."""
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
    """Return, by a unique name, each point, and the point with its name and labels in the table."""
    first = min(runs)
    found = {}
    for seed, points in runs.items():
        for point in points:
            name = point.name if seed == first else f"{point.name}, seed {seed}"
            labels = point.labels if SEED in point.labels else {**point.labels, SEED: seed}
            found[name] = (point, replace(point, name=name, labels=labels))
    return found


def rows_of_seeds(table: pd.DataFrame, seeding: Seeding, stride: int = 1) -> dict[int, pd.DataFrame]:
    """Return the rows of each seed that has all points, separately.

    There is one entry if there is one seed, or if all seeds gave the same rows.
    """
    if SEED not in table or not len(table) or seeding is Seeding.NONE:
        return {0: table}
    own = pd.to_numeric(table[SEED])
    if own.isna().any() or own.nunique() == 1:  # only some points of this run have the label
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
