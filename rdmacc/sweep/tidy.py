"""Tidy tables of experiments: one row per number and per sample of a curve.

The columns are `TABLE_COLUMNS`, then one for each label of the points, then whatever a measurement adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError

_TYPES: dict[str, Any] = {"point": object, "quantity": object, "time_ps": "Int64", "value": np.float64, "unit": object}
TABLE_COLUMNS = tuple(_TYPES)
"""Columns of a tidy table; `time_ps` is missing for numbers and set for samples of curves."""


def tidy(
    point: str,
    numbers: Mapping[str, tuple[float, str]],
    curves: Mapping[str, tuple[pd.Series, str]] | None = None,
) -> pd.DataFrame:
    """Return the rows of one point: numbers as (value, unit), curves as (samples by `time_ps`, unit)."""
    parts = [(name, unit, [float(value)], [0]) for name, (value, unit) in numbers.items()] + [
        (name, unit, series.to_numpy(np.float64), series.index) for name, (series, unit) in (curves or {}).items()
    ]
    counts = [len(values) for _, _, values, _ in parts]
    names, units = (np.repeat(np.array([part[i] for part in parts], object), counts) for i in (0, 1))
    times = pd.array(np.concatenate([np.empty(0, np.int64), *(part[3] for part in parts)]), "Int64")
    times[: len(numbers)] = pd.NA
    values = np.concatenate([np.empty(0), *(part[2] for part in parts)])
    columns = (np.full(len(values), point, object), names, times, values, units)
    return pd.DataFrame(
        {name: pd.Series(one, dtype=_TYPES[name]) for name, one in zip(TABLE_COLUMNS, columns, strict=True)}
    )


def check_table(table: pd.DataFrame, point: str) -> pd.DataFrame:
    """Return the rows of one point, with standard column types."""
    if not isinstance(table, pd.DataFrame) or not set(TABLE_COLUMNS) <= set(table.columns):
        raise ConfigError(
            "table", getattr(table, "columns", table), f"a DataFrame with the columns {', '.join(TABLE_COLUMNS)}"
        )
    if not (table["point"] == point).all():
        raise ConfigError("table", table["point"].unique().tolist(), f"rows of the point {point!r} only")
    return typed(table)


def typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with standard column types and order, with rows numbered from 0."""
    others = [name for name in table if name not in TABLE_COLUMNS]
    wrong = {name: table[name].astype(known) for name, known in _TYPES.items() if table[name].dtype != known}
    return table[[*TABLE_COLUMNS, *others]].assign(**wrong).reset_index(drop=True)


def assemble(tables: Mapping[str, pd.DataFrame], labels: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Combine the tables of points into one, with a column for each label."""
    names = list(dict.fromkeys(label for point in tables for label in labels.get(point, {})))
    own = list(dict.fromkeys(name for table in tables.values() for name in table))
    for name in names:
        if name in own or name in TABLE_COLUMNS:
            raise ConfigError("label", name, "a name that is not a column of the table")
    columns = [*TABLE_COLUMNS, *names, *(name for name in own if name not in TABLE_COLUMNS)]
    frames = [table.assign(**labels.get(point, {})) for point, table in tables.items() if len(table)]
    if not frames:
        return tidy("", {}).reindex(columns=columns)
    return pd.concat(frames, ignore_index=True).reindex(columns=columns)


def scalars(table: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a table, without the curves: `point, quantity, value, unit`, and the remaining columns."""
    return table.drop(columns="time_ps")[table["time_ps"].isna().to_numpy()].reset_index(drop=True)


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of a table with one row per point: its labels, and a column for each quantity.

    >>> rows = assemble({"a": tidy("a", {"rate": (2, "bps"), "n": (1, "")})}, {"a": {"k": 4}})
    >>> wide(rows).to_dict("index")
    {'a': {'k': 4, 'rate': 2.0, 'n': 1.0}}
    """
    rows = scalars(table).set_index(["point", "quantity"])
    if not rows.index.is_unique:
        raise ConfigError("quantity", list(rows.index.unique(1)), "in the table once for each point, as a number")
    labels = rows.drop(columns=["value", "unit"]).droplevel("quantity")
    return labels[~labels.index.duplicated()].join(rows["value"].unstack(sort=False))


def scalar(table: pd.DataFrame, point: str, quantity: str) -> float:
    """Return one number of a table."""
    at = _rows(table, table["time_ps"].isna(), point, quantity)
    if len(at) != 1:
        raise ConfigError("quantity", (point, quantity), "in the table exactly once, as a number")
    return float(table["value"].array[at[0]])


def curve(table: pd.DataFrame, point: str, quantity: str) -> pd.Series:
    """Return one curve of a table: values by `time_ps`."""
    at = _rows(table, table["time_ps"].notna(), point, quantity)
    times, values = table["time_ps"].array[at], table["value"].array[at]
    return pd.Series(values.to_numpy(np.float64), pd.Index(times.to_numpy(np.int64), name="time_ps"), name=quantity)


def _rows(table: pd.DataFrame, of_kind: pd.Series[Any], point: str, quantity: str) -> Any:
    at = np.flatnonzero(of_kind)  # first, because comparing names is slow, and most rows are of curves
    for name, wanted in (("point", point), ("quantity", quantity)):
        at = at[table[name].to_numpy()[at] == wanted]
    return at
