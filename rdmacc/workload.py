"""Workloads: DataFrames with one row per message.

==============  =======  ===============================================================================
``src, dst``    object   names of two different hosts
``size_bytes``  int64    at least 1; input may be called ``size`` and have units ("64KiB")
``start_ps``    int64    not before this time; input may be called ``start`` and have units ("1us")
``group``       Int64    names an incast or a coflow; missing for none
``after``       object   tuple of the messages (index labels) that must be complete first; () for none
``weight``      float64  share relative to others, for schemes that know weights; default 1
==============  =======  ===============================================================================

The index is named ``message`` and is unique. A message starts at ``start_ps`` or when the last message of
``after`` is complete, whichever is later. Other columns are kept as they are.

All chance comes from ``stream(seed, PURPOSE)``, one stream for each purpose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, size_bytes, time_ps

if TYPE_CHECKING:
    from rdmacc.fabric import Fabric

__all__ = [
    "COLUMNS",
    "combine",
    "from_csv",
    "incast",
    "long_flows",
    "messages",
    "permutation",
    "random_pairs",
    "stream",
    "to_csv",
    "validate",
]

COLUMNS = ("src", "dst", "size_bytes", "start_ps", "group", "after", "weight")

INCAST_SENDERS = 101
INCAST_JITTER = 102
PERMUTATION = 103
PAIRS = 104
PAIR_STARTS = 105

Host: TypeAlias = Any
Int64s: TypeAlias = npt.NDArray[np.int64]

_UNITS: Mapping[str, tuple[Callable[..., int], int, str]] = {
    "size_bytes": (size_bytes, 1, "must be a whole number of bytes, at least 1"),
    "start_ps": (time_ps, 0, "must be a whole number of picoseconds, at least 0: nothing starts in the past"),
}
_ALIASES = {"size": "size_bytes", "start": "start_ps"}
_INT64_MAX = 2**63 - 1


def stream(seed: int, purpose: int) -> np.random.Generator:
    """Return the random stream of a seed for one purpose.

    Parameters
    ----------
    seed : int
        At least 0.
    purpose : int
        A constant that no other purpose has.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    ConfigError
        If `seed` is not a whole number of at least 0.
    """
    return np.random.default_rng(np.random.SeedSequence([_whole("seed", seed, 0), purpose]))


def messages(rows: pd.DataFrame | Iterable[Mapping[str, Any] | Sequence[Any]]) -> pd.DataFrame:
    """Return a workload from rows, with defaults filled in.

    Parameters
    ----------
    rows : DataFrame, or iterable of dict or tuple
        A tuple is ``(src, dst, size, start, group, after, weight)``, the last four optional. Sizes and starts
        may have units. A DataFrame's index names the messages; other rows are numbered from 0.

    Returns
    -------
    DataFrame
        A new one, with the columns that this module describes.

    Raises
    ------
    ConfigError
        For a missing column, or a value that its column does not allow. What needs the network, and the
        messages in `after`, :func:`validate` checks.

    Examples
    --------
    >>> rows = messages([("h0", "h1", "64KiB"), ("h1", "h0", 1000, "1us", None, (0,))])
    >>> rows["size_bytes"].tolist(), rows["start_ps"].tolist(), rows["after"].tolist()
    ([65536, 1000], [0, 1000000], [(), (0,)])
    """
    if not isinstance(rows, pd.DataFrame):
        rows = _as_frame(rows)
    frame = rows.rename(columns={old: new for old, new in _ALIASES.items() if new not in rows})
    for both in (old for old in _ALIASES if old in frame):
        raise ConfigError(both, _ALIASES[both], "must not stand beside the column of the same meaning")
    for column in ("src", "dst", "size_bytes"):
        if column not in frame:
            allowed = f"must be a column of the workload; there are {list(rows.columns)}"
            raise ConfigError(column, None, allowed)
    for column in ("src", "dst"):
        frame[column] = frame[column].astype(object)
    frame["size_bytes"] = _quantities(frame, "size_bytes")
    frame["start_ps"] = _quantities(frame, "start_ps") if "start_ps" in frame else np.int64(0)
    frame["group"] = _groups(frame) if "group" in frame else pd.array([pd.NA] * len(frame), dtype="Int64")
    frame["after"] = _tuples(frame["after"]) if "after" in frame else _nothing(len(frame))
    frame["weight"] = _weights(frame) if "weight" in frame else 1.0
    frame.index = frame.index.rename("message")
    return frame[[*COLUMNS, *(name for name in frame if name not in COLUMNS)]]


def incast(
    senders: int | Sequence[Host],
    receiver: Host,
    size: Quantity,
    start: Quantity = "0us",
    jitter: Quantity = "0us",
    rounds: int = 1,
    period: Quantity | None = None,
    seed: int = 0,
    group: int = 0,
    hosts: Sequence[Host] | None = None,
) -> pd.DataFrame:
    """Return many-to-one traffic: in each round every sender sends one message to the receiver.

    Parameters
    ----------
    senders : int or sequence
        Hosts, or how many of `hosts` to draw at random (without the receiver; the same in every round).
    receiver : host
        Whom all send to.
    size : number or str
        Size of each message.
    start : number or str
        Start of the first round.
    jitter : number or str
        Each message starts up to this much later than its round, uniformly.
    rounds : int
        Number of rounds; round r is group ``group + r``.
    period : number or str, optional
        Time from the start of a round to that of the next. Without it a round starts when the one before is
        complete (by `after`), which leaves no room for jitter.
    seed : int
        Of the senders drawn and the jitter.
    group : int
        Group of the first round.
    hosts : sequence, optional
        Where to draw senders from.

    Returns
    -------
    DataFrame

    Raises
    ------
    ConfigError
        For an impossible number of senders or rounds, a sender that is the receiver or occurs twice, or
        jitter over several rounds without a period.
    """
    if isinstance(senders, (int, np.integer)):
        names = _drawn(int(senders), receiver, hosts, seed)
    else:
        names = list(senders)
    if not names or receiver in names or len(set(names)) < len(names):
        raise ConfigError("senders", names, f"must be different hosts, at least one, without {receiver!r}")
    turns, spread = _whole("rounds", rounds, 1), time_ps(jitter, field="jitter")
    if period is None and turns > 1 and spread:
        allowed = "must be 0 without a period: a round then starts when the one before ends"
        raise ConfigError("jitter", jitter, allowed)
    degree = len(names)
    turn = np.repeat(np.arange(turns, dtype=np.int64), degree)
    starts = time_ps(start, field="start") + turn * (0 if period is None else time_ps(period, field="period"))
    starts += stream(seed, INCAST_JITTER).integers(0, spread, size=len(turn), endpoint=True)
    after: list[tuple[int, ...]] | None = None
    if period is None and turns > 1:
        waits = [(), *(tuple(range(r * degree, (r + 1) * degree)) for r in range(turns - 1))]
        after = [wait for wait in waits for _ in range(degree)]
    groups = _whole("group", group) + turn
    return _workload(names * turns, [receiver] * len(turn), size, starts, groups, after)


def long_flows(
    pairs: Iterable[tuple[Host, Host]],
    size: Quantity = "1GB",
    start: Quantity | Sequence[Quantity] = "0us",
) -> pd.DataFrame:
    """Return one message for each (src, dst) of `pairs`, all of one size.

    Parameters
    ----------
    pairs : iterable of tuple
        Source and destination of each flow.
    size : number or str
        Size of each.
    start : number or str, or a sequence of them
        Start of all of them, or of each.

    Returns
    -------
    DataFrame

    Raises
    ------
    ConfigError
        If there are no pairs, or as many starts as pairs are not given.
    """
    ends = list(pairs)
    if not ends:
        raise ConfigError("pairs", ends, "must be at least one pair of hosts")
    moments: list[Any]
    if isinstance(start, Iterable) and not isinstance(start, str):
        moments = list(start)
    else:
        moments = [start] * len(ends)
    if len(moments) != len(ends):
        raise ConfigError("start", moments, f"must be one time, or one for each of the {len(ends)} pairs")
    starts = np.array([time_ps(moment, field="start") for moment in moments], dtype=np.int64)
    return _workload([src for src, _ in ends], [dst for _, dst in ends], size, starts)


def permutation(
    hosts: Sequence[Host], size: Quantity, seed: int = 0, start: Quantity = "0us"
) -> pd.DataFrame:
    """Return one message from every host, to a random one: every host receives one, none its own.

    Parameters
    ----------
    hosts : sequence
        At least two different hosts.
    size, start : number or str
        Of each message.
    seed : int
        Of the permutation, which is uniform among those without a fixed point.

    Returns
    -------
    DataFrame
    """
    names = _distinct(hosts)
    rng = stream(seed, PERMUTATION)
    order = np.arange(len(names))
    target = order
    while (target == order).any():
        target = rng.permutation(len(names))
    starts = np.full(len(names), time_ps(start, field="start"), dtype=np.int64)
    return _workload(names, [names[i] for i in target], size, starts)


def random_pairs(
    hosts: Sequence[Host],
    count: int,
    size: Quantity,
    seed: int = 0,
    start: Quantity = "0us",
    window: Quantity = "0us",
) -> pd.DataFrame:
    """Return messages between random pairs of different hosts, in the order of their starts.

    Parameters
    ----------
    hosts : sequence
        At least two different hosts.
    count : int
        Number of messages, at least 1.
    size : number or str
        Size of each.
    seed : int
        Of the pairs and the starts.
    start, window : number or str
        The starts are uniform from `start` to ``start + window``.

    Returns
    -------
    DataFrame
    """
    names, number = _distinct(hosts), _whole("count", count, 1)
    rng = stream(seed, PAIRS)
    src = rng.integers(len(names), size=number)
    dst = (src + rng.integers(1, len(names), size=number)) % len(names)
    spread = time_ps(window, field="window")
    offsets = stream(seed, PAIR_STARTS).integers(0, spread, size=number, endpoint=True)
    starts = time_ps(start, field="start") + np.sort(offsets)
    return _workload([names[i] for i in src], [names[i] for i in dst], size, starts)


def combine(*workloads: pd.DataFrame) -> pd.DataFrame:
    """Return the workloads one after the other as one.

    Messages are numbered 0 to M - 1 in that order and `after` follows; groups are numbered from 0 so that no
    two workloads share one.

    Raises
    ------
    ConfigError
        If there is no workload, or one has duplicate or unknown messages.
    """
    if not workloads:
        raise ConfigError("workloads", workloads, "must be at least one")
    parts: list[pd.DataFrame] = []
    first = groups = 0
    for workload in workloads:
        part = messages(workload)
        labels = _unique_index(part)
        waiting, wanted, counts = _positions(part["after"], labels)
        part["after"] = _split(wanted + first, waiting, counts, len(part))
        codes, names = pd.factorize(part["group"], sort=True)
        part["group"] = pd.array(codes + groups, dtype="Int64")
        part.loc[codes < 0, "group"] = pd.NA
        parts.append(part)
        first += len(part)
        groups += len(names)
    whole = pd.concat(parts, ignore_index=True)
    whole.index = whole.index.rename("message")
    return whole


def from_csv(path: str | PathLike[str]) -> pd.DataFrame:
    """Return the workload in a CSV file.

    The header names the columns: ``src``, ``dst``, ``size_bytes`` (or ``size``), and any of ``message``,
    ``start_ps`` (or ``start``), ``group``, ``after`` (ids, separated by spaces or semicolons), ``weight``.
    Sizes and starts may have units.

    Raises
    ------
    ConfigError
        As :func:`messages`.
    """
    texts: Any = {"src": str, "dst": str, "after": str}
    frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""], skipinitialspace=True)
    if "message" in frame:
        frame = frame.set_index("message")
    if "after" in frame:
        convert: Callable[[str], Hashable] = int if pd.api.types.is_integer_dtype(frame.index) else str
        frame["after"] = pd.Series(
            [_ids(text, convert) for text in frame["after"]], frame.index, dtype=object
        )
    return messages(frame)


def to_csv(workload: pd.DataFrame, path: str | PathLike[str]) -> None:
    """Write a workload to a CSV file that :func:`from_csv` reads back."""
    frame = messages(workload)
    frame["after"] = [" ".join(map(str, after)) for after in frame["after"]]
    frame.to_csv(path)


def validate(workload: pd.DataFrame, fabric: Fabric) -> pd.DataFrame:
    """Check a workload against a network; return what the engines read.

    Parameters
    ----------
    workload : DataFrame
        As this module describes, or what :func:`messages` accepts.
    fabric : Fabric
        The network.

    Returns
    -------
    DataFrame
        A normalised copy whose index is 0 to M - 1. If the messages were 0 to M - 1 already, in any order,
        row i is message i; any other labels are renumbered in the order of the rows, in `after` too, and kept
        in a column ``id``.

    Raises
    ------
    ConfigError
        For an empty workload; a missing column; a duplicate id; an unknown node; an end that is no host; a
        message to its own source; hosts that no path joins; a size below 1 or a start below 0, or not whole;
        a weight that is not positive; an unknown id in `after`, or messages that wait on each other in a
        circle.
    """
    if not isinstance(workload, pd.DataFrame):
        raise ConfigError("workload", type(workload).__name__, "must be a pandas DataFrame")
    if not len(workload):
        raise ConfigError("workload", "0 messages", "must have at least one message")
    frame = messages(workload)
    labels = _unique_index(frame)
    numbered = pd.RangeIndex(len(frame), name="message")
    if pd.api.types.is_integer_dtype(labels) and labels.min() == 0 and labels.max() == len(frame) - 1:
        if not labels.is_monotonic_increasing:
            frame = frame.sort_index()
            labels = frame.index
    elif "id" in frame:
        raise ConfigError("id", "a column", "must have another name: the messages' own labels are kept in it")
    else:
        frame["id"] = labels
    _check_ends(frame, fabric)
    weights = frame["weight"].to_numpy()
    good = np.isfinite(weights) & (weights > 0)
    if not good.all():
        row = int(np.argmin(good))
        raise _at(frame, row, "weight", float(weights[row]), "must be a finite number above 0")
    waiting, wanted, counts = _positions(frame["after"], labels)
    if len(wanted):
        _check_acyclic(np.repeat(waiting, counts), wanted, labels)
        frame["after"] = _split(wanted, waiting, counts, len(frame))
    frame.index = numbered
    return frame


def _at(frame: pd.DataFrame, row: int, field: str, value: object, allowed: str) -> ConfigError:
    """Return the error of the row at a position, named by its label."""
    return ConfigError(field, value, allowed, where=f"row {frame.index[row]}")


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _whole(field: str, value: int, least: int | None = None) -> int:
    allowed = "must be a whole number" + ("" if least is None else f", at least {least}")
    if isinstance(value, bool) or not isinstance(value, Integral) or (least is not None and value < least):
        raise ConfigError(field, value, allowed)
    return int(value)


def _distinct(hosts: Sequence[Host]) -> list[Host]:
    names = list(hosts)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ConfigError("hosts", names, "must be at least two different hosts")
    return names


def _drawn(count: int, receiver: Host, hosts: Sequence[Host] | None, seed: int) -> list[Host]:
    """Return `count` random hosts, in the order of `hosts`."""
    pool = [host for host in hosts or () if host != receiver]
    degree = _whole("senders", count, 1)
    if degree > len(pool):
        raise ConfigError("senders", count, f"must be at most {len(pool)}, the other hosts in hosts=")
    drawn = stream(seed, INCAST_SENDERS).choice(len(pool), size=degree, replace=False)
    return [pool[i] for i in np.sort(drawn)]


def _nothing(count: int) -> npt.NDArray[np.object_]:
    """Return `count` empty tuples."""
    return np.fromiter([()] * count, dtype=object, count=count)


def _workload(
    src: Sequence[Host],
    dst: Sequence[Host],
    size: Quantity,
    starts: Int64s,
    groups: Int64s | None = None,
    after: Sequence[tuple[int, ...]] | None = None,
) -> pd.DataFrame:
    """Return a workload of messages of one size, numbered from 0."""
    count = len(src)
    length = size_bytes(size, field="size")
    if length < 1:
        raise ConfigError("size", size, "must be at least 1 byte")
    return pd.DataFrame(
        {
            "src": pd.Series(src, dtype=object),
            "dst": pd.Series(dst, dtype=object),
            "size_bytes": np.full(count, length, dtype=np.int64),
            "start_ps": starts.astype(np.int64),
            "group": pd.array([pd.NA] * count if groups is None else groups, dtype="Int64"),
            "after": _nothing(count) if after is None else np.fromiter(after, dtype=object, count=count),
            "weight": np.ones(count),
        },
        index=pd.RangeIndex(count, name="message"),
    )


def _as_frame(rows: Iterable[Mapping[str, Any] | Sequence[Any]]) -> pd.DataFrame:
    names = ("src", "dst", "size", "start", "group", "after", "weight")
    dicts: list[Mapping[str, Any]] = []
    for number, row in enumerate(rows):
        if isinstance(row, Mapping):
            dicts.append(row)
        elif isinstance(row, (str, bytes)) or not 3 <= len(row) <= len(names):
            raise ConfigError("rows", row, f"must be a dict or {names}", where=f"row {number}")
        else:
            dicts.append(dict(zip(names, row, strict=False)))
    columns = list(dict.fromkeys(chain.from_iterable(dicts))) or list(names[:3])
    data = {}
    for name in columns:
        values = [row.get(name) for row in dicts]
        if name in _ALIASES or name in _UNITS:
            default = "0" if name in ("start", "start_ps") else None
            values = [default if value is None else value for value in values]
        data[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(data)


def _quantities(frame: pd.DataFrame, field: str) -> Int64s:
    """Return a column of sizes or times as whole numbers of the base unit."""
    parse, least, allowed = _UNITS[field]
    column = frame[field]
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if kind not in "iuf":
        return _parsed(frame, field, parse, least, allowed)
    values = column.to_numpy()
    good = (values >= least) & (values <= _INT64_MAX)
    if kind == "f":
        good &= (values == np.floor(values)) & (values < float(_INT64_MAX))
    if not good.all():
        row = int(np.argmin(good))
        raise _at(frame, row, field, values[row], allowed)
    return values.astype(np.int64)


def _parsed(frame: pd.DataFrame, field: str, parse: Callable[..., int], least: int, allowed: str) -> Int64s:
    """Return a column of numbers and texts with units, each different one parsed once."""
    known: dict[tuple[type, Hashable], int] = {}
    values = np.empty(len(frame), dtype=np.int64)
    for row, value in enumerate(frame[field]):
        key = (type(value), value if isinstance(value, Hashable) else id(value))
        if key not in known:
            try:
                known[key] = parse(value, field=field)
            except ConfigError as error:
                raise _at(frame, row, field, value, error.allowed) from None
            if known[key] < least:
                raise _at(frame, row, field, value, allowed)
        values[row] = known[key]
    return values


def _groups(frame: pd.DataFrame) -> Any:
    """Return the column of groups as nullable integers."""
    column = frame["group"]
    if column.dtype == "Int64":
        return column.array
    values: list[Any] = [pd.NA if _is_missing(value) else value for value in column]
    for row, value in enumerate(values):
        if type(value) is int or value is pd.NA:
            continue
        whole = isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer()
        if not whole:
            raise _at(frame, row, "group", value, "must be a whole number, or missing")
        values[row] = int(value)
    return pd.array(values, dtype="Int64")


def _weights(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the column of weights: None is 1, NaN stays for the check."""
    column = frame["weight"]
    if column.dtype == object:
        column = column.map(lambda weight: 1.0 if weight is None else weight)
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan).copy()
    except (TypeError, ValueError):
        for row, value in enumerate(column):
            try:
                float(value)
            except (TypeError, ValueError):
                raise _at(frame, row, "weight", value, "must be a finite number above 0") from None
        raise


