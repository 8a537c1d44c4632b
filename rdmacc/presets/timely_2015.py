"""TIMELY (Mittal et al., SIGCOMM 2015) with its paper's parameters, for links of 10 Gb/s."""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

TIMELY_2015 = define(Preset("timely-2015", "TIMELY, SIGCOMM 2015", rate="10Gbps"))

TIMELY_2015.add(
    "timely",
    "timely",
    {
        "t_low_ps": ("50us", "section 4.4"),
        "t_high_ps": ("500us", "section 4.4"),
        "min_rtt_ps": ("20us", "section 4.3"),
        "beta": (0.8, "section 4.3"),
        "additive_bps": ("10Mbps", "section 4.3"),
        "hyper_after": (5, "section 4.3"),
        "segment_bytes": ("16kB", "section 5: 16 to 64 kB"),
    },
)
