"""The causes of a message's delays: what held it up in each interval of its time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rdmacc.engine.trace import ARRIVED
from rdmacc.interface import CNP, DATA, KIND_NAMES, PAUSE
from rdmacc.results.explain.recording import Hop, Recording
from rdmacc.results.explain.walk import GRANT, NIC, OWN_RATE, OWN_WINDOW, PAUSED, QUEUE, RECEIVER, RECOVERY, START, Span

_CUT = 0.99
"""A rate below this share of the previous one counts as a cut."""


class Cause(NamedTuple):
    """One cause of one kind of time."""

    kind: str
    cause: str
    place: int = -1
    """Number of a port, -1 for none."""
    by: int = -1
    """Number of a message, -1 for none."""
    often: int = 0
    bytes: float = 0.0
    time_ps: float = 0.0
    """Picoseconds of that kind; for round trips, their sum."""
    first_ps: int = -1
    """First occurrence, -1 where it means nothing."""


class Causes:
    """Finds and adds up the causes of a message's delays."""

    def __init__(self, recording: Recording, message: int, spans: Sequence[Span]) -> None:
        self._recording, self._plan, self._message, self._spans = recording, recording.plan, message, spans
        self._sums: dict[tuple[str, str, int, int], list[float]] = defaultdict(lambda: [0, 0.0, 0.0, -1])
        self._data = [
            hops
            for hops in recording.journeys_of(message).values()
            if hops[0]["key"][1] == DATA and hops[0]["hop"] == 0
        ]
        self._begin_ps, self._end_ps = (spans[0].begin_ps, spans[-1].end_ps) if spans else (0, 0)
        looks = {
            QUEUE: self._behind, NIC: self._behind, PAUSED: self._paused, START: self._before, GRANT: self._granted,
            RECEIVER: self._granted, OWN_WINDOW: self._round_trip, RECOVERY: self._recovery,
        }  # fmt: skip
        for span in spans:
            if span.kind in looks:
                looks[span.kind](span)
        self._rate_cuts()
        self._fates()
        found = [Cause(*key, int(n), size, time_ps, int(at)) for key, (n, size, time_ps, at) in self._sums.items()]
        self.found = sorted(found, key=lambda cause: (-cause.time_ps, -cause.often))
        """Longest first."""

    def _add(self, kind: str, cause: str, place: int = -1, by: int = -1, *, bytes: float = 0.0, time_ps: float = 0.0,
             at_ps: int = -1) -> None:  # fmt: skip
        one = self._sums[kind, cause, place, by]
        one[0] += 1
        one[1] += bytes
        one[2] += time_ps
        if at_ps >= 0 and (one[3] < 0 or at_ps < one[3]):
            one[3] = at_ps

    def _told(self, span: Span) -> str:
        """Return the kind of packet whose arrival ended a span."""
        return KIND_NAMES[self._recording.rows["kind"][span.cause]] if span.cause >= 0 else "timer"

    # At a port

    def _behind(self, span: Span) -> None:
        """Find what the port transmitted during the span."""
        idle_ps, cls = span.end_ps - span.begin_ps, self._class_at(span)
        for one in self._recording.passing(span.port, span.begin_ps, span.end_ps):
            idle_ps -= one.within_ps
            size = one.wire_bytes * one.within_ps / max(one.end_ps - one.begin_ps, 1)
            cause = "behind PFC frames" if one.kind >= PAUSE else "behind control"
            if one.kind == DATA:
                cause = "behind data" if one.priority >= cls else "behind data of a higher class"
            self._add(span.kind, cause, span.port, one.message, bytes=size, time_ps=one.within_ps)
        if idle_ps > 0:
            cause = "not recorded" if self._plan.is_partial else "nothing was sent"
            self._add(span.kind, cause, span.port, time_ps=idle_ps)

    def _class_at(self, span: Span) -> int:
        """Return the priority class of the waiting packet."""
        waits = self._by_place.get((span.port, span.psn), [])
        after = (hop["priority"] for hop in waits if hop["sent_ps"] >= span.end_ps)
        return int(next(after, self._plan.priority[self._message]))

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], list[Hop]]:
        """The hops of the message's data packets, by port and packet number."""
        found: dict[tuple[int, int], list[Hop]] = defaultdict(list)
        for hops in self._data:
            for hop in hops:
                found[hop["port"], hop["key"][2]].append(hop)
        return found

    def _paused(self, span: Span) -> None:
        is_down = bool(self._recording.downs(span.port, span.begin_ps, span.end_ps))
        cause = "the link was down" if is_down else "PAUSE"
        self._add(PAUSED, cause, span.port, time_ps=span.end_ps - span.begin_ps, at_ps=span.begin_ps)
        if not is_down and not self._plan.is_partial:
            for port in spread_to(self._recording, span.port, self._class_at(span), span.begin_ps)[1:]:
                self._add("", f"paused {self._plan.fabric.port_name(span.port)}", port, at_ps=span.begin_ps)

    # At the sender

    def _before(self, span: Span) -> None:
        """Find the messages that the queue pair served first."""
        sends = self._recording.sends_of(int(self._plan.qp[self._message]))
        low, high = np.searchsorted(sends.time_ps, [span.begin_ps, span.end_ps]).tolist()
        others = set(sends.message[max(low - 1, 0) : high].tolist()) - {self._message}
        time_ps = span.end_ps - span.begin_ps
        for other in others:
            self._add(START, "behind its queue pair's other messages", by=other, time_ps=time_ps / len(others))
        if not others:
            self._add(START, "the scheme's delay", time_ps=time_ps)

    def _rate_cuts(self) -> None:
        """Find each cut of the pacing rate, and the packet that triggered it."""
        if not any(span.kind == OWN_RATE for span in self._spans):
            return
        plan, recording = self._plan, self._recording
        sends = recording.sends_of(int(plan.qp[self._message]))
        gaps_ps = np.maximum(sends.paced_ps[1:] - sends.time_ps[:-1], 1)
        rates = sends.wire_bytes[:-1] * 8e12 / gaps_ps
        line_bps = float(plan.fabric.port_rate_bps[plan.qp_port[plan.qp[self._message]]])
        is_mine = (sends.time_ps[1:] > self._begin_ps) & (sends.time_ps[1:] <= self._end_ps)
        for i in np.flatnonzero(is_mine & (rates < _CUT * np.concatenate([[line_bps], rates[:-1]]))).tolist():
            signal, at_ps = self._signal(int(sends.place[i]), int(sends.place[i + 1]))
            self._add(OWN_RATE, f"cut by {signal}", at_ps=at_ps)
        lowest = int(np.argmin(np.where(is_mine, rates, np.inf))) if is_mine.any() else -1
        if lowest >= 0:
            self._add(OWN_RATE, "lowest rate, bit/s", bytes=float(rates[lowest]), at_ps=int(sends.time_ps[lowest]))

    def _signal(self, first: int, last: int) -> tuple[str, int]:
        """Return the packet that the sender reacted to between two sends, as kind and time; CNPs take precedence."""
        rows = self._recording.rows[first:last]
        is_here = (rows["what"] == ARRIVED) & (rows["message"] >= 0)
        rows = rows[is_here]
        is_mine = self._plan.qp[rows["message"]] == self._plan.qp[self._message]
        is_mine &= self._plan.fabric.port_peer[rows["port"]] == self._plan.src[self._message]
        rows = rows[is_mine]
        told = rows[rows["kind"] == CNP] if (rows["kind"] == CNP).any() else rows[-1:]
        if not len(told):
            return "timer", int(self._recording.rows["time_ps"][last])
        return KIND_NAMES[told["kind"][0]], int(told["time_ps"][0])

    def _round_trip(self, span: Span) -> None:
        """Measure the round trip that opened the window, and the packet's queueing on it."""
        time_ps = span.end_ps - span.begin_ps
        self._add(OWN_WINDOW, f"opened by {self._told(span)}", time_ps=time_ps)
        made_ps = self._recording.made_ps(span.cause) if span.cause >= 0 else -1
        hops = self._arrived.get(made_ps)
        if hops is None or span.cause < 0:
            return
        arrived_ps = int(self._recording.rows["time_ps"][span.cause])
        self._add("", "round trip", time_ps=arrived_ps - hops[0]["sent_ps"])
        for hop in hops[1:]:
            if hop["sent_ps"] > hop["ready_ps"]:
                self._add("", "queue on the round trip", hop["port"], time_ps=hop["sent_ps"] - hop["ready_ps"])

    @cached_property
    def _arrived(self) -> dict[int, list[Hop]]:
        """The hops of each delivered data packet, by arrival time."""
        return {hops[-1]["end_ps"]: hops for hops in self._data if hops[-1]["fate"] == 0}

    # At the receiver

    def _granted(self, span: Span) -> None:
        """Find which packet let the sender go on, and what the receiver's links carried until then."""
        self._add(span.kind, f"until {self._told(span)}", time_ps=span.end_ps - span.begin_ps)
        for port in self._last_ports:
            for one in self._recording.passing(port, span.begin_ps, span.end_ps):
                if one.kind == DATA:
                    self._add("", f"taken in, {span.kind}", port, one.message, time_ps=one.within_ps)

    @cached_property
    def _last_ports(self) -> list[int]:
        return list(np.flatnonzero(self._plan.fabric.port_peer == self._plan.dst[self._message]).tolist())

    # Recovery

    def _recovery(self, span: Span) -> None:
        """Find how the earlier transmission was lost, and what made the sender retransmit."""
        hops = self._sent.get((span.begin_ps, span.psn))
        fate, port = self._fate(hops) if hops else ("is under way", -1)
        time_ps = span.end_ps - span.begin_ps
        self._add(RECOVERY, f"{fate}; {self._told(span)}", port, time_ps=time_ps, at_ps=span.begin_ps)

    @cached_property
    def _sent(self) -> dict[tuple[int, int], list[Hop]]:
        """The hops of each data packet, by sending time and packet number."""
        return {(hops[0]["sent_ps"], hops[0]["key"][2]): hops for hops in self._data}

    def _fate(self, hops: list[Hop]) -> tuple[str, int]:
        """Return the fate of a packet, and the port where it happened."""
        last = hops[-1]
        trimmed = next((hop["port"] for hop in hops if hop["trimmed"]), -1)
        if last["fate"] == 1:
            return "lost on the link", last["port"]
        if last["fate"] == 2:
            return "dropped", last["port"]
        if trimmed >= 0:
            return "trimmed", trimmed
        return ("not taken", -1) if last["fate"] == 0 else ("under way", last["port"])

    def _fates(self) -> None:
        """Count marks, queueing and losses of the message's packets by port."""
        for hops in self._data:
            marked = next((hop for hop in hops if hop["ce"]), None)
            if marked is not None:
                self._add("", "marked", marked["port"], at_ps=max(marked["sent_ps"], 0))
        for hops in self._data:
            for hop in hops[1:]:
                if hop["sent_ps"] >= 0:
                    self._add("", "queued", hop["port"], time_ps=hop["sent_ps"] - hop["ready_ps"])
            fate, port = self._fate(hops)
            if fate in ("lost on the link", "dropped", "trimmed"):
                self._add("", fate, port, at_ps=hops[0]["sent_ps"])

    def sharers(self, port: int) -> Iterator[tuple[int, int]]:
        """Yield the messages whose data a port sent during this message, with their bytes, largest first."""
        sizes: dict[int, int] = defaultdict(int)
        for one in self._recording.passing(port, self._begin_ps, self._end_ps):
            if one.kind == DATA:
                sizes[one.message] += one.wire_bytes
        yield from sorted(sizes.items(), key=lambda item: -item[1])


