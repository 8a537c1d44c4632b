"""RCC (Zhang et al., ICNP 2021): the schemes of its ns-3 simulations, hosts at 100 Gb/s, base RTT of 12 us.

It takes the parameters of the schemes' papers, and ECN thresholds that scale with the link as in the HPCC simulator
(V-A). `rdmacc.rcc_fat_tree` builds its network. "dcqcn-cnp", which is DCQCN as its own paper has it, and "timely-hpcc"
are other readings of two baselines.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

RCC_2021 = define(Preset("rcc-2021", "RCC, ICNP 2021", rate="100Gbps"))

RCC_2021.add(
    "dcqcn",
    "dcqcn-hpcc",
    {
        "kmin_bytes": ("100kB", "V-A: scaled as HPCC does, 100 kB at 25 Gb/s"),
        "kmax_bytes": ("400kB", "V-A: scaled as HPCC does, 400 kB at 25 Gb/s"),
        "pmax": (0.2, "assumed: the HPCC simulator's"),
    },
)
RCC_2021.add(
    "dcqcn-cnp",
    "dcqcn",
    {
        "kmin_bytes": ("100kB", "V-A: scaled as HPCC does, 100 kB at 25 Gb/s"),
        "kmax_bytes": ("400kB", "V-A: scaled as HPCC does, 400 kB at 25 Gb/s"),
        "pmax": (0.2, "assumed: the HPCC simulator's"),
        "Red.reference_bps": ("25Gbps", "V-A: scaled as HPCC does"),
        "clamp_target": (True, "V-A: as in the paper"),
    },
)
RCC_2021.add(
    "hpcc",
    "hpcc",
    {
        "eta": (0.95, "V-A"),
        "max_stage": (5, "V-A"),
        "base_rtt_ps": ("12us", "V-A"),
        "min_rate_bps": (1000 * 8 / 12e-6, "assumed: a window of one packet, which gives the queue of figure 7"),
    },
)
_TIMELY = {
    "t_low_ps": ("50us", "V-A: as in the paper"),
    "t_high_ps": ("500us", "V-A: as in the paper"),
    "min_rtt_ps": ("20us", "V-A: as in the paper"),
}
RCC_2021.add(
    "timely",
    "timely",
    _TIMELY | {"additive_bps": ("10Mbps", "V-A: as in the paper"), "beta": (0.8, "V-A: as in the paper")},
)
RCC_2021.add("timely-hpcc", "timely-hpcc", _TIMELY)  # V-A: another reading of its parameters, scaled to the link

RCC_2021.add(
    "homa",
    "homa",
    {
        "rtt_bytes": ("150kB", "V-A: 12 us at 100 Gb/s; Homa, section 3.2: a BDP"),
        "levels": (8, "V-A: as in the paper"),
        "resend_interval_ps": ("5ms", "Homa, section 3.7: a few ms"),
        "ping_interval_ps": ("5ms", "assumed: as RESEND"),
        "routing": ("spray-random", "V-D-2: it sprays packets over the core"),
    },
)
RCC_2021.add(
    "expresspass",
    "expresspass",
    {
        "feedback": ("paper", "V-A: implemented by its algorithm"),
        "initial_fraction": (1 / 16, "V-A: as in its paper, section 6, for such workloads"),
        "initial_weight": (1 / 16, "V-A: as in its paper, section 6, for such workloads"),
        "least_weight": (0.01, "V-A: as in its paper, section 5"),
        "target_loss": (0.1, "V-A: as in its paper, section 5"),
        "scaled_packets": (0, "its paper's first rate is the same for all sizes"),
        "early_stop": (False, "its paper, section 3.1: the stop follows the last packet"),
        "most_credit_bytes": ("92B", "its paper, section 3.3: sizes vary by 8 B"),
        "retransmit_timeout_ps": ("100us", "ns2-xpass, fat-tree script"),
        "idle_timeout_ps": ("2ms", "ns2-xpass: stop timeout"),
        "DropTail.limit_bytes": (0, "V-A: a switch's 32 MB are shared"),
    },
)

_RCC = {
    "late_samples": (3, "III-F"),
    "delta": (0.2, "III-F, V-A"),
    "eta": (0.95, "III-F"),
    "kp": (1e4, "V-A"),
    "kd": (1e5, "V-A"),
}
_ASYNC = {"jitter_ps": ("500ns", "assumed: III-G has clocks within a few hundred ns of each other")}

RCC_2021.add("rcc", "rcc", _RCC)
RCC_2021.add("rcc-async", "rcc", _RCC | _ASYNC)
RCC_2021.add("rcc-n1", "rcc", _RCC | _ASYNC | {"late_samples": (1, "V-E-1: n = 1, with the jitter")})
RCC_2021.add("rcc-sender", "rcc-sender", _RCC)
RCC_2021.add("rcc-pid", "rcc-pid", _RCC)
RCC_2021.add("rcc-ewa", "rcc-ewa", _RCC)
