"""Checks of a workload against a network, and for messages that wait on each other in a cycle."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain, repeat
from numbers import Integral
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.topology.fabric import Fabric
from rdmacc.workload.columns import Int64s, is_name, row_error, split_ids
from rdmacc.workload.frame import COLUMNS, OPEN, computation, messages
from rdmacc.workload.paths import PATH_COLUMNS

Columns: TypeAlias = dict[str, Any]
_FORM: Columns = dict(zip(COLUMNS, (object, object, np.int64, np.int64, "Int64", object, np.float64), strict=True))


def validate(workload: pd.DataFrame, fabric: Fabric) -> pd.DataFrame:
    """Check a workload against a network, and return it in the form that engines read.

    Parameters
    ----------
    workload : DataFrame
        A frame as :mod:`rdmacc.workload` describes it, or anything that :func:`messages` accepts.
    fabric : Fabric
        The network.

    Returns
    -------
    DataFrame
        A normalised copy whose index is 0 to M - 1. If the labels were already 0 to M - 1, in any order, row i is
        message i. Any other labels are replaced by row numbers, also in `after`, and kept in a column ``id``.

    Raises
    ------
    ConfigError
        For an empty workload; a missing column; a duplicate id; an unknown node; an end that is not a host; a message
        to its own source; hosts without a path between them; a size below 1 or a start below 0, or not whole; a weight
        that is not positive; an unknown id in `after`, or messages that wait on each other in a cycle.
    """
    return checked(workload, fabric)[0]


def checked(workload: pd.DataFrame, fabric: Fabric) -> tuple[pd.DataFrame, Columns | None]:
    """Return what `validate` returns, and its columns, with ends as node numbers, if these are the plain ones."""
    if not isinstance(workload, pd.DataFrame):
        raise ConfigError("workload", type(workload).__name__, "a pandas DataFrame")
    if not len(workload) and OPEN not in workload.attrs:
        raise ConfigError("workload", "0 messages", "must have at least one message")
    bare, attrs = workload.copy(), workload.attrs
    bare.attrs = {}  # pandas copies them with every column
    columns = _plain_columns(bare, fabric)
    if columns is not None:
        if bare.index.name != "message" or not isinstance(bare.index, pd.RangeIndex):
            bare.index = pd.RangeIndex(len(bare), name="message")
        bare.attrs = attrs
        return bare, columns
    frame = messages(bare)
    _take_numbers(frame, fabric)
    labels = frame.index
    numbered = pd.RangeIndex(len(frame), name="message")
    if not len(frame) or (
        pd.api.types.is_integer_dtype(labels) and labels.min() == 0 and labels.max() == len(frame) - 1
    ):
        if not labels.is_monotonic_increasing:
            frame = frame.sort_index()
            labels = frame.index
    elif "id" in frame:
        raise ConfigError("id", "a column", "must have another name: the messages' labels are kept in this one")
    else:
        frame["id"] = labels
    _check_ends(frame, fabric)
    waiting, wanted, counts = positions(frame["after"], labels)
    if len(wanted):
        check_acyclic(np.repeat(waiting, counts), wanted, labels)
        if not labels.equals(numbered) or set(map(type, chain.from_iterable(frame["after"]))) != {int}:
            frame["after"] = split_ids(wanted.tolist(), waiting, counts, len(frame))
    frame.index, frame.attrs = numbered, attrs
    return frame, None


def _plain_columns(frame: pd.DataFrame, fabric: Fabric) -> Columns | None:
    """Return a frame's columns, with ends as node numbers, if it needs no conversion; otherwise None.

    A generator's output needs none. A frame does if messages wait, or if a check would change or refuse it.
    """
    count, column = len(frame), dict[str, Any]()
    if not count or tuple(frame.columns) != COLUMNS or not frame.index.equals(pd.RangeIndex(count)):
        return None
    for name in COLUMNS:
        values = frame[name]
        if values.dtype != _FORM[name]:
            return None
        column[name] = values.array if name == "group" else values.to_numpy()
    try:
        waits = set(column["after"]) != {()}
        for end in ("src", "dst"):
            nodes = map(fabric.index.get, column[end], repeat(-1))
            column[end] = np.fromiter(nodes, np.int64, count)
    except TypeError:  # not hashable
        return None
    src, dst, weight = column["src"], column["dst"], column["weight"]
    if waits or column["size_bytes"].min() < 1 or column["start_ps"].min() < 0 or min(src.min(), dst.min()) < 0:
        return None
    good = fabric.is_host[src] & fabric.is_host[dst] & (src != dst) & (weight > 0) & (weight < np.inf)
    return column if good.all() and fabric.reachable_many(src, dst).all() else None


def positions(after: pd.Series[Any], labels: pd.Index[Any]) -> tuple[Int64s, Int64s, Int64s]:
    """Return the waiting rows, the rows that they wait for (flattened), and the number that each waits for."""
    values = after.to_numpy()
    lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
    waiting = np.flatnonzero(lengths)
    flat = list(chain.from_iterable(values[waiting]))
    if not flat:
        return waiting, np.zeros(0, dtype=np.int64), lengths[waiting]
    try:
        wanted = labels.get_indexer(pd.Index(flat)).astype(np.int64)
    except TypeError:
        place = {label: row for row, label in enumerate(labels)}
        ids = (place.get(id_, -1) if isinstance(id_, Hashable) else -1 for id_ in flat)
        wanted = np.fromiter(ids, dtype=np.int64, count=len(flat))
    if (wanted < 0).any():
        worst = int(np.argmin(wanted))
        row = int(np.repeat(waiting, lengths[waiting])[worst])
        raise ConfigError("after", flat[worst], "the id of a message", where=f"row {labels[row]}")
    return waiting, wanted, lengths[waiting]


def _take_numbers(frame: pd.DataFrame, fabric: Fabric) -> None:
    """Match "3" to a node named 3, and 3 to a node named "3", because CSV files do not distinguish the two."""
    texts = [name for name in fabric.names if isinstance(name, str)]
    others: dict[Any, Any] = {}
    if len(texts) < len(fabric.names):
        others = {str(name): name for name in fabric.names if isinstance(name, Integral)}
    others |= {int(name): name for name in texts if name.isdecimal() and str(int(name)) == name}
    if not others:
        return

    def node(name: Any) -> Any:
        is_other = isinstance(name, Integral | str) and not isinstance(name, bool) and name not in fabric.index
        return others.get(name, name) if is_other else name

    for field in ("src", "dst"):
        frame[field] = [node(name) for name in frame[field]]
    for field in PATH_COLUMNS:
        if field in frame:
            frame[field] = [list(map(node, path.split())) if isinstance(path, str) else path for path in frame[field]]


def _check_ends(frame: pd.DataFrame, fabric: Fabric) -> None:
    """Raise a ConfigError for the first row whose ends are not two different, connected hosts."""
    ends: list[Int64s] = []
    for field in ("src", "dst"):
        column = frame[field].to_numpy()
        try:
            nodes = np.fromiter(map(fabric.index.get, column, repeat(-1)), dtype=np.int64, count=len(column))
        except TypeError:  # not hashable
            nodes = np.full(len(column), -1)
        if (nodes < 0).any():
            row = next((row for row, name in enumerate(column) if not is_name(name)), int(np.argmin(nodes)))
            name, place = column[row], f"row {frame.index[row]}"
            if not is_name(name):
                raise row_error(frame, row, field, name, "the name of a host")
            raise unknown(field, name, fabric.names, "a node of the network", where=place)
        hosts = fabric.is_host[nodes]
        if not hosts.all():
            row = int(np.argmin(hosts))
            raise row_error(frame, row, field, column[row], "a host, not a switch")
        ends.append(nodes)
    src, dst = ends
    computes = computation(frame)
    wrong = (src == dst) != computes
    if wrong.any():
        row = int(np.argmax(wrong))
        allowed = "missing or equal to src: the row is a computation" if computes[row] else "must differ from src"
        raise row_error(frame, row, "dst", frame["dst"].iloc[row], allowed)
    sends = np.flatnonzero(~computes)
    reachable = fabric.reachable_many(src[sends], dst[sends])
    if not reachable.all():
        row = int(sends[np.argmin(reachable)])
        dst_name = frame["dst"].iloc[row]
        raise row_error(frame, row, "dst", dst_name, fabric.without_path(int(src[row]), int(dst[row])))


def check_acyclic(waiting: npt.NDArray[Any], wanted: npt.NDArray[Any], labels: pd.Index[Any]) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count, is_loop = len(labels), waiting == wanted
    graph = coo_array((np.ones(len(wanted), dtype=np.int8), (waiting, wanted)), shape=(count, count))
    found, member = connected_components(graph.tocsr(), directed=True, connection="strong")
    if found == count and not is_loop.any():
        return
    inside = is_loop if is_loop.any() else member[waiting] == member[wanted]
    edges: nx.DiGraph[int] = nx.DiGraph(zip(waiting[inside].tolist(), wanted[inside].tolist(), strict=True))
    circle = [row for row, _ in nx.find_cycle(edges)]
    names = [str(labels[row]) for row in (*circle, circle[0])]
    shown = " -> ".join(names if len(names) <= 12 else [*names[:6], "...", *names[-5:]])
    raise ConfigError("after", shown, "must not make messages wait on each other in a cycle")
