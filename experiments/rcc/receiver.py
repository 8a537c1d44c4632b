"""RCC's receiver alone: its handlers on plain records, packet by packet, without an engine.

This replaces an engine in one page. Figures 2 and 3 use it for exact checks.
"""

from rdmacc.interface import Host, Int32, Message, Packet, QueuePair
from rdmacc.protocols.rcc import Rcc
from ..api import *
from .setup import *

_HANDLERS: Any = Rcc  # its handlers carry no annotations: the compiled engine types them


class _RccPacket(Packet):
    cwnd_bytes = Int32()


@dataclass
class RccReceiver:
    """A host that receives one flow under RCC; other flows only add to the number of flows."""

    params: Any = field(default_factory=lambda: PRESET["rcc"].control[0])
    flows: int = 1
    """Number of active messages to the host, including this one."""
    used: float = 1.0
    """B_R of the last round, as a fraction of the link."""
    now: int = us(100)
    """Time in ps; `take` advances it."""

    def __post_init__(self) -> None:
        self.host, self.endpoint = Host(), _HANDLERS.Endpoint()
        self.qp, self.message = QueuePair(), Message()
        self.sender, self.receiver = _HANDLERS.Sender(), _HANDLERS.Receiver()
        self.qp.line_bps = self.qp.peer_line_bps = self.host.line_bps = LINE_BPS
        self.qp.base_rtt_ps, self.qp.base_delay_ps = BASE_RTT_PS, BASE_RTT_PS // 2
        self.message.packets, self.message.payload_bytes = 10**6, PAYLOAD_BYTES
        self.endpoint.flow_num, self.endpoint.round_ps = self.flows - 1, BASE_RTT_PS
        _HANDLERS.on_open(self.params, self.qp, self.sender, self.receiver)
        self.take()

    def take(self, rtt_ps: int = BASE_RTT_PS, after_ps: int = us(1)) -> int:
        """Deliver a packet with the RTT sample `rtt_ps`; return the window in its ACK."""
        self.now += after_ps
        self.endpoint.flow_num = max(self.endpoint.flow_num, self.flows - (self.message.received_packets == 0))
        self.endpoint.round_began_ps = self.now  # keep rounds open, so B_R is `used`
        self.endpoint.last_bps, self.endpoint.last_began_ps = self.used * LINE_BPS, self.now
        packet, reply = _RccPacket(), _RccPacket()
        packet.accepted = 1
        packet.sent_ps = self.now - (rtt_ps - BASE_RTT_PS) - BASE_RTT_PS // 2
        self.message.received_packets += 1
        self.host.clock_ps = self.now
        _HANDLERS.on_data(
            self.params, self.host, self.endpoint, self.qp, self.receiver, self.message, packet, reply, self.now
        )
        return int(reply.cwnd_bytes)

    def acknowledge(self, ack: Any) -> None:
        """Deliver an ACK with the window `ack.cwnd_bytes` to the sender."""
        _HANDLERS.on_ack(self.params, self.qp, self.sender, ack)
