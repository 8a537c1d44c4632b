"""The frame that a workload is: columns, defaults, and what generators build it with."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, size_bytes, time_ps

__all__ = [
    "COLUMNS",
    "Host",
    "Int64s",
    "Objects",
    "as_objects",
    "checked_hosts",
    "checked_whole",
    "from_columns",
    "host_names",
    "is_missing",
    "is_name",
    "messages",
    "nothing_after",
    "row_error",
    "stream",
]

COLUMNS = ("src", "dst", "size_bytes", "start_ps", "group", "after", "weight")

Host: TypeAlias = Any
Int64s: TypeAlias = npt.NDArray[np.int64]
Objects: TypeAlias = npt.NDArray[np.object_]

_UNITS: Mapping[str, tuple[Callable[..., int], int, str]] = {
    "size_bytes": (size_bytes, 1, "a whole number of bytes, at least 1"),
    "start_ps": (partial(time_ps, bare_ps=True), 0, "a whole number of picoseconds, at least 0"),
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
    return np.random.default_rng(np.random.SeedSequence([checked_whole("seed", seed, 0), purpose]))


def messages(rows: pd.DataFrame | Iterable[Mapping[str, Any] | Sequence[Any]]) -> pd.DataFrame:
    """Return a workload from rows, with defaults filled in.

    Parameters
    ----------
    rows : DataFrame, or iterable of dict or tuple
        A tuple is ``(src, dst, size, start, group, after, weight)``, the last four optional. Sizes may
        have units; a `start` other than 0 must. A DataFrame's index names the messages; other rows are numbered
        from 0.

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
        if isinstance(rows, str) or not isinstance(rows, Iterable) or getattr(rows, "ndim", 1) == 0:
            raise ConfigError("rows", rows, "a DataFrame, or a list of dicts or tuples")
        rows = _as_frame(rows)
    if rows.columns.nlevels > 1 or not rows.columns.is_unique:
        twice = rows.columns[rows.columns.duplicated()]
        value = twice[0] if len(twice) else rows.columns[0]
        raise ConfigError("column", value, "the name of one column")
    frame = rows.rename(columns={old: new for old, new in _ALIASES.items() if new not in rows})
    for both in (old for old in _ALIASES if old in frame):
        raise ConfigError(both, "a column", f"must not be given beside {_ALIASES[both]}, which means the same")
    for column in frame:
        stem = str(column).rpartition("_")[0]
        if stem in _ALIASES and column not in COLUMNS:  # such as start_us: it would be ignored, and all start at 0
            raise ConfigError("column", column, f"named {_ALIASES[stem]}, or {stem}, whose values have units")
    for column in ("src", "dst", "size_bytes"):
        if column not in frame:
            allowed = f"a column of the workload, which has {list(rows.columns)}"
            raise ConfigError(column, None, allowed)
    for column in ("src", "dst"):
        frame[column] = frame[column].astype(object)
    frame["size_bytes"] = _quantities(frame, "size_bytes")
    has_units = "start" in rows
    frame["start_ps"] = _quantities(frame, "start_ps", has_units) if "start_ps" in frame else np.int64(0)
    frame["group"] = _groups(frame) if "group" in frame else pd.array([pd.NA] * len(frame), dtype="Int64")
    frame["after"] = _tuples(frame["after"]) if "after" in frame else nothing_after(len(frame))
    frame["weight"] = _weights(frame) if "weight" in frame else 1.0
    frame.index = frame.index.rename("message")
    return frame[[*COLUMNS, *(name for name in frame if name not in COLUMNS)]]


