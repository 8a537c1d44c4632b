"""EQDS as csg-htsim runs it (`main_eqds.cpp`): packets of 4,150 B, 64 entropy values, no marking."""

from __future__ import annotations

from functools import partial

from rdmacc.presets.base import Preset, define
from rdmacc.presets.uet_htsim import HEADER_BYTES, MTU_BYTES, make_uet
from rdmacc.protocols.receiver_credit import ReceiverCredit

_PULL_BYTES, _WIRE_BYTES = 4096, 4160 + 38
_QUEUE_PACKETS = 35


def _timeout_ps(line_bps: float) -> int:
    return 150_000_000 + round(6 * _QUEUE_PACKETS * MTU_BYTES * 8e12 / line_bps)


EQDS_HTSIM = define(
    Preset(
        "eqds-htsim",
        "EQDS in csg-htsim",
        rate="100Gbps",
        values={
            "payload_bytes": (MTU_BYTES - HEADER_BYTES, "main_eqds.cpp: 4,150 B, 64 B of it header"),
            "Scheme.header_bytes": (HEADER_BYTES, "eqdspacket.h: 64 B"),
            "ack_bytes": (HEADER_BYTES, "eqdspacket.h: 64 B"),
            "Queueing.trimmed_bytes": (HEADER_BYTES, "eqdspacket.h: 64 B"),
            "base_rtt": ("largest", "as uet-htsim; only the interval of RTS follows it"),
        },
    )
)

EQDS_HTSIM.add(
    "eqds",
    partial(make_uet, "eqds", ReceiverCredit()),
    {
        "unit_bytes": (512, "eqdspacket.h: quantum"),
        "units_per_pull": (8, "eqds.cpp: 4,096 B"),
        "rate": (_PULL_BYTES / (0.99 * _WIRE_BYTES), "eqds.cpp: 8 quanta in 0.99 times a packet of 4,160 B and 38 B"),
        "largest_bytes": (50 * MTU_BYTES, "main_eqds.cpp: -cwnd 50"),
        "divides_request": (False, "eqds.cpp"),
        "counts_at_receiver": (True, "eqds.cpp: rtx_backlog"),
        "timeout_ps": (_timeout_ps, "main_eqds.cpp: 150 us and six queues"),
        "choice": ("bitmap", "eqds.cpp: a value is passed over once after a mark or a NACK"),
        "trim_penalty": (1, "eqds.cpp: a skip count of at most 1; here they add up"),
        "timeout_penalty": (0, "eqds.cpp"),
        "UetQueue.limit_bytes": (_QUEUE_PACKETS * MTU_BYTES, "main_eqds.cpp: -q 35"),
        "low": (1e6, "main_eqds.cpp: no ECN"),
        "high": (1e6, "main_eqds.cpp: no ECN"),
    },
)
