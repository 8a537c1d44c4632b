"""Journeys: the packets of a trace, followed from hop to hop until they arrive or are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.engine.trace import TRIMMED
from rdmacc.explain.follower import FATES, Follower
from rdmacc.state import KIND_NAMES, PAUSE

if TYPE_CHECKING:
    from rdmacc.results.result import Result

__all__ = ["FATES", "find_hops"]


def find_hops(result: Result) -> pd.DataFrame:
    """Follow every packet of a trace (of a run with ``trace=True``) over its links.

    A link delivers in order, so each arrival or loss belongs to the packet that was sent first. A switch is assumed to
    forward identical copies of a packet in order of arrival.

    There is one row for each packet on each link, sorted by sending time: `journey` (number that identifies the packet
    over all hops), `hop` (from 0), `node, peer, kind, message, psn`, `nth` (which transmission of that packet by its
    host, from 1), `wire_bytes, priority, ce, trimmed`, `sent_ps` (first bit; missing if the packet was dropped in the
    queue), `end_ps` (last bit arrived or lost; predicted if it is still under way) and `fate`, one of `FATES`.
    """
    rows = result.trace_rows
    follower = Follower(result.plan)
    for row in rows[rows["what"] < TRIMMED].tolist():
        follower.read(row)
    follower.end(result.now_ps)
    hops = follower.hops
    fabric = result.plan.fabric

    def column(name: str, dtype: type = np.int64) -> np.ndarray[Any, Any]:
        return np.array([hop[name] for hop in hops], dtype=dtype)

    keys = np.array([hop["key"] for hop in hops], dtype=np.int64).reshape(-1, 3)
    sent = pd.array(column("sent_ps"), dtype="Int64")
    sent[column("sent_ps") < 0] = pd.NA
    ports = column("port")
    return pd.DataFrame(
        {
            "journey": column("journey"),
            "hop": column("hop"),
            "node": fabric.names_of(fabric.port_node[ports]),
            "peer": fabric.names_of(fabric.port_peer[ports]),
            "kind": np.array(KIND_NAMES, dtype=object)[keys[:, 1]],
            "message": np.where(keys[:, 1] < PAUSE, keys[:, 0], -1),
            "psn": keys[:, 2],
            "nth": column("nth"),
            "wire_bytes": column("wire_bytes"),
            "priority": column("priority"),
            "ce": column("ce", bool),
            "trimmed": column("trimmed", bool),
            "sent_ps": sent,
            "end_ps": column("end_ps"),
            "fate": np.array(FATES, dtype=object)[column("fate")],
        }
    )
