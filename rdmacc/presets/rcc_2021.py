"""RCC (Zhang et al., ICNP 2021): the baselines of its ns-3 simulations, hosts at 100 Gb/s, base RTT of 12 us.

It takes the parameters of the schemes' papers, and ECN thresholds that scale with the link as in the HPCC simulator
(V-A). `rdmacc.rcc_fat_tree` builds its network.
"""

from __future__ import annotations

from rdmacc.presets.base import Preset, define

__all__ = ["RCC_2021"]

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
