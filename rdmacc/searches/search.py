"""`search`: the worst case of a scheme, or its best parameters, by Optuna's samplers or at random."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.errors import ConfigError, SimulationError, not_installed, unknown
from rdmacc.errors.typed import typed
from rdmacc.models.base import Model
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.searches.case import MOST_EVENTS, Case
from rdmacc.searches.evaluate import Measure, Run, Work, measures_of
from rdmacc.searches.objectives import Objective
from rdmacc.searches.runner import Stored, payload_of, runner, shrunk
from rdmacc.searches.space import Axis, axes_of
from rdmacc.show.late_bar import LateBar
from rdmacc.sweep.seeds import check_seed
from rdmacc.topology.bounds import checked_count
from rdmacc.workload.frame import checked_whole

__all__ = ["Run", "Search", "search"]

_BATCH = 8
"""Runs that the sampler proposes at once, fixed so that the result does not depend on the number of jobs."""
_SAMPLERS: dict[str, tuple[str, dict[str, Any]]] = {
    "tpe": ("TPESampler", {"multivariate": True, "constant_liar": True, "n_startup_trials": 2 * _BATCH}),
    "cma-es": ("CmaEsSampler", {"n_startup_trials": _BATCH}),
    "nsga-ii": ("NSGAIISampler", {"population_size": 2 * _BATCH}),
    "random": ("RandomSampler", {}),
}


@dataclass(eq=False)
class Search:
    """What a search found. `print` it for the worst (or best) run, and the line that repeats it.

    Attributes
    ----------
    runs : list of Run
        All runs, in order.
    work : Work
        The subject, the cases and the objectives.
    goal : str
        "worst" or "best".
    is_complete : bool
        False if Ctrl-C stopped it.
    control : Search, optional
        The same search at random.
    """

    runs: list[Run]
    work: Work
    goal: str
    is_complete: bool = True
    control: Search | None = None
    _axes: tuple[Axis, ...] = field(default=(), repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the objectives."""
        return tuple(map(_name, self.work.measures))

    @typed
    def score(self, run: Run, number: int = 0) -> float:
        """Return how far a run got towards the goal, by one objective: larger is further.

        Parameters
        ----------
        run : Run
            One of `runs`, with a value.
        number : int
            The objective.
        """
        return self.sign(number) * run.objectives[number]

    @typed
    def sign(self, number: int = 0) -> int:
        """Return 1 if the search maximises an objective, otherwise -1.

        Parameters
        ----------
        number : int
            The objective.
        """
        if not 0 <= number < len(self.work.measures):
            raise ConfigError("number", number, f"from 0 to {len(self.work.measures) - 1}")
        measure = self.work.measures[number]
        worse = measure.sign if isinstance(measure, Objective) else 1
        return worse if self.goal == "worst" else -worse

    @property
    def best(self) -> Run:
        """The run that got furthest; with several objectives, by the first."""
        known = [run for run in self.runs if run.objectives]
        if not known:
            why = self.runs[0].problem if self.runs else "none was run"
            raise ConfigError("space", f"{len(self.runs)} runs", f"one in which a run has a value: {why}")
        return max(known, key=lambda run: (self.score(run), -run.number))

    @property
    def front(self) -> list[Run]:
        """The runs that no other run beats in every objective."""
        known = [run for run in self.runs if run.objectives]
        scores = [tuple(self.score(run, i) for i in range(len(self.names))) for run in known]
        return [
            run
            for run, own in zip(known, scores, strict=True)
            if not any(other != own and all(a >= b for a, b in zip(other, own, strict=True)) for other in scores)
        ]

    @property
    def finds(self) -> list[Run]:
        """The runs in which something broke: a deadlock, an error, messages that never complete."""
        return [run for run in self.runs if run.problem and not run.is_refused]

    @property
    def frame(self) -> pd.DataFrame:
        """All runs: `run`, the values, the objectives, `problem`."""
        measured = [dict(zip(self.names, one.objectives, strict=False)) for one in self.runs]
        runs = zip(self.runs, measured, strict=True)
        return pd.DataFrame([{"run": one.number, **one.values, **own, "problem": one.problem} for one, own in runs])

    @typed
    def runs_to(self, score: float) -> int | None:
        """Return how many runs it took to reach a score, or None if no run did.

        Parameters
        ----------
        score : float
            As returned by `score`.
        """
        return next((run.number + 1 for run in self.runs if run.objectives and self.score(run) >= score), None)

    @typed
    def shrink(self, share: float = 0.9, most: int = 60) -> Search:
        """Return a search whose best run is the simplest one found that is still as bad, with a short line of Python.

        Parameters
        ----------
        share : float
            Part of the badness that must remain.
        most : int
            Most runs to spend.
        """
        if not 0.0 <= share <= 1.0:
            raise ConfigError("share", share, "from 0 to 1")
        runs = shrunk(self.work, self.best, self.sign(), share, most)
        return Search(runs[-1:], self.work, self.goal, _axes=self._axes)

    @property
    def case(self) -> Case:
        """The case of the best run."""
        if isinstance(self.work.subject, Model):
            raise ConfigError("case", type(self.work.subject).__name__, "asked of the search of a scheme")
        return self.work.split(self.best.values)[1][0]

    @property
    def subject(self) -> Scheme | Model:
        """The scheme or the model with the values of the best run."""
        return self.work.split(self.best.values)[0]

    @property
    def line(self) -> str:
        """The line of Python that repeats the best run; a line for each case."""
        chosen, cases = self.work.split(self.best.values)
        return "\n".join(one.line(chosen) for one in cases) if isinstance(chosen, Scheme) else repr(chosen)

    def result(self) -> Result:
        """Run the best run's case once more, with explanations."""
        return self.case.run(self.subject, explain=True)

    def explain(self) -> str:
        """Return the line of Python, and where the worst message's time went, or what broke."""
        try:
            result = self.result()
        except SimulationError as error:
            return f"{self.line}\n\n{error}"
        flows = result.flows.sort_values("slowdown", ascending=False)
        return f"{self.line}\n\n{result.explain(flows['flow'].iloc[0])}"

    def __str__(self) -> str:
        ended = "" if self.is_complete else ", stopped"
        best = self.best
        lines = [f"{len(self.runs)} runs{ended}; {self.goal}: {_values(self, best)} in run {best.number + 1}"]
        lines.append(self.line if isinstance(self.subject, Model) or best.values else repr(best))
        if self.control is not None:
            same = self.control.runs_to(self.score(best))
            took = f"{same} runs" if same else f"more than {len(self.control.runs)} runs"
            lines.append(f"by chance: {_values(self.control, self.control.best)}; as far in {took}")
        if self.finds:
            first = self.finds[0]
            lines.append(f"{len(self.finds)} runs broke, such as run {first.number + 1}: {first.problem}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def _name(measure: Measure) -> str:
    return measure.name if isinstance(measure, Objective) else getattr(measure, "__name__", str(measure))


def _values(found: Search, run: Run) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in zip(found.names, run.objectives, strict=True))


