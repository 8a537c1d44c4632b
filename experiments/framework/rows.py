"""Selection of table rows by label, faster than pandas, since judging does it thousands of times."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.sweep.tidy import wide


def having(rows: pd.DataFrame, **labels: Any) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that have these labels."""
    found = np.ones(len(rows), bool)
    for name, value in labels.items():
        found &= rows[name].to_numpy() == value
    return found


def chosen(rows: pd.DataFrame, **labels: Any) -> pd.DataFrame:
    return rows[having(rows, **labels)]


def row_of(rows: pd.DataFrame, point: str) -> Any:
    """Return a point's labels and numbers from a table with one row per point."""
    return rows.loc[point]


def total(*quantities: str) -> Callable[[pd.DataFrame], Any]:
    """Return a function that sums a quantity over all rows of a table with one row per point; several, by name."""
    if len(quantities) == 1:
        return lambda rows: rows[quantities[0]].sum()
    return lambda rows: rows[[*quantities]].sum()


def among(rows: pd.DataFrame, others: pd.DataFrame, *names: str) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows whose combination of these labels also occurs in `others`."""
    known = labels_of(others, *names)
    return np.array([labels in known for labels in zip(*(rows[name].tolist() for name in names), strict=True)], bool)


def labels_of(rows: pd.DataFrame, *names: str) -> set[tuple[Any, ...]]:
    return set(zip(*(rows[name].tolist() for name in names), strict=True))


def pivoted(rows: pd.DataFrame, index: str, chosen: Any = slice(None)) -> pd.DataFrame:
    """Return the values of chosen rows by a column and by quantity, three times as fast as `pivot`."""
    (places, row), (names, column) = (
        np.unique(rows[name].to_numpy()[chosen], return_inverse=True) for name in (index, "quantity")
    )
    values = np.full((len(places), len(names)), np.nan)
    values[row, column] = rows["value"].to_numpy()[chosen]
    return pd.DataFrame(values, pd.Index(places, name=index), names)


def reduction(new: Any, old: Any) -> Any:
    """Return the relative reduction from `old` to `new`, numbers or arrays."""
    return 1 - new / old


def means_of(rows: pd.DataFrame, looks: Mapping[str, tuple[str, str]], **labels: Any) -> dict[str, float]:
    """Return the mean value of the rows that have these labels, by the scheme's name in the legend."""
    found = rows[having(rows, **labels)].groupby("scheme")["value"].mean()
    return {name: float(found[scheme]) for scheme, (name, _) in looks.items()}


def means_over(table: pd.DataFrame, quantity: str, over: str) -> pd.DataFrame:
    """Return the mean of a quantity over runs: rows by a label, columns by scheme."""
    return wide(table).pivot_table(index=over, columns="scheme", values=quantity)


def named(values: pd.Series, form: str) -> dict[str, float]:
    """Return numbers by name, formatted from their label: ``named(by_load, "load {:g}")``."""
    return {form.format(label): value for label, value in values.items()}


def by_load(rows: pd.DataFrame, quantity: Any, **labels: Any) -> Any:
    """Return a quantity, or several in a list, of the rows that have these labels, grouped by load."""
    found = having(rows, **labels)
    return rows[quantity][found].groupby(rows["load"][found])
