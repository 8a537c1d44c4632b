"""The scenarios that a search explores: an incast, long flows, victims and faults on a small network."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

from rdmacc.engine.select import give_back
from rdmacc.errors import SimulationError
from rdmacc.faults import Clocks, Fault, LinkDown, Loss, PauseStorm
from rdmacc.interface import Parameters, Rate, Size, Time, param
from rdmacc.interface.described import describes
from rdmacc.interface.parameters import fields_of
from rdmacc.probes import Probe
from rdmacc.results.result import Result
from rdmacc.schemes import SCHEMES, Scheme, as_scheme
from rdmacc.schemes.evidence import parameter_rows
from rdmacc.simulation import IS_QUIET
from rdmacc.simulation.scenario import Scenario
from rdmacc.topology import Graph, completed, leaf_spine, star
from rdmacc.units import format_rate, format_size, format_time, ps, time_ps
from rdmacc.workload import messages

_PATIENCE = 20
"""A run ends after this many times the time that all bytes take on one link, but not before `_LEAST_PS`."""
_LEAST_PS = 10_000_000_000
_NETWORKS = ("star", "leaf-spine", "ring")
_RING = 5
"""Switches of a ring: an odd number, so that shortest paths are unique."""
MOST_EVENTS = 5_000_000
"""A search stops a run after this many events; most runs take about ten thousand."""
_CHECKS = tuple(2**power for power in range(10, -1, -1))
_FORMATS = {"ps": format_time, "bps": format_rate, "bytes": format_size}

_described = describes(scheme="str or Scheme: The scheme.", engine="str: As in `rdmacc.simulate`.")


@dataclass(frozen=True, kw_only=True)
class Case(Parameters):
    """A small scenario: a single message by default, to which each field adds.

    ``h0`` receives the incast and the long flows. On a star, all hosts are on one switch; on a leaf-spine of two leaves
    and two spines, the receivers are on the first leaf and the senders on the second. On a ring of five switches, hosts
    are dealt to the switches in turn, and long flows go two switches further: five of them can deadlock under PFC.

    Examples
    --------
    >>> import rdmacc
    >>> case = rdmacc.Case(senders=8, size_bytes="32kB", long_flows=1)
    >>> print(case.line("dcqcn"))
    rdmacc.Case(senders=8, size_bytes="32 kB", long_flows=1).run("dcqcn")
    """

    network: Literal["star", "leaf-spine", "ring"] = param("star", "the network", choices=_NETWORKS)
    rate_bps: Rate = param("100Gbps", "rate of the links", low=1e9, slider=("10Gbps", "400Gbps"))
    delay_ps: Time = param("1us", "delay of a link", slider=("200ns", "5us"), is_log=True)
    senders: int = param(1, "messages of the incast, each from its own host", low=1, high=512, slider=(1, 32))
    size_bytes: Size = param("64kB", "size of each message", low=1, slider=("1kB", "500kB"), is_log=True)
    stagger_ps: Time = param("0ps", "time between the messages' starts", slider=("0us", "20us"))
    rounds: int = param(1, "messages that each sender sends one after another", low=1, high=100, slider=(1, 3))
    long_flows: int = param(0, "long flows from other hosts, from time 0", low=0, high=64, slider=(0, 3))
    long_bytes: Size = param("1MB", "size of each long flow", low=1, slider=("200kB", "2MB"), is_log=True)
    after_ps: Time = param("0ps", "start of the incast", slider=("0us", "50us"))
    victims: int = param(0, "messages from the senders' hosts to an idle host", low=0, high=512, slider=(0, 4))
    slow: float = param(1.0, "rate of the receiver's link, over the others'", low=0.001, high=1.0, slider=(0.25, 1.0))
    buffer_share: float = param(1.0, "buffers, over the default", low=0.001, high=100.0, slider=(0.1, 1.0), is_log=True)
    loss: float = param(0.0, "share of data packets that links lose", low=0.0, high=1.0, slider=(0.0, 0.001))
    control_loss: float = param(0.0, "share of other packets that links lose", low=0.0, high=1.0, slider=(0.0, 0.001))
    down_ps: Time = param(
        "0ps", "how long the receiver's link is down, from 10 us after the first start", slider=("0us", "20us")
    )
    storm_ps: Time = param("0ps", "how long the receiver's NIC pauses its switch", slider=("0us", "20us"))
    jitter_ps: Time = param("0ps", "jitter of the hosts' clocks", slider=("0ns", "500ns"))
    seed: int = param(0, "seed of all randomness", low=0, high=2**31 - 1)

    @_described
    def scenario(self, scheme: str | Scheme, engine: str = "auto", probes: tuple[Probe, ...] = ()) -> Scenario:
        """Return the scenario under a scheme, with an end time in case the scheme never completes it.

        Parameters
        ----------
        probes : tuple of Probe
            What to record.
        """
        return Scenario(
            network=self._graph(), workload=messages(self._rows()), scheme=scheme, engine=engine, seed=self.seed,
            until=ps(self.horizon_ps), faults=self._faults(), probes=probes,
        )  # fmt: skip

    @_described
    def run(self, scheme: str | Scheme, engine: str = "auto", *, explain: bool = False) -> Result:
        """Simulate the case.

        Parameters
        ----------
        explain : bool
            Record what explanations need.
        """
        one = self.scenario(scheme, engine)
        return one.simulation(explain=explain).run(one.until, progress=False)

    @_described
    def line(self, scheme: str | Scheme) -> str:
        """Return the line of Python that runs the case; the scheme's changed parameters are part of it."""
        units = {one.name: one.metadata["unit"] for one in fields_of(self)}
        parts = [f"{name}={_written(value, units[name])}" for name, value in self.changed().items()]
        return f"rdmacc.Case({', '.join(parts)}).run({_scheme_text(as_scheme(scheme))})"

    @property
    def horizon_ps(self) -> int:
        """Latest end of a run."""
        total = sum(size for _, _, size, _ in self._rows())
        busy_ps = total * 8e12 / (self.rate_bps * self.slow)
        last_ps = self.after_ps + self.senders * self.stagger_ps + self.stopped_ps
        return int(max(_PATIENCE * busy_ps, _LEAST_PS)) + last_ps

    @property
    def stopped_ps(self) -> int:
        """Time for which the receiver's link carries nothing."""
        return self.down_ps + self.storm_ps

    def _rows(self) -> list[tuple[Hashable, Hashable, int, Any]]:
        first = self._per_leaf if self.network == "leaf-spine" else 2
        names = [f"h{first + i}" for i in range(self.senders + self.long_flows)]
        rows: list[tuple[Hashable, Hashable, int, Any]] = [
            (name, self._end_of(name), self.long_bytes, ps(0)) for name in names[self.senders :]
        ]
        starts = [self.after_ps + i * self.stagger_ps for i in range(self.senders)]
        for _ in range(self.rounds):
            rows += [(name, "h0", self.size_bytes, ps(at)) for name, at in zip(names, starts, strict=False)]
        rows += [(names[i % self.senders], "h1", self.size_bytes, ps(self.after_ps)) for i in range(self.victims)]
        return rows

    def _end_of(self, long_flow: str) -> str:
        return f"h{(int(long_flow[1:]) + 2) % _RING}" if self.network == "ring" else "h0"

    @property
    def _per_leaf(self) -> int:
        return max(2, self.senders + self.long_flows)

    def _graph(self) -> Graph:
        rate, delay = self.rate_bps, ps(self.delay_ps)
        if self.network == "star":
            graph = star(2 + self.senders + self.long_flows, rate=rate, delay=delay)
        elif self.network == "ring":
            graph = _ring(max(_RING, 2 + self.senders + self.long_flows), rate, delay)
        else:
            graph = leaf_spine(2, 2, self._per_leaf, rate=rate, delay=delay)
        graph.edges["h0", self._switch]["rate_bps"] = rate * self.slow
        for _, node in graph.nodes(data=True):
            if "buffer_bytes" in node:
                node["buffer_bytes"] = max(10_000, int(node["buffer_bytes"] * self.buffer_share))
        return graph

    @property
    def _switch(self) -> str:
        return "leaf0" if self.network == "leaf-spine" else "s0"

    def _faults(self) -> tuple[Fault, ...]:
        at = self.after_ps + 10_000_000
        found: list[Fault] = []
        if self.loss or self.control_loss:
            found.append(Loss(data=self.loss, control=self.control_loss))
        if self.down_ps:
            found.append(LinkDown(link=("h0", self._switch), at_ps=at, until_ps=at + self.down_ps))
        if self.storm_ps:
            found.append(PauseStorm(host="h0", at_ps=at, until_ps=at + self.storm_ps))
        if self.jitter_ps:
            found.append(Clocks(jitter_ps=self.jitter_ps))
        return tuple(found)


