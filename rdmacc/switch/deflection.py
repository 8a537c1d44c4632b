"""Dart's in-order flow deflection (IOFD): short messages go around a crowded port, all their packets the same way.

Source: Xue et al., "Dart: Divide and specialize for fast response to congestion in RDMA-based datacenter networks",
IEEE/ACM ToN 2020, section IV. The first packet of a message with deflection tokens that finds more than 15 KB queued
is sent to another port of the switch, drawn at random, if the switch's deflection table has an entry free. The table
sends the message's other packets after it; the last one frees the entry. Each deflection costs a token.

Assumptions where the paper is silent or ambiguous:

- An entry's key is (message, tokens left): one for each visit. A deflected message that comes back to a switch would
  otherwise be thrown out of the same port again, and the first pass of its last packet would free the entry too early.
- Neither the congested port nor the one that the packet came by is drawn, nor a port to a host (IV-A).
- Ports to the destination host do not deflect: what collides at the receiver is DASR's (section I). `deflect_last_hop`
  lets them.
- The queue position is the bytes queued at the port in all data classes, strictly above the threshold.
- A message of one packet needs a free entry too, and gives it back at once.
- Entries of messages whose packets were lost stay until the last packet is sent again (entries are never overwritten).

Deadlocks (IV-B). The paper uses virtual lanes that packets change one way only, the last of which is an escape. Its
argument is Duato's: a blocked packet can always move to the escape lane. Packets that wait in a FIFO that PFC stops
cannot, so two lanes, the second for packets without tokens, do deadlock when buffers are small. Here a packet
moves to the next lane wherever it goes up after it has gone down (a valley, see `Fabric.port_climbs`). Within a lane
every path goes up and then down, so there is no cyclic wait within a lane, and no lane waits for an earlier one: there
is no deadlock. PFC counts a packet in the lane in which it came, whose pause is what keeps more from coming. In a Clos
every shortest path goes up and then down, from whatever switch it starts, so a deflection costs one lane at most:
`tokens` + 1 lanes are enough, up to the eight data classes that there are. With more tokens, or where failed links make
shortest paths with valleys, the last lane takes the rest, and a deadlock is possible and reported. All packets of a
message take the same path, so they change lanes at the same switch and stay in order. ``Queueing(lanes=tokens + 1)``
serves the lanes in turn; otherwise they have strict priority.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rdmacc.component import Component, param
from rdmacc.parameters import Size
from rdmacc.records import Byte, Ints, Record
from rdmacc.state import DATA_CLASS, DEFLECT, IN_NETWORK, NUM_CLASSES

__all__ = ["ENTRIES", "FlowDeflection"]

ENTRIES = 8
"""Entries of a switch's deflection table (IV-A)."""

_FREE = -1
_KEY_TOKENS = 128


@dataclass(frozen=True, kw_only=True)
class FlowDeflection(Component):
    """Deflect short messages around crowded ports, in order."""

    threshold_bytes: Size = param("15kB", "deflect above this queue", unit="bytes", source="Dart, VI-A", low=0)
    tokens: int = param(4, "deflections of a short message", source="Dart, IV-B", low=0, high=127)
    short_bytes: Size = param(
        "100kB", "longer messages get no tokens", unit="bytes", source="assumed: Dart names short flows only", low=0
    )
    deflect_last_hop: bool = param(False, "also where the congested port leads to the destination")
    escape_lanes: bool = param(True, "a packet that goes up after it went down changes lanes", source="Dart, IV-B")

    class Chip(Record):
        """A switch's deflection table."""

        keys = Ints(ENTRIES, _FREE, doc="message and tokens left")
        ports = Ints(ENTRIES, _FREE, doc="port that it goes to")

    class Header(Record):
        """What a packet carries."""

        tokens = Byte(doc="deflections left")
        descends = Byte(doc="1 once it has gone down in its lane")

    @property
    def classes(self) -> frozenset[int]:
        """The lanes."""
        last = min(DATA_CLASS + self.tokens, NUM_CLASSES - 1)
        return frozenset(range(DATA_CLASS, last + 1)) if self.escape_lanes else frozenset()

    def handlers(self) -> dict[str, Callable[..., None]]:
        """Return the handlers; without lanes nothing happens when a packet joins a queue."""
        found = super().handlers()
        if not self.escape_lanes:
            del found["on_enqueue"]
        return found

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
            packet.tokens -= 1
        elif packet.psn == 0 and port.queue_bytes > params.threshold_bytes and find(chip, _FREE) >= 0:
            if port.link_class == IN_NETWORK or params.deflect_last_hop:
                packet.verdict = DEFLECT

    @staticmethod
    def on_deflect(params, port, chip, message, packet):
        if message.packets > 1:
            entry = find(chip, _FREE)
            chip.keys[entry] = message.number * _KEY_TOKENS + packet.tokens
            chip.ports[entry] = port.number
        packet.tokens -= 1

    @staticmethod
    def on_enqueue(params, port, packet):
        if not port.climbs:
            packet.descends = 1
        elif packet.descends:
            packet.descends = 0
            if packet.priority < min(DATA_CLASS + params.tokens, NUM_CLASSES - 1):
                packet.priority += 1


def find(chip, key):
    """Return the first entry with that key, -1 for none."""
    for i in range(ENTRIES):
        if chip.keys[i] == key:
            return i
    return -1
