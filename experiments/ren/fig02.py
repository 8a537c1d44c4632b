"""REN, figure 2: with one packet per grant, bandwidth stays unused. Set-up: `rdmacc.experiments.ren.worked`."""

from rdmacc.experiments.ren.worked import GAP, WorkedExample, extremes, rounds_of
from ..api import *


def _used(table: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    link = scalar(table, "traditional", "link")
    first, *others = (packets / link for packets in rounds_of(table, "traditional", "packets"))
    return {"first round": first, "later": extremes(others)}


class Figure2(WorkedExample):
    name = "ren.fig2"
    example = GAP
    schemes = ("traditional",)
    parts = MappingProxyType({"packets": "sent by S0 in each round"})
    top, level, more = 6.5, 5, " (dotted: the link)"
    claims = (
        claim("ren-f2-1", measure=_used,
              band=All({"first round": Exactly(1.0), "later": Each(Exactly(0.6), of="round")})),
    )  # fmt: skip
