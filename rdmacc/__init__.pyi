# The one list of public names. Type checkers read it, and `rdmacc` imports each name when it is first asked for.

from rdmacc import probes as probes, topology as topology, units as units, workload as workload
from rdmacc.clusters.answer import Answer as Answer
from rdmacc.clusters.cluster import Cluster as Cluster, cluster as cluster
from rdmacc.errors import (
    CompileError as CompileError,
    ConfigError as ConfigError,
    DeadlockError as DeadlockError,
    RdmaccError as RdmaccError,
    SimulationError as SimulationError,
    StalledError as StalledError,
)
from rdmacc.explorer import explore as explore
from rdmacc.faults import (
    Clocks as Clocks,
    LinkDown as LinkDown,
    Loss as Loss,
    PauseStorm as PauseStorm,
    ScriptedLoss as ScriptedLoss,
    SlowLink as SlowLink,
    flapping as flapping,
)
from rdmacc.formats import (
    from_chakra as from_chakra,
    from_collectives as from_collectives,
    from_goal as from_goal,
    from_hpcc as from_hpcc,
    from_htsim as from_htsim,
    from_nccl_log as from_nccl_log,
    from_nccl_tests as from_nccl_tests,
    from_simai as from_simai,
    to_hpcc as to_hpcc,
    to_htsim as to_htsim,
)
from rdmacc.interface import Component as Component, Links as Links, Scaled as Scaled, param as param
from rdmacc.simulation.live import Live as Live
from rdmacc.models.comparison import compare as compare
from rdmacc.presets import PRESETS as PRESETS, Preset as Preset, preset as preset
from rdmacc.probes import Probe as Probe
from rdmacc.results.result import Result as Result
from rdmacc.results.saved import SavedResult as SavedResult, load as load
from rdmacc.simulation.scenario import Scenario as Scenario
from rdmacc.schemes import (
    SCHEMES as SCHEMES,
    Scheme as Scheme,
    register_scheme as register_scheme,
    scheme as scheme,
    scheme_table as scheme_table,
)
from rdmacc.searches.case import Case as Case
from rdmacc.searches.held_out import held_out as held_out
from rdmacc.searches.search import search as search
from rdmacc.simulation import (
    Completion as Completion,
    Simulation as Simulation,
    simulate as simulate,
    simulate_many as simulate_many,
)
from rdmacc.sweep.jobs import compare_jobs as compare_jobs
from rdmacc.sweep.study import Study as Study, study as study
from rdmacc.switch.buffer import DropTail as DropTail, Pfc as Pfc
from rdmacc.switch.queueing import Queueing as Queueing
from rdmacc.switch.red import EcnStep as EcnStep, Red as Red
from rdmacc.topology import (
    clos as clos,
    dart_clos as dart_clos,
    describe as describe,
    draw as draw,
    dumbbell as dumbbell,
    fat_tree as fat_tree,
    leaf_spine as leaf_spine,
    rcc_fat_tree as rcc_fat_tree,
    rcc_multi_bottleneck as rcc_multi_bottleneck,
    ren_leaf_spine as ren_leaf_spine,
    star as star,
)
from rdmacc.workload import (
    LoadDefinition as LoadDefinition,
    SizeDistribution as SizeDistribution,
    all_to_all as all_to_all,
    combine as combine,
    dart_mix as dart_mix,
    from_csv as from_csv,
    from_parquet as from_parquet,
    incast as incast,
    incasts as incasts,
    long_flows as long_flows,
    many_to_many as many_to_many,
    messages as messages,
    offered_load as offered_load,
    open_work as open_work,
    partition_aggregate as partition_aggregate,
    permutation as permutation,
    poisson as poisson,
    random_pairs as random_pairs,
    request_response as request_response,
    ring_all_reduce as ring_all_reduce,
    sequence as sequence,
    tree_all_reduce as tree_all_reduce,
)

__version__: str
