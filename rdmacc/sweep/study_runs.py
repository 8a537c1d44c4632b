"""The simulations of a study, one for each combination of scheme, parameter values and seed, and their measurements."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import groupby, product
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError, reason_of, unknown
from rdmacc.interface import LINK_CLASSES
from rdmacc.results.result import Result
from rdmacc.results.summary import Transport, counts_of, percentile, starting_in
from rdmacc.schemes import Scheme, as_scheme, scheme_table
from rdmacc.simulation import IS_QUIET
from rdmacc.simulation.scenario import Scenario
from rdmacc.sweep.tidy import scalars, tidy
from rdmacc.sweep.workers import Failed
from rdmacc.workload.columns import is_list, is_missing

QUANTITIES = {
    "fct_mean_ps": "ps", "fct_median_ps": "ps", "fct_p99_ps": "ps", "slowdown_mean": "", "slowdown_median": "",
    "slowdown_p99": "", "goodput_bps": "bps", "offered_bps": "bps", "carried_bps": "bps", "peak_queue_bytes": "bytes",
    "marked_packets": "", "pfc_pauses": "", "drops": "", "retransmissions": "", "timeouts": "", "unfinished": "",
}  # fmt: skip
"""Quantities measured in each run, with units."""
_TOTALS = ("peak_queue_bytes", "marked_packets", "pfc_pauses", "drops", "retransmissions", "timeouts")
"""Quantities that ignore the window."""
FLOWS = ("start_ps", "size_bytes", "fct_ps", "slowdown")
"""Columns of `Study.flows`, besides the labels."""
_STORED = {"size_bytes": "Int64", "slowdown": "float64", "received_bytes": "Int64", "finished": "Int64"}
"""Types of the columns of messages in the store, besides those of a tidy table."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyRun:
    """One simulation of a study: see `rdmacc.sweep.fingerprint.PointLike`."""

    name: str
    """Name made of scheme, values and seed."""
    labels: Mapping[str, Any]
    """Columns of its row: `scheme`, the parameters, `seed`."""
    make: Callable[[], Scenario] | None

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario."""
        assert self.make is not None
        return self.make()

    @cached_property
    def cost(self) -> float:
        """Bytes of workload, as a measure of the run time."""
        frame = self.scenario.messages()
        return float(frame["size_bytes"].sum()) if "size_bytes" in frame else float(len(frame))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the scenario instead of what makes it, which may be a notebook's function."""
        return {"name": self.name, "labels": self.labels, "make": None, "scenario": self.scenario, "cost": self.cost}


class StudyRuns:
    """The simulations of a study, in the form that `sweep` computes."""

    points_of: type[Any] | None = None
    """No other class defines its points."""
    name = "study"
    """Folder in the store."""

    def __init__(self, runs: Sequence[StudyRun] = ()) -> None:
        self._runs = list(runs)

    def __reduce__(self) -> tuple[type[StudyRuns], tuple[()]]:
        """Pickle without the runs, because a process is sent one at a time."""
        return StudyRuns, ()

    def seeded_points(
        self, scale: str, seed: int, seeds: int | None, changes: Mapping[str, Any] | None = None
    ) -> dict[str, tuple[StudyRun, StudyRun]]:
        """Return the simulations."""
        return {one.name: (one, one) for one in self._runs}

    def execute(self, point: StudyRun, run: Callable[[Scenario], Result]) -> pd.DataFrame:
        """Return the rows of a run: its totals, and each message's FCT at its start time."""
        one, units = measured_of(run(point.scenario)), QUANTITIES | {"simulated_ps": "ps"}
        numbers = tidy(point.name, {name: (value, units[name]) for name, value in one.totals.items()})
        messages = tidy(point.name, {}, {"fct": (pd.Series(one.fct_ps, index=one.start_ps), "ps")})
        messages = messages.assign(**{name: getattr(one, name) for name in _STORED}).astype(_STORED)
        return pd.concat([numbers, messages], ignore_index=True)


class Measured(NamedTuple):
    """What a study keeps of a run: its totals, and arrays with an entry for each message."""

    totals: dict[str, float]
    """Those of `QUANTITIES` that ignore the window, and `simulated_ps`."""
    start_ps: npt.NDArray[np.int64]
    fct_ps: npt.NDArray[np.float64]
    """NaN until the last byte has arrived."""
    size_bytes: npt.NDArray[np.int64]
    slowdown: npt.NDArray[np.float64]
    received_bytes: npt.NDArray[np.int64]
    finished: npt.NDArray[np.bool_ | np.int64]


