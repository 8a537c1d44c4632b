"""Provenance: what made a result, so that it can be made again."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

from rdmacc.engine.outcome import RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.schemes import scheme_table

_PACKAGES = ("rdmacc", "numpy", "numba", "simpy", "networkx", "pandas")


def provenance_of(plan: Plan, engine: str, outcome: RunOutcome) -> dict[str, Any]:
    """Return a run's scheme and seed, its engine, and the versions of Python and of packages."""
    return {
        "scheme": repr(plan.scheme),
        "parameters": {f"{row['component']}.{row['parameter']}": row["value"] for row in scheme_table(plan.scheme)},
        "seed": plan.seed,
        "engine": engine,
        "order": outcome.order,
        "threads": outcome.threads,
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in _PACKAGES},
    }
