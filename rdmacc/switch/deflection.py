"""Dart's in-order flow deflection (IOFD): short messages go around a crowded port, all their packets the same way.

Source: Xue et al., "Dart: Divide and specialize for fast response to congestion in RDMA-based datacenter networks",
IEEE/ACM ToN 2020, section IV. The first packet of a message with deflection tokens that finds more than 15 KB queued
is sent to another port of the switch, drawn at random, if the switch's deflection table has an entry free. The table
sends the message's other packets after it; the last one frees the entry. Each deflection costs a token.

Assumptions where the paper is silent or ambiguous:

- An entry's key is (message, tokens left): one for each visit. A deflected message that comes back to a switch would
  otherwise be thrown out of the same port again, and its last packet's first pass would free the entry too early.
- Neither the congested port nor the one that the packet came by is drawn, nor a port to a host (IV-A).
- Ports to the destination host do not deflect: what collides at the receiver is DASR's (section I). `deflect_last_hop`
  lets them.
- The queue position is the bytes queued at the port in all data classes, strictly above the threshold.
- A message of one packet needs a free entry too, and gives it back at once.
- Entries of messages whose packets were lost stay until the last packet is sent again (entries are never overwritten).

Deadlocks (IV-B): packets with tokens left are in the lane of their message's class, those without in the escape lane,
never deflected and routed up*/down*: in a Clos every shortest path is, from whatever switch it starts. Long messages
start in the escape lane. Lanes change one way only, at one switch for all packets of a message, so they stay in order.
Lanes have separate PFC accounts; to have them share links evenly, as InfiniBand's lanes do, use
``Queueing(wrr_ratio=1, wrr_first=DATA_CLASS, wrr_second=ESCAPE)``, else the escape lane goes second.

Limits of the two lanes. The paper's argument is Duato's: a blocked packet can always move to the escape lane. Here a
packet changes lanes only with its last token, so packets with tokens left can block each other in a circle; and PFC
accounts a packet at the switch where it changes lanes to the new lane, not to the one that it came by. Where pauses are
rare neither shows; with buffers so small that most links are paused, runs do deadlock, and say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rdmacc.component import Component, param
from rdmacc.records import Byte, Ints, Record
from rdmacc.state import DATA_CLASS, DEFLECT, IN_NETWORK

__all__ = ["ENTRIES", "ESCAPE", "FlowDeflection"]

ENTRIES = 8
"""Entries of a switch's deflection table (IV-A)."""

ESCAPE = DATA_CLASS + 1
"""Class of the escape lane."""

_FREE = -1
_KEY_TOKENS = 128


@dataclass(frozen=True, kw_only=True)
class FlowDeflection(Component):
    """Deflect short messages around crowded ports, in order."""

    classes: ClassVar[frozenset[int]] = frozenset({ESCAPE})

    threshold_bytes: int = param("15kB", "deflect above this queue", unit="bytes", source="Dart, VI-A", low=0)
    tokens: int = param(4, "deflections of a short message", source="Dart, IV-B", low=0, high=127)
    short_bytes: int = param(
        "100kB", "longer messages get no tokens", unit="bytes", source="assumed: Dart names short flows only", low=0
    )
    deflect_last_hop: bool = param(False, "also where the congested port leads to the destination")
    escape_lanes: bool = param(True, "packets without tokens have a class of their own", source="Dart, IV-B")

    class Chip(Record):
        """A switch's deflection table."""

        keys = Ints(ENTRIES, _FREE, doc="message and tokens left")
        ports = Ints(ENTRIES, _FREE, doc="port that it goes to")

    class Header(Record):
        """What a packet carries."""

        tokens = Byte(doc="deflections left")

    @staticmethod
    def on_start(params, message):
        if params.escape_lanes and (message.size_bytes > params.short_bytes or params.tokens == 0):
            message.priority = ESCAPE

    @staticmethod
    def on_send(params, message, packet):
        packet.tokens = params.tokens if message.size_bytes <= params.short_bytes else 0

    @staticmethod
    def on_route(params, port, chip, message, packet):
        if packet.tokens == 0:
            return
        entry = find(chip, message.number * _KEY_TOKENS + packet.tokens)
        if entry >= 0:
            packet.route = chip.ports[entry]
            if packet.psn == message.packets - 1:
                chip.keys[entry] = _FREE
            take_token(params, packet)
        elif packet.psn == 0 and port.queue_bytes > params.threshold_bytes and find(chip, _FREE) >= 0:
            if port.link_class == IN_NETWORK or params.deflect_last_hop:
                packet.verdict = DEFLECT

    @staticmethod
    def on_deflect(params, port, chip, message, packet):
        if message.packets > 1:
            entry = find(chip, _FREE)
            chip.keys[entry] = message.number * _KEY_TOKENS + packet.tokens
            chip.ports[entry] = port.number
        take_token(params, packet)


def find(chip, key):
    """Return the first entry with that key, -1 for none."""
    for i in range(ENTRIES):
        if chip.keys[i] == key:
            return i
    return -1


def take_token(params, packet):
    """Pay for a deflection; without tokens left, change to the escape lane."""
    packet.tokens -= 1
    if packet.tokens == 0 and params.escape_lanes:
        packet.priority = ESCAPE
