"""Dart (Xue et al., IEEE/ACM ToN 2020): its own schemes and the baselines of its simulations, at 10 Gb/s.

Switches have 225 KB of buffer for each port, links 5 us of delay: `rdmacc.dart_clos` builds them (VI-A). The paper's
experiments run these schemes. The registered schemes of the same names (``rdmacc.scheme("dart")``) are the same
compositions with rdmacc's defaults: payloads of 1,000 bytes, and deflection of flows of up to 100 KB instead of 8 KB.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.pri_q import PriQ
from rdmacc.schemes import Scheme
from rdmacc.switch.red import EcnStep

_ALL = {"payload_bytes": ("1460B", "VI-A: TIMELY's segments; assumed: everybody's")}

DART_2020 = define(Preset("dart-2020", "Dart, IEEE/ACM ToN 2020", rate="10Gbps", values=_ALL))

_STEP = {
    "EcnStep.kmin_bytes": ("22.5kB", "VI-A: 10% of 225 KB"),
    "EcnStep.reference_bps": ("10Gbps", "VI-A: links of 10 Gb/s"),
    "EcnStep.at_nic": (True, "III-C: source congestion is seen by ECN too"),
}
_DCQCN = {
    "Dcqcn.g": (1 / 256, "VI-A"),
    "Dcqcn.cnp_interval_ps": ("50us", "VI-A"),
    "Dcqcn.alpha_period_ps": ("55us", "assumed: DCQCN's own"),
    "Dcqcn.increase_period_ps": ("55us", "VI-A"),
    "Dcqcn.byte_counter_bytes": ("10MB", "VI-A"),
    "Dcqcn.fast_recovery_steps": (5, "assumed: DCQCN's own"),
    "Dcqcn.additive_bps": ("40Mbps", "assumed: DCQCN's own, at 40 Gb/s"),
    "Dcqcn.hyper_bps": ("400Mbps", "VI-A has hyper increase on; assumed: DCQCN's own, at 40 Gb/s"),
    "Dcqcn.reference_bps": ("40Gbps", "assumed: the increases scale with the link"),
    "Dcqcn.clamp_target": (True, "assumed: DCQCN's own"),
    "Dcqcn.min_rate_bps": ("10Mbps", "assumed"),
}
_PAIR = {
    "connection": ("pair", "assumed: as DASR's (III-C), so that all schemes' flows wait behind the same ones"),
}
_DASR = {
    "Dasr.window_ps": ("6us", "assumed: a third of the 18 us in which 22.5 KB, the marking threshold, cross the link"),
    "Dasr.full_packets": (5, "assumed: what the link carries in that time"),
}
_IOFD = {
    "FlowDeflection.threshold_bytes": ("15kB", "VI-A"),
    "FlowDeflection.tokens": (4, "VI-A"),
    "FlowDeflection.short_bytes": ("8kB", "VI-A: short flows have 2, 4 or 8 KB"),
}

DART_2020.add("dcqcn", lambda: Scheme(control=(Dcqcn(),), switch=(EcnStep(),)), _STEP | _DCQCN | _PAIR)
DART_2020.add(
    "dctcp",
    "dctcp",
    {
        "initial_window": (10, "VI-A: 10 segments"),
        "start_delay_ps": ("300us", "VI-A: operating system's overhead for each transfer"),
        "NewReno.min_timeout_ps": ("10ms", "VI-A"),
        "EcnStep.kmin_bytes": ("22.5kB", "VI-A: 10% of 225 KB"),
        "EcnStep.reference_bps": ("10Gbps", "VI-A: links of 10 Gb/s"),
        "DropTail.limit_bytes": ("225kB", "VI-A, assumed: for each port"),
    },
)
DART_2020.add("pri-q", lambda: Scheme(control=(PriQ(), Dcqcn()), switch=(EcnStep(),)), _STEP | _DCQCN | _PAIR)
DART_2020.add(
    "timely",
    "timely",
    _PAIR
    | {
        "t_low_ps": ("50us", "VI-A"),
        "t_high_ps": ("500us", "VI-A"),
        "additive_bps": ("1Mbps", "VI-A, called alpha there"),
        "beta": (0.8, "VI-A"),
        "min_rtt_ps": ("0s", "assumed: the queue pair's base RTT, TIMELY's minimum RTT; 60 us between pods"),
        "hyper_after": (5, "VI-A has hyper increase on; the count is TIMELY's"),
        "segment_bytes": ("1460B", "VI-A"),
        "has_window": (True, "VI-A: the rate as a window"),
        "is_paced": (False, "VI-A: window-based, so that at least one packet leaves in each RTT"),
        "once_per_rtt": (True, "assumed: with segments of one packet each ACK would move the rate"),
    },
)
DART_2020.add("dasr", "dasr", _STEP | _DCQCN | _DASR)
DART_2020.add("dasr-no-look-ahead", "dasr-no-look-ahead", _STEP | _DCQCN | _DASR)
DART_2020.add("iofd", "iofd", _STEP | _DCQCN | _IOFD | _PAIR)
DART_2020.add("dart", "dart", _STEP | _DCQCN | _DASR | _IOFD)
DART_2020.add("rcp", "rcp", {"RcpStamp.alpha": (0.4, "VI-D"), "RcpStamp.beta": (0.4, "VI-D")})
DART_2020.add(
    "infiniband-cc",
    "infiniband-cc",
    {
        "timer_ps": ("153.6us", "assumed: Gran et al.'s, since V-B names the scheme, but gives no settings"),
        "marking_rate": (0, "assumed: Gran et al.'s"),
    },
)
