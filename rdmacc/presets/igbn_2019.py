"""Improved Go-Back-N (Wang et al., ICCCN 2019): loss recovery at 40 Gb/s, without congestion control."""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

__all__ = ["IGBN_2019"]

IGBN_2019 = define(
    Preset(
        "igbn-2019",
        "Improved Go-Back-N, ICCCN 2019",
        rate="40Gbps",
        values={
            "payload_bytes": ("1024B", "II-A: 4 MB are 4,096 packets"),
            "timeout_ps": ("100ms", "Table I"),
            "ack_every_packets": (256, "II-A"),
            "nak_interval_ps": ("500us", "Table I"),
        },
    )
)

IGBN_2019.add("go-back-n", "line-rate", {})
