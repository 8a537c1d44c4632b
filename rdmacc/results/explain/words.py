"""Explanations in words, as someone who knows the scheme would put them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING

from rdmacc.engine.plan import Plan
from rdmacc.results.explain import walk
from rdmacc.results.explain.causes import Cause, Causes
from rdmacc.units import format_rate, format_size, format_time

if TYPE_CHECKING:
    from rdmacc.results.explain.explanation import Explanation

_TOLD = 0.04
"""Kinds with a smaller share of the time appear only in the table."""
_NAMED = 3
"""Most messages that a sentence names one by one."""
_WIDTH = 100

_SIGNALS = {
    "cnp": "a CNP", "ack": "an ACK", "nak": "a NAK", "credit": "a grant", "advert": "an advertised rate",
    "timer": "a timer", "return": "a returned header",
}  # fmt: skip
_FATES = {
    "lost on the link": "lost on {}", "dropped": "dropped at {}", "trimmed": "trimmed at {}",
    "not taken": "not taken by the receiver, since an earlier one was missing",
}  # fmt: skip


def paragraph(explained: Explanation, plan: Plan, causes: Causes) -> str:
    return fill(_Writer(explained, plan, causes).text(), _WIDTH)


class _Writer:
    """Writes the sentences; mentions marks and losses only once."""

    def __init__(self, explained: Explanation, plan: Plan, causes: Causes) -> None:
        self.explained, self.plan, self.all = explained, plan, causes
        self.labels, self.scheme = plan.workload.index, plan.scheme.name
        self.number = explained.number
        self.named: set[int] = set()
        self.told: set[str] = set()
        self.causes: dict[str, list[Cause]] = defaultdict(list)
        for cause in explained.found:
            self.causes[cause.kind].append(cause)

    def text(self) -> str:
        """Return all sentences, longest time first."""
        times = dict(zip(self.explained.parts["kind"], self.explained.parts["time_ps"].tolist(), strict=True))
        least = max(_TOLD * self.explained.time_ps, 1)
        told = sorted((kind for kind in times if times[kind] >= least), key=lambda kind: -times[kind])
        sentences = self.head()
        for kind in told:
            share = times[kind] / self.explained.time_ps
            what, details = _SENTENCES[kind](self)
            text = f"For {format_time(times[kind], 3)} ({share:.0%}) {what}"
            sentences.append(f"{text}: {'; '.join(details)}." if details else f"{text}.")
        return " ".join(sentences)

    # Names

    def place(self, port: int) -> str:
        return self.plan.fabric.port_name(port)

    def messages(self, numbers: Iterable[int], other: str = "") -> str:
        """Name messages: a range by its ends, many by their count."""
        numbers = sorted(set(numbers))
        labels = [str(self.labels[number]) for number in numbers]
        if len(labels) == 1:
            return f"message {labels[0]}"
        if len(labels) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
            return f"messages {labels[0]} to {labels[-1]}"
        if len(labels) > _NAMED:
            return f"{len(labels)} {other}messages"
        return f"messages {', '.join(labels[:-1])} and {labels[-1]}"

    def met(self, port: int) -> str:
        """Name a port; the first time, add the messages that shared it."""
        if port in self.named:
            return self.place(port)
        self.named.add(port)
        sharers = [number for number, _ in self.all.sharers(port)]
        return f"{self.place(port)}, where {self.messages(sharers)} met" if len(sharers) > 1 else self.place(port)

    def of(self, kind: str, cause: str) -> list[Cause]:
        """Return the causes of a kind whose text starts with `cause`, longest first."""
        return [one for one in self.causes[kind] if one.cause.startswith(cause)]

    # Sentences

    def head(self) -> list[str]:
        explained, plan = self.explained, self.plan
        names, size = plan.fabric.names, int(plan.size_bytes[self.number])
        who = f"{names[plan.src[self.number]]} to {names[plan.dst[self.number]]}, {format_size(size)}, {self.scheme}"
        text = f"Message {explained.flow} ({who}): {format_time(explained.time_ps)}"
        sentences = []
        if not explained.is_delivered:
            why = "failed" if explained.has_failed else "not been delivered"
            sentences.append(f"{text} so far; it has {why}.")
        else:
            slowdown = explained.time_ps / explained.ideal_fct_ps
            alone = f"{slowdown:.3g} times the {format_time(explained.ideal_fct_ps)} that it takes alone"
            sentences.append(f"{text}, {'as fast as alone' if slowdown < 1.02 else alone}.")
        late_ps = explained.start_ps - int(plan.start_ps[self.number])
        if late_ps > 0 and plan.waits_for[self.number]:
            late = format_time(late_ps, 3)
            sentences.append(f"It had to wait {late} for others before it started, which do not count.")
        return sentences

    def behind(self, kind: str) -> tuple[str, list[str]]:
        """Say whose packets the port sent during the wait."""
        places: dict[int, float] = defaultdict(float)
        others: dict[int, float] = defaultdict(float)
        own = control = higher = 0.0
        for one in self.causes[kind]:
            places[one.place] += one.time_ps
            if one.cause.startswith("behind data"):
                higher += one.time_ps * one.cause.endswith("class")
                if one.by == self.number:
                    own += one.time_ps
                else:
                    others[one.by] += one.time_ps
            elif one.cause.startswith("behind"):
                control += one.time_ps
        total = sum(places.values())
        details = []
        if others:
            text = f"{sum(others.values()) / total:.0%} of that behind {self.messages(others, 'other ')}"
            most = max(others, key=lambda by: others[by])
            if len(others) > 1 and others[most] > 0.4 * total:
                text += f", mostly behind {self.messages([most])}"
            details.append(text)
        for time, what in ((own, "its own packets"), (control, "ACKs and other control packets")):
            if time > 0.02 * total:
                details.append(f"{time / total:.0%} behind {what}")
        if higher > 0.02 * total:
            details.append(f"{higher / total:.0%} while packets of a higher class passed it")
        if kind == walk.NIC:
            return "its host's link sent other packets", details
        longest = sorted(places, key=lambda port: -places[port])[:2]
        parts = [f"{self.place(port)} ({format_time(round(places[port]), 3)})" for port in longest]
        where = self.place(longest[0]) if len(places) == 1 else " and ".join(parts)
        return f"its last packet waited in the queue of {where}", details + self.marked()

    def once(self, what: str) -> bool:
        """Return whether `what` has not been mentioned yet."""
        is_new = what not in self.told
        self.told.add(what)
        return is_new

    def marked(self) -> list[str]:
        return self.packets("marked", "marked at {}") if self.once("marks") else []

    def packets(self, cause: str, text: str) -> list[str]:
        """Say how many packets were marked or lost, and where most of them were."""
        found = self.of("", cause)
        if not found:
            return []
        total, most = sum(one.often for one in found), max(found, key=lambda one: one.often)
        were, where = "was" if total == 1 else "were", f", {most.often:,} of them" if most.often < total else ""
        verb, place = text.format(self.met(most.place)).split(" ", 1)
        return [f"{total:,} of its packets {were} {verb}{where} {place}"]

    def queued(self) -> list[str]:
        """Say where its packets queued, which schemes without marks may react to."""
        queues = [one for one in self.of("", "queued") if one.time_ps > 0]
        if not queues or self.of("", "marked"):
            return []
        mean_ps = round(queues[0].time_ps / queues[0].often)
        if mean_ps < 0.1 * int(self.plan.qp_base_rtt_ps[self.plan.qp[self.number]]):
            return []
        return [f"its packets queued for {format_time(mean_ps, 3)} on average at {self.met(queues[0].place)}"]

    def losses(self) -> list[str]:
        if not self.once("losses"):
            return []
        return list(chain.from_iterable(self.packets(fate, text) for fate, text in list(_FATES.items())[:3]))

    def own_rate(self) -> tuple[str, list[str]]:
        details = []
        cuts = sorted(self.of(walk.OWN_RATE, "cut by"), key=lambda one: -one.often)
        if cuts:
            total, first = sum(one.often for one in cuts), min(one.first_ps for one in cuts)
            often = {1: "once", 2: "twice"}.get(total, f"{total:,} times")
            when = format_time(first - self.explained.start_ps, 3)
            signals = [_SIGNALS.get(one.cause.removeprefix("cut by "), one.cause) for one in cuts[:2]]
            after = f"{'first ' if total > 1 else ''}after {when}"
            details.append(f"{self.scheme} cut it {often}, {after}, on {' or '.join(signals)}")
        for lowest in self.of(walk.OWN_RATE, "lowest"):
            details.append(f"at its lowest it was {format_rate(lowest.bytes, 3)}")
        return "its own rate held it back", details + self.marked() + self.queued()

    def own_window(self) -> tuple[str, list[str]]:
        count = sum(one.often for one in self.of(walk.OWN_WINDOW, "opened"))
        acks = "an ACK" if count == 1 else f"{count:,} ACKs"
        details = [f"it waited for {acks} with as much in flight as it may have"]
        for trips in self.of("", "round trip"):
            base_ps = int(self.plan.qp_base_rtt_ps[self.plan.qp[self.number]])
            mean_ps = round(trips.time_ps / trips.often)
            text = f"a round trip took {format_time(mean_ps, 3)}"
            if mean_ps > 1.02 * base_ps:
                text += f" on average, {format_time(base_ps, 3)} without queues"
            queues = self.of("", "queue on the round trip")
            if queues and queues[0].time_ps > 0.1 * trips.time_ps:
                share = queues[0].time_ps / trips.time_ps
                text += f", with {share:.0%} of it in the queue of {self.met(queues[0].place)}"
            details.append(text)
        return "its window was full", details + self.marked() + self.losses()

    def taken_in(self, kind: str) -> list[str]:
        """Say what the receiver's link carried during the wait."""
        others = [one for one in self.of("", f"taken in, {kind}") if one.by != self.number]
        total, busy = (sum(one.time_ps for one in ones) for ones in (self.of(kind, "until"), others))
        if busy < 0.05 * total:
            return []
        who = self.messages((one.by for one in others), "other ")
        return [f"its receiver's link carried {who} in {busy / total:.0%} of that time"]

    def grant(self) -> tuple[str, list[str]]:
        count = sum(one.often for one in self.of(walk.GRANT, "until"))
        what = f"{count:,} grants" if count > 1 else "a grant"
        return f"it waited for {what}", self.taken_in(walk.GRANT) + self.losses()

    def receiver(self) -> tuple[str, list[str]]:
        return "its receiver knew of it and granted nothing", self.taken_in(walk.RECEIVER) + self.losses()

    def recovery(self) -> tuple[str, list[str]]:
        details = []
        for one in self.causes[walk.RECOVERY][:2]:
            fate, _, told = one.cause.partition("; ")
            packets = "a packet was" if one.often == 1 else f"{one.often:,} packets were"
            text = _FATES.get(fate, "sent again while still under way").format(self.place(one.place))
            is_all = one.often == len(self.causes[walk.RECOVERY]) == 1
            took = "" if is_all else f" ({format_time(round(one.time_ps), 3)})"
            details.append(f"{packets} {text}, and sent again on {_SIGNALS.get(told, told)}{took}")
        return "it recovered from losses", details + self.losses()

    def paused(self) -> tuple[str, list[str]]:
        details = []
        for one in self.causes[walk.PAUSED][:2]:
            by = self.plan.fabric.names[self.plan.fabric.port_peer[one.place]]
            who = f"was paused by {by}" if one.cause == "PAUSE" else "was down"
            often = "" if one.often == 1 else f", {one.often:,} times"
            text = f"{self.place(one.place)} {who} for {format_time(round(one.time_ps), 3)}{often}"
            spread = sorted(self.of("", f"paused {self.place(one.place)}"), key=lambda cause: -cause.often)
            if one.cause == "PAUSE" and spread:
                full, *before = [self.place(cause.place) for cause in reversed(spread)]
                text += f", since the queue of {full} was full" + (f", by way of {', '.join(before)}" if before else "")
            details.append(text)
        return "ports on its way were stopped", details

    def start(self) -> tuple[str, list[str]]:
        others = [one.by for one in self.causes[walk.START] if one.by >= 0]
        first = [f"its queue pair served {self.messages(others)} first"] if others else ["its scheme delays the start"]
        return "it could not start", first


_SENTENCES: dict[str, Callable[[_Writer], tuple[str, list[str]]]] = {
    walk.START: _Writer.start,
    walk.OWN_RATE: _Writer.own_rate,
    walk.OWN_WINDOW: _Writer.own_window,
    walk.GRANT: _Writer.grant,
    walk.RECEIVER: _Writer.receiver,
    walk.NIC: lambda writer: writer.behind(walk.NIC),
    walk.QUEUE: lambda writer: writer.behind(walk.QUEUE),
    walk.PAUSED: _Writer.paused,
    walk.RECOVERY: _Writer.recovery,
    walk.TRANSMISSION: lambda _: ("its packets were transmitted", []),
    walk.PROPAGATION: lambda _: ("its last packet travelled along the links", []),
}
