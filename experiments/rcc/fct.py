"""RCC, figures 9 to 11 and 13: how completion times are drawn and compared. Setup: `experiments.rcc.fat_tree`."""

from ..api import *
from .fat_tree import *
from .setup import *

OTHERS = SCHEMES[1:]
_MARKERS = {"rcc": "D", "hpcc": "o", "homa": "s", "expresspass": "^", "dcqcn-cnp": "v", "timely": "P", "rcc-pid": "s",
            "rcc-ewa": "o"}  # fmt: skip


def ran(rows: pd.DataFrame, schemes: Iterable[str], name: str) -> list[str]:
    """Return the schemes that have run a workload."""
    found = set(rows.loc[rows["workload"] == name, "scheme"])
    return [scheme for scheme in schemes if scheme in found]


def fct_lines(
    quantity: str, schemes: Sequence[str], name: str, title: str, label: str = "FCT", unit: str = "us", log: str = ""
) -> Lines:
    """Return a completion time, or a slowdown, of a workload over the load; bands are the spread over seeds."""
    return Lines(
        quantity=quantity,
        looks={one: (*LOOKS[one], f"{_MARKERS[one]}-") for one in schemes},
        over="load",
        where={"workload": name, "changes": ""},
        percent=True,
        xlabel="load (% of the hosts' links)",
        unit=unit,
        label=label,
        log=log,
        title=title,
        legend=None,
        axes={} if log else {"ylim": (0, None)},
    )


def draw_reductions(
    ax: Axes,
    rows: pd.DataFrame,
    quantity: str,
    schemes: Sequence[str],
    name: str,
    published: Mapping[str, tuple[float, ...]],
) -> None:
    """Draw by what percentage RCC is below others over the load; beside it, hollow, the published values.

    The paper names no load for them, so they stand in a column of their own.
    """
    column, width = 100 * max(LOADS) + 10, 12
    middle = (len(schemes) - 1) / 2
    for place, scheme in enumerate(schemes):
        if scheme not in ran(rows, schemes, name):
            continue
        found = reductions(rows, quantity, scheme, name) * 100
        colour = COLOURS[LOOKS[scheme][1]]
        ax.plot(found.index * 100, found, marker=_MARKERS[scheme], color=colour, label=NAMES[scheme])
        values = [100 * value for value in published.get(scheme, ())]
        at = np.full(len(values), column + width * (place - middle) / len(schemes))
        ax.plot(at, values, marker=_MARKERS[scheme], markersize=8, color=colour, markerfacecolor="none", linestyle=":")
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.set(xlabel="load (% of the hosts' links)")
    if published:
        ax.axvspan(column - width / 2, column + width / 2, color="0.93", linewidth=0, zorder=0)
        ax.set_xticks([*(100 * load for load in LOADS), column], [*(f"{100 * load:.0f}" for load in LOADS), "paper"])


def reduction_by_load(rows: pd.DataFrame, quantity: str, other: str, name: str) -> dict[str, float]:
    """Return RCC's reduction of a quantity over another scheme at each load, and their mean."""
    found = reductions(rows, quantity, other, name)
    return {**{f"load {load:g}": value for load, value in found.items()}, "mean": float(found.mean())}


def by_scheme(
    rows: pd.DataFrame, quantity: str, name: str, schemes: Iterable[str] = OTHERS
) -> dict[str, dict[str, float]]:
    """Return RCC's reduction of a quantity over each of the others, by load."""
    return {NAMES[scheme]: reduction_by_load(rows, quantity, scheme, name) for scheme in schemes}


def mean_and_tail(kind: str, other: str, name: str, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return RCC's reduction of the average and of the 99th percentile of a kind of flows over another scheme."""
    quantities = {"average": f"{kind} mean", "99th percentile": f"{kind} p99"}
    return {words: reduction_by_load(rows, quantity, other, name) for words, quantity in quantities.items()}


def up_to(size: Part) -> Band:
    """Return the band of a scheme's numbers by load of which the greatest has a size."""
    return All(Some(size, of="the loads"), Each(AtMost(size.limits[1]), "load"))


LOWER_AT_SOME_LOAD = Each(Some(MoreThan(0), of="the loads"), "scheme")
LOWER_ON_AVERAGE = Each(At("mean", MoreThan(0)))
"""On the mean over the loads RCC's numbers are lower."""
