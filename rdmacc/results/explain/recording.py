"""The trace of a run, indexed for explanations: by message, by queue pair, by port."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rdmacc.caching import uncollected
from rdmacc.engine.fault_events import DOWN, UP
from rdmacc.engine.plan import Plan
from rdmacc.engine.trace import ARRIVED, QUEUED, RELEASED, SENT, STOPPED
from rdmacc.interface import DATA, NEVER, PAUSE, RESUME
from rdmacc.results.explain.follower import Follower
from rdmacc.rules.pacing import NOTHING
from rdmacc.units import transmission_ps

Ints = npt.NDArray[np.int64]
Hop = dict[str, Any]


class Sends(NamedTuple):
    """The data packets that a queue pair sent, in order; `place` is the row of the trace."""

    place: Ints
    time_ps: Ints
    paced_ps: Ints
    """When pacing allowed the packet to leave."""
    message: Ints
    psn: Ints
    wire_bytes: Ints
    priority: Ints


class Stops(NamedTuple):
    """What stopped a queue pair from sending, by the rows of the trace at which this changed."""

    place: Ints
    time_ps: Ints
    code: Ints


class Passing(NamedTuple):
    """A packet that a port transmitted, and how much of its transmission falls into the requested interval."""

    begin_ps: int
    end_ps: int
    within_ps: int
    message: int
    """-1 for a PFC frame."""
    kind: int
    wire_bytes: int
    priority: int


def _grouped(keys: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the indices of `keys` (below `count`), grouped by key, and where each group begins."""
    if count <= 2**16:
        keys = keys.astype(np.uint16)  # NumPy radix-sorts these
    first = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=count))])
    return np.argsort(keys, kind="stable"), first


