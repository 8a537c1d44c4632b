"""Meters to add to a scheme: how the packets of each message arrived: marked, over how many links, in order.

They change nothing. Put `PacketMeter` first among a scheme's control components, so that it sees marks before DASR
hides them, and `MarkMeter` last, so that it sees those that are left to act on; the counts are columns of
`Result.transfers`.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdmacc.component import Component
from rdmacc.records import Byte, Int32, Record

__all__ = ["MarkMeter", "PacketMeter"]


@dataclass(frozen=True, kw_only=True)
class PacketMeter(Component):
    """Count each message's data packets as they arrive."""

    class Header(Record):
        """How far the packet has come."""

        hops = Byte(doc="switches passed; one more if marks are made at NICs too")

    class Transfer(Record):
        """What has arrived of a message, packets that recovery discards included."""

        arrived_packets = Int32()
        marked_arrivals = Int32(doc="of them, with congestion experienced")
        hops_passed = Int32(doc="of all of them together")
        most_hops = Int32(doc="of any of them")
        refused_packets = Int32(doc="not taken by recovery: out of order, or for a second time")

    @staticmethod
    def on_enqueue(packet):
        packet.hops += 1

    @staticmethod
    def on_data(transfer, packet):
        transfer.arrived_packets += 1
        transfer.marked_arrivals += packet.ce
        transfer.hops_passed += packet.hops
        transfer.most_hops = max(transfer.most_hops, packet.hops)
        transfer.refused_packets += 1 - packet.accepted


@dataclass(frozen=True, kw_only=True)
class MarkMeter(Component):
    """Count each message's data packets whose mark no component before this one has suppressed."""

    class Transfer(Record):
        """What the congestion control behind the marks gets to see."""

        marks_left = Int32(doc="data packets that arrived with congestion experienced, and kept it")

    @staticmethod
    def on_data(transfer, packet):
        transfer.marks_left += packet.ce
