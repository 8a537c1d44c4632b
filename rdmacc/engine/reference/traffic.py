"""What is sent: packets, messages, the queue pairs that carry them, and computation that messages wait for."""

from __future__ import annotations

from collections import deque
from types import new_class
from typing import Protocol

from rdmacc import state
from rdmacc.engine.records import ComputationProgress, MessageProgress, QueuePairUse, Transit
from rdmacc.handlers.hooks import Components
from rdmacc.rules.admission import IngressAccount


class Ingress(IngressAccount):
    """A switch's account of the packets that arrived by a port in a class."""

    __slots__ = ("cls", "port")

    def __init__(self, port: int, cls: int, headroom_bytes: int) -> None:
        super().__init__()
        self.port, self.cls, self.headroom_bytes = port, cls, headroom_bytes


class Packet(state.Packet, Transit):
    __slots__ = ("ingress",)

    ingress: Ingress  # in a switch: the account that its bytes are in


def packet_class(components: Components) -> type[Packet]:
    headers = [record for part in components if (record := part.record("Header")) is not None]
    made: type[Packet] = new_class("Packet", (Packet, *headers))
    made.__init__ = made.reset  # type: ignore[method-assign]  # spares a call for each packet
    return made


class Nic(Protocol):
    """What a queue pair asks of the port that serves it (`rdmacc.engine.reference.nic.NicPort`)."""

    number: int
    rate_bps: float

    def schedule(self, qp: QueuePair, now: int) -> None:
        """Wake a queue pair: it sends what it may."""

    def heed_rate(self, qp: QueuePair, now: int) -> None:
        """React to an ACK that has changed a queue pair's rate."""

    def heed_timer(self, qp: QueuePair, before: tuple[float, int, int], now: int) -> None:
        """React to a sender's timer, which may have changed rate, window and credits."""

    def enqueue(self, packet: Packet, cls: int, now: int) -> None:
        """Append a packet to a class's queue and see that it will be sent."""

    def send_request(self, request: Packet | None, qp: QueuePair, message: Message, now: int) -> None:
        """Send what a sender's handlers filled in."""


class Message(state.Message, MessageProgress):
    """A message, both sides. The components' records are attributes of it: `transfer0`, ..."""

    __slots__ = ("queue_pair",)

    queue_pair: QueuePair


class QueuePair(state.QueuePair, QueuePairUse):
    """A queue pair: its unacknowledged messages, first in, first out, and the ports that serve it.

    The components' records are attributes of it: `sender0`, `receiver0`, ...
    """

    __slots__ = ("first_message", "nic", "pending", "reply_nic")

    nic: Nic  # the sender's port
    reply_nic: Nic  # the receiver's
    first_message: Message

    def __init__(self) -> None:
        super().__init__()
        self.pending: deque[Message] = deque()


class Computation(ComputationProgress):
    __slots__ = ("duration_ps", "number", "src")

    number: int
    src: int
    duration_ps: int
