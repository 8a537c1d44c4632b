"""The HPCC simulator (on ns-3), as its `run.py` configures it: what HPCC, RCC and ConWeave compare with.

The buffer of a switch is a matter of the network: 32 MiB at 100 Gb/s, 16 MiB for each 50 Gb/s of the hosts' links.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

__all__ = ["HPCC_NS3"]

HPCC_NS3 = define(
    Preset(
        "hpcc-ns3",
        "the HPCC simulator, run.py",
        rate="100Gbps",
        values={
            "payload_bytes": ("1000B", "PACKET_PAYLOAD_SIZE"),
            "header_bytes": ("48B", "14 of link, 20 of IP, 8 of UDP, 6 of sequence number and class"),
            "ack_bytes": ("60B", "rdma-hw.cc: padded to 60 B"),
            "GoBackN.ack_every_packets": (1, "L2_ACK_INTERVAL"),
            "GoBackN.nak_interval_ps": ("500us", "rdma-hw.cc, class default"),
            "Pfc.alpha": (0.125, "third.cc: shift of 3; not doubled here where ports are faster than the hosts'"),
        },
    )
)

_TIMERS = {
    "alpha_period_ps": ("1us", "ALPHA_RESUME_INTERVAL"),
    "decrease_period_ps": ("4us", "RATE_DECREASE_INTERVAL"),
    "increase_period_ps": ("300us", "RP_TIMER"),
}
_PAPER_TIMERS = {
    "alpha_period_ps": ("50us", "ALPHA_RESUME_INTERVAL of dcqcn_paper"),
    "decrease_period_ps": ("50us", "RATE_DECREASE_INTERVAL of dcqcn_paper"),
    "increase_period_ps": ("55us", "RP_TIMER of dcqcn_paper"),
}
_DCQCN = {
    "g": (0.00390625, "EWMA_GAIN"),
    "fast_recovery_steps": (1, "FAST_RECOVERY_TIMES"),
    "additive_bps": ("5Mbps", "RATE_AI: 5 Mb/s at 25 Gb/s, scaled by the link"),
    "hyper_bps": ("50Mbps", "RATE_HAI: 50 Mb/s at 25 Gb/s, scaled by the link"),
    "min_rate_bps": ("1Gbps", "MIN_RATE"),
    "clamp_target": (False, "CLAMP_TARGET_RATE"),
    "kmin_bytes": ("100kB", "KMIN_MAP: 100 kB at 25 Gb/s, scaled by the link"),
    "kmax_bytes": ("400kB", "KMAX_MAP: 400 kB at 25 Gb/s, scaled by the link"),
    "pmax": (0.2, "PMAX_MAP"),
}

HPCC_NS3.add("dcqcn", "dcqcn-hpcc", _DCQCN | _TIMERS)
HPCC_NS3.add("dcqcn-paper", "dcqcn-hpcc", _DCQCN | _PAPER_TIMERS)