def _tuples(column: pd.Series[Any]) -> npt.NDArray[np.object_]:
    """Return the column of `after` as tuples without repeats."""
    values = [value if type(value) is tuple and len(value) < 2 else _tuple(value) for value in column]
    return np.fromiter(values, dtype=object, count=len(values))


def _tuple(value: object) -> tuple[Any, ...]:
    if _is_missing(value):
        return ()
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return (value,)
    ids = tuple(value)
    try:
        return tuple(dict.fromkeys(ids))
    except TypeError:
        return ids


def _ids(text: object, convert: Callable[[str], Hashable]) -> tuple[Hashable, ...]:
    """Return the ids in a CSV cell."""
    if not isinstance(text, str):
        return ()
    ids = [part for part in re.split(r"[;\s]+", text) if part]
    try:
        return tuple(convert(part) for part in ids)
    except ValueError:
        return tuple(ids)


def _unique_index(frame: pd.DataFrame) -> pd.Index[Any]:
    if not frame.index.is_unique:
        twice = frame.index[frame.index.duplicated()][0]
        raise ConfigError("message", twice, "must be unique, and names several rows")
    return frame.index


def _positions(after: pd.Series[Any], labels: pd.Index[Any]) -> tuple[Int64s, Int64s, Int64s]:
    """Return the rows that wait, the rows that they wait for (flat), and how many each waits for."""
    lengths = np.fromiter(map(len, after), dtype=np.int64, count=len(after))
    waiting = np.flatnonzero(lengths)
    flat = list(chain.from_iterable(after.iloc[waiting]))
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
        raise ConfigError("after", flat[worst], "must be the id of a message", where=f"row {labels[row]}")
    return waiting, wanted, lengths[waiting]


