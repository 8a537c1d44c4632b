"""Describe a point as plain data, and compute the key of its stored rows: a hash of the description and of its code."""

import dataclasses
import datetime
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Protocol

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.records import NEVER
from rdmacc.scenario import Scenario
from rdmacc.schemes import as_scheme
from rdmacc.sweep.codehash import UncertainError, code_hash, versions
from rdmacc.sweep.processes import pickled
from rdmacc.topology import Graph
from rdmacc.units import time_ps

_LITERAL = (Decimal, Fraction, PurePath, datetime.date, datetime.timedelta, type(pd.NA))
"""Types whose values are told apart by their text."""

_PLAIN_DATA = "plain data: numbers, strings, lists, mappings, arrays, frames, components"


class PointLike(Protocol):
    """The interface of a point; see `rdmacc.experiments.Point`.

    Its name is unique within the experiment, its labels tell it from the others, its cost is its relative run time.
    """

    @property
    def name(self) -> str: ...

    @property
    def scenario(self) -> Scenario | None: ...

    @property
    def labels(self) -> Mapping[str, Any]: ...

    @property
    def cost(self) -> float: ...


class Fingerprints:
    """Describes points. Points often share a network or a workload, so each of these is built and hashed once."""

    def __init__(self) -> None:
        self._known: dict[bytes, dict[str, Any]] = {}
        self._codes: dict[Any, str] = {}

    def describe(self, point: PointLike) -> dict[str, Any]:
        """Return everything except the code that a point's rows depend on, as JSON data.

        Networks and workloads are described by their size and a hash of their content.
        """
        try:
            labels = _plain(point.labels, f"labels of {point.name}")
        except UncertainError as error:
            raise ConfigError(f"labels of {point.name}", dict(point.labels), f"plain data ({error})") from None
        described = {"point": point.name, "labels": labels}
        one = point.scenario
        if one is None:
            return described
        scenario = {
            "network": self._built(one.network, _network),
            "workload": self._built(one.workload, _messages),
            "scheme": _plain(as_scheme(one.scheme), "scheme"),
            "seed": one.seed,
            "until_ps": NEVER if one.until is None else time_ps(one.until, field="until"),
            "probes": _plain(list(one.probes), "probes"),
            "faults": _plain(list(one.faults), "faults"),
            "trace": one.trace,
        }
        return described | {"scenario": scenario}

    def code(self, experiment: Any, point: PointLike) -> dict[str, Any]:
        """Return the hash of the code that computes the point, and the versions that numbers depend on."""
        kinds: frozenset[type[Any]] = frozenset()
        if point.scenario is not None:
            one, scheme = point.scenario, as_scheme(point.scenario.scheme)
            parts = (*scheme.components, scheme.buffer, scheme.queueing, scheme, *one.probes, *one.faults)
            kinds = frozenset(map(type, parts))
        owner = _owner(experiment)
        if (owner, kinds) not in self._codes:
            self._codes[owner, kinds] = code_hash(experiment, owner, kinds)
        return {"hash": self._codes[owner, kinds], "versions": versions()}

    def _built(self, value: Any, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        if not callable(value):
            return describe(value)
        call = pickled(value, "topology or workload", value, "picklable, such as a functools.partial")
        if call not in self._known:
            self._known[call] = describe(value())
        return self._known[call]


def identify(experiment: Any, points: Mapping[str, PointLike]) -> dict[str, dict[str, Any]]:
    """Return the identity of each point for its stored file, by name: names, key, description and code.

    If something that it depends on cannot be told, `uncertain` says what, and its rows must not be stored.
    """
    prints = Fingerprints()
    name = _owner(experiment).name
    found = {}
    for unique, point in points.items():
        identity: dict[str, Any] = {
            "experiment": name,
            "point": point.name,
            "code": {"hash": "", "versions": versions()},
        }
        try:
            identity["code"] = prints.code(experiment, point)
            identity["describes"] = prints.describe(point)
            identity["key"] = key_of(name, identity["describes"], identity["code"])
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


def key_of(experiment: str, described: Mapping[str, Any], code: Mapping[str, Any]) -> str:
    """Return the key: 32 hexadecimal digits."""
    text = json.dumps({"experiment": experiment, "point": described, "code": code}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _network(graph: Graph) -> dict[str, Any]:
    names = {name: json.dumps(_plain(name, "node"), sort_keys=True) for name in graph}
    if len({*names.values()}) < len(names):
        twice = next(name for name, count in Counter(names.values()).items() if count > 1)
        raise UncertainError(f"two nodes of the network are both described as {twice}")
    numbers = {name: number for number, name in enumerate(names)}
    nodes = [[names[name], _plain(data, "node")] for name, data in graph.nodes(data=True)]
    edges = [
        [numbers[one], numbers[other], _plain(data, "link")] for one, other, data in graph.edges(data=True)
    ]  # fmt: skip
    digest = hashlib.sha256(json.dumps([nodes, edges], sort_keys=True).encode()).hexdigest()
    name = str(graph.graph.get("name", ""))
    return {"name": name, "nodes": len(nodes), "links": len(edges), "sha256": digest}


def _messages(frame: pd.DataFrame) -> dict[str, Any]:
    if not isinstance(frame, pd.DataFrame):
        raise ConfigError("workload", frame, "a DataFrame or a callable that returns one")
    return {"messages": len(frame), "sha256": _frame_digest(frame)}


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
            codes, distinct = pd.factorize(np.array([_text(value, str(name)) for value in column], object))
        digest.update(codes.astype(np.int64).tobytes())
        digest.update("\n".join(_text(value, str(name)) for value in distinct).encode())
    return digest.hexdigest()


def _text(value: Any, field: str) -> str:
    return json.dumps(_plain(value, field), sort_keys=True)


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
    if isinstance(value, list | tuple):
        return [_plain(item, field) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(item, field) for item in value), key=repr)
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return _plain(value.tolist(), field)
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"shape": list(value.shape), "dtype": str(value.dtype), "sha256": content}
    if isinstance(value, pd.DataFrame):
        return {"rows": len(value), "sha256": _frame_digest(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            one.name: _plain(getattr(value, one.name), f"{field}, {one.name}") for one in dataclasses.fields(value)
        }
        return {"type": _name_of(type(value)), **fields}
    raise UncertainError(str(ConfigError(field, value, _PLAIN_DATA)))


def _name_of(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
