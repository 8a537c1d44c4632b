"""RCC, figures 9 to 11 and 13: plots and comparisons of completion times. Setup: `experiments.rcc.fat_tree`."""

from ..api import *
from .fat_tree import *
from .setup import *

OTHERS = SCHEMES[1:]
_MARKERS = {"rcc": "D", "hpcc": "o", "homa": "s", "expresspass": "^", "dcqcn-cnp": "v", "timely": "P", "rcc-pid": "s",
            "rcc-ewa": "o"}  # fmt: skip


def ran(rows: pd.DataFrame, schemes: Iterable[str], name: str) -> list[str]:
    found = set(rows.loc[rows["workload"] == name, "scheme"])
    return [scheme for scheme in schemes if scheme in found]


def fct_lines(
    quantity: str, schemes: Sequence[str], name: str, title: str, label: str = "FCT", unit: str = "us", log: str = ""
) -> Lines:
    """Return the panel of a completion time or slowdown over the load, with the spread over seeds as bands."""
    axes = {} if log else {"ylim": (0, None)}
    words: dict[str, Any] = {"title": title, "label": label, "unit": unit, "log": log, "axes": axes}
    return _over_load(quantity, schemes, where={"workload": name, "changes": ""}, **words)


def _over_load(quantity: str, schemes: Sequence[str], **more: Any) -> Lines:
    looks = {one: (*LOOKS[one], f"{_MARKERS[one]}-") for one in schemes}
    axis: dict[str, Any] = {"over": "load", "percent": True, "xlabel": "load (% of the hosts' links)", "legend": None}
    return Lines(quantity, looks, **{**axis, **more})


def reduction_lines(
    quantity: str, schemes: Sequence[str], name: str, published: Mapping[str, tuple[float, ...]], **more: Any
) -> Lines:
    """Return the panel of RCC's reduction relative to others over the load; published values are hollow.

    The paper gives no load for these, so they have a separate column.
    """
    at = 100 * max(LOADS) + 10
    marks = {one: [(at, value) for value in values] for one, values in published.items()}
    ticks = {100 * load: f"{100 * load:.0f}" for load in LOADS} | ({at: "paper"} if published else {})
    look: dict[str, Any] = {"unit": "%", "levels": {"_": 0.0}, "published": marks, "label": "RCC below the scheme by"}
    axes = {"xticks": [*ticks], "xticklabels": [*ticks.values()]}
    return _over_load("below", schemes, of=partial(_reduced, quantity, schemes, name), axes=axes, **look, **more)


def _reduced(quantity: str, schemes: Sequence[str], name: str, rows: pd.DataFrame) -> pd.DataFrame:
    found = {one: reductions(rows, quantity, one, name) for one in ran(rows, schemes, name)}
    return pd.DataFrame(found).melt(var_name="scheme", value_name="below", ignore_index=False).reset_index()


def reduction_by_load(rows: pd.DataFrame, quantity: str, other: str, name: str) -> dict[str, float]:
    """Return RCC's reduction of a quantity relative to another scheme, at each load and on average."""
    found = reductions(rows, quantity, other, name)
    return named(found, "load {:g}") | {"mean": float(found.mean())}


def by_scheme(
    rows: pd.DataFrame, quantity: str, name: str, schemes: Iterable[str] = OTHERS
) -> dict[str, dict[str, float]]:
    """Return RCC's reduction of a quantity relative to each of the others, by load."""
    return {NAMES[scheme]: reduction_by_load(rows, quantity, scheme, name) for scheme in schemes}


def mean_and_tail(kind: str, other: str, name: str, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return RCC's reduction of a flow type's average and 99th percentile relative to another scheme."""
    quantities = {"average": f"{kind} mean", "99th percentile": f"{kind} p99"}
    return {words: reduction_by_load(rows, quantity, other, name) for words, quantity in quantities.items()}


def up_to(size: Number) -> Band:
    """Return the band of numbers by load whose largest is of a given size."""
    return All(Some(size, of="the loads"), Each(AtMost(size.high), "load"))


LOWER_AT_SOME_LOAD = Each(Some(MoreThan(0), of="the loads"), "scheme")
LOWER_ON_AVERAGE = Each(At("mean", MoreThan(0)))
"""RCC's numbers are lower on average over the loads."""
