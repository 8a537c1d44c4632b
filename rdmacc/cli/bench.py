"""Benchmarks: packet-hops per second and memory of each engine.

A packet-hop is one packet sent by one port: a data packet that crosses a star makes two, its ACK two more. Data and
control packets are counted separately, because control packets are cheaper to simulate. Each case runs in its own
process, to separate memory peaks, and starts with a small run, so that compilation is not timed.
"""

from __future__ import annotations

import gc
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd

import rdmacc
from rdmacc import topology, workload
from rdmacc.caching.sources import git_commit
from rdmacc.clusters.cluster import cluster
from rdmacc.errors import ConfigError, SimulationError
from rdmacc.schemes import SCHEMES
from rdmacc.show.tables import table
from rdmacc.simulation import Simulation, simulate
from rdmacc.units import format_size, size_bytes

MESSAGE_BYTES = size_bytes("1MB")
SCHEME = "dcqcn"


FIXED_GOAL_S = 0.6e-3
"""Goal for the fixed cost of a call of `simulate` on a star of five hosts."""


@dataclass(frozen=True)
class BenchCase:
    name: str
    description: str
    network: Callable[[], nx.Graph[Any]]
    work: Callable[[nx.Graph[Any]], pd.DataFrame]
    simpy_scale: float = 1.0  # so that SimPy takes at most about ten seconds
    scheme: str = SCHEME
    goal_hops_per_s: float = field(kw_only=True)
    goal_memory_bytes: float = field(kw_only=True)
    peer: str = field(default="", kw_only=True)  # what another simulator achieved on the same workload

    def part(self, graph: nx.Graph[Any], scale: float) -> pd.DataFrame:
        whole = self.work(graph)
        return whole.iloc[: max(1, round(scale * len(whole)))]


def _incast(graph: nx.Graph[Any]) -> pd.DataFrame:
    receiver, *senders = topology.hosts(graph)
    return workload.incast(senders, receiver, MESSAGE_BYTES)


def _permutation(graph: nx.Graph[Any]) -> pd.DataFrame:
    return workload.permutation(topology.hosts(graph), MESSAGE_BYTES)


def _random_pairs(graph: nx.Graph[Any], size_bytes: int = MESSAGE_BYTES) -> pd.DataFrame:
    names = topology.hosts(graph)
    return workload.random_pairs(names, len(names), size_bytes)


def _dart(graph: nx.Graph[Any]) -> pd.DataFrame:
    return workload.dart_mix(graph, 0.4, duration="2ms").sort_values("start_ps", kind="stable", ignore_index=True)


_NS3 = "HPCC's simulator (ns-3, 9f4be2a9) {} M/s, 23 November 2026"

