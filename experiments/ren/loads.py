"""REN, figures 14 to 19: shared plots and measurements. Runs: `rdmacc.experiments.ren.leaf_spine`."""

from __future__ import annotations

from rdmacc.experiments.ren.leaf_spine_readings import BY_NUMBER, READ_AS, LeafSpineReadings
from ..api import *
from .leaf_spine import *
from .setup import *

POSITIVE = Each(MoreThan(0))
"""The right sign of REN's gains."""
LOWEST, LOWEST_IN_HALF = (All({LOOKS["ren"][0]: AtLeast(share)}) for share in (1.0, 0.5))
"""Bands of the share of cases in which a scheme is lowest: REN in all, or in half of them."""

PANELS = {
    "AFCT, short": ("AFCT of short flows", "AFCT", "us"),
    "p99 FCT, short": ("99th percentile FCT of short flows", "p99 FCT", "us"),
    "throughput, long": ("throughput of long flows", "throughput", "Gb/s"),
    "AFCT": ("AFCT of all flows", "AFCT", "ms"),
}
"""The four panels of figures 15 to 18: title, axis label, unit."""


def mean_of(rows: pd.DataFrame, quantity: str, scheme: str, workload: str, changes: str = "") -> pd.Series[float]:
    """Return the mean of a quantity over seeds, by load."""
    return by_load(rows, quantity, scheme=scheme, workload=workload, changes=changes).mean()


def reduced(quantity: str, workload: str, load: float, rows: pd.DataFrame) -> dict[str, float]:
    """Return REN's reduction of a quantity relative to each baseline at a load, by label, from means over seeds."""
    ren = mean_of(rows, quantity, "ren", workload)[load]
    return labelled({one: reduction(ren, mean_of(rows, quantity, one, workload)[load]) for one in BASELINES})


def percents(values: Mapping[str, float]) -> str:
    """Return published fractions as the paper prints them."""
    return f"{', '.join(f'{100 * value:.0f}' for value in values.values())}%"


def reduction_claim(id: str, workload: str, published: Mapping[str, Mapping[str, float]]) -> Claim:
    """Return a claim on REN's reductions of a quantity at a load of 0.7."""
    ((quantity, values),) = published.items()
    return claim(id, published=percents(values), measure=partial(reduced, quantity, workload, 0.7),
                 band=All({label: Part(value) for label, value in labelled(values).items()}), direction=POSITIVE,
                 needs=tuple(cases([workload], [0.7])))  # fmt: skip


def lowest_shares(values: pd.DataFrame) -> dict[str, float]:
    """Return the share of rows in which a scheme has the lowest value, by label."""
    return labelled((values.idxmin(axis=1).value_counts() / len(values)).reindex(SCHEMES, fill_value=0.0).to_dict())


def short_flows(rows: pd.DataFrame, *workloads: str) -> pd.DataFrame:
    """Return the AFCT of short flows by load and scheme, with the workloads stacked."""
    columns = ({one: mean_of(rows, "AFCT, short", one, name) for one in SCHEMES} for name in workloads)
    return pd.concat([pd.DataFrame(values) for values in columns], ignore_index=True)


def short_flows_claim(id: str, workload: str) -> Claim:
    """Return our check of panel (a) of figures 15 to 18: REN has the lowest AFCT of short flows at every load."""
    return claim(id, measure=lambda rows: lowest_shares(short_flows(rows, workload)), band=LOWEST,
                 direction=LOWEST_IN_HALF, needs=tuple(cases([workload], LOADS["paper"])))  # fmt: skip


def hosts(rows: pd.DataFrame) -> str:
    """Return the size of the oversubscribed network, for a title."""
    return "384 hosts" if rows["flows"].max() >= 1000 else "36 hosts (quick)"


def load_label(rows: pd.DataFrame) -> str:
    """Return the label of the load axis, with the links to which loads refer."""
    links = "hosts'" if rows.index.str.contains("load of hosts' links").all() else "ToR-core"
    return f"load (of {links} links)"


def over_load(rows: pd.DataFrame, quantity: str, workload: str, **more: Any) -> Lines:
    """Return the panel of a quantity over the load, a line per scheme, with the spread over seeds as bands."""
    title, label, unit = PANELS[quantity]
    scale: dict[str, Any] = {"axes": {"ylim": (0, 40)}} if unit == "Gb/s" else {"log": "y"}
    words: dict[str, Any] = {"title": title, "label": label, "unit": unit, "xlabel": load_label(rows), **scale, **more}
    return Lines(quantity, LINES, over="load", where={"workload": workload, "changes": ""}, **words)


def gain_lines(published: Mapping[str, float], at: float, **more: Any) -> Lines:
    """Return the panel of REN's `gain` over each baseline, with the published ones as hollow markers at `at`."""
    marks = {one: [(at, gain)] for one, gain in published.items()}
    return Lines("gain", LINES, unit="%", published=marks, levels={"_": 0.0}, **more)


ONE_GRANT_FIRST = dict.fromkeys((*BY_NUMBER, "one grant", *READ_AS), LOADS["paper"])
"""Readings in the order of some tables, where the last run of each scheme is its canary."""


class WorkloadFigure(LeafSpineReadings):
    """Figures 15 to 18: four panels over the load for one workload."""

    workload: str
    """Key of `WORKLOADS`."""
    published: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    """Published reductions at a load of 0.7, by quantity and scheme."""
    read_at: Mapping[str, tuple[float, ...]] = MappingProxyType(dict.fromkeys((*BY_NUMBER, *READ_AS), LOADS["paper"]))

    def assumed(self, scale: str) -> list[LeafSpineCase]:
        return cases([self.workload], LOADS[scale])

    def draw(self, rows: pd.DataFrame) -> Figure:
        panels = []
        for letter, (quantity, (title, *_)) in zip("abcd", PANELS.items(), strict=True):
            ren = mean_of(rows, quantity, "ren", self.workload)
            gains = self.published.get(quantity, {}) if 0.7 in ren.index else {}
            marks = {one: [(0.7, ren[0.7] / (1 - gain))] for one, gain in gains.items()}
            panels.append(over_load(rows, quantity, self.workload, title=f"({letter}) {title}", published=marks))
        more = f", {hosts(rows)}" + " (hollow: REN's value and the published gain)" * bool(self.published)
        return self.drawn(panels, rows, more, columns=2, size=(4.8, 3.3), legend="outside right upper")
