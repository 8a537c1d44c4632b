"""REN's definitions of load and of short and long flows, and the number of seeds: `rdmacc.experiments.ren.setup`."""

from __future__ import annotations

from types import MappingProxyType

from rdmacc.presets import preset
from rdmacc.workload import LoadDefinition

SIMULATED = preset("ren-2021")
"""The schemes of section 6."""
SHORT_BYTES, LONG_BYTES = 100_000, 1_000_000
"""Short flows have at most the first number of bytes, long flows more than the second."""
LOAD = LoadDefinition("core", payload_bytes=SIMULATED["ren"].payload_bytes, header_bytes=SIMULATED["ren"].header_bytes)
SEEDS = MappingProxyType({"quick": 1, "paper": 3})
"""Number of seeds, by scale."""
