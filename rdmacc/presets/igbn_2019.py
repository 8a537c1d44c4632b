"""Improved Go-Back-N (Wang et al., ICCCN 2019): loss recovery at 40 Gb/s, without congestion control."""

from __future__ import annotations

from collections.abc import Callable

from rdmacc.presets.base import Preset, define
from rdmacc.protocols.check_epsn import CheckEpsn
from rdmacc.protocols.go_back_0 import GoBack0
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.protocols.improved_go_back_n import ImprovedGoBackN
from rdmacc.protocols.line_rate import LineRate
from rdmacc.protocols.send_twice import SendTwice
from rdmacc.schemes import Scheme

IGBN_2019 = define(
    Preset(
        "igbn-2019",
        "Improved Go-Back-N, ICCCN 2019",
        rate="40Gbps",
        values={
            "payload_bytes": ("1024B", "Table I; assumed: 4 MB are 4,096 packets"),
            "header_bytes": ("48B", "assumed: RoCEv2"),
            "ack_bytes": ("64B", "assumed: the least Ethernet frame"),
            "timeout_ps": ("100ms", "Table I"),
            "ack_every_packets": (256, "II-A"),
            "nak_interval_ps": ("500us", "Table I"),
            "timer_after_last": (True, "assumed: as in the public ns-3 sender"),
        },
    )
)


def _recover_by(recovery: type[GoBackN]) -> Callable[[], Scheme]:
    return lambda: Scheme(recovery=recovery(), control=(LineRate(),))


IGBN_2019.add("go-back-0", _recover_by(GoBack0), {})
IGBN_2019.add("go-back-n", _recover_by(GoBackN), {})
IGBN_2019.add("send-twice", _recover_by(SendTwice), {})
IGBN_2019.add("check-epsn", _recover_by(CheckEpsn), {})
IGBN_2019.add("improved-go-back-n", _recover_by(ImprovedGoBackN), {})
