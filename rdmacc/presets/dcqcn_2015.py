"""DCQCN (Zhu et al., SIGCOMM 2015) with its paper's parameters, for links of 40 Gb/s."""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

DCQCN_2015 = define(Preset("dcqcn-2015", "DCQCN, SIGCOMM 2015", rate="40Gbps"))

DCQCN_2015.add(
    "dcqcn",
    "dcqcn",
    {
        "g": (1 / 256, "section 5"),
        "cnp_interval_ps": ("50us", "section 3.1"),
        "alpha_period_ps": ("55us", "section 3.1"),
        "increase_period_ps": ("55us", "section 5"),
        "byte_counter_bytes": ("10MB", "section 5"),
        "fast_recovery_steps": (5, "section 3.1"),
        "additive_bps": ("40Mbps", "section 5"),
        "hyper_bps": ("400Mbps", "10 R_AI"),
        "Dcqcn.reference_bps": (0.0, "the paper's constants, whatever the link"),
        "clamp_target": (True, "figure 7: every CNP sets the target to the rate"),
        "kmin_bytes": ("5kB", "figure 5"),
        "kmax_bytes": ("200kB", "figure 5"),
        "pmax": (0.01, "figure 5"),
    },
)
