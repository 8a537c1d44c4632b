"""Improved Go-Back-N, figure 7: how the timeout affects each variant."""

from rdmacc.experiments.igbn.drawing import Goodput
from ..api import *
from .setup import *

_LOOKS = {LONG: ("blue", "o"), MIDDLE: ("orange", "s"), SHORT: ("green", "^")}

PUBLISHED: dict[str, dict[int, list[tuple[float, float]]]] = {
    GBN: {LONG: [(1e-2, 0.0)], MIDDLE: [(1e-2, 0.132)], SHORT: []},
    IGBN: {LONG: [(1e-2, 0.64)], MIDDLE: [(1e-2, 0.60)], SHORT: []},
    CE: {LONG: [(2e-3, 0.68), (1e-2, 0.176)], MIDDLE: [], SHORT: []},
    ST: {LONG: [(1e-2, 0.0)], MIDDLE: [(1e-2, 0.0)], SHORT: []},
}
"""From the text: (loss rate, relative throughput), by variant and timeout."""
_NEARLY_ZERO = AtMost(0.04)


def _gaps_of_timeouts(table: pd.DataFrame) -> dict[str, float]:
    return by_loss(table, lambda loss: spread(mean_at(table, IGBN, timeout_ps, loss) for timeout_ps in TIMEOUTS))


def _check_at_two(table: pd.DataFrame) -> Measured:
    means = {f"p = {loss:g}": mean_at(table, CE, LONG, loss) for loss in (1e-3, 2e-3, 1e-2)}
    return Measured(means, median(runs_of(table, CE, LONG, 2e-3)))


def _beside_ten(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    def more(one: int, other: int, low: float = 0.0) -> dict[str, float]:
        return by_loss(table, lambda loss: mean_at(table, CE, one, loss) - mean_at(table, CE, other, loss), low=low)

    return {"500 us - 10 ms": more(SHORT, MIDDLE), "10 ms - 100 ms": more(MIDDLE, LONG, 2e-3)}


def _twice_long(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    found = {
        TIMEOUTS[timeout_ps]: by_loss(table, partial(mean_at, table, ST, timeout_ps), low=1e-4)
        for timeout_ps in (LONG, MIDDLE)
    }
    return found | {"p = 0.01": {name: means["p = 0.01"] for name, means in found.items()}}


def _twice_short(table: pd.DataFrame) -> dict[str, float]:
    short, *others = (mean_at(table, ST, timeout_ps, 1e-2) for timeout_ps in (SHORT, LONG, MIDDLE))
    return dict(zip(("100 ms", "10 ms"), (short - one for one in others), strict=True))


def _lost(table: pd.DataFrame) -> Measured:
    at_2, at_5 = (mean_at(table, GBN, MIDDLE, loss) for loss in (2e-3, 5e-3))
    return Measured({"lost up to 0.2%": 1 - at_2, "from 0.2 to 0.5%": at_2 - at_5}, f"{at_2:.0%} left at 0.2%")


class Figure7(LossSweep):
    name = "igbn.fig7"
    points_of = LossSweep
    claims = (
        claim("igbn-f7a-1", measure=throughput(GBN, LONG, 1e-2), band=_NEARLY_ZERO),
        claim("igbn-f7a-2", measure=throughput(GBN, MIDDLE, 1e-2), band=Part(0.132)),
        claim("igbn-f7a-3", measure=_lost, band=All({"lost up to 0.2%": AtMost(0.1), "from 0.2 to 0.5%": AtLeast(0.1)}),
              direction=Ordered("<")),
        claim("igbn-f7b-1", measure=_gaps_of_timeouts, band=Each(AtMost(0.08), of="loss rate")),
        claim("igbn-f7c-1", measure=_check_at_two, band=At("p = 0.002", Within(0.68, by=0.1)), direction=Falls()),
        claim("igbn-f7c-2", measure=throughput(CE, LONG, 1e-2), band=Part(0.176), direction=AtMost(0.40)),
        claim("igbn-f7c-3", measure=_beside_ten,
              band=All({
                  "500 us - 10 ms": Each(AtMost(0.1), "loss rate"),
                  "10 ms - 100 ms": Each(AtLeast(0.1), "loss rate"),
              }), direction=At("500 us - 10 ms", Each(AtMost(0.12), "loss rate"))),
        claim("igbn-f7d-1", measure=_twice_long,
              band=All({"100 ms": Falls(), "10 ms": Falls(), "p = 0.01": Each(_NEARLY_ZERO)}),
              direction=All({"100 ms": Falls(), "10 ms": Falls(), "p = 0.01": At("100 ms", _NEARLY_ZERO)})),
        claim("igbn-f7d-2", measure=_twice_short, band=Each(AtLeast(0.1)), direction=Each(MoreThan(0))),
    )  # fmt: skip

    def plot(self, table: pd.DataFrame) -> Figure:
        panels = [
            Goodput(
                "", {(one, time_ps): (f"timeout {TIMEOUTS[time_ps]}", *look) for time_ps, look in _LOOKS.items()},
                of=partial(of_reading, timer=timer), title=f"({letter}) {TITLES[one]}\ntimer from the {timer} on",
                published={(one, timeout_ps): values for timeout_ps, values in published.items()},
            )
            for timer in timers_in(table)
            for letter, (one, published) in zip("abcd", PUBLISHED.items(), strict=True)
        ]  # fmt: skip
        grid: dict[str, Any] = {"columns": 4, "sharex": True, "sharey": True, "legend": "outside lower center"}
        return self.drawn(panels, table, size=(4, 3.8), **grid)
