"""Common to RCC's experiments: its links, networks and schemes."""

from __future__ import annotations

from rdmacc.probes import Probe
from rdmacc.units import Quantity
from ..api import *

RATE, LINE_BPS = "100Gbps", 100e9
BUFFER = "32MB"
BASE_RTT_PS = us(12)
BDP_BYTES = round(LINE_BPS * BASE_RTT_PS / 8e12)
DELTA = 0.2
THRESHOLD_RTT_PS = round(BASE_RTT_PS * (1 + DELTA))
"""A sample above it is late, equation (1)."""
TARGET_RTT_PS = round(BASE_RTT_PS * (1 + DELTA / 2))
"""Equation (2): 13.2 us (V-A)."""
TARGET_QUEUE_BYTES = round(LINE_BPS * (TARGET_RTT_PS - BASE_RTT_PS) / 8e12)
PRESET = preset("rcc-2021")
"""The schemes of all figures."""
PID: Any = PRESET["rcc"].control[0]
PAYLOAD_BYTES, WIRE_BYTES = PRESET["rcc"].payload_bytes, PRESET["rcc"].wire_bytes
GOODPUT_BPS = LINE_BPS * PAYLOAD_BYTES / WIRE_BYTES

RECEIVER = "h0"
_HEADROOM_BYTES = size_bytes("117kB")
"""PFC's headroom for a port of 100 Gb/s with a link of 3 us."""

LOOKS = {
    "rcc": ("RCC", "blue"),
    "hpcc": ("HPCC", "vermilion"),
    "homa": ("Homa", "green"),
    "expresspass": ("ExpressPass", "purple"),
    "dcqcn-cnp": ("DCQCN", "orange"),
    "dcqcn": ("DCQCN of HPCC's simulator", "orange"),
    "timely": ("TIMELY", "sky"),
    "rcc-sender": ("RCC-sender", "sky"),
    "rcc-async": ("RCC-async", "orange"),
    "rcc-n1": ("RCC (n = 1)", "vermilion"),
    "rcc-pid": ("RCC-PID", "green"),
    "rcc-ewa": ("RCC-EWA", "vermilion"),
}
"""Names and colours of the preset's schemes in all figures."""
NAMES = {scheme: name for scheme, (name, _) in LOOKS.items()}


def incast_star(senders: int) -> nx.Graph[str]:
    """Return the incast's network: its senders, then the host of the background flow, around `RECEIVER`.

    A switch of a thousand ports would need more than 32 MB for PFC's headroom alone, so it has 32 MB on top of that.
    """
    ports = senders + 2
    return topology.star(ports, rate=RATE, delay="3us", buffer=size_bytes(BUFFER) + ports * _HEADROOM_BYTES)


def received(flow: int, every: Quantity) -> Probe:
    """Return a probe of a message's packets accepted by its receiver."""
    return probes.field("flow", flow, "received_packets", every=every)


def goodput(result: Result, flow: int, payload_bytes: int = PAYLOAD_BYTES) -> pd.Series:
    """Return a flow's goodput in bit/s over each interval of its probe `received`, by the interval's end."""
    packets = result.samples(f"received_packets {flow}")
    intervals = np.diff(packets.index.to_numpy(), prepend=0)
    gained = np.diff(packets.to_numpy(np.float64), prepend=0.0)
    rates = np.divide(gained * payload_bytes * 8e12, intervals, out=np.zeros(len(packets)), where=intervals > 0)
    return pd.Series(rates, index=packets.index, name=f"goodput of flow {flow + 1}")


def in_place(table: pd.DataFrame, default: Mapping[str, Any], other: Mapping[str, Any]) -> pd.DataFrame | None:
    """Return a table in which rows of a reading replace the default's, and also keep their own labels."""
    is_default, is_other = (having(table, **one) for one in (default, other))
    if not is_other.any():
        return None
    found = table[is_other].assign(**default)
    return pd.concat([table[~is_default], found.assign(point=found["point"] + ", as the default")], ignore_index=True)
