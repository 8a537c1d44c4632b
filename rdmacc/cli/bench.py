"""Benchmarks: packet-hops per second and memory of each engine.

A packet-hop is one packet sent by one port: a data packet that crosses a star makes two, its ACK two more. Data and
control packets are counted separately, because control packets are cheaper to simulate. Each case runs in its own
process, to separate memory peaks, and starts with a small run, so that compilation is not timed. ``python -m
rdmacc.cli.bench a simpy 1.0`` is such a process.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdmacc import topology, workload
from rdmacc.cli.bench_cases import CASES, SCHEME, case_of
from rdmacc.engine.select import ENGINES
from rdmacc.errors import ConfigError, RdmaccError, SimulationError
from rdmacc.results.result import Result
from rdmacc.schemes import SCHEMES
from rdmacc.simulation import Simulation, simulate

SCHEMES_CASE, SCHEMES_SCALE = "a", 0.25
"""The case measured for each scheme: an incast of 8."""

TOGETHER_CASE = "dart"
"""The case measured in two processes at once."""

_LEAST_WALL_S, _MOST_RUNS = 1.0, 5
_FIXED_CALLS = 200


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One case on one engine."""

    case: str
    engine: str
    scale: float  # fraction of the case's messages that ran
    messages: int
    data_hops: int
    control_hops: int
    events: int
    wall_s: float  # the shortest of `runs`
    setup_s: float
    warm_up_s: float
    runs: int
    peak_memory_bytes: int  # 0 if the system does not provide it
    scheme: str = SCHEME
    order: str = "auto"
    visits: int = 0  # pairs of a window and a node with events in it
    threads: int = 1
    balance: float = 1.0  # events of all threads, over what they were if all had as many as the busiest
    cpu_s: float = 0.0

    @property
    def hops_per_s(self) -> float:
        """Packet-hops per second, data and control."""
        return (self.data_hops + self.control_hops) / self.wall_s

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Measurement:
        """Return what `to_dict` made, of whatever version."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in content.items() if name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, and the rates of packet-hops."""
        return dataclasses.asdict(self) | {
            "data_hops_per_s": self.data_hops / self.wall_s,
            "control_hops_per_s": self.control_hops / self.wall_s,
            "hops_per_s": self.hops_per_s,
        }


@dataclass(frozen=True)
class FixedCost:
    """The fixed cost of a call of `simulate`: the median time, and the memory that it keeps."""

    engine: str
    calls: int
    wall_s: float
    kept_bytes: float


def run_case(
    name: str, engine: str, scale: float = 1.0, scheme: str | None = None, order: str = "auto", threads: int = 1
) -> Measurement:
    """Run one case in this process, with its own scheme or another."""
    case = case_of(name)
    scheme = case.scheme if scheme is None else scheme
    if not 0.0 < scale <= 1.0:
        raise ConfigError("scale", scale, "more than 0 and at most 1")
    warm_up_s = _warm_up(engine, scheme)
    begin = time.perf_counter()
    graph = case.network()
    work = case.part(graph, scale)
    built_s = time.perf_counter() - begin
    times_s: list[tuple[float, float]] = []
    while not times_s or (len(times_s) < _MOST_RUNS and sum(wall_s for wall_s, _ in times_s) < _LEAST_WALL_S):
        result, cpu_s = _timed(Simulation(graph, work, scheme, engine=engine, order=order, threads=threads))
        times_s.append((result.wall_s, cpu_s))
        gc.collect()  # an engine is a cycle; the peak of memory is that of one
    wall_s, cpu_s = min(times_s)
    return Measurement(
        case=name,
        scheme=scheme,
        engine=result.engine,
        scale=scale,
        messages=len(work),
        data_hops=int(result.counters["data_packet_hops"]),
        control_hops=int(result.counters["control_packet_hops"]),
        events=int(result.counters["events"]),
        wall_s=wall_s,
        cpu_s=cpu_s,
        runs=len(times_s),
        setup_s=built_s + result.setup_s,
        warm_up_s=warm_up_s,
        peak_memory_bytes=_peak_memory_bytes(),
        order=order,
        visits=result.outcome.visits,
        threads=threads,
        balance=result.outcome.balance,
    )


def _timed(simulation: Simulation) -> tuple[Result, float]:
    """Run a simulation; return its result and the time of processors."""
    begin_s = time.process_time()
    return simulation.run(progress=False), time.process_time() - begin_s


