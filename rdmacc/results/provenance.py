"""Provenance: what made a result, so that it can be made again."""

import hashlib
import os
import platform
from importlib import metadata
from typing import Any

import numpy as np

from rdmacc.engine.outcome import RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.schemes import scheme_table
from rdmacc.sources import git_commit

SCHEMA = 1
"""Version of the record, whose JSON schema is ``docs/formats/provenance.schema.json``."""

_PACKAGES = ("rdmacc", "numpy", "numba", "simpy", "networkx", "pandas")
_NETWORK = (
    "is_host", "is_nic", "buffer_bytes", "node_first_port", "port_peer", "port_rate_bps", "port_delay_ps", "port_class",
)  # fmt: skip


def provenance_of(plan: Plan, engine: str, outcome: RunOutcome) -> dict[str, Any]:
    """Return what ran (scheme, network, workload, faults, seed), on which code and machine, and in which order.

    Two networks, or workloads, of one hash are equal in all that a run depends on.
    """
    fabric = plan.fabric
    network = hashlib.sha256(repr(fabric.names).encode())
    for name in _NETWORK:
        network.update(np.ascontiguousarray(getattr(fabric, name)).tobytes())
    frames = plan.workload, plan.rows.computation
    rows = [(name, one[name].tolist()) for one in frames for name in sorted(one.columns, key=str)]
    work = hashlib.sha256(repr(rows).encode()).hexdigest()
    return {
        "schema": SCHEMA,
        "scheme": repr(plan.scheme),
        "parameters": {f"{row['component']}.{row['parameter']}": row["value"] for row in scheme_table(plan.scheme)},
        "network": {"name": fabric.name, "nodes": fabric.n_nodes, "sha256": network.hexdigest()},
        "workload": {"rows": sum(map(len, frames)), "sha256": work},
        "faults": [repr(one) for one in plan.faults],
        "seed": plan.seed,
        "engine": engine,
        "order": outcome.order,
        "threads": outcome.threads,
        "commit": git_commit(),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        "machine": {"os": platform.platform(), "cpu": _cpu(), "cores": os.cpu_count()},
    }


def _cpu() -> str:
    """Return the processor's name, or its kind where the system does not tell."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
