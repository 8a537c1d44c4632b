"""rdmacc: congestion control and loss recovery in RDMA datacenter networks, simulated packet by packet.

>>> import rdmacc
>>> network = rdmacc.star(5, rate="100Gbps", delay="1us")
>>> work = rdmacc.incast(senders=["h1", "h2", "h3", "h4"], receiver="h0", size="64kB")
>>> result = rdmacc.simulate(network, work, "dcqcn")
>>> len(result.flows)
4
"""

from __future__ import annotations

from rdmacc import probes, topology, units, workload
from rdmacc.component import Component, param
from rdmacc.errors import (
    CompileError,
    ConfigError,
    DeadlockError,
    RdmaccError,
    SimulationError,
    StalledError,
)
from rdmacc.faults import Loss
from rdmacc.probes import Probe
from rdmacc.results import Result
from rdmacc.scheme import SCHEMES, Scheme, register, scheme, scheme_table
from rdmacc.simulation import Simulation, simulate
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.red import EcnStep, Red
from rdmacc.topology import clos, dart_clos, draw, dumbbell, fat_tree, leaf_spine, star
from rdmacc.units import gbps, kB, mbps, ms, ns, us
from rdmacc.workload import combine, from_csv, incast, long_flows, messages, permutation, random_pairs

__version__ = "0.1.0"

__all__ = [
    "SCHEMES", "CompileError", "Component", "ConfigError", "DeadlockError", "DropTail", "EcnStep", "Loss", "Pfc",
    "Probe", "RdmaccError", "Red", "Result", "Scheme", "Simulation", "SimulationError", "StalledError", "clos",
    "combine", "dart_clos", "draw", "dumbbell", "fat_tree", "from_csv", "gbps", "incast", "kB", "leaf_spine",
    "long_flows", "mbps", "messages", "ms", "ns", "param", "permutation", "probes", "random_pairs", "register",
    "scheme", "scheme_table", "simulate", "star", "topology", "units", "us", "workload",
]  # fmt: skip
