"""A walk back from the end of a message to its start, which assigns every picosecond to one kind of time.

The walk begins with the packet that completed the message and follows its links back to the NIC. From there it goes
from send to send; the trace says what kept the queue pair from sending in between. From a retransmission, the walk
jumps to the previous transmission of the packet; the time in between is recovery.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rdmacc.engine.trace import ARRIVED
from rdmacc.interface import ACK, CREDIT, DATA, NAK, REQUEST, RETURN
from rdmacc.results.explain.recording import Hop, Ints, Recording
from rdmacc.rules import FREE, NO_CREDIT, NOTHING, RATE, WINDOW

KINDS = (
    "waiting to start", "own rate", "own window", "waiting for a grant", "NIC busy with others", "queue at a port",
    "paused", "transmission", "propagation", "recovery", "receiver",
)  # fmt: skip

(START, OWN_RATE, OWN_WINDOW, GRANT, NIC, QUEUE, PAUSED, TRANSMISSION, PROPAGATION, RECOVERY, RECEIVER) = KINDS


class Span(NamedTuple):
    """An interval of a message's time."""

    begin_ps: int
    end_ps: int
    kind: str
    port: int = -1
    """Port at which it was spent, -1 for none."""
    psn: int = -1
    """The packet that the walk follows."""
    cause: int = -1
    """Row of the arrival at the sender that ended it, -1 for none."""


class _Stop(NamedTuple):
    """An interval in which something other than pacing and the NIC kept a queue pair from sending."""

    code: int
    end_ps: int
    arrival: int
    """Row of the arrival that ended it, -1 for none."""


