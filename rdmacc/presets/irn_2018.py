"""IRN (Mittal et al., SIGCOMM 2018) with its paper's parameters, for links of 40 Gb/s and round trips of 24 us."""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

IRN_2018 = define(Preset("irn-2018", "IRN, SIGCOMM 2018", rate="40Gbps"))

IRN_2018.add(
    "irn",
    "irn",
    {
        "bdp_cap_packets": (120, "120 KB, the BDP of 40 Gb/s and 24 us"),
        "rto_low_ps": ("100us", "RTO_low"),
        "rto_high_ps": ("320us", "RTO_high"),
        "few_packets": (3, "N"),
    },
)
