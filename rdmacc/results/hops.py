"""Journeys: the packets of a trace, followed from hop to hop until they arrive or are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.engine.trace import TRIMMED
from rdmacc.interface import KIND_NAMES, PAUSE
from rdmacc.results.explain.follower import FATES, Follower

if TYPE_CHECKING:
    from rdmacc.results.result import Result

_KEPT = ("journey", "hop", "nth", "wire_bytes", "priority", "ce", "trimmed", "sent_ps", "end_ps", "fate")


def find_hops(result: Result) -> pd.DataFrame:
    """Follow every packet of a trace (of a run with ``trace=True``) over its links.

    A link delivers in order, so each arrival or loss belongs to the packet that was sent first. We assume that a switch
    forwards identical copies of a packet in order of arrival.

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
    hops, fabric = pd.DataFrame(follower.hops, columns=[*_KEPT, "port", "key"]), result.plan.fabric
    message, kind, psn = np.array(hops.pop("key").tolist(), np.int64).reshape(-1, 3).T
    ports, sent_ps = hops.pop("port").to_numpy(np.int64), hops["sent_ps"].to_numpy(np.int64)
    hops["sent_ps"] = pd.arrays.IntegerArray(sent_ps, sent_ps < 0)
    hops["fate"] = np.array(FATES, dtype=object)[hops["fate"].to_numpy(np.int64)]
    for at, (name, values) in enumerate(
        {
            "node": fabric.names_of(fabric.port_node[ports]),
            "peer": fabric.names_of(fabric.port_peer[ports]),
            "kind": np.array(KIND_NAMES, dtype=object)[kind],
            "message": np.where(kind < PAUSE, message, -1),
            "psn": psn,
        }.items(),
        2,
    ):
        hops.insert(at, name, values)
    return hops
