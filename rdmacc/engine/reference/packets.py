"""Packets of a scheme: what both engines know of a packet, and the header fields of the scheme's components."""

from __future__ import annotations

from types import new_class

from rdmacc import state
from rdmacc.engine.records import Transit
from rdmacc.handlers.hooks import Components
from rdmacc.records import record_dtype
from rdmacc.rules.admission import IngressAccount

__all__ = ["Ingress", "Packet", "packet_class"]


class Ingress(IngressAccount):
    """A switch's account of the packets that arrived by a port in a class."""

    __slots__ = ("cls", "port")

    def __init__(self, port: int, cls: int, headroom_bytes: int) -> None:
        super().__init__()
        self.port, self.cls, self.headroom_bytes = port, cls, headroom_bytes


class Packet(state.Packet, Transit):
    """A packet."""

    __slots__ = ("ingress",)

    ingress: Ingress
    """In a switch: the account that its bytes are in."""


def packet_class(components: Components) -> type[Packet]:
    """Return the class of a scheme's packets.

    Raises
    ------
    ConfigError
        If two components have a header field of the same name.
    """
    headers = [record for part in components if (record := part.record("Header")) is not None]
    record_dtype(*headers)  # refuses two fields of the same name
    made: type[Packet] = new_class("Packet", (Packet, *headers))
    made.__init__ = made.reset  # type: ignore[method-assign]  # spares a call for each packet
    return made
