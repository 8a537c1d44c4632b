"""The explorer's setup: a small scenario under one to three schemes, and the equivalent Python code."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from rdmacc import faults, probes, topology, workload
from rdmacc.caching.lifetimes import Kept
from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.interface import Parameters, param
from rdmacc.results.result import Result
from rdmacc.schemes import SCHEMES, Scheme, scheme, scheme_table
from rdmacc.simulation import simulate_many
from rdmacc.topology import Graph

NETWORKS = ("star", "dumbbell", "leaf-spine")
WORKS = ("incast", "incast beside a long flow", "two long flows", "permutation", "web search", "all-reduce")
_OF_FEW = WORKS[:3]
MOST_SCHEMES = 3
_HALVINGS = 30
_LEAST, _MOST = 1e-6, 1e6
_WATCHED = 3
"""Number of flows whose goodput is drawn."""
_PERIODS = 40
"""Most points of a goodput curve, if all flows get their max-min fair shares."""
_PACKETS = 8
"""Fewest packets on a link in a period: with fewer, a curve shows packets rather than rates."""
_OF_A_FLOW = 4
"""Fewest packets of each flow in a period, at its fair share, if single flows are drawn."""
_LONG = 10
"""Size of a long flow, as a multiple of the incast's messages."""
_results = Kept(12)
"""Results, so that a slider of one scheme does not run the others again."""


