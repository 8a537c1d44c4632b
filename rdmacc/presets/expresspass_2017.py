"""ExpressPass (Cho et al., SIGCOMM 2017): the authors' ns-2 simulator, kaist-ina/ns2-xpass, and the paper's feedback.

The simulator's values are those of its scripts: `scripts/large-scale-fattree.tcl`, and what that leaves out,
`tcl/lib/ns-default.tcl`. A network for them needs switch buffers that no port exhausts: the limit is that of each port
(`DropTail.limit_bytes`).
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define
from rdmacc.protocols.expresspass import CREDIT_SHARE

_SCRIPT = "ns2-xpass, large-scale-fattree.tcl"

EXPRESSPASS_2017 = define(
    Preset(
        "expresspass-2017",
        "ExpressPass, SIGCOMM 2017",
        rate="10Gbps",
        values={
            "payload_bytes": ("1460B", "ns2-xpass: max_ethernet_size_ 1538 less the header"),
            "header_bytes": ("78B", "ns2-xpass: xpass_hdr_size_"),
            "least_wire_bytes": ("84B", "ns2-xpass: min_ethernet_size_"),
            "ack_bytes": ("84B", "ns2-xpass: requests, stops and NAKs are of min_ethernet_size_"),
            "Queueing.credit_fraction": (CREDIT_SHARE, "section 3.1: 84 / (84 + 1538)"),
            "Queueing.credit_burst_bytes": ("168B", f"{_SCRIPT}: 2 credits"),
            "Queueing.credit_limit_bytes": ("672B", f"{_SCRIPT}: 8 credits"),
            "DropTail.alpha": (1000.0, "the limit of a port alone bounds its queue"),
            "DropTail.limit_bytes": ("384.5kB", f"{_SCRIPT}: 250 full packets"),
            "jitter": (0.1, "ns-default.tcl: -0.1 to 0.1"),
            "retransmit_timeout_ps": ("100us", f"{_SCRIPT}: retransmit_timeout_"),
            "idle_timeout_ps": ("2ms", f"{_SCRIPT}: default_credit_stop_timeout_"),
        },
    )
)

EXPRESSPASS_2017.add(
    "expresspass",
    "expresspass",
    {
        "initial_fraction": (0.5, f"{_SCRIPT}: alpha_"),
        "initial_weight": (0.0625, f"{_SCRIPT}: w_init_"),
        "least_weight": (0.01, "ns-default.tcl: min_w_"),
        "target_loss": (0.125, "ns-default.tcl: target_loss_scaling_"),
        "least_credit_bytes": ("76B", f"{_SCRIPT}: min_credit_size_"),
        "most_credit_bytes": ("92B", f"{_SCRIPT}: max_credit_size_"),
    },
)
EXPRESSPASS_2017.add(
    "expresspass-paper",
    "expresspass",
    {
        "feedback": ("paper", "algorithm 1"),
        "initial_fraction": (0.5, "section 5"),
        "initial_weight": (0.5, "section 5; 1/16 for its workloads"),
        "least_weight": (0.01, "section 5"),
        "target_loss": (0.1, "section 5"),
        "scaled_packets": (0, "the paper's first rate is the same for all sizes"),
        "early_stop": (False, "section 3.1: the stop follows the last packet"),
        "least_credit_bytes": ("84B", "section 3.1"),
        "most_credit_bytes": ("92B", "section 3.3: sizes vary by 8 B"),
    },
)
