"""Plain RoCE as csg-htsim runs it (`sim/datacenter/main_roce.cpp`): PFC with static thresholds, no congestion control.

A source sends full packets at the line's rate, ACKs share the data's queues and are paused with them, and sizes are
rounded up to whole packets. Simultaneous events go in the order in which they were scheduled. The completion time there
is that of the ACK: `acked_ps` of a message.

Two flows agree to the last digit. Incasts do not: there PAUSE takes no time, bytes count until they have been sent, and
two rules more decide which of simultaneous packets comes first. `rdmacc.experiments.validation.roce_star` has these
rules, and what each of them does.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define
from rdmacc.state import DATA_CLASS

_HEADER_BYTES = 64

ROCE_HTSIM = define(
    Preset(
        "roce-htsim",
        "plain RoCE in csg-htsim",
        rate="100Gbps",
        values={
            "tick_ps": ("1ps", "eventlist.cpp: simultaneous events go in the order in which they were scheduled"),
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
