"""The HPCC simulator (on ns-3), as its `run.py` configures it: what HPCC, RCC and ConWeave compare with.

What depends on the network is computed from it. A switch's buffer is the network's own (BUFFER_SIZE: 32 MiB at
100 Gb/s, 16 MiB for each 50 Gb/s of the hosts' links). The base RTT of all queue pairs, and so HPCC's T and every
window, follows the network that is simulated (GLOBAL_T); TIMELY's minimum RTT is a constant there.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define
from rdmacc.state import CONTROL, DATA_CLASS

HPCC_NS3 = define(
    Preset(
        "hpcc-ns3",
        "the HPCC simulator, run.py",
        rate="100Gbps",
        values={
            "tick_ps": ("1ns", "ns-3 counts whole nanoseconds and cuts off the rest: 1,048 B at 100 Gb/s take 83 ns"),
            "payload_bytes": ("1000B", "PACKET_PAYLOAD_SIZE"),
            "header_bytes": ("48B", "14 of link, 20 of IP, 8 of UDP, 6 of sequence number and class"),
            "ack_bytes": ("60B", "rdma-hw.cc: padded to 60 B"),
            "base_rtt": ("network", "third.cc, GLOBAL_T: the largest over pairs of hosts"),
            "ack_priority": (DATA_CLASS, "switch-node.cc: AckHighPrio is never set, whatever run.py says"),
            "GoBackN.ack_every_packets": (1, "L2_ACK_INTERVAL"),
            "GoBackN.nak_interval_ps": ("500us", "rdma-hw.cc, class default"),
            "Pfc.frame_bytes": ("43B", "qbb-net-device.cc, SendPfc: its headers, not padded"),
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
_WINDOW = {
    "has_window": (True, "HAS_WIN and VAR_WIN of *_vwin"),
}

_HIGH_AT_NIC = {"nic_ack_priority": (CONTROL, "ACK_HIGH_PRIO: third.cc passes it to the NICs only")}

HPCC_NS3.add("dcqcn", "dcqcn-hpcc", _DCQCN | _TIMERS | _HIGH_AT_NIC)
HPCC_NS3.add("dcqcn-paper", "dcqcn-hpcc", _DCQCN | _PAPER_TIMERS | _HIGH_AT_NIC)
HPCC_NS3.add("dcqcn-vwin", "dcqcn-hpcc", _DCQCN | _TIMERS | _WINDOW)
HPCC_NS3.add("dcqcn-paper-vwin", "dcqcn-hpcc", _DCQCN | _PAPER_TIMERS | _WINDOW)

_TIMELY = {
    "t_low_ps": ("50us", "rdma-hw.cc, class default"),
    "t_high_ps": ("500us", "rdma-hw.cc, class default"),
    "min_rtt_ps": ("20us", "rdma-hw.cc, class default"),
    "ewma": (0.875, "rdma-hw.cc, class default"),
    "beta": (0.8, "rdma-hw.cc, class default"),
    "additive_bps": ("10Mbps", "RATE_AI: 10 Mb/s at 10 Gb/s, scaled by the link"),
    "hyper_bps": ("50Mbps", "RATE_HAI: 50 Mb/s at 10 Gb/s, scaled by the link"),
    "min_rate_bps": ("1Gbps", "MIN_RATE"),
    "timestamp_bytes": ("8B", "int-header.h, mode TS"),
}

_TIMELY |= _HIGH_AT_NIC

HPCC_NS3.add("timely", "timely-hpcc", _TIMELY)
HPCC_NS3.add("timely-vwin", "timely-hpcc", _TIMELY | {"has_window": (True, "HAS_WIN and VAR_WIN of timely_vwin")})

HPCC_NS3.add(
    "dctcp",
    "dctcp-hpcc",
    {
        "g": (0.0625, "EWMA_GAIN of dctcp"),
        "additive_bps": ("615Mbps", "DCTCP_RATE_AI of dctcp, at any line rate"),
        "min_rate_bps": ("1Gbps", "MIN_RATE"),
        "has_window": (True, "HAS_WIN and VAR_WIN of dctcp"),
        "kmin_bytes": ("30kB", "KMIN_MAP and KMAX_MAP of dctcp: 30 kB at 10 Gb/s, scaled by the link"),
        "EcnStep.reference_bps": ("10Gbps", "KMIN_MAP and KMAX_MAP of dctcp: 30 kB at 10 Gb/s, scaled by the link"),
        "at_dequeue": (True, "switch-node.cc"),
    },
)


def _int_multi(line_bps: float) -> int:
    return max(1, round(line_bps / 25e9))


_HPCC = {
    "eta": (0.95, "U_TARGET"),
    "additive_bps": ("10Mbps", "RATE_AI: 10 Mb/s at 25 Gb/s, scaled by the link"),
    "reference_bps": ("25Gbps", "RATE_AI: 10 Mb/s at 25 Gb/s, scaled by the link"),
    "min_rate_bps": ("1Gbps", "MIN_RATE"),
    "whole_bps": (True, "rdma-hw.cc: DataRate has whole bits per second"),
    "fast_reaction": (True, "FAST_REACT"),
    "unit_multiple": (_int_multi, "INT_MULTI: line rate over 25 Gb/s"),
    "overhead_bytes": ("42B", "int-header.h, mode NORMAL"),
    "ack_bytes": ("88B", "rdma-hw.cc: 14 of link, 20 of IP, 12 of its own, 42 of records"),
}

HPCC_NS3.add("hpcc", "hpcc", _HPCC | {"max_stage": (0, "MI_THRESH")})
HPCC_NS3.add("hpcc-mi5", "hpcc", _HPCC | {"max_stage": (5, "MI_THRESH with --mi 5, as in the paper")})
