"""RCC, figure 9: average FCT under four workloads. Setup: `rdmacc.experiments.rcc.fat_tree`."""

from ..api import *
from .fat_tree import *
from .fct import *
from .setup import *

PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "web_search": {"hpcc": (0.09,), "homa": (0.11,), "expresspass": (0.11,), DCQCN: (0.30,), "timely": (0.45,)},
    "data_mining": {"hpcc": (0.07,), "homa": (0.04,), "expresspass": (0.15,), DCQCN: (0.18,), "timely": (0.19,)},
    "web_server": {"hpcc": (0.05, 0.11)},
    "cache_follower": {"hpcc": (0.14,)},
}
"""Largest reductions of the average FCT by RCC; a pair is a range (V-D-1)."""


def _reduced(name: str) -> Band:
    sizes = {one: Part(least, most[0] if most else None) for one, (least, *most) in PUBLISHED[name].items()}
    return All({NAMES[one]: up_to(size) for one, size in sizes.items()})


def _over_hpcc(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    names = ("web_server", "cache_follower")
    return {WORKLOADS[name].name: reduction_by_load(rows, "all mean", "hpcc", name) for name in names}


def _above_lowest(rows: pd.DataFrame) -> dict[str, float]:
    behind = {}
    for name, one in WORKLOADS.items():
        lowest = pd.concat([means(rows, "all mean", scheme, name) for scheme in SCHEMES], axis=1).min(axis=1)
        behind[one.name] = (means(rows, "all mean", "rcc", name) / lowest - 1).max()
    return behind


def _at_most(rows: pd.DataFrame, quantity: str, schemes: Iterable[str] = OTHERS) -> dict[str, float]:
    return {NAMES[one]: max(reductions(rows, quantity, one, name).max() for name in WORKLOADS) for one in schemes}


def _introduction(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    quantities = {"average": "all mean", "99th percentile": "all p99"}
    return {words: _at_most(rows, quantity, (DCQCN, "timely")) for words, quantity in quantities.items()}


def _faults(rows: pd.DataFrame) -> dict[str, float]:
    return {
        "flows unfinished": rows["unfinished"].sum(),
        "packets lost": rows.loc[rows["scheme"] != "expresspass", "dropped"].sum(),  # it drops credits by design
        "least FCT over the ideal": rows["least slowdown"].min(),
    }


_all = partial(cases, SCHEMES, scale="paper")
_EVERY = _all(WORKLOADS)


class Figure9(FatTreeFigure):
    name = "rcc.fig9"
    claims = (
        claim("rcc-f9-1", measure=partial(by_scheme, quantity="all mean", name="web_search"),
              band=_reduced("web_search"), direction=LOWER_AT_SOME_LOAD, needs=_all(["web_search"])),
        claim("rcc-f9-2", measure=partial(by_scheme, quantity="all mean", name="data_mining"),
              band=_reduced("data_mining"), direction=LOWER_AT_SOME_LOAD, needs=_all(["data_mining"])),
        claim("rcc-f9-3", measure=_over_hpcc,
              band=All({
                  WORKLOADS["web_server"].name: Each(Part(0.05, 0.11), "load"),
                  WORKLOADS["cache_follower"].name: At("mean", Part(0.14)),
              }), direction=LOWER_ON_AVERAGE, needs=_all(["web_server", "cache_follower"])),
        claim("rcc-f9-4", measure=_above_lowest, band=Each(AtMost(0), "workload"), needs=_EVERY),
        claim("rcc-x-1", measure=partial(_at_most, quantity="all mean"),
              band=All(Each(Part(0.04, 0.79), "scheme"), Some(Part(0.79), of="the schemes")),
              direction=Each(MoreThan(0), "scheme"), needs=_EVERY),
        claim("rcc-x-2", measure=_introduction,
              band=All({"average": Each(Part(0.55)), "99th percentile": Each(Part(0.79))}),
              direction=Each(Each(MoreThan(0))), needs=_EVERY),
        claim("rcc-f9-5a", measure=_faults,
              band=All({
                  "flows unfinished": Exactly(0), "packets lost": Exactly(0), "least FCT over the ideal": AtLeast(0.99),
              })),
    )  # fmt: skip

    def cases(self, scale: str) -> list[FatTreeCase]:
        last = cases([DCQCN], ["data_mining"], scale)
        # These runs were added late. They come first: a scheme's last run is its canary, which must not change.
        return list(dict.fromkeys([*last, *cases((*SCHEMES, OTHER_DCQCN), WORKLOADS, scale)]))

    def draw(self, rows: pd.DataFrame) -> Figure:
        names = [name for name in WORKLOADS if (rows["workload"] == name).any()]
        panels = [fct_lines("all mean", SCHEMES, name, WORKLOADS[name].name, "average FCT") for name in names]
        panels += [reduction_lines("all mean", OTHERS, name, PUBLISHED[name]) for name in names]
        more = f", {320 if rows['arrival_ms'].max() >= 1 else 32} hosts (hollow: largest published)"
        return self.drawn(panels, rows, more, columns=len(names), size=(3.3, 3.3), legend="outside lower center")
