"""REN: whose links the load is a fraction of, over the load: the core's, as assumed, or the hosts'.

The upper loads of figures 15 and 16, data mining and web search, with the same messages of one seed. With the load of
the hosts' links a network with an oversubscription of 6 is offered up to 3.7 times what its core carries: a backlog
grows as long as messages start, and it drains afterwards. How long messages start then decides every completion time;
5,000 messages start within about 6 ms in web search. "traditional" is pHost and Homa as section 2 describes them.

Setup and assumptions: `rdmacc.experiments.ren.leaf_spine`. One seed: the runs take hours.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pandas as pd

from rdmacc.experiments.framework.bands import AtLeast, Each
from rdmacc.experiments.framework.claim import OURS
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.ren.leaf_spine import SCHEMES, WORKLOADS, Case, LeafSpineFigure, cases
from rdmacc.experiments.ren.loads import (
    LOWEST,
    LOWEST_IN_HALF,
    PANELS,
    POSITIVE,
    claim,
    lowest_shares,
    over_load,
    reduced,
    short_flows,
)
from rdmacc.show.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LoadOf"]

_WORKLOADS = ("web_search", "data_mining")
_LOADS = (0.5, 0.6, 0.7)
_DESCRIBED = "traditional"
_CHANGES = {DEFAULT: "", "host links": Case("ren", "web_search", 0.7, load_of="host").differences}
"""By reading: what distinguishes its runs."""
_AT_QUICK = ("web_search",), (0.7,), ("ren", "phost", "ndp")
_PANELS = ("AFCT, short", "p99 FCT, short", "AFCT")
_MOST = Each(AtLeast(0.1), of="scheme")


def _runs(load_of: str, *schemes: str) -> tuple[Case, ...]:
    return tuple(cases(_WORKLOADS, _LOADS, schemes, load_of=load_of))


_ALL = (*_runs("core", *SCHEMES), *_runs("host", *SCHEMES))


def _reductions(quantity: str, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {WORKLOADS[name]: reduced(quantity, name, 0.7, rows) for name in _WORKLOADS}


def _read_as(table: pd.DataFrame, reading: str) -> pd.DataFrame:
    return table[table["changes"] == _CHANGES[reading]].assign(changes="")


@register_experiment
class LoadOf(LeafSpineFigure):
    """Completion times with the load of the core's links and of the hosts' links."""

    name = "ren.load-of"
    title = "Load of the core's links and of the hosts'"
    description = "Completion times at high loads of the core's links and of the hosts' links, web search, data mining"
    seeds = 1
    claims = (
        claim(
            "ren-x-5a", "Fig 15a, 16a", "AFCT of short flows: share of loads and workloads with the lowest",
            "loads 0.5-0.7, web search and data mining", "REN lowest", unit="%", by=OURS,
            measure=lambda rows: lowest_shares(short_flows(rows, *_WORKLOADS)), band=LOWEST, direction=LOWEST_IN_HALF,
            needs=_ALL,
        ),
        claim(
            "ren-x-5b", "Fig 15b", "reduction of the p99 FCT of short flows", "load 0.7, web search and data mining",
            "28 to 73% in data mining", unit="%", by=OURS,
            measure=partial(_reductions, "p99 FCT, short"), band=Each(_MOST, of="workload"),
            direction=Each(POSITIVE, of="workload"), needs=_ALL,
        ),
        claim(
            "ren-x-5c", "Fig 16d", "reduction of the AFCT of all flows", "load 0.7, web search and data mining",
            "2 to 41% in web search", unit="%", by=OURS,
            measure=partial(_reductions, "AFCT"), band=Each(POSITIVE, of="workload"), needs=_ALL,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        """Return all schemes at high loads of either links; at quick scale a few."""
        if scale == "quick":
            return [*cases(*_AT_QUICK), *cases(*_AT_QUICK, load_of="host")]
        return [*_ALL, *_runs("host", _DESCRIBED)]

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the runs of one reading of the load."""
        return _read_as(table, reading) if reading in _CHANGES else None

    def draw(self, rows: pd.DataFrame) -> Figure:
        """Draw completion times over the load: above of the core's links, below of the hosts'."""
        shown = [(name, quantity) for name in _WORKLOADS for quantity in _PANELS if (rows["workload"] == name).any()]
        with style():
            figure, axes = plt.subplots(
                2, len(shown), figsize=(2.2 * len(shown) + 1.8, 6.0), sharex=True, layout="constrained"
            )
            for row, reading, links in zip(axes, _CHANGES, ("core links", "hosts' links"), strict=True):
                chosen = _read_as(rows, reading)
                for ax, (name, quantity) in zip(row, shown, strict=True):
                    over_load(ax, chosen, quantity, name)
                    ax.set(title=f"{WORKLOADS[name]}:\n{PANELS[quantity][0]}", xlabel=f"load (of {links})")
            figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper")
            figure.suptitle("REN: load of the links to the core, and of the hosts' links")
        return figure
