"""NDP as csg-htsim runs it (`sim/datacenter/main_ndp.cpp`): strict priority for headers, no return, no timeout.

The fat tree's links are store and forward. A packet on the link still counts as queued, all packets are full, sizes are
rounded up to whole packets. The completion time there is that of the ACK: `acked_ps` of a message.
"""

from __future__ import annotations

from dataclasses import replace

from rdmacc.presets.base import Preset, define
from rdmacc.presets.ndp_2017 import make_ndp
from rdmacc.protocols.permuted_paths import PermutedPaths
from rdmacc.schemes import Scheme

_HEADER_BYTES = 64


def _make() -> Scheme:
    return replace(make_ndp(), control=(PermutedPaths(),))


NDP_HTSIM = define(
    Preset(
        "ndp-htsim",
        "NDP in csg-htsim",
        rate="100Gbps",
        values={
            "header_bytes": (_HEADER_BYTES, "ndppacket.h: ACKSIZE"),
            "ack_bytes": (_HEADER_BYTES, "ndppacket.h: ACKSIZE"),
            "Queueing.trimmed_bytes": (_HEADER_BYTES, "ndppacket.h: ACKSIZE"),
            "Queueing.wrr_ratio": (100_000, "compositequeue.cpp: _ratio_high"),
            "Queueing.returns_headers": (False, "main_ndp.cpp: no reverse routes"),
            "pull_rate": (0.99, "main_ndp.cpp: pull_rate_modifier"),
            "timeout_ps": ("0s", "ndp.cpp: RESEND_ON_TIMEOUT is not defined"),
            "pull_timeout_ps": ("10ms", "it has none: late enough to do nothing"),
            "counts_sending": (True, "compositequeue.cpp: a packet leaves its queue when it has been sent"),
        },
    )
)

for _mtu, _window in ((9000, 23), (4000, 50), (1500, 30)):
    NDP_HTSIM.add(
        f"ndp-{_mtu}",
        _make,
        {
            "payload_bytes": (_mtu, "main_ndp.cpp: -mtu"),
            "least_wire_bytes": (_mtu + _HEADER_BYTES, "ndp.cpp: all packets are full"),
            "initial_window": (_window, "main_ndp.cpp: -cwnd"),
            "pull_bytes": (_mtu + _HEADER_BYTES, "ndp.cpp: _packet_drain_time"),
            "PayloadTrimming.limit_bytes": (8 * _mtu, "main_ndp.cpp: -q 8, in units of the MTU"),
            "Queueing.control_limit_bytes": (16 * _mtu, "compositequeue.cpp: 2*_maxsize"),
        },
    )
