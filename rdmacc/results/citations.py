"""What made a result, and what to cite for it: the papers behind its components, its preset and its message sizes."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rdmacc.caching.sources import git_commit
from rdmacc.engine.outcome import RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.schemes import Scheme, scheme_table


@dataclass(frozen=True)
class Paper:
    """A paper or a specification."""

    key: str
    authors: str
    title: str
    venue: str
    year: int
    doi: str
    entry: str

    def __str__(self) -> str:
        link = f", doi:{self.doi}" if self.doi else ""
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}{link}'

    def bibtex(self) -> str:
        """Return the BibTeX entry."""
        return self.entry


class Citations(tuple[Paper, ...]):
    """Papers without repeats, printed one per line."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__

    def bibtex(self) -> str:
        """Return all BibTeX entries."""
        return "\n".join(paper.bibtex() for paper in self)


def _read(text: str) -> dict[str, Paper]:
    """Return the papers of a BibTeX file by key; the file has one field per line."""
    found = {}
    for entry, key in re.findall(r"(@misc\{(\w+),\n.*?^\}\n)", text, re.S | re.M):
        fields = dict(re.findall(r"^  (\w+) = \{+(.*?)\}+,$", entry, re.M))
        authors = re.sub(r" and others$", " et al.", fields["author"])
        year, doi = int(fields["year"]), fields.get("doi", "")
        found[key] = Paper(key, authors, fields["title"], fields["howpublished"], year, doi, entry)
    return found


PAPERS = _read(Path(__file__).with_name("papers.bib").read_text(encoding="utf-8"))
"""All papers, by key."""

_CITED = tomllib.loads(Path(__file__).with_name("cited.toml").read_text(encoding="utf-8"))
COMPONENTS: dict[str, list[str]] = _CITED["components"]
PRESETS: dict[str, list[str]] = _CITED["presets"]
SIZES: dict[str, list[str]] = _CITED["sizes"]


def papers_of(scheme: Scheme, work: pd.DataFrame) -> Citations:
    keys: list[str] = []
    for part in (*scheme.components, scheme.buffer, scheme.queueing):
        known = (COMPONENTS[kind.__name__] for kind in type(part).__mro__ if kind.__name__ in COMPONENTS)
        keys += next(known, ())
    keys += PRESETS.get(scheme.preset, ())
    keys += (key for name in work.attrs.get("sizes", {}) for key in SIZES.get(name, ()))
    return Citations(PAPERS[key] for key in dict.fromkeys(keys))


SCHEMA = 1
"""Version of the record, whose JSON schema is ``docs/formats/provenance.schema.json``."""

_PACKAGES = ("rdmacc", "numpy", "numba", "simpy", "networkx", "pandas")
_NETWORK = (
    "is_host", "is_nic", "buffer_bytes", "node_first_port", "port_peer", "port_rate_bps", "port_delay_ps", "port_class",
)  # fmt: skip


def provenance_of(plan: Plan, engine: str, outcome: RunOutcome) -> dict[str, Any]:
    """Return what ran (scheme, network, workload, faults, seed), on which code and machine, and in which order.

    Networks, or workloads, with equal hashes are equal in everything that a run depends on.
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
    """Return the processor's name, or its architecture if the system does not provide it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
