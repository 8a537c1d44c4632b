"""NDP (Handley et al., SIGCOMM 2017): jumbo frames, and packets of 1,500 B."""

from __future__ import annotations

from rdmacc.presets.base import Preset, define
from rdmacc.protocols.ndp import Ndp
from rdmacc.protocols.permuted_paths import ScoredPaths
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import DropTail
from rdmacc.switch.queueing import Queueing
from rdmacc.switch.trimming import PayloadTrimming

_HEADER_BYTES = 64


def make_ndp() -> Scheme:
    """Return NDP as a scheme."""
    return Scheme(
        name="ndp",
        recovery=Ndp(),
        control=(ScoredPaths(),),
        switch=(PayloadTrimming(),),
        buffer=DropTail(),
        queueing=Queueing(returns_headers=True),
        routing="source",
        header_bytes=_HEADER_BYTES,
        ack_bytes=_HEADER_BYTES,
    )


NDP_2017 = define(
    Preset(
        "ndp-2017",
        "NDP, SIGCOMM 2017",
        rate="10Gbps",
        values={
            "header_bytes": (_HEADER_BYTES, "section 3.1: a trimmed packet is 64 B"),
            "ack_bytes": (_HEADER_BYTES, "as a header"),
            "Queueing.trimmed_bytes": (_HEADER_BYTES, "section 3.1"),
            "Queueing.wrr_ratio": (10, "section 3.1: 10 headers for each data packet"),
            "Queueing.returns_headers": (True, "section 3: return-to-sender"),
            "limit_packets": (8, "evaluation: 8 packets"),
            "initial_window": (30, "evaluation: 30 packets in a FatTree"),
            "timeout_ps": ("1ms", "section 3"),
            "pull_timeout_ps": ("10ms", "assumed"),
        },
    )
)

for _name, _mtu in (("ndp", 9000), ("ndp-1500", 1500)):
    NDP_2017.add(
        _name,
        make_ndp,
        {
            "payload_bytes": (_mtu - _HEADER_BYTES, f"packets of {_mtu} B"),
            "pull_bytes": (_mtu, "section 3: a full packet"),
            "Queueing.control_limit_bytes": (8 * _mtu, "section 3.1: as many bytes as the data queue"),
        },
    )
