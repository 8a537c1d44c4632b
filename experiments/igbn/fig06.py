"""Improved Go-Back-N, figure 6: what each change gains at timeouts of 100 ms, 10 ms and 500 us."""

from rdmacc.experiments.igbn.drawing import Goodput, closed_form
from ..api import *
from .setup import *

LOOKS = {GBN: ("blue", "o"), ST: ("orange", "s"), CE: ("green", "^"), IGBN: ("vermilion", "D")}
"""Colour and marker of each variant."""

_PUBLISHED: dict[int, dict[str, list[tuple[float, float]]]] = {
    LONG: {GBN: [(1e-4, 0.70), (1e-2, 0.0)], CE: [(1e-3, 0.972), (1e-2, 0.176)], IGBN: [(1e-2, 0.64)]},
    MIDDLE: {IGBN: [(1e-2, 0.60)], GBN: [(1e-2, 0.132)]},
    SHORT: {},
}
"""From the text: (loss rate, relative throughput), by timeout and variant."""


def _order(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    found = by_variant(table, LONG, 1e-2)
    best = {name: found[name] for name in ("IGBN", "CE")}
    worst = {name: found[name] for name in ("ST", "GBN")}
    return {"each": best | worst, "ST and GBN as one": best | {"the better one": max(worst.values())}}


def _near_lossless(table: pd.DataFrame) -> Measured:
    quiet = mean(without_timeouts(runs_of(table, CE, LONG, 1e-3)))
    found = {"IGBN": mean_at(table, IGBN, LONG, 1e-3), "CE": mean_at(table, CE, LONG, 1e-3)}
    return Measured(found, f"CE's runs without a timeout {show(quiet, '%')}")


def _early_decline(table: pd.DataFrame) -> Measured:
    runs = runs_of(table, GBN, LONG, 1e-4)
    worst = show(runs[GOODPUT].min(), "%")
    rate = rate_of_timeouts(runs)
    timeouts = f"{rate:.1e} timeouts per message" if rate else "no timeout"
    return Measured(mean(runs), f"worst run {worst}; {timeouts}")


def _cost_of_the_duplicate(table: pd.DataFrame) -> Measured:
    quiet = [mean(without_timeouts(runs_of(table, name, LONG, 1e-3))) for name in (CE, IGBN)]
    found = by_loss(table, lambda loss: mean_at(table, CE, LONG, loss) - mean_at(table, IGBN, LONG, loss), 1e-5, 1e-3)
    return Measured(found, f"at 0.1%, runs without a timeout: {show(quiet[0] - quiet[1], 'points')}")


def _in_the_middle(table: pd.DataFrame) -> Measured:
    found = by_variant(table, MIDDLE, 1e-2)
    ce, others = (partial(mean_at, table, CE, MIDDLE), [partial(mean_at, table, one, MIDDLE) for one in (ST, GBN)])
    below = by_loss(table, lambda loss: mean_at(table, IGBN, MIDDLE, loss) - ce(loss), low=2e-3)
    above = by_loss(table, lambda loss: ce(loss) - max(one(loss) for one in others), low=2e-3)
    return Measured({"IGBN - CE": below, "CE - better of ST and GBN": above}, show_all(found, "%"))


def _gaps_of_variants(table: pd.DataFrame) -> dict[str, float]:
    return by_loss(table, lambda loss: spread(by_variant(table, SHORT, loss).values()), high=5e-3)


def _tenth(table: pd.DataFrame) -> Measured:
    found = by_variant(table, SHORT, 1e-2)
    gains = {f"{one} over {other}": found[one] / found[other] - 1 for one in ("IGBN", "CE") for other in ("ST", "GBN")}
    return Measured(gains, show_all(found, "%"))


def _above_computed(table: pd.DataFrame) -> dict[str, float]:
    return {
        f"{name}, {time}": mean_at(table, variant, timeout_ps, 1e-2) - closed_form(variant, timeout_ps, [1e-2])[0]
        for timeout_ps, time in TIMEOUTS.items()
        for variant, name in VARIANTS.items()
    }


class Figure6(LossSweep):
    name = "igbn.fig6"
    points_of = LossSweep
    claims = (
        claim("igbn-f6a-1", measure=_order, band=At("each", Ordered(">")),
              direction=At("ST and GBN as one", Ordered(">"))),
        claim("igbn-f6a-2", measure=_near_lossless, band=Each(Between(0.96, 0.99))),
        claim("igbn-f6a-3", measure=throughput(IGBN, LONG, 1e-2), band=Part(0.64), direction=MoreThan(0.35)),
        claim("igbn-f6a-4", measure=_early_decline, band=Between(0.60, 0.80), direction=AtMost(0.95)),
        claim("igbn-f6a-5", measure=lambda table: mean_at(table, ST, LONG, 1e-3) - mean_at(table, GBN, LONG, 1e-3),
              band=Between(0, 0.1)),
        claim("igbn-f6a-6", measure=_cost_of_the_duplicate, band=Each(Between(0, 0.02), of="loss rate")),
        claim("igbn-f6b-1", measure=throughput(IGBN, MIDDLE, 1e-2), band=Between(0.52, 0.68)),
        claim("igbn-f6b-2", measure=_in_the_middle,
              band=All({
                  "IGBN - CE": Each(Between(0, 0.1), of="loss rate"),
                  "CE - better of ST and GBN": Each(AtLeast(0.1), of="loss rate"),
              }), direction=Each(Each(MoreThan(0), of="loss rate"))),
        claim("igbn-f6c-1", measure=_gaps_of_variants, band=Each(AtMost(0.06), of="loss rate")),
        claim("igbn-f6c-2", measure=_tenth, band=Each(Part(0.1)), direction=Each(AtLeast(0.02))),
        claim("igbn-f6-a", measure=_above_computed, band=Each(Within(0, by=0.07))),
    )  # fmt: skip

    def plot(self, table: pd.DataFrame) -> Figure:
        panels = [
            Goodput(
                "", {(one, timeout_ps): (TITLES[one], *look) for one, look in LOOKS.items()}, shift=0.15,
                of=partial(of_reading, timer=timer), title=f"({letter}) timeout {name}, timer from the {timer} on",
                published={(one, timeout_ps): values for one, values in _PUBLISHED[timeout_ps].items()},
            )
            for timer in timers_in(table)
            for letter, (timeout_ps, name) in zip("abc", TIMEOUTS.items(), strict=True)
        ]  # fmt: skip
        more, size = " (markers of one loss rate stand side by side)", (4.6, 4)
        return self.drawn(panels, table, more, columns=3, size=size, sharey=True, legend="outside lower center")
