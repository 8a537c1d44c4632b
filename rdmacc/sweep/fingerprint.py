"""Describe a point as plain data, and compute the key of its stored rows: a hash of the description and of its code.

Three parts of the code count, so that stored rows are never stale. First, the text of rdmacc when it was imported.
Second, the content of the user's functions and classes at run time: the experiment, the parts of the scenario, and
everything they reach (`rdmacc.handlers.content`). Third, for a user's experiment, the text of every user module that
the computing process had imported: the store keeps it with the rows, and checks that it is unchanged
(`rdmacc.caching.sources.are_current`).
"""

import dataclasses
import datetime
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any, Protocol

import numpy as np
import pandas as pd

from rdmacc.caching.sources import installed_text, is_installed, is_standard, own_text, patched, user_sources
from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from rdmacc.interface import NEVER
from rdmacc.schemes import as_scheme
from rdmacc.simulation.scenario import Scenario
from rdmacc.sweep.processes import pickled
from rdmacc.topology import Graph
from rdmacc.units import time_ps
from rdmacc.workload.frame import OPEN

_LITERAL = (Decimal, Fraction, PurePath, datetime.date, datetime.timedelta, type(pd.NA))
"""Types whose values are distinguished by their text."""
_PLAIN_DATA = "plain data: numbers, strings, lists, mappings, arrays, frames, components"

_NO_RESULT = ("cli/", "explorer/", "show/", "experiments/ledger/")
"""Folders that only show or judge results."""
_SHARED = ("framework", "micro", "validation", "__init__.py", "api.py")
"""Folders and files of experiments that others import from."""
_CHOOSING = ("points", "checked_points", "seeded_points", "_runs")
"""Attributes that only select an experiment's points, each of which is described separately."""
_SESSION = ("__main__", "__mp_main__")


class UncertainError(Exception):
    """A point depends on something whose content cannot be determined; its rows are computed but not stored."""


class PointLike(Protocol):
    """The interface of a point; see `rdmacc.experiments.Point`.

    Its name is unique within the experiment, its labels distinguish it, and its cost is its relative run time.
    """

    name: str
    scenario: Scenario | None
    labels: Mapping[str, Any]
    cost: float


def identify(experiment: Any, points: Mapping[str, PointLike]) -> dict[str, dict[str, Any]]:
    """Return the identity of each point for its stored file, by name: names, key, description and code.

    If the content of a dependency cannot be determined, `uncertain` names it, and the rows must not be stored.
    """
    built: dict[bytes, dict[str, Any]] = {}  # points often share a network or a workload
    codes: dict[Any, dict[str, Any]] = {}
    name = _owner(experiment).name
    found = {}
    for unique, point in points.items():
        code: dict[str, Any] = {"hash": "", "versions": versions()}
        identity: dict[str, Any] = {"experiment": name, "point": point.name, "code": code}
        try:
            kinds = _kinds(point)
            if kinds not in codes:
                codes[kinds] = code_of(experiment, point)
            identity["code"] = codes[kinds]
            identity["describes"] = describe(point, built)
            parts = {"experiment": name, "point": identity["describes"], "code": identity["code"]}
            identity["key"] = _digest(parts)[:32]
        except UncertainError as error:
            identity |= {"key": f"unknown, {unique}", "uncertain": str(error)}
        found[unique] = identity
    return found


def _owner(experiment: Any) -> Any:
    """Return the class that defines an experiment's points: its own, or the one that several figures share."""
    kind: Any = type(experiment)
    owner = kind.points_of
    if owner is None:
        return kind
    for name in ("execute", "measure"):
        if getattr(kind, name) is not getattr(owner, name):
            raise ConfigError(
                f"{kind.__name__}.{name}", "overridden", f"inherited from {owner.__name__}, whose points it shares"
            )
    return owner


# The code


def code_of(experiment: Any, point: PointLike) -> dict[str, Any]:
    """Return the hash of the code that computes a point, and the versions that numbers depend on."""
    if changed := patched():
        raise UncertainError(f"{changed} has been changed in this process")
    owner = _owner(experiment)
    own = [kind for kind in owner.__mro__ if is_users(kind)]
    users = [*own, *filter(is_users, _kinds(point))]
    folders = {kind.__module__.split(".")[2] for kind in owner.__mro__ if kind.__module__.startswith("rdmacc.exper")}

    def counts(name: str) -> bool:
        top, _, rest = name.partition("/")
        is_read = bool(users) or (bool(folders) and rest.partition("/")[0] in {*_SHARED, *folders})
        return not name.startswith(_NO_RESULT) and (is_read or top != "experiments")

    state = {name: value for name, value in vars(experiment).items() if name not in _CHOOSING}
    parts = [own_text(counts), *installed_text(_packages(users)).values()]
    try:
        parts.append(content_hash((owner, state), owner.__name__, is_row=True))
        parts += sorted({content_hash(kind, kind.__name__, is_row=True) for kind in users})
    except ConfigError as error:
        raise UncertainError(str(error)) from None
    unknown = [name for name, text in user_sources().items() if text is None] if own else []
    if unknown:
        what = "this session has no text that rdmacc can see" if unknown[0] == "__main__" else (
            f"{unknown[0]} was edited after it was imported, and rdmacc was imported later: start again"
        )  # fmt: skip
        raise UncertainError(what)
    return {"hash": hashlib.sha256("\n".join(parts).encode()).hexdigest(), "versions": versions()}


