"""The compiled engine: lays out a plan in memory, runs the kernel on it, reads the counters back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled import kernel
from rdmacc.engine.compiled.build import compiled_kernel
from rdmacc.engine.compiled.heap import HEAP_PADDING
from rdmacc.engine.compiled.readout import outcome_of, pfc_state_of
from rdmacc.engine.compiled.tables import Tables
from rdmacc.engine.hooks import transfer_fields
from rdmacc.engine.outcome import Outcome, PfcState
from rdmacc.engine.plan import Plan
from rdmacc.records import NEVER
from rdmacc.topology.fabric import Fabric

__all__ = ["CompiledEngine"]

_CHUNK = 2_000_000
"""Events between two looks at signals: about a fifth of a second."""


class CompiledEngine(Tables):
    """A scenario in structured arrays, run by the kernel."""

    name = "compiled"

    def __init__(self, plan: Plan) -> None:
        self._run, self._call_rows, self._fail_port, self._push_events = compiled_kernel()
        super().__init__(plan)
        self._open()

    def _open(self) -> None:
        """Schedule the first events, and set up the components' records by on_open and on_port."""
        events = self._first_events()
        self._push_events(self._globals.ctypes.data, events.ctypes.data, len(events))
        for hook, owner, rows in (("on_open", "qp", self.qps), ("on_port", "port", self.ports)):
            if self._hooks.addresses[hook]:
                base, stride = int(self._memory[owner].ctypes.data), self.layout.row_bytes[owner]
                address = self._globals.ctypes.data
                self._call_rows(address, self._hooks.addresses[hook], base, stride, len(rows))

    def fail_link(self, ports: tuple[int, int], fabric: Fabric) -> None:
        """Take a link down, both directions; `fabric` has the routes without it."""
        self._fill_routes(fabric)
        for number in ports:
            self._fail_port(self._globals.ctypes.data, number)

    # Running

    @property
    def now(self) -> int:
        """Simulated time, ps."""
        return int(self.globals["now_ps"])

    @property
    def unfinished(self) -> int:
        """Messages that are neither acknowledged nor failed."""
        return int(self.globals["unfinished"])

    @property
    def events(self) -> int:
        """Events processed."""
        return int(self.globals["events"])

    def next_event_ps(self) -> int:
        """Time of the next event that is not a probe's; NEVER if none is pending."""
        near = self._heap[HEAP_PADDING : HEAP_PADDING + int(self.globals["heap_length"])]
        later = self._nodes[: int(self.globals["node_used"])]  # those that are free have the time NEVER
        times = (events[events[:, 1] < self._ranks["probe"], 0].min(initial=NEVER) for events in (near, later))
        return int(min(times))

    def peek(self) -> tuple[int, int] | None:
        """Return time and rank of the next event, None if there is none."""
        if not self.globals["heap_length"]:
            return None
        return int(self._heap[HEAP_PADDING, 0]), int(self._heap[HEAP_PADDING, 1])

    def step(self) -> None:
        """Process one event."""
        self._run_kernel(NEVER, 1)

    def run(self, until_ps: int) -> None:
        """Process every event before `until_ps`, or until the last message is finished."""
        while self._run_kernel(until_ps, _CHUNK) != kernel.STOPPED:
            pass
        if self.unfinished and until_ps < NEVER:
            self.globals["now_ps"] = until_ps

    def _run_kernel(self, until_ps: int, max_events: int) -> int:
        """Run the kernel, with more memory whenever it asks for it; return why it stopped."""
        while True:
            reason = int(self._run(self._globals.ctypes.data, until_ps, max_events))
            if reason == kernel.MORE_PACKETS:
                self._grow_packets(2 * int(self.globals["packet_capacity"]) + int(self.globals["reserve_packets"]))
            elif reason == kernel.MORE_EVENTS:
                self._grow_events(2 * int(self.globals["event_capacity"]) + int(self.globals["reserve_events"]))
            elif reason == kernel.MORE_SAMPLES:
                self._grow_samples(2 * len(self.samples) + len(self.plan.watches))
            elif reason == kernel.MORE_TRACE:
                self._grow_trace(2 * len(self.trace) + int(self.globals["reserve_events"]))
            else:
                return reason

    # Reading back

    def outcome(self) -> Outcome:
        """Return the counters so far."""
        return outcome_of(self)

    def longest_pause_ps(self) -> int:
        """For how long the port that PFC has stopped longest has been stopped."""
        since = self.ports["paused_since_ps"][self.ports["paused"] != 0]
        return self.now - int(since.min()) if len(since) else 0

    def pfc_state(self) -> PfcState:
        """Return who waits on whom."""
        return pfc_state_of(self)

    def transfers(self) -> dict[tuple[int, str], npt.NDArray[Any]]:
        """Return the numbers that the scheme's components keep of each message."""
        return {
            (component, field.name): self._transfer_column(component, field).copy()
            for component, field in transfer_fields(self.plan.scheme)
        }

    def packets(self) -> Any:
        """Return the packets' rows, headers included."""
        return np.ndarray(
            int(self.globals["packet_capacity"]),
            self.layout.packet,
            buffer=self._memory["packet"],
            strides=(self.layout.row_bytes["packet"],),
        )
