"""Terminal output of an experiment: numbers, claims, and how they were computed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from rdmacc.show.tables import format_value, terminal_columns, text_table

if TYPE_CHECKING:
    from rdmacc.experiments import Experiment

_MANY = 16
"""Number of points above which each is a row instead of a column."""


def scalars_text(numbers: pd.DataFrame) -> str:
    """Return the numbers of a table: one column per point, in blocks that fit the terminal; many points as rows."""
    columns: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for point, rows in numbers.groupby("point", sort=False):
        cells = [format_value(value, unit) for value, unit in zip(rows["value"], rows["unit"], strict=True)]
        columns.setdefault(tuple(rows["quantity"]), {})[str(point)] = cells
    blocks = []
    for quantities, by_point in columns.items():
        if len(by_point) > _MANY:
            blocks.append(text_table(["", *quantities], [[point, *cells] for point, cells in by_point.items()]))
            continue
        for points in _fitting(quantities, by_point):
            rows_of_block = [list(row) for row in zip(quantities, *(by_point[point] for point in points), strict=True)]
            blocks.append(text_table(["", *points], rows_of_block))
    return "\n\n".join(blocks)


def _fitting(quantities: tuple[str, ...], by_point: dict[str, list[str]]) -> list[list[str]]:
    """Return the points in groups whose columns fit next to the quantities' names, at least one per group."""
    room = max(terminal_columns(120), 80) - max(map(len, quantities))
    groups: list[list[str]] = []
    left = 0
    for point, cells in by_point.items():
        width = 2 + max(map(len, (point, *cells)))
        if not groups or width > left:
            groups.append([])
            left = room
        groups[-1].append(point)
        left -= width
    return groups


def surprises_in(checks: pd.DataFrame) -> list[str]:
    """Return the claims whose verdicts differ from the recorded ones."""
    return [str(id) for id in checks["id"][~checks["matches"].astype(bool)]]


def match_text(checks: pd.DataFrame) -> str:
    """Return a note that all verdicts match the record, or which do not."""
    ids = surprises_in(checks)
    if not ids:
        return "all verdicts match the record"
    return f"{len(ids)} of {len(checks)} verdicts DIFFER from the record: {', '.join(ids)}"


def checks_text(checks: pd.DataFrame) -> str:
    """Return the claims with published and measured values, and the count of each verdict."""
    from rdmacc.experiments.ledger.pages import html

    rows = [row | {"said": _verdict(row)} for row in checks.to_dict("records")]
    parts = [counts_text(checks), match_text(checks) if surprises_in(checks) else ""]
    return html("claims.txt", rows=rows, end="; ".join(filter(None, parts)))


def under_reading(checks: pd.DataFrame, default: pd.DataFrame) -> pd.DataFrame:
    """Return checks under another reading, compared with the default reading's verdicts."""
    recorded = default.set_index("id")["verdict"].reindex(checks["id"]).to_numpy()
    differs = checks["verdict"].to_numpy() != recorded
    why = [f"with the default reading: {was}" if other else "" for was, other in zip(recorded, differs)]
    return checks.assign(expected=checks["verdict"], matches=True, reason=why)


def over_seeds(numbers: pd.DataFrame, seeds: int | None) -> pd.DataFrame:
    names = ["point", "quantity"]
    if seeds in (None, 1) or not numbers.duplicated(names).any():
        return numbers
    means = numbers.groupby(names, sort=False, dropna=False)["value"].mean()
    kept = numbers.drop_duplicates(names).reset_index(drop=True)
    return kept.assign(value=means.to_numpy(), quantity=kept["quantity"] + " (mean)")


def seeds_text(seed: int, seeds: int | None) -> str:
    return f"seed {seed}" if seeds in (None, 1) else f"{seeds} seeds, starting at {seed}"


def seeding_text(one: Experiment, table: pd.DataFrame, seeds: int | None) -> str:
    """Return a note if several seeds of an experiment are equivalent."""
    if seeds in (None, 1):
        return ""
    if one.seeding == "none":
        return "Nothing here is random: every seed gives this table, so it is computed once."
    return "" if len(one.rows_of_seeds(table)) > 1 else "Every seed gave the same numbers: nothing here is random."


def counts_text(checks: pd.DataFrame) -> str:
    from rdmacc.experiments.ledger.pages import count_outcomes, counted

    return f"{len(checks)} claims: {counted(count_outcomes(checks))}"


def _verdict(row: Mapping[Any, Any]) -> str:
    if row["matches"]:
        return (
            str(row["verdict"])
            if row["verdict"] in ("holds", "undecided", "not judged")
            else f"{row['verdict']}, as recorded"
        )
    return f"{row['verdict']}, UNLIKE THE RECORDED VERDICT"


def effort_text(reused: int, points: int, effort: Mapping[str, Any], packet_hops: int) -> str:
    engines = " and ".join(effort["engines"]) or "no"
    rate = effort["packet_hops_per_s"] / 1e6
    work = f"{packet_hops:,} packet-hops in {effort['wall_s']:.1f} s, {rate:.2f} M/s ({engines} engine)"
    return f"{points} points, {reused} from the store: {work}"


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows as JSON data, with null for missing values."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows
