"""The counters that an engine returns when it stops, as arrays; both engines return the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from rdmacc.engine.plan import Plan
from rdmacc.interface import NEVER
from rdmacc.topology.fabric import Fabric

if TYPE_CHECKING:
    from rdmacc.engine.sent import Addition

MESSAGE_COUNTERS = (
    "start_ps", "delivered_ps", "acked_ps", "retransmissions", "timeouts", "failed", "received_packets",
)  # fmt: skip
COMPUTATION_COUNTERS = ("start_ps", "end_ps", "failed")
PORT_COUNTERS = (
    "tx_bytes", "tx_data_packets", "tx_control_packets", "marked_packets", "dropped_packets", "violations",
    "trimmed_packets", "deflected_packets", "lost_packets", "pauses", "paused_ps", "queue_bytes", "peak_queue_bytes",
)  # fmt: skip
HOST_COUNTERS = ("rx_wire_bytes", "rx_packets")


LATER_BYTES = 2**20  # rows that take more are not kept for the columns that may be asked for


class Columns(Mapping[Any, npt.NDArray[Any]]):
    """Columns at offsets in rows of bytes; those of a small table are read on demand."""

    def __init__(
        self, rows: npt.NDArray[np.uint8], places: Mapping[Any, tuple[Any, int]], dtype: type[Any] | None = None
    ) -> None:
        self._rows, self._places, self._dtype = rows, places, dtype
        self._known: dict[Any, npt.NDArray[Any]] = {}
        if rows.nbytes > LATER_BYTES:
            self._known, self._rows = {name: self._read(name) for name in places}, rows[:0].copy()

    def _read(self, name: Any) -> npt.NDArray[Any]:
        kind, offset = self._places[name]
        rows = self._rows if len(self._rows) else np.zeros((1, self._rows.shape[1]), np.uint8)  # a view needs a row
        return np.ndarray(len(rows), kind, rows, offset, rows.strides[:1])[: len(self._rows)].copy()

    def __getitem__(self, name: Any) -> npt.NDArray[Any]:
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name].astype(self._dtype or self._known[name].dtype, copy=False)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@dataclass
class RunOutcome:
    """A simulation's counters so far, by number of message, row of computation, port or node."""

    messages: Mapping[str, npt.NDArray[np.int64]]
    computation: Mapping[str, npt.NDArray[np.int64]]
    ports: Mapping[str, npt.NDArray[np.int64]]
    hosts: Mapping[str, npt.NDArray[np.int64]]
    buffer_peak_bytes: npt.NDArray[np.int64]  # most data bytes that a switch held
    totals: dict[str, int]  # events, payload bytes by fate, packets by kind
    samples: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]  # times and values of each probe
    now_ps: int
    transfers: Mapping[tuple[int, str], npt.NDArray[Any]]
    """The components' `Transfer` records, by (component number, field name), without deadlines and arrays."""
    traces: list[npt.NDArray[np.void]] = field(default_factory=list)
    """What happened to every packet (`rdmacc.engine.trace.ROW`), if it was asked for: one for each thread."""
    order: str = "time"  # "windows", or "time" and why (`rdmacc.engine.compiled.windows`)
    visits: int = 0  # pairs of a window and a node with events in it
    threads: str = "1"  # how many ran and, if fewer than asked for, why
    balance: float = 1.0  # mean over largest number of a thread's events in each window

    @cached_property
    def trace(self) -> npt.NDArray[np.void] | None:
        """The rows of all threads by time, those of each node at one instant in the order of events; None if off."""
        if not self.traces:
            return None
        rows = self.traces[0] if len(self.traces) == 1 else np.concatenate(self.traces)
        is_sorted = not self.visits or bool((np.diff(rows["time_ps"]) >= 0).all())
        return rows if is_sorted else np.take(rows, np.argsort(rows["time_ps"], kind="stable"))  # [] copies by field