class Walk:
    """The walk back through a message's time: from its delivery, or from what it is waiting for at `end_ps`."""

    def __init__(self, recording: Recording, message: int, start_ps: int, end_ps: int, is_delivered: bool) -> None:
        plan = recording.plan
        self._recording, self._plan, self._message = recording, plan, message
        self._start_ps, self._at = start_ps, end_ps
        self._open_ps = start_ps + plan.scheme.start_delay_ps
        self._qp = int(plan.qp[message])
        self._port = int(plan.qp_port[self._qp])
        self._sends, self._stops = recording.sends_of(self._qp), recording.stops_of(self._qp)
        self._mine = np.flatnonzero(self._sends.message == message)
        self._former, self._rank = self._formers(), {i: rank for rank, i in enumerate(self._mine.tolist())}
        self._psn = -1
        self._spans: list[Span] = []
        if is_delivered:
            self._from_arrival()
        else:
            self._from_now()
        if self._at != start_ps:
            raise AssertionError(f"message {message}: the walk ends at {self._at} ps, not at {start_ps} ps")

    @property
    def spans(self) -> list[Span]:
        """The intervals, in order of time."""
        return self._spans[::-1]

    def _back_to(self, time_ps: int, kind: str, port: int = -1, cause: int = -1) -> None:
        """Go back to a time; the interval up to here is of kind `kind`."""
        if not self._start_ps <= time_ps <= self._at:
            raise AssertionError(f"{kind} of message {self._message}: from {self._at} ps back to {time_ps} ps")
        if time_ps < self._at:
            self._spans.append(Span(time_ps, self._at, kind, port, self._psn, cause))
            self._at = time_ps

    def _formers(self) -> list[int]:
        """Return, for each send of the message, its previous send of the same packet; -1 for none."""
        psn = self._sends.psn[self._mine]
        order = np.argsort(psn, kind="stable")
        is_same = np.diff(psn[order]) == 0
        former = np.full(len(psn), -1)
        former[order[1:][is_same]] = order[:-1][is_same]
        return former.tolist()

    def _within(self, time_ps: int, low_ps: int) -> int:
        """Clamp a time to between `low_ps` and the walk's position."""
        return min(max(time_ps, low_ps), self._at)

    # The last packet

    def _from_arrival(self) -> None:
        dst, peer = self._plan.dst[self._message], self._plan.fabric.port_peer
        journeys = self._recording.journeys_of(self._message)
        found = [
            hop for hop in reversed(self._recording.hops_of(self._message))
            if hop["fate"] == 0 and hop["end_ps"] == self._at and peer[hop["port"]] == dst and hop["key"][1] == DATA
        ]  # fmt: skip
        last = min(found, key=lambda hop: bool(hop["trimmed"]))
        self._along(journeys[last["journey"]])

    def _along(self, hops: list[Hop]) -> None:
        """Go back along a packet's hops to its send, and from there to the start of the message."""
        self._psn = hops[0]["key"][2]
        for hop in reversed(hops):
            port = hop["port"]
            if hop["sent_ps"] >= 0:
                self._back_to(
                    self._within(hop["end_ps"] - int(self._plan.fabric.port_delay_ps[port]), hop["sent_ps"]),
                    PROPAGATION, port,
                )  # fmt: skip
                self._back_to(hop["sent_ps"], TRANSMISSION, port)
            if hop["hop"]:
                self._wait(hop["ready_ps"], QUEUE, port, hop["priority"])
        self._from_send(int(np.searchsorted(self._sends.place, hops[0]["sent_row"])))

    def _from_now(self) -> None:
        """Begin with what the message is waiting for."""
        stop = self._recording.code_before(self._stops, len(self._recording.rows))
        if stop == NOTHING and len(self._mine):
            hops = self._under_way()
            if hops:
                self._along(hops)
                return
        self._from_send(len(self._sends.place))

    def _under_way(self) -> list[Hop]:
        """Return the hops of the last packet sent if it is still in the network."""
        place = self._sends.place[self._mine[-1]]
        dst, peer = self._plan.dst[self._message], self._plan.fabric.port_peer
        for hops in self._recording.journeys_of(self._message).values():
            if hops[0]["sent_row"] == place:
                last = hops[-1]
                if last["fate"] == 3:
                    off_ps = last["end_ps"] - int(self._plan.fabric.port_delay_ps[last["port"]])
                    self._back_to(min(off_ps, self._at), PROPAGATION, last["port"])  # if it has left its port
                elif last["fate"] == 0 and peer[last["port"]] != dst and last["end_ps"] <= self._at:
                    self._back_to(last["end_ps"], QUEUE)
                else:
                    return []
                return hops
        return []

    # From send to send

    def _from_send(self, i: int) -> None:
        """Go back from a send of the queue pair (from now if `i` is past the last) to the start of the message."""
        first = int(self._mine[0]) if len(self._mine) else i
        while True:
            is_now = i == len(self._sends.place)
            if not is_now:
                self._psn = int(self._sends.psn[i])
            before = self._end_of(i - 1) if i else self._start_ps
            base_ps = self._within(before, self._start_ps)
            again = self._again(i, base_ps)
            if again >= 0:
                i = again
                continue
            self._gap(i, base_ps, is_first=i <= first)
            if i <= first:
                if i and before > self._start_ps:
                    self._back_to(self._start_ps, START)
                return
            i -= 1
            is_own, self._psn = self._sends.message[i] == self._message, int(self._sends.psn[i])
            self._back_to(int(self._sends.time_ps[i]), TRANSMISSION if is_own else NIC, self._port)

    def _end_of(self, i: int) -> int:
        sends = self._sends
        return self._recording.end_ps(self._port, int(sends.time_ps[i]), int(sends.wire_bytes[i]))

    def _place(self, i: int) -> int:
        """Return the row of a send: -1 before the first, the end of the trace after the last."""
        if i < 0:
            return -1
        return int(self._sends.place[i]) if i < len(self._sends.place) else len(self._recording.rows)

    def _segments(self, i: int, base_ps: int) -> list[tuple[int, int, int]]:
        """Return what stopped the queue pair before a send: code, start, and the row of the change that ended it."""
        stops = self._stops
        low, high = np.searchsorted(stops.place, [self._place(i - 1), self._place(i)]).tolist()
        codes = [self._recording.code_before(stops, self._place(i - 1)), *stops.code[low:high].tolist()]
        since = [base_ps, *(max(time_ps, base_ps) for time_ps in stops.time_ps[low:high].tolist())]
        ends = [*stops.place[low:high].tolist(), -1]
        return list(zip(codes, since, ends, strict=True))

    def _last_stop(self, i: int, base_ps: int) -> _Stop | None:
        """Return the last interval before a send in which the window, credits or a lack of packets stopped it."""
        end_ps = self._at
        for code, since_ps, row in reversed(self._segments(i, base_ps)):
            if code in (NOTHING, NO_CREDIT, WINDOW) and since_ps < end_ps:
                return _Stop(code, end_ps, self._arrival(row))
            end_ps = min(end_ps, since_ps)
        return None

    def _arrival(self, row: int) -> int:
        """Return the row of the arrival at the sender that caused `row`; -1 for none."""
        return -1 if row < 0 else self._recording.arrival_before(row, int(self._plan.src[self._message]), self._qp)

    def _kind(self, row: int) -> int:
        return -1 if row < 0 else int(self._recording.rows["kind"][row])

    def _again(self, i: int, base_ps: int) -> int:
        """If a send is a retransmission, go back to the packet's previous send and return it; otherwise return -1."""
        sends = self._sends
        if i == len(sends.place):
            return self._missing(base_ps)
        if sends.message[i] != self._message:
            return -1
        rank = self._rank[i]
        former = self._former[rank]
        if former < 0:
            return -1
        stop = self._last_stop(i, base_ps)
        goes_back = sends.psn[i] <= sends.psn[self._mine[rank - 1]]
        if stop is None:
            if not goes_back:
                return -1
        elif self._kind(stop.arrival) == CREDIT or (stop.arrival >= 0 and stop.code != NOTHING and not goes_back):
            return -1
        self._gap(i, base_ps if stop is None else stop.end_ps, is_first=False)
        told = self._told(i) if stop is None else stop.arrival
        told = self._asked_for(int(self._mine[former]), i) if told < 0 else told
        return self._recover(int(self._mine[former]), told)

    def _told(self, i: int) -> int:
        """Return the row of the last arrival at the sender between sends i - 1 and i; -1 for none."""
        places = self._back_between(i - 1, i)
        return int(places[-1]) if len(places) else -1

    def _asked_for(self, former: int, i: int) -> int:
        """Return the row of the last NAK or returned header for a packet between two sends of it; -1 for none."""
        places = self._back_between(former, i)
        rows = self._recording.rows[places]
        is_it = np.isin(rows["kind"], (NAK, RETURN)) & (rows["psn"] == self._sends.psn[i])
        return int(places[is_it][-1]) if is_it.any() else -1

    def _back_between(self, i: int, j: int) -> Ints:
        """Return the rows, between two sends, of arrivals of the message's packets at its sender."""
        return self._back[slice(*np.searchsorted(self._back, [self._place(i), self._place(j)]).tolist())]

    @cached_property
    def _back(self) -> Ints:
        return self._arrivals(self._plan.src[self._message])

    def _arrivals(self, node: int) -> Ints:
        """Return the rows of arrivals of the message's packets at a node."""
        places = self._recording.places_of(self._message)
        rows = self._recording.rows[places]
        return places[(self._plan.fabric.port_peer[rows["port"]] == node) & (rows["what"] == ARRIVED)]

    def _missing(self, base_ps: int) -> int:
        """If every packet was sent but not all arrived, go back to the last send and return it; otherwise return -1."""
        if not len(self._mine) or self._recording.code_before(self._stops, len(self._recording.rows)) != NOTHING:
            return -1
        if len(np.unique(self._sends.psn[self._mine])) < self._plan.packets[self._message]:
            return -1
        return self._recover(int(self._mine[-1]), -1)

    def _recover(self, former: int, arrival: int) -> int:
        self._back_to(int(self._sends.time_ps[former]), RECOVERY, self._port, arrival)
        return former

    def _gap(self, i: int, base_ps: int, is_first: bool) -> None:
        """Go back from a send to `base_ps`, which is after the previous send."""
        sends = self._sends
        paced_ps = int(sends.paced_ps[i]) if 0 < i < len(sends.place) else base_ps
        if i == len(sends.place):
            paced_ps = self._at  # unknown: count it all as own rate
        cls = int(sends.priority[min(i, len(sends.place) - 1)]) if len(sends.place) else -1
        for code, since_ps, row in reversed(self._segments(i, base_ps)):
            if since_ps >= self._at:
                continue
            paced_here_ps = self._within(paced_ps, since_ps)
            if code == RATE and row >= 0:
                self._back_to(since_ps, OWN_RATE, self._port)
            elif code in (FREE, RATE):
                self._wait(paced_here_ps, NIC, self._port, cls)
                self._back_to(since_ps, OWN_RATE, self._port)
            elif code == NOTHING and is_first:
                self._grant(self._within(self._open_ps, since_ps), row)
                self._back_to(since_ps, START)
            else:
                if i == len(sends.place):
                    paced_here_ps = since_ps
                if code == WINDOW or (self._kind(self._arrival(row)) == ACK and not is_first):
                    self._back_to(paced_here_ps, OWN_WINDOW, self._port, self._arrival(row))
                else:
                    self._grant(paced_here_ps, row)
                self._back_to(since_ps, OWN_RATE, self._port)

    def _grant(self, since_ps: int, row: int) -> None:
        """Go back through a wait for the receiver, split into packets in flight and the time it withheld credit."""
        arrival = self._arrival(row)
        if arrival >= 0 and since_ps < self._at:
            made_ps = self._recording.made_ps(arrival)
            if made_ps >= 0:
                heard_ps = self._within(self._heard_ps(made_ps, since_ps), since_ps)
                made_ps = self._within(made_ps, heard_ps)
                self._back_to(made_ps, GRANT, self._port, arrival)
                self._back_to(heard_ps, RECEIVER, cause=arrival)
        self._back_to(since_ps, GRANT, self._port, arrival)

    @cached_property
    def _heard(self) -> Ints:
        """When data or requests of the message reached the receiver."""
        rows = self._recording.rows[self._arrivals(self._plan.dst[self._message])]
        return rows["time_ps"][np.isin(rows["kind"], (DATA, REQUEST))]

    def _heard_ps(self, until_ps: int, since_ps: int) -> int:
        """Return when the receiver last heard of the message up to `until_ps`; `since_ps` if it never did."""
        place = int(np.searchsorted(self._heard, until_ps, side="right"))
        return int(self._heard[place - 1]) if place else since_ps

    # Waiting at a port

    def _wait(self, since_ps: int, kind: str, port: int, cls: int) -> None:
        """Go back through a wait at a port, split into waiting and the times in which the port was paused or down."""
        parts = self._recording.pauses(port, cls, since_ps, self._at) + self._recording.downs(port, since_ps, self._at)
        for begin_ps, end_ps in sorted(parts, reverse=True):
            if end_ps <= self._at:
                self._back_to(max(end_ps, since_ps), kind, port)
            if begin_ps < self._at:
                self._back_to(max(begin_ps, since_ps), PAUSED, port)
        self._back_to(since_ps, kind, port)
