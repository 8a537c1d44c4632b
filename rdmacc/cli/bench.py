"""Benchmarks: how many packet-hops a second each engine simulates, and how much memory it takes.

A packet-hop is one packet sent by one port: a data packet that crosses a star makes two, its ACK two more.
Data and control packets are counted apart, since a control packet is cheaper to simulate. Each case runs in
a process of its own, so that peaks of memory do not mix; in it, a small run comes first, so that nothing is
compiled while the clock runs. ``python -m rdmacc.cli.bench a simpy 1.0`` is such a process.
"""

from __future__ import annotations

import dataclasses
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import pandas as pd

from rdmacc import topology, workload
from rdmacc.engine.select import ENGINES
from rdmacc.errors import ConfigError, SimulationError
from rdmacc.results.tables import text_table
from rdmacc.schemes import SCHEMES
from rdmacc.simulation import simulate
from rdmacc.units import format_size, size_bytes

__all__ = [
    "CASES",
    "Case",
    "Measurement",
    "measure",
    "ratios",
    "run",
    "run_case",
    "run_schemes",
    "schemes_text",
    "table_text",
]

MESSAGE_BYTES = size_bytes("1MB")
SCHEME = "dcqcn"
SIMPY_SCALE = {"a": 1.0, "b": 1.0, "c": 0.25}
"""Default part of a case's messages that SimPy runs, so that it takes about ten seconds at most."""

SCHEMES_CASE, SCHEMES_SCALE = "a", 0.25
"""What is measured for each scheme: an incast of 8."""

_LEAST_WALL_S, _MOST_RUNS = 1.0, 5


@dataclass(frozen=True)
class Case:
    """A network and a workload, of which a part may be run.

    Attributes
    ----------
    name, description : str
        For tables.
    network : callable
        Returns the topology.
    work : callable
        Returns the whole workload on it.
    """

    name: str
    description: str
    network: Callable[[], nx.Graph[Any]]
    work: Callable[[nx.Graph[Any]], pd.DataFrame]

    def part(self, graph: nx.Graph[Any], scale: float) -> pd.DataFrame:
        """Return the first `scale` of the messages, at least one."""
        whole = self.work(graph)
        return whole.iloc[: max(1, round(scale * len(whole)))]


def _incast(graph: nx.Graph[Any]) -> pd.DataFrame:
    receiver, *senders = topology.hosts(graph)
    return workload.incast(senders, receiver, MESSAGE_BYTES)


def _permutation(graph: nx.Graph[Any]) -> pd.DataFrame:
    return workload.permutation(topology.hosts(graph), MESSAGE_BYTES)


def _random_pairs(graph: nx.Graph[Any]) -> pd.DataFrame:
    names = topology.hosts(graph)
    return workload.random_pairs(names, len(names), MESSAGE_BYTES)