def from_columns(
    src: Sequence[Host] | Objects,
    dst: Sequence[Host] | Objects,
    size: Quantity | Int64s,
    starts: Int64s | int,
    groups: Int64s | int | None = None,
    after: Iterable[tuple[int, ...]] | None = None,
) -> pd.DataFrame:
    """Return a workload of messages numbered from 0.

    Parameters
    ----------
    src, dst : sequence of host
        Length M.
    size : number or str, or ndarray of int64
        Of all messages, or of each; shape M.
    starts : ndarray of int64 or int
        Picoseconds; shape M, or one for all.
    groups : ndarray of int64 or int, optional
        Shape M, or one for all; negative for none.
    after : iterable of tuple, optional
        The rows that each message waits for; length M.

    Raises
    ------
    ConfigError
        If the size is below 1 byte.
    """
    count = len(src)
    lengths: Any = size
    if isinstance(size, np.ndarray):
        if size.dtype.kind not in "iu" or size.ndim > 1:
            raise ConfigError("size", size, "one size, or whole numbers of bytes")
    else:
        lengths = size_bytes(size, field="size")
        if lengths < 1:
            raise ConfigError("size", size, "at least 1 byte")
    numbers = np.broadcast_to(np.asarray(-1 if groups is None else groups, dtype=np.int64), count)
    return pd.DataFrame(
        {
            "src": pd.Series(src, dtype=object),
            "dst": pd.Series(dst, dtype=object),
            "size_bytes": np.broadcast_to(np.asarray(lengths, dtype=np.int64), count).copy(),
            "start_ps": np.broadcast_to(np.asarray(starts, dtype=np.int64), count).copy(),
            "group": pd.arrays.IntegerArray(numbers.copy(), numbers < 0),
            "after": nothing_after(count) if after is None else np.fromiter(after, dtype=object, count=count),
            "weight": np.ones(count),
        },
        index=pd.RangeIndex(count, name="message"),
    )


def as_objects(names: Iterable[Host]) -> Objects:
    """Return names of any kind, tuples too, as an array of objects; shape N.

    Parameters
    ----------
    names : iterable of hashable
        Names of hosts.
    """
    values = list(names)
    return np.fromiter(values, dtype=object, count=len(values))


def nothing_after(count: int) -> npt.NDArray[np.object_]:
    """Return `count` empty tuples.

    Parameters
    ----------
    count : int
        How many.
    """
    return np.fromiter([()] * count, dtype=object, count=count)


def row_error(frame: pd.DataFrame, row: int, field: str, value: object, allowed: str) -> ConfigError:
    """Return the error of the row at a position, named by its label.

    Parameters
    ----------
    frame : DataFrame
        A workload.
    row : int
        Position of the row, from 0.
    field : str
        The wrong column.
    value : object
        What stands there.
    allowed : str
        What is allowed, as in `ConfigError`.
    """
    return ConfigError(field, value, allowed, where=f"row {frame.index[row]}")


def is_missing(value: object) -> bool:
    """Tell whether a cell is empty.

    Parameters
    ----------
    value : object
        The cell.
    """
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


MOST_OF_ANYTHING = 10_000_000
_MOST = {"seed": 2**4096, "group": 2**62}
"""By field; rounds, counts and degrees beyond would not fit into memory."""


def checked_whole(field: str, value: int, least: int | None = None) -> int:
    """Return a whole number; raise a ConfigError if it is none, or below `least`.

    Parameters
    ----------
    field : str
        What it is, as the error names it.
    value : int
        The number.
    least : int, optional
        Lowest value that is allowed; any by default.

    Raises
    ------
    ConfigError
        If the number is not whole, or below `least`.
    """
    allowed = "a whole number" + ("" if least is None else f", at least {least}")
    if isinstance(value, bool) or not isinstance(value, Integral) or (least is not None and value < least):
        raise ConfigError(field, value, allowed)
    most = _MOST.get(field, MOST_OF_ANYTHING)
    if value > most or value < -most:
        raise ConfigError(field, value, f"{allowed}, and at most {most}")
    return int(value)


def checked_flag(field: str, value: bool) -> bool:
    """Return True or False; raise a ConfigError if it is neither.

    Parameters
    ----------
    field : str
        What it is, as the error names it.
    value : bool
        The flag.

    Raises
    ------
    ConfigError
        For anything but a truth value.
    """
    if not isinstance(value, bool | np.bool_):
        raise ConfigError(field, value, "True or False")
    return bool(value)


def host_names(field: str, names: Iterable[Host]) -> list[Host]:
    """Return names of hosts as a list; raise a ConfigError unless they can be names.

    Parameters
    ----------
    field : str
        What they are, as the error names it.
    names : iterable of hashable
        The names.

    Raises
    ------
    ConfigError
        If it is no list, or holds what cannot be a name.
    """
    try:
        listed = None if isinstance(names, str) else list(names)
    except TypeError:
        listed = None
    if listed is None:
        raise ConfigError(field, names, "a list of hosts")
    for name in listed:
        if not is_name(name):
            raise ConfigError(field, name, "names of hosts")
    return listed


def is_name(name: object) -> bool:
    """Tell whether something can be the name of a node.

    Parameters
    ----------
    name : object
        A tuple, say, may hold a list.
    """
    try:
        hash(name)
    except TypeError:
        return False
    return name is not pd.NA  # of which nothing can be said, not even that it equals another


