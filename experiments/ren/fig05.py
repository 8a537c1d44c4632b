"""REN, figure 5: marked grants drain the queue of figure 1. Set-up: `rdmacc.experiments.ren.worked`."""

from rdmacc.experiments.ren.worked import QUEUE, WorkedExample, after, extremes, rounds_of
from ..api import *
from .setup import *


def _marks(table: pd.DataFrame, scheme: str = "ren") -> float:
    return scalar(table, scheme, "grants marked over")


def _drained(table: pd.DataFrame) -> Measured:
    queue = rounds_of(table, "ren", "queue")
    numbers = {
        "queue after the rounds of 2": extremes(after(queue, 2)),
        "rounds with a queue": sum(value > 0 for value in queue),
        "packets": extremes(rounds_of(table, "ren", "packets")),
        "marked grants": _marks(table),
        "in flight": scalar(table, "ren", "in flight"),
    }
    return Measured(numbers, f"queue by round {', '.join(map(str, queue))}")


def _grants(table: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    sizes = {name: scalar(table, "ren", f"{name} grant") for name in ("smallest", "largest")}
    return {"bytes": sizes, "marked": _marks(table)}


def _readings(table: pd.DataFrame) -> Measured:
    need(table, "ren-literal", "ren-packet")
    words = (
        f"{name}: {_marks(table, name):.0f} marks, queue of {rounds_of(table, name, 'queue')[-1]} at the end"
        for name in ("ren", "ren-packet", "ren-literal")
    )
    return Measured(_marks(table, "ren-literal") / _marks(table), ", ".join(words))


class Figure5(WorkedExample):
    name = "ren.fig5"
    example = replace(QUEUE, early_ps=1)
    schemes = ("traditional", "ren", "ren-outstanding", "ren-packet", "ren-literal")
    parts = MappingProxyType({"queue": "waiting at S0 at the end of each round", "packets": "sent by S0 in it"})
    top, more = 3.4, " (sampled at the end of round 1, marked in 2)"
    claims = (
        claim("ren-f5-1", measure=_drained,
              band=All({
                  "queue after the rounds of 2": Each(Exactly(0), of="round"), "rounds with a queue": AtMost(2),
                  **dict.fromkeys(("marked grants", "in flight"), Exactly(2)), "packets": Each(Exactly(2), of="round"),
              })),
        claim("ren-f5-2", measure=_grants, band=All({"bytes": Each(Exactly(40)), "marked": MoreThan(0)})),
        claim("ren-f5-a", measure=_readings, band=Exactly(2)),
    )  # fmt: skip
