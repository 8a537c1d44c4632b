"""Components, the building blocks of schemes, and the interface of handlers.

A component is a frozen dataclass of parameters, with its state in nested record classes and its handlers as functions
without `self`. The argument names of a handler say what it needs; `HOOKS` lists the handlers and the arguments that
each may have. A handler reads and writes records and returns nothing. It never sees an engine, a queue, a clock or a
random generator, so both engines can run the same function.

===========  ==============================================================================================
record       one per
===========  ==============================================================================================
`Sender`     queue pair, at the sending host. `rate_bps` and `window_bytes` in it limit the queue pair: the
             engine takes the lowest over the scheme's components
`Receiver`   queue pair, at the receiving host
`Transfer`   message (each field belongs to one side; the sender's handlers and the receiver's keep apart)
`Endpoint`   host
`Egress`     port
`Chip`       switch
`Header`     packet: fields that the component adds to every packet of its scheme
===========  ==============================================================================================
"""

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from rdmacc.errors import ConfigError, unknown
from rdmacc.interface.parameters import Parameters, param
from rdmacc.interface.records import Field, Record

__all__ = ["HOOKS", "RECORD_KINDS", "Component", "Hook", "param"]

RECORD_KINDS = ("Sender", "Receiver", "Transfer", "Endpoint", "Egress", "Chip", "Header")
"""Names of the nested record classes, in the order in which engines lay them out."""


@dataclass(frozen=True)
class Hook:
    """A moment at which handlers are called."""

    name: str
    place: str  # which records are available: "sender", "receiver", "switch" or "port"
    offers: tuple[str, ...]  # arguments that a handler may have
    doc: str
    writes: tuple[str, ...] = ()  # the engine's fields of `packet` that handlers may write

    @property
    def passes(self) -> tuple[str, ...]:
        """What the engine passes: the records that hold the offered arguments and, in a sender's hooks, a packet."""
        held = {OWNERS.get(one.capitalize(), one) for one in self.offers}
        if self.place == "sender" and "message" in held:
            held.add("packet")
        return tuple(one for one in _PASSED if one in held)


OWNERS = {
    "Sender": "qp", "Receiver": "qp", "Transfer": "message", "Endpoint": "host", "Egress": "port", "Chip": "switch",
}  # fmt: skip
"""The engine's record that a component's record belongs to."""

WORDS = {"qp": "queue pair", "message": "message", "port": "port", "host": "host"}
"""What errors call these records."""

_PASSED = ("host", "switch", "port", "qp", "message", "packet", "reply", "notice", "request", "now")


_SENDER = ("params", "qp", "sender", "message", "transfer", "request", "now")
_RECEIVER = ("params", "host", "endpoint", "qp", "receiver", "message", "transfer", "now")
_REPLIES = ("packet", "reply", "notice")
_PORT = ("params", "port", "egress", "packet", "now")
_SWITCH = ("params", "port", "chip", "message", "packet", "now")

HOOKS: dict[str, Hook] = {
    hook.name: hook
    for hook in (
        Hook("on_open", "sender", ("params", "qp", "sender", "receiver"), "a queue pair is set up"),
        Hook("on_port", "port", ("params", "port", "egress"), "a port is set up"),
        Hook("on_start", "sender", _SENDER, "a message starts"),
        Hook("on_send", "sender", (*_SENDER, "packet"), "a data packet goes to the link",
             ("wire_bytes", "priority", "path", "ce")),
        Hook("on_ack", "sender", (*_SENDER, "packet"), "an ACK or NAK arrives (packet.kind tells)", ("kind",)),
        Hook("on_cnp", "sender", (*_SENDER, "packet"), "a congestion notification packet arrives"),
        Hook("on_credit", "sender", (*_SENDER, "packet"), "a credit, grant, pull or token arrives"),
        Hook("on_advert", "sender", (*_SENDER, "packet"), "an unsolicited message from the receiver arrives"),
        Hook("on_return", "sender", (*_SENDER, "packet"), "a switch has sent a trimmed packet back"),
        Hook("on_data", "receiver", (*_RECEIVER, *_REPLIES), "a data packet arrives; fill in reply and notice",
             ("accepted", "ce")),
        Hook("on_request", "receiver", (*_RECEIVER, *_REPLIES),
             "a request arrives: anything that a sender sends besides data", ("accepted", "ce")),
        Hook("on_announce", "receiver", _RECEIVER, "for each message of a group, after host.announce was set"),
        Hook("on_advertise", "receiver", (*_RECEIVER, "reply"), "then, for each queue pair to the host"),
        Hook("on_candidate", "receiver", _RECEIVER, "for each incoming message, after host.pick was set"),
        Hook("on_pick", "receiver", (*_RECEIVER, "reply"), "for the host.pick messages with the lowest message.key"),
        Hook("on_route", "switch", _SWITCH, "the routing has chosen a packet's next port; set packet.route or DEFLECT",
             ("route", "verdict", "ce", "priority")),
        Hook("on_deflect", "switch", _SWITCH, "a deflected packet has been assigned another port", ("ce", "priority")),
        Hook("on_enqueue", "port", _PORT, "a packet is about to join a port's queue",
             ("verdict", "ce", "priority", "wire_bytes")),
        Hook("on_dequeue", "port", _PORT, "a packet has left the queue and goes to the link", ("ce", "priority")),
    )
}  # fmt: skip

