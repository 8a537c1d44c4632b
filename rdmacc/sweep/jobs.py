"""How much jobs slow each other down: each job among the others, and alone on the same network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.results.result import Result
from rdmacc.show.style import COLOURS, canvas, time_unit
from rdmacc.show.tables import html_table, text_table
from rdmacc.simulation.scenario import Scenario
from rdmacc.units import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["JobComparison", "compare_jobs"]

_NEVER_PS = 10**18
"""When the other jobs start while a job runs alone: the latest possible time."""
_HEADERS = ("job", "hosts", "messages", "step", "alone", "slowdown")
_LONGEST = 10
"""Time limit of a job that runs alone, as a multiple of the joint run."""


@dataclass(frozen=True, eq=False)
class JobComparison:
    """The jobs of a workload together and alone.

    Attributes
    ----------
    frame : DataFrame
        `job, hosts, messages, bytes, start_ps, step_ps, computing_ps` of `Result.jobs`, then `alone_ps`, the step time
        alone, and `slowdown`, their ratio.
    result : Result
        The simulation of all jobs together.
    """

    frame: pd.DataFrame
    result: Result

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw each job's step time alone and together, with the slowdown above.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        table = self.frame
        unit_ps, unit = time_unit(float(table["step_ps"].max()))
        place = np.arange(len(table))
        with canvas(ax) as ax:
            ax.bar(place - 0.2, table["alone_ps"] / unit_ps, 0.4, color=COLOURS["sky"], label="alone")
            ax.bar(place + 0.2, table["step_ps"] / unit_ps, 0.4, color=COLOURS["blue"], label="together")
            for x, height, slowdown in zip(place, table["step_ps"] / unit_ps, table["slowdown"], strict=True):
                ax.text(x + 0.2, height, f"{slowdown:.2f}x", ha="center", va="bottom")
            ax.set_xticks(place, table["job"])
            ax.set(ylabel=f"step time ({unit})", ylim=(0, 1.25 * float(table["step_ps"].max()) / unit_ps))
            ax.set_title(f"Jobs under {self.result.scheme_name}", loc="left")
            ax.legend(loc="upper right", ncols=2)
        return ax

    def _cells(self) -> list[list[str]]:
        return [
            [
                str(row["job"]), str(row["hosts"]), str(row["messages"]),
                *("" if pd.isna(row[name]) else format_time(round(row[name]), 4) for name in ("step_ps", "alone_ps")),
                f"{row['slowdown']:.3f}",
            ]
            for _, row in self.frame.iterrows()
        ]  # fmt: skip

    def __str__(self) -> str:
        return text_table(_HEADERS, self._cells())

    def _repr_html_(self) -> str:
        return html_table(_HEADERS, self._cells(), f"Jobs under {self.result.scheme_name}")


@typed
def compare_jobs(scenario: Scenario) -> JobComparison:
    """Run a workload of several jobs, then each of them alone: same network, scheme, faults, seed, hosts and paths.

    Parameters
    ----------
    scenario : Scenario
        With a workload of `rdmacc.workload.jobs`.

    Returns
    -------
    JobComparison
        A row for each job: step time, step time alone, slowdown.

    Raises
    ------
    ConfigError
        If the workload has no job.

    Examples
    --------
    >>> import rdmacc
    >>> from rdmacc.workload import jobs, nccl
    >>> network = rdmacc.leaf_spine(2, 1, 4)
    >>> ring = nccl.all_reduce(["h0", "h1", "h2", "h3"], "100kB")
    >>> work = jobs(network, {"a": ring, "b": ring}, "round-robin")
    >>> found = compare_jobs(rdmacc.Scenario(network=network, workload=work, scheme="line-rate"))
    >>> bool((found.frame["slowdown"] > 1.1).all())
    True
    """
    work = scenario.messages()
    if not isinstance(work, pd.DataFrame) or "job" not in work or work["job"].isna().all():
        raise ConfigError("workload", "without jobs", "made by rdmacc.workload.jobs or job, which name them")
    scenario = replace(scenario, network=scenario.make_network(), workload=work)
    together = scenario.run()
    until_ps = _LONGEST * max(together.now_ps, 1)
    alone_ps = []
    for name in together.jobs["job"]:
        others = (work["job"].astype(object) != name).to_numpy()
        quiet = work.assign(
            start_ps=np.where(others, _NEVER_PS, work["start_ps"])
        )  # rows keep their numbers, and paths
        found = replace(scenario, workload=quiet, until=f"{until_ps}ps", probes=(), trace=False).run().jobs
        alone_ps.append(found.set_index("job")["step_ps"][name])
    frame = together.jobs.assign(alone_ps=alone_ps)
    return JobComparison(frame.assign(slowdown=frame["step_ps"] / frame["alone_ps"]), together)
