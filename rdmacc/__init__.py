"""rdmacc: congestion control and loss recovery in RDMA datacenter networks, simulated packet by packet.

>>> import rdmacc
>>> network = rdmacc.star(5, rate="100Gbps", delay="1us")
>>> work = rdmacc.incast(senders=["h1", "h2", "h3", "h4"], receiver="h0", size="64kB")
>>> result = rdmacc.simulate(network, work, "dcqcn")
>>> len(result.flows)
4
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rdmacc import probes, units
from rdmacc.component import Component, param
from rdmacc.errors import (
    CompileError,
    ConfigError,
    DeadlockError,
    RdmaccError,
    SimulationError,
    StalledError,
)
from rdmacc.faults import Clocks, LinkDown, Loss, PauseStorm, ScriptedLoss, SlowLink, flapping
from rdmacc.presets import PRESETS, Preset, preset
from rdmacc.probes import Probe
from rdmacc.scaling import Links, Scaled
from rdmacc.schemes import SCHEMES, Scheme, register_scheme, scheme, scheme_table
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.queueing import Queueing
from rdmacc.switch.red import EcnStep, Red

if TYPE_CHECKING:
    from rdmacc import topology, workload
    from rdmacc.explorer import explore
    from rdmacc.formats import from_chakra, from_goal, from_hpcc, from_htsim, to_hpcc, to_htsim
    from rdmacc.models.comparison import compare
    from rdmacc.results.result import Result
    from rdmacc.results.saved import SavedResult, load
    from rdmacc.scenario import Scenario
    from rdmacc.simulation import Simulation, simulate
    from rdmacc.sweep.study import Study, study
    from rdmacc.topology import (
        clos,
        dart_clos,
        describe,
        draw,
        dumbbell,
        fat_tree,
        leaf_spine,
        rcc_fat_tree,
        rcc_multi_bottleneck,
        ren_leaf_spine,
        star,
    )
    from rdmacc.workload import (
        LoadDefinition,
        SizeDistribution,
        all_to_all,
        combine,
        dart_mix,
        from_csv,
        from_parquet,
        incast,
        incasts,
        long_flows,
        many_to_many,
        messages,
        offered_load,
        partition_aggregate,
        permutation,
        poisson,
        random_pairs,
        request_response,
        ring_all_reduce,
        sequence,
        tree_all_reduce,
    )
else:

    def __getattr__(name):
        """Import names that need pandas or networkx on first use, because those two take most of the import time."""
        if f"{__name__}.{name}" in _LATER:
            value = import_module(f"{__name__}.{name}")
        else:
            module = next((module for module, names in _LATER.items() if name in names), None)
            if module is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            value = getattr(import_module(module), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})


_LATER = {
    "rdmacc.models.comparison": {"compare"},
    "rdmacc.explorer": {"explore"},
    "rdmacc.formats": {"from_chakra", "from_goal", "from_hpcc", "from_htsim", "to_hpcc", "to_htsim"},
    "rdmacc.results.result": {"Result"},
    "rdmacc.results.saved": {"SavedResult", "load"},
    "rdmacc.scenario": {"Scenario"},
    "rdmacc.simulation": {"Simulation", "simulate"},
    "rdmacc.sweep.study": {"Study", "study"},
    "rdmacc.topology": {
        "clos", "dart_clos", "describe", "draw", "dumbbell", "fat_tree", "leaf_spine", "rcc_fat_tree",
        "rcc_multi_bottleneck", "ren_leaf_spine", "star",
    },
    "rdmacc.workload": {
        "LoadDefinition", "SizeDistribution", "all_to_all", "combine", "dart_mix", "from_csv", "from_parquet", "incast",
        "incasts", "long_flows", "many_to_many", "messages", "offered_load", "partition_aggregate", "permutation",
        "poisson", "random_pairs", "request_response", "ring_all_reduce", "sequence", "tree_all_reduce",
    },
}  # fmt: skip
"""Names that `__getattr__` imports, by module. The modules themselves are attributes too, as after any import."""

__version__ = "0.1.0"

__all__ = [
    "PRESETS",
    "SCHEMES",
    "Clocks",
    "CompileError",
    "Component",
    "ConfigError",
    "DeadlockError",
    "DropTail",
    "EcnStep",
    "LinkDown",
    "Links",
    "LoadDefinition",
    "Loss",
    "PauseStorm",
    "Pfc",
    "Preset",
    "Probe",
    "Queueing",
    "RdmaccError",
    "Red",
    "Result",
    "SavedResult",
    "Scaled",
    "Scenario",
    "Scheme",
    "ScriptedLoss",
    "Simulation",
    "SimulationError",
    "SizeDistribution",
    "SlowLink",
    "StalledError",
    "Study",
    "all_to_all",
    "clos",
    "combine",
    "compare",
    "dart_clos",
    "dart_mix",
    "describe",
    "draw",
    "dumbbell",
    "explore",
    "fat_tree",
    "flapping",
    "from_chakra",
    "from_csv",
    "from_goal",
    "from_hpcc",
    "from_htsim",
    "from_parquet",
    "incast",
    "incasts",
    "leaf_spine",
    "load",
    "long_flows",
    "many_to_many",
    "messages",
    "offered_load",
    "param",
    "partition_aggregate",
    "permutation",
    "poisson",
    "preset",
    "probes",
    "random_pairs",
    "rcc_fat_tree",
    "rcc_multi_bottleneck",
    "register_scheme",
    "ren_leaf_spine",
    "request_response",
    "ring_all_reduce",
    "scheme",
    "scheme_table",
    "sequence",
    "simulate",
    "star",
    "study",
    "to_hpcc",
    "to_htsim",
    "topology",
    "tree_all_reduce",
    "units",
    "workload",
]
