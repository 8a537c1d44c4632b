"""An explanation: where a message's time went, in frames and in words."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

import numpy as np
import pandas as pd

from rdmacc.engine.outcome import RunOutcome
from rdmacc.results.explain.causes import Cause, Causes
from rdmacc.results.explain.recording import Recording
from rdmacc.results.explain.walk import KINDS, Span, Walk
from rdmacc.results.explain.words import paragraph
from rdmacc.show.tables import html_table, text_table
from rdmacc.units import format_time

__all__ = ["Explanation"]


class Explanation:
    """Why a message took as long as it did. ``print`` it, or let a notebook display it.

    Every picosecond from the message's start to the delivery of its last byte belongs to one of these kinds:

    ====================  ==============================================================================================
    waiting to start      its queue pair served earlier messages, or the scheme delays starts
    own rate              its pacing rate held back the next packet
    own window            its window was full, until an ACK came back
    waiting for a grant   it had no credit: requests, grants or credits were in flight
    receiver              the receiver knew of it and withheld the credit
    NIC busy with others  its host's link carried other packets
    queue at a port       its last packet waited at a switch
    paused                its host's port, or a port on the last packet's path, was paused by PFC, or its link was down
    transmission          its host sent its packets one by one, then each port on the path sent the last one
    propagation           the last packet travelled along the links
    recovery              from sending a packet that was lost, or not accepted, to sending it again
    ====================  ==============================================================================================

    A walk back from the packet that completed the message finds the times: over its links to its host, and there from
    each packet to what kept it from leaving earlier. They sum exactly to the completion time. For an undelivered
    message they sum to its time so far, and the walk begins with what it is waiting for.

    Attributes
    ----------
    flow : hashable
        The message, by its label in the workload.
    number : int
        Its number.
    is_delivered, has_failed : bool
        Whether the message is complete; whether it never will be.
    start_ps, time_ps : int
        Its start; its completion time, or its time so far.
    ideal_fct_ps : int
        Its completion time alone in the network.
    parts, events, causes : DataFrame
        Time by kind; the intervals in order; the causes of delays.
    """

    def __init__(self, recording: Recording, outcome: RunOutcome, message: int) -> None:
        plan, counters = recording.plan, outcome.messages
        self._recording, self.number = recording, message
        self.flow: Hashable = plan.workload.index[message]
        delivered_ps = int(counters["delivered_ps"][message])
        self.is_delivered = delivered_ps >= 0
        self.has_failed = bool(counters["failed"][message])
        self.start_ps = int(counters["start_ps"][message])
        end_ps = delivered_ps if self.is_delivered else outcome.now_ps
        self.time_ps = end_ps - self.start_ps
        self.ideal_fct_ps = int(plan.ideal_fct_ps[message])
        self.spans: list[Span] = Walk(recording, message, self.start_ps, end_ps, self.is_delivered).spans

    @cached_property
    def events(self) -> pd.DataFrame:
        """The intervals in order: `begin_ps, end_ps, time_ps, kind, place, psn`.

        `place` is the port, such as ``"s0->h0"``, empty where there is none; `psn` the packet that the walk follows.
        """
        spans = pd.DataFrame(self.spans, columns=Span._fields).astype({"begin_ps": "int64", "end_ps": "int64"})
        times_ps, places = spans["end_ps"] - spans["begin_ps"], list(map(self._place, spans["port"]))
        return spans.assign(time_ps=times_ps, place=places)[_EVENT_COLUMNS].astype({"psn": "int64"})

    def _place(self, port: int) -> str:
        return self._recording.plan.fabric.port_name(port) if port >= 0 else ""

    @cached_property
    def parts(self) -> pd.DataFrame:
        """Time by kind, one row for each of the eleven: `kind, time_ps, share, events`. The times sum to `time_ps`."""
        times, counts = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
        for span in self.spans:
            times[span.kind] += span.end_ps - span.begin_ps
            counts[span.kind] += 1
        time_ps = np.array(list(times.values()), np.int64)
        share = time_ps / max(self.time_ps, 1)
        return pd.DataFrame({"kind": KINDS, "time_ps": time_ps, "share": share, "events": list(counts.values())})

    @cached_property
    def _causes(self) -> Causes:
        return Causes(self._recording, self.number, self.spans)

    @cached_property
    def found(self) -> list[Cause]:
        """The causes, with numbers of ports and messages."""
        return self._causes.found

    @cached_property
    def causes(self) -> pd.DataFrame:
        """The causes of delays, longest first: `kind, cause, place, by, count, bytes, time_ps, first_ps`.

        `by` is the label of the message that caused it, if one did; `kind` is empty for facts about the whole message,
        such as its marked packets and its round trips. `first_ps` is the first occurrence, missing where it means
        nothing.
        """
        labels, found = self._recording.plan.workload.index, self.found
        by = [None if cause.by < 0 else labels[cause.by] for cause in found]
        first = [pd.NA if cause.first_ps < 0 else cause.first_ps for cause in found]
        return (
            pd.DataFrame(found, columns=Cause._fields)
            .astype({"bytes": "float64", "time_ps": "float64"})
            .assign(
                place=[self._place(cause.place) for cause in found],
                by=pd.Series(by, dtype=object),
                first_ps=pd.array(first, dtype="Int64"),
            )
            .rename(columns={"often": "count"})
        )

    @property
    def title(self) -> str:
        """The explanation as a paragraph."""
        return paragraph(self, self._recording.plan, self._causes)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return kind, time and share of each kind that took time, the longest first."""
        parts = self.parts[self.parts["time_ps"] > 0].sort_values("time_ps", ascending=False, kind="stable")
        return [
            (kind, format_time(int(time_ps)), f"{share:.1%}")
            for kind, time_ps, share in zip(parts["kind"], parts["time_ps"], parts["share"], strict=True)
        ]

    def __str__(self) -> str:
        return f"{self.title}\n\n{text_table(_HEADERS, self.rows())}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(_HEADERS, self.rows(), caption=self.title)


_EVENT_COLUMNS = ["begin_ps", "end_ps", "time_ps", "kind", "place", "psn"]
_HEADERS = ("where the time went", "time", "share")
