"""Studies: schemes, parameters and seeds compared in one call, computed in parallel, stored, with confidence intervals.

A study is a sweep without an experiment class: pass the network and the workload, or functions of the varied
parameters.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.engine.select import check_threads, why_not_compiled
from rdmacc.errors import ConfigError
from rdmacc.errors.typed import checked_flag, named, typed
from rdmacc.faults import Fault
from rdmacc.probes import Probe
from rdmacc.results.folders import read_folder, write_folder
from rdmacc.results.summary import check_window
from rdmacc.schemes import Scheme
from rdmacc.show.late_bar import LateBar
from rdmacc.show.tables import Tabular
from rdmacc.sweep.processes import pickled, shared_out
from rdmacc.sweep.run import SweepError, sweep
from rdmacc.sweep.seeds import check_seed, check_seeds
from rdmacc.sweep.store import Store
from rdmacc.sweep.study_runs import (
    FLOWS,
    QUANTITIES,
    Measured,
    StudyRun,
    StudyRuns,
    measured_here,
    measured_in,
    named_schemes,
    numbers_of,
    runs_of,
    values_of,
)
from rdmacc.sweep.study_tables import (
    SHOWN,
    StudyComparison,
    StudyExplanation,
    cells_of,
    compared,
    explained,
    intervals,
)
from rdmacc.sweep.workers import Failed, check_executor, default_jobs
from rdmacc.topology import Graph
from rdmacc.units import Quantity
from rdmacc.workload.columns import is_list

if TYPE_CHECKING:
    from rdmacc.sweep.plots import StudyPlots

__all__ = ["Study", "study"]

_log = logging.getLogger(__name__)

_WORTH_KEEPING = 4e6
"""Bytes of a run's workload below which storing and looking up the run takes longer than simulating it."""

_WORTH_A_POOL = 20e9
"""Bytes of workload, over all runs, above which starting processes pays off: about ten seconds of simulation."""

_BLOCK = 64
"""Short runs per call to a process."""


