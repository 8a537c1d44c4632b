"""pHost (Gao et al., CoNEXT 2015), with the parameters of its authors' experiments; and the authors' simulator."""

from __future__ import annotations

from rdmacc.presets.base import Preset, define
from rdmacc.protocols.phost import PHost
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import DropTail


def make_phost() -> Scheme:
    """Return pHost as a scheme."""
    return Scheme(
        name="phost",
        recovery=PHost(),
        buffer=DropTail(limit_bytes=36_864),
        routing="spray-random",
        nic_order="srpt",
        payload_bytes=1460,
        header_bytes=40,
        ack_bytes=40,
    )


_SHARED = {
    "payload_bytes": ("1460B", "packets of 1,500 B"),
    "header_bytes": ("40B", "IP and TCP"),
    "ack_bytes": ("40B", "RTS, tokens and ACKs"),
    "DropTail.limit_bytes": ("36864B", "py/run_experiments.py: queue_size"),
    "free_packets": (8, "py/run_experiments.py: capability_initial"),
    "window_packets": (8, "py/run_experiments.py: capability_window"),
    "window_timeout_packets": (25.0, "py/run_experiments.py: capability_window_timeout"),
    "expiry_packets": (1.5, "py/run_experiments.py: capability_timeout"),
    "resend_packets": (9.0, "py/run_experiments.py: capability_resend_timeout"),
    "routing": ("spray-random", "packets are sprayed"),
}

PHOST_2015 = define(Preset("phost-2015", "pHost, CoNEXT 2015", rate="10Gbps", values=_SHARED))
PHOST_2015.add(
    "phost",
    make_phost,
    {
        "free_rule": ("paper", "section 3: each message has free tokens"),
        "downgrade_rtts": (3.0, "section 3"),
        "ask_timeout_ps": ("1ms", "assumed"),
    },
)


def _two_packets_ps(line_bps: float) -> int:
    return round(2 * 1500 * 8e12 / line_bps)


PHOST_YAPS = define(Preset("phost-yaps", "pHost in its authors' simulator, YAPS", rate="100Gbps", values=_SHARED))
PHOST_YAPS.add(
    "phost",
    make_phost,
    {
        "least_wire_bytes": ("1500B", "ext/capabilityflow.cpp, send: all packets are full"),
        "free_rule": ("simulator", "ext/capabilityflow.cpp, init_capa_size"),
        "holds_slots": (True, "run/params.h, CAPABILITY_HOLD"),
        "token_bytes": ("1500B", "ext/capabilityhost.cpp, send_capability"),
        "free_resend_ps": (_two_packets_ps, "ext/capabilityflow.cpp, set_capability_count: 2 packet times"),
        "short_packets": (0, "run/params: capability_prio_thresh"),
        "downgrade_rtts": (0.0, "it has none"),
        "wakes_on_data": (False, "ext/capabilityflow.cpp, receive: only an RTS ends a wait"),
        "ask_timeout_ps": ("10ms", "it has none: late enough to do nothing"),
    },
)
