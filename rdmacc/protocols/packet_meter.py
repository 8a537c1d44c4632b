"""Meters that count marks, links and reordering of each message's packets, without effect on the scheme.

Put `PacketMeter` first among a scheme's control components, so that it sees marks before DASR hides them, and
`MarkMeter` last, so that it sees the marks that remain. The counts are columns of `Result.transfers`.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class PacketMeter(Component):
    """Count each message's data packets as they arrive."""

    class Header(Record):
        """Links that the packet has crossed."""

        hops = Byte(doc="switches passed; one more if NICs mark too")

    class Transfer(Record):
        """Packets of a message that have arrived, including those that recovery discards."""

        arrived_packets = Int32()
        marked_arrivals = Int32(doc="packets with congestion experienced")
        hops_passed = Int32(doc="total over all packets")
        most_hops = Int32(doc="maximum over all packets")
        refused_packets = Int32(doc="packets not accepted by recovery: out of order or duplicate")

    def on_enqueue(packet):
        packet.hops += 1

    def on_data(transfer, packet):
        transfer.arrived_packets += 1
        transfer.marked_arrivals += packet.ce
        transfer.hops_passed += packet.hops
        transfer.most_hops = max(transfer.most_hops, packet.hops)
        transfer.refused_packets += 1 - packet.accepted


@dataclass(frozen=True, kw_only=True)
class MarkMeter(Component):
    """Count each message's data packets whose mark was not suppressed by an earlier component."""

    class Transfer(Record):
        """Marks that reach the congestion control."""

        marks_left = Int32(doc="data packets that arrived with congestion experienced and kept it")

    def on_data(transfer, packet):
        transfer.marks_left += packet.ce
