"""The source of a scheme's hooks, as both engines write it.

A hook such as `on_ack` of a scheme with go-back-N and DCQCN becomes, on SimPy ::

    def on_ack(qp, message, packet, request, now):
        transfer0, sender1 = message.transfer0, qp.sender1
        on_ack_0(params0, message, transfer0, packet, now)
        on_ack_1(params1, qp, sender1, packet)
        qp.rate_bps = sender1.rate_bps
        if transfer0.retransmit_timer_ps < transfer0.retransmit_timer_armed: arm(message, transfer_slot0)

that is: the handlers in order, the lowest rate and window, and a new event for each deadline that is now earlier than
its pending event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from rdmacc.handlers.checked import Checks
from rdmacc.handlers.hooks import Call, Slot, calls_of, limits_of, moved, slots_of, timer_call
from rdmacc.handlers.sides import written_by
from rdmacc.interface import HOOKS
from rdmacc.interface.component import TIMERS

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme


class HookWriter:
    """Writes a scheme's hooks; engines define how to access a record and what to do for a deadline."""

    def __init__(self, scheme: Scheme, checks: Checks | None) -> None:
        self._scheme, self._components, self.checks = scheme, scheme.components, checks
        self._limits = limits_of(self._components)
        self._slots = {kind: slots_of(self._components, kind) for kind in TIMERS}
        self._calls: dict[str, Call] = {}  # by the handler's name in the written source
        self._functions: dict[str, Callable[..., Any]] = {}  # handlers by that name, and tests of checked mode

    def _argument(self, name: str, component: int, touched: dict[str, str], function: Any = None) -> str:
        """Return the local name of an argument; add the statement that sets it up to `touched`."""
        raise NotImplementedError

    def _on_moved(self, slot: Slot) -> str:
        """Return the statement for a deadline that needs an event."""
        raise NotImplementedError

    def _wanted(self) -> Iterator[tuple[str, list[Call], Slot | None]]:
        """Yield each hook of the scheme: its name, its handlers and, if it is a timer's, the deadline."""
        for name, calls in calls_of(self._components).items():
            if calls:
                yield name, calls, None
        for kind, slots in self._slots.items():
            for slot in slots:
                yield f"{kind.lower()}_timer_{slot.number}", [timer_call(self._components, slot)], slot

    def _lines(self, name: str, calls: list[Call], slot: Slot | None) -> tuple[dict[str, str], list[str]]:
        """Return a hook's set-up statements by local name, and the lines that follow."""
        touched: dict[str, str] = {}
        lines: list[str] = []
        for number, call in enumerate(calls):
            handler = f"{name}_{number}"
            self._calls[handler] = call
            function = self._functions[handler] = call.function if self.checks is None else self.checks.function(call)
            arguments = [self._argument(one, call.component, touched, function) for one in call.arguments]
            before: list[str] = []
            after: list[str] = []
            if self.checks is not None:
                record, tests = partial(self._argument, component=call.component, touched=touched), f"{handler}_tests"
                kind = "" if slot is None else slot.kind
                before, after, self._functions[tests] = self.checks.around(call.name, kind, call, record, tests)
                arguments += ["trail"] * self.checks.has_trail
            lines += [*before, f"{handler}({', '.join(arguments)})", *after]
        if slot.kind == "Sender" if slot is not None else HOOKS[name].place == "sender":
            senders = {call.component for call in calls if "sender" in call.arguments}
            for limit, owners in self._limits.items():
                if senders.intersection(owners):
                    values = [f"{self._argument('sender', owner, touched)}.{limit}" for owner in owners]
                    lowest = values[0] if len(values) == 1 else f"min({', '.join(values)})"
                    lines.append(f"{self._argument('qp', 0, touched)}.{limit} = {lowest}")
        written = written_by(self._components, calls)
        for held, slots in self._slots.items():
            for one in slots:
                if (held, one.component, one.field.name) in written:
                    at = self._argument(held.lower(), one.component, touched)
                    condition = moved(self._scheme, f"{at}.{one.field.name}", f"{at}.{one.field.armed_name}")
                    lines.append(f"if {condition}: {self._on_moved(one)}")
        return touched, lines
