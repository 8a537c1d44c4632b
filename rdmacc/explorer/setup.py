"""What the explorer shows: a small scenario under one to three schemes, and the same as Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.errors import ConfigError, unknown
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, scheme, scheme_table
from rdmacc.simulation import simulate
from rdmacc.topology import Graph

__all__ = ["NETWORKS", "WORKS", "Setup", "movable"]

NETWORKS = ("star", "dumbbell", "leaf-spine")
WORKS = ("incast", "incast beside a long flow", "two long flows", "permutation", "web search")
_MOST_SCHEMES = 3
_WATCHED = 3
"""Flows whose rate is drawn."""
_LONG = 10
"""A long flow is so many times as large as the messages of an incast."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A small scenario.

    Attributes
    ----------
    network : str
        One of `NETWORKS`.
    hosts : int
        Number of hosts, 4 to 32.
    rate_gbps, delay_us : float
        Of every link.
    work : str
        One of `WORKS`.
    size_kb : float
        Of each message; of web search, the load is what counts.
    load : float
        Of web search, a fraction of the hosts' links.
    seed : int
        Of all randomness.
    schemes : tuple of str
        One to three registered schemes.
    changes : mapping
        Parameters that are not their defaults, by scheme: names as in `Scheme.replace`.

    Raises
    ------
    ConfigError
        If a value is not allowed.
    """

    network: str = "star"
    hosts: int = 9
    rate_gbps: float = 100.0
    delay_us: float = 1.0
    work: str = "incast beside a long flow"
    size_kb: float = 64.0
    load: float = 0.5
    seed: int = 0
    schemes: tuple[str, ...] = ("dcqcn",)
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, known in (("network", NETWORKS), ("work", WORKS)):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)
        if not 4 <= self.hosts <= 32:
            raise ConfigError("hosts", self.hosts, "4 to 32")
        if not 1 <= len(self.schemes) <= _MOST_SCHEMES or len(set(self.schemes)) < len(self.schemes):
            raise ConfigError("schemes", self.schemes, f"one to {_MOST_SCHEMES} different schemes")
        if not 0 < self.load < 1:
            raise ConfigError("load", self.load, "between 0 and 1")

    def build(self) -> Graph:
        """Return the network."""
        graph: Graph = self._network().make()
        return graph

    def messages(self, network: Graph) -> pd.DataFrame:
        """Return the workload.

        Parameters
        ----------
        network : networkx.Graph
            What `build` returns.
        """
        frame: pd.DataFrame = self._work(network).make(network)
        return frame

    def scheme(self, name: str) -> Scheme:
        """Return one of the schemes, with its changed parameters.

        Parameters
        ----------
        name : str
            Its name.
        """
        return scheme(name, **self.changes.get(name, {}))

    def run(self) -> dict[str, Result]:
        """Simulate, and return a result for each scheme.

        Returns
        -------
        dict of Result
            By scheme.
        """
        network = self.build()
        work = self.messages(network)
        receiver = topology.hosts(network)[0]
        (switch,) = network[receiver]
        watched = [probes.queue(switch, receiver), *map(probes.rate, range(min(_WATCHED, len(work))))]
        return {
            name: simulate(network, work, self.scheme(name), seed=self.seed, probes=watched, progress=False)
            for name in self.schemes
        }

    def to_python(self) -> str:
        """Return a script that does the same with rdmacc alone."""
        network = self.build()
        receiver = topology.hosts(network)[0]
        (switch,) = network[receiver]
        watched = min(_WATCHED, len(self.messages(network)))
        lines = [
            "import matplotlib.pyplot as plt", "import rdmacc", "",
            f"network = {self._network()}",
            f"work = {self._work(network)}",
            f"probes = [rdmacc.probes.queue({switch!r}, {receiver!r}), *map(rdmacc.probes.rate, range({watched}))]",
            "", "results = {}",
        ]  # fmt: skip
        for name in self.schemes:
            changes = self.changes.get(name, {})
            given = f", **{dict(changes)!r}" if changes else ""
            lines.append(
                f"results[{name!r}] = rdmacc.simulate("
                f"network, work, rdmacc.scheme({name!r}{given}), seed={self.seed}, probes=probes)"
            )
        lines += [
            "", "figure, axes = plt.subplots(1, 3, figsize=(15, 4))", "for name, result in results.items():",
            "    print(result.summary())", "    result.plot.rates(axes[0], label=name)",
            "    result.plot.queues(axes[1], label=name)", "    result.plot.fct_cdf(axes[2], label=name)", "plt.show()",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def _network(self) -> _Call:
        links = {"rate": f"{self.rate_gbps:g}Gbps", "delay": f"{self.delay_us:g}us"}
        half = max(2, self.hosts // 2)
        if self.network == "star":
            return _Call("star", self.hosts, **links)
        if self.network == "dumbbell":
            return _Call("dumbbell", half, half, **links)
        return _Call("leaf_spine", 2, 2, half, **links)

    def _work(self, network: Graph) -> _Call:
        hosts, size = topology.hosts(network), f"{self.size_kb:g}kB"
        receiver, last, next_to_last = hosts[0], hosts[-1], hosts[-2]
        if self.work == "incast":
            return _Call("incast", hosts[1:], receiver, size)
        if self.work == "incast beside a long flow":
            long = _Call("long_flows", [(last, receiver)], f"{_LONG * self.size_kb * self.hosts / 8:g}kB")
            return _Call("combine", long, _Call("incast", hosts[1:-1], receiver, size, start="50us"))
        if self.work == "two long flows":
            later = f"{_LONG * self.size_kb * 8 / self.rate_gbps / 4:g}us"
            pairs = [(last, receiver), (next_to_last, receiver)]
            return _Call("long_flows", pairs, f"{_LONG * self.size_kb:g}kB", ["0us", later])
        if self.work == "permutation":
            return _Call("permutation", hosts, size, seed=self.seed)
        return _Call("poisson", _NETWORK, "web_search", self.load, count=40, seed=self.seed)


class _Network:
    """Stands for the network in a call that needs it."""

    def __repr__(self) -> str:
        return "network"


_NETWORK = _Network()


class _Call:
    """A call of one of rdmacc's builders: to make, and as text to write down."""

    def __init__(self, name: str, *given: Any, **named: Any) -> None:
        self._name, self._given, self._named = name, given, named

    def make(self, network: Graph | None = None) -> Any:
        """Make the call, with that network where it needs one."""
        given = [
            network if one is _NETWORK else one.make(network) if isinstance(one, _Call) else one for one in self._given
        ]
        module = topology if hasattr(topology, self._name) else workload
        return getattr(module, self._name)(*given, **self._named)

    def __repr__(self) -> str:
        named = [f"{name}={value!r}" for name, value in self._named.items()]
        return f"rdmacc.{self._name}({', '.join([*map(repr, self._given), *named])})"


def movable(name: str) -> list[dict[str, Any]]:
    """Return the parameters of a scheme's control, marking and buffer that a slider can set.

    Parameters
    ----------
    name : str
        A registered scheme.

    Returns
    -------
    list of dict
        Rows of `rdmacc.scheme_table`, with `name` as `Scheme.replace` takes it, `low` and `high`: a factor of 16 around
        the default, within what is allowed. A 0, which often means something else, has no slider.
    """
    made = scheme(name)
    parts = {type(part): part for part in (*made.control, *made.switch, made.buffer)}
    rows = []
    for row in scheme_table(made):
        kind = next((kind for kind in parts if kind.__name__ == row["component"]), None)
        value = row["value"]
        if kind is None or isinstance(value, bool | str) or not value > 0:
            continue
        allowed = next(one.metadata for one in dataclasses.fields(kind) if one.name == row["parameter"])  # type: ignore[arg-type]
        least, most = allowed["low"], allowed["high"]
        low, high = max(value / 16, least or 0), min(value * 16, float("inf") if most is None else most)
        if isinstance(value, int):
            low, high = max(1, round(low)), round(high)
        if low < high:
            rows.append({**row, "name": f"{row['component']}.{row['parameter']}", "low": low, "high": high})
    return rows
