"""The simulations of a study, one for each combination of scheme, parameter values and seed, and their measurements."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.faults import Fault
from rdmacc.probes import Probe
from rdmacc.results.result import Result
from rdmacc.results.summary import Transport, percentile, starting_in
from rdmacc.scenario import Scenario
from rdmacc.schemes import Scheme, as_scheme, scheme_table
from rdmacc.sweep.tidy import scalars, tidy
from rdmacc.units import Quantity
from rdmacc.workload.columns import is_missing

QUANTITIES = {
    "fct_mean_ps": "ps", "fct_median_ps": "ps", "fct_p99_ps": "ps", "slowdown_mean": "", "slowdown_median": "",
    "slowdown_p99": "", "goodput_bps": "bps", "offered_bps": "bps", "carried_bps": "bps", "peak_queue_bytes": "bytes",
    "marked_packets": "", "pfc_pauses": "", "drops": "", "retransmissions": "", "timeouts": "", "unfinished": "",
}  # fmt: skip
"""Quantities measured in each run, with units."""
_TOTALS = ("peak_queue_bytes", "marked_packets", "pfc_pauses", "drops", "retransmissions", "timeouts")
"""Quantities that ignore the window."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyRun:
    """One simulation of a study: see `rdmacc.sweep.fingerprint.PointLike`."""

    name: str
    """Name made of scheme, values and seed."""
    scenario: Scenario
    """The scenario."""
    labels: Mapping[str, Any]
    """Columns of its row: `scheme`, the parameters, `seed`."""
    cost: float
    """Bytes of workload, as a measure of the run time."""


class StudyRuns:
    """The simulations of a study, in the form that `sweep` computes."""

    points_of: type[Any] | None = None
    """Its points are its own."""
    name = "study"
    """Folder in the store."""

    def __init__(self, runs: Sequence[StudyRun] = ()) -> None:
        self._runs = list(runs)

    def __reduce__(self) -> tuple[type[StudyRuns], tuple[()]]:
        """Pickle without the other runs, when one is sent to a process."""
        return StudyRuns, ()

    def checked_points(self, scale: str, seed: int, changes: Mapping[str, Any] | None = None) -> list[StudyRun]:
        """Return the simulations."""
        return self._runs

    def execute(self, point: StudyRun, run: Callable[[Scenario], Result]) -> pd.DataFrame:
        """Return the rows of a run: its numbers, and each message's FCT at its start time."""
        result = run(point.scenario)
        flows, summary = result.flows, result.summary()
        fct = flows["fct_ps"].astype(np.float64)
        numbers = {name: (float(getattr(summary, name)), QUANTITIES[name]) for name in _TOTALS}
        numbers["simulated_ps"] = (float(summary.simulated_ps), "ps")
        messages = tidy(point.name, {}, {"fct": (pd.Series(fct.to_numpy(), index=flows["start_ps"]), "ps")})
        messages = messages.assign(
            size_bytes=flows["size_bytes"].to_numpy(), slowdown=flows["slowdown"].to_numpy(),
            received_bytes=result.transport().received_bytes, finished=(flows["status"] == "finished").to_numpy(),
        )  # fmt: skip
        whole = {"size_bytes": "Int64", "received_bytes": "Int64", "finished": "Int64"}
        return pd.concat([tidy(point.name, numbers), messages], ignore_index=True).astype(whole)