@dataclass(frozen=True, kw_only=True)
class Setup(Parameters):
    """A small scenario."""

    network: str = param("star", "how the hosts are connected", choices=NETWORKS)
    hosts: int = param(9, "number of hosts", low=4, high=32)
    rate_gbps: float = param(100.0, "rate of every link", low=_LEAST, high=_MOST)
    delay_us: float = param(1.0, "one-way propagation delay of every link", low=_LEAST, high=_MOST)
    work: str = param("incast beside a long flow", "who sends to whom", choices=WORKS)
    size_kb: float = param(
        64.0, "size of a message; a long flow has at least ten times as much", low=_LEAST, high=_MOST
    )
    load: float = param(0.5, "load, as a share of the capacity of the hosts' links", low=_LEAST, high=1 - _LEAST)
    loss: float = param(0.0, "share of the data packets that every link loses", low=0.0, high=0.05)
    seed: int = param(0, "draws messages, paths, marks and losses", low=0)
    schemes: tuple[str, ...] = ("dcqcn",)
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.schemes
        if not isinstance(given, tuple) or not 1 <= len(given) <= MOST_SCHEMES or len(set(given)) < len(given):
            raise ConfigError("schemes", given, f"one to {MOST_SCHEMES} different schemes")
        if not isinstance(self.changes, Mapping) or not all(isinstance(one, Mapping) for one in self.changes.values()):
            raise ConfigError("changes", self.changes, "a mapping from scheme to parameters and values")
        for name in self.changes:
            if name not in SCHEMES:
                raise unknown("changes", name, SCHEMES, "the name of a scheme")

    @cached_property
    def graph(self) -> Graph:
        """The network."""
        graph: Graph = self._network().make()
        return graph

    @property
    def is_of_few(self) -> bool:
        """Whether goodput is drawn per flow rather than for all hosts together."""
        return self.work in _OF_FEW

    @cached_property
    def messages(self) -> pd.DataFrame:
        """The workload."""
        frame: pd.DataFrame = self._work().make(self.graph)
        return frame

    def scheme(self, name: str) -> Scheme:
        """Return one of the schemes, with its changed parameters."""
        return scheme(name).replace(**self.changes.get(name, {}))  # sliders move in base units

    def idle(self) -> frozenset[str]:
        """Return the fields that have no effect on this scenario."""
        load = {"size_kb"} if self.work == "web search" else {"load"}
        return frozenset(load | ({"hosts"} if self.work == "two long flows" else set()))

    @property
    def sharing(self) -> int:
        """The number of flows to the first host."""
        return max(1, int((self.messages["dst"] == topology.hosts(self.graph)[0]).sum()))

    def fair_share_bps(self) -> float:
        """Return the payload rate of each flow to the first host if all of them were active."""
        made = self.scheme(self.schemes[0])
        return self.rate_gbps * 1e9 * made.payload_bytes / made.wire_bytes / self.sharing

    @cached_property
    def fair_fct_ps(self) -> np.ndarray[Any, Any]:
        """The completion times of all messages if each gets its max-min fair share."""
        from rdmacc.models.max_min import MaxMin

        fair = MaxMin(network=self.graph, workload=self.messages, scheme=self.scheme(self.schemes[0]), seed=self.seed)
        return fair.solve()["fct_ps"].to_numpy()

    def run(self) -> dict[str, Result]:
        """Simulate each scheme and return its result; its first probe watches the longest queue of all schemes."""
        receiver = topology.hosts(self.graph)[0]
        (switch,) = self.graph[receiver]
        results = self._run((switch, receiver))
        ports = pd.concat([result.ports for result in results.values()])
        peak = ports[ports["link_class"] != "host_nic"].groupby("port")["peak_queue_bytes"].max()
        is_longest = peak[f"{switch}->{receiver}"] == peak.max()
        return results if is_longest else self._run(tuple(str(peak.idxmax()).split("->")))

    def _run(self, port: tuple[Any, ...]) -> dict[str, Result]:
        end_ps, results = self._end_ps(), dict[str, Result]()
        for name in self.schemes:
            calls = self._probes(port, self._every(name, end_ps))
            alone = replace(self, schemes=(name,), changes={name: self.changes.get(name, {})})
            results[name] = _results.get(f"{alone} {calls}", partial(self._simulate, name, calls))
        return results

    def _simulate(self, name: str, calls: list[_Call]) -> Result:
        watched, broken = ([call.make() for call in some] for some in (calls, self._faults()))
        given = self.graph, self.messages, self.scheme(name)
        (result,) = simulate_many(*given, [self.seed], probes=watched, faults=broken)
        return result

    def _end_ps(self) -> float:
        """Estimate when all messages will have arrived."""
        end_ps: float = (self.messages["start_ps"].to_numpy() + self.fair_fct_ps).max()
        if self.work == "all-reduce":
            end_ps *= len(self.messages) / len(topology.hosts(self.graph))  # its steps wait for each other
        return end_ps

    def _every(self, name: str, end_ps: float) -> str:
        """Return the sampling period of rates: a whole number of packets, or a full link seems to exceed its rate."""
        packet_ps = self.scheme(name).wire_bytes * 8e3 / self.rate_gbps
        least = max(_PACKETS, _OF_A_FLOW * self.sharing) if self.is_of_few else _PACKETS
        return _time(max(least, round(end_ps / _PERIODS / packet_ps)) * packet_ps / 1e6)

    def _faults(self) -> list[_Call]:
        return [_Call("Loss", data=self.loss)] if self.loss else []

    def _probes(self, port: tuple[Any, ...], every: Any) -> list[_Call]:
        if self.is_of_few:
            flows = range(min(_WATCHED, len(self.messages)))
            rates = [_Call("probes.goodput", flow, every) for flow in flows]
        else:
            rates = [_Call("probes.throughput", *self.graph[host], host, every) for host in topology.hosts(self.graph)]
        return [_Call("probes.queue", *port), *rates]

    def to_python(self, results: Mapping[str, Result]) -> str:
        """Return a script that reproduces these results without the explorer."""
        port: Any = next(iter(results.values())).watched[0].at
        lines = [
            "import matplotlib.pyplot as plt", "import rdmacc", "",
            f"network = {self._network()}",
            f"work = {self._work()}",
            "", "",
            "def probes(every):",
            f"    return {self._probes(port, _EVERY)!r}",
            "", "",
            "results = {}",
        ]  # fmt: skip
        lossy = f", faults={self._faults()!r}" if self.loss else ""
        for name, result in results.items():
            changes = self.changes.get(name, {})
            given = f".replace(**{dict(changes)!r})" if changes else ""  # in base units
            every = _time(float(result.watched[1].every_ps or 0) / 1e6)  # a whole number of this scheme's packets
            lines.append(
                f"results[{name!r}] = rdmacc.simulate("
                f"network, work, rdmacc.scheme({name!r}){given}, seed={self.seed}, probes=probes({every!r}){lossy})"
            )
        lines += [
            "", "figure, axes = plt.subplots(1, 3, figsize=(15, 4))", "for name, result in results.items():",
            "    print(result.summary())", "    result.plot.rates(axes[0], label=name)",
            "    result.plot.queues(axes[1], label=name)", "    result.plot.fct_cdf(axes[2], label=name)", "plt.show()",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def _network(self) -> _Call:
        links = {"rate": f"{self.rate_gbps:g}Gbps", "delay": _time(self.delay_us)}
        half = self.hosts // 2
        if self.network == "star":
            return _Call("star", self.hosts, **links)
        if self.network == "dumbbell":
            return _Call("dumbbell", self.hosts - half, half, **links)
        return _Call("leaf_spine", 2, 2, half, **links)

    def _work(self) -> _Call:
        hosts, size = topology.hosts(self.graph), _size(self.size_kb)
        receiver, last, next_to_last = hosts[0], hosts[-1], hosts[-2]
        if self.work == "incast":
            return _Call("incast", hosts[1:], receiver, size)
        if self.work == "incast beside a long flow":
            long = _Call("long_flows", [(last, receiver)], _size(_LONG * self.size_kb * self.hosts / 8))
            return _Call("combine", long, _Call("incast", hosts[1:-1], receiver, size, start="50us"))
        if self.work == "two long flows":
            later = _time(_LONG * self.size_kb * 8 / self.rate_gbps / 4)
            pairs = [(last, receiver), (next_to_last, receiver)]
            return _Call("long_flows", pairs, _size(_LONG * self.size_kb), start=["0us", later])
        if self.work == "permutation":
            return _Call("permutation", hosts, size, seed=self.seed)
        if self.work == "all-reduce":
            return _Call("ring_all_reduce", hosts, _size(max(self.size_kb, len(hosts) / 1e3)))
        return _Call("poisson", _NETWORK, "web_search", self.load, count=40, seed=self.seed)


def _size(size_kb: float) -> str:
    size = max(1, round(size_kb * 1e3))
    return f"{size // 1000}kB" if size % 1000 == 0 else f"{size}B"


def _time(time_us: float) -> str:
    return f"{round(time_us, 6):.6f}".rstrip("0").rstrip(".") + "us"


class _Name:
    """Placeholder for an argument that is filled in when the call is made; prints as its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


_NETWORK, _EVERY = _Name("network"), _Name("every")


class _Call:
    """A call of one of rdmacc's builders, to execute or to print as code."""

    def __init__(self, name: str, *given: Any, **named: Any) -> None:
        self._name, self._given, self._named = name, given, named

    def make(self, network: Graph | None = None) -> Any:
        """Execute the call, with a network if it needs one."""
        given = [
            network if one is _NETWORK else one.make(network) if isinstance(one, _Call) else one for one in self._given
        ]
        if self._name.startswith("probes."):
            return getattr(probes, self._name.removeprefix("probes."))(*given)
        module = next(one for one in (topology, workload, faults) if hasattr(one, self._name))
        return getattr(module, self._name)(*given, **self._named)

    def __repr__(self) -> str:
        named = [f"{name}={value!r}" for name, value in self._named.items()]
        return f"rdmacc.{self._name}({', '.join([*map(repr, self._given), *named])})"


@typed
def movable(name: str) -> list[dict[str, Any]]:
    """Return the parameters that get sliders: those of congestion control (or what replaces it), marking and buffer."""
    made = scheme(name).at(Setup().graph)
    parts = {type(part): part for part in (*(made.control or (made.recovery,)), *made.switch, made.buffer)}
    rows = []
    for row in scheme_table(made):
        kind = next((kind for kind in parts if kind.__name__ == row["component"]), None)
        value = row["value"]
        if kind is None or isinstance(value, bool | str | tuple) or not value > 0:
            continue
        allowed = next(one.metadata for one in dataclasses.fields(kind) if one.name == row["parameter"])  # type: ignore[arg-type]
        least, most = allowed["low"], allowed["high"]
        low, high = max(value / 16, least or 0), min(value * 16, float("inf") if most is None else most)
        if isinstance(value, int):
            low, high = max(1, round(low)), round(high)
        own = f"{row['component']}.{row['parameter']}"
        low, high = _accepted(made, own, value, low), _accepted(made, own, value, high)
        if low < high:
            rows.append({**row, "name": own, "low": low, "high": high})
    return rows


def _accepted(made: Scheme, name: str, value: float, end: float) -> float:
    """Return the end of a range, or the nearest value that the scheme's other parameters allow."""

    def is_accepted(number: float) -> bool:
        try:
            made.replace(**{name: number})
        except ConfigError:
            return False
        return True

    good, bad = value, end
    if is_accepted(end):
        return end
    for _ in range(_HALVINGS):
        middle = (good * bad) ** 0.5
        middle = round(middle) if isinstance(value, int) else middle
        good, bad = (middle, bad) if is_accepted(middle) else (good, middle)
    return good
