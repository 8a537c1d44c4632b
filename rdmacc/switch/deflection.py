"""Dart's in-order flow deflection (IOFD): short messages avoid a crowded port, all packets on the same detour.

Source: Xue et al., "Dart: Divide and specialize for fast response to congestion in RDMA-based datacenter networks",
IEEE/ACM ToN 2020, section IV. If the first packet of a message with deflection tokens finds more than 15 KB queued, it
goes to another, randomly drawn port of the switch, provided that the switch's deflection table has a free entry. The
table routes the message's other packets the same way; the last one frees the entry. Each deflection costs a token.

Assumptions where the paper is silent or ambiguous:

- An entry's key is (message, tokens left), one per visit. Otherwise a deflected message that returns to a switch would
  leave through the same port again, and the first pass of its last packet would free the entry too early.
- The congested port, the packet's ingress port and ports to hosts are never drawn (IV-A).
- Ports to the destination host do not deflect, because congestion at the receiver is left to DASR (section I).
  `deflect_last_hop` changes that.
- The queue position is the bytes queued at the port in all data classes, strictly above the threshold.
- A message of one packet also needs a free entry, and releases it at once.
- Entries of messages with lost packets stay until the last packet is resent (entries are never overwritten).

Deadlocks (IV-B). The paper uses virtual lanes that packets change in one direction only, with the last lane as an
escape. Its argument is Duato's: a blocked packet can always move to the escape lane. But packets in a FIFO paused by
PFC cannot move, so two lanes, the second for packets without tokens, do deadlock with small buffers. Here a packet
moves to the next lane wherever it goes up after having gone down (a valley, see `Fabric.port_climbs`). Within a lane
every path goes up and then down, so there is no cyclic wait within a lane, and no lane waits for an earlier one, so
there is no deadlock. PFC counts a packet in the lane in which it arrived, because only a pause of that lane stops more
from arriving. In a Clos every shortest path, from any switch, goes up and then down, so a deflection costs at most one
lane: `tokens` + 1 lanes are enough, up to the eight data classes. With more tokens, or if failed links cause shortest
paths with valleys, the last lane takes the rest; a deadlock is then possible, and is reported. All packets of a message
take the same path, so they change lanes at the same switch and stay in order. ``Queueing(lanes=tokens + 1)`` serves the
lanes in turn; otherwise they have strict priority.
"""

from collections.abc import Callable

from rdmacc.interface import *

ENTRIES = 8
"""Entries of a switch's deflection table (IV-A)."""

_FREE = -1
_KEY_TOKENS = 128


@dataclass(frozen=True, kw_only=True)
class FlowDeflection(Component):
    """Deflect short messages around crowded ports, in order."""

    threshold_bytes: Size = param("15kB", "deflect above this queue length", source="Dart, VI-A", low=0)
    tokens: int = param(4, "deflections per short message", source="Dart, IV-B", low=0, high=127)
    short_bytes: Size = param(
        "100kB", "longer messages get no tokens", source="assumed: Dart names short flows only", low=0
    )
    deflect_last_hop: bool = param(False, "also deflect if the congested port leads to the destination")
    escape_lanes: bool = param(True, "a packet that goes up after having gone down changes lanes", source="Dart, IV-B")

    class Chip(Record):
        keys = Ints(ENTRIES, _FREE, doc="message and tokens left")
        ports = Ints(ENTRIES, _FREE, doc="output port")

    class Header(Record):
        tokens = Byte(doc="deflections left")
        descends = Byte(doc="1 once the packet has gone down in its lane")

    @property
    def classes(self) -> frozenset[int]:
        last = min(DATA_CLASS + self.tokens, NUM_CLASSES - 1)
        return frozenset(range(DATA_CLASS, last + 1)) if self.escape_lanes else frozenset()

    def handlers(self) -> dict[str, Callable[..., None]]:
        """Return the handlers, without `on_enqueue` if there are no lanes."""
        found = super().handlers()
        if not self.escape_lanes:
            del found["on_enqueue"]
        return found

    def on_send(params, message, packet):
        packet.tokens = params.tokens if message.size_bytes <= params.short_bytes else 0

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

    def on_deflect(params, port, chip, message, packet):
        if message.packets > 1:
            entry = find(chip, _FREE)
            chip.keys[entry] = message.number * _KEY_TOKENS + packet.tokens
            chip.ports[entry] = port.number
        packet.tokens -= 1

    def on_enqueue(params, port, packet):
        if not port.climbs:
            packet.descends = 1
        elif packet.descends:
            packet.descends = 0
            if packet.priority < min(DATA_CLASS + params.tokens, NUM_CLASSES - 1):
                packet.priority += 1


def find(chip, key):
    """Return the first entry with that key; -1 if there is none."""
    for i in range(ENTRIES):
        if chip.keys[i] == key:
            return i
    return -1