def _kinds(point: PointLike) -> frozenset[type[Any]]:
    """Return the classes of the parts of a point's scenario."""
    if point.scenario is None:
        return frozenset()
    one, scheme = point.scenario, as_scheme(point.scenario.scheme)
    return frozenset(map(type, (*scheme.components, scheme.buffer, scheme.queueing, scheme, *one.probes, *one.faults)))


def is_users(kind: type[Any]) -> bool:
    """Return whether a class is defined outside rdmacc and Python."""
    if kind.__module__ in (*_SESSION, "rdmacc") or kind.__module__.startswith("rdmacc."):
        return kind.__module__ in _SESSION
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    return module is None or (file is not None and not is_standard(Path(file)))


def _packages(kinds: Iterable[type[Any]]) -> set[str]:
    names = {kind.__module__.partition(".")[0] for kind in kinds} - {*_SESSION}
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names}
    return {name for name, file in files.items() if file and is_installed(file)}


def text_of_results() -> str:
    """Return a hash of the text of rdmacc and its models, without what only shows or judges results."""
    return own_text(lambda name: not name.startswith((*_NO_RESULT, "experiments/")))


@cache
def versions() -> dict[str, str]:
    packages = ("numba", "numpy", "pandas", "scipy")
    return {"python": ".".join(map(str, sys.version_info[:2]))} | {name: metadata.version(name) for name in packages}


# The description


def describe(point: PointLike, built: dict[bytes, dict[str, Any]]) -> dict[str, Any]:
    """Return everything except the code that a point's rows depend on, as JSON data.

    Networks and workloads are described by their size and a content hash; shared ones only once.
    """
    try:
        labels = _plain(point.labels, f"labels of {point.name}")
    except UncertainError as error:
        raise ConfigError(f"labels of {point.name}", dict(point.labels), f"plain data ({error})") from None
    described = {"point": point.name, "labels": labels}
    one = point.scenario
    if one is None:
        return described

    def shared(value: Any, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        if not callable(value):
            return describe(value)
        call = pickled(value, "topology or workload", value, "picklable, such as a functools.partial")
        if call not in built:
            built[call] = describe(value())
        return built[call]

    scenario = {
        "network": shared(one.network, _network),
        "workload": shared(one.workload, _messages),
        "scheme": _plain(as_scheme(one.scheme), "scheme"),
        "seed": one.seed,
        "until_ps": NEVER if one.until is None else time_ps(one.until, field="until"),
        "probes": _plain(list(one.probes), "probes"),
        "faults": _plain(list(one.faults), "faults"),
        "trace": one.trace,
    }
    return described | {"scenario": scenario}


def _network(graph: Graph) -> dict[str, Any]:
    names = {name: _json(_plain(name, "node")) for name in graph}
    twice = [name for name, count in Counter(names.values()).items() if count > 1]
    if twice:
        raise UncertainError(f"two nodes of the network are both described as {twice[0]}")
    numbers = {name: number for number, name in enumerate(names)}
    nodes = [[names[name], _plain(data, "node")] for name, data in graph.nodes(data=True)]
    edges = [[numbers[one], numbers[other], _plain(data, "link")] for one, other, data in graph.edges(data=True)]
    name = str(graph.graph.get("name", ""))
    return {"name": name, "nodes": len(nodes), "links": len(edges), "sha256": _digest([nodes, edges])}


def _messages(frame: pd.DataFrame) -> dict[str, Any]:
    if not isinstance(frame, pd.DataFrame):
        raise ConfigError("workload", frame, "a DataFrame or a callable that returns one")
    to_come = {"open_classes": list(frame.attrs[OPEN])} if OPEN in frame.attrs else {}
    return {"messages": len(frame), "sha256": _frame_digest(frame), **to_come}


def _frame_digest(frame: pd.DataFrame) -> str:
    digest = hashlib.sha256()
    for name, column in [("", frame.index.to_series()), *frame.items()]:
        digest.update(repr((str(name), str(column.dtype))).encode())
        values = column.to_numpy()
        if values.dtype.kind in "biuf":
            digest.update(np.ascontiguousarray(values).tobytes())
            continue
        distinct: Any
        try:
            codes, distinct = pd.factorize(column)
        except TypeError:  # lists and arrays, such as paths, have no hash
            codes, distinct = pd.factorize(np.array([_json(_plain(value, str(name))) for value in column], object))
        digest.update(codes.astype(np.int64).tobytes())
        digest.update("\n".join(_json(_plain(value, str(name))) for value in distinct).encode())
    return digest.hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _digest(value: Any) -> str:
    return hashlib.sha256(_json(value).encode()).hexdigest()


def _plain(value: Any, field: str) -> Any:
    """Return a value as JSON data, the same for equal values."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, _LITERAL):
        return {"type": type(value).__name__, "value": str(value)}
    if isinstance(value, Enum):
        return {"type": _name_of(type(value)), "member": value.name}
    if isinstance(value, Mapping):
        items = {key: _plain(item, f"{field}, {key}") for key, item in value.items()}
        if all(isinstance(key, str) for key in items):
            return items
        return {"items": sorted(([_plain(key, field), item] for key, item in items.items()), key=repr)}
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype.kind == "O"):
        return [_plain(item, field) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(item, field) for item in value), key=repr)
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"shape": list(value.shape), "dtype": str(value.dtype), "sha256": content}
    if isinstance(value, pd.DataFrame):
        return {"rows": len(value), "sha256": _frame_digest(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return {"type": _name_of(type(value)), **_plain(fields, field)}
    raise UncertainError(str(ConfigError(field, value, _PLAIN_DATA)))


def _name_of(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
