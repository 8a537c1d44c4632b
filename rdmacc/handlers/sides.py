"""Where a scheme's handlers use the fields of a message: at the sender, at the receiver, or on the way.

An engine that lets one host run ahead of another by up to a link's delay gives the same results as long as no host
reads or writes a field that another one writes. Records that belong to one place satisfy that. The fields of a message,
its `Transfer` records and its queue pair can be used at both ends, so this module finds out which fields the handlers
use at each end.
"""

import inspect
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from rdmacc.handlers.hooks import Call, Components
from rdmacc.handlers.reading import accesses_of
from rdmacc.interface import HOOKS, Component

_ENGINES: dict[tuple[str, bool], str] = {
    ("sender", True): """message.next_psn message.highest_psn message.acked_ps message.retransmissions
        qp.active_messages qp.last_wire_bytes qp.rate_bps qp.window_bytes qp.inflight_bytes qp.credits qp.last_start_ps
        qp.pace_timer_ps qp.state qp.closed""",
    ("sender", False): "message.una_psn message.granted_psn message.failed message.priority",
    ("receiver", True): "message.delivered_ps message.key port.violations port.lost_packets",
    ("receiver", False): "message.received_packets",
}
"""Fields that the engines use themselves, by (end, is written). Fields set before or as a message starts count as read.
A port's losses count at the far end of the link, where the packet is missed."""

_PLACES = {"Sender": "sender", "Receiver": "receiver", "Transfer": "sender", "Endpoint": "receiver", "Egress": "port"}


class Shared(NamedTuple):
    """Fields that are written at one place and used at another: always, or only after a loss or a timeout."""

    always: tuple[str, ...]
    after_loss: tuple[str, ...]


def shared_fields(components: Components) -> Shared:
    """Return the fields that handlers use at more than one place."""
    places = _uses_of(components)
    found = [
        name
        for name, uses in places.items()
        if any(is_write for _, is_write in uses) and (("switch", True) in uses or len({place for place, _ in uses}) > 1)
    ]
    found += [f"the handler of {name}" for name in _two_sided(components)]
    late = {
        name if "." in name else f"{owner_of(components, number)}.{name}"
        for number, part in enumerate(components)
        for name in part.shared_after_loss
    }
    return Shared(tuple(name for name in found if name not in late), tuple(name for name in found if name in late))


def writers_of(components: Components) -> dict[str, set[str]]:
    """Return where fields of messages and queue pairs are written: at the sender, the receiver, or on the way.

    Other fields are only written before the run or as a message starts.
    """
    uses = _uses_of(components).items()
    return {name: places for name, way in uses if (places := {place for place, is_write in way if is_write})}


def written_by(components: Components, calls: Iterable[Call]) -> set[tuple[str, int, str]]:
    """Return the record fields that calls may write: (record kind, component, field).

    A hook only checks deadlines among these: another thread, at the message's other end, may be about to schedule the
    rest.
    """
    return {
        (role.capitalize(), call.component, field)
        for call in calls
        for role, field, is_write in accesses_of(components, components[call.component], call.name)
        if is_write
    }


def owner_of(components: Components, number: int) -> str:
    kind = type(components[number])
    is_twice = sum(type(other) is kind for other in components) > 1
    return f"{kind.__name__}.{number}" if is_twice else kind.__name__


def _uses_of(components: Components) -> dict[str, set[tuple[str, bool]]]:
    """Return where each field is used, and whether it is written there."""
    places: dict[str, set[tuple[str, bool]]] = defaultdict(set)
    for (place, is_write), names in _ENGINES.items():
        for name in names.split():
            places[name].add((place, is_write))
    for number, part in enumerate(components):
        owner = owner_of(components, number)
        for kind, field in part.deadlines():
            if kind == "Transfer":  # its event belongs to the sender's host
                places[f"{owner}.{field.name}"].add(("sender", True))
        for handler in part.handlers():
            if handler in ("on_open", "on_port"):  # before the run
                continue
            for role, name, is_write in accesses_of(components, part, handler):
                used = f"{owner}.{name}" if role == "transfer" else f"{role}.{name}"
                if role in ("transfer", "message", "qp") or used in places:
                    places[used] |= {(place, is_write) for place in _places_of(part, handler)}
    return places


def _places_of(part: Component, handler: str) -> tuple[str, ...]:
    if handler in HOOKS:
        return (HOOKS[handler].place,)
    return tuple(_PLACES[kind] for kind, field in part.deadlines() if field.handler_name == handler)


def _two_sided(components: Components) -> list[str]:
    """Return the message deadlines whose handlers reply, as a receiver does; the kernel then also serves the sender."""
    return [
        f"{type(part).__name__}.{field.name}"
        for part in components
        for kind, field in part.deadlines()
        if kind == "Transfer" and "reply" in inspect.signature(part.handlers()[field.handler_name]).parameters
    ]