@typed
def search(
    scheme: str | Scheme | Model,
    space: Mapping[str, Any] | Iterable[str] | None,
    objective: Any,
    *,
    budget: int = 100,
    seed: int = 0,
    jobs: int = 1,
    goal: str = "worst",
    sampler: str = "tpe",
    cases: Case | Sequence[Case] = (),
    control: bool = False,
    after: Search | None = None,
    storage: str | Path | None = None,
    most_events: int = MOST_EVENTS,
    progress: bool = True,
) -> Search:
    """Search for the values at which a scheme is at its worst, or at its best.

    Parameters
    ----------
    scheme : str, Scheme or Model
        What to run: a scheme in a `Case`, or one of `rdmacc.models`.
    space : mapping or iterable of str, optional
        Ranges ``(low, high)`` or lists of choices by name: fields of `Case`, or parameters of the scheme or the model,
        such as ``{"senders": (1, 32), "Red.kmin_bytes": ("5kB", "400kB")}``. A name without a range, or with None, has
        the range of the parameter's slider. None: all fields of `Case`, or of the model, that have one.
    objective : str, callable or list
        Names from `OBJECTIVES` in `rdmacc.searches.objectives`, or functions of the result; for a model, functions of
        the model, or "distance to model": the largest difference between a simulated and a predicted quantity, over
        the larger of the two (for bytes, at least a packet); it is 1 if one of them is 0. Several give a Pareto front.
    budget : int
        Number of runs.
    seed : int
        Seed of the search. The same seed gives the same runs with any number of jobs.
    jobs : int
        Number of processes.
    goal : {"worst", "best"}
        For a named objective, its worst or best value; for a function, its largest or smallest.
    sampler : {"tpe", "cma-es", "nsga-ii", "random"}
        How Optuna proposes runs.
    cases : Case or sequence of Case
        Cases to start from; with several, objectives are means over them. Default: a single message.
    control : bool
        Also search at random with the same budget, for `Search.control`.
    after : Search, optional
        A search of the same space that measured these objectives, and perhaps others: its runs come first and are not
        run again, so several searches can begin with one sample. `budget` counts new runs only.
    storage : path, optional
        File to which runs are written as they end, an Optuna journal. If it exists, the search resumes from it: to
        continue a search that was killed, repeat the call.
    most_events : int
        A run that takes more events is stopped, and is a find. The limit counts events, not seconds, and is checked
        whenever simulated time has doubled, so that the same runs are stopped on any machine. Five million events take
        about half a second on the compiled engine and half a minute on SimPy.
    progress : bool
        Show a progress bar with the best value.

    Returns
    -------
    Search
        All runs and the best of them. On Ctrl-C, those so far.

    Raises
    ------
    ConfigError
        If an argument is invalid, before anything runs; or if an objective is not a finite number: what ran before is
        kept in `storage`.

    Examples
    --------
    >>> import rdmacc
    >>> found = rdmacc.search("dcqcn", {"senders": (1, 16)}, "peak queue", budget=8, progress=False)
    >>> len(found.runs)
    8
    """
    subject = scheme if isinstance(scheme, Model) else as_scheme(scheme)
    axes = axes_of(subject, space)
    measures = measures_of(subject, objective)
    if cases and isinstance(subject, Model):
        raise ConfigError("cases", cases, "left out with a model, which has its own scenario")
    start = (cases,) if isinstance(cases, Case) else tuple(cases) or (Case(),)
    checked_whole("jobs", jobs, 1)
    if check_seed(seed) >= 2**32:
        raise ConfigError("seed", seed, "below 2**32, as Optuna's are")
    checked_count("budget", budget)
    checked_whole("most_events", most_events, 1)
    if goal not in ("worst", "best"):
        raise ConfigError("goal", goal, "'worst' or 'best'")
    if sampler not in _SAMPLERS:
        raise unknown("sampler", sampler, _SAMPLERS)
    if sampler == "cma-es" and (len(measures) > 1 or any(one.choices for one in axes)):
        raise ConfigError("sampler", sampler, "'tpe' or 'nsga-ii' for choices or several objectives")
    found = Search([], Work(subject, start, measures, most_events), goal, _axes=axes)
    earlier = [] if after is None else _of_these(found, after)
    payload = payload_of(found.work, jobs)
    chance = Search([], found.work, goal, _axes=axes) if control else None
    _optuna()
    stored = Stored(storage, (found.work, axes, goal, seed, *map(repr, earlier)))
    bar = LateBar(budget * (1 + control), 1.0 if progress else float("inf"), desc="search", unit="run", leave=False)
    try:
        with runner(found.work, payload, jobs) as run_all:
            _fill(found, sampler, budget, seed, stored, run_all, bar, earlier)
            if chance is not None:
                _fill(chance, "random", budget, seed, stored, run_all, bar)
    except KeyboardInterrupt:
        found.is_complete = False
    finally:
        bar.close()
    found.control = chance
    return found