def measured_of(result: Result) -> Measured:
    found, sent = result.outcome.messages, result.transport()
    counts = counts_of(result.outcome, result.plan.fabric.port_class)
    counts["marked_packets"] = sum(counts[f"marks_{name}"] for name in LINK_CLASSES)  # as in `Result.summary`
    counts["drops"] = counts["dropped_packets"] + counts["pfc_violations"] + counts["lost_packets"]
    totals = {name: float(counts[name]) for name in _TOTALS} | {"simulated_ps": float(result.now_ps)}
    fct_ps = np.where(sent.delivered_ps >= 0, sent.delivered_ps - sent.start_ps, np.nan)
    finished = (found["failed"] == 0) & (found["acked_ps"] >= 0)
    slowdown = fct_ps / result.plan.ideal_fct_ps
    return Measured(totals, sent.start_ps, fct_ps, sent.size_bytes, slowdown, sent.received_bytes, finished)


def measured_in(table: pd.DataFrame) -> Measured:
    """Return the measurements of a stored run."""
    rows, numbers = table[table["quantity"] == "fct"], scalars(table)
    columns = [rows["time_ps"].to_numpy(np.int64), rows["value"].to_numpy()]
    columns += [rows[name].to_numpy(kind.lower()) for name, kind in _STORED.items()]
    return Measured(dict(zip(numbers["quantity"], numbers["value"], strict=True)), *columns)


def numbers_of(one: Measured, window: Any) -> tuple[dict[str, float], dict[str, npt.NDArray[Any]]]:
    """Return the numbers of a run, and the columns of its messages."""
    chosen = starting_in(window, one.start_ps)
    messages = {name: getattr(one, name)[chosen] for name in FLOWS}
    delivered_ps = np.where(np.isnan(one.fct_ps), -1, one.start_ps + np.nan_to_num(one.fct_ps)).astype(np.int64)
    now_ps = int(one.totals["simulated_ps"])
    transport = Transport(one.start_ps, delivered_ps, one.size_bytes, one.received_bytes, now_ps)
    values = one.totals | {"unfinished": float(chosen.sum() - one.finished[chosen].sum())}
    for name, unit in (("fct", "_ps"), ("slowdown", "")):
        known = messages[f"{name}{unit}"]
        known = known[~np.isnan(known)]
        mean, median, p99 = float(known.mean()) if len(known) else np.nan, percentile(known, 50), percentile(known, 99)
        values |= {f"{name}_mean{unit}": mean, f"{name}_median{unit}": median, f"{name}_p99{unit}": p99}
    values |= {name: getattr(transport, name)(chosen) for name in ("goodput_bps", "offered_bps", "carried_bps")}
    return {name: values[name] for name in QUANTITIES}, messages


def measured_here(runs: Sequence[StudyRun], engine: str, threads: int) -> list[Measured | Failed]:
    """Simulate runs in this process, one after another, and return what they measured."""

    def setting(one: StudyRun) -> tuple[int, ...]:
        return id(one.scenario.network), id(one.scenario.workload), id(one.scenario.scheme)

    found: list[Measured | Failed] = []
    token = IS_QUIET.set(True)
    try:
        for _, several in groupby(runs, setting):
            alike = [one.scenario for one in several]
            end = len(found) + len(alike)
            while len(found) < end:  # a run that fails ends the others of its call
                left = alike[len(found) - end :]
                try:
                    for result in replace(left[0], engine=engine).runs([one.seed for one in left], threads):
                        found.append(measured_of(result))
                except Exception as error:
                    found.append(Failed(reason_of(error), traceback.format_exc()))
    finally:
        IS_QUIET.reset(token)
    return found


def named_schemes(schemes: Any) -> dict[str, Scheme]:
    """Return the schemes by distinct names."""
    if isinstance(schemes, Mapping):
        if not schemes or not all(isinstance(name, str) for name in schemes):
            raise ConfigError("schemes", schemes, "schemes by name, at least one")
        return {name: as_scheme(one) for name, one in schemes.items()}
    several = [schemes] if isinstance(schemes, str | Scheme) else schemes
    if not is_list(several):
        raise ConfigError("schemes", schemes, "a scheme, several, or schemes by name")
    made = [as_scheme(one) for one in several]
    tables = [{(row["component"], row["parameter"]): row["value"] for row in scheme_table(one)} for one in made]
    named: dict[str, Scheme] = {}
    for one, table in zip(made, tables, strict=True):
        others = [other for other, like in zip(tables, made, strict=True) if like.name == one.name]
        differs = [key for key in table if any(other.get(key) != table[key] for other in others)]
        name = f"{one.name} ({', '.join(f'{key[1]}={table[key]}' for key in differs)})" if differs else one.name
        if name in named:
            allowed = "without repeats; pass schemes that differ in structure as a mapping from name to scheme"
            raise ConfigError("schemes", name, allowed)
        named[name] = one
    if not named:
        raise ConfigError("schemes", schemes, "at least one scheme")
    return named


