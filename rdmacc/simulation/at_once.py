"""Simulations that run to their end in one call."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from rdmacc.engine.plan import checked_seed, plan_of, setting_of
from rdmacc.engine.select import give_back
from rdmacc.errors import ConfigError
from rdmacc.errors.typed import named
from rdmacc.faults import Fault
from rdmacc.probes import Probe
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.simulation.copies import resumed
from rdmacc.simulation.running import Running, is_checked
from rdmacc.simulation.stepwise import Simulation
from rdmacc.topology.fabric import Fabric
from rdmacc.units import Quantity
from rdmacc.workload.columns import is_list
from rdmacc.workload.schedule import Workload


@named
def simulate(
    network: nx.Graph[Any],
    workload: Workload,
    scheme: str | Scheme,
    *,
    engine: str = "auto",
    seed: int = 0,
    until: Quantity | None = None,
    probes: Sequence[Probe] = (),
    faults: Sequence[Fault] = (),
    trace: bool = False,
    explain: bool | Sequence[Hashable] = False,
    check: bool | None = None,
    order: str = "auto",
    threads: int = 1,
    progress: bool | None = None,
    checkpoint: str | Path | None = None,
    every: float | str | None = None,
) -> Result:
    """Simulate a workload on a network under a scheme.

    Parameters
    ----------
    network : Graph
        The network; see `rdmacc.topology`.
    workload : DataFrame, Schedule or Recipe
        The messages; see `rdmacc.workload`.
    scheme : str or Scheme
        What runs on hosts and switches, such as ``"dcqcn"``.
    engine : str
        "auto", "simpy" or "compiled".
    seed : int
        Seed of all randomness.
    until : number or str, optional
        Stop before the events of this time, such as ``"5ms"``. Default: when every message is finished.
    probes : sequence of Probe
        What to record; see `rdmacc.probes`.
    faults : sequence of Fault
        Faults to inject; see `rdmacc.faults`.
    trace : bool
        Record every packet's events, for `Result.packet_trace`.
    explain : bool or sequence of hashable
        True records what explains completion times, for `Result.explain`; a list names the messages to explain; see
        `Simulation`.
    check : bool, optional
        Catch errors in handlers; see `Simulation`. Default: only for handlers from outside the package.
    order : str
        "auto", "time" or "windows"; see `Simulation`.
    threads : int
        Threads of the compiled engine; see `Simulation`.
    progress : bool, optional
        Show a progress bar; by default only if the run takes more than a second.
    checkpoint : str or Path, optional
        File to which the state is written during the run. If it exists, the run continues from it, so the same call
        resumes a run that was killed. It is deleted when the result is returned, and kept after an exception.
    every : float or str, optional
        Wall time between two checkpoints, in seconds or as a string such as "10min", which is the default.

    Returns
    -------
    Result
        Flows, probes and counters as data frames, with plots.

    Examples
    --------
    >>> import rdmacc
    >>> result = rdmacc.simulate(rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "64kB"), "dcqcn", engine="simpy")
    >>> result.flows.slowdown.round(2).tolist()
    [1.71, 1.72]
    """
    if every is not None and checkpoint is None:
        raise ConfigError("every", every, "given with checkpoint")
    simulation = Simulation(
        network, workload, scheme, engine=engine, seed=seed, probes=probes, faults=faults, trace=trace,
        explain=explain, check=check, order=order, threads=threads,
    )  # fmt: skip
    if checkpoint is not None:
        simulation = resumed(simulation, checkpoint, "10min" if every is None else every)
    result = simulation.run(until, progress=progress)
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)
    give_back(simulation.engine)
    return result


@named
def simulate_many(
    network: nx.Graph[Any],
    workloads: Workload | Iterable[Workload],
    schemes: str | Scheme | Iterable[str | Scheme],
    seeds: int | Iterable[int] = 1,
    *,
    engine: str = "auto",
    until: Quantity | None = None,
    probes: Sequence[Probe] = (),
    faults: Sequence[Fault] = (),
    check: bool | None = None,
    threads: int = 1,
) -> Iterator[Result]:
    """Simulate every combination of workload, scheme and seed, one after another.

    Results are the same as those of `simulate`. A short run takes a third of the time, because what the runs have in
    common is set up only once.

    Parameters
    ----------
    network : Graph
        The network.
    workloads : DataFrame, Schedule, Recipe or iterable of these
        One workload, or several; a generator is read as the runs proceed.
    schemes : str, Scheme or iterable
        One scheme, or several.
    seeds : int or iterable of int
        Number of seeds, counted from 0, or a list of them.
    engine, until, probes, faults, check, threads
        As in `simulate`.

    Returns
    -------
    iterator of Result
        Ordered by workload, then by scheme, then by seed. The frames of a result are built on demand.

    Raises
    ------
    ConfigError
        If an argument is invalid. An invalid workload raises it when its turn comes.

    Examples
    --------
    >>> import rdmacc
    >>> work = rdmacc.incast(["h1", "h2"], "h0", "64kB")
    >>> runs = rdmacc.simulate_many(rdmacc.star(3), work, ["dcqcn", "hpcc"], seeds=3)
    >>> [(run.scheme_name, run.plan.seed) for run in runs]
    [('dcqcn', 0), ('dcqcn', 1), ('dcqcn', 2), ('hpcc', 0), ('hpcc', 1), ('hpcc', 2)]
    """
    works = [workloads] if isinstance(workloads, Workload) else workloads
    several: Iterable[Any] = schemes if is_list(schemes) else [schemes]
    chosen = list(map(as_scheme, several))
    numbers = list(map(checked_seed, seeds if is_list(seeds) else range(checked_seed(seeds))))
    for name, value in (("workloads", works), ("probes", probes), ("faults", faults)):
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ConfigError(name, value, "a list")
    fabric = Fabric.from_graph(network)

    def results() -> Iterator[Result]:
        for work in works:
            for scheme in chosen:
                setting, is_own = None, is_checked(scheme, check)
                for seed in numbers:
                    begin = time.perf_counter()
                    if setting is None or setting.is_drawn:
                        setting = setting_of(fabric, work, scheme, seed)
                    plan = plan_of(setting, seed, probes=probes, faults=faults, is_checked=is_own)
                    running = Running(plan, engine, "auto", threads, begin)
                    yield running.to(until)
                    give_back(running.engine)

    return results()
