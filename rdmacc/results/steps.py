"""Timing of a schedule: its collectives with their bandwidths, and its jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.engine.outcome import RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.interface import NEVER
from rdmacc.show.timeline import merged


def busbw_factor(operation: str, ranks: int) -> float:
    """Return the ratio of busbw to algbw, which makes a perfect run reach the hardware's rate for any number of ranks.

    From NVIDIA's nccl-tests, doc/PERFORMANCE.md.

    >>> busbw_factor("all-reduce", 8), busbw_factor("all-gather", 8), busbw_factor("broadcast", 8)
    (1.75, 0.875, 1.0)
    """
    if operation == "all-reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in ("reduce-scatter", "all-gather", "all-to-all") else 1.0


def _rows(plan: Plan, outcome: RunOutcome, columns: tuple[str, ...]) -> pd.DataFrame:
    """Return start, end and labels of all messages and computations; a missing end is NaN."""
    parts = []
    for labels, start, end in (
        (plan.workload, outcome.messages["start_ps"], outcome.messages["delivered_ps"]),
        (plan.rows.computation, outcome.computation["start_ps"], outcome.computation["end_ps"]),
    ):
        part: dict[str, Any] = {"start_ps": start, "end_ps": np.where(end < 0, np.nan, end)}
        parts.append(pd.DataFrame(part | {name: labels[name].to_numpy() for name in columns if name in labels}))
    whole = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    return whole.reindex(columns=["start_ps", "end_ps", *columns])


def _by_row(plan: Plan, outcome: RunOutcome, message: str, computation: str) -> npt.NDArray[np.int64]:
    """Merge a counter of messages with one of computations, in the order of the workload's rows."""
    values, computes = np.empty(len(plan.rows.computes), np.int64), plan.rows.computes
    values[~computes], values[computes] = outcome.messages[message], outcome.computation[computation]
    return values


def collectives_of(plan: Plan, outcome: RunOutcome) -> pd.DataFrame:
    """Return one row for each collective of the workload."""
    which, known = plan.rows.collectives()
    table = known.rename(columns={"buffer_bytes": "size_bytes"}).reset_index(drop=True)
    table = table.astype({"collective": np.int64, "ranks": np.int64, "size_bytes": np.int64, "operation": str})
    first, last = np.full(len(table) + 1, NEVER), np.zeros(len(table) + 1, np.int64)  # last: of no collective
    np.minimum.at(first, which, _by_row(plan, outcome, "start_ps", "start_ps"))
    end_ps = _by_row(plan, outcome, "delivered_ps", "end_ps")
    np.maximum.at(last, which, np.where(end_ps < 0, NEVER, end_ps))
    table["start_ps"] = first[:-1]
    table["time_ps"] = np.where(last == NEVER, np.nan, last - first)[:-1]
    table["algbw_bps"] = table["size_bytes"] * 8e12 / table["time_ps"]
    factors = [busbw_factor(*row) for row in zip(table["operation"], table["ranks"], strict=True)]
    table["busbw_bps"] = table["algbw_bps"] * factors
    return table.assign(time_us=table["time_ps"] / 1e6, busbw_gbytes=table["busbw_bps"] / 8e9)


def jobs_of(plan: Plan, outcome: RunOutcome) -> pd.DataFrame:
    """Return one row for each job of the workload."""
    rows = _rows(plan, outcome, ("job", "src", "dst", "size_bytes", "collective"))
    table = []
    for job, part in rows[rows["job"].notna()].groupby("job", sort=False):
        hosts = set(part["src"]) | set(part["dst"])
        sends = part["size_bytes"] > 0
        start, end = part["start_ps"].min(), part["end_ps"].max(skipna=False)
        computes = ~sends & part["end_ps"].notna() & part["collective"].isna()
        busy = sum(_union_ps(one) for _, one in part[computes].groupby("src"))
        sent_bytes = int(part["size_bytes"].sum())
        table.append((str(job), len(hosts), int(sends.sum()), sent_bytes, start, end - start, busy / len(hosts)))
    names = ["job", "hosts", "messages", "bytes", "start_ps", "step_ps", "computing_ps"]
    return pd.DataFrame(table, columns=names).astype({"job": str, "step_ps": float, "computing_ps": float})


def _union_ps(rows: pd.DataFrame) -> float:
    start, end = merged(rows["start_ps"].to_numpy(np.float64), rows["end_ps"].to_numpy(np.float64))
    return float((end - start).sum())
