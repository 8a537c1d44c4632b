"""PowerTCP and theta-PowerTCP as ns3-datacenter runs them (`rdma-hw.cc`, modes of HPCC's simulator).

Windows are set at every ACK from a reference that moves once a round trip; the margin of theta is on the base RTT. The
additive step is 150 Mb/s at any line rate.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

POWERTCP_NS3 = define(
    Preset(
        "powertcp-ns3",
        "PowerTCP in ns3-datacenter",
        rate="25Gbps",
        values={
            "payload_bytes": ("1000B", "config-burst.txt: PACKET_PAYLOAD_SIZE"),
            "base_rtt": ("network", "GLOBAL_T 1"),
            "additive_share": (lambda line_bps: 150e6 / line_bps, "rdma-hw.cc: 150 Mb/s, hard-wired"),
            "least_current": (0.5, "rdma-hw.cc: at least half of the link"),
            "from_reference": (True, "rdma-hw.cc, UpdateRatePower"),
        },
    )
)

POWERTCP_NS3.add("powertcp", "powertcp", {"eta": (0.95, "U_TARGET")})
POWERTCP_NS3.add(
    "theta-powertcp",
    "theta-powertcp",
    {
        "gamma": (0.7, "rdma-hw.cc: hard-wired for delays"),
        "margin": (1.05, "rdma-hw.cc: 1.05 of the base RTT"),
        "every_ack": (True, "rdma-hw.cc: FAST_REACT"),
    },
)
