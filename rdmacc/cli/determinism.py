"""Determinism: run one scenario in every way that must give the same result, and name the first event that differs."""

import platform
import time
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tqdm.auto import tqdm

from rdmacc import topology, workload
from rdmacc.engine.compare import differences
from rdmacc.engine.select import why_not_compiled
from rdmacc.engine.trace import trace_frame
from rdmacc.errors import SimulationError
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.show.tables import text_table

WAYS = (("compiled", "time", 1), ("compiled", "windows", 1), ("compiled", "windows", 2), ("simpy", "time", 1))
"""Engine, order of events, threads."""
_REPEATS = 2


@dataclass(frozen=True)
class Run:
    """One run of a scenario: how, what came out, and the error that ended it, if any."""

    engine: str
    order: str
    threads: int
    result: Result
    error: str
    wall_s: float


@dataclass(frozen=True)
class Determinism:
    """All runs of a scenario, and how the first one that differs from the first of all does."""

    runs: list[Run]
    found: list[str]

    def text(self) -> str:
        rows = [
            [one.engine, one.order, str(one.threads), one.result.digest(), f"{one.wall_s:.2f}"] for one in self.runs
        ]
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
                if one.order == "windows" and one.result.outcome.order != "windows"
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
    runs = [run(*way) for way in tqdm(turns, desc="rdmacc determinism", unit="run", leave=False)]
    for other in runs[1:]:
        found = _differences(runs[0], other)
        if found:
            where = _first_event(run(*_way(runs[0]), has_trace=True), run(*_way(other), has_trace=True))
            return Determinism(runs, [f"{_named(runs[0])} and {_named(other)}:", *where, *found])
    return Determinism(runs, [])


def _run(scenario: Scenario, engine: str, order: str, threads: int, has_trace: bool = False) -> Run:
    begin = time.perf_counter()
    trace = scenario.trace or has_trace
    simulation = scenario.simulation(engine=engine, order=order, threads=threads, trace=trace)
    error = ""
    try:
        result = simulation.run(scenario.until, progress=False)
    except SimulationError as ended:  # a stall, a deadlock: that must be the same, too
        result, error = simulation.result(), str(ended)
    return Run(engine, order, threads, result, error, time.perf_counter() - begin)


def _way(run: Run) -> tuple[str, str, int]:
    return run.engine, run.order, run.threads


def _named(run: Run) -> str:
    return f"{run.engine}, order {run.order}, threads {run.threads}"


def _differences(one: Run, other: Run) -> list[str]:
    found = differences(one.result.outcome, other.result.outcome)
    return found if one.error == other.error else [*found, f"error: {one.error!r} and {other.error!r}"]


def _first_event(one: Run, other: Run) -> list[str]:
    traces = [run.result.outcome.trace for run in (one, other) if run.result.outcome.trace is not None]
    shared = min(map(len, traces))
    at = np.flatnonzero(traces[0][:shared] != traces[1][:shared])
    row = int(at[0]) if len(at) else shared
    if row == max(map(len, traces)):
        return ["with a trace, which takes events in the order of time, no event of a packet differs"]
    shown = [_event(trace[row : row + 1], one) for trace in traces]
    return [f"event {row} of a packet: {shown[0]}; and: {shown[1]}"]


def _event(rows: npt.NDArray[np.void], run: Run) -> str:
    frame = trace_frame(rows, run.result.plan.fabric)
    return ", ".join(f"{name} {frame[name].iloc[0]}" for name in frame) if len(rows) else "nothing"


def report(scenario: Scenario, out: Path | None) -> tuple[str, bool]:
    """Return the report on a scenario, written to a file if one is given, and whether all runs are equal."""
    found = determinism(scenario)
    text = found.text()
    if out is not None:
        out.write_text(text, encoding="utf-8")
    return text, not found.found
