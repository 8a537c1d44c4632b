"""Homa (Montazeri et al., SIGCOMM 2018): the authors' simulator, PlatformLab/HomaSimulation, at 10 Gb/s.

The parameters are those for the workloads of long messages, W4 (Hadoop) and W5 (web search): one level for unscheduled
packets. `Homa.for_sizes` gives cut-offs and K for another distribution of sizes. The simulator's buffers have no end:
give switches enough that no port exhausts them.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define


def _rtt_bytes(line_bps: float) -> int:
    return round(line_bps * 7.8e-6 / 8)


HOMA_2018 = define(Preset("homa-2018", "Homa, SIGCOMM 2018", rate="10Gbps"))

HOMA_2018.add(
    "homa",
    "homa",
    {
        "payload_bytes": ("1472B", "HomaSimulation: grantMaxBytes"),
        "header_bytes": ("66B", "IP and UDP 28, Ethernet 18, preamble and gap 20"),
        "ack_bytes": ("84B", "least Ethernet frame with preamble and gap"),
        "least_wire_bytes": ("84B", "least Ethernet frame with preamble and gap"),
        "rtt_bytes": (_rtt_bytes, "section 5.2: 9.7 kB, an RTT of 7.8 us at 10 Gb/s"),
        "levels": (8, "section 5.2"),
        "resend_interval_ps": ("5ms", "section 3.7: a few ms; HomaSimulation has none"),
        "ping_interval_ps": ("5ms", "as RESEND"),
        "cutoffs": ((), "section 3.4: web search has 0.6% unscheduled bytes, so one level"),
        "overcommit": (7, "HomaSimulation: the scheduled levels of W4 and W5"),
        "routing": ("spray-random", "section 2.2: per-packet spraying"),
        "DropTail.alpha": (1000.0, "HomaSimulation: no buffer overflows"),
    },
)