_MOST = 4000
"""Most packets from one link that a switch is assumed to hold; earlier ones have left."""


def spread_to(recording: Recording, port: int, cls: int, time_ps: int) -> list[int]:
    """Return the ports through which a pause spread, from the paused port to the congested one.

    Each holds most of what the previous one sent. The last is the first that was not paused or that leads to a host.
    """
    way, fabric = [port], recording.plan.fabric
    while not fabric.is_host[fabric.port_peer[way[-1]]]:
        held = _held(recording, way[-1], cls, time_ps)
        if not held:
            break
        out, classes = held
        if out in way:
            break
        way.append(out)
        if not any(recording.pauses(out, one, time_ps, time_ps + 1) for one in classes):
            break
        cls = classes[0]
    return way


def _held(recording: Recording, port: int, cls: int, time_ps: int) -> tuple[int, list[int]] | None:
    """Return the port that holds most of what a link delivered, and the classes it waits in, most packets first."""
    fabric = recording.plan.fabric
    came = recording.sent(port, 0)
    off_ps = time_ps - int(fabric.port_delay_ps[port])
    came = came[: int(np.searchsorted(came["time_ps"], off_ps))][-_MOST:]
    if len(came) and recording.end_ps(port, int(came["time_ps"][-1]), int(came["wire_bytes"][-1])) > off_ps:
        came = came[:-1]
    came = came[(came["kind"] == DATA) & (came["priority"] == cls)]
    if not len(came):
        return None
    keys = set(zip(came["message"].tolist(), came["psn"].tolist(), strict=True))
    node, first_ps = int(fabric.port_peer[port]), int(came["time_ps"][0]) + int(fabric.port_delay_ps[port])
    sizes: Counter[int] = Counter()
    classes: dict[int, Counter[int]] = {}
    left: set[tuple[int, int]] = set()
    for out in range(int(fabric.node_first_port[node]), int(fabric.node_first_port[node + 1])):
        for one in recording.sent(out, first_ps):
            key = int(one["message"]), int(one["psn"])
            if one["kind"] != DATA or key not in keys or key in left:
                continue
            left.add(key)
            if one["time_ps"] > time_ps:
                sizes[out] += int(one["wire_bytes"])
                classes.setdefault(out, Counter())[int(one["priority"])] += 1
    if not sizes:
        return None
    out = sizes.most_common(1)[0][0]
    return out, [number for number, _ in classes[out].most_common()]