def _split(flat: Int64s, rows: Int64s, counts: Int64s, length: int) -> npt.NDArray[np.object_]:
    """Return `length` tuples: consecutive `counts` of `flat` at `rows`, empty ones elsewhere."""
    values = _nothing(length)
    ids = flat.tolist()
    low = 0
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        values[row] = tuple(ids[low : low + count])
        low += count
    return values


def _check_ends(frame: pd.DataFrame, fabric: Fabric) -> None:
    """Raise a ConfigError for the first row whose ends are not two different hosts that a path joins."""
    ends: list[Int64s] = []
    for field in ("src", "dst"):
        codes, names = pd.factorize(frame[field])
        known = np.array([fabric.index.get(name, -1) for name in names] + [-1], dtype=np.int64)
        nodes = known[codes]
        if (nodes < 0).any():
            row = int(np.argmin(nodes))
            raise _at(frame, row, field, frame[field].iloc[row], "must be a node of the network")
        hosts = fabric.is_host[nodes]
        if not hosts.all():
            row = int(np.argmin(hosts))
            raise _at(frame, row, field, frame[field].iloc[row], "must be a host, and is a switch")
        ends.append(nodes)
    src, dst = ends
    if (src == dst).any():
        row = int(np.argmax(src == dst))
        raise _at(frame, row, "dst", frame["dst"].iloc[row], "must differ from src")
    reachable = fabric.reachable_many(src, dst)
    if not reachable.all():
        row = int(np.argmin(reachable))
        src_name, dst_name = frame[["src", "dst"]].iloc[row]
        raise _at(frame, row, "dst", dst_name, f"must be reachable from src = {src_name!r}")


def _check_acyclic(waiting: Int64s, wanted: Int64s, labels: pd.Index[Any]) -> None:
    """Raise a ConfigError that shows a circle, if messages wait on each other in one."""
    count = len(labels)
    graph = coo_array((np.ones(len(wanted), dtype=np.int8), (waiting, wanted)), shape=(count, count))
    loops = np.flatnonzero(waiting == wanted)
    found, member = connected_components(graph.tocsr(), directed=True, connection="strong")
    if found == count and not len(loops):
        return
    if len(loops):
        circle = [int(waiting[loops[0]])]
    else:
        size = np.bincount(member)
        inside = (size[member[waiting]] > 1) & (member[waiting] == member[wanted])
        onward = dict(zip(waiting[inside].tolist(), wanted[inside].tolist(), strict=True))
        row, seen = next(iter(onward)), dict[int, None]()
        while row not in seen:
            seen[row] = None
            row = onward[row]
        walk = list(seen)
        circle = walk[walk.index(row) :]
    names = [str(labels[row]) for row in (*circle, circle[0])]
    shown = " -> ".join(names if len(names) <= 12 else [*names[:6], "...", *names[-5:]])
    raise ConfigError("after", shown, "must not make messages wait on each other in a circle")
