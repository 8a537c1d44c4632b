"""What the comparisons with other simulators measure: completion times, by size, and a row for every flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rdmacc.experiments.base import Point, Verdict
from rdmacc.experiments.validation.flows import by_size as percentiles_by_size
from rdmacc.experiments.validation.flows import percentiles
from rdmacc.results.result import Result
from rdmacc.sweep.tidy import tidy, wide

__all__ = ["EACH", "finished", "flows_of", "measure"]

EACH = "FCT of each flow"


def measure(point: Point, result: Result, *, by_size: bool) -> pd.DataFrame:
    """Return a point's rows: completion is the last ACK's arrival at the sender.

    The completion times of the flows are the curve `EACH` over their starts, with two columns more: `flow` and
    `size_bytes`.
    """
    flows = result.flows
    fct = flows["fct_acked_ps"].to_numpy(np.float64)
    numbers: dict[str, tuple[float, str]] = percentiles("FCT", fct)
    if by_size:
        numbers |= percentiles_by_size("FCT", fct, flows["size_bytes"])
    counters = result.counters
    numbers |= {
        "last FCT": ((flows["start_ps"] + fct).max() - flows["start_ps"].min(), "ps"),
        "goodput": (result.summary().goodput_bps, "bps"),
        "queue, peak": (counters.peak_queue_bytes, "bytes"),
        "trimmed": (counters.trimmed_packets, ""),
        "retransmissions": (counters.retransmissions, ""),
        "drops": (counters.dropped_packets, ""),
        "unfinished": (int((flows["status"] != "finished").sum()), ""),
    }
    rows: dict[str, Any] = {"point": point.name, "quantity": EACH, "time_ps": flows["start_ps"], "value": fct}
    each = pd.DataFrame(rows | {"unit": "ps", "flow": flows["flow"], "size_bytes": flows["size_bytes"]})
    return pd.concat([tidy(point.name, numbers), each], ignore_index=True)


def flows_of(table: pd.DataFrame, point: str) -> pd.DataFrame:
    """Return `flow, size_bytes, value` of a point's flows; `value` is the completion time in ps."""
    rows = table[(table["point"] == point) & (table["quantity"] == EACH)]
    return rows[["flow", "size_bytes", "value"]].reset_index(drop=True)


def finished(table: pd.DataFrame) -> Verdict:
    """Judge whether every flow finished; say how many packets were dropped whole."""
    rows = wide(table.drop(columns=["flow", "size_bytes"]))
    lost, unfinished = int(rows["drops"].sum()), int(rows["unfinished"].sum())
    return Verdict(f"{lost} packets dropped, {unfinished} flows not finished", unfinished == 0)
