"""RCC, figures 9 to 11 and 13: how completion times are drawn and compared. Setup: `experiments.rcc.fat_tree`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.rcc.fat_tree import SCHEMES, reductions, spreads
from rdmacc.experiments.rcc.setup import LOOKS, NAMES
from rdmacc.plotting.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["OTHERS", "by_scheme", "draw_fct", "draw_reductions", "in_words", "lower_than", "ran"]

OTHERS = SCHEMES[1:]
_MARKERS = {"rcc": "D", "hpcc": "o", "homa": "s", "expresspass": "^", "dcqcn": "v", "timely": "P", "rcc-pid": "s",
            "rcc-ewa": "o"}  # fmt: skip


def ran(rows: pd.DataFrame, schemes: Iterable[str], name: str) -> list[str]:
    """Return the schemes that have run a workload."""
    found = set(rows.loc[rows["workload"] == name, "scheme"])
    return [scheme for scheme in schemes if scheme in found]


def draw_fct(
    ax: Axes, rows: pd.DataFrame, quantity: str, schemes: Sequence[str], name: str, *, is_log: bool = False
) -> None:
    """Draw a completion time over the load, a line for each scheme; bands are the spread over seeds."""
    for scheme in ran(rows, schemes, name):
        spread = spreads(rows, quantity, scheme, name) / 1e6
        colour = COLOURS[LOOKS[scheme][1]]
        ax.plot(spread.index * 100, spread["mean"], marker=_MARKERS[scheme], color=colour, label=NAMES[scheme])
        ax.fill_between(spread.index * 100, spread["min"], spread["max"], color=colour, alpha=0.2, linewidth=0)
    top = 1.08 * ax.dataLim.ymax
    ax.set(
        xlabel="load (% of the hosts' links)", yscale="log" if is_log else "linear", ylim=(None if is_log else 0, top)
    )


def draw_reductions(
    ax: Axes,
    rows: pd.DataFrame,
    quantity: str,
    schemes: Sequence[str],
    name: str,
    published: Mapping[str, tuple[float, ...]],
) -> None:
    """Draw by what percentage RCC is below others over the load; what the paper says of it, hollow, on the right."""
    edge = rows["load"].max() * 100
    for place, scheme in enumerate(ran(rows, schemes, name)):
        found = reductions(rows, quantity, scheme, name) * 100
        colour = COLOURS[LOOKS[scheme][1]]
        ax.plot(found.index * 100, found, marker=_MARKERS[scheme], color=colour, label=NAMES[scheme])
        values = [100 * value for value in published.get(scheme, ())]
        at = np.full(len(values), edge + 4 + 2 * place)
        ax.plot(at, values, marker=_MARKERS[scheme], color=colour, markerfacecolor="none", linestyle=":")
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.set(xlabel="load (% of the hosts' links)")


def by_scheme(
    rows: pd.DataFrame, quantity: str, name: str, schemes: Iterable[str] = OTHERS
) -> dict[str, pd.Series[float]]:
    """Return RCC's reduction of a quantity over each of the others, by load."""
    return {scheme: reductions(rows, quantity, scheme, name) for scheme in schemes}


def in_words(found: Mapping[str, pd.Series[float]]) -> str:
    """Return reductions as text: from the least to the greatest of each."""
    return ", ".join(f"{NAMES[one]} {each.min():.0%} to {each.max():.0%}" for one, each in found.items())


def lower_than(
    name: str, quantities: Mapping[str, float], others: Iterable[str], direction: float = 0.0
) -> Callable[[pd.DataFrame], Verdict]:
    """Return a judge: at every load RCC's reduction of each quantity, over each of others, is at least so much.

    Its direction: on the mean over loads each reduction is above `direction`.
    """

    def verdict(rows: pd.DataFrame) -> Verdict:
        found = {quantity: by_scheme(rows, quantity, name, others) for quantity in quantities}
        holds = all(each.min() >= least for quantity, least in quantities.items() for each in found[quantity].values())
        goes = all(each.mean() > direction for one in found.values() for each in one.values())
        return Verdict("; ".join(f"{one}: {in_words(each)}" for one, each in found.items()), bool(holds), bool(goes))

    return verdict
