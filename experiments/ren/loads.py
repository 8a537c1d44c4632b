"""REN, figures 14 to 19: the pictures and judges that they share. The runs: `rdmacc.experiments.ren.leaf_spine`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict, judged_claim
from rdmacc.experiments.ren.known import known_at_scale
from rdmacc.experiments.ren.leaf_spine import BASELINES, LOADS, SCHEMES, WORKLOADS, Case, LeafSpineFigure, cases
from rdmacc.experiments.ren.setup import LOOKS
from rdmacc.plotting.style import plain_log, style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "PANELS", "WorkloadFigure", "all_reduced", "claim", "in_words", "mean_of", "means_of", "over_load",
    "published_marks", "reduction", "reductions", "short_flows_claim",
]  # fmt: skip

PANELS = {
    "AFCT, short": ("AFCT of short flows", "AFCT (µs)", 1e-6),
    "p99 FCT, short": ("99th percentile FCT of short flows", "p99 FCT (µs)", 1e-6),
    "throughput, long": ("throughput of long flows", "throughput (Gb/s)", 1e-9),
    "AFCT": ("AFCT of all flows", "AFCT (ms)", 1e-9),
}
"""The four panels of figures 15 to 18: title, label of the axis, factor from the table's unit."""


def _chosen(rows: pd.DataFrame, scheme: str, workload: str, changes: str = "") -> pd.DataFrame:
    return rows[(rows["scheme"] == scheme) & (rows["workload"] == workload) & (rows["changes"] == changes)]


def mean_of(rows: pd.DataFrame, quantity: str, scheme: str, workload: str, changes: str = "") -> pd.Series[float]:
    """Return a quantity by load, the mean over seeds."""
    return means_of(rows, [quantity], scheme, workload, changes)[quantity]


def means_of(
    rows: pd.DataFrame, quantities: Iterable[str], scheme: str, workload: str, changes: str = ""
) -> pd.DataFrame:
    """Return quantities by load, the means over seeds."""
    return _chosen(rows, scheme, workload, changes).groupby("load")[list(quantities)].mean()


def reduction(new: float, old: float) -> float:
    """Return how much lower a number is than another, as a fraction of that."""
    return 1 - new / old


def reductions(
    rows: pd.DataFrame, quantity: str, workload: str, load: float, others: Iterable[str] = BASELINES
) -> dict[str, float]:
    """Return REN's reduction of a quantity over others at a load, by scheme; means over seeds."""
    ren = mean_of(rows, quantity, "ren", workload)[load]
    return {one: float(reduction(ren, mean_of(rows, quantity, one, workload)[load])) for one in others}


def in_words(values: Mapping[str, float]) -> str:
    """Return numbers by scheme as percentages in a text."""
    return ", ".join(f"{LOOKS[one][0]} {value:.0%}" for one, value in values.items())


def all_reduced(
    quantity: str, workload: str, load: float, bands: Mapping[str, float]
) -> Callable[[pd.DataFrame], Verdict]:
    """Return a judge: REN's reduction over each baseline is at least its band's; direction: each above zero."""

    def judge(rows: pd.DataFrame) -> Verdict:
        found = reductions(rows, quantity, workload, load)
        holds = all(found[one] >= least for one, least in bands.items())
        return Verdict(in_words(found), holds, min(found.values()) > 0)

    return judge


def short_flows_claim(number: int, workload: str) -> Claim:
    """Return our check of panel (a) of figures 15 to 18 alone: REN has the lowest AFCT of short flows at every load."""

    def judge(rows: pd.DataFrame) -> Verdict:
        values = pd.DataFrame({one: mean_of(rows, "AFCT, short", one, workload) for one in SCHEMES})
        best = values.idxmin(axis=1).value_counts()
        measured = ", ".join(f"{LOOKS[one][0]} {count}" for one, count in best.items())
        lowest = int(best.get("ren", 0))
        return Verdict(f"lowest at so many loads: {measured}", lowest == len(values), lowest >= len(values) / 2)

    return claim(
        f"ren-f{number}-1a", f"Fig {number}a", "AFCT of short flows", "loads 0.1-0.7", "REN lowest",
        "at every load; direction: at half of them", judge, cases([workload], LOADS["paper"]),
    )  # fmt: skip


def over_load(ax: Axes, rows: pd.DataFrame, quantity: str, workload: str) -> None:
    """Draw a quantity over the load, a line for each scheme; bands are the spread over seeds."""
    title, label, factor = PANELS[quantity]
    for scheme in SCHEMES:
        chosen = _chosen(rows, scheme, workload)
        spread = chosen.groupby("load")[quantity].agg(["min", "mean", "max"]) * factor
        name, colour, marker = LOOKS[scheme]
        ax.plot(spread.index, spread["mean"], marker=marker, color=colour, label=name)
        ax.fill_between(spread.index, spread["min"], spread["max"], color=colour, alpha=0.2, linewidth=0)
    ax.set(title=title, xlabel="load (of ToR-core links)", ylabel=label)
    if quantity == "throughput, long":
        ax.set_ylim(0, 40)
    else:
        plain_log(ax)


def published_marks(
    ax: Axes, rows: pd.DataFrame, quantity: str, workload: str, load: float, published: Mapping[str, float]
) -> None:
    """Draw where each baseline would be if REN's measured value were lower by what is published: hollow markers."""
    if not published or load not in mean_of(rows, quantity, "ren", workload).index:
        return
    ren = mean_of(rows, quantity, "ren", workload)[load] * PANELS[quantity][2]
    for scheme, value in published.items():
        _, colour, marker = LOOKS[scheme]
        marker = {"x": "X", "+": "P"}.get(marker, marker)
        ax.plot(load + 0.03, ren / (1 - value), marker=marker, mfc="none", mec=colour, linestyle="none", clip_on=False)
    ax.set_xlim(right=load + 0.06)
    ax.plot([], [], "o", mfc="none", mec="0.3", linestyle="none", label="REN's value and\nthe published gain")


class WorkloadFigure(LeafSpineFigure):
    """Figures 15 to 18: four panels over the load for one workload."""

    workload: str
    """Key of `WORKLOADS`."""
    published: Mapping[str, Mapping[str, float]] = {}
    """Published reductions at a load of 0.7, by quantity and scheme."""

    def cases(self, scale: str) -> list[Case]:
        """Return all schemes at all loads."""
        return cases([self.workload], LOADS[scale])

    def draw(self, rows: pd.DataFrame) -> Figure:
        """Draw the four panels."""
        number = self.name.removeprefix("ren.fig")
        hosts = "384 hosts" if rows["flows"].max() >= 5000 else "36 hosts (quick)"
        with style():
            figure, axes = plt.subplots(2, 2, figsize=(9.6, 6.6), layout="constrained")
            for ax, letter, quantity in zip(axes.flat, "abcd", PANELS, strict=True):
                over_load(ax, rows, quantity, self.workload)
                published_marks(ax, rows, quantity, self.workload, 0.7, self.published.get(quantity, {}))
                ax.set_title(f"({letter}) {PANELS[quantity][0]}")
            handles: dict[str, Artist] = {}
            for ax in axes.flat:
                handles |= {name: artist for artist, name in zip(*ax.get_legend_handles_labels(), strict=True)}
            figure.legend(list(handles.values()), list(handles), loc="outside right upper")
            figure.suptitle(f"REN, figure {number}: {WORKLOADS[self.workload]}, {hosts}")
        return figure


claim = partial(judged_claim, known_at_scale)
