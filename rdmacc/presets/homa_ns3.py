"""Homa's port to ns-3 (serhatarslan-hub/HomaL4Protocol-ns-3), as `HomaL4Protocol-paper-reproduction.cc` sets it.

It departs from the paper in two ways: all packets share one class, because the IP layer removes the tag that the queues
look for, and the sender has no timer. The levels in its code therefore have no effect: two for unscheduled packets,
divided at 13 packets; from the third on for granted messages; a grant's level applies to unscheduled packets too. A
port's buffer counts packets; ours counts their bytes, and switches need buffers that no port exhausts.

We depart from the port in two ways. It asks again at fixed times, and only for the message that it granted last, so
never for one whose packets wait in the network behind higher levels; our interval is so long that we never ask in vain.
And it orders a sender's messages by what was granted, we by what was sent.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define
from rdmacc.state import DATA_CLASS

_SCRIPT = "HomaL4Protocol-paper-reproduction.cc"
_CODE = "homa-l4-protocol.cc"
_PAYLOAD = 1460


def _rtt_bytes(line_bps: float) -> int:
    return _PAYLOAD * (7 if line_bps <= 10e9 else 36)


HOMA_NS3 = define(Preset("homa-ns3", "Homa's port to ns-3", rate="10Gbps"))

HOMA_NS3.add(
    "homa",
    "homa",
    {
        "tick_ps": ("1ns", "ns-3 counts whole nanoseconds and cuts off the rest"),
        "payload_bytes": (_PAYLOAD, "MTU 1500 less 20 of IP and 20 of Homa"),
        "header_bytes": ("42B", "20 of Homa, 20 of IP, 2 of PPP"),
        "ack_bytes": ("42B", "20 of Homa, 20 of IP, 2 of PPP"),
        "ack_priority": (DATA_CLASS, f"{_CODE}: control packets have the highest priority, SetTos(0)"),
        "rtt_bytes": (_rtt_bytes, f"{_SCRIPT}: 7 packets; 36 at 100 Gb/s with links of 1 us"),
        "separates_levels": (False, "ipv4-l3-protocol.cc: removes the tag that the queue discs look for"),
        "levels": (8, f"{_SCRIPT}: numTotalPrioBands"),
        "cutoffs": ((12 * _PAYLOAD,), f"{_CODE}, GetPrio: under 13 packets"),
        "overcommit": (6, f"{_CODE}: overcommit level, 8 bands less 2 unscheduled ones"),
        "lowest_levels": (False, f"{_CODE}, SendAppropriateGrants: from the unscheduled bands on"),
        "grant_sets_level": (True, f"{_CODE}, GetPrio: m_prioSetByReceiver"),
        "resend_interval_ps": ("100ms", f"{_CODE}, ExpireRtxTimeout: none for packets that wait in the network"),
        "ping_interval_ps": ("1000s", f"{_CODE}: no timeout on the sender's side"),
        "retry_limit": (5, f"{_CODE}: MaxRtxCnt"),
        "routing": ("spray-random", f"{_SCRIPT}: ECMP_RANDOM"),
        "DropTail.alpha": (1000.0, "the limit of a port alone bounds its queue"),
        "DropTail.limit_bytes": (500 * 1502, f"{_SCRIPT}: 500 packets"),
    },
)
