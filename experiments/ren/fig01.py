"""REN, figure 1: with one packet per grant, a queue persists. Set-up: `rdmacc.experiments.ren.worked`."""

from rdmacc.experiments.ren.worked import QUEUE, WorkedExample, extremes, rounds_of
from ..api import *


def _counts(table: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    rounds = {name: extremes(rounds_of(table, "traditional", name)) for name in ("queue", "packets")}
    return {**rounds, "in flight": scalar(table, "traditional", "in flight")}


class Figure1(WorkedExample):
    name = "ren.fig1"
    example = QUEUE
    schemes = ("traditional",)
    top, level, more = 5, 2, " (dotted: as in the paper)"
    claims = (
        claim("ren-f1-1", measure=_counts,
              band=All(dict.fromkeys(("queue", "packets"), Each(Exactly(2), of="round")) | {"in flight": Exactly(4)})),
    )  # fmt: skip