def _ring(hosts: int, rate: float, delay: Any) -> Graph:
    graph = Graph(name="ring")
    graph.add_edges_from([(f"s{i}", f"s{(i + 1) % _RING}") for i in range(_RING)], rate=rate, delay=delay)
    graph.add_edges_from([(f"h{i}", f"s{i % _RING}") for i in range(hosts)], rate=rate, delay=delay)
    return completed(graph)


def _written(value: Any, unit: str) -> str:
    if unit not in _FORMATS or not isinstance(value, int | float):
        return repr(value) if not isinstance(value, str) else f'"{value}"'
    return f'"{_FORMATS[unit](value, None)}"'


def _scheme_text(scheme: Scheme) -> str:
    """Return the Python text of a scheme: its name, and the parameters that differ from the registered scheme."""
    registered = as_scheme(scheme.name) if scheme.name in SCHEMES else scheme
    both = (parameter_rows(one, {}, None) for one in (scheme, registered))
    own, plain = ({f"{row['component']}.{row['parameter']}": row for row in rows} for rows in both)
    changes = [
        f'"{name}": {_written(row["value"], row["unit"])}'
        for name, row in own.items()
        if name in plain and row["value"] != plain[name]["value"]
    ]
    return f'rdmacc.scheme("{scheme.name}", **{{{", ".join(changes)}}})' if changes else f'"{scheme.name}"'


class TooLongError(SimulationError):
    """A case took more events than a search allows."""

    def __init__(self, result: Result, most_events: int) -> None:
        self.result = result
        super().__init__(f"stopped at {format_time(result.now_ps)} after {most_events:,} events")


def quietly(scenario: Scenario, most_events: int = MOST_EVENTS) -> Result:
    """Run a scenario without warnings, which are normal in a search; raise `TooLongError` after too many events.

    Events are checked at fixed fractions of the horizon (`_CHECKS`), so the outcome is the same on any machine.
    """
    token = IS_QUIET.set(True)
    try:
        assert scenario.until is not None
        simulation, until_ps = scenario.simulation(), time_ps(scenario.until, field="until")
        for part in _CHECKS:
            simulation.run_to(until_ps // part)
            if simulation.is_finished:
                break
            if simulation.engine.events > most_events:
                raise TooLongError(simulation.result(), most_events)
        result = simulation.result()
        give_back(simulation.engine)
        return result
    finally:
        IS_QUIET.reset(token)


def rounded(value: float, digits: int) -> float:
    """Return a number with `digits` significant digits."""
    return round(value, digits - 1 - math.floor(math.log10(abs(value)))) if value else value