def checked_hosts(hosts: Sequence[Host]) -> list[Host]:
    """Return hosts as a list; raise a ConfigError unless they are different and at least two.

    Parameters
    ----------
    hosts : sequence of hashable
        Names of hosts.

    Raises
    ------
    ConfigError
        If there are fewer than two, or one occurs twice.
    """
    names = host_names("hosts", hosts)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ConfigError("hosts", names, "at least two different hosts")
    return names


def _as_frame(rows: Iterable[Mapping[str, Any] | Sequence[Any]]) -> pd.DataFrame:
    names = ("src", "dst", "size", "start", "group", "after", "weight")
    dicts: list[Mapping[str, Any]] = []
    for number, row in enumerate(rows):
        if isinstance(row, Mapping):
            dicts.append(row)
        elif isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or not 3 <= len(row) <= len(names):
            raise ConfigError("rows", row, f"a dict or a tuple ({', '.join(names)})", where=f"row {number}")
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


def _quantities(frame: pd.DataFrame, field: str, has_units: bool = False) -> Int64s:
    """Return a column of sizes or times as whole numbers of the base unit; refuse bare ones if it has units."""
    parse, least, allowed = _UNITS[field]
    column = frame[field]
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if has_units:
        return _parsed(frame, field, time_ps, least, allowed)
    if kind not in "iuf":
        return _parsed(frame, field, parse, least, allowed)
    values = column.to_numpy()
    good = (values >= least) & (values <= _INT64_MAX)
    if kind == "f":
        good &= (values == np.floor(values)) & (values < float(_INT64_MAX))
    if not good.all():
        row = int(np.argmin(good))
        raise row_error(frame, row, field, values[row], allowed)
    return values.astype(np.int64)


def _parsed(frame: pd.DataFrame, field: str, parse: Callable[..., int], least: int, allowed: str) -> Int64s:
    """Return a column of numbers and texts with units, each different one parsed once."""
    known: dict[tuple[type, Hashable], int] = {}
    values = np.empty(len(frame), dtype=np.int64)
    for row, value in enumerate(frame[field]):
        key = (type(value), value if is_name(value) else id(value))
        if key not in known:
            try:
                known[key] = parse(value, field=field)
            except ConfigError as error:
                raise row_error(frame, row, field, value, error.allowed) from None
            if known[key] < least:
                raise row_error(frame, row, field, value, allowed)
        values[row] = known[key]
    return values


def _groups(frame: pd.DataFrame) -> Any:
    """Return the column of groups as nullable integers."""
    column = frame["group"]
    if column.dtype == "Int64":
        return column.array
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "i":
        return column.astype("Int64").array
    values: list[Any] = [pd.NA if is_missing(value) else value for value in column]
    for row, value in enumerate(values):
        if value is pd.NA:
            continue
        number: Any = value
        if isinstance(value, bool) or not isinstance(value, Real) or number % 1 != 0:
            raise row_error(frame, row, "group", value, "a whole number or missing")
        if not -(2**63) <= number < 2**63:
            raise row_error(frame, row, "group", value, "a whole number below 2**63")
        values[row] = int(number)
    return pd.array(values, dtype="Int64")


def _weights(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the column of weights: None is 1, NaN stays for the check."""
    column = frame["weight"]
    if column.dtype == object:
        column = column.map(lambda weight: 1.0 if weight is None else weight)
    if column.dtype.kind == "c":
        raise row_error(frame, 0, "weight", column.iloc[0], "a finite number above 0")
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan).copy()
    except (TypeError, ValueError, OverflowError):
        for row, value in enumerate(column):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                raise row_error(frame, row, "weight", value, "a finite number above 0") from None
        raise


def _tuples(column: pd.Series[Any]) -> npt.NDArray[np.object_]:
    """Return the column of `after` as tuples without repeats."""
    values = column.to_numpy(dtype=object)
    if set(map(type, values)) != {tuple} or max(map(len, values), default=0) > 1:
        values = np.fromiter(map(_tuple, values), dtype=object, count=len(values))
    return values.copy()


def _tuple(value: object) -> tuple[Any, ...]:
    if is_missing(value):
        return ()
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return (value,)
    ids = tuple(value)
    try:
        return tuple(dict.fromkeys(ids))
    except TypeError:
        return ids
