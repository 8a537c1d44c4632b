"""Follows packets from hop to hop through a trace."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from operator import itemgetter
from typing import Any

from rdmacc.engine.fault_events import DOWN, RATE
from rdmacc.engine.plan import Plan
from rdmacc.engine.trace import ARRIVED, DROPPED, QUEUED, SENT
from rdmacc.units import transmission_ps

FATES = ("arrived", "lost", "dropped", "under way")
"""How a hop ends: at the far end of the link; lost on the link, or at the switch after it for lack of a route or of PFC
headroom; dropped in the queue before the link; or still under way when the trace ends."""

_ARRIVED, _LOST, _DROPPED, _UNDER_WAY = range(len(FATES))

Key = tuple[int, int, int]


class Follower:
    """Reads the rows of a trace in order and collects the hops as lists of column values.

    It needs every row of the messages to follow, and no others. Traces for explanations omit arrivals at switches: a
    packet arrives on time unless a row says that it was lost. `ready_ps` is when the packet arrived at the node, or
    when its host created it (-1 if unknown).
    """

    def __init__(self, plan: Plan) -> None:
        self.fabric = plan.fabric
        self.tick_ps = plan.scheme.tick_ps
        self.rate_bps = self.fabric.port_rate_bps.tolist()
        self.delay_ps = self.fabric.port_delay_ps.tolist()
        self.peer = self.fabric.port_peer.tolist()
        self.node = self.fabric.port_node.tolist()
        self.is_host = self.fabric.is_host.tolist()
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
        self.made_ps: dict[tuple[int, Key], deque[int]] = defaultdict(deque)
        self.journeys = 0

    def read(self, row: tuple[int, ...], place: int = -1) -> None:
        """Process the next row, which is row `place` of the trace."""
        time_ps, port, message, psn, wire, what, kind, priority, ce = row
        key = (message, kind, psn)
        if what == SENT:
            hop = self.begin(time_ps, port, key, wire, priority, ce)
            hop["sent_ps"], hop["sent_row"] = time_ps, place
            duration = transmission_ps(wire, self.rate_at(port, time_ps), self.tick_ps)
            hop["end_ps"] = time_ps + duration + self.delay_ps[port]
            self.under_way[port].append(hop)
            if not self.is_host[self.peer[port]]:
                self.waiting[self.peer[port], key].append(hop)
        elif what == ARRIVED:
            hop = self.under_way[port].popleft()
            hop["fate"], hop["end_row"] = _ARRIVED, place
        elif what == QUEUED:
            self.made_ps[self.node[port], key].append(time_ps)
        elif what == DROPPED:
            self.lose(time_ps, port, key, wire, priority, ce)

    def rate_at(self, port: int, time_ps: int) -> float:
        """Return the rate of a port's link at a given time, in bit/s."""
        changes = self.rates.get(port, [])
        place = bisect_right(changes, time_ps, key=itemgetter(0))
        return changes[place - 1][1] if place else self.rate_bps[port]

    def lose(self, time_ps: int, port: int, key: Key, wire: int, priority: int, ce: int) -> None:
        """Record a loss: on the link, which delivers in order; at the switch after it; or in the queue before it."""
        self.land(port, time_ps)
        flight, at_peer = self.under_way[port], self.waiting.get((self.peer[port], key), deque())
        if flight and flight[0]["key"] == key and (flight[0]["end_ps"] == time_ps or time_ps in self.downs_ps[port]):
            hop = flight.popleft()
        else:  # dropped after the link, for lack of a route or headroom, or in the queue before it
            hop = next((hop for hop in at_peer if hop["port"] == port and hop["end_ps"] == time_ps), {})
        if hop:
            hop["fate"] = _LOST
            if hop in at_peer:
                at_peer.remove(hop)
        else:
            hop = self.begin(time_ps, port, key, wire, priority, ce)
            hop["fate"] = _DROPPED
        hop["end_ps"] = time_ps

    def land(self, port: int, before_ps: int) -> None:
        """Mark the packets due at a switch before a time as arrived."""
        flight = self.under_way[port]
        while flight and flight[0]["end_ps"] < before_ps and not self.is_host[self.peer[port]]:
            flight.popleft()["fate"] = _ARRIVED

    def end(self, now_ps: int) -> None:
        """Mark the packets due at a switch before the end of the trace as arrived."""
        for port in self.under_way:
            self.land(port, now_ps)

    def begin(self, time_ps: int, port: int, key: Key, wire: int, priority: int, ce: int) -> dict[str, Any]:
        """Return a new hop; of identical packets at the node, the one that has waited longest leaves."""
        waiting = self.waiting.get((self.node[port], key), deque())
        here = [hop for hop in waiting if hop["end_ps"] <= time_ps]
        if here:
            last = min(here, key=itemgetter("end_ps", "port"))
            waiting.remove(last)
            last["fate"] = _ARRIVED
            journey, number, nth, was_trimmed = last["journey"], last["hop"] + 1, last["nth"], last["trimmed"]
            was_trimmed = was_trimmed or wire < last["wire_bytes"]
            ready_ps = last["end_ps"]
        else:
            journey, number, was_trimmed = self.journeys, 0, False
            self.journeys += 1
            self.transmissions[key] += 1
            nth = self.transmissions[key]
            made = self.made_ps.get((self.node[port], key))
            ready_ps = made.popleft() if made else -1
        hop = {
            "journey": journey, "hop": number, "port": port, "key": key, "nth": nth, "wire_bytes": wire,
            "priority": priority, "ce": bool(ce), "trimmed": was_trimmed, "ready_ps": ready_ps,
            "sent_ps": -1, "end_ps": -1, "sent_row": -1, "end_row": -1,
            "fate": _UNDER_WAY,
        }  # fmt: skip
        self.hops.append(hop)
        return hop
