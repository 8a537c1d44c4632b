"""DASR's receiver alone: its handlers on plain records, packet by packet, without an engine.

This replaces an engine in one page. Figures 4 and 5 use it for exact checks.
"""

from rdmacc.interface import NEVER, Float, Host, Int32, Message, Packet
from rdmacc.protocols.dasr import Dasr
from ..api import *
from .setup import *

_HANDLERS: Any = Dasr  # its handlers carry no annotations: the compiled engine types them


class _DasrPacket(Packet):
    auss_n = Int32()
    share = Float()


@dataclass
class Transfer:
    """A message in flight, with the receiver's records of the message and of its sender."""

    message: Message
    transfer: Any
    sender: Any


@dataclass
class DasrReceiver:
    """A host that receives under DASR."""

    params: Any = PRESET["dasr"].control[0]
    base_rtt_ps: int = us(60)
    """Base RTT of the receiver's network, in ps."""
    now: int = 0
    """Time in ps; `receive` and `wait` advance it."""

    def __post_init__(self) -> None:
        self.host = Host()
        self.host.line_bps, self.host.base_rtt_ps = LINE_BPS, self.base_rtt_ps
        self.endpoint: Any = Dasr.Endpoint()
        self.senders: dict[Hashable, Any] = {}
        self.groups: dict[int, list[Transfer]] = {}

    @property
    def n(self) -> int:
        """Number of senders in the set."""
        return int(self.endpoint.auss_n)

    def message(self, sender: Hashable, packets: int = 2, group: int = -1) -> Transfer:
        """Return a new message of a sender."""
        message = Message()
        message.packets, message.group = packets, group
        record = self.senders.setdefault(sender, Dasr.Receiver())
        one = Transfer(message, Dasr.Transfer(), record)
        if group >= 0:
            members = self.groups.setdefault(group, [])
            members.append(one)
            for member in members:
                member.message.group_size = len(members)
        return one

    def receive(self, one: Transfer, ce: int = 0, after_ps: int = PACKET_PS) -> tuple[Packet, Any]:
        """Deliver the next packet of a message after `after_ps`; return it and the ACK."""
        self.wait(after_ps)
        packet, reply = _DasrPacket(), _DasrPacket()
        packet.psn, packet.wire_bytes, packet.ce = one.message.received_packets, WIRE_BYTES, ce
        self.host.rx_wire_bytes += WIRE_BYTES
        self.host.rx_packets += 1
        one.message.received_packets += 1
        _HANDLERS.on_data(
            self.params, self.host, self.endpoint, one.sender, one.message, one.transfer, packet, reply, self.now
        )
        if self.host.announce:
            self.host.announce = 0
            for member in self.groups[one.message.group]:
                _HANDLERS.on_announce(
                    self.params, self.endpoint, member.sender, member.message, member.transfer, self.now
                )
        return packet, reply

    def wait(self, duration_ps: int) -> None:
        """Advance the time, and serve the senders' idle timers."""
        end = self.now + duration_ps
        while True:
            due = min(self.senders.values(), key=lambda one: one.idle_timer_ps, default=None)
            if due is None or due.idle_timer_ps > end:
                break
            self.now = max(self.now, due.idle_timer_ps)
            due.idle_timer_ps = NEVER
            _HANDLERS.on_idle_timer(self.endpoint, due, self.now)
        self.now = end
