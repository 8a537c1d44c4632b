"""The handlers of a scheme at each hook, with their arguments, prepared once for both engines.

A hook of a scheme is the sequence of its components' handlers. Engines turn it into one function: the reference
engine by writing Python source (`rdmacc.engine.reference.binding`), the compiled one by writing source for Numba.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rdmacc.interface import HOOKS, NEVER, Component, Field, Record

Components = Sequence[Component]
"""A scheme's components, in the order in which their handlers run."""

_LIMITS = ("rate_bps", "window_bytes")


@dataclass(frozen=True)
class Call:
    """One handler at a hook: the component's number, the function, its arguments, and its name."""

    component: int
    function: Callable[..., None]
    arguments: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Slot:
    """A deadline of a scheme: timers of one record kind are numbered from 0."""

    kind: str
    number: int
    component: int
    field: Field


def calls_of(components: Components) -> dict[str, list[Call]]:
    """Return the handlers that a scheme has for each hook, in the order in which they run."""
    found: dict[str, list[Call]] = {hook: [] for hook in HOOKS}
    for number, part in enumerate(components):
        for name, function in part.handlers().items():
            if name in found:
                found[name].append(Call(number, function, _arguments(function), name))
    return found


def timer_call(components: Components, slot: Slot) -> Call:
    name = slot.field.handler_name
    function = components[slot.component].handlers()[name]
    return Call(slot.component, function, _arguments(function), name)


def _arguments(function: Callable[..., None]) -> tuple[str, ...]:
    """Return the names of a handler's arguments: positional ones only, as `check_handlers` ensures."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def slots_of(components: Components, kind: str) -> list[Slot]:
    found = [(number, field) for number, field in fields_of(components, kind) if field.is_deadline]
    return [Slot(kind, i, number, field) for i, (number, field) in enumerate(found)]


def records_of(components: Components, kind: str) -> list[tuple[int, type[Record]]]:
    """Return (component number, record) for the components that have a record of that kind."""
    records = ((number, part.record(kind)) for number, part in enumerate(components))
    return [(number, record) for number, record in records if record is not None]


def fields_of(components: Components, kind: str) -> list[tuple[int, Field]]:
    """Return (component number, field) for all fields of the records of that kind."""
    return [(number, field) for number, record in records_of(components, kind) for field in record.fields]


def transfer_fields(components: Components) -> list[tuple[int, Field]]:
    """Return (component number, field) of the numbers that a scheme keeps for each message."""
    found = fields_of(components, "Transfer")
    return [(number, one) for number, one in found if not (one.is_deadline or one.length or one.is_bits)]


def bits_of(components: Components) -> list[tuple[int, Field]]:
    """Return (component number, field) of the packet sets that a scheme keeps for each message."""
    return [(number, field) for number, field in fields_of(components, "Transfer") if field.is_bits]


def limits_of(components: Components) -> dict[str, list[int]]:
    """Return, for rate_bps and window_bytes, the components whose Sender record limits them."""
    fields = fields_of(components, "Sender")
    return {limit: [number for number, field in fields if field.name == limit] for limit in _LIMITS}


def moved(scheme: Any, deadline: str, armed: str) -> str:
    """Return the condition under which a deadline needs a new event: it is earlier than the pending one.

    With a tick, an event's order within its instant depends on when the deadline was set, so any change of the deadline
    needs a new event.
    """
    return f"{armed} != {deadline} < {NEVER}" if scheme.tick_ps else f"{deadline} < {armed}"


def has_requests(components: Components) -> bool:
    """Return whether any handler of the scheme takes a `request`; if so, engines pass one to every hook of a sender."""
    return any("request" in _arguments(function) for part in components for function in part.handlers().values())
