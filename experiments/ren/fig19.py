"""REN, figure 19: AFCT of all flows on 64 hosts, oversubscription 1, four workloads over the load."""

from rdmacc.experiments.ren.leaf_spine_readings import READ_AS, LeafSpineReadings
from ..api import *
from .leaf_spine import *
from .loads import *
from .setup import *

PUBLISHED = dict(zip(BASELINES, (0.18, 0.33, 0.26, 0.04, 0.13, 0.17), strict=True))
"""Largest reductions of the AFCT (6.1)."""


def largest_reductions(rows: pd.DataFrame) -> dict[str, float]:
    """Return REN's largest reduction of the AFCT relative to each baseline, over all workloads and loads."""
    return {
        one: max(
            float(reduction(mean_of(rows, "AFCT", "ren", name), mean_of(rows, "AFCT", one, name)).max())
            for name in WORKLOADS
            if (rows["workload"] == name).any()
        )
        for one in BASELINES
    }


def _reductions(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"reduction": largest_reductions(rows)}).rename_axis("scheme").reset_index()


_PAPER = tuple(cases(WORKLOADS, LOADS["paper"], hosts_per_leaf=8))


class Figure19(LeafSpineReadings):
    name = "ren.fig19"
    claims = (
        claim("ren-f19-1", measure=lambda rows: labelled(largest_reductions(rows)),
              band=All({label: Part(value) for label, value in labelled(PUBLISHED).items()}), direction=POSITIVE,
              needs=_PAPER, published=percents(PUBLISHED)),
    )  # fmt: skip

    read_at = MappingProxyType(dict.fromkeys(READ_AS, LOADS["paper"]))

    def seeds_of(self, case: LeafSpineCase) -> int:
        """Return the number of seeds of a case at paper scale; one for the hosts' load, which changes no verdict."""
        return 1 if case.load_of == "host" else self.seeds

    def assumed(self, scale: str) -> list[LeafSpineCase]:
        return cases(WORKLOADS, LOADS[scale], hosts_per_leaf=8)

    def draw(self, rows: pd.DataFrame) -> Figure:
        panels: list[Panel] = [over_load(rows, "AFCT", name, title=title) for name, title in WORKLOADS.items()]
        published = {one: {"": value} for one, value in PUBLISHED.items()}
        looks = {one: LOOKS[one] for one in BASELINES}
        gains = partial(Bars, of=_reductions, unit="%", label="of the AFCT", levels={"_": 0.0})
        panels.append(gains("reduction", looks, published=published, title="largest reduction by REN"))
        hosts = "64 hosts" if rows["flows"].max() >= 5000 else "12 hosts (quick)"
        return self.drawn(panels, rows, f", {hosts}", columns=3, size=(3.7, 3.3), legend="outside lower center")