def _warm_up(engine: str, scheme: str) -> float:
    """Run a small scenario with the same scheme; return how long it took, set-up and compilation included."""
    begin = time.perf_counter()
    simulate(topology.star(3), workload.incast(["h1", "h2"], "h0", "20kB"), scheme, engine=engine, progress=False)
    return time.perf_counter() - begin


def _peak_memory_bytes() -> int:
    """Return the peak memory of this process; 0 if the system does not provide it (Windows)."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(
    name: str, engine: str, scale: float = 1.0, root: Path | None = None, order: str = "auto", threads: int = 1
) -> Measurement:
    """Run one case in its own process; with `root`, with the code of that checkout."""
    case_of(name)
    command = [sys.executable, "-m", "rdmacc.cli.bench", name, engine, repr(scale)]
    if order != "auto" or threads > 1:
        command += [order, str(threads)] if threads > 1 else [order]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    if done.returncode:
        trouble = done.stderr.strip().splitlines()
        message = trouble[-1].removeprefix("rdmacc: ") if trouble else "no message"
        raise SimulationError(f"case {name} on {engine}: {message}")
    return Measurement.from_dict(json.loads(done.stdout.splitlines()[-1]))


def run(
    engines: Iterable[str],
    names: Iterable[str] = tuple(CASES),
    scale: float | None = None,
    order: str = "auto",
    threads: Sequence[int] = (1,),
    rounds: int = 1,
) -> Iterable[Measurement]:
    """Yield a measurement for each case and engine, and number of threads."""
    chosen = list(engines)
    for name in names:
        kinds = [(engine, count) for engine in chosen for count in (threads if engine == "compiled" else (1,))]
        made: dict[tuple[str, int], list[Measurement]] = {kind: [] for kind in kinds}
        for _ in range(rounds):
            for engine, count in kinds:
                default = case_of(name).simpy_scale if engine == "simpy" else 1.0
                part = default if scale is None else scale
                made[engine, count].append(measure(name, engine, part, order=order, threads=count))
        for several in made.values():
            yield min(several, key=lambda one: one.wall_s)


def run_schemes(engine: str, schemes: Iterable[str] | None = None) -> Iterable[Measurement]:
    """Yield a measurement of one small case for each registered scheme, all in this process."""
    for scheme in SCHEMES if schemes is None else schemes:
        yield run_case(SCHEMES_CASE, engine, SCHEMES_SCALE, scheme)


def fixed_cost(engine: str, calls: int = _FIXED_CALLS) -> FixedCost:
    """Measure the fixed cost of a call of `simulate`, by repeating an incast of 4 x 64 kB on a star."""
    graph, work = topology.star(5), workload.incast(["h1", "h2", "h3", "h4"], "h0", "64kB")
    for _ in range(10):
        simulate(graph, work, SCHEME, engine=engine, progress=False)
    before = _peak_memory_bytes()
    walls_s = []
    for _ in range(calls):
        begin = time.perf_counter()
        simulate(graph, work, SCHEME, engine=engine, progress=False)
        walls_s.append(time.perf_counter() - begin)
    return FixedCost(engine, calls, sorted(walls_s)[calls // 2], (_peak_memory_bytes() - before) / calls)


def together(name: str = TOGETHER_CASE, scale: float = 1.0) -> list[Measurement]:
    """Run one case on the compiled engine in two processes at once; return both measurements."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda _: measure(name, "compiled", scale), range(2)))


def _main(arguments: Sequence[str]) -> None:
    """Run one case and write the measurement to standard output as JSON."""
    try:
        name, engine, scale, order, threads = [*arguments, *("auto", "1")[len(arguments) - 3 :]]
        part, count = float(scale), int(threads)
    except ValueError:
        wanted = "a case, an engine and a scale, such as 'a simpy 1.0'; `rdmacc bench` has options"
        raise ConfigError("arguments", " ".join(arguments), wanted) from None
    if engine not in ENGINES:
        raise ConfigError("engine", engine, f"one of {', '.join(ENGINES)}")
    sys.stdout.write(json.dumps(dataclasses.asdict(run_case(name, engine, part, None, order, count))) + "\n")


if __name__ == "__main__":
    try:
        _main(sys.argv[1:])
    except RdmaccError as error:
        sys.stderr.write(f"rdmacc: {error}\n")
        sys.exit(2)
