"""What one scheme gains over another, and where: their explained times, by kind and place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.explain import Explanation
from rdmacc.show.tables import Tabular
from rdmacc.sweep.study_runs import StudyRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["StudyExplanation", "explained"]


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
        from rdmacc.explain.drawing import draw_time_spent

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
        for own, run in zip(names, runs, strict=True):
            if own == name:
                scenario = run.scenario
                result = scenario.simulation(explain=True).run(scenario.until, progress=False)
                ones += [result.explain(flow) for flow in result.flows["flow"][result.flows["fct_ps"].notna()]]
        if not ones:
            raise ConfigError(name, "none delivered", "at least one delivered message")
        events = pd.concat([one.events for one in ones])
        columns[name] = events.groupby(["kind", "place"])["time_ps"].sum() / len(ones)
    frame = pd.DataFrame(columns).fillna(0.0)
    return StudyExplanation(frame.assign(difference=frame[scheme] - frame[baseline]), found)
