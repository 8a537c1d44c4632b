"""Whether a bundled table still stands: whether today's code behaves like the code that computed it.

A table depends on behaviour, not on source. Each table at paper scale is stored with digests of the figure's table at
quick scale and of its canaries, short runs that reach states only the paper scale reaches. While today's code gives the
same digests, the table stands; otherwise it is stale, and is named.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.registry import summary_path
from rdmacc.sweep.store import read_table

if TYPE_CHECKING:
    from rdmacc.sweep.store import Store

_DIGITS = 6
"""Significant digits that count: the last bits of a mean depend on the processor."""
QUICK = "quick"
"""Name of the digest of the quick table."""
_CANARIES: dict[tuple[type[Experiment], str], str] = {}
"""Digests by the class that has the points and the canary's name: figures that share points share canaries."""


def digest_of(table: pd.DataFrame) -> str:
    """Return the digest of a table: its rows, in whatever order of points, numbers to six significant digits."""
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


def behaviour(one: Experiment, store: Store | None = None) -> dict[str, str]:
    """Return the digests of today's results: the table at quick scale, and each canary."""
    from rdmacc.sweep.run import sweep

    found = {QUICK: digest_of(sweep(one, QUICK, store=store, jobs=1).table)}
    for point in one.canaries():
        key = (one.points_of or type(one), point.name)
        if key not in _CANARIES:
            assert point.scenario is not None
            _CANARIES[key] = point.scenario.run().digest()
        found[point.name] = _CANARIES[key]
    return found


def made_with(one: Experiment) -> dict[str, str] | None:
    """Return the digests that the code gave which computed the bundled table; None if they are not known."""
    found = read_table(summary_path(one.name))[1].get("behaviour")
    return None if found is None else {str(name): str(value) for name, value in found.items()}
