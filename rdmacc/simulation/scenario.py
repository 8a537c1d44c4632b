"""Scenarios: the arguments of `rdmacc.simulate` as one object, ready to run, cheap to create and to pickle.

A scenario can be written to a TOML file and read back. The file lists the network and the messages row by row, so
reading it takes no code except rdmacc and the classes of the scheme's components.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, get_args

import networkx as nx
import numpy as np
import pandas as pd
import tomli_w

from rdmacc.engine.select import give_back
from rdmacc.errors import ConfigError, written
from rdmacc.errors.typed import check_types, typed
from rdmacc.faults import Fault
from rdmacc.interface import Named
from rdmacc.probes import Probe
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.schemes.tables import scheme_from, scheme_table_of
from rdmacc.simulation.at_once import simulate_many
from rdmacc.simulation.stepwise import Simulation
from rdmacc.topology import Graph, completed, validate
from rdmacc.units import Quantity, time_ps
from rdmacc.workload import messages
from rdmacc.workload.frame import OPEN, open_work

__all__ = ["Scenario"]

_FORMAT = 1
_FAULTS = {kind.__name__: kind for kind in get_args(Fault)}
_GRAPH = ("name", "sides")  # graph attributes that rdmacc uses


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario(Named):
    """The arguments of `rdmacc.simulate`, as one object.

    Attributes
    ----------
    network : networkx.Graph or callable
        The network, or a callable that builds it, such as ``functools.partial(rdmacc.star, 3)``, which is faster to
        send to another process.
    workload : DataFrame or callable
        The messages, or a callable that generates them.
    scheme, engine, seed, until, probes, faults, trace, explain, check
        As in `rdmacc.simulate`.
    """

    network: Graph | Callable[[], Graph]
    workload: pd.DataFrame | Callable[[], pd.DataFrame]
    scheme: str | Scheme
    engine: str = "auto"
    seed: int = 0
    until: Quantity | None = None
    probes: Sequence[Probe] = ()
    faults: Sequence[Fault] = ()
    trace: bool = False
    explain: bool | Sequence[Hashable] = False
    check: bool | None = None

    def make_network(self) -> Graph:
        """Return the network, built if necessary."""
        return self.network() if callable(self.network) else self.network

    def messages(self) -> pd.DataFrame:
        """Return the workload."""
        return self.workload() if callable(self.workload) else self.workload

    def run(self, threads: int = 1) -> Result:
        """Simulate it.

        Parameters
        ----------
        threads : int
            As in `rdmacc.simulate`.
        """
        simulation = self.simulation(threads=threads)
        result = simulation.run(self.until, progress=False)
        give_back(simulation.engine)
        return result

    def runs(self, seeds: Iterable[int], threads: int = 1) -> Iterator[Result]:
        """Simulate it with each of several seeds; what they have in common is set up once."""
        if self.trace or self.explain:
            return (replace(self, seed=seed).run(threads) for seed in seeds)
        return simulate_many(
            self.make_network(), self.messages(), self.scheme, seeds, engine=self.engine, until=self.until,
            probes=self.probes, faults=self.faults, check=self.check, threads=threads,
        )  # fmt: skip

    def simulation(self, **changes: Any) -> Simulation:
        """Return the simulation, ready to run to `until`.

        Parameters
        ----------
        changes : keyword arguments
            Further arguments of `rdmacc.Simulation`, such as ``trace=True``. They override the scenario's.
        """
        own: dict[str, Any] = {
            "engine": self.engine, "seed": self.seed, "probes": self.probes, "faults": self.faults, "trace": self.trace,
            "explain": self.explain, "check": self.check,
        }  # fmt: skip
        return Simulation(self.make_network(), self.messages(), self.scheme, **(own | changes))

    @typed
    def to_toml(self, path: str | Path) -> Path:
        """Write the scenario, with the network and the messages, to a TOML file.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ConfigError
            If the network, the workload or another part is not valid, or a node's name is neither a string nor a whole
            number.
        """
        network = completed(self.make_network())
        validate(network)
        check_types(self)
        work = messages(self.messages())
        if not isinstance(self.explain, bool | np.bool_) and not all(
            isinstance(one, str | int) for one in self.explain
        ):
            raise ConfigError("explain", self.explain, "True, False, or a list of strings or whole numbers")
        content = {
            "format": _FORMAT,
            "rdmacc": metadata.version("rdmacc"),
            "engine": self.engine,
            "seed": int(self.seed),
            "trace": bool(self.trace),
            **({"explain": _listed(self.explain)} if self.explain else {}),
            **({} if self.check is None else {"check": bool(self.check)}),
            **({} if self.until is None else {"until_ps": time_ps(self.until, field="until")}),
            "scheme": scheme_table_of(as_scheme(self.scheme)),
            "probes": [_fields_out(probe) for probe in self.probes],
            "faults": [{"type": type(one).__name__, **_fields_out(one)} for one in self.faults],
            "topology": _network_out(network),
            **({"open_classes": _listed(work.attrs[OPEN])} if OPEN in work.attrs else {}),
            "workload": _work_out(work),
        }
        target = Path(path)
        with written(path):
            target.write_text(tomli_w.dumps(content), encoding="utf-8")
        return target

    @staticmethod
    def from_toml(path: str | Path) -> Scenario:
        """Read a scenario from a TOML file that `to_toml` wrote.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ConfigError
            If the file is not one of these, or names a component that is not imported.
        """
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
            if content["format"] != _FORMAT:
                raise ConfigError("file", str(path), f"a scenario in format {_FORMAT}, not {content['format']}")
            until_ps, work = content.get("until_ps"), _work_in(content["workload"])
            if "open_classes" in content:
                work = open_work(work, content["open_classes"])
            return Scenario(
                network=_network_in(content["topology"]), workload=work,
                scheme=scheme_from(content["scheme"]), engine=content["engine"], seed=content["seed"],
                until=None if until_ps is None else f"{until_ps}ps", trace=content["trace"],
                explain=content.get("explain", False), check=content.get("check"),
                probes=[Probe(**_fields_in(one)) for one in content["probes"]],
                faults=[_FAULTS[one["type"]](**_fields_in(one)) for one in content["faults"]],
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, ConfigError):
                raise
            wanted = f"a scenario that rdmacc wrote ({type(error).__name__}: {error})"
            raise ConfigError("file", str(path), wanted) from None

    @typed
    def with_parameters(self, changes: Mapping[str, Any]) -> Scenario:
        """Return a copy with some of the scheme's parameters changed.

        Parameters
        ----------
        changes : mapping
            New values by parameter name.

        Raises
        ------
        ConfigError
            If the scheme does not have such a parameter, or a value is not allowed.
        """
        return replace(self, scheme=as_scheme(self.scheme).given(changes))


def _fields_out(one: Any) -> dict[str, Any]:
    """Return the fields of a probe or a fault for TOML: without None, and with lists in place of tuples."""
    fields = {each.name: getattr(one, each.name) for each in dataclasses.fields(one)}
    return {name: _listed(value) for name, value in fields.items() if value is not None}


def _fields_in(content: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {name: _tupled(value) for name, value in content.items() if name != "type"}
    if content.get("type") == "ScriptedLoss":
        fields.setdefault("psn", None)
    return fields


def _listed(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_listed(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(one) for one in value) if isinstance(value, list) else value


def _node(name: Any) -> str | int:
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise ConfigError("node", name, "a string or a whole number: a TOML file holds no other node names")
    return name


def _network_out(graph: Graph) -> dict[str, Any]:
    nodes = [
        [_node(name), data["kind"], int(data.get("buffer_bytes", 0)), float(data.get("rate_bps", 0))]
        for name, data in graph.nodes(data=True)
    ]
    links = [
        [_node(one), _node(other), float(data["rate_bps"]), int(data["delay_ps"])]
        for one, other, data in graph.edges(data=True)
    ]
    about = {name: _listed(graph.graph[name]) for name in _GRAPH if graph.graph.get(name)}
    return {**about, "nodes": nodes, "links": links}


def _network_in(content: Mapping[str, Any]) -> Graph:
    graph: Graph = nx.Graph(**{name: _tupled(content[name]) for name in _GRAPH if name in content})
    for name, kind, buffer_bytes, rate_bps in content["nodes"]:
        own = {"buffer_bytes": buffer_bytes} if kind == "switch" else {}
        graph.add_node(name, kind=kind, **own, **({"rate_bps": rate_bps} if rate_bps else {}))
    for one, other, rate_bps, delay_ps in content["links"]:
        graph.add_edge(one, other, rate_bps=rate_bps, delay_ps=delay_ps)
    return graph


def _work_out(work: pd.DataFrame) -> dict[str, Any]:
    frame = messages(work)
    columns: dict[str, Any] = {"message": [_node(one) for one in frame.index.tolist()]}
    for name in frame:
        values = [None if pd.api.types.is_scalar(one) and pd.isna(one) else one for one in frame[name].tolist()]
        if name in ("src", "dst"):
            values = [_node(one) for one in values]
        if any(one is None for one in values):  # TOML has no None
            values = [[] if one is None else [_listed(one)] for one in values]
            name = f"{name}?"
        columns[str(name)] = [_listed(one) for one in values]
    return columns


def _work_in(content: Mapping[str, Any]) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name, values in content.items():
        if name.endswith("?"):
            columns[name[:-1]] = [_tupled(one[0]) if one else None for one in values]
        else:
            columns[name] = [_tupled(one) for one in values]
    index = pd.Index(columns.pop("message"), name="message")
    return messages(pd.DataFrame({name: pd.Series(values, index=index) for name, values in columns.items()}))
