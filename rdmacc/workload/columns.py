"""Columns of a workload's frame: convert user input to the numbers that the frame holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from itertools import chain, count
from numbers import Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import size_bytes, time_ps

Int64s: TypeAlias = npt.NDArray[np.int64]

UNITS: Mapping[str, tuple[Callable[..., int], int, str]] = {
    "size_bytes": (size_bytes, 1, "a whole number of bytes, at least 1"),
    "start_ps": (partial(time_ps, bare_ps=True), 0, "a whole number of picoseconds, at least 0"),
    "delay_ps": (partial(time_ps, bare_ps=True), 0, "a whole number of picoseconds, at least 0"),
    "duration_ps": (partial(time_ps, bare_ps=True), 0, "a whole number of picoseconds, at least 0"),
}
_INT64_MAX = 2**63 - 1


def converted(
    column: Mapping[Any, Any], given: list[Any], computes: npt.NDArray[np.bool_] | None, n_rows: int
) -> dict[str, Any]:
    """Return the columns with a meaning in base units, with defaults for missing ones."""
    sizes = quantities(column["size_bytes"], "size_bytes")
    new: dict[str, Any] = {end: column[end].astype(object) for end in ("src", "dst") if column[end].dtype != object}
    new["size_bytes"] = sizes if computes is None else np.where(computes, 0, sizes)
    new["start_ps"] = quantities(column["start_ps"], "start_ps", "start" in given) if "start_ps" in column else 0
    nobody = pd.arrays.IntegerArray(np.ones(n_rows, np.int64), np.ones(n_rows, np.bool_))
    new["group"] = groups(column["group"]) if "group" in column else nobody
    new["after"] = tuples(column["after"].to_numpy(object)) if "after" in column else nothing_after(n_rows)
    if "delay_ps" in column:
        new["delay_ps"] = delays(column["delay_ps"], new["after"], "delay" in given)
    new["weight"] = weights(column["weight"]) if "weight" in column else 1.0
    return new


def nothing_after(count: int) -> npt.NDArray[np.object_]:
    return np.fromiter([()] * count, dtype=object, count=count)


def row_error(frame: pd.DataFrame | pd.Series[Any], row: int, field: str, value: object, allowed: str) -> ConfigError:
    return ConfigError(field, value, allowed, where=f"row {frame.index[row]}")


def is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def filled(column: pd.Series[Any], value: object) -> pd.Series[Any]:
    """Return a column of objects with a value in its empty cells.

    pandas 2 warns when `fillna` leaves objects that have a type in common.
    """
    values = column.to_numpy(dtype=object, copy=True)
    values[column.isna()] = value
    return pd.Series(values, column.index, dtype=object)


def is_list(value: Any) -> TypeGuard[Iterable[Any]]:
    """Return whether a value is a collection of values; strings and zero-dimensional arrays are not."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) > 0


def is_name(name: object) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return name is not pd.NA  # missing values support no comparison, not even equality


def quantities(column: pd.Series[Any], field: str, has_units: bool = False) -> Int64s:
    """Return a column of sizes or times in base units; reject bare numbers in columns that need units."""
    _, least, allowed = UNITS[field]
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if has_units or kind not in "iuf":
        return np.fromiter(map(_reader(column, field, has_units, field), count(), column), np.int64, len(column))
    values = column.to_numpy()
    good = (values >= least) & (values <= _INT64_MAX)
    if kind == "f":
        good &= (values == np.floor(values)) & (values < float(_INT64_MAX))
    if not good.all():
        row = int(np.argmin(good))
        raise row_error(column, row, field, values[row], allowed)
    return values.astype(np.int64, copy=False)


def _reader(column: pd.Series[Any], field: str, has_units: bool, shown: str) -> Callable[[int, Any], int]:
    """Return a function that reads a cell, a number or a string with a unit; each distinct value is parsed once."""
    parse, least, allowed = UNITS[field]
    known: dict[tuple[type, Hashable], int] = {}

    def read(row: int, value: Any) -> int:
        key = (type(value), value if is_name(value) else id(value))
        if key not in known:
            try:
                known[key] = (time_ps if has_units else parse)(value, field=shown)
            except ConfigError as error:
                raise row_error(column, row, shown, value, error.allowed) from None
            if known[key] < least:
                raise row_error(column, row, shown, value, allowed)
        return known[key]

    return read


def groups(column: pd.Series[Any]) -> Any:
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
            raise row_error(column, row, "group", value, "a whole number or missing")
        if not -(2**63) <= number < 2**63:
            raise row_error(column, row, "group", value, "a whole number below 2**63")
        values[row] = int(number)
    return pd.array(values, dtype="Int64")


