"""Journeys: the packets of a trace, followed from hop to hop until they arrive or are lost."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.engine.fault_events import DOWN, RATE
from rdmacc.engine.trace import ARRIVED, DROPPED, SENT, TRIMMED
from rdmacc.errors import ConfigError
from rdmacc.state import KIND_NAMES, PAUSE
from rdmacc.units import transmission_ps

if TYPE_CHECKING:
    from rdmacc.results.result import Result

__all__ = ["FATES", "find_hops"]

FATES = ("arrived", "lost", "dropped", "under way")
"""How a hop ends: at the far end of the link; lost on the link (or just after it, if PFC's headroom was full); dropped
in the queue before it; or still under way when the trace ends."""

_ARRIVED, _LOST, _DROPPED, _UNDER_WAY = range(len(FATES))

Key = tuple[int, int, int]


class _Follower:
    """Reads the rows of a trace in order and collects the hops as lists of column values."""

    def __init__(self, result: Result) -> None:
        plan = result.plan
        self.fabric = plan.fabric
        self.tick_ps = plan.scheme.tick_ps
        self.rate_bps = self.fabric.port_rate_bps.tolist()
        self.delay_ps = self.fabric.port_delay_ps.tolist()
        self.peer = self.fabric.port_peer.tolist()
        self.node = self.fabric.port_node.tolist()
        self.downs_ps = defaultdict(set)
        self.rates: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for time_ps, what, ports, rate_bps in plan.fault_events:
            for port in ports:
                if what == DOWN:
                    self.downs_ps[port].add(time_ps)
                elif what == RATE:
                    self.rates[port].append((time_ps, rate_bps))
        self.hops: list[dict[str, Any]] = []
        self.under_way: dict[int, deque[dict[str, Any]]] = defaultdict(deque)
        self.waiting: dict[tuple[int, Key], deque[dict[str, Any]]] = defaultdict(deque)
        self.transmissions: dict[Key, int] = defaultdict(int)
        self.journeys = 0

    def read(self, row: tuple[int, ...]) -> None:
        time_ps, port, message, psn, wire, what, kind, priority, ce = row
        key = (message, kind, psn)
        if what == SENT:
            hop = self.begin(port, key, wire, priority, ce)
            hop["sent_ps"] = time_ps
            duration = transmission_ps(wire, self.rate_at(port, time_ps), self.tick_ps)
            hop["end_ps"] = time_ps + duration + self.delay_ps[port]
            self.under_way[port].append(hop)
        elif what == ARRIVED:
            hop = self.under_way[port].popleft()
            hop["fate"] = _ARRIVED
            if not self.fabric.is_host[self.peer[port]]:
                self.waiting[self.peer[port], key].append(hop)
        elif what == DROPPED:
            self.lose(time_ps, port, key, wire, priority, ce)

    def rate_at(self, port: int, time_ps: int) -> float:
        """Return the rate of a port's link at a given time, in bit/s."""
        changes = self.rates.get(port, [])
        place = bisect_right(changes, time_ps, key=itemgetter(0))
        return changes[place - 1][1] if place else self.rate_bps[port]

    def lose(self, time_ps: int, port: int, key: Key, wire: int, priority: int, ce: int) -> None:
        """Determine whether a packet was lost on the link, which delivers packets in the order sent."""
        flight = self.under_way[port]
        if flight and flight[0]["key"] == key and (flight[0]["end_ps"] == time_ps or time_ps in self.downs_ps[port]):
            hop = flight.popleft()
            hop["fate"] = _LOST
            hop["end_ps"] = time_ps
            return
        at_peer = self.waiting.get((self.peer[port], key))
        if at_peer and at_peer[-1]["port"] == port and at_peer[-1]["end_ps"] == time_ps:
            at_peer.pop()["fate"] = _LOST  # dropped after the link: the headroom was full
        else:
            hop = self.begin(port, key, wire, priority, ce)
            hop["fate"] = _DROPPED
            hop["end_ps"] = time_ps

    def begin(self, port: int, key: Key, wire: int, priority: int, ce: int) -> dict[str, Any]:
        """Return a new hop of the packet that has waited longest at this node among identical ones."""
        waiting = self.waiting.get((self.node[port], key))
        if waiting:
            last = waiting.popleft()
            journey, number, nth, was_trimmed = last["journey"], last["hop"] + 1, last["nth"], last["trimmed"]
            was_trimmed = was_trimmed or wire < last["wire_bytes"]
        else:
            journey, number, was_trimmed = self.journeys, 0, False
            self.journeys += 1
            self.transmissions[key] += 1
            nth = self.transmissions[key]
        hop = {
            "journey": journey, "hop": number, "port": port, "key": key, "nth": nth, "wire_bytes": wire,
            "priority": priority, "ce": bool(ce), "trimmed": was_trimmed, "sent_ps": -1, "end_ps": -1,
            "fate": _UNDER_WAY,
        }  # fmt: skip
        self.hops.append(hop)
        return hop


def find_hops(result: Result) -> pd.DataFrame:
    """Follow every packet of a trace over its links.

    A link delivers in order, so each arrival or loss belongs to the packet that was sent first. A switch is assumed to
    forward identical copies of a packet in order of arrival.

    Parameters
    ----------
    result : Result
        Result of a run with ``trace=True``.

    Returns
    -------
    DataFrame
        One row for each packet on each link, sorted by sending time: `journey` (number that identifies the packet over
        all hops), `hop` (from 0), `node, peer, kind, message, psn`, `nth` (which transmission of that packet by its
        host, from 1), `wire_bytes, priority, ce, trimmed`, `sent_ps` (first bit; missing if the packet was dropped in
        the queue), `end_ps` (last bit arrived or lost; predicted if the packet is still under way) and `fate`, one of
        `FATES`.

    Raises
    ------
    ConfigError
        If the run had no trace.
    """
    rows = result.outcome.trace
    if rows is None:
        raise ConfigError("trace", False, "True: call simulate() with trace=True")
    follower = _Follower(result)
    for row in rows[rows["what"] != TRIMMED].tolist():
        follower.read(row)
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