TIMERS = {
    kind: Hook(kind, "timer", offers, "a deadline in the record comes")
    for kind, offers in (
        ("Sender", ("params", "qp", "sender", "request", "now")),
        ("Receiver", ("params", "host", "endpoint", "qp", "receiver", "reply", "now")),
        ("Transfer", (*_SENDER, "reply")),
        ("Endpoint", ("params", "host", "endpoint", "reply", "now")),
        ("Egress", ("params", "port", "egress", "now")),
    )
}
"""The hooks of deadlines, by the record that holds the deadline.

A `request` leaves the sender's host, a `reply` the receiver's. In a `Sender` or `Receiver` timer they concern the queue
pair's first message; in an `Endpoint` timer they concern `reply.message`, which the handler sets.
"""


class Component(Parameters):
    """Base class of components: frozen dataclasses with keyword-only fields declared by `param`.

    Class attributes
    ----------------
    pairwise : bool
        True if all messages from one host to another share one queue pair (and so one rate).
    one_message : bool
        True if a queue pair can carry only one message, for example because its credits are those of one message.
    shared_after_loss : tuple of str
        Fields of `Transfer`, or others such as ``"message.received_packets"``, that one end writes and the other uses,
        but only after some packet of the run was lost or not accepted, or a message's deadline expired.
    spans_ports : bool
        True if the sender gives each packet a path, so that a queue pair may leave its host by several links at once.
    at_reference : tuple of str
        Parameters that hold at the component's `reference_bps`; its handlers scale them to each link.
    """

    pairwise: ClassVar[bool] = False
    one_message: ClassVar[bool] = False
    shared_after_loss: ClassVar[tuple[str, ...]] = ()
    spans_ports: ClassVar[bool] = False
    at_reference: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Make handlers static."""
        super().__init_subclass__(**options)
        for name, one in list(vars(cls).items()):
            if name.startswith("on_") and inspect.isfunction(one) and "self" not in one.__code__.co_varnames[:1]:
                setattr(cls, name, staticmethod(one))

    @property
    def marks_at_nic(self) -> bool:
        """Whether the port hooks also run at the sending host's port. Override if the component marks packets there."""
        return False

    @property
    def classes(self) -> frozenset[int]:
        """Priority classes that the handlers assign, for which PFC reserves room. Override if they assign any."""
        return frozenset()

    def extra_bytes(self, group_size: int) -> int:
        """Return the most bytes that `on_send` adds to a packet, for PFC's headroom. The sender's message is one of
        `group_size` in its group; 1 means no group.
        """
        return 0

    @classmethod
    def record(cls, kind: str) -> type[Record] | None:
        """Return the nested record class of that kind (one of `RECORD_KINDS`), or None."""
        return getattr(cls, kind, None)

    def handlers(self) -> dict[str, Callable[..., None]]:
        """Return the handlers by name. Override to omit handlers that do nothing under the given parameters."""
        names = [*HOOKS, *(field.handler_name for _, field in self.deadlines())]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    @classmethod
    def deadlines(cls) -> Iterator[tuple[str, Field]]:
        """Yield (record kind, field) for each deadline of the component's records."""
        for kind in RECORD_KINDS:
            record = cls.record(kind)
            if record is not None:
                for field in record.deadlines:
                    yield kind, field

    @classmethod
    def check_interface(cls) -> None:
        """Raise a ConfigError for a handler that takes `self`, an unknown name or argument, or a deadline without a
        handler.
        """
        methods = {name: getattr(cls, name) for name in dir(cls) if name.startswith("on_")}
        for name, one in methods.items():
            if inspect.isfunction(one) and not isinstance(inspect.getattr_static(cls, name), staticmethod):
                allowed = "a function of records, with `params` in place of `self`"
                raise ConfigError(f"{cls.__name__}.{name}", "a method", allowed)
        handlers = tuple((name, one, one.__code__) for name, one in methods.items() if inspect.isfunction(one))
        kind: Any = cls  # a class is its own key in a cache
        _check_interface(kind, handlers, tuple(map(cls.record, RECORD_KINDS)))


@lru_cache(256)  # weak: each rerun of a notebook cell defines a new class, and old ones must not pile up
def _check_interface(
    cls: type[Component],
    handlers: tuple[tuple[str, Callable[..., None], types.CodeType], ...],
    records: tuple[type[Record] | None, ...],
) -> None:
    """Check a class's handlers and records. The result is cached, because schemes are created often."""
    offers = {name: hook.offers for name, hook in HOOKS.items()}
    for kind, record in zip(RECORD_KINDS, records, strict=True):
        for field in record.fields if record is not None and kind != "Transfer" else ():
            if field.is_bits:
                raise ConfigError(
                    f"{cls.__name__}.{kind}.{field.name}", kind, "a Transfer record: no other record has packet sets"
                )
    for kind, field in cls.deadlines():
        if kind not in TIMERS or not hasattr(cls, field.handler_name):
            raise ConfigError(f"{cls.__name__}.{kind}.{field.name}", field.handler_name, "a method of the component")
        offers[field.handler_name] = TIMERS[kind].offers
    for name, function, _ in handlers:
        if name not in offers:
            raise unknown(f"{cls.__name__}.{name}", name, sorted(offers), "the name of a hook")
        for argument in inspect.signature(function).parameters:
            shown, kind = f"{cls.__name__}.{name}({argument})", argument.capitalize()
            if argument not in offers[name]:
                raise unknown(shown, argument, offers[name], "an argument that the hook offers")
            if kind in RECORD_KINDS and cls.record(kind) is None:
                allowed = f"a record of the component: add `class {kind}(Record)` with its fields to {cls.__name__}"
                raise ConfigError(shown, argument, allowed)