CASES = {
    case.name: case
    for case in (
        BenchCase(
            "a", "32-to-1 incast, star, 100 Gb/s", lambda: topology.star(33), _incast,
            goal_hops_per_s=21e6, goal_memory_bytes=0.2e9, peer=_NS3.format(0.92),
        ),
        BenchCase(
            "b", "permutation, 128-host fat tree, 100 Gb/s", lambda: topology.fat_tree(8), _permutation,
            goal_hops_per_s=12.5e6, goal_memory_bytes=0.25e9, peer=_NS3.format(0.77),
        ),
        BenchCase(
            "c", "1,024 random flows, 1,024-host Clos, 10 Gb/s", topology.dart_clos, _random_pairs, 0.25,
            goal_hops_per_s=8.6e6, goal_memory_bytes=0.3e9,
        ),
        BenchCase(
            "dart", "Dart's mix at 40% load for 2 ms, 1,024-host Clos", topology.dart_clos, _dart, 0.1, "dart",
            goal_hops_per_s=9e6, goal_memory_bytes=0.4e9,
        ),
        BenchCase(
            "k16", "1,024 random flows, 1,024-host fat tree, 100 Gb/s", lambda: topology.fat_tree(16), _random_pairs,
            0.1, goal_hops_per_s=8.6e6, goal_memory_bytes=0.3e9,
        ),
        BenchCase(
            "k32", "random flows of 100 kB, 8,192-host fat tree", lambda: topology.fat_tree(32),
            partial(_random_pairs, size_bytes=MESSAGE_BYTES // 10), 0.1,
            goal_hops_per_s=2.6e6, goal_memory_bytes=0.6e9,
        ),
        BenchCase(
            "nscc", "permutation, 8,192-host fat tree, NSCC", lambda: topology.fat_tree(32), _permutation, 0.01, "nscc",
            goal_hops_per_s=1.5e6, goal_memory_bytes=0.7e9,
        ),
    )
}  # fmt: skip
"""The cases by name, with goals for one core of a two-core cloud machine: 1.25 times its speed in 2026.

Messages of 1 MB unless stated otherwise; links of 1 us, or 5 us in the Clos."""


def case_of(name: str) -> BenchCase:
    if name not in CASES:
        raise ConfigError("case", name, f"one of {', '.join(CASES)}")
    return CASES[name]


ROOT = Path(rdmacc.__file__).resolve().parent.parent
"""The folder of the running code."""

_LEAST_WALL_S, _MOST_RUNS = 1.0, 5

Row = dict[str, Any]
"""A measurement of one case on one engine."""


def _check_scale(scale: float) -> None:
    if not 0.0 < scale <= 1.0:
        raise ConfigError("scale", scale, "more than 0 and at most 1")


def run_case(
    name: str, engine: str, scale: float = 1.0, scheme: str | None = None, order: str = "auto", threads: int = 1
) -> Row:
    """Run one case in this process, under `scheme` if given; return the fastest of several runs."""
    case = case_of(name)
    scheme = case.scheme if scheme is None else scheme
    _check_scale(scale)
    begin = time.perf_counter()
    simulate(topology.star(3), workload.incast(["h1", "h2"], "h0", "20kB"), scheme, engine=engine, progress=False)
    warm = time.perf_counter()
    graph = case.network()
    work = case.part(graph, scale)
    built = time.perf_counter()
    times_s: list[tuple[float, float]] = []
    while not times_s or (len(times_s) < _MOST_RUNS and sum(wall_s for wall_s, _ in times_s) < _LEAST_WALL_S):
        simulation = Simulation(graph, work, scheme, engine=engine, order=order, threads=threads)
        begin_cpu_s = time.process_time()
        result = simulation.run(progress=False)
        times_s.append((result.wall_s, time.process_time() - begin_cpu_s))
        del simulation
        gc.collect()  # engines are reference cycles: free the last one before the peak is measured
    wall_s, cpu_s = min(times_s)
    data, control = (int(result.counters[f"{kind}_packet_hops"]) for kind in ("data", "control"))
    speeds = {"data_hops_per_s": data / wall_s, "control_hops_per_s": control / wall_s}
    return speeds | {
        "hops_per_s": (data + control) / wall_s, "case": name, "scheme": scheme, "engine": result.engine,
        "scale": scale, "messages": len(work), "data_hops": data, "control_hops": control,
        "events": int(result.counters["events"]), "wall_s": wall_s, "cpu_s": cpu_s, "runs": len(times_s),
        "setup_s": built - warm + result.setup_s, "warm_up_s": warm - begin, "peak_memory_bytes": peak_memory_bytes(),
        "order": order, "visits": result.outcome.visits, "threads": threads, "balance": result.outcome.balance,
    }  # fmt: skip


def peak_memory_bytes() -> int:
    """Return the peak memory of this process; 0 if the system does not provide it (Windows)."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(
    name: str, engine: str, scale: float = 1.0, root: Path | None = None, order: str = "auto", threads: int = 1
) -> Row:
    """Run one case in its own process, on the checkout at `root` if given."""
    case_of(name)
    try:
        row = _apart(root, "run_case", name, engine, scale, None, order, threads)
    except SimulationError as error:
        raise SimulationError(f"case {name} on {engine}: {error}") from None
    return row | {"hops_per_s": (row["data_hops"] + row["control_hops"]) / row["wall_s"]}  # older checkouts lack it


def _apart(root: Path | None, function: str, *given: Any) -> Row:
    """Call a function of this module in a process of its own, with the code at `root` if given."""
    code = f"import json, sys\nfrom rdmacc.cli.bench import {function} as call\n"
    command = [sys.executable, "-c", f"{code}print(json.dumps(call(*json.loads(sys.argv[1]))))", json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    if done.returncode:
        *_, last = ["no message", *done.stderr.strip().splitlines()]
        raise SimulationError(last.partition("Error: ")[2] or last)
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def run(
    engines: Iterable[str], names: Iterable[str] = tuple(CASES), scale: float | None = None, order: str = "auto",
    threads: Sequence[int] = (1,), rounds: int = 1,
) -> Iterator[Row]:  # fmt: skip
    """Yield a measurement for each case, engine and number of threads: the fastest of interleaved rounds."""
    if scale is not None:
        _check_scale(scale)
    chosen = list(engines)
    for name in names:
        kinds = [(engine, count) for engine in chosen for count in (threads if engine == "compiled" else (1,))]
        rows = []
        for _ in range(rounds):
            for engine, count in kinds:
                default = case_of(name).simpy_scale if engine == "simpy" else 1.0
                part = default if scale is None else scale
                rows.append(measure(name, engine, part, order=order, threads=count))
        for i in range(len(kinds)):
            yield min(rows[i :: len(kinds)], key=lambda row: float(row["wall_s"]))


def run_schemes(engine: str, schemes: Iterable[str] | None = None) -> Iterator[Row]:
    """Yield a measurement of a small 8-to-1 incast for each registered scheme, all in this process."""
    for scheme in SCHEMES if schemes is None else schemes:
        yield run_case("a", engine, 0.25, scheme)


def fixed_cost(engine: str, calls: int = 200) -> Row:
    """Measure the time and the retained memory per call of `simulate`, on an incast of 4 x 64 kB on a star."""
    graph, work = topology.star(5), workload.incast(["h1", "h2", "h3", "h4"], "h0", "64kB")
    walls_s: list[float] = []
    before = 0
    for call in range(10 + calls):
        before = peak_memory_bytes() if call == 10 else before
        begin = time.perf_counter()
        simulate(graph, work, SCHEME, engine=engine, progress=False)
        walls_s.append(time.perf_counter() - begin)
    wall_s = statistics.median(walls_s[10:])
    return {"engine": engine, "calls": calls, "wall_s": wall_s, "kept_bytes": (peak_memory_bytes() - before) / calls}


def together(name: str = "dart", scale: float = 1.0) -> list[Row]:
    """Run one case on the compiled engine in two processes at once; return both measurements."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda _: measure(name, "compiled", scale), range(2)))


# Stored runs


def append_to(path: Path, rows: Iterable[Row]) -> None:
    """Append measurements to a file, each as a line of JSON: a history over commits, readable by pandas."""
    about = {
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"), "commit": git_commit(),
        "version": rdmacc.__version__, "python": platform.python_version(), "numba": metadata.version("numba"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }  # fmt: skip
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(about | row) + "\n" for row in rows)
    except OSError as error:
        raise ConfigError("--record", str(path), f"a file that can be written ({error})") from None


def compared_text(path: Path, names: Iterable[str], rounds: int = 3) -> str:
    """Return a table that compares a file from ``rdmacc bench --json`` with this code on the same cases.

    If the checkout that made the stored run still exists, both versions run alternately, so that other load on the
    machine slows down both. Otherwise this code is compared with the stored numbers.
    """
    try:
        stored = json.loads(path.read_text())
        root = Path(stored["root"])
        wanted = [row for row in stored["measurements"] if row["case"] in set(names)]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConfigError("--compare", str(path), f"a file that `rdmacc bench --json` wrote ({error})") from None
    is_there = root != ROOT and (root / "rdmacc" / "cli" / "bench.py").exists()
    lines = []
    for old in wanted:
        case, engine, scale = old["case"], old["engine"], old["scale"]
        pairs = []
        for _ in range(rounds):
            again = measure(case, engine, scale, root) if is_there else old
            pairs.append((again["hops_per_s"], measure(case, engine, scale)["hops_per_s"]))
        speeds = (f"{statistics.median(side) / 1e6:.2f}" for side in zip(*pairs, strict=True))
        ratio = statistics.median(new / was for was, new in pairs)
        lines.append((f"{case}: {CASES[case].description}", engine, *speeds, f"{ratio:.2f}", str(rounds)))
    headers = ("case", "engine", "before M/s", "after M/s", "ratio", "rounds")
    how = f"alternating with {root}" if is_there else "against the stored numbers, whose code is gone"
    return table(headers, lines, "<<>>>>") + f"\n{how}"


# Tables

_SPEEDS = {"data M/s": "data_hops_per_s", "control M/s": "control_hops_per_s", "total M/s": "hops_per_s"}


def _speeds(row: Row) -> list[str]:
    return [f"{row[name] / 1e6:.2f}" for name in _SPEEDS.values()]


def _decibel(ratio: float) -> str:
    """Return a ratio in dB, positive where the goal is passed: 3 dB are a factor of 2."""
    return f"{10 * math.log10(ratio):+.1f} dB"


def table_text(rows: Sequence[Row]) -> str:
    headers = ["case", "engine", "messages", *_SPEEDS, "to goal", "events", "run s", "set-up s", "memory", "to goal"]
    has_visits, has_threads = any(row["visits"] for row in rows), any(row["threads"] > 1 for row in rows)
    headers += ["events a visit"] * has_visits + ["threads", "balance", "CPU s"] * has_threads
    lines = []
    for row in rows:
        case, memory, is_compiled = CASES[row["case"]], row["peak_memory_bytes"], row["engine"] == "compiled"
        line = [f"{row['case']}: {case.description}", row["engine"]]
        line += [f"{row['messages']:,}" + ("" if row["scale"] == 1.0 else f" ({row['scale']:.0%})"), *_speeds(row)]
        line += [_decibel(row["hops_per_s"] / case.goal_hops_per_s) if is_compiled else "", f"{row['events']:,}"]
        line += [f"{row['wall_s']:.2f}", f"{row['setup_s']:.2f}", format_size(memory, 3)]
        line.append(_decibel(case.goal_memory_bytes / memory) if is_compiled and memory else "")
        line += [f"{row['events'] / row['visits']:.1f}" if row["visits"] else ""] * has_visits
        line += [f"{row['threads']}", f"{row['balance']:.2f}", f"{row['cpu_s']:.2f}"] if has_threads else []
        lines.append(line)
    notes = [f"{name}: compiled is {ratio:.1f} times as fast as simpy" for name, ratio in ratios(rows).items()]
    notes += [f"{name}: {CASES[name].peer}" for name in dict.fromkeys(row["case"] for row in rows) if CASES[name].peer]
    alone = {row["case"]: row["wall_s"] for row in rows if row["threads"] == 1 and row["engine"] == "compiled"}
    notes += [
        f"{row['case']}: {row['threads']} threads are {alone[row['case']] / row['wall_s']:.2f} times as fast as one"
        for row in rows
        if row["threads"] > 1 and row["case"] in alone
    ]
    return "\n".join([table(headers, lines, "<<" + ">" * (len(headers) - 2)), *notes])


def ratios(rows: Iterable[Row]) -> dict[str, float]:
    """Return the ratio of compiled to SimPy in packet-hops per second, for cases measured on both."""
    speed = {(row["case"], row["engine"]): row["hops_per_s"] for row in rows}
    both = [name for name in CASES if {(name, "compiled"), (name, "simpy")} <= set(speed)]
    return {name: speed[name, "compiled"] / speed[name, "simpy"] for name in both}


def schemes_text(rows: Iterable[Row]) -> str:
    lines = [
        (row["scheme"], row["engine"], *_speeds(row), f"{row['events']:,}", f"{row['wall_s']:.3f}") for row in rows
    ]
    return table(("scheme", "engine", *_SPEEDS, "events", "run s"), lines, "<<>>>>>")


def fixed_text(cost: Row) -> str:
    text = f"a call of simulate, {cost['engine']}: {cost['wall_s'] * 1e3:.1f} ms, keeps"
    goal = f"; {_decibel(FIXED_GOAL_S / cost['wall_s'])} of the goal" if cost["engine"] == "compiled" else ""
    return f"{text} {cost['kept_bytes'] / 1024:.1f} KiB{goal}"


def together_text(alone: Row, both: Sequence[Row]) -> str:
    """Return the speed of two processes at once, relative to one alone."""
    rates = " and ".join(f"{row['hops_per_s'] / 1e6:.2f}" for row in both)
    times = sum(row["hops_per_s"] for row in both) / alone["hops_per_s"]
    return (
        f"{alone['case']} twice at once: {rates} M/s, {times:.2f} times one alone ({alone['hops_per_s'] / 1e6:.2f} M/s)"
    )


ALGORITHMS = ("ring", "tree", "hierarchical")


def run_cluster(gpus: int, algorithm: str, scheme: str = "dcqcn", size: str = "1GB") -> Row:
    """Simulate one all-reduce in this process; the time includes building the network and computing busbw."""
    small = cluster(1, 2)
    simulate(small.network, small.all_reduce("1MB", channels=1), small.scheme(scheme), progress=False)  # compile first
    begin = time.process_time()
    made = cluster(gpus // 8, 8, fabric="leaf-spine")
    work = made.schedule("all_reduce", size, algorithm=algorithm)
    result = simulate(made.network, work, made.scheme(scheme), progress=False)
    busbw = float(result.collectives["busbw_gbytes"].iloc[0])
    return {
        "gpus": gpus, "algorithm": algorithm, "scheme": scheme, "rows": len(result.plan.rows.computes),
        "busbw_gbytes": busbw,
        "hops": sum(int(result.counters[f"{kind}_packet_hops"]) for kind in ("data", "control")),
        "events": int(result.counters["events"]), "cpu_s": time.process_time() - begin,
        "peak_memory_bytes": peak_memory_bytes(),
    }  # fmt: skip


def run_clusters(counts: Iterable[int]) -> Iterator[Row]:
    """Yield a measurement for each number of GPUs and algorithm, under DCQCN, and of the ring under NSCC."""
    kinds = [(algorithm, "dcqcn") for algorithm in ALGORITHMS] + [("ring", "nscc")]
    for gpus in counts:
        for kind in kinds:
            yield _apart(None, "run_cluster", gpus, *kind)


def clusters_text(rows: Iterable[Row]) -> str:
    lines = [
        (
            f"{row['gpus']:,}", f"{row['algorithm']}, {row['scheme']}", f"{row['rows']:,}",
            f"{row['hops'] / 1e6:.0f} M", f"{row['events'] / row['hops']:.2f}", f"{row['cpu_s']:.0f} s",
            f"{row['peak_memory_bytes'] / 1e9:.1f} GB", f"{row['busbw_gbytes']:.0f} GB/s",
        )
        for row in rows
    ]  # fmt: skip
    headers = ("GPUs", "algorithm", "rows", "packet-hops", "events a hop", "CPU", "memory", "busbw")
    return table(headers, lines, "><>>>>>>")
