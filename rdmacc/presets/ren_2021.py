"""REN (Li et al., IEEE TCC 2021): REN, grants without marks, and the baselines of its evaluation.

Its simulations have links of 40 Gb/s, 10 us of round-trip propagation and 128 KB of buffer (section 6):
`rdmacc.topology.papers.ren_leaf_spine`, preset "ren-2021". Its testbed has 10 Gb/s, 48 us and 64 KB (2.3, 5.2):
`ren_testbed`, preset "ren-2021-testbed".

"traditional" is the receiver-driven transmission of figures 1, 2 and 8, without marks. Readings of the marking rule
other than the default are entries of their own: see `rdmacc.switch.ren_marker`.

The baselines have "the default values" of their papers (5.2); windows that those state for a round trip of their own
are one BDP here, with the packets' time on the links. "homa" and "aeolus" have one unscheduled level: cut-offs belong
to a workload (`rdmacc.protocols.homa.Homa.for_sizes`). "homa-2-levels" is Homa on switches like the testbed's.
"""

from __future__ import annotations

from typing import Any

from rdmacc.presets.base import Preset, define
from rdmacc.presets.ndp_2017 import make_ndp
from rdmacc.presets.phost_2015 import make_phost
from rdmacc.protocols.expresspass import CREDIT_SHARE
from rdmacc.protocols.grant_clock import GrantClock
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import DropTail

Values = dict[str, tuple[Any, str]]


def _traditional() -> Scheme:
    return Scheme(recovery=GrantClock(), buffer=DropTail(), ack_bytes=40)


_HOMA: Values = {
    "rtt_bytes": ("0B", "Homa, 3.2: line rate times base RTT"),
    "levels": (8, "Homa, 3.4"),
    "overcommit": (7, "Homa, 3.5: the number of scheduled levels"),
    "resend_interval_ps": ("1ms", "assumed: Homa, 3.7 has a few ms"),
    "ping_interval_ps": ("1ms", "assumed: as RESEND"),
}