@dataclass
class PfcState:
    """Who waits on whom at an instant: the input of the search for deadlocks."""

    ingress: dict[tuple[int, int], tuple[int, int]]
    """Bytes of ingress and headroom by (port, class), if the neighbour is paused and nothing is under way from it."""
    held: dict[tuple[int, int], dict[tuple[int, int], int]]
    """Data bytes in paused queues of switches by (out port, class), and by the port and class in which they came."""


class Engine(Protocol):
    """The interface of an engine."""

    name: str
    plan: Plan

    @property
    def unfinished(self) -> int:
        """Messages that are neither acknowledged nor failed."""

    @property
    def accepted_bytes(self) -> int:
        """Payload that receivers have taken, of all messages."""

    @property
    def acknowledged_packets(self) -> int:
        """Packets below the oldest one that is not acknowledged, of all messages."""

    @property
    def moved_packets(self) -> int:
        """Packets that ports have put on their links."""

    @property
    def now(self) -> int:
        """Simulated time, ps."""

    @property
    def events(self) -> int:
        """Events processed."""

    @property
    def earliest_ps(self) -> int:
        """The first time at which a message can start: now, or just after it if the last message ended now."""

    def next_event_ps(self) -> int:
        """Time of the next event that is not a probe's; NEVER if none is pending."""

    def last_event_ps(self) -> int:
        """Time of the last event so far that is not a probe's; now if none is pending."""

    def peek(self) -> tuple[int, int] | None:
        """Return time and rank of the next event, None if there is none."""

    def step(self) -> None:
        """Process the next event."""

    def run(self, until_ps: int, soon_ps: int = NEVER) -> None:
        """Process every event before `until_ps`, or until the last message is finished; return from `soon_ps` on.

        Where between `soon_ps` and `until_ps` it returns is up to the engine.
        """

    ended: list[int]  # awaited messages that have been delivered or have failed; the run returns at each

    def end_instant(self) -> int:
        """Return the end of the current instant, and advance to it if nothing else happens before."""

    def add(self, one: Addition) -> bool:
        """Add a message, which starts at its time and is awaited; return False if it needs `regrow` first."""

    def regrow(self, plan: Plan, one: Addition) -> None:
        """Make room for a message, on a plan of all those before it."""

    def await_end(self, number: int) -> None:
        """Return from `run` when a message is delivered or has failed."""

    def fork(self, plan: Plan) -> Engine:
        """Return an independent copy on a plan of all messages; its future faults, parameters and chance may differ."""

    def saved(self, plan: Plan) -> dict[str, Any]:
        """Return the state for a checkpoint."""

    def times_of(self, number: int) -> tuple[int, int, int, int]:
        """Return a message's start, delivery and acknowledgement, -1 before, and why it has failed."""

    def outcome(self) -> RunOutcome:
        """Return the counters so far."""

    def set_link(self, ports: Sequence[int], is_up: bool) -> None:
        """Take both directions of a link down, or bring them back."""

    def set_routes(self, fabric: Fabric) -> None:
        """Route by another fabric, of the same numbering."""

    def set_rate(self, ports: Sequence[int], rate_bps: float) -> None:
        """Set the rate of ports' links for what they send from now on."""

    def storm(self, ports: Sequence[int], is_over: bool) -> None:
        """Make hosts' ports send PAUSE for all data classes, or RESUME."""

    def give_up(self, messages: Sequence[int], reason: int) -> None:
        """Fail messages that have not ended: they have no route any more."""

    def sender_value(self, qp: int, component: int, field: str) -> float:
        """Return a number that a component's sender record has for a queue pair."""

    def read(self, kind: str, number: int, field: str) -> float:
        """Return a field of a "message", of a "port", or of the queue pair ("qp") of a message that has started."""

    def longest_pause_ps(self) -> int:
        """The longest time that PFC has kept any port paused so far, without a break until now."""

    def pfc_state(self) -> PfcState:
        """Return who waits on whom."""
