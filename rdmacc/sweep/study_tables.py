"""The numbers of a study as tables: means with confidence intervals, differences seed by seed, and where time goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.results.explain import Explanation
from rdmacc.results.summary import half_width
from rdmacc.show.style import value_unit
from rdmacc.show.tables import Tabular
from rdmacc.sweep.study_runs import QUANTITIES, StudyRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["StudyComparison", "StudyExplanation"]

SHOWN = ("fct_mean_ps", "fct_p99_ps", "slowdown_p99", "goodput_bps", "peak_queue_bytes")


@dataclass(frozen=True, eq=False, repr=False)
class StudyComparison(Tabular):
    """How much schemes differ from a baseline, seed by seed. `print` it, or let a notebook display it.

    Attributes
    ----------
    frame : DataFrame
        Indexed by `scheme` and the parameters; columns by (quantity, "mean" | "low" | "high"), scheme minus
        baseline, and `seeds`, the number of pairs.
    baseline : str
        The scheme that the others are compared with.
    confidence : float
        Level of the intervals.
    """

    frame: pd.DataFrame
    baseline: str
    confidence: float

    def _table(self) -> tuple[str, list[str], list[list[str]]]:
        title = f"difference from {self.baseline}, seed by seed"
        if (self.frame["seeds", ""] > 1).any():
            title += f": mean ± {100 * self.confidence:g}% confidence; * where the interval excludes 0"
        return title, *cells_of(self.frame, is_difference=True)


def intervals(runs: pd.DataFrame, by: Sequence[str], quantities: Sequence[str], confidence: float) -> pd.DataFrame:
    """Return mean and confidence interval of each group's quantities."""
    if not 0 < confidence < 1:
        raise ConfigError("confidence", confidence, "between 0 and 1")
    for name in quantities:
        if name not in QUANTITIES:
            raise unknown("quantity", name, QUANTITIES)
    grouped = runs.groupby([*by], sort=False, dropna=False)
    parts: dict[tuple[str, str], pd.Series[Any]] = {("seeds", ""): grouped.size()}
    for name in quantities:
        mean, count = grouped[name].mean(), grouped[name].count()
        half = half_width(grouped[name].std(ddof=1), count, confidence)
        parts |= {(name, "mean"): mean, (name, "low"): mean - half, (name, "high"): mean + half}
    return pd.DataFrame(parts)


def compared(
    runs: pd.DataFrame, parameters: Sequence[str], baseline: str, quantities: Sequence[str], confidence: float
) -> StudyComparison:
    """Return the differences from a scheme's runs of the same seed and the same values of the parameters of both."""
    names = list(dict.fromkeys(runs["scheme"]))
    if baseline not in names:
        raise unknown("baseline", baseline, names)
    if len(names) == 1:
        raise ConfigError("baseline", baseline, "one of several schemes; the study has no other")
    base, parts = runs[runs["scheme"] == baseline], []
    for scheme in names:
        own = runs[runs["scheme"] == scheme]
        shared = [name for name in parameters if own[name].notna().all() and base[name].notna().all()]
        if base.duplicated([*shared, "seed"]).any():
            several = [name for name in parameters if name not in shared and base[name].nunique() > 1]
            allowed = f"a scheme with one value of {', '.join(several)}, which {scheme} lacks; study it alone"
            raise ConfigError("baseline", baseline, allowed)
        if scheme == baseline:
            continue
        pairs = own.merge(base, on=[*shared, "seed"], suffixes=("", " of the baseline"))
        values = {name: pairs[name] - pairs[f"{name} of the baseline"] for name in quantities if name in QUANTITIES}
        parts.append(pairs[["scheme", *parameters]].assign(**values))
    found = intervals(pd.concat(parts, ignore_index=True), ["scheme", *parameters], quantities, confidence)
    return StudyComparison(found, baseline, confidence)