def measured(table: pd.DataFrame, window: Any) -> tuple[dict[str, float], pd.DataFrame]:
    """Return the numbers of a run, and its messages: `start_ps, size_bytes, fct_ps, slowdown`."""
    numbers = scalars(table).set_index("quantity")["value"]
    rows = table[table["quantity"] == "fct"]
    every = pd.DataFrame({
        "start_ps": rows["time_ps"].to_numpy(np.int64), "size_bytes": rows["size_bytes"].to_numpy(np.int64),
        "fct_ps": rows["value"].to_numpy(np.float64), "slowdown": rows["slowdown"].to_numpy(np.float64),
    })  # fmt: skip
    start_ps, fct_ps = every["start_ps"].to_numpy(), every["fct_ps"].to_numpy()
    delivered_ps = np.where(np.isnan(fct_ps), -1, start_ps + np.nan_to_num(fct_ps)).astype(np.int64)
    received = rows["received_bytes"].to_numpy(np.int64)
    transport = Transport(
        start_ps, delivered_ps, every["size_bytes"].to_numpy(), received, int(numbers["simulated_ps"])
    )  # fmt: skip
    chosen = starting_in(window, start_ps)
    messages = every[chosen]
    values = {"unfinished": float(chosen.sum() - rows["finished"].to_numpy(np.int64)[chosen].sum())}
    for name in ("fct", "slowdown"):
        unit = "_ps" if name == "fct" else ""
        known = messages[f"{name}{unit}"].dropna()
        values |= {f"{name}_mean{unit}": float(known.mean()), f"{name}_median{unit}": percentile(known, 50),
                   f"{name}_p99{unit}": percentile(known, 99)}  # fmt: skip
    for name in ("goodput_bps", "offered_bps", "carried_bps"):
        values[name] = getattr(transport, name)(chosen)
    values |= {name: float(numbers[name]) for name in _TOTALS}
    return {name: values[name] for name in QUANTITIES}, messages


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
            raise ConfigError(
                "schemes",
                name,
                "without repeats; pass schemes that differ in structure as a mapping from name to scheme",
            )
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
        if name in ("seed", "scheme"):
            raise ConfigError("vary", name, f"must be given as {name}s=")
        if name in (*QUANTITIES, "start_ps", "size_bytes", "fct_ps", "slowdown"):
            raise ConfigError("vary", name, "another name: the study's frames already have a column of this name")
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ConfigError(f"vary, {name}", given, "a list of values")
        values[name] = list(given)
        if not values[name] or any(values[name].count(one) > 1 for one in values[name]):
            raise ConfigError(f"vary, {name}", given, "at least one value, without repeats")
        for one in values[name]:
            try:
                hash(one)
            except TypeError:
                is_key = False
            else:
                is_key = not is_missing(one)
            if not is_key:
                raise ConfigError(
                    f"vary, {name}", one, "a value that can be a key, such as a number, a string or a tuple"
                )
        if not (_takes(network, name) or _takes(work, name) or any(_has(one, name) for one in schemes.values())):
            known = {row["parameter"] for one in schemes.values() for row in scheme_table(one)}
            known |= {own for made in (network, work) if callable(made) for own in inspect.signature(made).parameters}
            raise unknown("vary", name, sorted(known), "an argument of network or workload, or a scheme's parameter")
    return values


def is_list(value: Any) -> bool:
    """Return whether a value is a collection of values; strings and zero-dimensional arrays are not."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) > 0


def _takes(made: Any, name: str) -> bool:
    """Return whether a function takes an argument of that name."""
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
    return any(
        row["parameter"] == own and component in ("", row["component"])
        for row in scheme_table(scheme)
    )  # fmt: skip


def runs_of(
    network: Any,
    work: Any,
    schemes: Mapping[str, Scheme],
    values: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    until: Quantity | None,
    probes: Sequence[Probe],
    faults: Sequence[Fault],
    check: bool | None,
) -> list[StudyRun]:
    """Return a run for each scheme, combination of values and seed, without identical runs of a scheme."""
    made: dict[Hashable, Any] = {}

    def build(what: str, function: Any, given: Mapping[str, Any]) -> Any:
        """Build each network and workload once, in this process, because a notebook's function cannot be pickled."""
        if not callable(function):
            return function
        taken = {name: value for name, value in given.items() if _takes(function, name)}
        key = (
            what,
            *((name, id(value)) for name, value in taken.items()),
        )  # keyed by id: safe, because the values outlive this object
        if key not in made:
            made[key] = function(**taken)
        return made[key]

    runs: dict[str, StudyRun] = {}
    for label, scheme in schemes.items():
        for combination in product(*values.values()):
            given = dict(zip(values, combination, strict=True))
            own = {
                name: value
                for name, value in given.items()
                if not (_takes(network, name) or _takes(work, name)) and _has(scheme, name)
            }
            changed = scheme.given(own) if own else scheme
            shown = {
                name: value if name in own or _takes(network, name) or _takes(work, name) else None
                for name, value in given.items()
            }
            for seed in seeds:
                graph = build("network", network, {**given, "seed": seed})
                frame = build("workload", work, {**given, "seed": seed})
                if not isinstance(graph, nx.Graph):
                    raise ConfigError("network", graph, "a networkx.Graph, or a function that returns one")
                if not isinstance(frame, pd.DataFrame):
                    raise ConfigError("workload", frame, "a workload (DataFrame), or a function that returns one")
                words = [label, *(f"{name}={value}" for name, value in shown.items() if value is not None)]
                name = ", ".join([*words, f"seed {seed}"])
                scenario = Scenario(
                    network=graph, workload=frame, scheme=changed, seed=seed, until=until, probes=probes,
                    faults=faults, check=check,
                )  # fmt: skip
                labels = {"scheme": label, **shown, "seed": seed}
                size = float(frame["size_bytes"].sum()) if "size_bytes" in frame else float(len(frame))
                runs.setdefault(name, StudyRun(name=name, scenario=scenario, labels=labels, cost=size))
    return list(runs.values())