def weights(column: pd.Series[Any]) -> npt.NDArray[np.float64]:
    if column.dtype == object:
        column = column.map(lambda weight: 1.0 if weight is None else weight)
    if column.dtype.kind == "c":
        raise row_error(column, 0, "weight", column.iloc[0], "a finite number above 0")
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):
        for row, value in enumerate(column):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                raise row_error(column, row, "weight", value, "a finite number above 0") from None
        raise
    good = np.isfinite(values) & (values > 0)
    if not good.all():
        row = int(np.argmin(good))
        raise row_error(column, row, "weight", float(values[row]), "a finite number above 0")
    return values


def durations(column: pd.Series[Any], has_units: bool) -> Any:
    """Return the column of durations as nullable integers: missing for messages."""
    is_given = column.notna().to_numpy(dtype=np.bool_)
    given = pd.Series(column[is_given].to_numpy(), column.index[is_given])
    values = np.zeros(len(column), dtype=np.int64)
    values[is_given] = quantities(given if has_units else given.infer_objects(), "duration_ps", has_units)
    return pd.arrays.IntegerArray(values, ~is_given)


def delays(column: pd.Series[Any], after: Iterable[tuple[Any, ...]], has_units: bool) -> npt.NDArray[np.object_]:
    """Return the column of delays as tuples of picoseconds, one for each message that the row waits for."""
    counts = np.fromiter(map(len, after), dtype=np.int64, count=len(column))
    values = column.to_numpy(dtype=object).copy()
    if not has_units and set(map(type, values)) == {tuple}:
        flat = np.array(list(chain.from_iterable(values)) or [0])
        lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        if flat.dtype.kind == "i" and flat.min() >= 0 and (lengths == counts).all():
            return values
    read = _reader(column, "delay_ps", has_units, "delay")
    for row, (value, wanted) in enumerate(zip(values.tolist(), counts.tolist(), strict=True)):
        if is_missing(value):
            values[row] = (0,) * wanted
            continue
        is_one = not is_list(value)
        parts = (value,) * max(wanted, 1) if is_one else tuple(value)
        if len(parts) != max(wanted, is_one):
            raise row_error(column, row, "delay", value, f"one time, or one for each of the {wanted} in after")
        found = tuple(read(row, part) for part in parts)
        if len(found) > wanted and found[0]:  # without dependencies it would have no effect
            raise row_error(column, row, "delay", value, "missing where after is empty: use start")
        values[row] = found[:wanted]
    return values


def no_delays(after: pd.Series[Any]) -> npt.NDArray[np.object_]:
    return np.fromiter(((0,) * len(rows) for rows in after), dtype=object, count=len(after))


def queue_pair_labels(frame: pd.DataFrame) -> Int64s:
    """Return the queue pair between its hosts that each message names, -1 for none; empty if no message does."""
    if "queue_pair" not in frame or frame["queue_pair"].isna().all():
        return np.zeros(0, dtype=np.int64)
    values = filled(frame["queue_pair"], -1).to_numpy()
    for row, value in enumerate(values):
        is_number = isinstance(value, Real) and not isinstance(value, bool) and value % 1 == 0
        if not is_number or not -1 <= value < 2**31 or (value == -1 and not is_missing(frame["queue_pair"].iloc[row])):
            raise row_error(frame, row, "queue_pair", value, "a whole number of at least 0, or missing")
    return values.astype(np.int64)


def split_ids(ids: list[Any], rows: npt.NDArray[Any], counts: Int64s, length: int) -> npt.NDArray[np.object_]:
    """Return `length` tuples: consecutive `counts` of `ids` at `rows`, empty ones elsewhere."""
    values = nothing_after(length)
    low = 0
    for row, wanted in zip(rows.tolist(), counts.tolist(), strict=True):
        values[row] = tuple(ids[low : low + wanted])
        low += wanted
    return values


def tuples(values: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Return the column of `after` as tuples without repeats: `values` itself if it has that form."""
    if set(map(type, values)) != {tuple} or any(
        len(ids) > 1 and (set(map(type, ids)) != {int} or len(set(ids)) < len(ids)) for ids in values
    ):
        return np.fromiter(map(_tuple, values), dtype=object, count=len(values))
    return values


def _tuple(value: object) -> tuple[Any, ...]:
    if is_missing(value):
        return ()
    if not is_list(value):
        return (value,)
    ids = tuple(value)
    try:
        once = tuple(dict.fromkeys(ids))
    except TypeError:
        return ids
    return once if len(once) < len(ids) else ids
