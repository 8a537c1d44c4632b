"""NDP's switch port: a short data queue, and payloads cut off what does not fit.

Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance",
SIGCOMM 2017, section 3.1; the authors' simulator (`compositequeue.cpp`).

The port's other half is in `Queueing`: trimmed packets wait in class CONTROL with the ACKs, NAKs and pulls
(`control_limit_bytes`, 8 packets of 9 KB in the paper) and go ahead of data, at most `wrr_ratio` (10) headers for each
data packet. Return-to-sender is off: a header that finds its queue full is lost, and the sender's timer recovers it, as
in the later fork of the simulator.

Assumptions: the limit is in bytes, `limit_packets` times the largest packet that the port has seen, so that a short
packet takes its own bytes only; the data queue is that of all data classes together.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdmacc.chance import uniform
from rdmacc.component import Component, param
from rdmacc.records import Int, Record
from rdmacc.state import DATA, HOST_NIC, TRIM, TRIM_TAIL

__all__ = ["PayloadTrimming"]


@dataclass(frozen=True, kw_only=True)
class PayloadTrimming(Component):
    """When the data queue is full, trim the packet that arrives or the last one in the queue, by a fair coin."""

    limit_packets: int = param(8, "full packets that the data queue holds", symbol="Q_d", source="NDP, 3.1", low=1)
    tail_probability: float = param(
        0.5,
        "chance that the tail of the queue is trimmed, not the packet that arrives; against phase effects",
        source="NDP, 3.1",
        low=0.0,
        high=1.0,
    )

    class Egress(Record):
        """Of one port."""

        full_bytes = Int(doc="largest data packet seen")

    @staticmethod
    def on_enqueue(params, port, egress, packet):
        if packet.kind == DATA and port.link_class != HOST_NIC:
            egress.full_bytes = max(egress.full_bytes, packet.wire_bytes)
            if port.queue_bytes + packet.wire_bytes > params.limit_packets * egress.full_bytes:
                is_tail = uniform(port.chance_key, port.chance_count) < params.tail_probability
                port.chance_count += 1
                packet.verdict = TRIM_TAIL if is_tail else TRIM