CASES = {
    case.name: case
    for case in (
        Case("a", "32-to-1 incast, star, 100 Gb/s", lambda: topology.star(33), _incast),
        Case("b", "permutation, 128-host fat tree, 100 Gb/s", lambda: topology.fat_tree(8), _permutation),
        Case("c", "1,024 random flows, 1,024-host Clos, 10 Gb/s", topology.dart_clos, _random_pairs),
    )
}
"""The cases by name. Messages of 1 MB; links of 1 us, in c of 5 us."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One case on one engine.

    Attributes
    ----------
    case, engine, scheme : str
        What ran.
    scale : float
        Part of the case's messages that ran.
    messages : int
        Their number.
    data_hops, control_hops, events : int
        Packet-hops and events.
    wall_s, setup_s, warm_up_s : float
        Time of the run itself, the shortest of `runs`; to build network, workload and engine; and of the
        small run before.
    runs : int
        How often it ran: a case that takes less than a second runs up to five times.
    peak_memory_bytes : int
        Most memory that the process held (resident).
    """

    case: str
    engine: str
    scale: float
    messages: int
    data_hops: int
    control_hops: int
    events: int
    wall_s: float
    setup_s: float
    warm_up_s: float
    runs: int
    peak_memory_bytes: int
    scheme: str = SCHEME

    @property
    def hops_per_s(self) -> float:
        """Packet-hops per second, data and control."""
        return (self.data_hops + self.control_hops) / self.wall_s

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, and the rates of packet-hops."""
        return dataclasses.asdict(self) | {
            "data_hops_per_s": self.data_hops / self.wall_s,
            "control_hops_per_s": self.control_hops / self.wall_s,
            "hops_per_s": self.hops_per_s,
        }


def run_case(name: str, engine: str, scale: float = 1.0, scheme: str = SCHEME) -> Measurement:
    """Run one case with a scheme in this process.

    Raises
    ------
    ConfigError
        If there is no such case or engine, or the scale is not in (0, 1].
    """
    case = _case(name)
    if not 0.0 < scale <= 1.0:
        raise ConfigError("scale", scale, "more than 0 and at most 1")
    warm_up_s = _warm_up(engine, scheme)
    begin = time.perf_counter()
    graph = case.network()
    work = case.part(graph, scale)
    built_s = time.perf_counter() - begin
    result = simulate(graph, work, scheme, engine=engine, progress=False)
    walls_s = [result.wall_s]
    while len(walls_s) < _MOST_RUNS and sum(walls_s) < _LEAST_WALL_S:
        walls_s.append(simulate(graph, work, scheme, engine=engine, progress=False).wall_s)
    return Measurement(
        case=name,
        scheme=scheme,
        engine=result.engine,
        scale=scale,
        messages=len(work),
        data_hops=int(result.counters["data_packet_hops"]),
        control_hops=int(result.counters["control_packet_hops"]),
        events=int(result.counters["events"]),
        wall_s=min(walls_s),
        runs=len(walls_s),
        setup_s=built_s + result.setup_s,
        warm_up_s=warm_up_s,
        peak_memory_bytes=_peak_memory_bytes(),
    )


def _warm_up(engine: str, scheme: str) -> float:
    """Run a small scenario with the same scheme; return how long it took, set-up and compilation included."""
    begin = time.perf_counter()
    simulate(topology.star(3), workload.incast(["h1", "h2"], "h0", "20kB"), scheme, engine=engine, progress=False)
    return time.perf_counter() - begin


def _peak_memory_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(name: str, engine: str, scale: float = 1.0) -> Measurement:
    """Run one case in a process of its own.

    Raises
    ------
    SimulationError
        If the process fails; its last line of errors is the message.
    """
    _case(name)
    command = [sys.executable, "-m", "rdmacc.cli.bench", name, engine, repr(scale)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        trouble = done.stderr.strip().splitlines()
        raise SimulationError(f"case {name} on {engine}: {trouble[-1] if trouble else 'no message'}")
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def run(
    engines: Iterable[str], names: Iterable[str] = tuple(CASES), scale: float | None = None
) -> Iterable[Measurement]:
    """Yield a measurement for each case and engine.

    Parameters
    ----------
    engines : iterable of str
        "simpy", "compiled".
    names : iterable of str
        Cases.
    scale : float, optional
        Part of each case's messages; default: all, and `SIMPY_SCALE` of them for SimPy.
    """
    chosen = list(engines)
    for name in names:
        for engine in chosen:
            default = SIMPY_SCALE[_case(name).name] if engine == "simpy" else 1.0
            yield measure(name, engine, default if scale is None else scale)


def run_schemes(engine: str, schemes: Iterable[str] | None = None) -> Iterable[Measurement]:
    """Yield a measurement of one small case for each registered scheme, all in this process.

    Parameters
    ----------
    engine : str
        "simpy" or "compiled".
    schemes : iterable of str, optional
        Names; all by default.
    """
    for scheme in SCHEMES if schemes is None else schemes:
        yield run_case(SCHEMES_CASE, engine, SCHEMES_SCALE, scheme)


def schemes_text(measurements: Sequence[Measurement]) -> str:
    """Return measurements of schemes as a table."""
    headers = ("scheme", "engine", *_SPEEDS, "events", "run s")
    rows = [(one.scheme, one.engine, *_speeds(one), f"{one.events:,}", f"{one.wall_s:.3f}") for one in measurements]
    return text_table(headers, rows, "<<" + ">" * (len(headers) - 2))


_SPEEDS = ("data M/s", "control M/s", "total M/s")


def _speeds(one: Measurement) -> tuple[str, str, str]:
    hops = (one.data_hops, one.control_hops, one.data_hops + one.control_hops)
    data, control, total = (f"{count / one.wall_s / 1e6:.2f}" for count in hops)
    return data, control, total


def ratios(measurements: Sequence[Measurement]) -> dict[str, float]:
    """Return compiled over SimPy in packet-hops per second, by case, where both were measured."""
    speed = {(one.case, one.engine): one.hops_per_s for one in measurements}
    both = [name for name in CASES if {(name, "compiled"), (name, "simpy")} <= set(speed)]
    return {name: speed[name, "compiled"] / speed[name, "simpy"] for name in both}


def table_text(measurements: Sequence[Measurement]) -> str:
    """Return the measurements as a table, with a line for each ratio under it."""
    headers = ("case", "engine", "messages", *_SPEEDS, "events", "run s", "set-up s", "memory")
    rows = [
        (
            f"{one.case}: {CASES[one.case].description}",
            one.engine,
            f"{one.messages:,}" + ("" if one.scale == 1.0 else f" ({one.scale:.0%})"),
            *_speeds(one),
            f"{one.events:,}",
            f"{one.wall_s:.2f}",
            f"{one.setup_s:.2f}",
            format_size(one.peak_memory_bytes, 3),
        )
        for one in measurements
    ]
    lines = [text_table(headers, rows, "<<" + ">" * (len(headers) - 2))]
    lines += [f"{name}: compiled is {ratio:.1f} times as fast as simpy" for name, ratio in ratios(measurements).items()]
    return "\n".join(lines)


def _case(name: str) -> Case:
    if name not in CASES:
        raise ConfigError("case", name, f"one of {', '.join(CASES)}")
    return CASES[name]


def _main(arguments: Sequence[str]) -> None:
    """Run one case and write the measurement to standard output as JSON."""
    name, engine, scale = arguments
    if engine not in ENGINES:
        raise ConfigError("engine", engine, f"one of {', '.join(ENGINES)}")
    sys.stdout.write(json.dumps(dataclasses.asdict(run_case(name, engine, float(scale)))) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