def _of_these(found: Search, after: Search) -> list[Run]:
    """Return the runs of an earlier search, reduced to these objectives."""
    if not isinstance(after, Search) or [one.name for one in after._axes] != [one.name for one in found._axes]:
        raise ConfigError("after", after, "a search of the same space")
    if (after.work.subject, after.work.cases) != (found.work.subject, found.work.cases):
        raise ConfigError("after", after.work.subject, "a search of the same scheme or model, with the same cases")
    if missing := [name for name in found.names if name not in after.names]:
        raise ConfigError("after", missing[0], f"a search that measured it, not only {', '.join(after.names)}")
    places = [after.names.index(name) for name in found.names]
    return [replace(one, objectives=tuple(one.objectives[i] for i in places if one.objectives)) for one in after.runs]


def _fill(found: Search, sampler: str, budget: int, seed: int, stored: Stored, run_all: Any, bar: LateBar,
          earlier: Sequence[Run] = ()) -> None:  # fmt: skip
    """Ask for batches of runs, run those that are not stored, and tell the sampler all results in order."""
    optuna = _optuna()
    directions = ["maximize" if found.sign(i) > 0 else "minimize" for i in range(len(found.names))]
    study = optuna.create_study(directions=directions, sampler=_sampler(optuna, sampler, seed))
    for one in earlier:
        study.enqueue_trial(one.values)
        trial = study.ask()
        _ = [axis.ask(trial) for axis in found._axes]
        _tell(study, trial, one)
        found.runs.append(one)
    budget += len(earlier)
    while len(found.runs) < budget:
        trials = [study.ask() for _ in range(min(_BATCH, budget - len(found.runs)))]
        asked = [(trial.number, {axis.name: axis.ask(trial) for axis in found._axes}) for trial in trials]
        known = [stored.get(number, values) for number, values in asked]
        new = iter(run_all([one for one, run in zip(asked, known, strict=True) if run is None]))
        for trial, run in zip(trials, known, strict=True):
            one = next(new) if run is None else run
            ended = _tell(study, trial, one)
            if run is None:
                stored.keep(one, ended, study, sampler)
            found.runs.append(one)
            has_value = any(run.objectives for run in found.runs)
            bar.update(1, f"search, {_values(found, found.best) if has_value else 'no value yet'}")


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise not_installed("search", "optuna", "search") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _tell(study: Any, trial: Any, run: Run) -> Any:
    from optuna.trial import TrialState

    trial.set_user_attr("run", vars(run))
    return study.tell(trial, run.objectives or None, state=None if run.objectives else TrialState.FAIL)


def _sampler(optuna: Any, name: str, seed: int) -> Any:
    import warnings

    kind, options = _SAMPLERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna warns of experimental options
        return getattr(optuna.samplers, kind)(seed=seed, **options)
