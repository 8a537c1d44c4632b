"""Determinism: run one scenario in every way that must give the same result, and name the first event that differs."""

import platform
import time
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from rdmacc import topology, workload
from rdmacc.engine.compare import differences
from rdmacc.engine.select import why_not_compiled
from rdmacc.engine.trace import trace_frame
from rdmacc.errors import SimulationError
from rdmacc.results.result import Result
from rdmacc.show.tables import text_table
from rdmacc.simulation.scenario import Scenario

Way = tuple[str, str, int]
"""Engine, order of events, threads."""
WAYS: tuple[Way, ...] = (
    ("compiled", "time", 1), ("compiled", "windows", 1), ("compiled", "windows", 2), ("simpy", "time", 1),
)  # fmt: skip
_REPEATS = 2


@dataclass(frozen=True)
class Run:
    """One run of a scenario: its settings, its outcome, and the error that ended it, if any."""

    way: Way
    result: Result
    error: str
    wall_s: float

    def __str__(self) -> str:
        engine, order, threads = self.way
        return f"{engine}, order {order}, threads {threads}"


@dataclass(frozen=True)
class Determinism:
    """All runs of a scenario, and how the first mismatch differs from the first run."""

    runs: list[Run]
    found: list[str]

    def text(self) -> str:
        rows = [[*map(str, one.way), one.result.digest(), f"{one.wall_s:.2f}"] for one in self.runs]
        plan = self.runs[0].result.plan
        versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("rdmacc", "numpy", "numba", "simpy"))
        lines = [
            f"{len(self.runs)} runs are equal to the last bit." if not self.found else "Runs of one scenario differ.",
            "",
            f"{len(plan.workload):,} rows under {plan.scheme.name}, seed {plan.seed}; {versions}; Python"
            f" {platform.python_version()}, {platform.system()} {platform.machine()}",
            *(f"All runs end with: {error}" for error in {one.error for one in self.runs if not self.found} - {""}),
            "",
            text_table(["engine", "order", "threads", "digest", "s"], rows, "<<><>"),
            *dict.fromkeys(
                f"\nNot in windows: {one.result.outcome.order.partition(': ')[2]}."
                for one in self.runs
                if one.way[1] == "windows" and one.result.outcome.order != "windows"
            ),
        ]
        return "\n".join([*lines, *([""] if self.found else []), *(f"- {one}" for one in self.found)]) + "\n"


def example() -> Scenario:
    network = topology.fat_tree(4)
    work = workload.permutation(network, "200kB", seed=1)
    return Scenario(network=network, workload=work, scheme="dcqcn", seed=1)


def determinism(scenario: Scenario) -> Determinism:
    """Run a scenario twice on each engine, in each order of events, and on one and two threads; compare all runs.

    Without a compiled engine only SimPy runs, twice.
    """
    ways = [way for way in WAYS if way[0] == "simpy" or not why_not_compiled()]
    run = partial(_run, scenario)
    turns = [way for way in ways for _ in range(_REPEATS)]
    first, *others = runs = [run(way) for way in tqdm(turns, desc="rdmacc determinism", unit="run", leave=False)]
    for other in others:
        found = differences(first.result.outcome, other.result.outcome)
        found += [f"error: {first.error!r} and {other.error!r}"] if first.error != other.error else []
        if found:
            where = _first_event(*(run(one.way, has_trace=True) for one in (first, other)))
            return Determinism(runs, [f"{first} and {other}:", *where, *found])
    return Determinism(runs, [])


def _run(scenario: Scenario, way: Way, has_trace: bool = False) -> Run:
    begin, (engine, order, threads) = time.perf_counter(), way
    trace = scenario.trace or has_trace
    simulation = scenario.simulation(engine=engine, order=order, threads=threads, trace=trace)
    error = ""
    try:
        result = simulation.run(scenario.until, progress=False)
    except SimulationError as ended:  # a stall or a deadlock, which must be identical too
        result, error = simulation.result(), str(ended)
    return Run(way, result, error, time.perf_counter() - begin)


def _first_event(one: Run, other: Run) -> list[str]:
    traces = [run.result.outcome.trace for run in (one, other) if run.result.outcome.trace is not None]
    shared = min(map(len, traces))
    at = np.flatnonzero(traces[0][:shared] != traces[1][:shared])
    row = int(at[0]) if len(at) else shared
    if row == max(map(len, traces)):
        return ["with a trace, which takes events in the order of time, no event of a packet differs"]
    frames = [trace_frame(trace[row : row + 1], one.result.plan.fabric) for trace in traces]
    shown = (", ".join(f"{name} {frame[name].iloc[0]}" for name in frame if len(frame)) for frame in frames)
    return [f"event {row} of a packet: " + "; and: ".join(each or "nothing" for each in shown)]


def report(scenario: Scenario, out: Path | None) -> tuple[str, bool]:
    """Return the report on a scenario, and whether all runs are equal; write the report to `out` if given."""
    found = determinism(scenario)
    text = found.text()
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    return text, not found.found
