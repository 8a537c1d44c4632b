"""InfiniBand's congestion control as Gran et al. (IPDPS 2010) set it in hardware, 4x DDR: 16 Gb/s of data."""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

INFINIBAND_2010 = define(Preset("infiniband-2010", "Gran et al., IPDPS 2010", rate="16Gbps"))

INFINIBAND_2010.add(
    "infiniband-cc",
    "infiniband-cc",
    {
        "increase": (1, "CCTI_Increase"),
        "limit": (127, "CCTI_Limit"),
        "least": (0, "CCTI_Min"),
        "timer_ps": ("153.6us", "CCTI_Timer: 150 times 1.024 us"),
        "threshold": (15, "Threshold"),
        "marking_rate": (0, "Marking_Rate"),
        "packet_size": (8, "Packet_Size"),
    },
)