class Recording:
    def __init__(self, plan: Plan, rows: npt.NDArray[np.void], now_ps: int) -> None:
        self.plan, self.rows, self._now_ps = plan, rows, now_ps
        self._links = Follower(plan)
        self._order, self._first = _grouped(rows["message"] + 1, plan.n_messages + 1)
        self.hops_of = lru_cache(maxsize=256)(self._hops_of)
        self._made_of = lru_cache(maxsize=256)(self._made)
        self.sends_of = lru_cache(maxsize=256)(self._sends_of)

    def places_of(self, message: int) -> Ints:
        """Return the numbers of a message's rows, in order."""
        return self._order[self._first[message + 1] : self._first[message + 2]]

    def end_ps(self, port: int, time_ps: int, wire_bytes: int) -> int:
        rate_bps = self._links.rate_at(port, time_ps)
        return time_ps + transmission_ps(wire_bytes, rate_bps, self.plan.scheme.tick_ps)

    @uncollected()  # hops make no cycles, and there are many
    def _hops_of(self, message: int) -> list[Hop]:
        follower, places = Follower(self.plan), self.places_of(message)
        places = places[self.rows["what"][places] <= QUEUED]
        for place, row in zip(places.tolist(), self.rows[places].tolist(), strict=True):
            follower.read(row, place)
        follower.end(self._now_ps)
        return follower.hops

    @uncollected()
    def journeys_of(self, message: int) -> dict[int, list[Hop]]:
        """Return the hops of a message, grouped by journey: one packet's way from host to host."""
        found: dict[int, list[Hop]] = defaultdict(list)
        for hop in self.hops_of(message):
            found[hop["journey"]].append(hop)
        return found

    def _made(self, message: int) -> dict[int, int]:
        """Return when each packet of a message was created, by the row of its arrival."""
        hops = self.hops_of(message)
        made_ps = {hop["journey"]: hop["ready_ps"] for hop in hops if hop["hop"] == 0}
        return {hop["end_row"]: made_ps[hop["journey"]] for hop in hops if hop["end_row"] >= 0}

    def made_ps(self, arrival: int) -> int:
        """Return when the packet that arrives in a row was created; -1 if unknown."""
        return self._made_of(int(self.rows["message"][arrival]))[arrival]

    def _sends_of(self, qp: int) -> Sends:
        messages = np.flatnonzero(self.plan.qp == qp)
        places = np.sort(np.concatenate([self.places_of(int(message)) for message in messages]))
        rows = self.rows[places]
        is_here = (rows["kind"] == DATA) & (rows["port"] == self.plan.qp_port[qp])
        sent = is_here & (rows["what"] == SENT)
        released = places[is_here & (rows["what"] == RELEASED)]
        paced_ps = rows["time_ps"][sent]
        paced_ps[np.searchsorted(places[sent], released)] = self.rows["time_ps"][released]
        columns = (rows[name][sent].astype(np.int64) for name in ("message", "psn", "wire_bytes", "priority"))
        return Sends(places[sent], rows["time_ps"][sent], paced_ps, *columns)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what is computed from the rows."""
        return Recording, (self.plan, self.rows, self._now_ps)

    @cached_property
    def _stops(self) -> tuple[npt.NDArray[np.void], Ints, Ints]:
        """All changes of what stops queue pairs, sorted by queue pair; their row numbers; where each pair's begin."""
        places = self._order[: self._first[1]]
        places = places[self.rows["what"][places] == STOPPED]
        order, first = _grouped(self.rows["psn"][places], self.plan.n_qps)
        places = places[order]
        return self.rows[places], places, first

    def stops_of(self, qp: int) -> Stops:
        """Return what stopped a queue pair from sending."""
        rows, places, first = self._stops
        mine = slice(first[qp], first[qp + 1])
        return Stops(places[mine], rows["time_ps"][mine], rows["kind"][mine].astype(np.int64))

    def code_before(self, stops: Stops, place: int) -> int:
        """Return what stopped a queue pair just before a row."""
        at = int(np.searchsorted(stops.place, place))
        return int(stops.code[at - 1]) if at else NOTHING

    def arrival_before(self, place: int, node: int, qp: int) -> int:
        """Return the row of the arrival at a node, of a queue pair's packet, that caused row `place`; -1 for none."""
        rows, peer = self.rows, self.plan.fabric.port_peer
        time_ps, before = rows["time_ps"][place], place - 1
        while before >= 0 and rows["time_ps"][before] == time_ps:
            if rows["what"][before] == ARRIVED and peer[rows["port"][before]] == node:
                is_packet = rows["message"][before] >= 0
                return before if is_packet and self.plan.qp[rows["message"][before]] == qp else -1
            before -= 1
        return -1

    # Ports

    @cached_property
    def _passing(self) -> tuple[Ints, Ints]:
        """The rows of all transmissions, sorted by port; where each port's begin."""
        places = np.flatnonzero(self.rows["what"] == SENT)
        order, first = _grouped(self.rows["port"][places], self.plan.fabric.n_ports)
        return places[order], first

    def passing(self, port: int, begin_ps: int, end_ps: int) -> list[Passing]:
        """Return the packets that a port transmitted, wholly or in part, between two times."""
        places, first = self._passing
        mine = places[first[port] : first[port + 1]]
        times = self.rows["time_ps"][mine]
        low, high = np.searchsorted(times, [begin_ps, end_ps])
        found = []
        for row in self.rows[mine[max(low - 1, 0) : high]].tolist():
            time_ps, _, message, _, wire, _, kind, priority, _ = row
            ends_ps = self.end_ps(port, time_ps, wire)
            if ends_ps > begin_ps:
                within_ps = min(ends_ps, end_ps) - max(time_ps, begin_ps)
                found.append(Passing(time_ps, ends_ps, within_ps, message, kind, wire, priority))
        return found

    def sent(self, port: int, since_ps: int) -> npt.NDArray[np.void]:
        """Return the rows of a port's transmissions that began at or after a time."""
        places, first = self._passing
        mine = places[first[port] : first[port + 1]]
        return self.rows[mine[int(np.searchsorted(self.rows["time_ps"][mine], since_ps)) :]]

    @cached_property
    def all_pauses(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """When each class of each port was paused: from a PAUSE to a RESUME, or until the link came back."""
        places = self._order[: self._first[1]]
        rows = self.rows[places]
        rows = rows[(rows["what"] == ARRIVED) & (rows["kind"] >= PAUSE)]
        changes = [
            (time_ps, 1, int(self.plan.fabric.port_reverse[port]), cls, kind)
            for time_ps, port, _, cls, _, _, kind, _, _ in rows.tolist()
        ]
        changes += [(event.time_ps, 0, port, -1, RESUME) for event in self.plan.fault_events if event.what == UP
                    for port in event.ports]  # fmt: skip
        since: dict[tuple[int, int], int] = {}
        found: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for time_ps, _, port, cls, kind in sorted(changes, key=lambda change: change[:2]):
            if kind == PAUSE:
                since.setdefault((port, cls), time_ps)
                continue
            for key in [key for key in since if key[0] == port and cls in (-1, key[1])]:
                found[key].append((since.pop(key), time_ps))
        for key, begin_ps in since.items():
            found[key].append((begin_ps, NEVER))
        return found

    def pauses(self, port: int, cls: int, begin_ps: int, end_ps: int) -> list[tuple[int, int]]:
        """Return the parts of an interval in which PFC paused a port's class, in order."""
        pauses = self.all_pauses.get((port, cls), [])
        return _parts(pauses[max(bisect_right(pauses, (begin_ps, NEVER)) - 1, 0) :], begin_ps, end_ps)

    @cached_property
    def all_downs(self) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for event in self.plan.fault_events:
            for port in event.ports if event.what in (DOWN, UP) else ():
                if event.what == DOWN:
                    found[port].append((event.time_ps, NEVER))
                elif found[port]:
                    found[port][-1] = found[port][-1][0], event.time_ps
        return found

    def downs(self, port: int, begin_ps: int, end_ps: int) -> list[tuple[int, int]]:
        """Return the parts of an interval in which a port was down, in order."""
        return _parts(self.all_downs.get(port, []), begin_ps, end_ps)


def _parts(spans: list[tuple[int, int]], begin_ps: int, end_ps: int) -> list[tuple[int, int]]:
    """Clip spans, which are in order, to an interval."""
    until = takewhile(lambda span: span[0] < end_ps, spans)
    return [(max(since, begin_ps), min(end, end_ps)) for since, end in until if end > begin_ps]