@dataclass(eq=False, repr=False)
class Study(Tabular):
    """The results of a study. ``study.plot`` draws them; `print` it, or let a notebook display it.

    Attributes
    ----------
    runs : DataFrame
        One row per simulation: `scheme`, a column for each varied parameter, `seed`, and a column for each quantity,
        with its unit in the name as in `Summary`: `fct_mean_ps, fct_median_ps, fct_p99_ps, slowdown_mean,
        slowdown_median, slowdown_p99, goodput_bps, offered_bps, carried_bps, peak_queue_bytes, marked_packets,
        pfc_pauses, drops, retransmissions, timeouts, unfinished`. If a scheme lacks a parameter, its value is missing.
    flows : DataFrame
        One row per message of each simulation: the same labels, `start_ps, size_bytes, fct_ps, slowdown`.
    parameters : tuple of str
        The varied parameters, besides scheme and seed.
    failures : mapping
        Reasons for missing rows, by simulation.
    reused : int
        Number of simulations that came from the store.
    """

    runs: pd.DataFrame
    flows: pd.DataFrame
    parameters: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    reused: int = 0
    _points: Sequence[StudyRun] = ()
    """The simulation of each row of `runs`; empty if the study was loaded."""

    @property
    def table(self) -> pd.DataFrame:
        """`runs` in long form: labels, `quantity`, `value`, `unit`; one row per number."""
        labels = ["scheme", *self.parameters, "seed"]
        rows = self.runs.melt(id_vars=labels, var_name="quantity", value_name="value")
        return rows.assign(unit=rows["quantity"].map(QUANTITIES))

    @property
    def plot(self) -> StudyPlots:
        """Plots of the study; each takes `ax` and returns the Axes."""
        from rdmacc.sweep.plots import StudyPlots  # imported on first use, because it draws

        return StudyPlots(self.runs, self.flows, self.parameters)

    @typed
    def summary(self, *quantities: str, confidence: float = 0.95) -> pd.DataFrame:
        """Return mean and confidence interval over the seeds, with one row per scheme and parameter value.

        Parameters
        ----------
        *quantities : str
            Columns of `runs`; default: all.
        confidence : float
            Confidence level of the interval, by Student's t over the seeds, which are independent runs. Missing with
            one seed.

        Returns
        -------
        DataFrame
            Indexed by `scheme` and the parameters; columns by (quantity, "mean" | "low" | "high"), and `seeds`.

        Raises
        ------
        ConfigError
            If there is no such quantity, or `confidence` is not between 0 and 1.
        """
        return intervals(self.runs, ["scheme", *self.parameters], quantities or tuple(QUANTITIES), confidence)

    @typed
    def compare(self, baseline: str, *quantities: str, confidence: float = 0.95) -> StudyComparison:
        """Return how much the other schemes differ from one, seed by seed.

        The runs of one seed have the same messages, so their difference varies less than either run. Intervals of means
        may overlap although every seed shows the same difference.

        Parameters
        ----------
        baseline : str
            Name of a scheme. The other schemes are compared with its runs at the same parameter values and seed.
        *quantities : str
            Columns of `runs`; default: those that the study shows.
        confidence : float
            Confidence level of the interval of the mean difference, by Student's t over the seeds. Missing with one
            seed.

        Returns
        -------
        StudyComparison
            Prints as a table; `frame` has the numbers.

        Raises
        ------
        ConfigError
            If there is no such scheme, quantity or other scheme, if the baseline has several runs that one run could be
            compared with, or if `confidence` is not between 0 and 1.
        """
        return compared(self.runs, self.parameters, baseline, quantities or SHOWN, confidence)

    @typed
    def explain(self, scheme: str, baseline: str) -> StudyExplanation:
        """Say what a scheme gains over another, and where: all runs of both are repeated with ``explain=True``.

        Parameters
        ----------
        scheme, baseline : str
            Names of two schemes.

        Returns
        -------
        StudyExplanation
            Prints as a table of the mean time per message, by kind; `frame` has it by kind and place, too.

        Raises
        ------
        ConfigError
            If there is no such scheme, the study was loaded from a folder, or no message was delivered.
        """
        return explained(self._points, self.runs["scheme"].tolist(), scheme, baseline)

    @typed
    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Write the study into a folder, Parquet and JSON, for `Study.load`.

        Parameters
        ----------
        folder : path
            Target folder; created if it does not exist.
        replace : bool
            Whether to replace an existing saved study.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        ConfigError
            If the folder is a symbolic link, or contains files other than a saved study that may be replaced.
        """
        about = {"parameters": list(self.parameters), "failures": dict(self.failures), "reused": self.reused}
        return write_folder(folder, "study", about, {"runs": self.runs, "flows": self.flows}, replace=replace)

    @classmethod
    def load(cls, folder: str | Path) -> Study:
        """Load a study that `Study.save` wrote; parameter values that are objects have become strings.

        Parameters
        ----------
        folder : path
            The folder.

        Raises
        ------
        ConfigError
            If there is no saved study, or it was changed.
        """
        about, frames = read_folder(folder, "study", ("runs", "flows"))
        parameters, failures, reused = about.get("parameters"), about.get("failures"), about.get("reused")
        if not (isinstance(parameters, list) and isinstance(failures, dict) and isinstance(reused, int)):
            raise ConfigError("folder", str(folder), "a folder that Study.save wrote")
        return cls(frames["runs"], frames["flows"], tuple(map(str, parameters)), failures, reused)

    def _table(self) -> tuple[str, list[str], list[list[str]]]:
        seeds = self.runs["seed"].nunique()
        title = f"{len(self.runs)} runs, {seeds} seeds" + (": mean ± 95% confidence" if seeds > 1 else "")
        title += f"; {len(self.failures)} FAILED, see .failures" if self.failures else ""
        return title, *cells_of(self.summary(*SHOWN))


@named
def study(
    network: Graph | Callable[..., Graph],
    workload: pd.DataFrame | Callable[..., pd.DataFrame],
    schemes: str | Scheme | Iterable[str | Scheme] | Mapping[str, str | Scheme],
    *,
    vary: Mapping[str, Iterable[Any]] | None = None,
    seeds: int | Iterable[int] = 1,
    until: Quantity | None = None,
    window: tuple[Quantity, Quantity] | None = None,
    probes: Sequence[Probe] = (),
    faults: Sequence[Fault] = (),
    check: bool | None = None,
    engine: str = "auto",
    jobs: int | None = None,
    threads: int = 1,
    executor: Executor | None = None,
    store: Store | Path | str | None = None,
    progress: bool = True,
) -> Study:
    """Simulate every combination of schemes, parameter values and seeds.

    Parameters
    ----------
    network : networkx.Graph or callable
        The network, or a function that returns it and takes any of the parameters in `vary`, and `seed`, by name.
    workload : DataFrame or callable
        The workload, or a function that returns it and takes arguments in the same way.
    schemes : str, Scheme, iterable or mapping
        Schemes to compare; a mapping sets their names in tables and plots. Schemes of the same name are distinguished
        by the parameters in which they differ.
    vary : mapping, optional
        Values by parameter: an argument of `network` or `workload`, otherwise a parameter of the schemes that have it,
        such as ``{"load": [0.3, 0.6], "g": [1 / 256, 1 / 16]}``.
    seeds : int or iterable of int
        Number of independent runs of each combination, or a list of seeds.
    until, probes, faults, check, engine
        As in `rdmacc.simulate`.
    window : (start, end), optional
        Times such as ``("1ms", "5ms")``: count only messages that start at or after the first and before the second, to
        exclude the warm-up and the end, when the load falls. Queues, marks, drops and other totals cover the whole run.
        Changing the window does not rerun anything.
    jobs : int, optional
        Number of processes. Default: one per processor, but 1 for short studies, and for runs of less than 4 MB where
        this process cannot be forked: on systems other than Linux, or beside threads that are not daemons.
    threads : int
        Threads of each run, as in `rdmacc.simulate`. The default number of processes is divided by it.
    executor : concurrent.futures.Executor, optional
        Executor to use instead of local processes, such as ``dask.distributed.Client.get_executor()``.
    store : Store or path, optional
        Where to keep runs, so that the same call continues where it stopped; default: the user's own store, if a run of
        the first seed has more than 4 MB. A scheme with a component that is defined in a function runs in this process
        and is not stored.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Study
        A frame of all runs, a frame of all messages, a summary with confidence intervals, and plots.

    Raises
    ------
    ConfigError
        If an argument is invalid, before anything runs.
    SweepError
        If every run failed. If only some fail, the others are returned, and `Study.failures` has the reasons.

    Examples
    --------
    >>> import rdmacc
    >>> senders = [f"h{i}" for i in range(1, 5)]
    >>> found = study(
    ...     rdmacc.star(5), lambda size: rdmacc.incast(senders, "h0", size), ["dcqcn", "dart"],
    ...     vary={"size": ["8kB", "64kB"]}, engine="simpy", progress=False,
    ... )
    >>> len(found.runs)
    4
    """
    if window is not None:
        check_window(window)
    named = named_schemes(schemes)
    values = values_of(vary, network, workload, named)
    for name, given in (("probes", probes), ("faults", faults)):
        if not isinstance(given, list | tuple):
            raise ConfigError(name, given, "a list")
    check = None if check is None else checked_flag("check", check, "True, False or None")
    check_threads(threads)
    check_executor(executor)
    chosen = [check_seed(one) for one in seeds] if is_list(seeds) else list(range(check_seeds(seeds) or 1))  # type: ignore[arg-type]
    if not chosen or len(set(chosen)) != len(chosen):
        raise ConfigError("seeds", seeds, "at least one seed, without repeats")
    fixed = {"until": until, "probes": probes, "faults": faults, "check": check}
    runs = runs_of(network, workload, named, values, chosen, fixed)
    is_default = store is None and jobs is None and executor is None and threads == 1 and engine != "simpy"
    first = [one for one in runs if one.labels["seed"] == chosen[0]]
    chosen_schemes, can_be_sent = [one.scenario.scheme for one in first], False
    with suppress(ConfigError):
        can_be_sent = bool(pickled(chosen_schemes, "schemes", None, "such as can be sent"))
    is_light = is_default and not why_not_compiled() and all(one.cost <= _WORTH_KEEPING for one in first)
    if is_light or not can_be_sent:
        return _study(runs, _here(runs, engine, threads, progress), 0, tuple(values), window)
    jobs = (default_jobs(threads) if sum(one.cost for one in runs) > _WORTH_A_POOL else 1) if jobs is None else jobs
    found = sweep(
        StudyRuns(runs), engine=engine, store=store, jobs=jobs, threads=threads, executor=executor, progress=progress,
    )  # fmt: skip
    measured = {name: measured_in(table) for name, table in found.tables.items()}
    return _study(runs, {**measured, **found.failures}, found.reused, tuple(values), window)


def _here(runs: Sequence[StudyRun], engine: str, threads: int, progress: bool) -> dict[str, Measured | Failed]:
    """Compute runs in this process, and in forks of it if that takes long; store nothing."""
    blocks = [runs[first : first + _BLOCK] for first in range(0, len(runs), _BLOCK)]
    outcomes: list[Measured | Failed] = []
    with closing(LateBar(len(runs), 1.0 if progress else inf, desc="study", unit="run", leave=False)) as bar:
        for found in shared_out(partial(measured_here, engine=engine, threads=threads), blocks, default_jobs()):
            outcomes += found
            bar.update(len(found))
    return dict(zip((one.name for one in runs), outcomes, strict=True))


def _study(
    points: Sequence[StudyRun], found: Mapping[str, Measured | Failed], reused: int, parameters: tuple[str, ...],
    window: Any,
) -> Study:  # fmt: skip
    failures = {name: one for name, one in found.items() if isinstance(one, Failed)}
    for name, failed in failures.items():
        _log.warning("rdmacc: %s failed: %s", name, failed.reason)
    done = [point for point in points if point.name not in failures]
    if not done:
        raise SweepError("study", failures, len(points))
    rows, flows = [], []
    for point in done:
        values, messages = numbers_of(found[point.name], window)  # type: ignore[arg-type]
        rows.append({**point.labels, **values})
        flows.append(messages)
    runs = pd.DataFrame(rows)
    labels = runs[[*done[0].labels]].loc[runs.index.repeat([len(one["start_ps"]) for one in flows])]
    columns = {name: np.concatenate([one[name] for one in flows]) for name in FLOWS}
    reasons = {name: failed.reason for name, failed in failures.items()}
    return Study(runs, labels.reset_index(drop=True).assign(**columns), parameters, reasons, reused, done)
