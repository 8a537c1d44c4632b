"""The experiments by name, and their bundled tables."""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.experiments.framework.claim import Claim
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.papers import PAPERS, find_paper, numbered
from rdmacc.experiments.framework.texts import FIGURES, check_used
from rdmacc.sweep.store import read_table

EXPERIMENTS: dict[str, Experiment] = {}
"""The experiments by name, grouped by paper: figures, tables, then others."""


_Registered = TypeVar("_Registered", bound="Experiment | type[Experiment]")


def register_experiment(one: _Registered, *, replace: bool = False) -> _Registered:
    """Register an experiment under its name, and return it; also a class decorator, for classes without arguments.

    With `replace`, it may replace an experiment of that name.
    """
    added = one() if isinstance(one, type) else one
    kind = type(added)
    if all(getattr(kind, name) is getattr(Experiment, name) for name in ("measure", "compute", "execute")):
        raise ConfigError(f"{kind.__name__}.measure", "not defined", "a method, unless compute() or execute() is one")
    if added.name in EXPERIMENTS and not replace:
        raise ConfigError("experiment", added.name, "a name not yet registered, or replace=True")
    EXPERIMENTS[added.name] = added
    # Sorting is stable: groups, and experiments other than figures and tables, keep their order.
    groups = [name.partition(".")[0] for name in EXPERIMENTS]
    written = {name: number for number, name in enumerate(FIGURES)}

    def place(name: str) -> tuple[int, int, tuple[str, int]]:
        in_group = written.get(name, len(written))
        return groups.index(name.partition(".")[0]), in_group, numbered(name) or ("~", 0)

    for name in sorted(EXPERIMENTS, key=place):
        EXPERIMENTS[name] = EXPERIMENTS.pop(name)
    return one


def import_modules(package: str) -> None:
    """Read a package's files, import its modules, and register the experiments that its ``figures.toml`` has texts of.

    This happens for every folder of `rdmacc.experiments`. A paper's folder elsewhere calls this in its ``__init__``,
    with its own name.
    """
    module = importlib.import_module(package)
    group = package.rpartition(".")[2]
    find_paper(Path(str(module.__file__)).parent, group)
    for found in pkgutil.iter_modules(module.__path__):
        for one in vars(importlib.import_module(f"{package}.{found.name}")).values():
            if isinstance(one, type) and issubclass(one, Experiment) and one.__module__ == f"{package}.{found.name}":
                if vars(one).get("name") in FIGURES:
                    register_experiment(one)
    own = {name: one for name, one in EXPERIMENTS.items() if name.startswith(f"{group}.")}
    check_used(group, own, [each.id for one in own.values() for each in one.claims])


def experiment(name: str) -> Experiment:
    """Return the experiment of that name; raise `ConfigError` if there is none."""
    if not isinstance(name, str) or name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS, "an experiment's name")
    return EXPERIMENTS[name]


def select(name: str) -> list[Experiment]:
    """Return the experiment of that name, or all of a group: "dart" selects "dart.fig2", "dart.fig3" and so on."""
    if name in EXPERIMENTS:
        return [EXPERIMENTS[name]]
    chosen = [one for known, one in EXPERIMENTS.items() if known.startswith(f"{name}.")]
    if not chosen:
        groups = dict.fromkeys(known.partition(".")[0] for known in EXPERIMENTS)
        raise unknown("experiment", name, [*groups, *EXPERIMENTS], "the name of an experiment or of a group")
    return chosen


def claims_of(*papers: str) -> Iterator[tuple[Experiment, Claim]]:
    """Return the claims on the given papers' figures, by default on all."""
    return ((one, claim) for paper in papers or PAPERS for one in select(paper) for claim in one.claims)


def load_summary(name: str, scale: str = "paper", seed: int = 0) -> pd.DataFrame | None:
    """Return the bundled table of an experiment; None if there is none for that scale and seed.

    Its provenance: ``rdmacc.sweep.store.read_table(summary_path(name))``.
    """
    path = summary_path(name)
    if not path.exists():
        return None
    table, provenance = read_table(path)
    return table if (provenance["scale"], provenance["seed"]) == (scale, seed) else None


def summary_path(name: str) -> Path:
    """Return the path of an experiment's bundled table, which may not exist."""
    group, _, figure = name.partition(".")
    one = EXPERIMENTS.get(name)
    source = getattr(sys.modules.get(type(one).__module__), "__file__", None) if one is not None else None
    folder = Path(source).parent if source else Path(__file__).parents[1] / group
    return folder / "data" / f"{figure}.parquet"
