"""Named schemes and presets, with one module per paper or simulator, imported here in listing order."""

from __future__ import annotations

from rdmacc.presets import (
    dart_2020,
    dcqcn_2015,
    default,
    eqds_htsim,
    expresspass_2017,
    homa_2018,
    homa_ns3,
    hpcc_ns3,
    igbn_2019,
    infiniband_2010,
    irn_2018,
    ndp_2017,
    ndp_htsim,
    phost_2015,
    powertcp_ns3,
    rcc_2021,
    ren_2021,
    roce_htsim,
    timely_2015,
    uec_1_0,
    uet_htsim,
)
from rdmacc.presets.base import PRESETS, Preset, Setting, define, preset

__all__ = [
    "PRESETS", "Preset", "Setting", "dart_2020", "dcqcn_2015", "default", "define", "eqds_htsim", "expresspass_2017",
    "homa_2018", "homa_ns3", "hpcc_ns3", "igbn_2019", "infiniband_2010", "irn_2018", "ndp_2017", "ndp_htsim",
    "phost_2015", "powertcp_ns3", "preset", "rcc_2021", "ren_2021", "roce_htsim", "timely_2015", "uec_1_0",
    "uet_htsim",
]  # fmt: skip
