"""What is sent: packets, messages, the queue pairs that carry them, and computation that messages wait for."""

from __future__ import annotations

from collections import deque
from types import new_class
from typing import TYPE_CHECKING

from rdmacc import state
from rdmacc.engine.records import ComputationProgress, MessageProgress, QueuePairUse, Transit
from rdmacc.handlers.hooks import Components

if TYPE_CHECKING:
    from rdmacc.engine.reference.nic import NicPort
    from rdmacc.engine.reference.switches import Ingress

__all__ = ["Computation", "Message", "Packet", "QueuePair", "packet_class"]


class Packet(state.Packet, Transit):
    """A packet."""

    __slots__ = ("ingress",)

    ingress: Ingress
    """In a switch: the account that its bytes are in."""


def packet_class(components: Components) -> type[Packet]:
    """Return the class of a scheme's packets, which have the header fields of its components."""
    headers = [record for part in components if (record := part.record("Header")) is not None]
    made: type[Packet] = new_class("Packet", (Packet, *headers))
    made.__init__ = made.reset  # type: ignore[method-assign]  # spares a call for each packet
    return made


class Message(state.Message, MessageProgress):
    """A message, both sides. The components' records are attributes of it: `transfer0`, ..."""

    __slots__ = ("queue_pair",)

    queue_pair: QueuePair


class QueuePair(state.QueuePair, QueuePairUse):
    """A queue pair: its unacknowledged messages, first in, first out, and the ports that serve it.

    The components' records are attributes of it: `sender0`, `receiver0`, ...
    """

    __slots__ = ("first_message", "nic", "pending", "reply_nic")

    nic: NicPort
    """The sender's port."""
    reply_nic: NicPort
    """The receiver's."""
    first_message: Message

    def __init__(self) -> None:
        super().__init__()
        self.pending: deque[Message] = deque()


class Computation(ComputationProgress):
    """A row of computation on a host."""

    __slots__ = ("duration_ps", "number", "src")

    number: int
    src: int
    duration_ps: int
