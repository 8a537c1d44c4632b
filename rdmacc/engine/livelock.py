"""Livelocks: events keep scheduling more events at the same instant, so time never advances."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from rdmacc.engine.plan import Plan
from rdmacc.errors import LivelockError
from rdmacc.handlers.hooks import slots_of
from rdmacc.rules.ranks import class_and_number

_PATIENCE = 100_000
_LOOKED_AT = 1_000
_OWNERS = {"sender_timer": ("Sender", "queue pair"), "receiver_timer": ("Receiver", "queue pair"),
           "transfer_timer": ("Transfer", "message"), "endpoint_timer": ("Endpoint", "host"),
           "egress_timer": ("Egress", "port")}  # fmt: skip


class _Stepping(Protocol):
    plan: Plan

    @property
    def now(self) -> int: ...

    @property
    def events(self) -> int: ...

    def peek(self) -> tuple[int, int] | None: ...

    def step(self) -> None: ...


class Livelock:
    """Notices when an engine does not get beyond an instant, which has some events for each message, port and host."""

    def __init__(self, plan: Plan) -> None:
        self._limit = _PATIENCE + 20 * (len(plan.waits_for) + plan.fabric.n_ports + plan.fabric.n_nodes)
        self._time_ps, self._events = -1, 0

    def look(self, engine: _Stepping) -> None:
        """Raise LivelockError if too many events have run since time last advanced; call it now and then."""
        if engine.now != self._time_ps:
            self._time_ps, self._events = engine.now, engine.events
        elif engine.events - self._events > self._limit:
            seen: Counter[tuple[str, int]] = Counter()
            for _ in range(_LOOKED_AT):
                upcoming = engine.peek()
                if upcoming is None or upcoming[0] != self._time_ps:
                    return
                seen[class_and_number(engine.plan.scheme, upcoming[1])] += 1
                engine.step()
            raise LivelockError(_named(engine.plan, *seen.most_common(1)[0][0]), self._time_ps)


def _named(plan: Plan, name: str, number: int) -> str:
    """Return a readable name for an event."""
    if name not in _OWNERS:
        return f"an event of kind '{name}' of number {number}"
    kind, owner = _OWNERS[name]
    slots = slots_of(plan.scheme.components, kind)
    slot: Any = slots[number % len(slots)]
    component = type(plan.scheme.components[slot.component]).__name__
    handler = f"{component}.{slot.field.handler_name}"
    return (
        f"{component}.{kind}.{slot.field.name} of {owner} {number // len(slots)}: "
        f"{handler} must not set it to a time that is not after `now`"
    )
