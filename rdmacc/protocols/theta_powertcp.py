"""Theta-PowerTCP: PowerTCP without telemetry, with power computed from delays.

Sources: Addanki, Michel, Schmid, "PowerTCP: Pushing the performance limits of datacenter networks", NSDI 2022,
algorithm 2; ns3-datacenter (`rdma-hw.cc`, delay mode). Power over C^2 T is (dRTT/dt + 1) RTT / T: 1 at the base RTT, 2
at twice the base RTT. It is averaged over every ACK; the window changes once a round trip.

Two ACKs at the same instant have no gradient, so the second only updates the last sample. A draining queue has a
gradient of -1 and thus zero power, which would make windows jump to their bound; the simulator's lower bound is the
default here.
"""

from rdmacc.interface import *
from rdmacc.protocols.powertcp import PowerWindow, note_round, set_window, smooth, step


@dataclass(frozen=True, kw_only=True)
class ThetaPowerTcp(PowerWindow):
    """A window from the RTT and its gradient."""

    margin: float = param(
        1.0, "a round trip counts as longer than T only above T times this", source="rdma-hw.cc: 1.05", low=1.0
    )
    least_current: float = param(0.5, "lower bound of the gradient plus 1", source="rdma-hw.cc", low=0.0, high=1.0)
    every_ack: bool = param(False, "the window changes at every ACK", source="rdma-hw.cc; algorithm 2: once in an RTT")

    class Sender(PowerWindow.Sender):
        last_rtt_ps = Int()
        last_ack_ps = Int(-1)

    class Header(Record):
        """In data packets, and copied into ACKs."""

        power_sent_ps = Int(doc="when the packet was sent")

    def on_send(packet, now):
        packet.power_sent_ps = now

    def on_data(packet, reply):
        reply.power_sent_ps = packet.power_sent_ps

    def on_ack(params, qp, sender, message, transfer, packet, now):
        rtt_ps = now - packet.power_sent_ps
        elapsed_ps = now - sender.last_ack_ps
        is_new_round = packet.psn > transfer.update_after_psn
        if sender.last_ack_ps >= 0 and elapsed_ps > 0:
            current = max((rtt_ps - sender.last_rtt_ps) / elapsed_ps + 1.0, params.least_current)
            smooth(sender, current * rtt_ps / (params.margin * sender.rtt_ps), float(elapsed_ps))
            if params.every_ack or is_new_round:
                set_window(params, qp, sender, step(params, sender, sender.power))
        sender.last_rtt_ps = rtt_ps
        sender.last_ack_ps = now
        note_round(sender, message, transfer, packet)
