"""REN, figure 6: grants that keep their mark fill the gap of figure 2. Set-up: `rdmacc.experiments.ren.worked`."""

from rdmacc.experiments.ren.worked import GAP, WorkedExample, after, extremes, rounds_of
from ..api import *
from .setup import *


def _counts(table: pd.DataFrame, scheme: str) -> dict[str, float]:
    need(table, scheme)
    grants, queue = scalar(table, scheme, "grants marked under"), rounds_of(table, scheme, "queue")
    return {"grants for two packets": grants, "longest queue": max(queue)}


def _filled(table: pd.DataFrame) -> Measured:
    packets = rounds_of(table, "ren", "packets")
    numbers = {"packets after the rounds of 3": extremes(after(packets, 3)), **_counts(table, "ren")}
    return Measured(numbers, f"packets by round {', '.join(map(str, packets))}")


class Figure6(WorkedExample):
    name = "ren.fig6"
    example = GAP
    schemes = ("traditional", "ren", "ren-outstanding", "ren-packet", "ren-literal")
    top, level, more = 7.6, 5, " (sampled in round 2, marked in 3; dotted: the link)"
    claims = (
        claim("ren-f6-1", measure=_filled,
              band=All({
                  "packets after the rounds of 3": Each(Exactly(5), of="round"), "grants for two packets": Exactly(2),
                  "longest queue": Exactly(0),
              })),
        claim("ren-f6-a", measure=partial(_counts, scheme="ren-literal"),
              band=All({"grants for two packets": MoreThan(2), "longest queue": MoreThan(0)})),
    )  # fmt: skip
