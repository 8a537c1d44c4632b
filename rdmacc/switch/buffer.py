"""Buffer policies of a switch: lossless with priority flow control, or lossy with tail drop.

These classes hold the parameters; the engines apply the policies to every packet. Both use Choudhury and Hahne's
dynamic threshold, alpha times the free part of the shared pool (IEEE/ACM ToN 1998). PFC: IEEE 802.1Qbb, with the
accounting per ingress port and priority of the HPCC simulator.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class Pfc(Parameters):
    """Lossless: pause the upstream port when an ingress (port, priority) reaches a threshold, dynamic or static.

    Pause is on or off, without expiry. The packets that arrive after the pause fill the headroom; a packet that does
    not fit there is dropped and counted as a PFC violation.
    """

    alpha: float = param(
        0.125,
        "share of the free pool that one ingress queue may take",
        symbol="alpha",
        source="HPCC simulator",
        low=0.0,
    )
    xoff_bytes: OptionalSize = param(
        None,
        "static threshold: pause at this many bytes above the reserve; 0: alpha times the free pool",
        unit="bytes",
        source="15 packets in csg-htsim, main_roce.cpp",
    )
    reserve_bytes: Size = param(
        RESERVE_BYTES, "guaranteed to each ingress (port, priority)", unit="bytes", source="HPCC simulator"
    )
    xon_offset_bytes: Size = param("3072B", "resume when this far below the threshold", source="HPCC simulator")
    headroom_bytes: OptionalSize = param(
        None, "headroom for packets in flight when a pause is sent; 0: computed for each link", unit="bytes"
    )
    frame_bytes: Size = param(
        PFC_FRAME_BYTES, "a PAUSE or RESUME frame on the wire", unit="bytes", source="802.1Qbb", low=1
    )


@dataclass(frozen=True, kw_only=True)
class DropTail(Parameters):
    """Lossy: drop an arriving data packet when its egress queue exceeds alpha times the free buffer, or the limit."""

    alpha: float = param(
        1.0,
        "share of the free buffer that one egress queue may take",
        symbol="alpha",
        source="ConWeave's simulator",
        low=0.0,
    )
    limit_bytes: OptionalSize = param(None, "limit of a port's egress queue; 0: none", unit="bytes")
