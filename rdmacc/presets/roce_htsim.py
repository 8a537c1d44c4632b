"""Plain RoCE as csg-htsim runs it (`sim/datacenter/main_roce.cpp`): PFC with static thresholds, no congestion control.

A source sends full packets at the line's rate, ACKs share the data's queues and are paused with them, and sizes are
rounded up to whole packets. There the bytes of a packet count until it has been sent, and PAUSE reaches the neighbour
after the link's delay; here they count until it begins to be sent, and PAUSE waits for the packet on its link. The
completion time there is that of the ACK: `acked_ps` of a message.

Simultaneous events there go in the order in which they were scheduled. With ``tick_ps="1ps"`` they do here too, and two
flows on a star agree within 0.01% (without: up to 2.3% apart). Incasts of 8 and 32 x 1 MB stay up to 6% and 8% apart in
their sorted completions with it, 5% and 7% without; 32 x 10 MB 0.3%. What is left we put down to the bytes that count
until they are sent, which no run here has tried.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define
from rdmacc.state import DATA_CLASS

__all__ = ["ROCE_HTSIM"]

_HEADER_BYTES = 64

ROCE_HTSIM = define(
    Preset(
        "roce-htsim",
        "plain RoCE in csg-htsim",
        rate="100Gbps",
        values={
            "header_bytes": (_HEADER_BYTES, "rocepacket.h: ACKSIZE"),
            "ack_bytes": (_HEADER_BYTES, "rocepacket.h: ACKSIZE"),
            "ack_priority": (DATA_CLASS, "queue_lossless_output.cpp: one queue a port"),
            "GoBackN.ack_every_packets": (1, "roce.cpp: RoceSink::receivePacket"),
            "Pfc.reserve_bytes": ("0B", "queue_lossless_input.cpp: every byte counts"),
        },
    )
)

for _mtu in (9000, 1500):
    ROCE_HTSIM.add(
        f"roce-{_mtu}",
        "line-rate",
        {
            "payload_bytes": (_mtu, "main_roce.cpp: -mtu"),
            "least_wire_bytes": (_mtu + _HEADER_BYTES, "roce.cpp: all packets are full"),
            "Pfc.xoff_bytes": (15 * _mtu, "main_roce.cpp: high_pfc, in units of the MTU"),
            "Pfc.xon_offset_bytes": (3 * _mtu, "main_roce.cpp: low_pfc is 12, in units of the MTU"),
        },
    )