@dataclass(frozen=True, eq=False, repr=False)
class StudyExplanation(Tabular):
    """Where two schemes spend the time of their messages. `print` it, or let a notebook display it.

    Attributes
    ----------
    frame : DataFrame
        Mean time per delivered message in ps, indexed by `kind` and `place`, with a column for each scheme, and
        `difference`, scheme minus baseline.
    explained : dict of list of Explanation
        The messages of each scheme.
    """

    frame: pd.DataFrame
    explained: dict[str, list[Explanation]]

    def _table(self) -> tuple[str, list[str], list[list[str]]]:
        scheme, baseline = self.explained
        kinds = self.frame.groupby(level="kind").sum().sort_values("difference", key=abs, ascending=False)
        most = self.frame["difference"].abs().groupby(level="kind").idxmax().map(lambda at: at[1]).to_dict()
        kinds.loc["all"] = kinds.sum()
        rows = [
            [str(kind), f"{one / 1e6:.2f}", f"{other / 1e6:.2f}", f"{difference / 1e6:+.2f}", str(most.get(kind, ""))]
            for kind, one, other, difference in kinds.itertuples()
        ]
        headers = ["kind", scheme, baseline, "difference", "most of it at"]
        return f"mean time per message, us: {scheme} against {baseline}", headers, rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both schemes' mean slowdown as stacked bars, coloured by kind.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; default: a new figure.
        """
        from rdmacc.results.explain.drawing import draw_time_spent

        groups = [scheme for scheme, ones in self.explained.items() for _ in ones]
        return draw_time_spent([one for ones in self.explained.values() for one in ones], groups, "scheme", ax)


def explained(runs: Sequence[StudyRun], names: Sequence[str], scheme: str, baseline: str) -> StudyExplanation:
    """Simulate all runs of two schemes again, and compare where the time of their messages went."""
    for field, value in (("scheme", scheme), ("baseline", baseline)):
        if value not in names:
            raise unknown(field, value, dict.fromkeys(names))
    if scheme == baseline:
        raise ConfigError("baseline", baseline, "another scheme")
    if not runs:
        raise ConfigError("study", "loaded", "one that study() returned: a saved study has no scenarios to repeat")
    found: dict[str, list[Explanation]] = {scheme: [], baseline: []}
    columns = {}
    for name, ones in found.items():
        for scenario in (run.scenario for run in runs if run.labels["scheme"] == name):
            result = scenario.simulation(explain=True).run(scenario.until, progress=False)
            ones += [result.explain(flow) for flow in result.flows["flow"][result.flows["fct_ps"].notna()]]
        if not ones:
            raise ConfigError(name, "none delivered", "at least one delivered message")
        events = pd.concat([one.events for one in ones])
        columns[name] = events.groupby(["kind", "place"])["time_ps"].sum() / len(ones)
    frame = pd.DataFrame(columns).fillna(0.0)
    return StudyExplanation(frame.assign(difference=frame[scheme] - frame[baseline]), found)


def cells_of(table: pd.DataFrame, is_difference: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of a table of `intervals`, in readable units."""
    shown = {name: in_words(name) for name in table.columns.unique(0) if name in QUANTITIES}
    headers = list(map(str, table.index.names))
    headers += [f"{words} ({unit})" if unit else words for words, unit, _ in shown.values()]
    cells = []
    for label, row in table.iterrows():
        values: list[Any] = list(label) if isinstance(label, tuple) else [label]
        line = ["-" if pd.isna(one) else f"{one:.12g}" if isinstance(one, float) else str(one) for one in values]
        for name, (_, _, factor) in shown.items():
            mean, half = row[name, "mean"] / factor, (row[name, "high"] - row[name, "mean"]) / factor
            text = _with_interval(mean, half)
            if is_difference:
                text = ("+" if mean > 0 else "") + text + ("*" if abs(mean) > half else "")
            line.append(text)
        cells.append(line)
    return headers, cells


def in_words(name: str) -> tuple[str, str, float]:
    """Return a quantity's name without its unit, the unit to show, and how many base units that is."""
    factor, unit = value_unit(name)
    return (name.rpartition("_")[0] if unit else name).replace("_", " "), unit, factor


def plus_minus(values: Sequence[float], confidence: float = 0.95) -> str:
    """Return the mean of some values with half of its confidence interval.

    >>> plus_minus([2.0, 2.5, 3.0])
    '2.5 ± 1.2'
    """
    given = pd.Series(values, dtype=np.float64)
    half = half_width(pd.Series([given.std(ddof=1)]), pd.Series([given.count()]), confidence).iloc[0]
    return _with_interval(given.mean(), half)


def _with_interval(mean: float, half: float) -> str:
    return _rounded(mean, 4) if np.isnan(half) else f"{_rounded(mean, 4)} ± {_rounded(half, 2)}"


def _rounded(value: float, digits: int) -> str:
    """Return a number with the given significant digits, without an exponent."""
    return f"{float(f'{value:.{digits}g}'):,.12g}"