def _preset(
    name: str, rate: str, section: str, rtt: str, window: int, buffer: str, clock: Values, more: Values, dctcp: Values
) -> Preset:
    """Return REN's preset for one of its two networks, in which `window` packets are one BDP."""
    shared: Values = {
        "payload_bytes": ("1460B", "6: packets of 1.5 KB; assumed: with IP and TCP headers"),
        "header_bytes": ("40B", "6: packets of 1.5 KB; assumed: with IP and TCP headers"),
        "ack_bytes": ("40B", "3.2.1: grants of 40 bytes; ACKs alike"),
        "DropTail.limit_bytes": (buffer, f"{section}; assumed: for each port"),
        "DropTail.alpha": (1000.0, "the limit of a port alone bounds its queue"),
    }
    clocked: Values = {"GrantClock.base_rtt_ps": (rtt, section), **clock, **more}
    ren: Values = {**clocked, "RenMarker.base_rtt_ps": (rtt, f"{section}; 6.4: the sampling period is one")}
    one = define(Preset(name, "REN, IEEE TCC 2021", rate=rate, values=shared))
    one.add("ren", "ren", ren)
    one.add("ren-ecmp", "ren", {**ren, "routing": ("ecmp", "ECMP in place of the spraying of 6.1")})
    literal: Values = {"reading": ("literal", "3.2.3 as it stands")}
    one.add("ren-literal", "ren", {**ren, **literal})
    one.add(
        "ren-literal-unsafe",
        "ren",
        {
            **ren,
            **literal,
            "keeps_one": (False, "3.1 as it stands"),
            "probe_ps": (0, "the paper has no timers"),
        },
    )
    one.add("ren-packet", "ren", {**ren, "reading": ("packet", "figure 7")})
    one.add(
        "traditional",
        _traditional,
        {
            **clock,
            "GrantClock.base_rtt_ps": (0, "2.3: a flow alone fills the link, so packets' times on the links count"),
            "routing": ("spray-random", "as REN's"),
        },
    )
    one.add("dctcp", "dctcp", dctcp)
    one.add(
        "phost",
        make_phost,
        {
            "free_packets": (0, "pHost, 3: a bandwidth-delay product"),
            "window_packets": (0, "assumed: a bandwidth-delay product"),
            "ask_timeout_ps": ("1ms", "assumed: a software timer"),
        },
    )
    one.add("homa", "homa", _HOMA)
    one.add(
        "homa-2-levels",
        "homa",
        {
            **_HOMA,
            "levels": (2, "5.1: a port of the testbed's switches has one queue; Homa has two levels at least"),
        },
    )
    one.add("aeolus", "homa-aeolus", {**_HOMA, "threshold_bytes": ("6kB", "Aeolus, 3: 4 packets")})
    one.add(
        "ndp",
        make_ndp,
        {
            "limit_packets": (8, "2.3"),
            "initial_window": (window, "assumed: one BDP; NDP: 30 packets in its own network"),
            "pull_bytes": ("1500B", "6: packets of 1.5 KB"),
            "Queueing.control_limit_bytes": ("12kB", "NDP, 3.1: as many bytes as the data queue"),
            "timeout_ps": ("1ms", "NDP, 3"),
            "pull_timeout_ps": ("10ms", "assumed"),
        },
    )
    one.add(
        "expresspass",
        "expresspass",
        {
            "initial_fraction": (1 / 16, "6: alpha"),
            "initial_weight": (1 / 16, "6: w_init"),
            "least_weight": (0.01, "ns2-xpass, ns-default.tcl: min_w_"),
            "target_loss": (0.125, "ns2-xpass, ns-default.tcl: target_loss_scaling_"),
            "Queueing.credit_fraction": (CREDIT_SHARE, "ExpressPass, 3.1: 84 / (84 + 1538)"),
            "Queueing.credit_limit_bytes": ("672B", "ExpressPass, 3.1: 8 credits"),
            "retransmit_timeout_ps": ("100us", "ns2-xpass, fat-tree script"),
            "idle_timeout_ps": ("2ms", "ns2-xpass: stop timeout"),
            "routing": ("symmetric", "6.1: per-flow ECMP; credits and data on the same path"),
        },
    )
    return one


REN_2021 = _preset(
    "ren-2021",
    rate="40Gbps",
    section="6",
    rtt="10us",
    window=38,
    buffer="128kB",
    clock={},
    more={"GrantClock.least_timeout_ps": ("50us", "assumed: twice the 26 us that a full port's 128 kB take")},
    dctcp={
        "g": (1 / 16, "assumed: DCTCP's own"),
        "initial_window": (10, "assumed: RFC 6928"),
        "NewReno.min_timeout_ps": ("1ms", "assumed: 10 ms at 10 Gb/s, scaled to the network's RTT"),
        "EcnStep.kmin_bytes": ("45kB", "assumed: 30 packets; DCTCP's 65 at 10 Gb/s scaled would exceed the buffer"),
        "EcnStep.reference_bps": (0.0, "the threshold is that of links of 40 Gb/s"),
        "start_delay_ps": (0, "assumed: NS2 models no operating system"),
    },
)
REN_2021_TESTBED = _preset(
    "ren-2021-testbed",
    rate="10Gbps",
    section="2.3",
    rtt="48us",
    window=44,
    buffer="64kB",
    clock={"GrantClock.least_timeout_ps": ("1ms", "assumed: a software timer")},
    more={},
    dctcp={
        "g": (1 / 16, "assumed: DCTCP's own"),
        "initial_window": (10, "assumed: RFC 6928"),
        "NewReno.min_timeout_ps": ("10ms", "assumed: DCTCP's own"),
        "EcnStep.kmin_bytes": ("30kB", "assumed: 20 packets; DCTCP's 65 exceed the buffer"),
        "EcnStep.reference_bps": (0.0, "the threshold is that of links of 10 Gb/s"),
        "start_delay_ps": (0, "assumed: as in its simulations"),
    },
)