def values_of(vary: Any, network: Any, work: Any, schemes: Mapping[str, Scheme]) -> dict[str, list[Any]]:
    """Return the values of the varied parameters, after checking that something takes each parameter."""
    if vary is not None and not isinstance(vary, Mapping):
        raise ConfigError("vary", vary, "a mapping from parameter name to values")
    values = {}
    for name, given in (vary or {}).items():
        field = f"vary, {name}"
        if name in ("seed", "scheme"):
            raise ConfigError("vary", name, f"must be given as {name}s=")
        if name in (*QUANTITIES, *FLOWS):
            raise ConfigError("vary", name, "another name: the study's frames already have a column of this name")
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ConfigError(field, given, "a list of values")
        own = values[name] = list(given)
        for one in own:
            if not _is_key(one):
                raise ConfigError(field, one, "a value that can be a key, such as a number, a string or a tuple")
        if not own or len(set(own)) < len(own):
            raise ConfigError(field, given, "at least one value, without repeats")
        texts = list(map(str, own))
        for number, text in enumerate(texts):
            if text in texts[:number]:
                raise ConfigError(field, text, "the text of one value: runs are named by their values' text")
        if not (_takes(network, name) or _takes(work, name) or any(_has(one, name) for one in schemes.values())):
            known = {row["parameter"] for one in schemes.values() for row in scheme_table(one)}
            known |= {one for made in (network, work) if callable(made) for one in inspect.signature(made).parameters}
            raise unknown("vary", name, sorted(known), "an argument of network or workload, or a scheme's parameter")
    return values


def _is_key(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return not is_missing(value)


def _takes(made: Any, name: str) -> bool:
    if not callable(made):
        return False
    try:
        parameters = inspect.signature(made).parameters
    except ValueError:
        raise ConfigError("network or workload", made, "a function written in Python, with arguments by name") from None
    found = parameters.get(name)
    return any(one.kind == one.VAR_KEYWORD for one in parameters.values()) or (
        found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)
    )


def _has(scheme: Scheme, name: str) -> bool:
    component, _, own = name.rpartition(".")
    return any(row["parameter"] == own and component in ("", row["component"]) for row in scheme_table(scheme))


def runs_of(
    network: Any, work: Any, schemes: Mapping[str, Scheme], values: Mapping[str, Sequence[Any]], seeds: Sequence[int],
    fixed: Mapping[str, Any],
) -> list[StudyRun]:  # fmt: skip
    """Return a run for each scheme, combination of values and seed, without identical runs of a scheme."""
    functions = {"network": network, "workload": work}
    taken = {what: [name for name in (*values, "seed") if _takes(one, name)] for what, one in functions.items()}
    elsewhere = {*taken["network"], *taken["workload"]}

    @cache
    def made(what: str, /, **given: Any) -> Any:
        """Build each network and workload once in a process."""
        return functions[what](**given)

    def build(what: str, given: Mapping[str, Any]) -> Any:
        own = functions[what]
        return made(what, **{name: given[name] for name in taken[what]}) if callable(own) else own

    def scenario(scheme: Scheme, given: Mapping[str, Any]) -> Scenario:
        graph, frame = build("network", given), build("workload", given)
        if not isinstance(graph, nx.Graph):
            raise ConfigError("network", graph, "a networkx.Graph, or a function that returns one")
        if not isinstance(frame, pd.DataFrame):
            raise ConfigError("workload", frame, "a workload (DataFrame), or a function that returns one")
        return Scenario(network=graph, workload=frame, scheme=scheme, seed=given["seed"], **fixed)

    runs: dict[str, StudyRun] = {}
    for label, scheme in schemes.items():
        for combination in product(*values.values()):
            given = dict(zip(values, combination, strict=True))
            own = {name: value for name, value in given.items() if name not in elsewhere and _has(scheme, name)}
            changed = scheme.given(own) if own else scheme
            shown = {name: value if name in own or name in elsewhere else None for name, value in given.items()}
            words = [label, *(f"{name}={value}" for name, value in shown.items() if value is not None)]
            for seed in seeds:
                name, labels = ", ".join([*words, f"seed {seed}"]), {"scheme": label, **shown, "seed": seed}
                make = partial(scenario, changed, {**given, "seed": seed})
                runs.setdefault(name, StudyRun(name=name, labels=labels, make=make))
    return list(runs.values())
