"""Several seeds of one experiment: the points they need, and the tables that claims judge.

An experiment uses randomness in one of three ways; see `Seeding`. In all of them, the rows for N seeds are among those
for N + 1, so additional seeds only add to the stored points.
"""

from collections.abc import Callable, Sequence
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
) -> dict[str, tuple[_Point, _Point]]:
    """Return the points of several seeds by a unique name, each as computed, and with name and labels in the table."""
    stride = stride if seeding is Seeding.SEPARATE else 1
    wanted = range(first, first + (1 if seeding is Seeding.NONE else seeds * stride), stride)
    found: dict[str, tuple[_Point, _Point]] = {}
    for seed in wanted:
        for point in points(seed):
            if seeding is not Seeding.POOLED:
                name = point.name if seed == first else f"{point.name}, seed {seed}"
                shown = replace(point, name=name, labels={**point.labels, SEED: point.labels.get(SEED, seed)})
                found[name] = point, shown
            elif point.labels[SEED] in wanted:
                found.setdefault(point.name, (point, point))
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
