"""Paths that a workload sets for its messages, node by node, in place of the routing's choice."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.topology.fabric import Fabric
from rdmacc.workload.columns import Int64s, is_missing, row_error

PATH_COLUMNS = ("path", "ack_path")


class Paths(NamedTuple):
    """The steps of all paths, concatenated; entries 2 m and 2 m + 1 are the paths of message m, forth and back."""

    first: Int64s
    """First step of data (2 m) and replies (2 m + 1) of each message; shape 2 M + 1."""
    nodes: Int64s
    ports: Int64s
    """The output port at each node."""


NO_PATHS = Paths(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


def node_names(value: Any) -> list[Any]:
    """Return the names of nodes in a cell of a workload."""
    return value.split() if isinstance(value, str) else list(value)


def paths_of(frame: pd.DataFrame, fabric: Fabric) -> Paths:
    """Return the paths in the columns `path` (data) and `ack_path` (replies) of a checked workload."""
    count = len(frame)
    lengths = np.zeros(2 * count, np.int64)
    steps: list[tuple[int, int]] = []
    columns = [frame[name].tolist() if name in frame else None for name in PATH_COLUMNS]
    if columns == [None, None]:
        return NO_PATHS
    ends = frame["src"].tolist(), frame["dst"].tolist()
    port = cache(fabric.port)
    for row in range(count):
        for back, column in enumerate(columns):
            if column is None or is_missing(column[row]):
                continue
            try:
                found = _steps(fabric, port, column[row], ends[back][row], ends[1 - back][row])
            except ConfigError as error:
                raise row_error(frame, row, PATH_COLUMNS[back], column[row], error.allowed) from None
            lengths[2 * row + back] = len(found)
            steps += found
    first = np.concatenate(([0], np.cumsum(lengths)))
    pairs = np.array(steps, np.int64).reshape(-1, 2)
    return Paths(first, pairs[:, 0].copy(), pairs[:, 1].copy())


def _steps(
    fabric: Fabric, port_between: Callable[[Any, Any], int], value: Any, src: Hashable, dst: Hashable
) -> list[tuple[int, int]]:
    is_scalar = not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and value.ndim == 0)
    names = [] if is_scalar else node_names(value)
    if len(names) < 2 or names[0] != src or names[-1] != dst:
        raise ConfigError("path", value, f"must lead from {src!r} to {dst!r}, with all nodes in between")
    if len(set(names)) < len(names):
        raise ConfigError("path", value, "must not visit a node twice")
    found: list[tuple[int, int]] = []
    for here, there in pairwise(names):
        try:
            port = port_between(here, there)
        except ConfigError:
            raise ConfigError("path", value, f"must follow links, and none joins {here!r} and {there!r}") from None
        node = int(fabric.port_node[port])
        if found and fabric.is_host[node]:
            raise ConfigError("path", value, f"must not pass through a host, and {here!r} is one")
        found.append((node, port))
    return found
